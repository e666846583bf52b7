"""Who listens in the demo's cluster: an address and port for each, what is played there, and what a scan should say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from scanner.demo.frontends import ROUTERS, ROUTES, Router
from scanner.demo.landscape import GATEWAY, GATEWAY_PORT, MASTER, NODES
from scanner.demo.listening import Part
from scanner.demo.objects.registered import OUTSIDE
from scanner.demo.routing import by_server_name, passing_to, tls_or_plaintext
from scanner.demo.signers import Paper
from scanner.demo.tls_server import TlsSettings, tls_part
from scanner.demo.voices import PARTS, TLS, Voice
from scanner.demo.workloads import COMPLIES, Port, Told
from scanner.demo.world import Replica, World
from scanner.model.observation import Reach

KUBELET_PORT = 10250
_KUBELET_PAPER = Paper(signer="kubelet", names=("{node}", "{address}"), subject="system:node:{node}", days=(-5, 25))


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """One listener, or the lack of one, under one server name."""

    address: str
    port: int
    server_name: str | None = None
    """What to ask for, where it makes a difference."""
    whose: str
    """``openshift-etcd/etcd``."""
    story: str
    told: Told = COMPLIES
    forwarded: tuple[str, str] | None = None
    """(namespace, pod), where only a port-forward leads there; ``address`` is then nobody's business."""


def kubelets(world: World) -> Iterator[tuple[Speaker, Voice]]:
    """One on each node; those of the workers have a KubeletConfig that lets them off."""
    stories: dict[bool, tuple[str, Voice]] = {
        True: ("The control plane's kubelet: nothing overrides the cluster's profile.", "modern-asks"),
        False: ("A worker's kubelet: its pool has a KubeletConfig that says Intermediate.", "intermediate-asks"),
    }
    for node in NODES:
        story, voice = stories[node == MASTER]
        yield Speaker(address=world.land.node(node), port=KUBELET_PORT, whose=f"kubelet/{node}", story=story), voice


def of_workloads(world: World) -> Iterator[tuple[Speaker, Replica, Port]]:
    """Every port of every pod, also those where nobody answers."""
    for each in world.replicas:
        for port in each.workload.ports:
            namespace = each.workload.namespace
            yield (
                Speaker(
                    address=world.land.hidden(each.node) if port.loopback else each.address,
                    port=port.number,
                    whose=f"{namespace}/{each.workload.name}",
                    story=port.story,
                    told=each.told(port),
                    forwarded=(namespace, each.pod) if port.loopback else None,
                ),
                each,
                port,
            )


def of_frontends(world: World) -> Iterator[Speaker]:
    """Every published name at its router, and the Gateway's at its load balancer."""
    addresses = {each.workload.name: each.address for each in world.replicas}
    ports = {each.name: each.https for each in ROUTERS}
    for route in ROUTES:
        yield Speaker(
            address=addresses[f"router-{route.router}"],
            port=ports[route.router],
            server_name=route.host,
            whose=f"{route.namespace}/{route.name}",
            story=route.story,
            told=route.told,
        )
    yield Speaker(
        address=world.load_balancer,
        port=GATEWAY_PORT,
        server_name=f"shop.{GATEWAY}",
        whose="openshift-ingress/shop",
        story="The Gateway's address, which leads to its one pod: that is asked instead.",
        told=Told(left_out=True),
    )


def of_nobody(world: World) -> Iterator[Speaker]:
    """What objects name and nobody answers, or nobody may ask."""
    yield Speaker(
        address=world.cluster_ips["shop", "reports"],
        port=443,
        whose="shop/reports",
        story="A Service without a ready pod.",
        told=Told(verdict="not_applicable", reach=Reach.CLOSED, status="unreachable"),
    )
    outside = urlsplit(OUTSIDE)
    yield Speaker(
        address=outside.hostname or "",
        port=outside.port or 443,
        whose="corporate-policy",
        story="A webhook that points out of the cluster: nothing is sent there.",
        told=Told(verdict="inconclusive", reach=Reach.UNREACHABLE, status="unreachable"),
    )


def speakers(world: World) -> tuple[Speaker, ...]:
    """All of them, in the order in which the demo tells them."""
    return (
        *(speaker for speaker, _, _ in of_workloads(world)),
        *(speaker for speaker, _ in kubelets(world)),
        *of_frontends(world),
        *of_nobody(world),
    )


def listeners(world: World) -> tuple[tuple[str, int], ...]:
    """Address and port of everything that is opened, each once."""
    silent = (Reach.CLOSED, Reach.UNREACHABLE)
    return tuple(dict.fromkeys((each.address, each.port) for each in speakers(world) if each.told.reach not in silent))


# --- what they play ---------------------------------------------------------------------------------------------------


def parts(world: World) -> Iterator[tuple[str, int, Part]]:
    """Address, port and part of every listener but the API server's. Raises ``ResourceError``."""
    for speaker, voice in kubelets(world):
        node = speaker.whose.partition("/")[2]
        settings = tls_settings(world, voice, _KUBELET_PAPER, node=node, address=speaker.address)
        yield speaker.address, speaker.port, tls_part(settings)
    for speaker, replica, port in of_workloads(world):
        part = _part(world, replica, port, speaker.address)
        if part is not None:
            yield speaker.address, speaker.port, part
    (gateway,) = (each for each in world.replicas if each.workload.name == "shop-openshift-default")
    yield world.load_balancer, GATEWAY_PORT, passing_to(gateway.address, GATEWAY_PORT)


def _part(world: World, replica: Replica, port: Port, address: str) -> Part | None:
    voice = replica.voice(port)
    if voice is None:
        return None
    if voice in PARTS:
        return PARTS[voice]
    if port.paper is None:
        raise ValueError(f"{replica.pod}:{port.number} speaks TLS and has no certificate")
    part, *named = (
        tls_part(tls_settings(world, voice, paper, node=replica.node, address=address))
        for paper in (port.paper, *(paper for _, paper in port.named))
    )
    if named:
        return by_server_name(dict(zip((name for name, _ in port.named), named, strict=True)), part)
    for router in ROUTERS:
        if replica.workload.name == f"router-{router.name}" and port.number == router.https:
            return by_server_name(dict(_published(world, router, replica)), part)
    return tls_or_plaintext(part, PARTS["plaintext"]) if port.plaintext_too else part


def _published(world: World, router: Router, replica: Replica) -> Iterator[tuple[str, Part]]:
    """The names for which a router does something of their own: another certificate, or pass the connection on.

    Passthrough goes to the first backend: the router balances those by the client's address (``balance source``), and
    all clients of the demo have the same.
    """
    for route in ROUTES:
        if route.router != router.name:
            continue
        if route.termination == "passthrough":
            backend = next(world.backends(route.namespace, route.service, route.port))
            yield route.host, passing_to(*backend)
        elif route.paper is not None:
            settings = tls_settings(world, router.voice, route.paper, node=replica.node, address=replica.address)
            yield route.host, tls_part(settings)


def tls_settings(world: World, voice: Voice, paper: Paper, *, node: str, address: str) -> TlsSettings:
    """A voice with a certificate of its own, for clients that the signer of ``paper`` or the API server's knows."""
    credential = world.signers.issue(paper, node=node, address=address)
    settings = TLS[voice](credential=credential)
    if settings.client_certificate == "none":
        return settings
    known = world.signers.authorities["etcd" if paper.signer == "etcd" else "kube-apiserver"]
    return replace(settings, client_ca=known.certificate)
