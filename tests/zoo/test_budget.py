"""Connections that a compliant Intermediate endpoint costs, counted at the server."""

from __future__ import annotations

import pytest

from scanner.probe.session import Mode
from tests.zoo.cases import CASES, PROGRAMS, running
from tests.zoo.counting import counted
from tests.zoo.observing import PROFILES, ask, endpoint, judged

BUDGET: dict[Mode, int] = {"verdict": 9, "inventory": 20}
"""Connections; groups included in the inventory."""

pytestmark = pytest.mark.zoo


@pytest.mark.parametrize("mode", BUDGET)
@pytest.mark.parametrize("name", ["go", "nginx", "openssl", "haproxy"])
async def test_a_compliant_endpoint_costs_few_connections(name: str, mode: Mode) -> None:
    if missing := PROGRAMS[name].missing():
        pytest.skip(missing)
    (case,) = [case for case in CASES if case.id == f"{name}-intermediate"]
    async with running(case) as server, counted(server.address, server.port) as counter:
        target = endpoint(counter)
        seen = await ask(target, mode)
        assert judged(target, seen, PROFILES["intermediate"]).verdict == "pass"
        assert counter.connections <= BUDGET[mode], [attempt.offer for attempt in seen.attempts]
        assert seen.connections == counter.connections
