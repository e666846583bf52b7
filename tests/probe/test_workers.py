"""Processes that probe: what they say, and what is left when one ends."""

from __future__ import annotations

import os
import signal
import sys
from datetime import datetime
from functools import partial
from pathlib import Path

import pytest
import trio
import trio.testing

from scanner.errors import ResourceError
from scanner.model.endpoint import Endpoint, Owner
from scanner.model.observation import Answers, Observation, Reach
from scanner.probe import workers as module
from scanner.probe.limits import Gate, Limits
from scanner.probe.session import Question
from scanner.probe.workers import MOST, Workers, cores, workers

pytestmark = pytest.mark.crypto

LIMITS = Limits(rate=30.0)
QUESTION = Question(mode="inventory")


def endpoint(host: str) -> Endpoint:
    return Endpoint(
        id=f"listed/{host}:443",
        instance=f"{host}:443",
        host=host,
        address=host,
        port=443,
        owner=Owner(kind="Target", name=host),
    )


async def observed(
    endpoint: Endpoint, question: Question, gate: Gate, at: datetime, dialer: object = None
) -> Observation:
    """What a worker does here: by the last part of the address."""
    last = int(endpoint.host.rpartition(".")[2])
    if last == 13:
        raise ResourceError("no descriptors", hint="raise the limit")
    while last == 99 and gate.stopped is None:  # noqa: ASYNC110 - only a signal or the gate ends it
        await trio.sleep(0.01)
    detail = f"{os.getpid()} {gate.limits.rate:g} " + "x" * (1 << 16 if last == 77 else 0)
    return Observation(
        instance=endpoint.instance, at=at, reach=Reach.CLOSED, detail=detail, versions=Answers(), stopped=gate.stopped
    )


@pytest.fixture(autouse=True)
def _inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "observe", observed)


async def ask(found: Workers, host: str) -> Observation:
    link = found.of(endpoint(host))
    assert link is not None
    return await link.observe(endpoint(host), QUESTION)


def test_a_host_has_one_worker_and_the_rate_is_divided() -> None:
    async def main(found: Workers) -> None:
        async with trio.open_nursery() as nursery:
            await nursery.start(found.run, Gate(LIMITS))
            for _ in range(2):
                for number in range(40):
                    said[f"10.0.0.{number + 14}"].add((await ask(found, f"10.0.0.{number + 14}")).detail)
            nursery.cancel_scope.cancel()

    said: dict[str, set[str]] = {f"10.0.0.{number + 14}": set() for number in range(40)}
    with workers(3, LIMITS) as found:
        trio.run(main, found)
        pids = {str(each.pid) for each in found.links}
    assert all(len(each) == 1 for each in said.values())
    words = {detail.split()[0]: detail.split()[1] for details in said.values() for detail in details}
    assert words == dict.fromkeys(pids, "10")
    for pid in pids:
        assert not Path(f"/proc/{pid}").exists()  # they end with the block


def test_many_long_answers_at_once() -> None:
    async def one(found: Workers) -> None:
        assert len((await ask(found, "10.0.0.77")).detail) > 1 << 16
        arrived.append(None)

    async def main(found: Workers) -> None:
        async with trio.open_nursery() as nursery:
            await nursery.start(found.run, Gate(LIMITS))
            async with trio.open_nursery() as asking:
                for _ in range(100):
                    asking.start_soon(one, found)
            nursery.cancel_scope.cancel()

    arrived: list[None] = []
    with workers(2, LIMITS) as found:
        trio.run(main, found)
    assert len(arrived) == 100


def test_an_error_is_raised_where_it_was_asked() -> None:
    async def main(found: Workers) -> None:
        async with trio.open_nursery() as nursery:
            await nursery.start(found.run, Gate(LIMITS))
            with pytest.raises(ResourceError, match="no descriptors") as caught:
                await ask(found, "10.0.0.13")
            assert caught.value.hint == "raise the limit"
            assert (await ask(found, "10.0.0.14")).reach is Reach.CLOSED
            nursery.cancel_scope.cancel()

    with workers(2, LIMITS) as found:
        trio.run(main, found)


