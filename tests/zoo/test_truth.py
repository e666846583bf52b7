"""The zoo does not lie: what it claims of each server is what an unrelated client gets from it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
import trio

from tests.zoo.cases import CASES, PROGRAMS, Case, running
from tests.zoo.openssl import FLAG, names
from tests.zoo.processes import program
from tests.zoo.truth import GROUPS, TLS13
from tests.zoo.witness import Witness

MLKEM = frozenset(code for name, code in GROUPS.items() if "MLKEM" in name)
DHE = {
    code
    for version in FLAG
    if version < TLS13
    for code, name in names(version, "ALL").items()
    if name.startswith("DHE-")
}
"""Suites that need a group of RFC 7919 in the hello of GnuTLS without parameters: OpenSSL names none below TLS 1.3."""

pytestmark = pytest.mark.zoo


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_an_unrelated_client_sees_what_the_zoo_claims(case: Case) -> None:
    missing = PROGRAMS[case.program].missing() or (None if program("openssl") else "not installed: openssl")
    if missing:
        pytest.skip(missing)
    async with running(case) as server:
        witness = Witness(server.address, server.port, server.server_name)
        for version in FLAG:
            suites = await trio.to_thread.run_sync(witness.suites, version)
            visible = set(witness.visible(version)) - (DHE if case.program == "inspircd" else set())
            assert suites == server.truth.suites.get(version, frozenset()) & visible, version
        for version, groups in server.truth.groups.items():
            seen = await trio.to_thread.run_sync(witness.groups, version)
            if case.settings.key == "rsa" and not case.settings.also and all_need_a_group(server.truth.suites[version]):
                assert seen == groups - MLKEM, version


def test_the_page_on_accuracy_counts_these_configurations() -> None:
    page = (Path(__file__).parents[2] / "docs" / "accuracy.md").read_text()
    counts = {program: int(count) for program, count in re.findall(r"^\| (\w+) \| [^|]* \| (\d+) \|$", page, re.M)}
    assert counts == {**Counter(case.program for case in CASES), "all": len(CASES)}


def all_need_a_group(suites: frozenset[int]) -> bool:
    """True if a handshake with one offered group proves something about it: no RSA or DHE key exchange instead."""
    return all(suite >> 8 in (0x13, 0xC0, 0xCC) and suite not in (0xC09C, 0xC09D, 0xCCAA) for suite in suites)
