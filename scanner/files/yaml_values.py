"""Parser of YAML text to plain values, and to their positions.

Plain scalars follow JSON (YAML 1.2.2, section 10.2), so ``no``, ``010``, ``1:30`` and dates stay text, and keys are
always text. Duplicate keys, anchors and aliases (a few lines of them expand to gigabytes), and tags are refused.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import yaml

from scanner.errors import InputError
from scanner.files.source_positions import Located, Mark, Marks, Node, PlacedError, Value, YamlMark, shown

MAX_BYTES = 1 << 20
MAX_DEPTH = 64
"""Depth of nested lists and mappings. An API object with its managed fields needs 15."""
_TOO_DEEP = f"nested more than {MAX_DEPTH} deep"
MAX_VALUES = 4_000_000
"""Values in one document. A few bytes make a value of a hundred bytes; the largest lists of a must-gather have a
tenth of this."""
MAX_PLACES = 500_000
"""Positions to keep of one document; later values have the position of their nearest parent."""

# libyaml where PyYAML was built with it: ten times as fast. Where it was not, the same grammar in Python.
_LOADER: type[yaml.SafeLoader | yaml.CSafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL = {word: word.lower() == "true" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
_NOT_TEXT = "~nNtTfF-0123456789"
"""First characters of scalars other than text; an empty one is null."""
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,19})\Z")
_LEAST_INTEGER, _MOST_INTEGER = -(1 << 63), (1 << 64) - 1
"""Larger whole numbers are floating-point numbers in kubectl and Go (sigs.k8s.io/yaml ``resolve.go``)."""
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,308})(\.[0-9]{1,308})?([eE][-+]?[0-9]{1,4})?\Z")
"""Numbers too large for floating point are text."""
_MAX_DIRECTIVES = 20
"""Most directives with a prefix of tags: libyaml compares each with all before it."""
_TAG_DIRECTIVE = re.compile("^%TAG", re.MULTILINE)
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that YAML forbids (YAML 1.2.2, section 5.1)."""

_HINTS = {
    "cannot start any token": "indent with spaces, never with tabs; text that starts with @, ` or % needs quotes",
    "mapping values are not allowed": "put quotes around text that contains ': ', or correct the indentation",
    "did not find expected ',' or": "a bracket is not closed, or a value that contains one needs quotes",
    "did not find expected node content": "text that starts with [ or { needs quotes, or a bracket is not closed",
    "could not find expected ':'": "a key is followed by a colon and a space",
}


_Event: TypeAlias = Any
"""A ``yaml.Event``; the type stubs lack most of its attributes."""


def read(path: str, limit: int = MAX_BYTES) -> Located:
    """Read a file. Raises ``InputError`` if it is unreadable, larger than ``limit`` bytes or invalid."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(limit + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"{path}: cannot be read: {reason}", hint="check the path") from None
    return load(data, path, limit)


def load(data: bytes, name: str, limit: int = MAX_BYTES) -> Located:
    """Parse one YAML or JSON document. Raises ``InputError`` with ``name:line:column``."""
    text = decoded(data, name, limit)
    with yaml_errors(name, text):
        return Located(name, Builder(name, text).document(), lambda: positions(text))


def documents(data: bytes, name: str, limit: int = MAX_BYTES) -> Iterator[Value]:
    """The values of each document of a YAML stream or JSON file, without positions.

    Raises ``InputError`` with ``name:line:column`` at the first invalid one.
    """
    text = decoded(data, name, limit)
    with yaml_errors(name, text):
        yield from Builder(name, text).documents()


@contextmanager
def yaml_errors(name: str, text: str, first: int = 1) -> Generator[None]:
    """Convert the parser's exceptions, for a ``text`` that begins in the line ``first``."""
    try:
        yield
    except yaml.MarkedYAMLError as error:
        marks = Marks(text, first)
        mark, begin = marks(error.problem_mark or error.context_mark), marks(error.context_mark)
        problem = " ".join((error.problem or error.context or "not YAML").split())
        if error.context_mark and error.problem_mark and begin.line < mark.line:
            problem += f", in the block that starts at line {begin.line}"
        if "maximum nesting depth" in problem:  # the limit of newer libyaml, which reads ahead of the events
            problem = _TOO_DEEP
        _refuse(name, mark, problem, next((hint for part, hint in _HINTS.items() if part in problem), ""))
    except yaml.YAMLError as error:
        _refuse(name, Mark(first, 1), f"not YAML: {shown(str(error))}")


