"""Coverage of the certificate names that the PKI object governs: seen, and judged. No I/O.

A scan without Secrets sees few of them. If the object requires a key for a name that was never seen, the PKI part of
the scan is incomplete.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final

from scanner.kube.kinds import INFRASTRUCTURE, NAMESPACE, SECRET
from scanner.kube.openshift import Infrastructure
from scanner.kube.snapshot import Snapshot
from scanner.model.inventory import NamesRow
from scanner.model.well_known import Names, WellKnown
from scanner.pki.governing import MICROSHIFT_FILE, Governing
from scanner.pki.inventory import Entry
from scanner.pki.resolution import required

_RULE: Final = "pki-key"


def name_coverage(
    names: Names, governing: Governing, entries: Iterable[Entry], cluster: str | None = None
) -> NamesRow | None:
    """The names that the cluster's own configuration governs; None where it requires nothing of any. ``cluster``: its
    name, where a report has several."""
    asked = [each for each in names.all if _is_asked(each, governing)]
    if not asked:
        return None
    judged, seen = set[str](), set[str]()
    for entry in entries:
        called = {each.name for each in entry.classified.names}
        seen |= called
        if any(one.rule == _RULE and one.verdict in ("pass", "fail") for one in entry.findings):
            judged |= called
    elsewhere = {each.name for each in asked if each.name not in seen and _is_elsewhere(each, governing.snapshot)}
    never = [each.name for each in asked if each.name not in seen | elsewhere]
    if governing.own.source == MICROSHIFT_FILE:
        never, elsewhere = [], set()
    unknown = [each.name for each in asked if each.name in seen - judged]
    why = _why(never, unknown, governing)
    return NamesRow(
        cluster=cluster,
        judged=[each.name for each in asked if each.name in judged],
        unknown=unknown,
        never_seen=never,
        elsewhere=[each.name for each in asked if each.name in elsewhere],
        why=why,
        complete=not why,
    )


def _why(never_seen: list[str], unknown: list[str], governing: Governing) -> str:
    """The reason why the coverage is incomplete, or ""."""
    if governing.own.source == MICROSHIFT_FILE:
        return "MicroShift keeps its certificates in files of its node: adhere certs reads them"
    parts = []
    if never_seen:
        unread = SECRET in governing.snapshot.unreadable or not governing.snapshot.objects.get(SECRET)
        parts.append(
            f"names that were not found: {len(never_seen)}{', Secrets were not read (--secrets)' if unread else ''}"
        )
    if unknown:
        parts.append(f"seen and not judged: {len(unknown)}")
    return "; ".join(parts)


def _is_asked(name: WellKnown, governing: Governing) -> bool:
    """True if the configuration requires a key for this name. Names of the installation that operators replace on the
    first day count only with an override."""
    config = governing.own
    if name.owner.name == "hypershift" and not governing.hosted:
        return False
    if governing.of(name.namespace).config is not config:
        return False  # a guest's control plane
    if name.name not in config.overrides and (name.rotates == "day-1" or name.successor is not None):
        return False
    return required(config, name.category, (name.name,)).asks


def _is_elsewhere(name: WellKnown, snapshot: Snapshot) -> bool:
    """True if the cluster cannot have it in an object or listener: it is on nodes or with users, for another platform,
    or its Secrets were searched and do not exist."""
    platform = _platform(snapshot)
    if name.kept_elsewhere or (name.only_on and platform and platform != name.only_on):
        return True
    secrets = name.recognition.secrets
    if not secrets:
        return False
    gap, found = snapshot.gap(NAMESPACE), {each.name for each in snapshot.objects.get(NAMESPACE, ())}
    namespaces = [path.partition("/")[0] for path in secrets]
    if gap is None and found and not any(fnmatchcase(one, each) for one in found for each in namespaces):
        return True
    requested = [f"{namespace}/{secret}" for namespace, secret in snapshot.requested.get(SECRET, ())]
    present = [path for path in secrets if gap is not None or path.partition("/")[0] in found or "*" in path]
    return bool(requested) and all(any(fnmatchcase(one, path) for one in requested) for path in present)


def _platform(snapshot: Snapshot) -> str:
    every = snapshot.objects.get(INFRASTRUCTURE, ())
    return next((Infrastructure.of(each).platform for each in every), "")
