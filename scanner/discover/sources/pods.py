"""Pods: the ports of their containers, and the ports that the kubelet asks by HTTPS or gRPC.

A declared port may be closed and an open one undeclared (core/v1 ContainerPort: it is informational).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from scanner.discover import hints
from scanner.discover.alike import Alike
from scanner.discover.draft import Claim, Found, Omission, Source
from scanner.discover.names import parsed, port
from scanner.discover.view import View
from scanner.discover.workloads import READS, Pod
from scanner.model.endpoint import Certainty, host_port
from scanner.model.objects import Fields

MAX_PORTS = 300
"""Ports and probes of one pod that are looked at."""

_ASKED = (
    ("livenessProbe",),
    ("readinessProbe",),
    ("startupProbe",),
    ("lifecycle", "postStart"),
    ("lifecycle", "preStop"),
)
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class _Port(NamedTuple):
    """A port that a container declares."""

    number: int
    certainty: Certainty
    on_node: int | None
    """The node's port that leads there."""
    host: str
    """The node's address for that, where the object says one."""


class _Asked(NamedTuple):
    """What the kubelet asks a container."""

    what: str
    target: object
    """Number, or name of a port."""
    certainty: Certainty
    host: str = ""


def _find(view: View) -> Iterator[Found]:
    for reason, count in view.workloads.unfinished.items():
        yield Omission(reason, count)
    told = Alike(_told)
    for pod in view.workloads.pods:
        for name, ports, asked in told(pod.containers):
            where = f"Pod/{pod.namespace}/{pod.name} container {name}"
            for said in ports:
                if isinstance(said, Omission):
                    yield said
                    continue
                claim = Claim(certainty=said.certainty, origin=f"{where} port {said.number}")
                yield from view.of_pod(pod, said.number, claim, _host_port(view, pod, said) if said.on_node else ())
            for each in asked:
                number = pod.number(each.target)
                if number and _own(pod, each.host):
                    claim = Claim(certainty=each.certainty, origin=f"{where} {each.what}")
                    # Without a host the kubelet asks the pod's address; with one that is loopback, its own node's.
                    called = pod.ready and each.certainty == "declared" and each.host not in _LOOPBACK
                    yield from (one._replace(called=called) for one in view.of_pod(pod, number, claim))


def _told(containers: tuple[Fields, ...]) -> list[tuple[str, list[_Port | Omission], list[_Asked]]]:
    """Each container's name, its ports and what it is asked, as far as there are not too many: the same for all
    replicas."""
    found: list[tuple[str, list[_Port | Omission], list[_Asked]]] = []
    room, over = MAX_PORTS, 0
    for each in containers:
        ports, asked = _ports(each), _asked(each)
        found.append((each.text("name"), ports[:room], asked[: max(room - len(ports), 0)]))
        over += max(len(ports) + len(asked) - room, 0)
        room = max(room - len(ports) - len(asked), 0)
    cut = Omission(f"ports and probes of one pod beyond the first {MAX_PORTS}: cut, not looked at", over, cut=True)
    return [*found, ("", [cut], [])] if over else found


def _ports(container: Fields) -> list[_Port | Omission]:
    found: list[_Port | Omission] = []
    for each in container.each("ports"):
        number, name = port(each.at("containerPort")), each.text("name")
        protocol = each.text("protocol") or "TCP"
        if number is None:
            found.append(Omission("absurd ports"))
        elif protocol != "TCP":
            found.append(Omission(f"{protocol if protocol in ('UDP', 'SCTP') else 'other'} ports"))
        else:
            certainty = hints.certainty(number, name, "")
            found.append(_Port(number, certainty, port(each.at("hostPort")), each.text("hostIP")))
    return found


def _host_port(view: View, pod: Pod, declared: _Port) -> tuple[str, ...]:
    """The node's port that leads to the container's: another way to the same listener (CNI's portmap)."""
    number, node = declared.on_node, view.workloads.nodes.get(pod.node or "")
    if number is None or pod.host_network or node is None:
        return ()
    only = parsed(declared.host)
    hosts = (str(only),) if only and not only.is_unspecified else node.addresses
    return tuple(host_port(host, number) for host in hosts)


def _asked(container: Fields) -> list[_Asked]:
    """What the kubelet asks (core/v1 Probe, LifecycleHandler): by HTTPS it would fail without TLS."""
    found = []
    for step in _ASKED:
        asked = container.fields(*step)
        request, grpc = asked.fields("httpGet"), asked.fields("grpc")
        if request.text("scheme").upper() == "HTTPS":
            found.append(_Asked(f"{step[-1]} HTTPS", request.at("port"), "declared", request.text("host")))
        number = port(grpc.at("port"))
        if number:
            # Behind the gate GRPCContainerProbeTLS; without it the kubelet speaks plaintext.
            certain = grpc.text("mode").upper() == "TLS"
            found.append(_Asked(f"{step[-1]} gRPC", number, "declared" if certain else "candidate"))
    return found


def _own(pod: Pod, host: str) -> bool:
    """Whether a probe asks the pod itself: its ``host`` may be anything."""
    return not host or host in pod.addresses or (pod.host_network and host in _LOOPBACK)


SOURCE = Source(name="Pods", reads=READS, find=_find)
