"""Find the step at which a component's TLS configuration stopped, from objects alone. Pure.

The order is that of the enhancement "Cluster-wide TLS Security Profile", "Support Procedures", with the steps of its
operators between. ``STEPS`` is the table; a step is a function of a ``Component``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from scanner.assessment import Assessment
from scanner.doctor import diagnosed_component, events, kubeadm, operators
from scanner.doctor.diagnosed_component import NO_EVENTS, NOT_READ, Component, Served, served
from scanner.kube import kinds
from scanner.kube.kinds import Kind
from scanner.kube.maybe import Known, Unknown
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import union
from scanner.model.diagnosis import Answer, Diagnosis, Events, Step
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Expectation
from scanner.values import replace

__all__ = [
    "INJECTED_MAPS",
    "NOT_READ",
    "NO_EVENTS",
    "READS",
    "STEPS",
    "ReadEvents",
    "Served",
    "diagnose",
    "diagnosis_of",
    "injected",
    "served",
]

ReadEvents = Callable[[Sequence[str]], Known[Events]]
"""Reads the events of these namespaces; Unknown with the reason if they cannot be read."""


class Check(Struct, frozen=True, kw_only=True):
    """One step of the procedure."""

    name: str
    reads: tuple[Kind, ...] = ()
    look: Callable[[Component], Answer]
    commands: Callable[[Component], tuple[str, ...]]


STEPS: tuple[Check, ...] = (
    Check(
        name="cluster profile",
        reads=(kinds.API_SERVER, kinds.CLUSTER_VERSION, kinds.HOSTED_CLUSTER, kinds.HOSTED_CONTROL_PLANE),
        look=operators.profile,
        commands=operators.profile_commands,
    ),
    Check(
        name="tlsAdherence and its feature gate",
        reads=(kinds.API_SERVER, kinds.FEATURE_GATE, kinds.CUSTOM_RESOURCE_DEFINITION),
        look=operators.adheres,
        commands=operators.adherence_commands,
    ),
    Check(
        name="observed configuration of the operator",
        reads=operators.READS,
        look=operators.observed,
        commands=operators.observed_commands,
    ),
    Check(
        name="ConfigMaps with the injected profile",
        look=operators.injected,
        commands=operators.injected_commands,
    ),
    Check(
        name="ClusterOperator conditions",
        reads=(kinds.CLUSTER_OPERATOR,),
        look=operators.conditions,
        commands=operators.conditions_commands,
    ),
    Check(
        name="rollout",
        reads=(kinds.MACHINE_CONFIG_POOL, kinds.NODE),
        look=operators.rollout,
        commands=operators.rollout_commands,
    ),
    Check(name="events and logs", look=events.events, commands=events.events_commands),
    Check(name="served configuration", look=diagnosed_component.serves, commands=diagnosed_component.serves_commands),
)
"""Steps, from the configuration to the listener."""

READS: tuple[Kind, ...] = union(each.reads for each in STEPS)
"""All kinds that a step reads; ``adhere rbac --with doctor`` grants those that a scan does not read."""

INJECTED_MAPS = Kind(group="", plural="configmaps", name="ConfigMap")
"""All ConfigMaps, read from a must-gather or manifests only: an API may have too many, with unrelated contents."""


def injected(found: Iterable[KubeObject]) -> tuple[KubeObject, ...]:
    """Return the ConfigMaps into which the platform writes a profile."""
    return tuple(each for each in found if each.annotations.get(operators.INJECT) == "true")


def diagnose(
    cluster: Assessment,
    component: str | None = None,
    *,
    maps: Known[tuple[KubeObject, ...]] = NOT_READ,
    seen: Iterable[Served] | None = None,
    read_events: ReadEvents = lambda _: NO_EVENTS,
) -> Iterator[Diagnosis]:
    """Diagnose each component that has a listener, or the one of that name.

    ``cluster``: an assessment of a snapshot that also read ``READS``. ``maps``: the result of ``injected``. ``seen``:
    listeners of a saved scan. ``read_events`` is called once, for the namespaces of all components.
    """
    components = list(_components(cluster, component, maps, seen))
    yield from map(_diagnosis, _with_events(components, read_events))


def _with_events(components: Sequence[Component], read_events: ReadEvents) -> Iterator[Component]:
    names = dict.fromkeys(name for each in components for name in events.places(each))
    events_read = read_events(tuple(names)) if names else NO_EVENTS
    return (replace(each, events=events_read) for each in components)


def _components(
    cluster: Assessment, component: str | None, maps: Known[tuple[KubeObject, ...]], seen: Iterable[Served] | None
) -> Iterator[Component]:
    saved = None if seen is None else tuple(seen)
    groups: dict[tuple[str, str], list[tuple[Endpoint, Expectation]]] = {}
    for endpoint in cluster.discovery.endpoints:
        expected = cluster.expectations.of(endpoint)
        if expected.component is not None and component in (None, expected.component):
            key = expected.component, _plane(cluster, endpoint.owner.namespace)
            groups.setdefault(key, []).append((endpoint, expected))
    for (name, plane), listening in sorted(groups.items(), key=lambda item: item[0]):
        mine = None if saved is None else tuple(each for each in saved if each.component == name)
        if mine is not None:
            mine = tuple(each for each in mine if _plane(cluster, each.namespace) == plane)
        yield _component(cluster, name, listening, maps, mine)


def diagnosis_of(
    cluster: Assessment,
    endpoint: Endpoint,
    *,
    maps: Known[tuple[KubeObject, ...]] = NOT_READ,
    seen: Iterable[Served] | None = None,
    read_events: ReadEvents = lambda _: NO_EVENTS,
) -> Diagnosis:
    """Return the diagnosis of the component of ``endpoint``, for that listener alone. ``seen``: its replicas in a saved
    scan."""
    expected = cluster.expectations.of(endpoint)
    name = expected.component or endpoint.component or endpoint.owner.name
    component = _component(cluster, name, [(endpoint, expected)], maps, None if seen is None else tuple(seen))
    return _diagnosis(next(_with_events([component], read_events)))


def _plane(cluster: Assessment, namespace: str | None) -> str:
    """Return the namespace if it is a hosted control plane's, else ""."""
    return namespace if namespace in cluster.expectations.facts.hosted and namespace else ""


