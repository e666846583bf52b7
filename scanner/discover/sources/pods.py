"""Pods: the ports of their containers, and the ports that the kubelet asks by HTTPS or gRPC.

A declared port may be closed and an open one undeclared (core/v1 ContainerPort: it is informational).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from scanner.discover import hints
from scanner.discover.index import Index, Source
from scanner.discover.listener_claims import Claim, Draft, Found
from scanner.discover.merge import stronger
from scanner.discover.truncation import Omission
from scanner.discover.workloads import READS, Alike, Container, ContainerPort, Pod, numbered
from scanner.kube.hostnames import parse_address, port
from scanner.kube.objects import Reference
from scanner.kube.pod import Container as RawContainer
from scanner.model.endpoint import Certainty, Origin, Owner, host_port

MAX_PORTS = 300
"""Ports and probes of one pod that are looked at."""

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class _Asked(NamedTuple):
    """What the kubelet asks a container."""

    what: str
    target: object
    """Number, or name of a port."""
    certainty: Certainty
    host: str = ""


@dataclass(slots=True)
class _Port:
    """A port of a pod: all that its containers say of it."""

    number: int
    certainty: Certainty = "candidate"
    origins: list[Origin] = field(default_factory=list)
    called: bool = False
    """Whether the kubelet asks it from outside of the pod, and by TLS."""
    on_node: list[tuple[int, str]] = field(default_factory=list)
    """Ports of the node that lead there, each with the node's address where the object says one."""

    def say(self, certainty: Certainty, origin: Origin) -> None:
        """Take one more word on it in."""
        self.certainty = stronger(self.certainty, certainty)
        self.origins.append(origin)

    @property
    def claim(self) -> Claim:
        """Everything together."""
        first, *beside = self.origins
        return Claim(certainty=self.certainty, origin=first, beside=tuple(beside))


class _Told(NamedTuple):
    """What the containers of a pod tell, the same for all replicas."""

    ports: list[tuple[_Port, Claim]]
    elsewhere: list[tuple[int, _Asked, Origin]]
    """What the kubelet asks at an address that may be another's: the port, and what asks for it."""
    omitted: list[Omission]


def _find(view: Index) -> Iterator[Found]:
    for reason, count in view.workloads.unfinished.items():
        yield Omission(reason, count)
    told = Alike(_told)
    for pod in view.workloads.pods:
        ports, elsewhere, omitted = told(pod.containers, pod.owner, pod.ports)
        yield from omitted
        for each, claim in ports:
            aliases = _on_node(view, pod, each) if each.on_node else ()
            # Without a host the kubelet asks the pod's address; with one that is loopback, its own node's.
            called = each.called and pod.ready
            for place in view.workloads.places(pod, each.number):
                yield Draft(claim, place, pod.ready, aliases, called)
        for number, asked, origin in elsewhere:
            if asked.host in pod.addresses or (pod.host_network and asked.host in _LOOPBACK):
                called = pod.ready and asked.certainty == "declared" and asked.host not in _LOOPBACK
                claim = Claim(certainty=asked.certainty, origin=origin)
                yield from (one._replace(called=called) for one in view.of_pod(pod, number, claim))


def _told(containers: tuple[Container, ...], owner: Owner, names: Mapping[str, int | None]) -> _Told:
    """What is said of each port, as far as there is not too much of it. ``names``: of ports."""
    ports: dict[int, _Port] = {}
    elsewhere: list[tuple[int, _Asked, Origin]] = []
    omitted: list[Omission] = []
    room, over = MAX_PORTS, 0
    reference = Reference(kind=owner.kind, name=owner.name, namespace=owner.namespace)
    for each in containers:
        where = partial(Origin, reference=reference, container=each.name)
        asked = _asked(each.raw)
        over += max(len(each.ports) + len(asked) - room, 0)
        omitted += filter(None, (_declared(ports, one, where) for one in each.ports[:room]))
        room = max(room - len(each.ports), 0)
        for one in asked[:room]:
            number = numbered(one.target, names)
            origin = where(role="probe", part=one.what)
            if number and one.host:
                elsewhere.append((number, one, origin))
            elif number:
                met = ports.setdefault(number, _Port(number))
                met.say(one.certainty, origin)
                met.called = met.called or one.certainty == "declared"
        room = max(room - len(asked), 0)
    if over:
        omitted.append(
            Omission(f"ports and probes of one pod beyond the first {MAX_PORTS}: cut, not looked at", over, cut=True)
        )
    return _Told([(each, each.claim) for each in ports.values()], elsewhere, omitted)


def _declared(ports: dict[int, _Port], said: ContainerPort, where: Callable[..., Origin]) -> Omission | None:
    """Take a port that a container declares in, or say why not."""
    if said.number is None:
        return Omission("absurd ports")
    if said.protocol != "TCP":
        return Omission(f"{said.protocol if said.protocol in ('UDP', 'SCTP') else 'other'} ports")
    met = ports.setdefault(said.number, _Port(said.number))
    met.say(hints.certainty(said.number, said.name, ""), where(role="port", part=str(said.number)))
    if said.on_node:
        met.on_node.append((said.on_node, said.host))
    return None


def _on_node(view: Index, pod: Pod, declared: _Port) -> tuple[str, ...]:
    """The node's ports that lead to the container's: another way to the same listener (CNI's portmap)."""
    node = view.workloads.nodes.get(pod.node or "")
    if pod.host_network or node is None:
        return ()
    found: dict[str, None] = {}
    for number, host in declared.on_node:
        only = parse_address(host)
        hosts = (str(only),) if only and not only.is_unspecified else node.addresses
        found |= dict.fromkeys(host_port(each, number) for each in hosts)
    return tuple(found)


def _asked(container: RawContainer) -> list[_Asked]:
    """What the kubelet asks (core/v1 Probe, LifecycleHandler): by HTTPS it would fail without TLS."""
    found = []
    for what, asked in container.handlers:
        request = asked.http_get
        if request.scheme.upper() == "HTTPS":
            found.append(_Asked(f"{what} HTTPS", request.port, "declared", request.host))
        number = port(asked.grpc_port)
        if number:
            # Behind the gate GRPCContainerProbeTLS; without it the kubelet speaks plaintext.
            certain = asked.grpc_mode.upper() == "TLS"
            found.append(_Asked(f"{what} gRPC", number, "declared" if certain else "candidate"))
    return found


SOURCE = Source(name="Pods", reads=READS, find=_find)
