"""An authority: the object that sets the TLS profile and adherence for the components of one control plane.

OpenShift: APIServer/cluster. Without such a kind, the profile that the user selects.

HyperShift, seen from the management cluster: the namespace of a hosted control plane holds a HostedControlPlane, a copy
of the HostedCluster's ``spec.configuration`` (hypershift.openshift.io v1beta1). The control plane's operator maps ten
cipher suites and ignores tlsAdherence (``support/config/cipher.go``); the network operator reads both. A guest cluster
has an APIServer object of its own.

MicroShift: ``/etc/microshift/config.yaml`` (microshift ``pkg/config/apiserver.go``). No object of the cluster has that
file. A snapshot that has it (``local_files.MICROSHIFT_CONFIG``) is judged by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import pairwise

from msgspec import Struct

from scanner.expect.partial_expectation import Partial
from scanner.expect.release import Releases, asked_for, meaning, of_cluster, of_history
from scanner.files.source_positions import shown
from scanner.kube.api_server import (
    ADHERENCE_GATE,
    GROUPS_GATE,
    STRICT,
    Adherence,
    APIServer,
    State,
    api_server_config,
    feature_gates,
    has_field,
    read_adherence,
)
from scanner.kube.cluster_facts import distribution, hosted_namespace
from scanner.kube.kinds import API_SERVER, HOSTED_CLUSTER, HOSTED_CONTROL_PLANE, MICROSHIFT_CONFIG
from scanner.kube.maybe import Known, Unknown
from scanner.kube.meta import changed, condition
from scanner.kube.objects import Fields, KubeObject
from scanner.kube.openshift import HostedCluster, MicroShiftConfig, ServerTLS, microshift_release
from scanner.kube.profile_catalogue import TYPES, load_profile
from scanner.kube.snapshot import Snapshot
from scanner.kube.tls_profile import (
    HOSTED_PROFILE,
    HYPERSHIFT,
    LIBRARY_GO,
    PROFILE,
    Declared,
    Profile,
    Reader,
    declared,
    has_mapping,
)
from scanner.tls.codepoints import TLS12
from scanner.tls.names import TLS13_SUITES, is_tls13, suite_name, suite_named
from scanner.values import replace

_NOTHING = Fields({})


class Authority(Struct, frozen=True, kw_only=True):
    """The source of a cluster's profile."""

    source: str
    """``APIServer/cluster``."""
    field: str
    """``spec.tlsSecurityProfile``."""
    holder: Fields = _NOTHING
    """The object, if the source is one."""
    steps: tuple[str, ...] = ()
    reader: Reader = LIBRARY_GO
    fixed: Declared | None = None
    """A declaration that does not depend on the release: a profile of the user, or the reason why it is unknown."""
    releases: Releases
    adherence: Adherence | None = None
    """None where nothing of the kind exists: then the profile is required of every component."""
    implementation: str = "go"
    groups_gate: State = "unknown"
    overridden: str | None = None
    """The setting that the user's option replaces."""
    first_seen: datetime | None = None
    """Time of the first snapshot with the present settings, if an earlier one had others."""
    setting_of: tuple[str, str] | None = None
    """The object and field that the user's option (``source``) replaces."""
    platform: bool = True
    """True for a platform's own object, False for a user's option on a cluster without one."""
    remarks: tuple[str, ...] = ()

    @property
    def place(self) -> tuple[str, str]:
        """The object and field that a profile for this control plane is set in."""
        return self.setting_of or (self.source, self.field)

    @property
    def is_set(self) -> bool:
        """True if a profile is set; some components check only this."""
        return self.fixed is not None or has_mapping(self.holder, self.steps)

    def changed(self) -> datetime | None:
        """Time of the last change of the profile or the adherence, if known."""
        if self.fixed is not None:
            return None
        paths = (self.steps, (*self.steps[:-1], "tlsAdherence"))
        at = changed(self.holder, *paths) if isinstance(self.holder, KubeObject) else None
        return at or self.first_seen

    def onto(self, partial: Partial, reader: Reader | None = None) -> Partial:
        """``partial`` with the profile of this authority, as ``reader`` interprets it."""
        return partial.declares(
            self.source,
            self.field,
            lambda release: self.declared(release, reader),
            overridden=self.overridden,
            changed=self.changed(),
        )

    def declared(self, release: Known[str] | None = None, reader: Reader | None = None) -> Declared:
        """The declared profile, as ``reader`` interprets it in ``release``."""
        if self.fixed is not None:
            return self.fixed
        asked = self.releases.desired if release is None else release
        found = declared(self.holder, self.steps, reader or self.reader, self.source, meaning(asked))
        return _without_groups(found) if self.groups_gate == "off" else found


