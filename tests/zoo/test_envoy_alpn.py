"""Envoy that chooses its filter chain, with versions and suites, by the client's ALPN, as Istio's sidecars do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from scanner.model.observation import WITH_ALPN, Observation
from scanner.probe.session import Mode
from scanner.tls.codepoints import TLS10, TLS11, TLS12
from scanner.values import replace
from tests.certs import Authority
from tests.zoo import envoy
from tests.zoo.cases import Running
from tests.zoo.envoy import Chain
from tests.zoo.observing import PROFILES, ask, endpoint, judged
from tests.zoo.processes import free_address, serving
from tests.zoo.truth import Truth

pytestmark = [pytest.mark.zoo, pytest.mark.slow]

LEAF = Authority("Mesh").leaf(names=("web.example",))
STRICT = Chain(credential=LEAF, alpn=("h2", "http/1.1"))
WEAK = Chain(
    credential=LEAF,
    protocols=("h2", "http/1.1"),
    suites=("ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA"),
    least="TLSv1_0",
    most="TLSv1_2",
    alpn=("h2", "http/1.1"),
)
OLD = {TLS10: {0xC009}, TLS11: {0xC009}, TLS12: {0xC009, 0xC02B}}


async def observed(chains: Sequence[Chain], mode: Mode, directory: Path) -> tuple[Observation, str]:
    """What is seen of an Envoy with these chains, and the verdict under Intermediate."""
    if missing := envoy.missing():
        pytest.skip(missing)
    address, port = free_address()
    log, profile = directory / "log", PROFILES["intermediate"]
    async with serving(envoy.launch({f"{address}:{port}": chains}, directory), address, port, log):
        server = Running(address=address, port=port, server_name="web.example", truth=Truth(suites={}), log=log)
        target = endpoint(server, "web.example")
        seen = await ask(target, mode, profile)
    return seen, judged(target, seen, profile).verdict


@pytest.mark.parametrize("chains", [(WEAK, STRICT), (WEAK,)], ids=["beside a strict chain", "alone"])
async def test_what_a_chain_for_alpn_accepts_is_found(chains: Sequence[Chain], tmp_path: Path) -> None:
    seen, verdict = await observed(chains, "verdict", tmp_path)
    assert verdict == "fail"
    assert TLS10 in seen.versions.accepted or 0xC009 in seen.suites[TLS12].accepted
    assert any(WITH_ALPN in each.offer and "ECDHE_ECDSA_WITH_AES_128_CBC_SHA" in each.reply for each in seen.attempts)
    seen, verdict = await observed(chains, "inventory", tmp_path)
    assert verdict == "fail"
    assert {version: set(seen.suites[version].accepted) & {0xC009, 0xC02B} for version in OLD} == OLD
    assert not seen.versions.refused & {*OLD}


async def test_a_front_whose_chains_are_all_strict_does_not_fail(tmp_path: Path) -> None:
    chains = [replace(WEAK, suites=STRICT.suites, least=STRICT.least, most=STRICT.most), STRICT]
    seen, verdict = await observed(chains, "verdict", tmp_path)
    assert verdict == "pass"
    assert seen.versions.refused >= {TLS10, TLS11}
