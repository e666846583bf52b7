"""YAML and JSON files that remember where every value stood, so that every complaint names file, line and column."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from scanner.errors import InputError
from scanner.model.places import Mark, Node, PlacedError, Steps, Value, dotted, shown
from scanner.model.yaml_values import MAX_BYTES, Builder, decoded, places, told

__all__ = [
    "MAX_BYTES",
    "Document",
    "Located",
    "Mark",
    "PlacedError",
    "Steps",
    "Value",
    "documents",
    "dotted",
    "load",
    "read",
    "shown",
]


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


def read(path: str, limit: int = MAX_BYTES) -> Located:
    """Read a file. Raises ``InputError`` for one that cannot be read, is over ``limit`` bytes or is not what ``load``
    takes."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(limit + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"{path}: cannot be read: {reason}", hint="is the path right?") from None
    return load(data, path, limit)


def load(data: bytes, name: str, limit: int = MAX_BYTES) -> Located:
    """Parse one YAML or JSON document. Raises ``InputError`` with ``name:line:column``."""
    text = decoded(data, name, limit)
    with told(name, text):
        return Located(name, Builder(name, text).document(), lambda: places(text))


def documents(data: bytes, name: str, limit: int = MAX_BYTES) -> Iterator[Value]:
    """The values of each document of a YAML stream or JSON file, one after the other, without their places.

    Raises ``InputError`` with ``name:line:column`` at the first that is not what ``load`` takes.
    """
    text = decoded(data, name, limit)
    with told(name, text):
        yield from Builder(name, text).documents()
