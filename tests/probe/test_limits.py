"""Concurrency, rate and deadlines, on a mock clock."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from scanner.model.endpoint import Endpoint, Owner
from scanner.probe.limits import Gate, Limits, host_of
from scanner.values import replace


def listener(
    address: str,
    port: int = 443,
    *,
    runs_on: str | None = None,
    component: str | None = None,
    network: str | None = None,
) -> Endpoint:
    owner, name = Owner(kind="Target", name=address), f"{address}:{port}"
    return Endpoint(
        id=name,
        instance=name,
        address=address,
        port=port,
        owner=owner,
        runs_on=runs_on,
        component=component,
        network=network,
    )


HOST, OTHER = listener("192.0.2.1"), listener("192.0.2.2")


async def test_so_many_at_once_to_one_host(autojump_clock: MockClock) -> None:
    gate = Gate(Limits(per_host=3))
    inside = most = 0

    async def visit() -> None:
        nonlocal inside, most
        async with gate.host(HOST):
            inside += 1
            most = max(most, inside)
            await trio.sleep(1)
            inside -= 1

    async with trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(visit)
    assert most == 3
    assert trio.current_time() == pytest.approx(4)


async def test_hosts_do_not_wait_for_each_other(autojump_clock: MockClock) -> None:
    gate = Gate(Limits(per_host=1))
    async with gate.host(HOST):
        with trio.fail_after(1):
            async with gate.host(OTHER):
                pass
        with trio.move_on_after(1) as scope:
            async with gate.host(HOST):
                pytest.fail("two at once")
        assert scope.cancelled_caught


async def test_a_host_that_nobody_asks_is_forgotten(autojump_clock: MockClock) -> None:
    """10,000 targets must not leave 10,000 semaphores behind."""
    gate = Gate(Limits(per_host=1))
    async with gate.host(HOST):
        with trio.move_on_after(1):
            async with gate.host(HOST):
                pytest.fail("two at once")
        assert list(gate._hosts) == [HOST.address]
    with pytest.raises(KeyError):
        async with gate.host(OTHER):
            raise KeyError
    assert not gate._hosts


async def admitted(gate: Gate, held: Endpoint, other: Endpoint) -> bool:
    """True if ``other`` may be probed while ``held`` is."""
    async with gate.host(held):
        with trio.move_on_after(1):
            async with gate.host(other):
                return True
    return False


def test_the_host_is_the_node_else_the_address_else_the_name() -> None:
    every = replace(listener("192.0.2.1", runs_on="runs"), node="node", host="name.example")
    assert host_of(every) == "runs"
    assert host_of(replace(every, runs_on=None)) == "node"
    assert host_of(replace(every, runs_on=None, node=None)) == "192.0.2.1"
    assert host_of(replace(every, runs_on=None, node=None, address="")) == "name.example"


async def test_pods_of_one_node_share_its_places(autojump_clock: MockClock) -> None:
    gate = Gate(Limits(per_host=1))
    pod = listener("10.0.0.1", runs_on="node-1")
    assert not await admitted(gate, pod, listener("10.0.0.2", runs_on="node-1"))
    assert await admitted(gate, pod, listener("10.0.0.3", runs_on="node-2"))


async def test_a_network_namespace_has_places_of_its_own(autojump_clock: MockClock) -> None:
    gate = Gate(Limits(per_host=1))
    pod = listener("127.0.0.1", runs_on="node-1", network="pod shop/a")
    assert not await admitted(gate, pod, listener("127.0.0.1", 8443, runs_on="node-1", network="pod shop/a"))
    assert await admitted(gate, pod, listener("127.0.0.1", runs_on="node-1", network="pod shop/b"))


async def test_the_time_limit_ends_running_and_later_probes(autojump_clock: MockClock) -> None:
    gate = Gate(Limits(total=10))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(gate.expire)
        with gate.deadline() as running:
            await trio.sleep_forever()
    with gate.deadline() as later:
        await trio.sleep_forever()
    assert (running.cancelled_caught, later.cancelled_caught, trio.current_time()) == (True, True, 10)
    assert (gate.stopped, gate.expired) == (None, "the time limit of the scan (10 s) was reached; raise --time-limit")


async def test_a_component_to_be_asked_gently_has_one_place_on_a_node_of_its_own(autojump_clock: MockClock) -> None:
    gate = Gate(Limits(per_host=4, gently=frozenset({"etcd"})))
    etcd = listener("10.0.0.1", 2379, runs_on="node-1", component="etcd")
    assert not await admitted(gate, etcd, listener("10.0.0.1", 2380, runs_on="node-1", component="etcd"))
    assert await admitted(gate, etcd, listener("10.0.0.1", 2379, runs_on="node-2", component="etcd"))
    assert await admitted(gate, etcd, listener("10.0.0.1", 10250, runs_on="node-1", component="kubelet"))


async def test_no_rate_no_waiting(autojump_clock: MockClock) -> None:
    gate = Gate(Limits())
    for _ in range(1000):
        await gate.pace()
    assert trio.current_time() == 0


async def test_so_many_a_second_over_all(autojump_clock: MockClock) -> None:
    gate = Gate(Limits(rate=10))
    turns: list[float] = []

    async def connect_often() -> None:
        for _ in range(5):
            await gate.pace()
            turns.append(trio.current_time())

    async with trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(connect_often)
    assert turns == pytest.approx([number / 10 for number in range(20)])


async def test_a_pause_does_not_save_up_turns(autojump_clock: MockClock) -> None:
    gate = Gate(Limits(rate=1))
    await gate.pace()
    await trio.sleep(100)
    for _ in range(3):
        await gate.pace()
    assert trio.current_time() == pytest.approx(102)


async def test_a_deadline(autojump_clock: MockClock) -> None:
    gate = Gate(Limits(deadline=7))
    with gate.deadline() as scope:
        await trio.sleep_forever()
    assert scope.cancelled_caught
    assert trio.current_time() == pytest.approx(7)
    assert gate.stopped is None


async def test_waiting_for_the_rate_does_not_count(autojump_clock: MockClock) -> None:
    """Or a low --rate would let every endpoint's deadline come before its turn does."""
    gate = Gate(Limits(rate=0.1, deadline=7))
    with gate.deadline() as scope:
        for _ in range(4):
            await gate.pace(scope)
            await trio.sleep(1)
        before = trio.current_time()
        await trio.sleep_forever()
    assert before == pytest.approx(31)
    assert trio.current_time() == pytest.approx(34)  # three of the seven seconds were left


async def test_stop_ends_what_is_under_way_and_what_comes(autojump_clock: MockClock) -> None:
    gate = Gate(Limits())
    ended: list[bool] = []

    async def observe() -> None:
        with gate.deadline() as scope:
            await trio.sleep_forever()
        ended.append(scope.cancelled_caught)

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(observe)
        await trio.sleep(1)
        gate.stop("SIGTERM")
        gate.stop("SIGINT")
        nursery.start_soon(observe)
    assert ended == [True] * 4
    assert gate.stopped == "SIGTERM"
    assert trio.current_time() == pytest.approx(1)
    assert not gate._scopes


async def test_after_stop_no_connection_gets_a_turn() -> None:
    gate = Gate(Limits())
    gate.stop("SIGTERM")
    with gate.deadline() as scope:
        await gate.pace(scope)
        pytest.fail("a turn")
    assert scope.cancelled_caught
