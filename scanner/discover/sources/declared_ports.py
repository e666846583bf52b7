"""Declared ports: of containers and of Services, and those that the kubelet probes by HTTPS or gRPC.

A declared port may be closed and an open one undeclared (core/v1 ContainerPort: it is informational). The annotation
``service.beta.openshift.io/serving-cert-secret-name`` of a Service requests a certificate from OpenShift's service CA
(openshift/service-ca-operator).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from msgspec import Struct, field

from scanner.discover import hints
from scanner.discover.index import Index, Source
from scanner.discover.listener_claims import Claim, Found, PlacedClaim
from scanner.discover.merged_claims import stronger
from scanner.discover.services import Service, ServicePort
from scanner.discover.truncation import Omission
from scanner.discover.workloads import Container, ContainerPort, MemoisedByIdentity, Pod, resolve_port
from scanner.kube.hostnames import parse_address, port
from scanner.kube.objects import Reference
from scanner.kube.pod import Container as RawContainer
from scanner.kube.secrets import service_ca_secret
from scanner.model.endpoint import Certainty, Origin, Owner, host_port

MAX_PORTS = 300
"""Limit of ports and probes per pod."""

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class _ProbedPort(NamedTuple):
    """A port that the kubelet probes."""

    what: str
    target: object
    """Number or name of a port."""
    certainty: Certainty
    host: str = ""


class _Port(Struct):
    """A port of a pod, with all claims of its containers."""

    number: int
    certainty: Certainty = "candidate"
    origins: list[Origin] = field(default_factory=list)
    called: bool = False
    """The kubelet connects there by TLS from outside of the pod."""
    on_node: list[tuple[int, str]] = field(default_factory=list)
    """Ports of the node that lead there, each with the node's address if the object has one."""

    def say(self, certainty: Certainty, origin: Origin) -> None:
        """Add a claim."""
        self.certainty = stronger(self.certainty, certainty)
        self.origins.append(origin)

    @property
    def claim(self) -> Claim:
        """The merged claim."""
        first, *beside = self.origins
        return Claim(certainty=self.certainty, origin=first, beside=tuple(beside))


class _PortClaims(NamedTuple):
    """Claims of a pod's containers, the same for all replicas."""

    ports: list[tuple[_Port, Claim]]
    elsewhere: list[tuple[int, _ProbedPort, Origin]]
    """Probed ports at an address that may not be the pod's: the port, the probe, and its origin."""
    omitted: list[Omission]


def _find(view: Index) -> Iterator[Found]:
    for reason, count in view.workloads.not_listening.items():
        yield Omission(reason, count)
    port_claims = MemoisedByIdentity(_port_claims)
    for pod in view.workloads.pods:
        ports, elsewhere, omitted = port_claims(pod.containers, pod.owner, pod.ports)
        yield from omitted
        for each, claim in ports:
            aliases = _on_node(view, pod, each) if each.on_node else ()
            # Without a host the kubelet probes the pod's address; with a loopback host, its own node's.
            called = each.called and pod.ready
            for place in view.workloads.places(pod, each.number):
                yield PlacedClaim(claim, place, pod.ready, aliases, called)
        for number, probed, origin in elsewhere:
            if probed.host in pod.addresses or (pod.host_network and probed.host in _LOOPBACK):
                called = pod.ready and probed.certainty == "declared" and probed.host not in _LOOPBACK
                claim = Claim(certainty=probed.certainty, origin=origin)
                yield from (one._replace(called=called) for one in view.of_pod(pod, number, claim))


def _port_claims(containers: tuple[Container, ...], owner: Owner, names: Mapping[str, int | None]) -> _PortClaims:
    """Collect claims on each port, up to the limit. ``names``: port numbers by name."""
    ports: dict[int, _Port] = {}
    elsewhere: list[tuple[int, _ProbedPort, Origin]] = []
    omitted: list[Omission] = []
    room, over = MAX_PORTS, 0
    reference = Reference(kind=owner.kind, name=owner.name, namespace=owner.namespace)
    for each in containers:
        where = partial(Origin, reference=reference, container=each.name)
        probed = _probed_ports(each.raw)
        over += max(len(each.ports) + len(probed) - room, 0)
        omitted += filter(None, (_declared(ports, one, where) for one in each.ports[:room]))
        room = max(room - len(each.ports), 0)
        for one in probed[:room]:
            number = resolve_port(one.target, names)
            origin = where(role="probe", part=one.what)
            if number and one.host:
                elsewhere.append((number, one, origin))
            elif number:
                met = ports.setdefault(number, _Port(number))
                met.say(one.certainty, origin)
                met.called = met.called or one.certainty == "declared"
        room = max(room - len(probed), 0)
    if over:
        omitted.append(
            Omission(f"ports and probes of one pod beyond the first {MAX_PORTS}: truncated, not read", over, cut=True)
        )
    return _PortClaims([(each, each.claim) for each in ports.values()], elsewhere, omitted)


