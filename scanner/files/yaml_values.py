"""From YAML's text to plain values, and to the places where they stand.

The YAML that people expect today: plain scalars follow JSON (YAML 1.2.2, section 10.2), so ``no``, ``010``, ``1:30``
and dates stay text, and keys are always text. What only surprises is refused: duplicate keys, anchors and aliases (a
few lines of them expand to gigabytes), and tags.
"""

from __future__ import annotations

import math
import re
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
"""Of nested lists and mappings. An API object with its managed fields needs 15."""
_TOO_DEEP = f"nested more than {MAX_DEPTH} deep"
MAX_VALUES = 4_000_000
"""In one document. A few bytes make a value of a hundred; a must-gather's largest lists have a tenth of this."""
MAX_PLACES = 500_000
"""Of one document, that are remembered; whatever is behind them is said to be where the nearest around it is."""

# libyaml where PyYAML was built with it: ten times as fast. Where it was not, the same grammar in Python.
_LOADER: type[yaml.SafeLoader | yaml.CSafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL = {word: word.lower() == "true" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
_TELLING = "~nNtTfF-0123456789"
"""What everything begins with that is not just text; nothing at all does, too."""
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,19})\Z")
_LEAST_INTEGER, _MOST_INTEGER = -(1 << 63), (1 << 64) - 1
"""Whole numbers beyond are floating-point numbers to kubectl and Go (sigs.k8s.io/yaml ``resolve.go``)."""
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,308})(\.[0-9]{1,308})?([eE][-+]?[0-9]{1,4})?\Z")
"""What is larger than any floating-point number is text there, too."""
_MAX_DIRECTIVES = 20
"""That declare a prefix of tags. libyaml compares each with all before it."""
_TAG_DIRECTIVE = re.compile("^%TAG", re.MULTILINE)
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no YAML file may contain (YAML 1.2.2, section 5.1)."""

_HINTS = {
    "cannot start any token": "indent with spaces, never with tabs; text that starts with @, ` or % needs quotes",
    "mapping values are not allowed": "text that contains ': ' needs quotes; is the indentation as it should be?",
    "did not find expected ',' or": "a bracket is not closed, or a value that contains one needs quotes",
    "did not find expected node content": "text that starts with [ or { needs quotes; is every bracket closed?",
    "could not find expected ':'": "a key is followed by a colon and a space",
}


_Event: TypeAlias = Any
"""A ``yaml.Event``, of whose attributes the type stubs know few."""


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
    with yaml_errors(name, text):
        return Located(name, Builder(name, text).document(), lambda: positions(text))


def documents(data: bytes, name: str, limit: int = MAX_BYTES) -> Iterator[Value]:
    """The values of each document of a YAML stream or JSON file, one after the other, without their places.

    Raises ``InputError`` with ``name:line:column`` at the first that is not what ``load`` takes.
    """
    text = decoded(data, name, limit)
    with yaml_errors(name, text):
        yield from Builder(name, text).documents()


@contextmanager
def yaml_errors(name: str, text: str, first: int = 1) -> Generator[None]:
    """Turns the parser's exceptions into ours, of a ``text`` that begins in the line ``first``."""
    try:
        yield
    except yaml.MarkedYAMLError as error:
        marks = Marks(text, first)
        mark, begin = marks(error.problem_mark or error.context_mark), marks(error.context_mark)
        problem = " ".join((error.problem or error.context or "not YAML").split())
        if error.context_mark and error.problem_mark and begin.line < mark.line:
            problem += f", in the block that starts at line {begin.line}"
        _refuse(name, mark, problem, next((hint for part, hint in _HINTS.items() if part in problem), ""))
    except yaml.YAMLError as error:
        _refuse(name, Mark(first, 1), f"not YAML: {shown(str(error))}")


def decoded(data: bytes, name: str, limit: int = MAX_BYTES, first: int = 1) -> str:
    """UTF-8 without a byte order mark, and without what no YAML may contain. Raises ``InputError``."""
    if len(data) > limit:
        raise InputError(f"{name}: larger than {limit // 1024} KiB", hint="is this the right file?")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8-sig", "replace")
        wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        hint = "save it as UTF-8" + (" (this is UTF-16, as Windows PowerShell redirects)" if wide else "")
        _refuse(name, _mark_after(before, first), "not UTF-8", hint)
    bad = _UNPRINTABLE.search(text)
    if bad:
        what = f"the control character U+{ord(bad[0]):04X}"
        mark = _mark_after(text[: bad.start()], first)
        _refuse(name, mark, what, "write it as an escape in double quotes, or remove it")
    return text


