"""Port-forward by a real API server: every error that it makes reaches the user, and a stub kubelet gets through."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import trio

from scanner.cluster import access
from scanner.cluster.client import Client
from scanner.cluster.portforward import NotForwarded, PortForwards
from scanner.tls.records import HANDSHAKE
from tests.e2e.accounts import account, reading
from tests.e2e.control_plane import ControlPlane
from tests.e2e.kubelet import kubelet
from tests.e2e.writing import Writer
from tests.forwarding import forward
from tests.servers import tls_listener

ETCD = ("openshift-etcd", "etcd-master-1")
FORWARDING = {"apiGroups": [""], "resources": ["pods/portforward"], "verbs": ["create", "get"]}


def client_hello() -> bytes:
    """As OpenSSL writes it."""
    nothing, hello = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(nothing, hello, server_hostname="localhost")
    with suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return hello.read()


async def refused(client: Client, namespace: str, pod: str, port: int) -> NotForwarded:
    """What a connection ends in that must not come about."""
    with pytest.raises(NotForwarded) as told:
        async with forward(client, namespace, pod, port) as stream:
            await stream.receive()
    return told.value


@asynccontextmanager
async def client_of(plane: ControlPlane, path: Path, token: str) -> AsyncIterator[Client]:
    async with Client(access(str(plane.kubeconfig(path / "kubeconfig", {"token": token})))) as client:
        yield client


async def test_no_kubelet_there(cluster: ControlPlane, tmp_path: Path) -> None:
    async with client_of(cluster, tmp_path, cluster.tokens["admin"]) as client:
        told = await refused(client, *ETCD, 2379)
    assert f"{cluster.etcd.address}:10250" in told.detail
    assert "connection refused" in told.detail


async def test_a_kubelet_that_is_not_there_says_nothing_about_the_pods_port(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    async with client_of(cluster, tmp_path, cluster.tokens["admin"]) as client:
        told = await refused(client, *ETCD, 2379)
    assert told.reason == "kubelet"


async def test_no_such_pod(cluster: ControlPlane, tmp_path: Path) -> None:
    async with client_of(cluster, tmp_path, cluster.tokens["admin"]) as client:
        told = await refused(client, "shop", "nobody", 8443)
    assert told.reason == "no-pod"
    assert 'pods "nobody" not found' in told.detail


async def test_a_pod_without_a_node(cluster: ControlPlane, writer: Writer, tmp_path: Path) -> None:
    waiting = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "waiting", "namespace": "shop"},
        "spec": {"containers": [{"name": "web", "image": "registry.example/web"}]},
    }
    writer.create(waiting)
    async with client_of(cluster, tmp_path, cluster.tokens["admin"]) as client:
        told = await refused(client, "shop", "waiting", 8443)
    writer.delete(waiting)
    assert "does not have a host assigned" in told.detail


async def test_not_allowed(cluster: ControlPlane, writer: Writer, tmp_path: Path) -> None:
    allowed = account(cluster, writer, [reading("", "pods")])
    async with client_of(cluster, tmp_path, allowed.token().value) as client:
        told = await refused(client, *ETCD, 2379)
    assert told.reason == "forbidden"
    assert 'resource "pods/portforward"' in told.detail


@pytest.mark.parametrize(("several", "asked"), [(True, ["POST SPDY/3.1"]), (False, 5 * ["GET websocket"])])
async def test_through_the_api_server_to_a_tls_listener(
    cluster: ControlPlane, writer: Writer, tmp_path: Path, *, several: bool, asked: list[str]
) -> None:
    """With no more than ``adhere rbac --with port-forward`` allows: all connections by one tunnel, or each its own."""
    allowed = account(cluster, writer, [FORWARDING])
    hello = client_hello()
    async with tls_listener() as listener:
        address = "{}:{}".format(*listener.sockaddr)
        async with (
            kubelet(cluster, cluster.etcd.address, {2379: address}) as node,
            client_of(cluster, tmp_path, allowed.token().value) as client,
            trio.open_nursery() as nursery,
        ):
            forwards = PortForwards(client, nursery)
            forwards.several = several
            for _ in range(3):
                async with forwards.connection(*ETCD, 2379) as stream:
                    await stream.send(hello)
                    assert (await stream.receive())[0] == HANDSHAKE
            with pytest.raises(NotForwarded) as told:
                async with forwards.connection(*ETCD, 1) as stream:
                    await stream.receive()
            async with forwards.connection(*ETCD, 2379) as stream:  # one refusal ends no other connection
                await stream.send(hello)
                assert (await stream.receive())[0] == HANDSHAKE
            seen = node.asked
            nursery.cancel_scope.cancel()
    assert (told.value.reason, "connection refused" in told.value.detail) == ("refused", True)
    assert seen == [each.replace(" ", " /portForward/openshift-etcd/etcd-master-1 ") for each in asked]


def test_configz_cannot_be_asked_for_here(cluster: ControlPlane) -> None:
    """The API server's proxy connects to no node on loopback, and nowhere else may these tests lead."""
    answer = cluster.admin.get("/api/v1/nodes/master-1/proxy/configz")
    assert (answer.status_code, answer.json()["message"]) == (400, "address not allowed")
