"""Positions of the values in a YAML or JSON file, so that every error has file, line and column."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias

from scanner.errors import InputError

Value: TypeAlias = "bool | int | float | str | list[Value] | dict[str, Value] | None"
Steps: TypeAlias = tuple[str | int, ...]
"""Path of a value: keys and indexes from the top."""

_WORD = re.compile(r"[\w-]{1,60}\Z")
_ODD_BREAK = re.compile("\r(?!\n)|[\x85\u2028\u2029]")
"""Line breaks of YAML 1.1 only (section 5.4, "b-generic")."""


class Mark(NamedTuple):
    """A place in a file; line and column count from 1, columns in characters."""

    line: int
    column: int


@dataclass(slots=True)
class Node:
    """The position of a value, with those of its keys and items."""

    mark: Mark
    keys: dict[str, Mark] = field(default_factory=dict)
    inner: dict[str | int, Node] = field(default_factory=dict)


class PlacedError(InputError):
    """An invalid file, with the place."""

    def __init__(self, file: str, mark: Mark, what: str, hint: str = "") -> None:
        super().__init__(f"{file}:{mark.line}:{mark.column}: {what}", hint=hint)
        self.mark = mark
        self.what = what


def dotted(steps: Steps) -> str:
    """A path as in the API: ``spec.custom.ciphers[1]``, and an odd key as ``spec['a b']``."""
    return "".join(_dotted(step) for step in steps).removeprefix(".")


def _dotted(step: str | int) -> str:
    if isinstance(step, str):
        return f".{step}" if _WORD.match(step) else f"[{shown(step)}]"
    return f"[{step}]"


def shown(value: object, limit: int = 60) -> str:
    """A value for an error: one printable line of at most ``limit`` characters."""
    text = repr(value[: limit + 1] if isinstance(value, str) else value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


class YamlMark(Protocol):
    """The mark of libyaml and PyYAML, which counts from 0."""

    index: int
    line: int
    column: int


class Marks:
    """Conversion of positions of the parser to those of editors.

    ``grep -n``, editors and readers of SARIF ("newlineSequences") begin a line after a line feed, with or without a
    carriage return before it; libyaml, by YAML 1.1, also after U+0085, U+2028, U+2029 and a single carriage return.
    """

    def __init__(self, text: str, first: int = 1, before: int = 0) -> None:
        """``first``: the line in which ``text`` begins; ``before``: characters before it in that line."""
        self._first, self._before = first, before
        odd = ("\r" in text or not text.isascii()) and _ODD_BREAK.search(text)
        self._begins = [0, *(match.end() for match in re.finditer("\n", text))] if odd else None

    def __call__(self, mark: YamlMark | None) -> Mark:
        if mark is None:
            return Mark(self._first, self._before + 1)
        line, column = mark.line, mark.column
        if self._begins is not None:
            line = bisect_right(self._begins, mark.index) - 1
            column = mark.index - self._begins[line]
        return Mark(line + self._first, column + 1 + (0 if line else self._before))


class Document(Protocol):
    """Interface for errors: the values of a file or object, and their positions."""

    @property
    def file(self) -> str:
        """Its name."""

    def get(self, steps: Steps) -> Value:
        """The value there, or None."""

    def has(self, steps: Steps) -> bool:
        """True if there is a value, also null."""

    def mark(self, steps: Steps = (), *, key: bool = False) -> Mark:
        """The position of a value or its key."""

    def position(self, steps: Steps = (), *, key: bool = False) -> str:
        """The position as text."""


@dataclass(frozen=True, slots=True)
class Located:
    """A document's plain values and their positions.

    Positions are computed on first use: most documents have no errors.
    """

    file: str
    """Its name as the user wrote it."""
    value: Value
    """None, bool, int, float, str, list or dict."""
    places: Callable[[], Node] = field(repr=False)
    start: Mark | None = None
    """Its beginning, if known without ``places``."""
    _found: list[Node] = field(default_factory=list, repr=False)

    def get(self, steps: Steps) -> Value:
        """The value there, or None."""
        return self._at(steps)[1]

    def has(self, steps: Steps) -> bool:
        """True if there is a value, also null."""
        return self._at(steps)[0]

    def _at(self, steps: Steps) -> tuple[bool, Value]:
        value = self.value
        for step in steps:
            match value, step:
                case dict(), str() if step in value:
                    value = value[step]
                case list(), int() if 0 <= step < len(value):
                    value = value[step]
                case _:
                    return False, None
        return True, value

    def mark(self, steps: Steps = (), *, key: bool = False) -> Mark:
        """The position of a value or its key; of a missing value, that of the nearest parent."""
        if not steps and self.start:
            return self.start
        if key and steps:
            mark = self._nearest(steps[:-1], exact=True).keys.get(str(steps[-1]))
            if mark:
                return mark
        return self._nearest(steps).mark

    def position(self, steps: Steps = (), *, key: bool = False) -> str:
        """``file:line:column`` of ``mark``."""
        mark = self.mark(steps, key=key)
        return f"{self.file}:{mark.line}:{mark.column}"

    def _nearest(self, steps: Steps, *, exact: bool = False) -> Node:
        if not self._found:
            self._found.append(self.places())
        node = self._found[0]
        for step in steps:
            inner = node.inner.get(step)
            if inner is None:
                return Node(node.mark) if exact else node
            node = inner
        return node