def _without_groups(found: Declared) -> Declared:
    """The gate prunes ``custom.groups``. The groups of a named profile stay: the release defines them."""
    profile = found.profile
    note = "the feature gate TLSGroupPreferences is off: no component gets a list of groups"
    if profile is None or isinstance(profile, Unknown) or profile.groups is None:
        return found
    kept = replace(profile, groups=None) if found.custom else profile
    return replace(found, profile=kept, remarks=(*found.remarks, note))


_FIELD = ".".join(PROFILE)


class Wishes(Struct, frozen=True, kw_only=True):
    """Options of the user that replace settings of the cluster; None keeps the cluster's."""

    default: Profile | None = None
    """Default profile for clusters that set none."""
    default_source: str = "--profile"
    default_field: str = ""
    profile: Profile | None = None
    """Replacement of the APIServer's profile."""
    adherence: str | None = None
    release: str | None = None


def of_api_server(snapshot: Snapshot, wishes: Wishes, earlier: Iterable[Snapshot] = ()) -> Authority:
    """The authority over the components of this cluster. ``earlier``: the same cluster as it was before."""
    releases = asked_for(wishes.release) if wishes.release else of_cluster(snapshot)
    if API_SERVER in snapshot.absent or distribution(snapshot) == "kubernetes":
        found = _of_user(snapshot, wishes, releases)
    elif gap := snapshot.gap(API_SERVER):
        found = _unreadable(gap, releases)
    else:
        found = replace(_of_object(snapshot, releases), first_seen=_first_seen(snapshot, earlier))
    return with_wishes(found, wishes)


def _first_seen(snapshot: Snapshot, earlier: Iterable[Snapshot]) -> datetime | None:
    """Time of the first snapshot with the present settings; None if none of ``earlier`` has others."""
    seen = sorted(
        (each for each in (*earlier, snapshot) if each.get(API_SERVER, "cluster")), key=lambda one: one.taken_at
    )
    first = None
    for one, other in pairwise(seen):
        if _settings(one) != _settings(other):
            first = other.taken_at
    return first


def _settings(snapshot: Snapshot) -> tuple[object, object]:
    found = snapshot.get(API_SERVER, "cluster")
    return (APIServer.of(found).raw_profile, api_server_config(found).adherence) if found else (None, None)


def with_wishes(found: Authority, wishes: Wishes) -> Authority:
    """``found``, with the user's options instead."""
    if wishes.adherence is not None and found.adherence is not None:
        asked = read_adherence(wishes.adherence, "--adherence", "")
        beat: str | None = f"{found.adherence.source} {found.adherence.field}: {found.adherence.said}"
        # The object's remarks on adherence no longer matter, except that its gate is off.
        remarks = (*asked.remarks, *found.adherence.removed)
        found = replace(found, adherence=replace(asked, beat=beat, remarks=remarks))
    if wishes.profile is None:
        return found
    overridden = f"{found.source} {found.field}: {found.declared().said}" if found.platform else None
    profile = wishes.profile if found.platform else mozillas(wishes.profile)
    return replace(
        found,
        source="--profile",
        field="",
        setting_of=found.place,
        fixed=Declared(said=profile.said, profile=profile),
        overridden=overridden,
    )


