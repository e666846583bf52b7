"""The listeners of the demo's cluster: the address, the port, what is served there, and the outcome of a scan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from scanner.demo.addresses import GATEWAY, GATEWAY_PORT, MASTER, NODES
from scanner.demo.behaviours import by_server_name, passing_to, tls_or_plaintext
from scanner.demo.certificates import Paper
from scanner.demo.frontends import ROUTERS, ROUTES, Router
from scanner.demo.layout import Layout, Replica
from scanner.demo.listening import Part
from scanner.demo.objects.published import OUTSIDE
from scanner.demo.tls_server import TlsSettings, tls_part
from scanner.demo.tls_settings import PARTS, TLS, Serves
from scanner.demo.workloads import COMPLIES, Outcome, Port
from scanner.model.observation import Reach

KUBELET_PORT = 10250
_KUBELET_PAPER = Paper(signer="kubelet", names=("{node}", "{address}"), subject="system:node:{node}", days=(-5, 25))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterListener:
    """One listener under one server name, or a port without a listener."""

    address: str
    port: int
    server_name: str | None = None
    """The name to send, where it makes a difference."""
    whose: str
    """``openshift-etcd/etcd``."""
    story: str
    outcome: Outcome = COMPLIES
    forwarded: tuple[str, str] | None = None
    """(namespace, pod), where only a port-forward leads there; ``address`` is then internal."""


def kubelets(layout: Layout) -> Iterator[tuple[ClusterListener, Serves]]:
    """Yield one for each node; a KubeletConfig overrides the cluster's profile on the workers."""
    stories: dict[bool, tuple[str, Serves]] = {
        True: ("The control plane's kubelet: nothing overrides the cluster's profile.", "modern-asks"),
        False: ("A worker's kubelet: its pool has a KubeletConfig that says Intermediate.", "intermediate-asks"),
    }
    for node in NODES:
        story, serves = stories[node == MASTER]
        yield (
            ClusterListener(
                address=layout.addresses.node(node), port=KUBELET_PORT, whose=f"kubelet/{node}", story=story
            ),
            serves,
        )


def of_workloads(layout: Layout) -> Iterator[tuple[ClusterListener, Replica, Port]]:
    """Yield every port of every pod, also closed ones."""
    for each in layout.replicas:
        for port in each.workload.ports:
            namespace = each.workload.namespace
            yield (
                ClusterListener(
                    address=layout.addresses.hidden(each.node) if port.loopback else each.address,
                    port=port.number,
                    whose=f"{namespace}/{each.workload.name}",
                    story=port.story,
                    outcome=each.outcome(port),
                    forwarded=(namespace, each.pod) if port.loopback else None,
                ),
                each,
                port,
            )


def of_frontends(layout: Layout) -> Iterator[ClusterListener]:
    """Yield every published name at its router, and the Gateway's at its load balancer."""
    addresses = {each.workload.name: each.address for each in layout.replicas}
    ports = {each.name: each.https for each in ROUTERS}
    for route in ROUTES:
        yield ClusterListener(
            address=addresses[f"router-{route.router}"],
            port=ports[route.router],
            server_name=route.host,
            whose=f"{route.namespace}/{route.name}",
            story=route.story,
            outcome=route.outcome,
        )
    yield ClusterListener(
        address=layout.load_balancer,
        port=GATEWAY_PORT,
        server_name=f"shop.{GATEWAY}",
        whose="openshift-ingress/shop",
        story="The Gateway's address, which leads to its one pod: that is asked instead.",
        outcome=Outcome(left_out=True),
    )


def without_listener(layout: Layout) -> Iterator[ClusterListener]:
    """Yield what objects name and no listener serves, or a scan may not dial."""
    yield ClusterListener(
        address=layout.cluster_ips["shop", "reports"],
        port=443,
        whose="shop/reports",
        story="A Service without a ready pod.",
        outcome=Outcome(verdict="not_applicable", reach=Reach.CLOSED, status="unreachable"),
    )
    outside = urlsplit(OUTSIDE)
    yield ClusterListener(
        address=outside.hostname or "",
        port=outside.port or 443,
        whose="corporate-policy",
        story="A webhook that points out of the cluster: nothing is sent there.",
        outcome=Outcome(verdict="inconclusive", reach=Reach.UNREACHABLE, status="unreachable"),
    )


