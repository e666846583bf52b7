"""What objects say of TLS on the ports of pods: probes, names, Services that lead there.

All of it are claims about one listener. Two that contradict each other cannot both be right, whichever it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube.kinds import DAEMON_SET, DEPLOYMENT, POD, SERVICE, STATEFUL_SET, Kind
from scanner.kube.label_selector import is_empty, selects
from scanner.kube.objects import Fields, KubeObject
from scanner.model.declared import Declared
from scanner.model.server_names import name_says, protocol_says

WORKLOADS: Final[tuple[Kind, ...]] = (POD, DEPLOYMENT, STATEFUL_SET, DAEMON_SET)
READS: Final[tuple[Kind, ...]] = (*WORKLOADS, SERVICE)
"""What a rule that asks this must read."""
_CONTROLLERS: Final = frozenset({"ReplicaSet", "StatefulSet", "DaemonSet"})
_PROBES: Final = (
    ("livenessProbe",),
    ("readinessProbe",),
    ("startupProbe",),
    ("lifecycle", "postStart"),
    ("lifecycle", "preStop"),
)
SCHEMES: Final = ("HTTP", "HTTPS")
"""What the API server takes for a probe's scheme, in this spelling (core/v1 URIScheme)."""
MOST: Final = 100
"""Containers of a pod, ports of a container or Service, and objects that one object selects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What one place says of one port."""

    tls: bool
    what: str
    """``the livenessProbe``, ``the appProtocol of Service/shop/web``."""
    certain: bool = True
    """Names are hints."""
    steps: Steps = ()
    """Of a probe, where it stands in the workload."""


def pod_of(workload: KubeObject) -> tuple[Steps, Fields]:
    """The pod of a workload, with labels and containers, and the way to it."""
    return ((), workload) if workload.kind == POD else (("spec", "template"), workload.fields("spec", "template"))


def replica(declared: Declared, workload: KubeObject) -> bool:
    """Whether a pod was made by something that is judged itself."""
    owners = {each.kind for each in workload.owner_references}
    return workload.kind == POD and bool(owners & _CONTROLLERS) and not declared.gap(DEPLOYMENT)


def _containers(workload: KubeObject) -> Iterator[tuple[Steps, Fields]]:
    above, pod = pod_of(workload)
    for field in ("containers", "initContainers"):
        value = pod.at("spec", field)
        for index, item in enumerate(islice(value, MOST) if isinstance(value, list) else ()):
            if isinstance(item, dict):
                yield (*above, "spec", field, index), Fields(item)


def named_ports(workload: KubeObject) -> dict[str, int]:
    """The number of each named port of the pod."""
    found: dict[str, int] = {}
    for _, container in _containers(workload):
        for port in islice(container.each("ports"), MOST):
            number = port.number("containerPort")
            if number is not None and port.text("name"):
                found.setdefault(port.text("name"), number)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A probe or hook by HTTP."""

    what: str
    """``livenessProbe``."""
    steps: Steps
    """The way to its ``httpGet``."""
    get: Fields
    named: Mapping[str, int]
    """The ports of its container."""

    @property
    def number(self) -> int | None:
        """The port; None for a name that the container has not."""
        port = self.get.at("port")
        return self.named.get(port) if isinstance(port, str) else self.get.number("port")

    @property
    def scheme_steps(self) -> Steps:
        """Of its scheme, or of where that would stand."""
        return (*self.steps, *(["scheme"] if self.get.has("scheme") else []))


def http_probes(workload: KubeObject) -> Iterator[Probe]:
    """Each probe and hook by HTTP. A named port is one of the container's own (core/v1 HTTPGetAction port)."""
    for steps, container in _containers(workload):
        named = _named(container)
        for probe in _PROBES:
            get = container.fields(*probe, "httpGet")
            if get.raw:
                yield Probe(what=probe[-1], steps=(*steps, *probe, "httpGet"), get=get, named=named)


def _named(container: Fields) -> dict[str, int]:
    ports = islice(container.each("ports"), MOST)
    return {each.text("name"): number for each in ports if (number := each.number("containerPort")) is not None}


