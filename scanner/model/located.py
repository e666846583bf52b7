"""YAML and JSON files that remember where every value stood, so that every complaint names file, line and column.

The YAML that people expect today: plain scalars follow JSON (YAML 1.2.2, section 10.2), so ``no``, ``010``, ``1:30``
and dates stay text, and keys are always text. What only surprises is refused: duplicate keys, anchors and aliases (a
few lines of them expand to gigabytes), tags, and several documents in one file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, NoReturn, Protocol, TypeAlias

import yaml

from scanner.errors import InputError

Value: TypeAlias = "bool | int | float | str | list[Value] | dict[str, Value] | None"
Steps: TypeAlias = tuple[str | int, ...]
"""The way to a value: keys and indexes from the top."""

MAX_BYTES = 1 << 20
MAX_DEPTH = 64
"""Of nested lists and mappings. An API object with its managed fields needs 15."""

# libyaml where PyYAML was built with it: ten times as fast. Where it was not, the same grammar in Python.
_LOADER: type[yaml.SafeLoader | yaml.CSafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL = {word: word.lower() == "true" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})\Z")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,31})(?=[.eE])(\.[0-9]{1,32})?([eE][-+]?[0-9]{1,4})?\Z")
_WORD = re.compile(r"[\w-]{1,60}\Z")
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no YAML file may contain (YAML 1.2.2, section 5.1)."""

_HINTS = {
    "cannot start any token": "indent with spaces, never with tabs; text that starts with @, ` or % needs quotes",
    "mapping values are not allowed": "text that contains ': ' needs quotes; is the indentation as it should be?",
    "did not find expected ',' or": "a bracket is not closed, or a value that contains one needs quotes",
    "did not find expected node content": "text that starts with [ or { needs quotes",
    "could not find expected ':'": "a key is followed by a colon and a space",
}


class Mark(NamedTuple):
    """A place in a file; both count from 1, columns in characters."""

    line: int
    column: int


class _YamlMark(Protocol):
    """libyaml's and PyYAML's own, which count from 0."""

    line: int
    column: int


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


@dataclass(slots=True)
class _Node:
    mark: Mark
    value: Value = None
    keys: dict[str, Mark] = field(default_factory=dict)
    inner: dict[str | int, _Node] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Located:
    """A file's plain values, and where each of them stands."""

    file: str
    """As the user called it."""
    root: _Node = field(repr=False)

    @property
    def value(self) -> Value:
        """Everything: None, bool, int, float, str, list and dict."""
        return self.root.value

    def get(self, steps: Steps) -> Value:
        """The value there, or None where there is none."""
        node: _Node | None = self.root
        for step in steps:
            node = node.inner.get(step) if node else None
        return node.value if node else None

    def has(self, steps: Steps) -> bool:
        """Whether the file says anything there, be it null."""
        return not steps or steps[-1] in self._nearest(steps[:-1], exact=True).inner

    def mark(self, steps: Steps = (), *, key: bool = False) -> Mark:
        """Where the value stands, or its key; for a value that is missing, where the nearest one around it stands."""
        if key and steps:
            mark = self._nearest(steps[:-1], exact=True).keys.get(str(steps[-1]))
            if mark:
                return mark
        return self._nearest(steps).mark

    def position(self, steps: Steps = (), *, key: bool = False) -> str:
        """``file:line:column`` of ``mark``."""
        mark = self.mark(steps, key=key)
        return f"{self.file}:{mark.line}:{mark.column}"

    def _nearest(self, steps: Steps, *, exact: bool = False) -> _Node:
        node = self.root
        for step in steps:
            inner = node.inner.get(step)
            if inner is None:
                return _Node(node.mark) if exact else node
            node = inner
        return node


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
    builder = _Builder(name, _decoded(data, name, limit))
    with _told(name):
        return Located(name, builder.document())


def documents(data: bytes, name: str, limit: int = MAX_BYTES) -> Iterator[Value]:
    """The values of each document of a YAML stream or JSON file, one after the other, without their places.

    Raises ``InputError`` with ``name:line:column`` at the first that is not what ``load`` takes.
    """
    builder = _Builder(name, _decoded(data, name, limit), places=False)
    with _told(name):
        yield from builder.documents()


def located_documents(data: bytes, name: str, limit: int = MAX_BYTES) -> Iterator[Located]:
    """The same with their places. What stands before a document that is refused is given all the same."""
    builder = _Builder(name, _decoded(data, name, limit))
    with _told(name):
        for root in builder.roots():
            yield Located(name, root)