def _of_user(snapshot: Snapshot, wishes: Wishes, releases: Releases) -> Authority:
    """Without the kind it is not OpenShift: the user's profile is the minimum, by default Mozilla's."""
    note = "the cluster has no APIServer of config.openshift.io: the selected profile (--profile) is required"
    if API_SERVER not in snapshot.absent:
        note = "the snapshot has no object of OpenShift: treated as plain Kubernetes"
    profile = mozillas(wishes.default) if wishes.default else load_profile("mozilla/intermediate")
    text = profile.said if wishes.default else f"{profile.name}, the default on plain Kubernetes"
    return Authority(
        source=wishes.default_source,
        field=wishes.default_field,
        fixed=Declared(said=text, profile=profile),
        releases=releases,
        platform=False,
        remarks=(note,),
    )


def mozillas(asked: Profile) -> Profile:
    """``asked``; for a mere type (``intermediate``) Mozilla's profile, for clusters that are not OpenShift."""
    return load_profile(f"mozilla/{asked.asked.lower()}") if asked.asked.lower() in TYPES else asked


def _unreadable(gap: str, releases: Releases) -> Authority:
    reason = f"APIServer/cluster could not be read: {gap}"
    unread = Adherence(
        means=STRICT,
        source="APIServer/cluster",
        field="spec.tlsAdherence",
        said=f"could not be read, so {STRICT} is assumed",
    )
    return Authority(
        source="APIServer/cluster",
        field=_FIELD,
        fixed=Declared(said="could not be read", profile=Unknown(reason)),
        releases=releases,
        adherence=unread,
    )


def _of_object(snapshot: Snapshot, releases: Releases) -> Authority:
    """The operators treat an APIServer object that is missing, or has another name, as one without a profile."""
    found = snapshot.get(API_SERVER, "cluster")
    others = [each.name for each in snapshot.every(API_SERVER) if each.name != "cluster"]
    release = "" if isinstance(releases.desired, Unknown) else releases.desired
    known = feature_gates(snapshot, release)
    adherence = read_adherence(
        api_server_config(found).adherence if found else None,
        "APIServer/cluster",
        "spec.tlsAdherence",
        gate=known.state(ADHERENCE_GATE),
        pruned=has_field(snapshot, "tlsAdherence") is False,
    )
    base = Authority(
        source="APIServer/cluster",
        field=_FIELD,
        steps=PROFILE,
        releases=releases,
        adherence=adherence,
        groups_gate=known.state(GROUPS_GATE),
        remarks=tuple(_remarks(found, others)),
    )
    return base if found is None else replace(base, holder=found)


def _remarks(found: KubeObject | None, others: list[str]) -> Iterator[str]:
    if found is None:
        yield "there is no APIServer/cluster: its operators use the default profile"
    if others:
        yield "an APIServer with another name than 'cluster' has no effect"


def of_control_planes(snapshot: Snapshot, wishes: Wishes) -> dict[str, Authority]:
    """The authorities of hosted control planes by namespace. A HostedCluster goes first, because users edit it."""
    found: dict[str, Authority] = {}
    for namespace, holder in _control_planes(snapshot):
        if namespace not in found:
            found[namespace] = with_wishes(_of_control_plane(holder, wishes), wishes)
    return found


def _control_planes(snapshot: Snapshot) -> Iterator[tuple[str, KubeObject]]:
    for each in snapshot.every(HOSTED_CLUSTER):
        if namespace := hosted_namespace(each):
            yield namespace, each
    for each in snapshot.every(HOSTED_CONTROL_PLANE):
        if each.namespace:
            yield each.namespace, each


def _of_control_plane(holder: KubeObject, wishes: Wishes) -> Authority:
    source = str(holder.reference)
    return Authority(
        source=source,
        field=".".join(HOSTED_PROFILE),
        holder=holder,
        steps=HOSTED_PROFILE,
        reader=HYPERSHIFT,
        releases=asked_for(wishes.release) if wishes.release else _releases_of(holder),
        adherence=read_adherence(
            api_server_config(holder).adherence, source, ".".join((*HOSTED_PROFILE[:-1], "tlsAdherence"))
        ),
        implementation="hypershift",
    )


