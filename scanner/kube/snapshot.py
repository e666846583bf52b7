"""A snapshot: the cluster at one moment, as a value. All work after reading is a plain function of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from msgspec import Struct

from scanner.kube.kinds import LOCAL_KINDS, Kind
from scanner.kube.objects import KubeObject
from scanner.values import replace

Gap = Literal["forbidden", "failed", "not-asked", "not-saved"]
"""Reason why a kind could not be read. ``not-asked``: it needs an opt-in permission (Secrets). ``not-saved``: the
replayed directory does not contain it."""


class NotRead(LookupError):
    """A stage looked for a kind that no stage declares in its ``reads``: a bug of adhere, never of the cluster."""


YEARS = range(1970, 9000)
"""Possible years of a snapshot: files may contain any year, and Python's calendar has an end."""


class Unreadable(Struct, frozen=True, kw_only=True):
    """A kind whose objects may exist but were not read."""

    kind: Kind
    gap: Gap
    reason: str
    """For people: the API server's answer, and the missing permission."""
    option: str = ""
    """Opt-in permission (``adhere rbac --with``) that would show the rest; empty: the kind's own, if it has one."""


class Origin(Struct, frozen=True, kw_only=True):
    """Source of a snapshot, before any object is interpreted."""

    name: str
    """Name of the cluster for the user: the context of the kubeconfig, or the directory that was replayed."""
    server: str = ""
    """URL of the API server, without credentials; empty if a directory does not contain it."""
    git_version: str = ""
    """Version from ``/version``: ``v1.34.2``."""
    replayed: bool = False
    """True if read from a directory: nothing in it can be dialled through an API server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The cluster at one moment. Kinds that the cluster does not serve have no objects and are in ``absent``."""

    taken_at: datetime
    origin: Origin
    objects: Mapping[Kind, tuple[KubeObject, ...]]
    """Objects of every requested kind, including kinds without objects."""
    absent: frozenset[Kind] = frozenset()
    """Kinds that the cluster's discovery does not list: they have no objects."""
    unreadable: Mapping[Kind, Unreadable] = field(default_factory=dict)
    requested: Mapping[Kind, frozenset[tuple[str, str]]] = field(default_factory=dict)
    """For kinds that are read by name, the requested (namespace, name). A requested object that is not in ``objects``
    does not exist, even if other objects of its kind could not be read."""
    warnings: tuple[str, ...] = ()
    """For people: an API server that was not verified, files of a directory that could not be read."""
    _index: dict[Kind, dict[tuple[str | None, str], KubeObject]] = field(
        init=False, default_factory=dict, repr=False, compare=False
    )

    def every(self, kind: Kind) -> tuple[KubeObject, ...]:
        """All objects of a kind. Raises ``NotRead`` for a kind that no stage declared."""
        try:
            return self.objects[kind]
        except KeyError:
            where = "READS of its package (scanner/expect/__init__.py), or reads of its SOURCE or rule"
            raise NotRead(f"the stage that looks for {kind.name} must declare it: {where}") from None

    def get(self, kind: Kind, name: str, namespace: str | None = None) -> KubeObject | None:
        """The object of that name, or None. Raises ``NotRead`` for a kind that no stage declared."""
        if kind not in self._index:
            # A manifest may name a namespace for a cluster-scoped object; the API server drops it.
            self._index[kind] = {
                (each.namespace if kind.namespaced else None, each.name): each for each in self.every(kind)
            }
        return self._index[kind].get((namespace if kind.namespaced else None, name))

    def gap(self, kind: Kind) -> str | None:
        """The reason why objects of this kind may be missing; None: all of them were read."""
        missing = self.unreadable.get(kind)
        return missing.reason if missing else None

    def missing(self, kind: Kind, name: str, namespace: str) -> str | None:
        """The reason why an object that ``get`` does not find may exist, or None: it was requested, or its kind was
        read completely. If its kind is read by name and the object was not requested, as in a snapshot that an earlier
        version saved, it may exist."""
        if (namespace, name) in self.requested.get(kind, ()):
            return None
        by_name = kind.named and (namespace, name) not in kind.named
        return self.gap(kind) or ("it was not requested when the snapshot was taken" if by_name else None)


def union(reads: Iterable[Iterable[Kind]]) -> tuple[Kind, ...]:
    """Every kind that is read, once, in the order of the first reader."""
    return tuple(dict.fromkeys(kind for kinds in reads for kind in kinds))


def with_local_files(snapshot: Snapshot) -> Snapshot:
    """Drop local kinds without objects from a replayed snapshot: no API lists them, so they are not reported as
    missing."""
    missing = {kind for kind in LOCAL_KINDS if not snapshot.objects.get(kind)}
    return replace(
        snapshot,
        objects={kind: every for kind, every in snapshot.objects.items() if kind not in missing},
        unreadable={kind: gap for kind, gap in snapshot.unreadable.items() if kind not in missing},
    )
