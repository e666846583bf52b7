"""Assess a snapshot: its endpoints, and the expectation of each one. Pure; the snapshot was read before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import chain

from msgspec import Struct, field, structs

from scanner import certificates, discover, expect
from scanner.certificates import Certificates
from scanner.config.component_catalogue import load_catalogue
from scanner.discover import Discovery
from scanner.discover.endpoint_selection import share_namespace
from scanner.expect import Expectations
from scanner.jobs import Job, Surroundings
from scanner.judge import network_policy
from scanner.judge.custom_profiles import adherence_findings, custom_findings
from scanner.judge.network_policy import NetworkPolicies
from scanner.kube import cluster_facts, kinds
from scanner.kube.cluster_facts import ClusterFacts, same_cluster
from scanner.kube.kinds import PKI, Kind
from scanner.kube.maybe import Known, Unknown
from scanner.kube.snapshot import Snapshot, union
from scanner.kube.tls_profile import Profile
from scanner.model.components import Catalogue
from scanner.model.finding import Finding
from scanner.model.inventory import CertificateReport, NamesRow, certificate_report
from scanner.model.pki_config import PkiConfig
from scanner.model.scan_policy import ScanPolicy, Selector
from scanner.pki.rules import PKI_RULES
from scanner.values import replace

READS: tuple[Kind, ...] = union(
    (cluster_facts.READS, discover.READS, expect.READS, network_policy.READS, certificates.READS)
)
"""Every kind of object that a scan of a cluster looks at; ``adhere rbac`` allows exactly these."""


class Viewpoint(Struct, frozen=True, kw_only=True):
    """Everything except the snapshot that decides which endpoints are found and what is required of them."""

    policy: ScanPolicy = ScanPolicy()
    component_files: Sequence[str] = ()
    """Files of ``--components``; they override the shipped catalogue."""
    include: tuple[Selector, ...] = ()
    exclude: tuple[Selector, ...] = ()
    allow_external: bool = False
    loopback: bool = False
    """True if the cluster's own addresses may be loopback ones, as in the demo."""
    port_forward: bool = False
    everything: bool = False
    """Keep the listeners that are left out, to explain them."""
    earlier: tuple[Snapshot, ...] = ()
    """Earlier snapshots of the clusters."""
    default_profile: Profile | None = None
    """Required profile on clusters that are not OpenShift; None: Mozilla's intermediate."""
    profile: Profile | None = None
    """``whatif``: replaces the profile of the APIServer object."""
    adherence: str | None = None
    """``whatif``: replaces ``spec.tlsAdherence``."""
    pki: PkiConfig | None = None
    """``whatif``: replaces PKI/cluster, from the time of the snapshot."""
    release: str | None = None
    """``whatif``: OpenShift release whose profiles are used."""


class Assessment(Struct, frozen=True, kw_only=True):
    """The assessment of one cluster from one viewpoint."""

    snapshot: Snapshot
    view: Viewpoint
    facts: ClusterFacts
    catalogue: Catalogue
    discovery: Discovery
    expectations: Expectations
    certificates: Certificates
    policies: NetworkPolicies = field(default_factory=lambda: NetworkPolicies(()))
    """Explain why a listener does not answer."""

    def jobs(self) -> Iterator[Job]:
        """Yield a job for each endpoint, in the order of their turns."""
        endpoints, turns = self.discovery.endpoints, self.discovery.turns
        for place in sorted(range(len(endpoints)), key=turns.__getitem__):
            yield Job(
                endpoint=endpoints[place],
                place=place,
                turn=turns[place],
                share=share_namespace(endpoints[place]) or "",
                owes=self.expectations.of,
                cluster=self.facts.name,
                scope=self.discovery.scope,
                policies=self.policies,
                replicated=True,
                serve=self.certificates.serve,
            )


def assess(snapshot: Snapshot, view: Viewpoint, every: Iterable[Snapshot] = ()) -> Assessment:
    """Assess ``snapshot``. ``every``: the snapshots of all clusters of the scan, because one may host this one's
    control plane. Raises ``InputError`` for an invalid file of the viewpoint."""
    facts = cluster_facts.cluster_facts(snapshot)
    hosted = cluster_facts.hosted_namespaces(snapshot)
    catalogue = load_catalogue(facts.distribution, view.component_files, hosted=hosted)
    scope = view.policy.scope
    discovery = discover.discover(
        snapshot,
        catalogue,
        include=view.include,
        within=scope.include,
        exclude=(*view.exclude, *scope.exclude),
        allow_external=view.allow_external,
        loopback=view.loopback,
        via_port_forward=view.port_forward,
        everything=view.everything,
        most_of_namespace=scope.endpoints_per_namespace,
    )
    expectations = Expectations(
        snapshot,
        catalogue,
        view.policy,
        endpoints=(*discovery.endpoints, *discovery.unasked),
        default_profile=view.default_profile,
        release=view.release,
        profile=view.profile,
        adherence=view.adherence,
        earlier=[each for each in view.earlier if same_cluster(each, snapshot)],
        beside=[each for each in every if each is not snapshot],
    )
    return Assessment(
        snapshot=snapshot,
        view=view,
        facts=facts,
        catalogue=catalogue,
        discovery=discovery,
        expectations=expectations,
        policies=NetworkPolicies(snapshot.every(kinds.NETWORK_POLICY)),
        certificates=_held(snapshot, view),
    )


