"""Against real servers: what is observed is what is configured, and no verdict is wrong in either direction."""

from __future__ import annotations

import pytest

from scanner.kube.maybe import Unknown
from scanner.kube.tls_profile import Profile
from scanner.model.observation import Observation
from scanner.tls.names import suite_label, version_name
from tests.zoo.cases import CASES, PROGRAMS, Case, Running, running
from tests.zoo.observing import PROFILES, ask, endpoint, judged
from tests.zoo.processes import tail
from tests.zoo.truth import TLS13, Truth

pytestmark = [pytest.mark.zoo, pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)]


async def test_the_inventory_is_what_is_configured(case: Case) -> None:
    skip_without(case)
    async with running(case) as server:
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


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
async def test_no_verdict_is_wrong(case: Case, profile: Profile) -> None:
    skip_without(case)
    async with running(case) as server:
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


def skip_without(case: Case) -> None:
    """Skip, with the reason, where the program is missing."""
    if missing := PROGRAMS[case.program].missing():
        pytest.skip(missing)


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