def _releases_of(holder: KubeObject) -> Releases:
    """``status.version`` of a HostedCluster, ``status.versionStatus`` of a HostedControlPlane."""
    cluster = HostedCluster.of(holder)
    where, history = (
        ("versionStatus", cluster.version_status) if cluster.version_status else ("version", cluster.version)
    )
    progressing = condition(holder, "ClusterVersionProgressing")
    return of_history(
        str(holder.reference),
        "",
        history,
        where=f"status.{where}",
        upgrading=progressing is not None and progressing.holds,
    )


MICROSHIFT_FILE = "/etc/microshift/config.yaml"
_MICROSHIFT_FIELD = "apiServer.tls"
_HTTP2_SUITES = (0xC02F, 0xC02B)
"""If none is listed, the first is added: HTTP/2 needs one."""


def microshift_file(snapshot: Snapshot) -> KubeObject | None:
    """The file, if the snapshot has it."""
    return next(iter(snapshot.objects.get(MICROSHIFT_CONFIG, ())), None)


def is_microshift(snapshot: Snapshot) -> bool:
    """True if the cluster is MicroShift."""
    return microshift_file(snapshot) is not None or bool(microshift_release(snapshot))


def of_microshift(snapshot: Snapshot, wishes: Wishes) -> Authority | None:
    """The file as an authority, or the reason why the profile is unknown without it; None if it is not MicroShift."""
    file, version = microshift_file(snapshot), microshift_release(snapshot)
    if file is None and not version:
        return None
    desired = wishes.release or version
    unknown = Unknown("MicroShift's release is unknown: there is no ConfigMap kube-public/microshift-version")
    releases = asked_for(wishes.release) if wishes.release else Releases(desired=desired or unknown)
    found = Authority(
        source=MICROSHIFT_FILE,
        field=_MICROSHIFT_FIELD,
        fixed=_without_file() if file is None else _of_file(MicroShiftConfig.of(file).tls, releases),
        releases=releases,
    )
    return with_wishes(found, wishes)


def _without_file() -> Declared:
    reason = f"{MICROSHIFT_FILE} is not in the snapshot, and nothing else sets a profile for MicroShift's components"
    return Declared(said="not in the snapshot", profile=Unknown(reason))


def _of_file(tls: ServerTLS, releases: Releases) -> Declared:
    """The profile of the file. A minimum of TLS 1.3 means Modern's list, whatever is listed."""
    minimum, listed = tls.min_version, tls.cipher_suites
    if minimum not in (None, "", "VersionTLS12", "VersionTLS13"):
        reason = f"minVersion is {shown(minimum)}, and MicroShift does not start with that"
        return Declared(said=shown(minimum), profile=Unknown(reason))
    shipped = meaning(releases.desired)("modern" if minimum == "VersionTLS13" else "intermediate")
    if isinstance(shipped, Unknown):
        return Declared(said=f"minVersion {minimum or 'not set'}", profile=shipped)
    if minimum == "VersionTLS13":
        return Declared(said="VersionTLS13, which means Modern's cipher suites", profile=shipped)
    if not listed:
        return Declared(said="VersionTLS12 (the default) with Intermediate's cipher suites", profile=shipped)
    codes = tuple(code for name in listed[:500] if (code := suite_named(name)) is not None and code in shipped.suites)
    stray = [name for name in listed[:500] if suite_named(name) not in shipped.suites]
    added = () if set(_HTTP2_SUITES) & set(codes) else _HTTP2_SUITES[:1]
    suites = (*TLS13_SUITES, *(code for code in codes if not is_tls13(code)), *added)
    profile = replace(
        shipped,
        name=f"custom ({MICROSHIFT_FILE})",
        min_version=TLS12,
        suites=suites,
        groups=None,
        source=f"{MICROSHIFT_FILE} {_MICROSHIFT_FIELD}",
    )
    notes = [f"{suite_name(code)} is added, because HTTP/2 needs it" for code in added]
    notes += [f"MicroShift does not start with the cipher suite {shown(name)}" for name in stray[:5]]
    return Declared(said="VersionTLS12 with a list of cipher suites", profile=profile, remarks=tuple(notes))
