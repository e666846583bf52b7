"""The release of a cluster, the other release during an upgrade, and the meaning of profiles in each."""

from __future__ import annotations

import re
from functools import cache, lru_cache, partial

from msgspec import Struct

from scanner.errors import UsageError
from scanner.files.source_positions import shown
from scanner.kube.kinds import CLUSTER_VERSION
from scanner.kube.maybe import Known, Unknown
from scanner.kube.meta import condition
from scanner.kube.openshift import ClusterVersion, ReleaseHistory
from scanner.kube.profile_catalogue import TYPES, load_profile, profile_names
from scanner.kube.snapshot import Snapshot
from scanner.kube.tls_profile import Meaning, Profile
from scanner.model.expectation import Because
from scanner.values import replace

_KUBERNETES = re.compile(r"v1\.([0-9]{1,3})\b", re.ASCII)
_MINORS_APART = 13
"""OpenShift 4.N is built on Kubernetes 1.(N+13): 4.21 on 1.34."""


class Releases(Struct, frozen=True, kw_only=True):
    """The release of a control plane."""

    desired: Known[str]
    """``4.22.3``."""
    previous: str | None = None
    """The release before the upgrade, during one."""
    upgrading: bool = False
    step: Because | None = None
    """Object and field of the release."""


def asked_for(release: str) -> Releases:
    """The release of the user's option."""
    return Releases(desired=release, step=Because(source="--release", field="", said=release))


def of_cluster(snapshot: Snapshot) -> Releases:
    """The release in ClusterVersion (``status.desired.version``; ``status.history``, newest first)."""
    if gap := snapshot.gap(CLUSTER_VERSION):
        return Releases(desired=Unknown(f"the release is unknown, because ClusterVersion could not be read: {gap}"))
    objects = snapshot.every(CLUSTER_VERSION)
    if not objects:
        return Releases(desired=Unknown("the release is unknown, because there is no ClusterVersion"))
    version = snapshot.get(CLUSTER_VERSION, "version") or objects[0]
    progressing = condition(version, "Progressing")
    found = ClusterVersion.of(version)
    return of_history(
        str(version.reference),
        found.desired,
        found.status,
        upgrading=progressing is not None and progressing.holds,
    )


def of_history(
    source: str, desired: str, holder: ReleaseHistory, *, where: str = "status", upgrading: bool
) -> Releases:
    """The release of a ``history`` of updates under ``where``, newest first, which counts if ``desired`` is empty."""
    history = holder.history[:50]
    newest = desired or (history[0].version if history else "")
    done = [each.version for each in history if each.state == "Completed"]
    partial = bool(history) and history[0].state == "Partial"
    if not newest:
        return Releases(desired=Unknown(f"{source} has no release"))
    before = next((each for each in done if each != newest), None) if partial or upgrading else None
    field = "status.desired.version" if desired else f"{where}.history[0].version"
    step = Because(source=source, field=field, said=shown(newest).strip("'"))
    return Releases(desired=newest, previous=before, upgrading=partial or upgrading, step=step)


def of_kubelet(version: str) -> str | None:
    """The OpenShift release whose kubelet reports this version of Kubernetes."""
    match = _KUBERNETES.match(version)
    minor = int(match[1]) - _MINORS_APART if match else 0
    return f"4.{minor}" if minor > 0 else None


def minor(release: str) -> tuple[int, int] | None:
    """``(4, 22)``, or None if ``release`` is not valid."""
    match = re.match(r"v?([0-9]{1,3})\.([0-9]{1,3})", release, re.ASCII)
    return (int(match[1]), int(match[2])) if match else None


def meaning(release: Known[str]) -> Meaning:
    """The meaning of the named profiles in ``release``; unknown if it depends on an unknown release."""
    return partial(_meaning, release)


@lru_cache(maxsize=256)
def _meaning(release: Known[str], type_: str) -> Known[Profile]:
    if isinstance(release, Unknown):
        return _everywhere(type_) or release
    try:
        return load_profile(type_, release=release)
    except UsageError:
        return Unknown(f"{shown(release)} is not a release that adhere knows")


@cache
def _everywhere(type_: str) -> Profile | None:
    """The profile, without its groups, if it is the same in every release."""
    assert type_ in TYPES  # noqa: S101 - our own callers
    names = [name for name in profile_names() if name.startswith("openshift/") and name.endswith(f"/{type_}")]
    newest, *others = (load_profile(name) for name in names)
    if any((each.min_version, set(each.suites)) != (newest.min_version, set(newest.suites)) for each in others):
        return None
    note = "the release is unknown: versions and suites are the same in all releases, groups are not judged"
    return replace(newest, name=f"openshift/{type_}", groups=None, notes=(*newest.notes, note))
