"""Pods: the ports of their containers, and the ports that the kubelet asks by HTTPS or gRPC.

A declared port may be closed and an open one undeclared (core/v1 ContainerPort: it is informational).
"""

from __future__ import annotations

from collections.abc import Iterator

from scanner.discover import hints
from scanner.discover.draft import Claim, Found, Omission, Source
from scanner.discover.names import located, parsed, port
from scanner.discover.view import View
from scanner.discover.workloads import READS, Pod
from scanner.model.objects import Fields

MAX_PORTS = 200
"""Ports of one container that are looked at."""

_ASKED = (
    ("livenessProbe",),
    ("readinessProbe",),
    ("startupProbe",),
    ("lifecycle", "postStart"),
    ("lifecycle", "preStop"),
)
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def _find(view: View) -> Iterator[Found]:
    for reason, count in view.workloads.unfinished.items():
        yield Omission(reason, count)
    for pod in view.workloads.pods:
        for container in pod.containers:
            yield from _ports(view, pod, container)
            yield from _asked(view, pod, container)


def _ports(view: View, pod: Pod, container: Fields) -> Iterator[Found]:
    for count, each in enumerate(container.each("ports")):
        number, name = port(each.at("containerPort")), each.text("name")
        protocol = each.text("protocol") or "TCP"
        if count == MAX_PORTS or number is None:
            yield Omission("absurd ports")
            if count == MAX_PORTS:
                return
        elif protocol != "TCP":
            yield Omission(f"{protocol if protocol in ('UDP', 'SCTP') else 'other'} ports")
        else:
            claim = Claim(
                certainty=hints.certainty(number, name, ""),
                origin=f"Pod/{pod.namespace}/{pod.name} container {container.text('name')} port {number}",
            )
            yield from view.of_pod(pod, number, claim, _host_port(view, pod, each))


def _host_port(view: View, pod: Pod, each: Fields) -> tuple[str, ...]:
    """The node's port that leads to the container's: another way to the same listener (CNI's portmap)."""
    number = port(each.at("hostPort"))
    node = view.workloads.nodes.get(pod.node or "")
    if number is None or pod.host_network or node is None:
        return ()
    only = parsed(each.text("hostIP"))
    hosts = (str(only),) if only and not only.is_unspecified else node.addresses
    return tuple(located(host, number) for host in hosts)


def _asked(view: View, pod: Pod, container: Fields) -> Iterator[Found]:
    """What the kubelet asks (core/v1 Probe, LifecycleHandler): by HTTPS it would fail without TLS."""
    for step in _ASKED:
        if not container.has(*step):
            continue
        asked = container.fields(*step)
        where = f"Pod/{pod.namespace}/{pod.name} container {container.text('name')} {step[-1]}"
        request, grpc = asked.fields("httpGet"), asked.fields("grpc")
        number = pod.number(request.at("port"))
        if number and request.text("scheme").upper() == "HTTPS" and _own(pod, request.text("host")):
            yield from view.of_pod(pod, number, Claim(certainty="declared", origin=f"{where} HTTPS"))
        number = port(grpc.at("port"))
        if number:
            # Behind the gate GRPCContainerProbeTLS; without it the kubelet speaks plaintext.
            certain = grpc.text("mode").upper() == "TLS"
            claim = Claim(certainty="declared" if certain else "candidate", origin=f"{where} gRPC")
            yield from view.of_pod(pod, number, claim)


def _own(pod: Pod, host: str) -> bool:
    """Whether a probe asks the pod itself: its ``host`` may be anything."""
    return not host or host in pod.addresses or (pod.host_network and host in _LOOPBACK)


SOURCE = Source(name="Pods", reads=READS, find=_find)
