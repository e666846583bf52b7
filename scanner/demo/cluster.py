"""The demo's cluster: an API server on loopback, and a real listener wherever its objects declare one.

``unexpected`` compares a scan of it with the outcome that each listener should have.
"""

from __future__ import annotations

import base64
import errno
import json
import os
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import trio
from msgspec import Struct

from scanner.demo.api.request_handler import Api
from scanner.demo.api.server import Connect, api_handler, nothing_to_forward
from scanner.demo.api.store import Store
from scanner.demo.behaviours import by_server_name, passing_to, plaintext_http, tls_or_plaintext
from scanner.demo.certificates import CertificateSpec
from scanner.demo.cluster_workloads import API_SERVER_CERTIFICATE, ROUTERS, ROUTES, Router
from scanner.demo.layout import BLOCKS, Addresses, Layout, Replica, lay_out
from scanner.demo.listening import Handler, background, bind_exactly, start_listener
from scanner.demo.objects import FORBIDDEN, store
from scanner.demo.objects.platform import KUBERNETES
from scanner.demo.objects.published import OUTSIDE
from scanner.demo.tls_server import TlsSettings, tls_handler
from scanner.demo.workload_types import (
    API_PORT,
    COMPLIES,
    GATEWAY,
    GATEWAY_PORT,
    KUBELET_PORT,
    MASTER,
    NODES,
    TLS,
    Outcome,
    Port,
    Serves,
)
from scanner.errors import ResourceError
from scanner.model.observation import Reach
from scanner.model.report import EndpointRow
from scanner.values import replace

_CONTEXT = "adhere-demo"
_MOST_BLOCKS = 3
"""Blocks in which one port is taken; after that, another program has it on all addresses."""
_LONGEST_API_CONNECTION = 3600.0
"""Seconds."""
_KUBELET_CERTIFICATE = CertificateSpec(
    signer="kubelet", names=("{node}", "{address}"), subject="system:node:{node}", days=(-5, 25)
)

Bound = dict[tuple[str, int], trio.SocketListener]
"""Sockets by address and port."""


class ClusterListener(Struct, frozen=True, kw_only=True):
    """One listener under one server name, or a port without a listener."""

    address: str
    port: int
    server_name: str | None = None
    """The server name to send, where the answer depends on it."""
    owner: str
    """``openshift-etcd/etcd``."""
    outcome: Outcome = COMPLIES
    forwarded: tuple[str, str] | None = None
    """(namespace, pod), if only a port-forward connects to it; ``address`` is then internal."""


class DemoCluster(Struct, frozen=True, kw_only=True):
    """A running cluster."""

    server: str
    """URL of the API server: ``https://127.10.192.10:6443``."""
    ca: str
    """PEM of the CA of the API server's certificate."""
    token: str
    """New in each run; may read everything but Secrets and NetworkPolicies, and forward ports."""
    listeners: tuple[ClusterListener, ...]
    """Listeners that a scan reports."""
    not_scanned: tuple[ClusterListener, ...]
    """Listeners that a scan excludes: plaintext that the component catalogue lists, loopback, aliases."""
    store: Store

    def kubeconfig(self, path: Path) -> Path:
        """Write a kubeconfig that only its owner can read; return ``path``. Raises ``OSError``, also if it exists."""
        server = {"server": self.server, "certificate-authority-data": base64.b64encode(self.ca.encode()).decode()}
        context = {"cluster": "demo", "user": "adhere", "namespace": "default"}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": _CONTEXT,
            "clusters": [{"name": "demo", "cluster": server}],
            "users": [{"name": "adhere", "user": {"token": self.token}}],
            "contexts": [{"name": _CONTEXT, "context": context}],
        }
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump(config, file, indent=2)
        return path


@asynccontextmanager
async def demo_cluster() -> AsyncIterator[DemoCluster]:
    """Run the cluster until the block is left. Keys and certificates are new each time and stay in memory.

    Raises ``ResourceError`` if this machine has only 127.0.0.1, or another program has one of the ports.
    """
    now = datetime.now(UTC)
    async with background() as nursery:
        layout, free = await _bind_block(now)
        token = secrets.token_urlsafe(32)
        api = Api(store=store(layout), token=token, forbidden=FORBIDDEN, version=_version(now))
        found = list(_listeners(layout))
        try:
            for listener, handler in found:
                if handler is not None:
                    await start_listener(nursery, handler, free.pop((listener.address, listener.port)))
            place = layout.addresses.api, API_PORT
            await start_listener(nursery, _api(layout, api), free.pop(place), longest=_LONGEST_API_CONNECTION)
        finally:
            _close(free)
        yield DemoCluster(
            server=f"https://{layout.addresses.api}:{API_PORT}",
            ca=layout.signers.pem("kube-apiserver"),
            token=token,
            listeners=tuple(each for each, _ in found if not each.outcome.excluded),
            not_scanned=tuple(each for each, _ in found if each.outcome.excluded),
            store=api.store,
        )


