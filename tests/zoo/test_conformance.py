"""Against real servers: what is observed is what is configured, and no verdict is wrong in either direction."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import cache, partial
from pathlib import Path

import pytest
import trio

from scanner.kube.maybe import Unknown
from scanner.kube.tls_profile import Profile
from scanner.model.observation import Observation
from scanner.tls.names import suite_label, version_name
from tests.zoo.cases import CASES, PROGRAMS, Case, Running, running
from tests.zoo.observing import PROFILES, ask, endpoint, judged
from tests.zoo.openssl import FLAG, names
from tests.zoo.processes import program, tail
from tests.zoo.truth import GROUPS, TLS13, Truth
from tests.zoo.witness import Witness

QUICK = {
    "openssl-old",
    "nginx-sni-weak",
    "haproxy-old-ecdsa",
    "stunnel-mtls13-required",
    "gnutls-normal",  # the client's order
    "go-old",  # hybrid groups too
    "jsse-sslv3-3des",
    "wolfssl-intermediate",
    "mbedtls-ecdsa",
    "inspircd-dhe-only",  # no handshake is completed
    "erlang-psk",  # suites that need a key
    "tlslite-old",
}
"""One server of each stack that starts soon and downloads nothing; all others are slow."""
SERVERS = [pytest.param(case, id=case.id, marks=[] if case.id in QUICK else [pytest.mark.slow]) for case in CASES]

MLKEM = frozenset(code for name, code in GROUPS.items() if "MLKEM" in name)

pytestmark = pytest.mark.zoo


@pytest.mark.parametrize("case", SERVERS)
async def test_a_server_is_what_is_configured(case: Case) -> None:
    """All questions to one running server: a failure lists each question that failed."""
    if missing := PROGRAMS[case.program].missing():
        pytest.skip(missing)
    failed: dict[str, Exception] = {}
    async with running(case) as server:
        for name, question in QUESTIONS.items():
            try:
                await question(case, server)
            except Exception as error:  # noqa: BLE001 - raised below, together with those of the other questions
                error.add_note(f"question: {name}")
                failed[name] = error
    if failed:
        raise ExceptionGroup(f"failed: {', '.join(failed)}", list(failed.values()))
    if not program("openssl"):
        pytest.skip("asked all questions but that to an unrelated client: not installed: openssl")


async def inventory(case: Case, server: Running) -> None:
    """The inventory is what is configured."""
    seen = await ask(endpoint(server, server.server_name), "inventory")
    truth = server.truth
    assert set(seen.versions.accepted) == truth.versions, story(seen, server)
    never_wrong(seen, truth)
    for version, suites in truth.suites.items():
        assert set(seen.suites[version].accepted) == suites, story(seen, server)
    for version in conclusive(case, truth):
        assert set(seen.groups[version].accepted) == truth.groups[version], story(seen, server)
    if case.settings.handshake:
        assert seen.client_certificate == truth.client_certificate, story(seen, server)
    else:
        assert isinstance(seen.client_certificate, Unknown), story(seen, server)
    for version, suites in truth.suites.items():
        if truth.preference and len(suites) > 1:
            assert seen.preference[version] == truth.preference, (version_name(version), story(seen, server))


async def verdict(_: Case, server: Running, *, profile: Profile) -> None:
    """The verdict is wrong in neither direction."""
    target = endpoint(server, server.server_name)
    seen = await ask(target, "verdict", profile)
    never_wrong(seen, server.truth)
    verdict = judged(target, seen, profile).verdict
    forbidden = server.truth.violations(profile.min_version, profile.suites)
    if forbidden:
        assert verdict == "fail", story(seen, server)
    elif server.truth.credentialed - frozenset(profile.suites):
        assert verdict == "inconclusive", story(seen, server)
    else:
        assert verdict == "pass", story(seen, server)


async def unrelated_client(case: Case, server: Running) -> None:
    """The zoo does not lie: OpenSSL gets from the server what the zoo claims of it."""
    if not program("openssl"):
        return
    witness = Witness(server.address, server.port, server.server_name)
    for version in FLAG:
        suites = await trio.to_thread.run_sync(witness.suites, version)
        visible = set(witness.visible(version)) - (finite_suites() if case.program == "inspircd" else set())
        assert suites == server.truth.suites.get(version, frozenset()) & visible, version_name(version)
    for version in conclusive(case, server.truth):
        if all_need_a_group(server.truth.suites[version]):
            groups = await trio.to_thread.run_sync(witness.groups, version)
            assert groups == server.truth.groups[version] - MLKEM, version_name(version)


QUESTIONS: dict[str, Callable[[Case, Running], Awaitable[None]]] = {
    "inventory": inventory,
    **{f"verdict under {name}": partial(verdict, profile=profile) for name, profile in PROFILES.items()},
    "unrelated client": unrelated_client,
}


def test_the_page_on_accuracy_counts_these_configurations() -> None:
    page = (Path(__file__).parents[2] / "docs" / "accuracy.md").read_text()
    counts = {program: int(count) for program, count in re.findall(r"^\| (\w+) \| [^|]* \| (\d+) \|$", page, re.M)}
    assert counts == {**Counter(case.program for case in CASES), "all": len(CASES)}


def test_each_quick_server_is_of_another_stack() -> None:
    assert len({case.program for case in CASES if case.id in QUICK}) == len(QUICK)


@cache
def finite_suites() -> set[int]:
    """Suites with DHE, for which GnuTLS without parameters needs a group of RFC 7919 in the hello: OpenSSL names none
    below TLS 1.3."""
    found = {code: name for version in FLAG if version < TLS13 for code, name in names(version, "ALL").items()}
    return {code for code, name in found.items() if name.startswith("DHE-")}


def all_need_a_group(suites: frozenset[int]) -> bool:
    """True if a handshake with one offered group proves something about it: no RSA or DHE key exchange instead."""
    return all(suite >> 8 in (0x13, 0xC0, 0xCC) and suite not in (0xC09C, 0xC09D, 0xCCAA) for suite in suites)


def never_wrong(seen: Observation, truth: Truth) -> None:
    """Every claim is true; unknown facts are not checked here."""
    assert set(seen.versions.accepted) <= truth.versions
    assert not seen.versions.refused & truth.versions
    for version, answers in seen.suites.items():
        real = truth.suites.get(version, frozenset())
        assert set(answers.accepted) <= real, named(set(answers.accepted) - real)
        assert not answers.refused & real, named(answers.refused & real)
        assert not answers.refused & truth.credentialed, named(answers.refused & truth.credentialed)
    for version, answers in seen.groups.items():
        groups = truth.groups.get(version, frozenset())
        assert set(answers.accepted) <= groups, version_name(version)
        assert not answers.refused & groups, version_name(version)


def conclusive(case: Case, truth: Truth) -> list[int]:
    """Versions whose groups can be determined: TLS 1.3, and below it those where an RSA certificate leaves no doubt."""
    certain = case.settings.key == "rsa" and not case.settings.also
    return [version for version in truth.groups if version == TLS13 or certain]


def named(suites: set[int] | frozenset[int]) -> list[str]:
    """Suites as people know them."""
    return sorted(map(suite_label, suites))


def story(seen: Observation, server: Running) -> str:
    """The attempts, for a failure's message."""
    lines = [f"{attempt.offer}: {attempt.reply}" for attempt in seen.attempts]
    unknown = seen.client_certificate
    lines += [f"client certificate: {unknown.reason}"] if isinstance(unknown, Unknown) else []
    lines += [
        f"{version_name(version)}: {answers.unasked}" for version, answers in seen.suites.items() if answers.unasked
    ]
    return "\n".join([*lines, f"truth: {server.truth}", f"the server wrote: {tail(server.log)}"])
