"""The certificates of a scanned cluster: those that its objects hold, and those that its listeners serve, in one
inventory that is judged by the PKI configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property

from scanner.certificate_rows import configuration_line, inventory_rows
from scanner.config.certificate_names import load_names
from scanner.kube.cluster_facts import hosted_namespaces
from scanner.kube.kinds import CLUSTER_SERVICE_VERSION, CLUSTER_VERSION, SECRET, Kind
from scanner.kube.openshift import ClusterVersion, installed_operators
from scanner.kube.snapshot import Snapshot, union
from scanner.kube.tls_profile import Profile
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Expectation
from scanner.model.finding import Finding
from scanner.model.held_certificate import HeldCertificate
from scanner.model.inventory import InventoryRow, NamesRow
from scanner.model.observation import Observation
from scanner.model.pki_config import PkiConfig
from scanner.model.scan_policy import ScanPolicy
from scanner.model.well_known import Names
from scanner.pki import certificate_sources, governing, object_rules
from scanner.pki.certificate_sources import served
from scanner.pki.definitions import with_registered
from scanner.pki.governing import Governing
from scanner.pki.inventory import Inventory, collect
from scanner.pki.listener_profile import Serving
from scanner.pki.name_coverage import name_coverage
from scanner.pki.object_rules import Configuration
from scanner.pki.rules import of_listener, of_objects

READS: tuple[Kind, ...] = tuple(
    kind
    for kind in union((governing.READS, object_rules.READS, certificate_sources.READS, (CLUSTER_SERVICE_VERSION,)))
    if kind.opt_in is None
)
"""Every kind that is looked at, but for Secrets: a scan asks for these only where it is told to."""


class Certificates:
    """Of one cluster. Nothing is looked at before the first certificate, or the findings, are asked for."""

    def __init__(
        self,
        snapshot: Snapshot,
        policy: ScanPolicy = ScanPolicy(),
        *,
        earlier: Iterable[Snapshot] = (),
        given: PkiConfig | None = None,
        day_one: PkiConfig | None = None,
        tell: Callable[[HeldCertificate], None] = lambda _: None,
    ) -> None:
        """``earlier``: snapshots of the same cluster, which tell what was configured then. ``given``: a configuration
        in the place of the cluster's own; ``day_one``: an install-config in the place of the one that it keeps.
        ``tell`` is told of everything that the objects hold, as it is found."""
        self._policy = policy
        self._misfits: dict[str, tuple[Finding, ...]] = {}
        """By listener, whatever the number of its replicas."""
        self._earlier = tuple(sorted(earlier, key=lambda each: each.taken_at))
        self._configured = given
        self._day_one = day_one
        self._tell = tell
        self._given: dict[str, str] = {}
        """SHA-256 of each stored certificate that somebody gave, and who: a listener does not say so of what it has."""
        self.snapshot = replace(snapshot, objects={SECRET: (), **snapshot.objects})

    @cached_property
    def inventory(self) -> Inventory:
        """Everything that was found so far."""
        empty = Inventory(self._names, self._governing, self.snapshot.taken_at, self._policy)
        return collect(empty, map(self._told, certificate_sources.held(self.snapshot)))

    def _told(self, held: HeldCertificate) -> HeldCertificate:
        self._tell(held)
        if held.place.user_provided:
            self._given[held.facts.sha256] = held.place.user_provided
        return held

    def add(self, held: HeldCertificate) -> None:
        """Take in what was found elsewhere."""
        self.inventory.add(held)

    @cached_property
    def _names(self) -> Names:
        version = self.snapshot.objects.get(CLUSTER_VERSION, ())
        release = next((ClusterVersion.of(each).desired for each in version), "")
        names = load_names(hosted=hosted_namespaces(self.snapshot), release=release)
        layered = frozenset(each.namespace or "" for each in installed_operators(self.snapshot))
        names = names.without(layered)
        signers = certificate_sources.signers(self.snapshot, names)
        return replace(with_registered(names, self.snapshot), signers=signers)

    @cached_property
    def _governing(self) -> Governing:
        return Governing(self.snapshot, self._earlier, self._configured)

    def serve(self, endpoint: Endpoint, observation: Observation, owed: Expectation | None = None) -> None:
        """Take in what a listener served, and judge it by the profile that it owes."""
        leaves, inventory = [], self.inventory  # which has to be there before anybody is asked who gave what
        for each in served(endpoint, observation, self._given):
            classified = inventory.add(each, endpoint.owner.namespace)
            if each.place.role == "leaf":
                leaves.append((each.facts, classified))
        profile = owed.profile if owed is not None and owed.binding != "not-enforced" else None
        if leaves and isinstance(profile, Profile) and endpoint.id not in self._misfits:
            config = self._governing.of(endpoint.owner.namespace).config
            serving = Serving(endpoint=endpoint.id, profile=profile, leaves=tuple(leaves), config=config)
            if found := tuple(of_listener(serving)):
                self._misfits[endpoint.id] = found

    def findings(self) -> Iterator[Finding]:
        """What is wrong with the PKI configuration, then what it has against the certificates."""
        own = Configuration(
            config=self._governing.own, snapshot=self.snapshot, names=self._names, day_one=self._day_one
        )
        yield from of_objects(own)
        yield from self.inventory.findings()
        for found in self._misfits.values():
            yield from found

    def rows(self, cluster: str | None = None) -> Iterator[InventoryRow]:
        """All of them, for the report. ``cluster``: its name, where a report has several."""
        return inventory_rows(self.inventory.entries(), cluster)

    def names_seen(self, cluster: str | None = None) -> NamesRow | None:
        """What was seen of the names that the cluster's own configuration governs; None where it requires nothing."""
        return name_coverage(self._names, self._governing, self.inventory.entries(), cluster)

    def configuration(self) -> str:
        """What the cluster's own PKI configuration asks for, in a line."""
        return configuration_line(self._governing.own)