def _api(layout: Layout, api: Api) -> Handler:
    """The API server, whose listener follows the profile that it stores."""
    settings = tls_settings(
        layout, "modern-mtls-requested", API_SERVER_CERTIFICATE, node=MASTER, address=layout.addresses.api
    )
    return api_handler(api, replace(settings, alpn=(b"http/1.1",)), _connect(layout))


def _connect(layout: Layout) -> Connect:
    """Connect port-forwards to the pods' own listeners, also to those on loopback."""
    addresses = {
        (each.workload.namespace, each.pod, port.number): listener.address
        for listener, each, port in _of_workloads(layout)
    }

    async def connect(namespace: str, pod: str, port: int) -> trio.SocketStream:
        address = addresses.get((namespace, pod, port))
        if address is None:
            return await nothing_to_forward(namespace, pod, port)
        return await trio.open_tcp_stream(address, port)

    return connect


async def _bind_block(now: datetime) -> tuple[Layout, Bound]:
    """Bind every port of the first block of addresses in which all are free."""
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
            if taken[error.port] == _MOST_BLOCKS and error.port != API_PORT:  # other demos have that one
                break
        else:
            return layout, bound
    (port, _), *_ = taken.most_common(1)
    raise ResourceError(
        f"cannot listen on port {port}: another program listens on it, on every address of this machine",
        hint="stop that program, run the demo in a container, or run it without the cluster: adhere demo --outcomes",
    )


class _TakenError(Exception):
    """Another program has this port."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self.port = port


async def _bind(bound: Bound, places: Iterable[tuple[str, int]]) -> None:
    """Bind what is not bound yet. Raises ``_TakenError``; ``ResourceError`` if the addresses do not exist."""
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
                hint="the demo's cluster needs all of 127.0.0.0/8, as Linux has it; adhere demo --outcomes does not",
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


# --- listeners --------------------------------------------------------------------------------------------------------


def sockets(layout: Layout) -> tuple[tuple[str, int], ...]:
    """Return address and port of every open port, each once."""
    silent = (Reach.CLOSED, Reach.UNREACHABLE)
    found = (*(each for each, _, _ in _of_workloads(layout)), *_kubelets(layout), _gateway(layout))
    return tuple(dict.fromkeys((each.address, each.port) for each in found if each.outcome.reach not in silent))


def _listeners(layout: Layout) -> Iterator[tuple[ClusterListener, Handler | None]]:
    """Yield every listener with its handler; None for the API server, names at a router, and closed ports.

    Raises ``ResourceError``.
    """
    for listener, replica, port in _of_workloads(layout):
        yield listener, _handler(layout, replica, port, listener.address)
    for listener, node in zip(_kubelets(layout), NODES, strict=True):
        # The workers' pool has a KubeletConfig with Intermediate; nothing overrides the profile on the control plane.
        serves: Serves = "modern-mtls-requested" if node == MASTER else "intermediate-mtls-requested"
        settings = tls_settings(layout, serves, _KUBELET_CERTIFICATE, node=node, address=listener.address)
        yield listener, tls_handler(settings)
    addresses = {each.workload.name: each.address for each in layout.replicas}
    ports = {each.name: each.https for each in ROUTERS}
    for route in ROUTES:
        yield (
            ClusterListener(
                address=addresses[f"router-{route.router}"],
                port=ports[route.router],
                server_name=route.host,
                owner=f"{route.namespace}/{route.name}",
            ),
            None,
        )
    yield _gateway(layout), passing_to(addresses["shop-openshift-default"], GATEWAY_PORT)
    # A Service without a ready pod.
    yield (
        ClusterListener(
            address=layout.cluster_ips["shop", "reports"],
            port=443,
            owner="shop/reports",
            outcome=Outcome(verdict="not_applicable", reach=Reach.CLOSED, status="unreachable"),
        ),
        None,
    )
    # A webhook outside of the cluster: nothing is sent there.
    outside = urlsplit(OUTSIDE)
    yield (
        ClusterListener(
            address=outside.hostname or "",
            port=outside.port or 443,
            owner="corporate-policy",
            outcome=Outcome(verdict="inconclusive", reach=Reach.UNREACHABLE, status="unreachable"),
        ),
        None,
    )


def _of_workloads(layout: Layout) -> Iterator[tuple[ClusterListener, Replica, Port]]:
    """Yield every port of every pod, also closed ones."""
    for each in layout.replicas:
        for port in each.workload.ports:
            namespace = each.workload.namespace
            listener = ClusterListener(
                address=layout.addresses.loopback(each.node) if port.loopback else each.address,
                port=port.number,
                owner=f"{namespace}/{each.workload.name}",
                outcome=each.outcome(port),
                forwarded=(namespace, each.pod) if port.loopback else None,
            )
            yield listener, each, port


def _kubelets(layout: Layout) -> Iterator[ClusterListener]:
    for node in NODES:
        yield ClusterListener(address=layout.addresses.node(node), port=KUBELET_PORT, owner=f"kubelet/{node}")


def _gateway(layout: Layout) -> ClusterListener:
    """The Gateway's load balancer, an alias of its one pod: a scan probes the pod instead."""
    return ClusterListener(
        address=layout.addresses.load_balancer,
        port=GATEWAY_PORT,
        server_name=f"shop.{GATEWAY}",
        owner="openshift-ingress/shop",
        outcome=Outcome(excluded=True),
    )


