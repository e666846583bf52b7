"""Connections inside of real network namespaces."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
import trio

from scanner.kube.maybe import Unknown
from scanner.model.endpoint import Endpoint, Owner
from scanner.model.observation import Observation, Reach
from scanner.node.namespace_route import NamespaceRoutes
from scanner.node.proc_reader import ListeningSocket, Namespace, read_sockets
from scanner.probe.dial import Broken, Dialer
from scanner.probe.limits import Gate, Limits
from scanner.probe.observe import observe
from scanner.probe.session import Question
from scanner.values import replace
from tests.node.conftest import PORT, Network


def _found(network: Network) -> ListeningSocket:
    (found,) = (each for each in read_sockets().sockets if each.namespace.inode == network.inode and each.port == PORT)
    return found


def _observed(dialer: Dialer) -> Observation:
    endpoint = Endpoint(id="a", instance="a", address="127.0.0.1", port=PORT, owner=Owner(kind="Node", name="a"))

    async def ask() -> Observation:
        return await observe(endpoint, Question(mode="verdict"), Gate(Limits()), datetime.now(UTC), dialer)

    return trio.run(ask)


def _own() -> int:
    return Path("/proc/thread-self/ns/net").stat().st_ino


def test_the_same_port_in_two_namespaces_is_two_listeners(networks: list[Network]) -> None:
    before = _own()
    routes = NamespaceRoutes("/proc")
    for network in networks:
        found = _found(network)
        assert found.process
        assert (found.process.pid, found.is_loopback, found.namespace.of_node) == (network.pid, True, False)
        seen = _observed(routes.dialer(found.namespace, ("127.0.0.1",), PORT))
        assert seen.reach is Reach.TLS
        assert not isinstance(seen.chain, Unknown)
        assert seen.chain[0].der == network.certificate
    assert _own() == before
    open_files = len(list(Path("/proc/self/fd").iterdir()))
    routes.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == open_files - 3


def test_the_next_address_is_dialled_if_one_does_not_exist(networks: list[Network]) -> None:
    routes = NamespaceRoutes("/proc")
    namespace = _found(networks[0]).namespace
    seen = _observed(routes.dialer(namespace, ("2001:db8::1", "127.0.0.1"), PORT))
    assert seen.reach is Reach.TLS
    assert _observed(routes.dialer(namespace, ("127.0.0.1",), 9)).reach is Reach.CLOSED
    routes.close()


def test_a_namespace_that_is_another_one_is_not_entered(networks: list[Network]) -> None:
    """A process number that was given again must not lead to the network of another process."""
    routes = NamespaceRoutes("/proc")
    found = _found(networks[0])
    other = replace(found.namespace, inode=networks[1].inode)
    seen = _observed(routes.dialer(other, ("127.0.0.1",), PORT))
    assert (seen.reach, "cannot be entered" in seen.detail) == (Reach.UNREACHABLE, True)
    routes.close()


def test_processes_that_have_ended(tmp_path: Path) -> None:
    routes = NamespaceRoutes(str(tmp_path))
    dialer = routes.dialer(Namespace(inode=1, pids=(1, 2)), ("127.0.0.1",), PORT)
    with pytest.raises(Broken, match="unreachable") as broken:
        trio.run(dialer)
    assert broken.value.text == "its network namespace cannot be entered: all of its processes have ended"
    routes.close()
