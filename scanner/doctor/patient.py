"""A patient: one component, and all that the steps of its diagnosis look at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from scanner.certificates import Certificates
from scanner.expect.authority import Authority
from scanner.expect.facts import Facts
from scanner.kube.cluster_facts import ClusterFacts
from scanner.kube.maybe import Known, Unknown
from scanner.kube.objects import KubeObject
from scanner.model.component_tally import Honours, honours
from scanner.model.diagnosis import Events
from scanner.model.endpoint import Endpoint, Owner
from scanner.model.expectation import Expectation
from scanner.model.row import EndpointRow

World = Literal["openshift", "hypershift", "microshift", "kubernetes", "hosted"]
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
class Patient:
    """One component of one control plane."""

    facts: Facts
    cluster: ClusterFacts
    component: str
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
    def world(self) -> World:
        """Where it runs."""
        return "hosted" if self.hosted else self.cluster.distribution

    @property
    def authority(self) -> Authority:
        """What says what it owes."""
        return self.facts.authority(self.endpoints[0])

    @property
    def bound(self) -> bool:
        """Whether anything holds any of its listeners to a profile."""
        return any(each.binding != "not-enforced" for each in self.owed)

    @property
    def follows(self) -> bool:
        """Whether every listener that a saved scan has seen serves what it owes."""
        told = [each.honours for each in self.seen or () if each.honours is not None]
        return bool(told) and all(each == "yes" for each in told)

    @property
    def oc(self) -> str:
        """The program for this cluster."""
        return "kubectl" if self.world == "kubernetes" else "oc"

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