def decoded(data: bytes, name: str, limit: int = MAX_BYTES, first: int = 1) -> str:
    """Text of UTF-8 without a byte order mark and forbidden characters. Raises ``InputError``."""
    if len(data) > limit:
        raise InputError(f"{name}: larger than {limit // 1024} KiB", hint="check the path")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8-sig", "replace")
        wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        hint = "save it as UTF-8" + (" (this is UTF-16, as Windows PowerShell redirects)" if wide else "")
        _refuse(name, _mark_after(before, first), "not UTF-8", hint)
    bad = _UNPRINTABLE.search(text)
    if bad:
        what = f"control character U+{ord(bad[0]):04X}"
        mark = _mark_after(text[: bad.start()], first)
        _refuse(name, mark, what, "write it as an escape in double quotes, or remove it")
    return text


def _mark_after(text: str, first: int) -> Mark:
    lines = text.split("\n")
    return Mark(len(lines) + first - 1, len(lines[-1]) + 1)


def _refuse(name: str, mark: Mark, what: str, hint: str = "") -> NoReturn:
    raise PlacedError(name, mark, what, hint) from None


def _events(text: str) -> Callable[[], _Event]:
    """The function that returns the parser's next event. Raises ``YAMLError`` for input that makes the parser slow."""
    extra = next(islice(_TAG_DIRECTIVE.finditer(text), _MAX_DIRECTIVES, None), None)
    if extra:
        mark = yaml.Mark("", extra.start(), text.count("\n", 0, extra.start()), 0, None, 0)
        raise yaml.MarkedYAMLError(problem=f"more than {_MAX_DIRECTIVES} %TAG directives", problem_mark=mark)
    get: Callable[[], _Event] = _LOADER(text).get_event
    return get


class Builder:
    """Builds values from parser events, one at a time, so that a hostile file costs nothing after its first refused
    event."""

    def __init__(self, name: str, text: str, first: int = 1) -> None:
        self._name = name
        self._mark = Marks(text, first)
        self._next = _events(text)
        self._values = 0
        self.start = Mark(first, 1)
        """Beginning of the last document."""

    def document(self) -> Value:
        """The only document; an empty file is null."""
        self._next()
        if isinstance(self._next(), yaml.StreamEndEvent):
            return None
        root = self._node(self._next(), 0)
        self._next()
        event = self._next()
        if not isinstance(event, yaml.StreamEndEvent):
            self._refuse(event, "a second document begins", "keep one document in the file")
        return root

    def documents(self) -> Iterator[Value]:
        """Every document."""
        while not isinstance(event := self._next(), yaml.StreamEndEvent):
            if isinstance(event, yaml.DocumentStartEvent):
                self._values, root = 0, self._next()
                self.start = self._mark(root.start_mark)
                yield self._node(root, 0)

    def _node(self, event: _Event, depth: int) -> Value:
        if event.anchor is not None or event.tag is not None:
            self._plain(event)
        self._values += 1
        if self._values > MAX_VALUES:
            self._refuse(event, f"more than {MAX_VALUES:,} values in one document")
        if type(event) is yaml.ScalarEvent:
            return _resolved(event)
        if depth == MAX_DEPTH:
            self._refuse(event, _TOO_DEEP)
        return self._sequence(depth) if isinstance(event, yaml.SequenceStartEvent) else self._mapping(depth)

    def _sequence(self, depth: int) -> list[Value]:
        values: list[Value] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            values.append(self._node(event, depth + 1))
        return values

    def _mapping(self, depth: int) -> dict[str, Value]:
        values: dict[str, Value] = {}
        marks: dict[str, YamlMark] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key = self._key(event, marks)
            marks[key] = event.start_mark
            values[key] = self._node(self._next(), depth + 1)
        return values

    def _key(self, event: _Event, before: dict[str, YamlMark]) -> str:
        if event.anchor is not None or event.tag is not None:
            self._plain(event)
        if not isinstance(event, yaml.ScalarEvent):
            self._refuse(event, "a key must be text, not a list or a mapping")
        key = str(event.value)
        if key == "<<" and event.implicit[0]:  # kubectl reads YAML 1.1, which merges them
            self._refuse(
                event, "merge keys (<<) are not supported", "write the fields out; a key of that name needs quotes"
            )
        if key in before:
            line = self._mark(before[key]).line
            self._refuse(event, f"duplicate key {shown(key)}", f"the first one is in line {line}")
        return key

    def _plain(self, event: _Event) -> None:
        if isinstance(event, yaml.AliasEvent):
            self._refuse(event, "aliases (*) are not supported", "write the value out")
        if event.anchor is not None:
            self._refuse(event, "anchors (&) are not supported", "text that starts with & needs quotes")
        if event.tag not in (None, "!"):
            self._refuse(event, "tags (!) are not supported", "text that starts with ! needs quotes")

    def _refuse(self, event: _Event, what: str, hint: str = "") -> NoReturn:
        _refuse(self._name, self._mark(event.start_mark), what, hint)