@contextmanager
def _told(name: str) -> Generator[None]:
    """Turns the parser's exceptions into ours."""
    try:
        yield
    except yaml.MarkedYAMLError as error:
        mark = _mark(error.problem_mark or error.context_mark)
        problem = " ".join((error.problem or error.context or "not YAML").split())
        _refuse(name, mark, problem, next((hint for part, hint in _HINTS.items() if part in problem), ""))
    except yaml.YAMLError as error:
        _refuse(name, Mark(1, 1), f"not YAML: {shown(str(error))}")


def _decoded(data: bytes, name: str, limit: int) -> str:
    if len(data) > limit:
        raise InputError(f"{name}: larger than {limit // 1024} KiB", hint="is this the right file?")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8-sig", "replace")
        wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        hint = "save it as UTF-8" + (" (this is UTF-16, as Windows PowerShell redirects)" if wide else "")
        _refuse(name, _mark_after(before), "not UTF-8", hint)
    bad = _UNPRINTABLE.search(text)
    if bad:
        what = f"the control character U+{ord(bad[0]):04X}"
        _refuse(name, _mark_after(text[: bad.start()]), what, "write it as an escape in double quotes, or remove it")
    return text


def _mark_after(text: str) -> Mark:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return Mark(len(lines), len(lines[-1]) + 1)


def _mark(mark: _YamlMark | None) -> Mark:
    return Mark(mark.line + 1, mark.column + 1) if mark else Mark(1, 1)


def _refuse(name: str, mark: Mark, what: str, hint: str = "") -> NoReturn:
    raise InputError(f"{name}:{mark.line}:{mark.column}: {what}", hint=hint) from None


class _Builder:
    """Builds nodes from parser events: unlike composed nodes, events come one at a time, and the first that is
    refused ends it, before a hostile file has cost anything."""

    def __init__(self, name: str, text: str, *, places: bool = True) -> None:
        self._name = name
        self._places = places
        self._events: Iterator[yaml.Event] = yaml.parse(text, Loader=_LOADER)

    def document(self) -> _Node:
        """The only document; an empty file is null."""
        next(self._events)
        event = next(self._events)
        if isinstance(event, yaml.StreamEndEvent):
            return _Node(Mark(1, 1))
        root = self._node(next(self._events), 0)
        next(self._events)
        event = next(self._events)
        if not isinstance(event, yaml.StreamEndEvent):
            self._refuse(event, "a second document begins", "keep one document in the file")
        return root

    def documents(self) -> Iterator[Value]:
        """Every document's value."""
        yield from (root.value for root in self.roots())

    def roots(self) -> Iterator[_Node]:
        """Every document."""
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                yield self._node(next(self._events), 0)

    def _node(self, event: yaml.Event, depth: int) -> _Node:
        self._plain(event)
        if isinstance(event, yaml.ScalarEvent):
            return _Node(_mark(event.start_mark), _resolved(event))
        if depth == MAX_DEPTH:
            self._refuse(event, f"nested more than {MAX_DEPTH} deep")
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(event, depth)
        return self._mapping(event, depth)

    def _sequence(self, start: yaml.Event, depth: int) -> _Node:
        values: list[Value] = []
        node = _Node(_mark(start.start_mark), values)
        for event in self._events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            inner = self._node(event, depth + 1)
            if self._places:
                node.inner[len(values)] = inner
            values.append(inner.value)
        return node

    def _mapping(self, start: yaml.Event, depth: int) -> _Node:
        values: dict[str, Value] = {}
        node = _Node(_mark(start.start_mark), values)
        for event in self._events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            key = self._key(event, node.keys)
            node.keys[key] = _mark(event.start_mark)
            inner = self._node(next(self._events), depth + 1)
            if self._places:
                node.inner[key] = inner
            values[key] = inner.value
        return node

    def _key(self, event: yaml.Event, before: dict[str, Mark]) -> str:
        self._plain(event)
        if not isinstance(event, yaml.ScalarEvent):
            self._refuse(event, "a key must be text, not a list or a mapping")
        key = str(event.value)
        if key in before:
            self._refuse(event, f"the key {shown(key)} is there twice", f"it is first in line {before[key].line}")
        return key

    def _plain(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.AliasEvent):
            self._refuse(event, "aliases (*) are not taken", "write the value out")
        if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            self._refuse(event, "anchors (&) are not taken", "text that starts with & needs quotes")
        if getattr(event, "tag", None) not in (None, "!"):
            self._refuse(event, "tags (!) are not taken", "text that starts with ! needs quotes")

    def _refuse(self, event: yaml.Event, what: str, hint: str = "") -> NoReturn:
        _refuse(self._name, _mark(event.start_mark), what, hint)


def _resolved(event: yaml.ScalarEvent) -> Value:
    text = str(event.value)
    if not event.implicit[0]:
        return text
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    if _INTEGER.match(text):
        return int(text)
    if _NUMBER.match(text) and math.isfinite(float(text)):
        return float(text)
    return text
