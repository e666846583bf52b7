"""Objects as lint sees them: those to lint, each with its place, and what else is known.

A reference to an object that is not among them is not an error: that object may exist. So a lookup has three results:
the object, its absence, or unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast

from msgspec import Struct

from scanner.files.source_positions import Located, Mark, Steps
from scanner.kube.kinds import NAMESPACE, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.rbac import Review
from scanner.kube.snapshot import Snapshot

S = TypeVar("S", bound="Once")
T = TypeVar("T")


class Once:
    """A value that caches results of functions of it.

    ``functools.cache`` would keep every value alive, and ``cached_property`` needs a method: these functions belong to
    the rules and resolvers that call them.
    """

    __slots__ = ("_results",)
    _results: dict[Callable[[Any], object], object]

    def once(self: S, function: Callable[[S], T]) -> T:
        """The result of ``function(self)``, computed once. The function must be one of a module."""
        try:
            results = self._results
        except AttributeError:  # a frozen dataclass
            results = {}
            object.__setattr__(self, "_results", results)
        if function not in results:
            results[function] = function(self)
        return cast("T", results[function])


class Place(NamedTuple):
    """A place in a file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class LintSubject(Struct, frozen=True, kw_only=True):
    """One object to lint."""

    object: KubeObject
    located: Located | None = None
    """Its document; None for an object of a cluster."""
    above: Steps = ()
    """Its path in the document, such as an item of a list."""

    def place(self, steps: Steps = (), *, key: bool = False) -> Place | None:
        """The place of a field, or of the nearest parent."""
        if self.located is None:
            return None
        mark: Mark = self.located.mark((*self.above, *steps), key=key)
        return Place(self.located.file, *mark)


Identity: TypeAlias = tuple[Kind, str | None, str]
"""Kind, namespace and name."""

_SHOWN = 5


def identity(each: KubeObject) -> Identity:
    """Identity of an object. The namespace of a cluster-scoped object in a manifest does not count."""
    return each.kind, each.namespace if each.kind.namespaced else None, each.name


def listed(several: Iterable[LintSubject]) -> str:
    """The places of objects as text; of many the first."""
    places = [str(each.place() or each.object.reference) for each in islice(several, _SHOWN + 1)]
    return ", ".join(places[:_SHOWN]) + (" and others" if len(places) > _SHOWN else "")


class Missing(Struct, frozen=True, kw_only=True):
    """A missing object."""

    name: str
    """``Secret/shop/web``."""
    gap: str | None = None
    """The reason why it may exist; None: it does not."""
    several: bool = False
    """True if it exists several times with different content; ``gap`` has the places."""
    promised: bool = False
    """True if a cert-manager Certificate among the manifests creates it, which is judged itself."""
    impossible: bool = False
    """True if no object can have this name (``namespace/name``, where only a name is read)."""

    @property
    def why(self) -> str:
        """The reason as text: ``was not read (not among the manifests)``."""
        return f"is {self.gap}" if self.several else f"was not read ({self.gap})"


DEFAULT: Final = "default"
"""The default namespace, as in kubectl."""
_ALWAYS: Final = (DEFAULT, "kube-system", "kube-public", "kube-node-lease")
"""Namespaces of every cluster (kubernetes.io, "Namespaces")."""


@dataclass(slots=True, kw_only=True)
class Declared(Once):
    """Input of lint: the objects to lint, and those to which they may refer. ``once`` is for indexes, which would
    cost each of 10,000 subjects a loop over all others."""

    subjects: tuple[LintSubject, ...]
    known: Snapshot
    """All known objects, those to lint first. A kind that may have more is in ``unreadable``."""
    twice: Mapping[Identity, tuple[LintSubject, ...]] = field(default_factory=dict)
    """Objects with several different definitions, which are not to be linted and not in ``known``."""
    sealed: Mapping[Identity, Place] = field(default_factory=dict)
    """Places of encrypted objects. Objects of the cluster with their names are in ``before``."""
    before: Mapping[Identity, KubeObject] = field(default_factory=dict)
    """The cluster's objects that manifests will replace."""
    default_namespace: str = DEFAULT
    """Default namespace of objects without one."""
    reviews: Mapping[Review, bool] = field(default_factory=dict)
    """The API server's answers to access reviews."""
    user: str | None = None
    """The user who will apply the manifests, if set."""
    groups: tuple[str, ...] = ()
    """Groups of ``user``, besides those of all users."""

    def every(self, kind: Kind) -> tuple[KubeObject, ...]:
        """All known objects of a kind. Raises ``NotRead`` for a kind that was not requested."""
        return self.known.every(kind)

    def gap(self, kind: Kind) -> str | None:
        """The reason why there may be more objects of this kind, or None."""
        return self.known.gap(kind) or self.once(_twice).get(kind) or self.once(_sealed).get(kind)

    def find(self, kind: Kind, name: str, namespace: str | None = None) -> KubeObject | Missing:
        """The object with that name, or the meaning of its absence."""
        found = self.known.get(kind, name, namespace if kind.namespaced else None)
        if found is not None:
            return found
        key = (kind, namespace if kind.namespaced else None, name)
        called = "/".join(filter(None, (kind.name, *key[1:])))
        if several := self.twice.get(key):
            return Missing(name=called, gap=_definitions(several), several=True)
        if place := self.sealed.get(key):
            return Missing(name=called, gap=_encrypted(place))
        requested = (namespace or "", name) in self.known.requested.get(kind, ())
        return Missing(name=called, gap=None if requested else self.known.gap(kind))

    def namespace(self, name: str) -> KubeObject | Missing | None:
        """The Namespace with that name, or the meaning of its absence; None if it certainly exists: every cluster
        has it, or objects to lint are in it."""
        found = self.find(NAMESPACE, name)
        if not isinstance(found, Missing):
            return found
        assumed = name in (*_ALWAYS, self.default_namespace) or name in self.once(_namespaces)
        return None if assumed else found


def _namespaces(declared: Declared) -> frozenset[str | None]:
    """Namespaces of the objects to lint, which must exist to apply them."""
    return frozenset(each.object.namespace for each in declared.subjects if each.object.kind.namespaced)


def _definitions(several: tuple[LintSubject, ...]) -> str:
    return f"defined more than once, with different content: {listed(several)}"


def _encrypted(place: Place) -> str:
    return f"encrypted with SOPS: {place}"


def _sealed(declared: Declared) -> Mapping[Kind, str]:
    """Gaps of kinds with an encrypted object."""
    return {name[0]: _encrypted(place) for name, place in declared.sealed.items()}


def _twice(declared: Declared) -> Mapping[Kind, str]:
    """Gaps of kinds with several definitions of one object."""
    return {
        name[0]: f"{several[0].object.reference} is {_definitions(several)}" for name, several in declared.twice.items()
    }