def scalars(text: str) -> Iterator[tuple[str, str]]:
    """Value and tag of every scalar, also of refused documents. Raises ``InputError`` for invalid YAML, and for too
    deep nesting: the time of the parser grows with the square of the depth."""
    return ((str(event.value), str(event.tag or "")) for event in _scalars(text))


def _scalars(text: str) -> Iterator[_Event]:
    depth = 0
    with yaml_errors("", text):
        next_event = _events(text)
        while not isinstance(event := next_event(), yaml.StreamEndEvent):
            if isinstance(event, yaml.ScalarEvent):
                yield event
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                _refuse("", Mark(1, 1), _TOO_DEEP)


def comments(text: str, sought: re.Pattern[str], first: int = 1) -> Iterator[tuple[Mark, re.Match[str]]]:
    """Comments that ``sought`` matches from their ``#``; the same text inside of a value is none.

    ``first``: the line in which ``text`` begins. Raises ``InputError`` for invalid YAML."""
    found = list(sought.finditer(text))
    ends = [(each.start_mark.index, each.end_mark.index) for each in _scalars(text)] if found else []
    for match in found:
        begin, place = text.rfind("\n", 0, match.start()) + 1, bisect_left(ends, (match.start(), 0))
        end = ends[place - 1][1] if place else 0
        if end <= match.start() and "#" not in text[max(begin, end) : match.start()]:
            line = first + text.count("\n", 0, begin)
            yield Mark(line, match.start() - begin + 1), match


def positions(text: str, number: int = 0, first: int = 1, before: int = 0) -> Node:
    """The positions of the values of a document, which was valid before. ``number``: of the document in ``text``;
    ``first`` and ``before`` as in ``Marks``."""
    next_event = _events(text)
    left, mark = MAX_PLACES, Marks(text, first, before)

    def node(event: _Event) -> Node:
        nonlocal left
        found = Node(mark(event.start_mark))
        left -= 1
        keyed, index = isinstance(event, yaml.MappingStartEvent), 0
        if isinstance(event, yaml.CollectionStartEvent):
            while not isinstance(event := next_event(), yaml.CollectionEndEvent):
                key = str(event.value) if keyed else index
                if keyed and left > 0:
                    found.keys[str(key)] = mark(event.start_mark)
                inner, index = node(next_event() if keyed else event), index + 1
                if left > 0:
                    found.inner[key] = inner
        return found

    while not isinstance(event := next_event(), yaml.StreamEndEvent):
        if isinstance(event, yaml.DocumentStartEvent):
            if number == 0:
                return node(next_event())
            node(next_event())
            number -= 1
    return Node(Mark(first, 1))


def _resolved(event: _Event) -> Value:
    text = str(event.value)
    if not event.implicit[0] or text[:1] not in _NOT_TEXT:
        return text
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    if _INTEGER.match(text) and _LEAST_INTEGER <= (number := int(text)) <= _MOST_INTEGER:
        return number
    if _NUMBER.match(text) and math.isfinite(float(text)):
        return float(text)
    return text
