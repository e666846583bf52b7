"""Where the values of a YAML or JSON file stand, so that every error names file, line and column."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias

from scanner.errors import InputError

Value: TypeAlias = "bool | int | float | str | list[Value] | dict[str, Value] | None"
Steps: TypeAlias = tuple[str | int, ...]
"""The way to a value: keys and indexes from the top."""

_WORD = re.compile(r"[\w-]{1,60}\Z")
_ODD_BREAK = re.compile("\r(?!\n)|[\x85\u2028\u2029]")
"""What ends a line in YAML 1.1 (section 5.4, "b-generic") and nowhere else."""


class Mark(NamedTuple):
    """A place in a file; both count from 1, columns in characters."""

    line: int
    column: int


@dataclass(slots=True)
class Node:
    """Where a value stands, with its keys and what is in it."""

    mark: Mark
    keys: dict[str, Mark] = field(default_factory=dict)
    inner: dict[str | int, Node] = field(default_factory=dict)


class PlacedError(InputError):
    """A file that is not what ``load`` takes, with the place."""

    def __init__(self, file: str, mark: Mark, what: str, hint: str = "") -> None:
        super().__init__(f"{file}:{mark.line}:{mark.column}: {what}", hint=hint)
        self.mark = mark
        self.what = what


def dotted(steps: Steps) -> str:
    """The way to a value as API objects write it: ``spec.custom.ciphers[1]``, and an odd key as ``spec['a b']``."""
    return "".join(_dotted(step) for step in steps).removeprefix(".")


def _dotted(step: str | int) -> str:
    if isinstance(step, str):
        return f".{step}" if _WORD.match(step) else f"[{shown(step)}]"
    return f"[{step}]"


def shown(value: object, limit: int = 60) -> str:
    """A value as an error shows it: on one line, printable, not longer than ``limit`` characters."""
    text = repr(value[: limit + 1] if isinstance(value, str) else value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


class YamlMark(Protocol):
    """libyaml's and PyYAML's own, which count from 0."""

    index: int
    line: int
    column: int


class Marks:
    """From the parser's places to those that people see. ``grep -n``, editors and readers of SARIF ("newlineSequences")
    begin a line behind a line feed, with or without a carriage return before it; libyaml, by YAML 1.1, also behind
    U+0085, U+2028, U+2029 and a carriage return alone."""

    def __init__(self, text: str, first: int = 1, before: int = 0) -> None:
        """``first``: the line in which ``text`` begins; ``before``: characters that stand before it there."""
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
    """What complaints need of a file or an object: its values, and how to say where they stand."""

    @property
    def file(self) -> str:
        """What it is called."""

    def get(self, steps: Steps) -> Value:
        """The value there, or None where there is none."""

    def has(self, steps: Steps) -> bool:
        """Whether anything is said there, be it null."""

    def mark(self, steps: Steps = (), *, key: bool = False) -> Mark:
        """Where the value stands, or its key."""

    def position(self, steps: Steps = (), *, key: bool = False) -> str:
        """The same for people."""


@dataclass(frozen=True, slots=True)
class Located:
    """A document's plain values, and where each of them stands.

    The places are found when the first is asked for: most documents have nothing to complain about.
    """

    file: str
    """As the user called it."""
    value: Value
    """Everything: None, bool, int, float, str, list and dict."""
    places: Callable[[], Node] = field(repr=False)
    start: Mark | None = None
    """Where it begins, if that is known without them."""
    _found: list[Node] = field(default_factory=list, repr=False)

    def get(self, steps: Steps) -> Value:
        """The value there, or None where there is none."""
        return self._at(steps)[1]

    def has(self, steps: Steps) -> bool:
        """Whether the file says anything there, be it null."""
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
        """Where the value stands, or its key; for a value that is missing, where the nearest one around it stands."""
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
