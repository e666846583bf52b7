"""Claims of objects about TLS on the ports of pods: probes, port names and Services.

All of them are about one listener, so of two that contradict each other at least one is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from msgspec import Struct

from scanner.files.source_positions import Steps
from scanner.kube.kinds import DEPLOYMENT, POD, SERVICE, Kind
from scanner.kube.meta import LabelSelector, is_empty, selects
from scanner.kube.objects import KubeObject
from scanner.kube.pod import WORKLOADS, Container, HTTPGet, template
from scanner.kube.service import Service, ServicePort, name_suggests_tls, protocol_suggests_tls
from scanner.model.declared import Declared

READS: Final[tuple[Kind, ...]] = (*WORKLOADS, SERVICE)
"""Kinds that a rule must read to ask this."""
_CONTROLLERS: Final = frozenset({"ReplicaSet", "StatefulSet", "DaemonSet"})
SCHEMES: Final = ("HTTP", "HTTPS")
"""Schemes of a probe that the API server accepts, case-sensitive (core/v1 URIScheme)."""
MOST: Final = 100
"""Containers of a pod, ports of a container or Service, and objects that one object selects."""


class Claim(Struct, frozen=True, kw_only=True):
    """A claim of one field about one port."""

    tls: bool
    what: str
    """``the livenessProbe``, ``the appProtocol of Service/shop/web``."""
    certain: bool = True
    """Names are hints."""
    steps: Steps = ()
    """The field in the workload, for a probe."""


def is_replica(declared: Declared, workload: KubeObject) -> bool:
    """True for a pod whose controller is judged itself."""
    owners = {each.kind for each in workload.owner_references}
    return workload.kind == POD and bool(owners & _CONTROLLERS) and not declared.gap(DEPLOYMENT)


def _containers(workload: KubeObject) -> tuple[Container, ...]:
    return template(workload).spec.long_running[: 2 * MOST]


def named_ports(workload: KubeObject) -> dict[str, int]:
    """The number of each named port of the pod."""
    found: dict[str, int] = {}
    for port in (each for container in _containers(workload) for each in container.ports[:MOST]):
        if port.container_port is not None and port.name:
            found.setdefault(port.name, port.container_port)
    return found


class Probe(Struct, frozen=True, kw_only=True):
    """A probe or hook by HTTP."""

    what: str
    """``livenessProbe``."""
    get: HTTPGet
    named: Mapping[str, int]
    """The ports of its container."""

    @property
    def number(self) -> int | None:
        """The port; None for a name that the container does not have."""
        port = self.get.port
        if isinstance(port, str):
            return self.named.get(port)
        return port if isinstance(port, int) and not isinstance(port, bool) else None

    @property
    def scheme_steps(self) -> Steps:
        """The field of its scheme, also if it is not set."""
        return (*self.get.steps, *(["scheme"] if self.get.has_scheme else []))


def http_probes(workload: KubeObject) -> Iterator[Probe]:
    """The HTTP probes and hooks of a workload. A named port is one of the same container (core/v1 HTTPGetAction)."""
    for container in _containers(workload):
        ports = container.ports[:MOST]
        named = {each.name: each.container_port for each in ports if each.container_port is not None}
        for what, handler in container.handlers:
            if handler.http_get:
                yield Probe(what=what, get=handler.http_get, named=named)


def probes(workload: KubeObject) -> Iterator[tuple[int, Claim]]:
    """The port and claim of each HTTP probe, except for those with another host or an invalid scheme."""
    for probe in http_probes(workload):
        scheme = probe.get.scheme or "HTTP"
        if probe.number is not None and not probe.get.host and scheme in SCHEMES:
            yield probe.number, Claim(tls=scheme == "HTTPS", what=f"the {probe.what}", steps=probe.scheme_steps)


def of_pod(declared: Declared, workload: KubeObject) -> dict[int, list[Claim]]:
    """The claims about each port: of the pod's probes, which come first, its port names, and its Services."""
    found: dict[int, list[Claim]] = {}
    for number, claim in probes(workload):
        found.setdefault(number, []).append(claim)
    named = named_ports(workload)
    for name, number in named.items():
        tls = name_suggests_tls(name)
        if tls is not None:
            found.setdefault(number, []).append(Claim(tls=tls, what=f"the port's name {name}", certain=False))
    for service in islice(_services(declared, workload), MOST):
        for port in service.ports[:MOST]:
            target = named.get(port.target) if isinstance(port.target, str) else port.target
            if isinstance(target, int):
                found.setdefault(target, []).extend(of_port(service, port))
    return found


def of_port(service: KubeObject, port: ServicePort) -> Iterator[Claim]:
    """The claims of a Service about its port."""
    protocol, name = port.app_protocol, port.name
    tls, hinted = protocol_suggests_tls(protocol), name_suggests_tls(name)
    if tls is not None:
        yield Claim(tls=tls, what=f"the appProtocol {protocol} of {service.reference}")
    if hinted is not None:
        yield Claim(tls=hinted, what=f"the port's name {name} in {service.reference}", certain=False)


# --- Selectors --------------------------------------------------------------------------------------------------------

_Label = tuple[str | None, str, str]
ByLabel = Mapping[_Label, tuple[KubeObject, ...]]


EVERYWHERE: Final = "*"
"""All namespaces; no namespace has this name."""


def _index(objects: Iterable[tuple[KubeObject, Iterable[tuple[str, str]]]]) -> ByLabel:
    found: dict[_Label, list[KubeObject]] = {}
    for each, labels in objects:
        for key, value in labels:
            found.setdefault((each.namespace, key, value), []).append(each)
            found.setdefault((EVERYWHERE, key, value), []).append(each)
    return {key: tuple(each) for key, each in found.items()}


def _selecting(declared: Declared) -> ByLabel:
    """Services, by the first label of their selector."""
    return _index((each, sorted(Service.of(each).selector.items())[:1]) for each in declared.every(SERVICE))


def _services(declared: Declared, workload: KubeObject) -> Iterator[Service]:
    labels = template(workload).labels
    selecting = declared.once(_selecting)
    for key, value in labels.items():
        for service in map(Service.of, selecting.get((workload.namespace, key, value), ())):
            if service.selector.items() <= labels.items():
                yield service


def labelled_services(declared: Declared) -> ByLabel:
    """Services, by each of their labels."""
    return _index((each, each.labels.items()) for each in declared.every(SERVICE))


def labelled_pods(declared: Declared) -> ByLabel:
    """Workloads, by each label of their pods."""
    return _index(
        (each, template(each).labels.items())
        for kind in WORKLOADS
        for each in declared.every(kind)
        if not is_replica(declared, each)
    )


def selected(index: ByLabel, namespaces: Iterable[str | None], selector: LabelSelector) -> Iterator[KubeObject]:
    """The objects that a selector with ``matchLabels`` selects; others are not followed."""
    label = next(iter(selector.match_labels.items()), None)
    if label is None or is_empty(selector):
        return
    for namespace in namespaces:
        for each in index.get((namespace, *label), ()):
            if selects(selector, each.labels if each.kind == SERVICE else template(each).labels):
                yield each
