"""The authority of an OpenShift cluster, APIServer/cluster; without such a kind, the profile that the user gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

from scanner.expect.authority import Authority
from scanner.expect.release import Releases, asked_for, of_cluster
from scanner.kube.api_server import (
    ADHERENCE,
    GROUPS,
    STRICT,
    Adherence,
    APIServer,
    api_server_config,
    feature_gates,
    has_field,
    read_adherence,
)
from scanner.kube.cluster_facts import distribution
from scanner.kube.kinds import API_SERVER
from scanner.kube.maybe import Unknown
from scanner.kube.objects import KubeObject
from scanner.kube.profile_catalogue import TYPES, load_profile
from scanner.kube.snapshot import Snapshot
from scanner.kube.tls_profile import PROFILE, Declared, Profile

_FIELD = ".".join(PROFILE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the user wants to be assumed; None: what the cluster says."""

    default: Profile | None = None
    """For clusters that say nothing."""
    default_source: str = "--profile"
    default_field: str = ""
    profile: Profile | None = None
    """Instead of the APIServer's."""
    adherence: str | None = None
    release: str | None = None


def authority(snapshot: Snapshot, wishes: Wishes, earlier: Iterable[Snapshot] = ()) -> Authority:
    """What says what the components of this cluster owe. ``earlier``: the same cluster as it was before."""
    releases = asked_for(wishes.release) if wishes.release else of_cluster(snapshot)
    if API_SERVER in snapshot.absent or distribution(snapshot) == "kubernetes":
        found = _without(snapshot, wishes, releases)
    elif gap := snapshot.gap(API_SERVER):
        found = _unreadable(gap, releases)
    else:
        found = replace(_read(snapshot, releases), first_seen=_first_seen(snapshot, earlier))
    return with_wishes(found, wishes)


def _first_seen(snapshot: Snapshot, earlier: Iterable[Snapshot]) -> datetime | None:
    """The first snapshot since the object said something else; None where none of ``earlier`` shows that it did."""
    seen = sorted(
        (each for each in (*earlier, snapshot) if each.get(API_SERVER, "cluster")), key=lambda one: one.taken_at
    )
    first = None
    for one, other in pairwise(seen):
        if _said(one) != _said(other):
            first = other.taken_at
    return first


def _said(snapshot: Snapshot) -> tuple[object, object]:
    found = snapshot.get(API_SERVER, "cluster")
    return (APIServer.of(found).any_profile, api_server_config(found).adherence) if found else (None, None)


def with_wishes(found: Authority, wishes: Wishes) -> Authority:
    """``found``, with what the user wants instead."""
    if wishes.adherence is not None and found.adherence is not None:
        asked = read_adherence(wishes.adherence, "--adherence", "")
        beat: str | None = f"{found.adherence.source} {found.adherence.field}: {found.adherence.said}"
        # What the object says of adherence no longer matters, but that its gate is off does.
        remarks = (*asked.remarks, *(each for each in found.adherence.remarks if "pruned" in each))
        found = replace(found, adherence=replace(asked, beat=beat, remarks=remarks))
    if wishes.profile is None:
        return found
    beat = f"{found.source} {found.field}: {found.declared().said}" if found.platform else None
    profile = wishes.profile if found.platform else mozillas(wishes.profile)
    return replace(
        found,
        source="--profile",
        field="",
        held_by=found.place,
        fixed=Declared(said=profile.said, profile=profile),
        beat=beat,
    )


def _without(snapshot: Snapshot, wishes: Wishes, releases: Releases) -> Authority:
    """No such kind, hence no OpenShift: the profile that the user asks for is a floor, by default Mozilla's."""
    note = "no APIServer of config.openshift.io in this cluster: the profile that is asked for is required"
    if API_SERVER not in snapshot.absent:
        note = "nothing that was saved is OpenShift's: taken for plain Kubernetes"
    profile = mozillas(wishes.default) if wishes.default else load_profile("mozilla/intermediate")
    said = profile.said if wishes.default else f"{profile.name}, the default on plain Kubernetes"
    return Authority(
        source=wishes.default_source,
        field=wishes.default_field,
        fixed=Declared(said=said, profile=profile),
        releases=releases,
        platform=False,
        remarks=(note,),
    )


def mozillas(asked: Profile) -> Profile:
    """``asked``; but of a type alone (``intermediate``) Mozilla's meaning, where nothing is OpenShift's."""
    return load_profile(f"mozilla/{asked.asked.lower()}") if asked.asked.lower() in TYPES else asked


def _unreadable(gap: str, releases: Releases) -> Authority:
    reason = f"APIServer/cluster could not be read: {gap}"
    unread = Adherence(
        means=STRICT,
        source="APIServer/cluster",
        field="spec.tlsAdherence",
        said=f"could not be read, so that nothing is excused: as under {STRICT}",
    )
    return Authority(
        source="APIServer/cluster",
        field=_FIELD,
        fixed=Declared(said="could not be read", profile=Unknown(reason)),
        releases=releases,
        adherence=unread,
    )


def _read(snapshot: Snapshot, releases: Releases) -> Authority:
    """An APIServer object that is missing, or called otherwise, is to the operators one without a profile."""
    found = snapshot.get(API_SERVER, "cluster")
    others = [each.name for each in snapshot.every(API_SERVER) if each.name != "cluster"]
    release = "" if isinstance(releases.desired, Unknown) else releases.desired
    known = feature_gates(snapshot, release)
    said = read_adherence(
        api_server_config(found).adherence if found else None,
        "APIServer/cluster",
        "spec.tlsAdherence",
        gate=known.state(ADHERENCE),
        pruned=has_field(snapshot, "tlsAdherence") is False,
    )
    base = Authority(
        source="APIServer/cluster",
        field=_FIELD,
        steps=PROFILE,
        releases=releases,
        adherence=said,
        groups_gate=known.state(GROUPS),
        remarks=tuple(_remarks(found, others)),
    )
    return base if found is None else replace(base, holder=found)


def _remarks(found: KubeObject | None, others: list[str]) -> Iterator[str]:
    if found is None:
        yield "there is no APIServer/cluster: its operators behave as without a profile"
    if others:
        yield "an APIServer that is not called 'cluster' is read by nothing"
