"""Assess a snapshot: its endpoints, and the expectation of each one. Pure; the snapshot was read before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import chain

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

READS: tuple[Kind, ...] = union(
    (cluster_facts.READS, discover.READS, expect.READS, network_policy.READS, certificates.READS)
)
"""Every kind of object that a scan of a cluster looks at; ``adhere rbac`` allows exactly these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewpoint:
    """How a cluster is looked at: everything beside the snapshot that decides what is found and owed."""

    policy: ScanPolicy = ScanPolicy()
    component_files: Sequence[str] = ()
    """Of ``--components``; they win over what ships."""
    include: tuple[Selector, ...] = ()
    exclude: tuple[Selector, ...] = ()
    allow_external: bool = False
    loopback: bool = False
    """Whether the cluster's own addresses may be loopback ones: the demo's are."""
    port_forward: bool = False
    everything: bool = False
    """Keep also the listeners that are left out, to explain them."""
    earlier: tuple[Snapshot, ...] = ()
    """Snapshots of the clusters that are looked at, as they were before."""
    default_profile: Profile | None = None
    """The floor on clusters that are not OpenShift; None: Mozilla's intermediate."""
    profile: Profile | None = None
    """``whatif``: instead of what the APIServer object says."""
    adherence: str | None = None
    """``whatif``: instead of ``spec.tlsAdherence``."""
    pki: PkiConfig | None = None
    """``whatif``: instead of what PKI/cluster says, from the moment of the snapshot on."""
    release: str | None = None
    """``whatif``: judge with this release's meaning of the profiles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """One cluster, looked at from one viewpoint."""

    snapshot: Snapshot
    view: Viewpoint
    facts: ClusterFacts
    catalogue: Catalogue
    discovery: Discovery
    expectations: Expectations
    certificates: Certificates
    policies: NetworkPolicies = field(default_factory=lambda: NetworkPolicies(()))
    """They may explain why a listener does not answer."""

    def jobs(self) -> Iterator[Job]:
        """A job for each endpoint, in the order of their turns."""
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
    """Look at ``snapshot``. ``every``: those of all clusters of the scan, one of which may host this one's control
    plane. Raises ``InputError`` for a file of the viewpoint that is not as it should be."""
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
    """Under another PKI configuration, the cluster's own becomes what was asked for until now."""
    earlier = [each for each in view.earlier if same_cluster(each, snapshot)]
    if view.pki is None:
        return Certificates(snapshot, view.policy, earlier=earlier)
    given = replace(view.pki, since=snapshot.taken_at, since_vague=False, until=None, since_said="")
    return Certificates(snapshot, view.policy, earlier=[*earlier, snapshot], user_provided=given)


def surroundings(clusters: Sequence[Assessment]) -> Surroundings:
    """What a report of these clusters says beside their endpoints."""
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
        findings=tuple(finding for each in clusters for finding in _of_objects(each)),
        adherence="; ".join(_adherence(each) for each in clusters),
        late=tuple(each.certificates.findings for each in clusters),
        certificates=partial(_certificates, clusters),
        names_seen=partial(names_seen, clusters),
    )


def _certificates(clusters: Sequence[Assessment], now: datetime) -> CertificateReport:
    """Those of all clusters, as of ``now``; with several, each row names its own."""
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
    """What was seen of the certificate names that the configuration of each cluster governs. Only OpenShift has them: a
    saved snapshot of another cluster says nothing of the kind PKI."""
    alone = len(clusters) == 1
    governed = (each for each in clusters if each.facts.distribution != "kubernetes" or each.snapshot.objects.get(PKI))
    found = (each.certificates.names_seen(None if alone else each.facts.name) for each in governed)
    return [each for each in found if each is not None]


def _of_objects(cluster: Assessment) -> Iterator[Finding]:
    """What is to be said of objects, whatever their listeners do."""
    yield from adherence_findings(cluster.expectations.unknown_adherences())
    yield from custom_findings(cluster.expectations.customs())


def _strict(clusters: Sequence[Assessment]) -> Known[bool]:
    """Whether all of them are strict; one that is not decides, else one of which it is not known."""
    gaps = [gap for each in clusters if (gap := each.snapshot.gap(kinds.API_SERVER))]
    found = [each.expectations.adherence for each in clusters if not each.snapshot.gap(kinds.API_SERVER)]
    if not all(each is not None and each.strict for each in found):
        return False
    return Unknown(f"the APIServer object could not be read: {gaps[0]}") if gaps else True


def _adherence(cluster: Assessment) -> str:
    said = cluster.expectations.adherence
    return f"{said.source} {said.field}: {said.said}" if said else f"{cluster.facts.name} has no APIServer object"


def cluster_row(cluster: Assessment) -> dict[str, object]:
    """The cluster as the report names it."""
    said = cluster.expectations.adherence
    adherence = f"{said.field} {said.said}".strip() if said else ""
    return {**asdict(cluster.facts), "adherence": adherence, "taken_at": cluster.snapshot.taken_at.isoformat()}
