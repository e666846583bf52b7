"""What objects declare, as lint looks at it: those that were given, each with its place, and what else is known.

An object that refers to one that was not given is not wrong for that: whether the other exists nobody said. So looking
for an object has three answers: it is there, it does not exist, or that cannot be decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast

from scanner.files.source_positions import Located, Mark, Steps
from scanner.kube.kinds import NAMESPACE, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.rbac import Review
from scanner.kube.snapshot import Snapshot

S = TypeVar("S", bound="Once")
T = TypeVar("T")


class Once:
    """A value that keeps the results of functions of it.

    ``functools.cache`` would keep every value alive, ``cached_property`` needs the function to be a method: these
    functions belong to the rules and resolvers that ask.
    """

    __slots__ = ("_results",)
    _results: dict[Callable[[Any], object], object]

    def once(self: S, function: Callable[[S], T]) -> T:
        """The result of ``function(self)``; a function of a module is called once."""
        try:
            results = self._results
        except AttributeError:  # a frozen dataclass
            results = {}
            object.__setattr__(self, "_results", results)
        if function not in results:
            results[function] = function(self)
        return cast("T", results[function])


class Place(NamedTuple):
    """Where something stands; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """One object to look at."""

    object: KubeObject
    located: Located | None = None
    """The document that it stands in; None for an object of a cluster."""
    above: Steps = ()
    """The way to it in the document: an item of a list."""

    def place(self, steps: Steps = (), *, key: bool = False) -> Place | None:
        """Where a field stands, or the nearest around it."""
        if self.located is None:
            return None
        mark: Mark = self.located.mark((*self.above, *steps), key=key)
        return Place(self.located.file, *mark)


Identity: TypeAlias = tuple[Kind, str | None, str]
"""Kind, namespace and name."""

_SHOWN = 5


def identity(each: KubeObject) -> Identity:
    """Kind, namespace and name: what makes two objects one. A namespace that a manifest names for an object of the
    cluster does not count."""
    return each.kind, each.namespace if each.kind.namespaced else None, each.name


def listed(several: Iterable[Given]) -> str:
    """Where each stands, for people; of many the first."""
    places = [str(each.place() or each.object.reference) for each in islice(several, _SHOWN + 1)]
    return ", ".join(places[:_SHOWN]) + (" and others" if len(places) > _SHOWN else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """An object that was looked for and is not there."""

    name: str
    """``Secret/shop/web``."""
    gap: str | None = None
    """Why it may exist all the same; None: it does not."""
    several: bool = False
    """It exists, but which of the objects of that name it is nobody can tell; ``gap`` says where they are."""
    promised: bool = False
    """A cert-manager Certificate among the manifests makes it: what it will be is judged there."""
    impossible: bool = False
    """No object can have the name that the reference has (``namespace/name``, where only a name is read)."""

    @property
    def why(self) -> str:
        """What keeps anybody from looking at it: ``was not seen (not among the manifests)``."""
        return f"is {self.gap}" if self.several else f"was not seen ({self.gap})"


DEFAULT: Final = "default"
"""The namespace of objects that name none, as kubectl has it."""
_ALWAYS: Final = (DEFAULT, "kube-system", "kube-public", "kube-node-lease")
"""Namespaces that every cluster has (kubernetes.io, "Namespaces")."""


@dataclass(slots=True, kw_only=True)
class Declared(Once):
    """Everything that lint knows: the objects to look at, and those that they may refer to. ``once`` is for indexes,
    which would cost each of 10,000 subjects a walk through all others."""

    given: tuple[Given, ...]
    known: Snapshot
    """With the given ones, which come first. A kind of which there may be others is in ``unreadable``."""
    twice: Mapping[Identity, tuple[Given, ...]] = field(default_factory=dict)
    """Objects that were given more than once and are not the same: none of them is in ``given`` or ``known``."""
    sealed: Mapping[Identity, Place] = field(default_factory=dict)
    """Objects that were given encrypted, and where. What a cluster has of their names is in ``before``."""
    before: Mapping[Identity, KubeObject] = field(default_factory=dict)
    """By kind, namespace and name: what the cluster has in place of a manifest that is to be applied."""
    default_namespace: str = DEFAULT
    """The namespace of objects that name none."""
    reviews: Mapping[Review, bool] = field(default_factory=dict)
    """What the API server answered when it was asked who may do what."""
    user: str | None = None
    """Who is to apply the manifests, where somebody asks."""
    groups: tuple[str, ...] = ()
    """In which ``user`` is, beside those that everybody is in."""

    def every(self, kind: Kind) -> tuple[KubeObject, ...]:
        """All objects of a kind that are known. Raises ``NotRead`` for one that nobody declared."""
        return self.known.every(kind)

    def gap(self, kind: Kind) -> str | None:
        """Why there may be objects of this kind that nobody saw, or None."""
        return self.known.gap(kind) or self.once(_twice).get(kind) or self.once(_sealed).get(kind)

    def find(self, kind: Kind, name: str, namespace: str | None = None) -> KubeObject | Missing:
        """The object of that name, or what its absence means."""
        found = self.known.get(kind, name, namespace if kind.namespaced else None)
        if found is not None:
            return found
        wanted = (kind, namespace if kind.namespaced else None, name)
        called = "/".join(filter(None, (kind.name, *wanted[1:])))
        if several := self.twice.get(wanted):
            return Missing(name=called, gap=_given(several), several=True)
        if place := self.sealed.get(wanted):
            return Missing(name=called, gap=_encrypted(place))
        sought = (namespace or "", name) in self.known.sought.get(kind, ())
        return Missing(name=called, gap=None if sought else self.known.gap(kind))

    def namespace(self, name: str) -> KubeObject | Missing | None:
        """The Namespace of that name, or what its absence means; None for one that exists whatever was seen: every
        cluster has it, or what was given is to be applied in it."""
        found = self.find(NAMESPACE, name)
        if not isinstance(found, Missing):
            return found
        assumed = name in (*_ALWAYS, self.default_namespace) or name in self.once(_inhabited)
        return None if assumed else found


def _inhabited(declared: Declared) -> frozenset[str | None]:
    """The namespaces of the objects that were given. Objects can be applied in those that exist alone."""
    return frozenset(each.object.namespace for each in declared.given if each.object.kind.namespaced)


def _given(several: tuple[Given, ...]) -> str:
    return f"defined more than once, with different content: {listed(several)}"


def _encrypted(place: Place) -> str:
    return f"encrypted with SOPS: {place}"


def _sealed(declared: Declared) -> Mapping[Kind, str]:
    """What is said of a kind of which there is an encrypted object."""
    return {name[0]: _encrypted(place) for name, place in declared.sealed.items()}


def _twice(declared: Declared) -> Mapping[Kind, str]:
    """What is said of a kind of which there is an object that nobody can look at."""
    return {name[0]: f"{several[0].object.reference} is {_given(several)}" for name, several in declared.twice.items()}