def _declared(ports: dict[int, _Port], declared: ContainerPort, where: Callable[..., Origin]) -> Omission | None:
    """Add a port that a container declares, or return the reason why not."""
    if declared.number is None:
        return Omission("invalid ports")
    if declared.protocol != "TCP":
        return Omission(f"{declared.protocol if declared.protocol in ('UDP', 'SCTP') else 'other'} ports")
    met = ports.setdefault(declared.number, _Port(declared.number))
    met.say(hints.certainty(declared.number, declared.name, ""), where(role="port", part=str(declared.number)))
    if declared.on_node:
        met.on_node.append((declared.on_node, declared.host))
    return None


def _on_node(view: Index, pod: Pod, declared: _Port) -> tuple[str, ...]:
    """Ports of the node that lead to the container's (CNI's portmap), as ``host:port``."""
    node = view.workloads.nodes.get(pod.node)
    if pod.host_network or node is None:
        return ()
    found: dict[str, None] = {}
    for number, host in declared.on_node:
        only = parse_address(host)
        hosts = (str(only),) if only and not only.is_unspecified else node.addresses
        found |= dict.fromkeys(host_port(each, number) for each in hosts)
    return tuple(found)


def _probed_ports(container: RawContainer) -> list[_ProbedPort]:
    """Ports that the kubelet probes (core/v1 Probe, LifecycleHandler): by HTTPS it would fail without TLS."""
    found = []
    for what, probed in container.handlers:
        request = probed.http_get
        if request.scheme.upper() == "HTTPS":
            found.append(_ProbedPort(f"{what} HTTPS", request.port, "declared", request.host))
        number = port(probed.grpc_port)
        if number:
            # With the gate GRPCContainerProbeTLS; without it the kubelet uses plaintext.
            certain = probed.grpc_mode.upper() == "TLS"
            found.append(_ProbedPort(f"{what} gRPC", number, "declared" if certain else "candidate"))
    return found


SOURCE = Source(name="Pods", find=_find)


def _service_ports(view: Index) -> Iterator[Found]:
    for service in view.services.by_name.values():
        if service.raw.is_external_name:
            yield Omission("Services of type ExternalName")
            continue
        for service_port in service.ports:
            if service_port.protocol == "TCP":
                yield from view.through(service, service_port, _claim(service, service_port))
            else:
                yield Omission(
                    f"{service_port.protocol if service_port.protocol in ('UDP', 'SCTP') else 'other'} ports"
                )


def _claim(service: Service, service_port: ServicePort) -> Claim:
    # The target port's number decides: 443 leads to 8080 if TLS is terminated before it.
    number = service_port.target if isinstance(service_port.target, int) else service_port.number
    return Claim(
        certainty=hints.certainty(number, service_port.name, service_port.app_protocol),
        origin=Origin(role="port", reference=service.raw.reference, part=service_port.name or str(service_port.number)),
        app_protocol=service_port.app_protocol,
    )


PORTS = Source(name="Services", find=_service_ports)


def _find_annotated(view: Index) -> Iterator[Found]:
    for service in view.services.by_name.values():
        if service_ca_secret(service.raw):
            ports = [
                each for each in service.ports if each.protocol == "TCP" and not hints.is_plain(each.number, each.name)
            ]
            for service_port in ports:
                yield from view.through(
                    service, service_port, _claim_of_name(service, service_port, alone=len(ports) == 1)
                )


def _claim_of_name(service: Service, service_port: ServicePort, *, alone: bool) -> Claim:
    """The claim of the annotation. It does not say which port has the certificate, and one port may be plaintext."""
    hinted = hints.certainty(service_port.number, service_port.name, service_port.app_protocol) == "hinted"
    origin = Origin(role="service-ca", reference=service.raw.reference)
    return Claim(certainty="declared" if alone or hinted else "candidate", origin=origin, name=service.dns)


ANNOTATED = Source(name="service-ca annotations", find=_find_annotated)