def _handler(layout: Layout, replica: Replica, port: Port, address: str) -> Handler | None:
    serves = replica.serves(port)
    if serves is None:
        return None
    if serves == "plaintext":
        return plaintext_http
    if port.certificate is None:
        raise ValueError(f"{replica.pod}:{port.number} speaks TLS and has no certificate")

    def tls(certificate: CertificateSpec) -> Handler:
        return tls_handler(tls_settings(layout, serves, certificate, node=replica.node, address=address))

    by_name = {name: tls(certificate) for name, certificate in port.by_name}
    for router in ROUTERS:
        if replica.workload.name == f"router-{router.name}" and port.number == router.https:
            by_name |= _route_handlers(layout, router, replica)
    handler = tls(port.certificate)
    if by_name:
        return by_server_name(by_name, handler)
    return tls_or_plaintext(handler, plaintext_http) if port.plaintext_too else handler


def _route_handlers(layout: Layout, router: Router, replica: Replica) -> dict[str, Handler]:
    """The names that a router does not serve with its default certificate: another certificate, or passthrough.

    Passthrough goes to the first backend: the router balances by the client's address (``balance source``), and all
    clients of the demo have the same one.
    """
    found: dict[str, Handler] = {}
    for route in ROUTES:
        if route.router != router.name:
            continue
        if route.termination == "passthrough":
            found[route.host] = passing_to(*next(layout.backends(route.namespace, route.service, route.port)))
        elif route.certificate is not None:
            settings = tls_settings(
                layout, router.serves, route.certificate, node=replica.node, address=replica.address
            )
            found[route.host] = tls_handler(settings)
    return found


def tls_settings(
    layout: Layout, serves: Serves, certificate: CertificateSpec, *, node: str, address: str
) -> TlsSettings:
    """TLS settings with a certificate. Client certificates are trusted if etcd's CA or the API server's signed them."""
    settings = TLS[serves](credential=layout.signers.issue(certificate, node=node, address=address))
    if settings.client_certificate == "none":
        return settings
    trusted = layout.signers.authorities["etcd" if certificate.signer == "etcd" else "kube-apiserver"]
    return replace(settings, client_ca=trusted.certificate)


# --- comparison with a scan -------------------------------------------------------------------------------------------


def unexpected(rows: Iterable[EndpointRow], listeners: Iterable[ClusterListener]) -> list[str]:
    """Return the differences, one line each; each is a bug of adhere.

    A row without a listener may only be not applicable: a port that the catalogue lists as possible.
    """
    by_place = {(each.address, each.port, each.server_name): each for each in listeners}
    missing = dict(by_place)
    wrong: list[str] = []
    for row in rows:
        place = (row["address"] or "", row["port"], row["server_name"])
        place = place if place in by_place else (*place[:2], None)
        missing.pop(place, None)
        wrong += _differences(row, by_place.get(place))
    return wrong + [
        f"{each.owner} at {each.address}:{each.port} was not found; this is a bug in adhere"
        for each in missing.values()
    ]


def _differences(row: EndpointRow, listener: ClusterListener | None) -> Iterator[str]:
    if listener is None:
        if row["verdict"] != "not_applicable":
            yield f"{row['id']} is {row['verdict']}, but is no listener of the demo; this is a bug in adhere"
        return
    outcome = listener.outcome
    failing = {finding["rule"] for finding in row["findings"] if finding["verdict"] == "fail"}
    expected = " ".join((outcome.verdict, outcome.reach.value, outcome.status))
    observed = f"{row['verdict']} {row['reach']} {row['status']}"
    if expected != observed:
        yield f"{row['id']}: expected {expected}, observed {observed}; this is a bug in adhere"
    elif passed := set(outcome.failing_rules) - failing:
        yield f"{row['id']}: expected failures of {', '.join(sorted(passed))}; this is a bug in adhere"
