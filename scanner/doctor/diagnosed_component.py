"""One component of a control plane, all that the steps of its diagnosis read, and what a saved scan saw of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Literal

from scanner.certificates import Certificates
from scanner.expect.authority import Authority
from scanner.expect.facts import Facts
from scanner.kube.cluster_facts import ClusterFacts
from scanner.kube.maybe import Known, Unknown
from scanner.kube.objects import KubeObject
from scanner.model.component_tally import Honours, honours
from scanner.model.diagnosis import Answer, Events, Outcome
from scanner.model.endpoint import Endpoint, Owner
from scanner.model.expectation import Expectation
from scanner.model.row import EndpointRow

Platform = Literal["openshift", "hypershift", "microshift", "kubernetes", "hosted"]
"""Where a component runs. ``hypershift``: in a guest cluster. ``hosted``: in a control plane for another cluster."""

NOT_READ = Unknown("ConfigMaps are not read from the API, only those of a must-gather or of manifests")
NO_EVENTS = Unknown("events are read from the API or a must-gather; a saved snapshot has none")
_EVIDENCE = 2
"""Lines kept of each listener that does not follow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What a saved scan says of one address of a listener."""

    id: str
    component: str | None
    namespace: str
    binding: str
    honours: Honours | None
    why: tuple[str, ...] = ()
    """What was wrong, and the commands that show it again."""


def served(row: EndpointRow) -> Served:
    """The little of a row that a diagnosis needs."""
    told = [one for one in row["findings"] if one["verdict"] in ("fail", "inconclusive")]
    shown = [f"{one['rule']}: {one['message']}" for one in told[:_EVIDENCE]]
    again = [f"reproduce: {one['reproduce']}" for one in told[:_EVIDENCE] if one["reproduce"]]
    return Served(
        id=row["id"],
        component=row["component"],
        namespace=row["owner"]["namespace"] or "",
        binding=row["binding"],
        honours=honours(row),
        why=(*shown, *again) or ((row["detail"],) if row["detail"] else ()),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One component of one control plane."""

    facts: Facts
    cluster: ClusterFacts
    name: str
    operator: str = ""
    """Of the catalogue; empty where none is known."""
    endpoints: tuple[Endpoint, ...]
    """At least one."""
    owed: tuple[Expectation, ...]
    """Of each endpoint."""
    injected: Known[tuple[KubeObject, ...]] = NOT_READ
    """Every ConfigMap of the cluster into which the platform writes a profile."""
    events: Known[Events] = NO_EVENTS
    """Of its namespaces, among others."""
    certificates: Certificates | None = None
    """Of the whole cluster."""
    seen: tuple[Served, ...] | None = None
    """Of the component's listeners, from a saved scan; None where none was given."""

    @property
    def hosted(self) -> bool:
        """Whether it is part of a control plane for another cluster."""
        return self.endpoints[0].owner.namespace in self.facts.hosted

    @property
    def platform(self) -> Platform:
        """Where it runs."""
        return "hosted" if self.hosted else self.cluster.distribution

    @property
    def authority(self) -> Authority:
        """The authority over it."""
        return self.facts.authority(self.endpoints[0])

    @property
    def bound(self) -> bool:
        """Whether anything holds any of its listeners to a profile."""
        return any(each.binding != "not-enforced" for each in self.owed)

    @property
    def follows(self) -> bool:
        """Whether every listener that a saved scan has seen follows its profile."""
        told = [each.honours for each in self.seen or () if each.honours is not None]
        return bool(told) and all(each == "yes" for each in told)

    @property
    def oc(self) -> str:
        """The program for this cluster."""
        return "kubectl" if self.platform == "kubernetes" else "oc"

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Of its workloads."""
        return _once(each.owner.namespace for each in self.endpoints)

    @property
    def workloads(self) -> Sequence[Owner]:
        """The objects that its listeners belong to, nodes left out."""
        return list(dict.fromkeys(each.owner for each in self.endpoints if each.owner.namespace))


def _once(names: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name))


_MOST = 5
"""Listeners named."""
_WORST_FIRST: tuple[tuple[Honours, Outcome, str], ...] = (
    ("no", "stopped", "something else than is required"),
    ("not-determined", "unknown", "not judged"),
)


def serves(component: Component) -> Answer:
    """Whether every listener follows its profile."""
    if component.seen is None:
        return Answer(outcome="not-read", said=("not checked: no saved scan (--results DIR)",))
    if not component.seen:
        return Answer(outcome="unknown", said=("the saved scan has no listener of it",))
    tls = [each for each in component.seen if each.honours is not None]
    if not tls:
        return Answer(outcome="not-applicable", said=("none of its listeners has to speak TLS",))
    bound = [each for each in tls if each.binding != "not-enforced"]
    if not bound:
        count = sum(each.honours == "yes" for each in tls)
        said = f"nothing holds it to the profile; it is followed all the same at {count} of {_addresses(tls)}"
        return Answer(outcome="not-applicable", said=(said,))
    return _judged(bound)


def _judged(bound: list[Served]) -> Answer:
    for follows, outcome, what in _WORST_FIRST:
        ill = [each for each in bound if each.honours == follows]
        if ill:
            said = f"{what} at {len(ill)} of {_addresses(bound)}"
            return Answer(outcome=outcome, said=(said, *_evidence(ill)))
    return Answer(outcome="ok", said=(f"what is required, at {_addresses(bound)}",))


def _addresses(every: list[Served]) -> str:
    return "1 address" if len(every) == 1 else f"{len(every)} addresses"


def _evidence(ill: Iterable[Served]) -> list[str]:
    every = {each.id: each for each in reversed(list(ill))}
    names = list(every)[::-1]
    said = [line for name in names[:_MOST] for line in (name, *(f"  {why}" for why in every[name].why))]
    return [*said, f"and {len(names) - _MOST} more"] if len(names) > _MOST else said


def serves_commands(component: Component) -> tuple[str, ...]:
    """How to ask them."""
    return (f"adhere scan --cluster --include {quote('component=' + component.name)} --save DIR",)