def listeners(layout: Layout) -> tuple[ClusterListener, ...]:
    """Return all of them, in the order in which the demo lists them."""
    return (
        *(listener for listener, _, _ in of_workloads(layout)),
        *(listener for listener, _ in kubelets(layout)),
        *of_frontends(layout),
        *without_listener(layout),
    )


def sockets(layout: Layout) -> tuple[tuple[str, int], ...]:
    """Return address and port of everything that is opened, each once."""
    silent = (Reach.CLOSED, Reach.UNREACHABLE)
    return tuple(
        dict.fromkeys((each.address, each.port) for each in listeners(layout) if each.outcome.reach not in silent)
    )


# --- what they serve --------------------------------------------------------------------------------------------------


def parts(layout: Layout) -> Iterator[tuple[str, int, Part]]:
    """Yield address, port and part of every listener but the API server's. Raises ``ResourceError``."""
    for listener, serves in kubelets(layout):
        node = listener.whose.partition("/")[2]
        settings = tls_settings(layout, serves, _KUBELET_PAPER, node=node, address=listener.address)
        yield listener.address, listener.port, tls_part(settings)
    for listener, replica, port in of_workloads(layout):
        part = _part(layout, replica, port, listener.address)
        if part is not None:
            yield listener.address, listener.port, part
    (gateway,) = (each for each in layout.replicas if each.workload.name == "shop-openshift-default")
    yield layout.load_balancer, GATEWAY_PORT, passing_to(gateway.address, GATEWAY_PORT)


def _part(layout: Layout, replica: Replica, port: Port, address: str) -> Part | None:
    serves = replica.serves(port)
    if serves is None:
        return None
    if serves in PARTS:
        return PARTS[serves]
    if port.paper is None:
        raise ValueError(f"{replica.pod}:{port.number} speaks TLS and has no certificate")
    part, *named = (
        tls_part(tls_settings(layout, serves, paper, node=replica.node, address=address))
        for paper in (port.paper, *(paper for _, paper in port.named))
    )
    if named:
        return by_server_name(dict(zip((name for name, _ in port.named), named, strict=True)), part)
    for router in ROUTERS:
        if replica.workload.name == f"router-{router.name}" and port.number == router.https:
            return by_server_name(dict(_published(layout, router, replica)), part)
    return tls_or_plaintext(part, PARTS["plaintext"]) if port.plaintext_too else part


def _published(layout: Layout, router: Router, replica: Replica) -> Iterator[tuple[str, Part]]:
    """Yield the names that a router does not serve with its default: another certificate, or passthrough.

    Passthrough goes to the first backend: the router balances those by the client's address (``balance source``), and
    all clients of the demo have the same.
    """
    for route in ROUTES:
        if route.router != router.name:
            continue
        if route.termination == "passthrough":
            backend = next(layout.backends(route.namespace, route.service, route.port))
            yield route.host, passing_to(*backend)
        elif route.paper is not None:
            settings = tls_settings(layout, router.serves, route.paper, node=replica.node, address=replica.address)
            yield route.host, tls_part(settings)


def tls_settings(layout: Layout, serves: Serves, paper: Paper, *, node: str, address: str) -> TlsSettings:
    """Return TLS settings with a certificate. Client certificates are trusted by etcd's CA or the API server's."""
    credential = layout.signers.issue(paper, node=node, address=address)
    settings = TLS[serves](credential=credential)
    if settings.client_certificate == "none":
        return settings
    known = layout.signers.authorities["etcd" if paper.signer == "etcd" else "kube-apiserver"]
    return replace(settings, client_ca=known.certificate)
