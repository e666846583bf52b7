"""A component of a control plane, with the inputs of its diagnosis, and the step about the served profile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from shlex import quote
from typing import Literal

from msgspec import Struct

from scanner.certificates import Certificates
from scanner.expect.authority import Authority
from scanner.expect.facts import Facts
from scanner.kube.cluster_facts import ClusterFacts
from scanner.kube.hostnames import parse_zoned_address
from scanner.kube.maybe import Known, Unknown
from scanner.kube.objects import KubeObject
from scanner.model.component_tally import Honours, honours
from scanner.model.diagnosis import Answer, Events, Outcome
from scanner.model.endpoint import Endpoint, Owner
from scanner.model.expectation import Expectation
from scanner.model.row import EndpointRow

Platform = Literal["openshift", "hypershift", "microshift", "kubernetes", "hosted"]
"""Platform of a component. ``hypershift``: in a guest cluster. ``hosted``: in a control plane for another cluster."""

NOT_READ = Unknown("adhere reads these ConfigMaps only from a must-gather or manifests, not from the API")
NO_EVENTS = Unknown("a saved snapshot has no events: use --context NAME, or --snapshot DIR with a must-gather")
_EVIDENCE = 2
"""Lines of evidence for each listener that does not follow."""


class Served(Struct, frozen=True, kw_only=True):
    """One address of a listener in a saved scan."""

    id: str
    component: str | None
    namespace: str
    binding: str
    honours: Honours | None
    why: tuple[str, ...] = ()
    """Failures, and the commands to reproduce them."""


def served(row: EndpointRow) -> Served:
    """Return the fields of a row that a diagnosis needs."""
    found = [one for one in row["findings"] if one["verdict"] in ("fail", "inconclusive")][:_EVIDENCE]
    messages = [f"{one['rule']}: {one['message']}" for one in found]
    commands = [f"reproduce: {one['reproduce']}" for one in found if one["reproduce"]]
    return Served(
        id=row["id"],
        component=row["component"],
        namespace=row["owner"]["namespace"] or "",
        binding=row["binding"],
        honours=honours(row),
        why=(*messages, *commands) or ((row["detail"],) if row["detail"] else ()),
    )


class Component(Struct, frozen=True, kw_only=True):
    """A component of one control plane."""

    facts: Facts
    cluster: ClusterFacts
    name: str
    operator: str = ""
    """ClusterOperator in the catalogue, or empty."""
    endpoints: tuple[Endpoint, ...]
    """At least one."""
    expectations: tuple[Expectation, ...]
    """Expectation of each endpoint."""
    injected: Known[tuple[KubeObject, ...]] = NOT_READ
    """ConfigMaps of the cluster into which the platform writes a profile."""
    events: Known[Events] = NO_EVENTS
    """Events of its namespaces, and of others."""
    certificates: Certificates | None = None
    """Certificates of the cluster."""
    seen: tuple[Served, ...] | None = None
    """Its listeners in a saved scan; None without a saved scan."""

    @property
    def hosted(self) -> bool:
        """True if it is part of a control plane for another cluster."""
        return self.endpoints[0].owner.namespace in self.facts.hosted

    @property
    def platform(self) -> Platform:
        """Platform of the component."""
        return "hosted" if self.hosted else self.cluster.distribution

    @property
    def authority(self) -> Authority:
        """Object that sets its profile."""
        return self.facts.authority(self.endpoints[0])

    @property
    def bound(self) -> bool:
        """True if a profile is enforced on any of its listeners."""
        return any(each.binding != "not-enforced" for each in self.expectations)

    @property
    def follows(self) -> bool:
        """True if every listener of the saved scan follows its profile."""
        results = [each.honours for each in self.seen or () if each.honours is not None]
        return bool(results) and all(each == "yes" for each in results)

    @property
    def oc(self) -> str:
        """Command line program for this cluster."""
        return "kubectl" if self.platform == "kubernetes" else "oc"

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Namespaces of its workloads."""
        return _once(each.owner.namespace for each in self.endpoints)

    @property
    def workloads(self) -> Sequence[Owner]:
        """Objects that own its listeners, without nodes."""
        return list(dict.fromkeys(each.owner for each in self.endpoints if each.owner.namespace))


def _once(names: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name))


_MOST = 5
"""Listeners named."""
_WORST_FIRST: tuple[tuple[Honours, Outcome, str], ...] = (
    ("no", "stopped", "does not follow its profile"),
    ("not-determined", "unknown", "inconclusive"),
)


def serves(component: Component) -> Answer:
    """Check that every listener follows its profile."""
    if component.seen is None:
        return Answer(outcome="not-read", lines=("not checked without a saved scan (--results DIR)",))
    if not component.seen:
        return Answer(outcome="unknown", lines=("the saved scan has no listener of this component",))
    tls = [each for each in component.seen if each.honours is not None]
    if not tls:
        return Answer(outcome="not-applicable", lines=("no listener of this component must use TLS",))
    bound = [each for each in tls if each.binding != "not-enforced"]
    if not bound:
        count = sum(each.honours == "yes" for each in tls)
        line = f"the profile is not enforced; it is followed at {count} of {_addresses(tls)}"
        return Answer(outcome="not-applicable", lines=(line,))
    return _judged(bound)


def _judged(bound: list[Served]) -> Answer:
    for follows, outcome, what in _WORST_FIRST:
        failing = [each for each in bound if each.honours == follows]
        if failing:
            line = f"{what} at {len(failing)} of {_addresses(bound)}"
            return Answer(outcome=outcome, lines=(line, *_evidence(failing)))
    return Answer(outcome="ok", lines=(f"follows its profile at {_addresses(bound)}",))


def _addresses(every: list[Served]) -> str:
    return "1 address" if len(every) == 1 else f"{len(every)} addresses"


def _evidence(failing: Iterable[Served]) -> list[str]:
    every = {each.id: each for each in reversed(list(failing))}
    names = list(every)[::-1]
    lines = [line for name in names[:_MOST] for line in (name, *(f"  {why}" for why in every[name].why))]
    return [*lines, f"and {len(names) - _MOST} more"] if len(names) > _MOST else lines


def serves_commands(component: Component) -> tuple[str, ...]:
    """Return the command that probes its listeners."""
    addresses = (parse_zoned_address(each.address) for each in component.endpoints)
    local = " --allow-loopback" * any(each is not None and each.is_loopback for each in addresses)
    return (f"adhere scan --cluster{local} --include {quote('component=' + component.name)} --save DIR",)
