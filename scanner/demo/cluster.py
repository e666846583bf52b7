"""The demo's cluster, alive: an API server on loopback, and a real listener wherever its objects say there is one."""

from __future__ import annotations

import base64
import errno
import os
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import trio

from scanner.demo.addresses import API_PORT, BLOCKS, MASTER, Addresses
from scanner.demo.api.request_handler import Api, Rules
from scanner.demo.api.server import Connect, api_part, nothing_to_forward
from scanner.demo.api.store import Store
from scanner.demo.cluster_workloads import API_SERVER_PAPER
from scanner.demo.layout import Layout, lay_out
from scanner.demo.listeners import ClusterListener, listeners, of_workloads, parts, sockets, tls_settings
from scanner.demo.listening import Part, background, bind_exactly, play
from scanner.demo.objects import FORBIDDEN, store
from scanner.demo.objects.platform import KUBERNETES
from scanner.errors import ResourceError

CONTEXT = "adhere-demo"
_SO_OFTEN = 3
"""Blocks in which one port is taken before that is somebody who has it on all addresses."""
_FOREVER = 3600.0
"""Seconds that a connection to the API server may last."""

_KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: {context}
clusters:
  - name: demo
    cluster:
      server: {server}
      certificate-authority-data: {ca}
users:
  - name: adhere
    user:
      token: {token}
contexts:
  - name: {context}
    context: {{cluster: demo, user: adhere, namespace: default}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoCluster:
    """A cluster that is alive now."""

    server: str
    """URL of the API server: ``https://127.10.192.10:6443``."""
    ca: str
    """PEM of the CA of the API server's certificate."""
    token: str
    """New each time; may read everything but Secrets and NetworkPolicies, and forward ports."""
    listeners: tuple[ClusterListener, ...]
    """Everything that a scan should meet."""
    unasked: tuple[ClusterListener, ...]
    """What is there and is not asked: plaintext that the component catalogue knows, loopback, another name."""
    store: Store
    """The objects; what is written there is what the API serves from then on."""

    @property
    def kubeconfig_text(self) -> str:
        """For ``kubectl``, ``oc`` and ``adhere`` alike."""
        ca = base64.b64encode(self.ca.encode()).decode()
        return _KUBECONFIG.format(context=CONTEXT, server=self.server, ca=ca, token=self.token)

    def kubeconfig(self, path: Path) -> Path:
        """Write a kubeconfig that nobody else can read; ``path``. Raises ``OSError``, also where there is one."""
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(self.kubeconfig_text)
        return path


@asynccontextmanager
async def demo_cluster(*, now: datetime | None = None) -> AsyncIterator[DemoCluster]:
    """Bring the cluster up until the block is left. Keys and certificates are new each time and stay in memory.

    Raises ``ResourceError`` where this machine has only 127.0.0.1, or another program has one of the ports.
    """
    async with background() as nursery:
        yield await _start(nursery, now or datetime.now(UTC))


async def _start(nursery: trio.Nursery, now: datetime) -> DemoCluster:
    layout, free = await _claim(now)
    token = secrets.token_urlsafe(32)
    server = f"{layout.addresses.api}:{API_PORT}"
    api = Api(store=store(layout), rules=Rules(token=token, forbidden=FORBIDDEN), server=server, version=_version(now))
    try:
        for address, port, part in parts(layout):
            await play(nursery, part, free.pop((address, port)))
        await play(nursery, _api_part(layout, api), free.pop((layout.addresses.api, API_PORT)), longest=_FOREVER)
    finally:
        _close(free)
    ca = layout.signers.pem("kube-apiserver")
    every = listeners(layout)
    return DemoCluster(
        server=f"https://{server}",
        ca=ca,
        token=token,
        listeners=tuple(each for each in every if not each.outcome.left_out),
        unasked=tuple(each for each in every if each.outcome.left_out),
        store=api.store,
    )


def _api_part(layout: Layout, api: Api) -> Part:
    """Modern like everything else: the API server is a listener of the cluster that it describes."""
    tls = tls_settings(layout, "modern-asks", API_SERVER_PAPER, node=MASTER, address=layout.addresses.api)
    return api_part(api, replace(tls, alpn=(b"http/1.1",)), _connect(layout))


def _connect(layout: Layout) -> Connect:
    """Where a port-forward leads: the pod's own listeners, those on its loopback too."""
    places = {
        (each.workload.namespace, each.pod, listener.port): listener.address
        for listener, each, port in of_workloads(layout)
        if each.serves(port) is not None or port.number == API_PORT
    }

    async def connect(namespace: str, pod: str, port: int) -> trio.SocketStream:
        address = places.get((namespace, pod, port))
        if address is None:
            return await nothing_to_forward(namespace, pod, port)
        return await trio.open_tcp_stream(address, port)

    return connect


Bound = dict[tuple[str, int], trio.SocketListener]


async def _claim(now: datetime) -> tuple[Layout, Bound]:
    """The first block of addresses in which every port is free, with all of them bound."""
    taken: Counter[int] = Counter()
    for block in BLOCKS:
        bound: Bound = {}
        try:
            await _bind(bound, [(Addresses(block).api, API_PORT)])
            layout = lay_out(block, now)
            await _bind(bound, sockets(layout))
        except _TakenError as error:
            _close(bound)
            taken[error.port] += 1
            if taken[error.port] == _SO_OFTEN and error.port != API_PORT:  # that one other demos have
                break
        else:
            return layout, bound
    (port, _), *_ = taken.most_common(1)
    raise ResourceError(
        f"cannot listen on port {port}: another program does, on every address of this machine",
        hint="stop it, run the demo in a container, or do without the cluster: adhere demo --outcomes",
    )


class _TakenError(Exception):
    """Somebody else listens there."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self.port = port


async def _bind(bound: Bound, places: Iterable[tuple[str, int]]) -> None:
    """Bind what is not bound yet. Raises ``_TakenError``; ``ResourceError`` where the addresses do not exist."""
    for address, port in places:
        if (address, port) in bound:
            continue
        try:
            bound[address, port] = await bind_exactly(address, port)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise _TakenError(port) from None
            _close(bound)
            raise ResourceError(
                f"cannot listen on {address}:{port}: {error.strerror}",
                hint="the embedded cluster needs all of 127.0.0.0/8, as Linux has it; adhere demo --outcomes does not",
            ) from error


def _close(bound: Bound) -> None:
    for each in bound.values():
        each.socket.close()


def _version(now: datetime) -> dict[str, str]:
    major, minor, _ = KUBERNETES.removeprefix("v").split(".")
    return {
        "major": major,
        "minor": minor,
        "gitVersion": KUBERNETES,
        "gitCommit": "0" * 40,
        "gitTreeState": "clean",
        "buildDate": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "goVersion": "go1.25.4",
        "compiler": "gc",
        "platform": "linux/amd64",
    }