def _held(snapshot: Snapshot, view: Viewpoint) -> Certificates:
    """Collect the certificates. With another PKI configuration, the cluster's own is the earlier one."""
    earlier = [each for each in view.earlier if same_cluster(each, snapshot)]
    if view.pki is None:
        return Certificates(snapshot, view.policy, earlier=earlier)
    given = replace(view.pki, since=snapshot.taken_at, since_vague=False, until=None, since_said="")
    return Certificates(snapshot, view.policy, earlier=[*earlier, snapshot], user_provided=given)


def surroundings(clusters: Sequence[Assessment]) -> Surroundings:
    """Return the parts of the report that are not about endpoints."""
    rows = [cluster_row(each) for each in clusters]
    left_out = Counter[str]()
    for each in clusters:
        left_out.update(dict(each.discovery.left_out))
    return Surroundings(
        cluster=rows[0] if len(rows) == 1 else {"clusters": rows},
        discovered=sum(len(each.discovery.endpoints) for each in clusters) + left_out.total(),
        left_out=tuple(left_out.items()),
        truncated=sum(each.discovery.truncated for each in clusters),
        unreadable=tuple(gap for each in clusters for gap in each.snapshot.unreadable.values()),
        strict=_strict(clusters),
        rules=PKI_RULES,
        findings=tuple(finding for each in clusters for finding in _of_objects(each)),
        adherence="; ".join(_adherence(each) for each in clusters),
        late=tuple(each.certificates.findings for each in clusters),
        certificates=partial(_certificates, clusters),
        names_seen=partial(names_seen, clusters),
    )


def _certificates(clusters: Sequence[Assessment], now: datetime) -> CertificateReport:
    """Return the certificates of all clusters as of ``now``; with several, each row has its cluster's name."""
    named = {each.facts.name: each.certificates for each in clusters}
    alone = len(clusters) == 1
    configurations = [f"{'' if alone else f'{name}: '}{each.configuration()}" for name, each in named.items()]
    return certificate_report(
        lambda: chain.from_iterable(each.rows(None if alone else name) for name, each in named.items()),
        configurations,
        now,
        names_seen(clusters),
    )


def names_seen(clusters: Sequence[Assessment]) -> list[NamesRow]:
    """Return the coverage of the certificate names that the configuration of each cluster governs. A saved snapshot of
    plain Kubernetes does not show that it has no kind PKI."""
    alone = len(clusters) == 1
    governed = (each for each in clusters if each.facts.distribution != "kubernetes" or each.snapshot.objects.get(PKI))
    found = (each.certificates.names_seen(None if alone else each.facts.name) for each in governed)
    return [each for each in found if each is not None]


def _of_objects(cluster: Assessment) -> Iterator[Finding]:
    """Yield findings on objects alone."""
    yield from adherence_findings(cluster.expectations.unknown_adherences())
    yield from custom_findings(cluster.expectations.customs())


def _strict(clusters: Sequence[Assessment]) -> Known[bool]:
    """Return True if all clusters have strict adherence; Unknown only if no cluster is known to be without it."""
    gaps = [gap for each in clusters if (gap := each.snapshot.gap(kinds.API_SERVER))]
    found = [each.expectations.adherence for each in clusters if not each.snapshot.gap(kinds.API_SERVER)]
    if not all(each is not None and each.strict for each in found):
        return False
    return Unknown(f"the APIServer object could not be read: {gaps[0]}") if gaps else True


def _adherence(cluster: Assessment) -> str:
    said = cluster.expectations.adherence
    return f"{said.source} {said.field}: {said.said}" if said else f"{cluster.facts.name} has no APIServer object"


def cluster_row(cluster: Assessment) -> dict[str, object]:
    """Return the cluster for the report."""
    said = cluster.expectations.adherence
    adherence = f"{said.field} {said.said}".strip() if said else ""
    row = {**structs.asdict(cluster.facts), "adherence": adherence, "taken_at": cluster.snapshot.taken_at.isoformat()}
    changed = cluster.expectations.changed
    return {**row, "profile_changed": changed.isoformat()} if changed else row