def _component(
    cluster: Assessment,
    name: str,
    listening: list[tuple[Endpoint, Expectation]],
    maps: Known[tuple[KubeObject, ...]],
    seen: tuple[Served, ...] | None,
) -> Component:
    facts = cluster.expectations.facts
    known = facts.catalogue.component(name)
    endpoints = tuple(endpoint for endpoint, _ in listening)
    return Component(
        facts=facts,
        cluster=cluster.facts,
        name=name,
        operator=known.operator if known and not _plane(cluster, endpoints[0].owner.namespace) else "",
        endpoints=endpoints,
        expectations=tuple(expected for _, expected in listening),
        injected=maps,
        seen=seen,
        certificates=cluster.certificates,
    )


def _steps(component: Component) -> Iterator[Step]:
    """Yield the steps for the platform; the keys of certificates if a PKI object governs them."""
    keys = events.keys(component)
    for each in STEPS if component.platform != "kubernetes" else STEPS_OF_KUBERNETES:
        if each.look is events.events and keys.outcome != "not-applicable":
            commands = events.keys_commands(component)
            yield Step(name="certificate keys", answer=keys, commands=commands, proven=False)
        yield Step(name=each.name, answer=each.look(component), commands=each.commands(component))


STEPS_OF_KUBERNETES: tuple[Check, ...] = (
    Check(name="kubeadm ConfigMap", look=kubeadm.declared, commands=kubeadm.declared_commands),
    Check(name="process settings", look=kubeadm.running, commands=kubeadm.running_commands),
    *(each for each in STEPS if each.name in ("events and logs", "served configuration")),
)
"""Steps for plain Kubernetes."""


def _diagnosis(component: Component) -> Diagnosis:
    profiles = dict.fromkeys(each.profile for each in component.expectations)
    return Diagnosis(
        component=component.name,
        place=component.authority.source if component.hosted else "",
        operator=component.operator,
        listeners=len({each.id for each in component.endpoints}),
        required=", or ".join(each.reason if isinstance(each, Unknown) else each.name for each in profiles),
        bound=component.bound,
        steps=tuple(_steps(component)),
    )