def _mark_after(text: str, first: int) -> Mark:
    lines = text.split("\n")
    return Mark(len(lines) + first - 1, len(lines[-1]) + 1)


def _refuse(name: str, mark: Mark, what: str, hint: str = "") -> NoReturn:
    raise PlacedError(name, mark, what, hint) from None


def _events(text: str) -> Callable[[], _Event]:
    """The function that returns the parser's next event. Raises ``YAMLError`` for what makes the parser slow."""
    extra = next(islice(_TAG_DIRECTIVE.finditer(text), _MAX_DIRECTIVES, None), None)
    if extra:
        mark = yaml.Mark("", extra.start(), text.count("\n", 0, extra.start()), 0, None, 0)
        raise yaml.MarkedYAMLError(problem=f"more than {_MAX_DIRECTIVES} %TAG directives", problem_mark=mark)
    get: Callable[[], _Event] = _LOADER(text).get_event
    return get


class Builder:
    """Builds values from parser events: unlike composed nodes, events come one at a time, and the first that is
    refused ends it, before a hostile file has cost anything."""

    def __init__(self, name: str, text: str, first: int = 1) -> None:
        self._name = name
        self._mark = Marks(text, first)
        self._next = _events(text)
        self._values = 0
        self.start = Mark(first, 1)
        """Of the document that was built last."""

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
        if key == "<<" and event.implicit[0]:  # in YAML 1.1, which kubectl reads, what stands there is merged in
            self._refuse(
                event, "merge keys (<<) are not taken", "write the fields out; a key of that name needs quotes"
            )
        if key in before:
            line = self._mark(before[key]).line
            self._refuse(event, f"the key {shown(key)} is there twice", f"it is first in line {line}")
        return key

    def _plain(self, event: _Event) -> None:
        if isinstance(event, yaml.AliasEvent):
            self._refuse(event, "aliases (*) are not taken", "write the value out")
        if event.anchor is not None:
            self._refuse(event, "anchors (&) are not taken", "text that starts with & needs quotes")
        if event.tag not in (None, "!"):
            self._refuse(event, "tags (!) are not taken", "text that starts with ! needs quotes")

    def _refuse(self, event: _Event, what: str, hint: str = "") -> NoReturn:
        _refuse(self._name, self._mark(event.start_mark), what, hint)


def scalars(text: str) -> Iterator[tuple[str, str]]:
    """Value and tag of every scalar, whatever is refused elsewhere. Raises ``InputError`` for what is no YAML, and for
    what is nested too deep: the parser's time grows with the square of the depth."""
    depth = 0
    with yaml_errors("", text):
        following = _events(text)
        while not isinstance(event := following(), yaml.StreamEndEvent):
            if isinstance(event, yaml.ScalarEvent):
                yield str(event.value), str(event.tag or "")
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                _refuse("", Mark(1, 1), _TOO_DEEP)


def positions(text: str, number: int = 0, first: int = 1, before: int = 0) -> Node:
    """Where the values of a document stand. ``text`` was built before, so that nothing in it is refused here;
    ``number``: of the document in it; ``first`` and ``before`` are ``Marks``'."""
    following = _events(text)
    left, mark = MAX_PLACES, Marks(text, first, before)

    def node(event: _Event) -> Node:
        nonlocal left
        found = Node(mark(event.start_mark))
        left -= 1
        keyed, index = isinstance(event, yaml.MappingStartEvent), 0
        if isinstance(event, yaml.CollectionStartEvent):
            while not isinstance(event := following(), yaml.CollectionEndEvent):
                key = str(event.value) if keyed else index
                if keyed and left > 0:
                    found.keys[str(key)] = mark(event.start_mark)
                inner, index = node(following() if keyed else event), index + 1
                if left > 0:
                    found.inner[key] = inner
        return found

    while not isinstance(event := following(), yaml.StreamEndEvent):
        if isinstance(event, yaml.DocumentStartEvent):
            if number == 0:
                return node(following())
            node(following())
            number -= 1
    return Node(Mark(first, 1))


def _resolved(event: _Event) -> Value:
    text = str(event.value)
    if not event.implicit[0] or text[:1] not in _TELLING:
        return text
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    if _INTEGER.match(text) and _LEAST_INTEGER <= (whole := int(text)) <= _MOST_INTEGER:
        return whole
    if _NUMBER.match(text) and math.isfinite(float(text)):
        return float(text)
    return text
