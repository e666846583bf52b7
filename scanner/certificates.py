"""The inventory of a cluster's certificates, in its objects and on its listeners, judged by the PKI configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from scanner.config.certificate_names import load_names
from scanner.kube.cluster_facts import hosted_namespaces
from scanner.kube.kinds import CLUSTER_SERVICE_VERSION, CLUSTER_VERSION, SECRET, Kind
from scanner.kube.maybe import Unknown
from scanner.kube.openshift import ClusterVersion, installed_operators
from scanner.kube.snapshot import Snapshot, union
from scanner.kube.tls_profile import Profile
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Expectation
from scanner.model.finding import SEVERITIES, Finding
from scanner.model.held_certificate import HeldCertificate
from scanner.model.inventory import InventoryRow, NamesRow, RenewalRow
from scanner.model.observation import Observation
from scanner.model.pki_config import Key, PkiConfig, Rule
from scanner.model.report import NEVER_FAILS, VERDICTS
from scanner.model.scan_policy import ScanPolicy
from scanner.model.well_known import Names
from scanner.pki import certificate_sources, governing, object_rules
from scanner.pki.certificate_sources import served
from scanner.pki.compliance import KEY
from scanner.pki.definitions import with_registered
from scanner.pki.governing import Governing
from scanner.pki.inventory import Entry, Inventory, collect
from scanner.pki.listener_profile import Serving
from scanner.pki.object_rules import Configuration
from scanner.pki.renewal import renewal
from scanner.pki.rules import of_listener, of_objects
from scanner.report.rows import finding_row, timestamp
from scanner.values import replace

_OVERRIDES = 20
"""Overrides that the line of a configuration names."""


def inventory_row(entry: Entry, cluster: str | None = None) -> InventoryRow:
    """Return the row of a certificate. ``cluster``: its name, if the report has several."""
    classified = entry.classified
    verdict, status = _judged(entry)
    return InventoryRow(
        sha256=entry.sha256,
        cluster=cluster,
        names=[each.name for each in classified.names],
        category=classified.category,
        governed=classified.governed,
        why=classified.why,
        component=" or ".join(dict.fromkeys(each.owner.component for each in classified.names)) or None,
        namespace=_namespace(entry),
        subject=entry.subject,
        issuer=entry.issuer,
        key={
            "algorithm": entry.key.algorithm if entry.key else None,
            "size": entry.key.size if entry.key else None,
            "curve": entry.key.curve if entry.key else None,
        },
        not_before=timestamp(entry.not_before) if entry.not_before else None,
        not_after=timestamp(entry.not_after) if entry.not_after else None,
        verdict=verdict,
        status=status,
        renewal=_renewal(entry),
        findings=[finding_row(each) for each in entry.findings],
        places=entry.listed,
        found=entry.count,
    )


def _namespace(entry: Entry) -> str | None:
    """Return the namespace of its well-known names, if it is one; else where it was found."""
    homes = {each.namespace for each in entry.classified.names}
    return homes.pop() if len(homes) == 1 and None not in homes else entry.namespace


def _renewal(entry: Entry) -> RenewalRow | None:
    if not entry.classified.names:
        return None
    found = renewal(entry.classified.names, entry.not_before, entry.not_after)
    return RenewalRow(rotates=found.rotates, by=timestamp(found.by) if found.by else None)


def _judged(entry: Entry) -> tuple[str, str]:
    """Return verdict and status of the most important finding; without one, why there is none. A remark does not count,
    unless it says that a key is stronger than configured."""
    judging = [each for each in entry.findings if each.status != "informational" or each.rule == KEY.id]
    if entry.superseded:
        return "not_applicable", "superseded"
    if entry.unproven and all(each.verdict == "pass" for each in judging):
        return "inconclusive", "unattributed"  # the policy's minimum is not what the PKI object asks for
    if judging:
        worst = min(judging, key=_importance)
        return worst.verdict, worst.status
    if entry.classified.governed is None:
        return "inconclusive", "unattributed"
    return "not_applicable", "not-required" if entry.classified.governed else "not-governed"


def _importance(finding: Finding) -> tuple[int, bool, int]:
    """Sort key: the most important first."""
    return VERDICTS.index(finding.verdict), finding.status in NEVER_FAILS, -SEVERITIES.index(finding.severity)


def inventory_rows(entries: Iterable[Entry], cluster: str | None = None) -> Iterator[InventoryRow]:
    """A row for each."""
    return (inventory_row(each, cluster) for each in entries)


def configuration_line(config: PkiConfig) -> str:
    """Return the requirements in one line: ``PKI/cluster: defaults RSA 2048, signer RSA 4096, since 2026-01-01``."""
    rules = [("defaults", config.defaults), *config.categories.items(), *list(config.overrides.items())[:_OVERRIDES]]
    asked = [f"{name} {_key(rule)}" for name, rule in rules if rule]
    if config.reason or not asked:
        return f"{config.source}: {config.platform_said or 'nothing is configured'}"
    more = len(config.overrides) - _OVERRIDES
    asked += [f"{more} more overrides"] if more > 0 else []
    return f"{config.source}: {', '.join(asked)}{_since(config)}"


def _since(config: PkiConfig) -> str:
    if config.since is None or config.since.year == 1:  # an install-config's, which held from the beginning
        return ""
    day = config.since.date().isoformat()
    return f"; changed after {day}, the time is unknown" if config.since_vague else f"; last changed {day}"


def _key(rule: Rule) -> str:
    key: Key | Unknown = rule.key
    return f"unknown ({key.reason})" if isinstance(key, Unknown) else str(key)


READS: tuple[Kind, ...] = tuple(
    kind
    for kind in union((governing.READS, object_rules.READS, certificate_sources.READS, (CLUSTER_SERVICE_VERSION,)))
    if kind.opt_in is None
)
"""Every kind that is read, except Secrets: a scan reads these only with ``--secrets``."""


class Certificates:
    """Certificates of one cluster. The first call that needs the inventory reads the objects."""

    def __init__(
        self,
        snapshot: Snapshot,
        policy: ScanPolicy = ScanPolicy(),
        *,
        earlier: Iterable[Snapshot] = (),
        user_provided: PkiConfig | None = None,
        day_one: PkiConfig | None = None,
        on_held: Callable[[HeldCertificate], None] = lambda _: None,
    ) -> None:
        """``earlier``: snapshots of the same cluster, with the configurations of that time. ``user_provided``: a
        configuration in place of the cluster's own; ``day_one``: an install-config in place of the one that the cluster
        keeps. ``on_held`` is called with each certificate that an object holds."""
        self._policy = policy
        self._misfits: dict[str, tuple[Finding, ...]] = {}
        """By listener: replicas have one entry."""
        self._earlier = tuple(sorted(earlier, key=lambda each: each.taken_at))
        self._configured = user_provided
        self._day_one = day_one
        self._on_held = on_held
        self._user_provided: dict[str, str] = {}
        """SHA-256 -> object by which a user provided the certificate: a listener does not show it."""
        self.snapshot = replace(snapshot, objects={SECRET: (), **snapshot.objects})

    @cached_property
    def inventory(self) -> Inventory:
        """The certificates found so far."""
        empty = Inventory(self._names, self._governing, self.snapshot.taken_at, self._policy)
        return collect(empty, map(self._noted, certificate_sources.in_snapshot(self.snapshot)))

    def _noted(self, held: HeldCertificate) -> HeldCertificate:
        self._on_held(held)
        if held.place.user_provided:
            self._user_provided[held.facts.sha256] = held.place.user_provided
        return held

    def add(self, held: HeldCertificate) -> None:
        """Add a certificate from elsewhere."""
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

    def serve(self, endpoint: Endpoint, observation: Observation, expectation: Expectation | None = None) -> None:
        """Add the certificates that a listener served, and judge them by its expected profile."""
        leaves, inventory = [], self.inventory  # reading it fills ``_user_provided``
        for each in served(endpoint, observation, self._user_provided):
            classified = inventory.add(each, endpoint.owner.namespace)
            if each.place.role == "leaf":
                leaves.append((each.facts, classified))
        profile = expectation.profile if expectation is not None and expectation.binding != "not-enforced" else None
        if leaves and isinstance(profile, Profile) and endpoint.id not in self._misfits:
            config = self._governing.of(endpoint.owner.namespace).config
            serving = Serving(endpoint=endpoint.id, profile=profile, leaves=tuple(leaves), config=config)
            if found := tuple(of_listener(serving)):
                self._misfits[endpoint.id] = found

    def findings(self) -> Iterator[Finding]:
        """Yield findings on the PKI configuration, then on the certificates."""
        own = Configuration(
            config=self._governing.own, snapshot=self.snapshot, names=self._names, day_one=self._day_one
        )
        yield from of_objects(own)
        yield from self.inventory.findings()
        for _, found in sorted(self._misfits.items()):
            yield from found

    def rows(self, cluster: str | None = None) -> Iterator[InventoryRow]:
        """Yield the rows of the report. ``cluster``: its name, if the report has several."""
        return inventory_rows(self.inventory.entries(), cluster)

    def names_seen(self, cluster: str | None = None) -> NamesRow | None:
        """Return the coverage of the names that the cluster's own configuration governs; None if it governs none."""
        return self.inventory.name_coverage(cluster)

    def configuration(self) -> str:
        """Return the cluster's own PKI configuration in one line."""
        return configuration_line(self._governing.own)
