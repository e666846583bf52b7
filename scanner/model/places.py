"""Where values stand in a file, and how complaints say it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from scanner.errors import InputError

Value: TypeAlias = "bool | int | float | str | list[Value] | dict[str, Value] | None"
Steps: TypeAlias = tuple[str | int, ...]
"""The way to a value: keys and indexes from the top."""

_WORD = re.compile(r"[\w-]{1,60}\Z")


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