def probes(workload: KubeObject) -> Iterator[tuple[int, Claim]]:
    """The port and claim of each probe by HTTP; one with a host of its own asks somebody else, and one with a scheme
    that there is not says nothing."""
    for probe in http_probes(workload):
        scheme = probe.get.text("scheme") or "HTTP"
        if probe.number is not None and not probe.get.text("host") and scheme in SCHEMES:
            yield probe.number, Claim(tls=scheme == "HTTPS", what=f"the {probe.what}", steps=probe.scheme_steps)


def of_pod(declared: Declared, workload: KubeObject) -> dict[int, list[Claim]]:
    """By port, what its own probes, its ports' names and the Services that select it say; probes come first."""
    found: dict[int, list[Claim]] = {}
    for number, claim in probes(workload):
        found.setdefault(number, []).append(claim)
    named = named_ports(workload)
    for name, number in named.items():
        said = name_says(name)
        if said is not None:
            found.setdefault(number, []).append(Claim(tls=said, what=f"the port's name {name}", certain=False))
    for service in islice(_services(declared, workload), MOST):
        for port in islice(service.each("spec", "ports"), MOST):
            target = port.at("targetPort") or port.number("port")
            target = named.get(target) if isinstance(target, str) else target
            if isinstance(target, int):
                found.setdefault(target, []).extend(of_port(service, port))
    return found


def of_port(service: KubeObject, port: Fields) -> Iterator[Claim]:
    """What a Service itself says of its port."""
    protocol, name = port.text("appProtocol"), port.text("name")
    said, hinted = protocol_says(protocol), name_says(name)
    if said is not None:
        yield Claim(tls=said, what=f"the appProtocol {protocol} of {service.reference}")
    if hinted is not None:
        yield Claim(tls=hinted, what=f"the port's name {name} in {service.reference}", certain=False)


# --- Who selects whom -------------------------------------------------------------------------------------------------

_Label = tuple[str | None, str, str]
_ByLabel = Mapping[_Label, tuple[KubeObject, ...]]


EVERYWHERE: Final = "*"
"""In place of a namespace, which has no name like this: all of them."""


def _index(objects: Iterable[tuple[KubeObject, Iterable[tuple[str, str]]]]) -> _ByLabel:
    found: dict[_Label, list[KubeObject]] = {}
    for each, labels in objects:
        for key, value in labels:
            found.setdefault((each.namespace, key, value), []).append(each)
            found.setdefault((EVERYWHERE, key, value), []).append(each)
    return {key: tuple(each) for key, each in found.items()}


def _selecting(declared: Declared) -> _ByLabel:
    """Services, by the first label that they want."""
    return _index((each, sorted(each.words("spec", "selector").items())[:1]) for each in declared.every(SERVICE))


def _services(declared: Declared, workload: KubeObject) -> Iterator[KubeObject]:
    labels = pod_of(workload)[1].words("metadata", "labels")
    selecting = declared.once(_selecting)
    for key, value in labels.items():
        for service in selecting.get((workload.namespace, key, value), ()):
            if service.words("spec", "selector").items() <= labels.items():
                yield service


def labelled_services(declared: Declared) -> _ByLabel:
    """Services, by each of their labels."""
    return _index((each, each.labels.items()) for each in declared.every(SERVICE))


def labelled_pods(declared: Declared) -> _ByLabel:
    """Workloads, by each label of their pods."""
    return _index(
        (each, pod_of(each)[1].words("metadata", "labels").items())
        for kind in WORKLOADS
        for each in declared.every(kind)
        if not replica(declared, each)
    )


def selected(index: _ByLabel, namespaces: Iterable[str | None], selector: Fields) -> Iterator[KubeObject]:
    """What a selector selects, where it wants some label by its value; a monitor with any other is not followed."""
    wanted = next(iter(selector.words("matchLabels").items()), None)
    if wanted is None or is_empty(selector):
        return
    for namespace in namespaces:
        for each in index.get((namespace, *wanted), ()):
            if selects(selector, each.labels if each.kind == SERVICE else pod_of(each)[1].words("metadata", "labels")):
                yield each
