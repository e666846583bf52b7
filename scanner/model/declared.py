"""What objects declare, as lint looks at it: those that were given, each with its place, and what else is known.

An object that refers to one that was not given is not wrong for that: whether the other exists nobody said. So looking
for an object has three answers: it is there, it does not exist, or that cannot be decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar, cast

from scanner.model.kinds import Kind
from scanner.model.located import Located, Mark, Steps
from scanner.model.objects import KubeObject
from scanner.model.snapshot import Snapshot

T = TypeVar("T")


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


def identity(each: KubeObject) -> tuple[Kind, str | None, str]:
    """Kind, namespace and name: what makes two objects one. A namespace that a manifest names for an object of the
    cluster does not count."""
    return each.kind, each.namespace if each.kind.namespaced else None, each.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """An object that was looked for and is not there."""

    name: str
    """``Secret/shop/web``."""
    gap: str | None = None
    """Why it may exist all the same; None: it does not."""


@dataclass(slots=True, kw_only=True)
class Declared:
    """Everything that lint knows: the objects to look at, and those that they may refer to."""

    given: tuple[Given, ...]
    known: Snapshot
    """With the given ones, which come first. A kind of which there may be others is in ``unreadable``."""
    before: Mapping[tuple[Kind, str | None, str], KubeObject] = field(default_factory=dict)
    """By kind, namespace and name: what the cluster has in place of a manifest that is to be applied."""
    user: str | None = None
    """Who is to apply the manifests, where somebody asks."""
    groups: tuple[str, ...] = ()
    """In which ``user`` is, beside those that everybody is in."""
    _made: dict[Callable[[Declared], object], object] = field(default_factory=dict, repr=False, compare=False)

    def every(self, kind: Kind) -> tuple[KubeObject, ...]:
        """All objects of a kind that are known. Raises ``NotRead`` for one that nobody declared."""
        return self.known.every(kind)

    def gap(self, kind: Kind) -> str | None:
        """Why there may be objects of this kind that nobody saw, or None."""
        return self.known.gap(kind)

    def once(self, make: Callable[[Declared], T]) -> T:
        """What ``make`` says of everything that is known: an index, which would cost each of 10,000 subjects a walk
        through all others. ``make`` is a function of a module; the same one is asked once."""
        if make not in self._made:
            self._made[make] = make(self)
        return cast("T", self._made[make])

    def find(self, kind: Kind, name: str, namespace: str | None = None) -> KubeObject | Missing:
        """The object of that name, or what its absence means."""
        found = self.known.get(kind, name, namespace if kind.namespaced else None)
        if found is not None:
            return found
        called = "/".join(filter(None, (kind.name, namespace if kind.namespaced else None, name)))
        sought = (namespace or "", name) in self.known.sought.get(kind, ())
        return Missing(name=called, gap=None if sought else self.gap(kind))
