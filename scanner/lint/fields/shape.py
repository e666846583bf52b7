"""The words in which the table of fields speaks: what a field holds, and which values of it an API server takes.

They are those of OpenAPI v3 as CustomResourceDefinitions use it (kubernetes.io, "Extend the Kubernetes API with
CustomResourceDefinitions", Validation), and as few as the TLS parts need.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final, TypeAlias

from scanner.kube.objects import Fields

MOST_EXACT: Final = (1 << 53) - 1
"""Up to here floating-point numbers tell all whole numbers apart (IEEE 754, binary64)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Text, or one of a few words."""

    enum: tuple[str, ...] = ()
    """Nothing else is taken."""
    pattern: str = ""
    """As the definition writes it, in Go's syntax; found anywhere in the text unless it is anchored."""
    shortest: int = 0
    """Characters."""
    longest: int | None = None
    meant: str = ""
    """The pattern, for people: ``a DNS name in lower case``."""
    known: tuple[str, ...] = ()
    """Words that mean something. Others that the pattern takes mean nothing, unless a domain and a slash are before
    them, which is how implementations spell their own."""
    weak: tuple[str, ...] = ()
    """Words that are taken and that nobody is to be led to."""

    def takes(self, value: str) -> bool:
        """Whether an API server does."""
        if self.enum:
            return value in self.enum
        fits = self.shortest <= len(value) and (self.longest is None or len(value) <= self.longest)
        return fits and (not self.pattern or compiled(self.pattern).search(value) is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A whole number."""

    least: int | None = None
    most: int | None = None

    def takes(self, value: float) -> bool:
        """Whether an API server does."""
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)


@dataclass(frozen=True, slots=True)
class Either:
    """A whole number or text: a port by its number or its name (Kubernetes ``IntOrString``)."""

    number: Number
    text: Text


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """A mapping of names that somebody chooses to text."""

    most: int | None = None
    longest: int | None = None
    """Characters of a value."""


@dataclass(frozen=True, slots=True)
class Anything:
    """What no rule on TLS looks into."""

    former: bool = False
    """Whether only earlier releases, or proposals, have the field: another rule says that it is dropped, and no hint
    names it."""


@dataclass(frozen=True, slots=True)
class Items:
    """A list of one shape."""

    of: Shape
    least: int = 0
    most: int | None = None
    nulls: bool = False
    """Whether null is taken for an empty item, as Go's own types do and definitions do not."""


@dataclass(frozen=True, slots=True)
class Clash:
    """Fields that do not go together, as a definition says it in CEL or an API server in Go."""

    when: Callable[[Fields], object]
    """Whether they clash in this mapping."""
    says: str
    """In the API server's words, where it refuses them."""
    at: tuple[str, ...] = ()
    """The field to look at."""
    fix: str = "change one of the two"
    admitted: bool = False
    """Whether the API server takes it, and what is meant does not come of it."""


@dataclass(frozen=True, slots=True)
class Record:
    """A mapping with exactly these fields."""

    fields: Mapping[str, Shape]
    required: tuple[str, ...] = ()
    told: tuple[str, ...] = field(default=(), kw_only=True)
    """Fields of which another rule says what is wrong with their values, or that they are missing."""
    clashes: tuple[Clash, ...] = field(default=(), kw_only=True)
    """Those that no other rule looks at."""
    others: bool = field(default=False, kw_only=True)
    """Whether it has more fields, of which the table says nothing."""

    @property
    def names(self) -> tuple[str, ...]:
        """The fields that a current definition has."""
        return tuple(name for name, each in self.fields.items() if each != FORMER)


Shape: TypeAlias = "Text | Number | Either | Flag | Words | Anything | Items | Record"

TEXT: Final = Text()
NUMBER: Final = Number()
FLAG: Final = Flag()
ANY: Final = Anything()
FORMER: Final = Anything(former=True)


def anything(*names: str) -> dict[str, Shape]:
    """Fields that nobody looks into."""
    return dict.fromkeys(names, ANY)


def former(*names: str) -> dict[str, Shape]:
    """Fields that current definitions do not have."""
    return dict.fromkeys(names, FORMER)


def texts(*names: str) -> dict[str, Shape]:
    """Fields that hold any text."""
    return dict.fromkeys(names, TEXT)


def flags(*names: str) -> dict[str, Shape]:
    """Fields that are true or false."""
    return dict.fromkeys(names, FLAG)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern of a definition. Go's ``$`` is the very end; Python's also stands before a line's end there."""
    return re.compile(pattern.replace("$", r"\Z"))