def test_a_worker_that_is_killed_loses_only_what_it_was_probing() -> None:
    async def waits(found: Workers) -> None:
        seen.append(await ask(found, "10.0.0.99"))

    async def main(found: Workers) -> None:
        async with trio.open_nursery() as nursery:
            await nursery.start(found.run, Gate(LIMITS))
            async with trio.open_nursery() as asking:
                asking.start_soon(waits, found)
                await trio.testing.wait_all_tasks_blocked()
                link = found.of(endpoint("10.0.0.99"))
                assert link is not None
                os.kill(link.pid, signal.SIGKILL)
            assert found.of(endpoint("10.0.0.99")) is None  # from now on the caller probes it
            others = [found.of(endpoint(f"10.0.1.{number}")) for number in range(14, 60)]
            assert any(others)
            assert link not in others
            nursery.cancel_scope.cancel()

    seen: list[Observation] = []
    with workers(2, LIMITS) as found:
        assert found.lost is None
        trio.run(main, found)
        assert found.lost
    (lost,), why = seen, "the process that probed it ended"
    assert (lost.instance, lost.reach, lost.detail) == ("10.0.0.99:443", Reach.INTERRUPTED, why)
    assert lost.versions.unasked == lost.stopped == why


def test_signals_are_the_parents_to_answer() -> None:
    async def main(found: Workers) -> None:
        async with trio.open_nursery() as nursery:
            await nursery.start(found.run, Gate(LIMITS))
            hosts = [f"10.0.0.{number}" for number in range(14, 30)]
            pids = {(await ask(found, host)).detail.split()[0] for host in hosts}  # each worker has begun
            assert pids == {str(link.pid) for link in found.links}
            for link in found.links:
                os.kill(link.pid, signal.SIGINT)
                os.kill(link.pid, signal.SIGTERM)
            assert {(await ask(found, host)).reach for host in hosts} == {Reach.CLOSED}
            nursery.cancel_scope.cancel()

    with workers(2, LIMITS) as found:
        trio.run(main, found)


def test_a_worker_with_a_fault_prints_it(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(module, "_work", broken)
    with workers(2, LIMITS):
        pass
    assert capfd.readouterr().err.count("RuntimeError: a fault of ours") == 2


def test_a_stop_reaches_the_workers() -> None:
    async def main(found: Workers, gate: Gate) -> None:
        async with trio.open_nursery() as nursery:
            await nursery.start(found.run, gate)
            with trio.fail_after(20):
                async with trio.open_nursery() as asking:
                    asking.start_soon(partial(stop_soon, gate))
                    seen.append(await ask(found, "10.0.0.99"))
            nursery.cancel_scope.cancel()

    async def stop_soon(gate: Gate) -> None:
        await trio.testing.wait_all_tasks_blocked()
        gate.stop("SIGTERM")

    seen: list[Observation] = []
    with workers(2, LIMITS) as found:
        trio.run(main, found, Gate(LIMITS))
    assert [each.stopped for each in seen] == ["SIGTERM"]


def test_one_worker_is_none() -> None:
    with workers(1, LIMITS) as found:
        assert found.links == ()
        assert found.of(endpoint("10.0.0.1")) is None


@pytest.mark.parametrize(
    ("text", "affinity", "most"),
    [
        *(("max 100000\n", 64, MOST), ("garbage", 64, MOST), ("garbage", 3, 3), ("1600000 100000\n", 64, MOST)),
        *(("50000 100000\n", 64, 1), ("0 100000\n", 64, 1), ("250000 100000\n", 64, 3), ("250000 100000\n", 2, 2)),
    ],
)
def test_cores(text: str, affinity: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: text)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(affinity))
    assert cores() == most
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cores() == 1
