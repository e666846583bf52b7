"""A snapshot: the cluster at one moment, a value. Everything after reading it is a plain function of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from scanner.kube.kinds import LOCAL_KINDS, Kind
from scanner.kube.objects import KubeObject

Gap = Literal["forbidden", "failed", "not-asked", "not-saved"]
"""Why a kind could not be read. ``not-asked``: its permission is opt-in (Secrets) and was not given. ``not-saved``: the
directory that is replayed says nothing of it."""


class NotRead(LookupError):
    """A stage looked for a kind that no stage declared in its ``reads``: a mistake of ours, never of the cluster."""


YEARS = range(1970, 9000)
"""In which a cluster can have been looked at: files may say anything, and Python's calendar has an end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A kind of which the cluster may have objects that nobody saw."""

    kind: Kind
    gap: Gap
    reason: str
    """For people: what the API server said, and what would allow it."""
    option: str = ""
    """The opt-in permission (``adhere rbac --with``) that would show the rest; empty: the kind's own, if it has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a snapshot came from, before any object is interpreted."""

    name: str
    """What the user calls the cluster: the context of the kubeconfig, or the directory that was replayed."""
    server: str = ""
    """URL of the API server, without credentials; empty for a directory that does not say."""
    git_version: str = ""
    """What ``/version`` says: ``v1.34.2``."""
    replayed: bool = False
    """Read from a directory: nothing of it can be dialled through an API server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The cluster at one moment. Kinds that the cluster does not serve have no objects and are in ``absent``."""

    taken_at: datetime
    origin: Origin
    objects: Mapping[Kind, tuple[KubeObject, ...]]
    """Every kind that was asked for, also those without objects."""
    absent: frozenset[Kind] = frozenset()
    """Kinds of which the cluster's discovery knows nothing: there can be none."""
    unreadable: Mapping[Kind, Unreadable] = field(default_factory=dict)
    sought: Mapping[Kind, frozenset[tuple[str, str]]] = field(default_factory=dict)
    """Of kinds that are read by name, the (namespace, name) that were asked for: one that is not there does not
    exist, whatever else of its kind nobody saw."""
    warnings: tuple[str, ...] = ()
    """For people: an API server that was not verified, files of a directory that could not be read."""
    _index: dict[Kind, dict[tuple[str | None, str], KubeObject]] = field(
        init=False, default_factory=dict, repr=False, compare=False
    )

    def every(self, kind: Kind) -> tuple[KubeObject, ...]:
        """All objects of a kind. Raises ``NotRead`` for one that nobody declared."""
        try:
            return self.objects[kind]
        except KeyError:
            raise NotRead(f"{kind.name} is in no stage's reads") from None

    def get(self, kind: Kind, name: str, namespace: str | None = None) -> KubeObject | None:
        """The object of that name, or None. Raises ``NotRead`` for a kind that nobody declared."""
        if kind not in self._index:
            # A manifest may name a namespace for an object of the cluster, which the API server then leaves out.
            self._index[kind] = {
                (each.namespace if kind.namespaced else None, each.name): each for each in self.every(kind)
            }
        return self._index[kind].get((namespace if kind.namespaced else None, name))

    def gap(self, kind: Kind) -> str | None:
        """Why objects of this kind may be missing, or None: then what is not there does not exist."""
        missing = self.unreadable.get(kind)
        return missing.reason if missing else None

    def missing(self, kind: Kind, name: str, namespace: str) -> str | None:
        """Why an object that ``get`` does not find may exist all the same, or None: it was asked for, or nobody missed
        anything of its kind. Of a kind that is read by name nobody did who did not ask for it, as in a snapshot that
        an earlier version saved."""
        if (namespace, name) in self.sought.get(kind, ()):
            return None
        by_name = kind.named and (namespace, name) not in kind.named
        return self.gap(kind) or ("it was not requested when the snapshot was taken" if by_name else None)


def union(reads: Iterable[Iterable[Kind]]) -> tuple[Kind, ...]:
    """Every kind that is read, once, in the first reader's order."""
    return tuple(dict.fromkeys(kind for kinds in reads for kind in kinds))


def with_local_files(snapshot: Snapshot) -> Snapshot:
    """A replayed snapshot with those that it has; where it has none, nothing is missing that the API could show."""
    missing = {kind for kind in LOCAL_KINDS if not snapshot.objects.get(kind)}
    return replace(
        snapshot,
        objects={kind: every for kind, every in snapshot.objects.items() if kind not in missing},
        unreadable={kind: gap for kind, gap in snapshot.unreadable.items() if kind not in missing},
    )
