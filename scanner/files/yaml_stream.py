"""Files with several documents, where an invalid document hides no other.

A line that begins with three dashes ends everything before it, also a block of text or an open bracket (YAML 1.2.2,
section 9.1.2, "c-forbidden"). So a file is split at these lines, and each part is read on its own.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple, NoReturn

from scanner.errors import InputError
from scanner.files import yaml_values
from scanner.files.source_positions import Located, Mark, Node, PlacedError, Value
from scanner.files.yaml_values import MAX_DEPTH, Builder, decoded, positions, yaml_errors

MOST_BAD = 20
"""Most unreadable documents of one file to report."""
MAX_DOCUMENTS = 1_000_000
"""Documents of all files, empty ones too: a minute of reading. One file can have four times as many."""


class DocumentLimit:
    """Counts the documents of several files."""

    def __init__(self, most: int = MAX_DOCUMENTS) -> None:
        self.most = self.left = most

    def take(self, name: str) -> None:
        """Count a document of a file. Raises ``InputError`` for too many."""
        self.left -= 1
        if self.left < 0:
            raise InputError(
                f"{name}: more than {self.most:,} documents in all files up to this one",
                hint="lint them in several runs, or remove the file",
            )


_MARKER = re.compile(rb"\n---(?=[ \t\r\n]|\Z)")
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_NO_VALUE = re.compile(rb"[ \t\r]*(#|---[ \t\r]*(#|\Z)|\Z)")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_SPACE = re.compile(r"[ \t\r\n]*")


class RestUnreadError(PlacedError):
    """The rest of a file, which was not read."""


def stream(
    data: bytes, name: str, limit: int, documents: DocumentLimit | None = None
) -> Iterator[Located | InputError]:
    """All documents of a file, or their errors. After ``MOST_BAD`` errors the rest is not read, which the last error
    says. Raises ``InputError`` for more documents than ``documents`` has left."""
    documents = documents or DocumentLimit()
    if len(data) > limit or data.startswith(_WIDE):
        yield _refusal(data, name, limit)
        return
    bad = 0
    for part, line in _parts(data):
        documents.take(name)
        for number, found in enumerate(_documents(part, name, line, documents.left + 1)):
            if number:
                documents.take(name)
            bad += isinstance(found, InputError)
            yield found
        if bad >= MOST_BAD:
            what = f"{bad} documents cannot be read; those after this line were not read"
            yield RestUnreadError(name, Mark(line, 1), what, "correct these first")
            return


class Comment(NamedTuple):
    """A comment of a file."""

    mark: Mark
    text: str
    """The first group of the pattern."""
    line: int
    """The line that it is about: its own, or the next one with a value if it is alone in its line."""
    alone: bool


def comments(data: bytes, sought: re.Pattern[str]) -> Iterator[Comment]:
    """Comments that ``sought`` matches, except in documents that cannot be read."""
    lines = data.removeprefix(codecs.BOM_UTF8).split(b"\n")
    for part, first in _parts(data):
        try:
            for mark, match in yaml_values.comments(decoded(part, "", len(part), first), sought, first):
                alone = lines[mark.line - 1].lstrip().startswith(b"#")
                about = mark.line
                while alone and about < len(lines) and _NO_VALUE.match(lines[about - 1]):
                    about += 1
                yield Comment(mark, match[1], about, alone)
        except InputError:
            continue


def document_at(data: bytes, line: int) -> bytes:
    """The last document that begins in this line or before it, since some errors are found only at the end."""
    return next(part for part, begin in reversed(list(_parts(data))) if begin <= line)


def _refusal(data: bytes, name: str, limit: int) -> InputError:
    try:
        decoded(data, name, limit)
    except InputError as error:
        return error
    raise AssertionError("unreachable: UTF-16 is not UTF-8")


def _parts(data: bytes) -> Iterator[tuple[bytes, int]]:
    """The parts between the markers, each with its own marker, and their first lines."""
    markers = (match.start() + 1 for match in _MARKER.finditer(data))
    line, begin, before = 1, 0, 0
    for marker in (*markers, len(data)):
        # ``%YAML 1.2`` belongs to the document behind the marker.
        end = marker - _directives(data[before:marker], first=before == 0) if marker < len(data) else marker
        if end > begin:
            yield data[begin:end], line
            line += data.count(b"\n", begin, end)
        begin, before = end, marker


def _directives(piece: bytes, *, first: bool) -> int:
    """Bytes of the directives at the end, which are at the beginning of a file or after ``...``."""
    if b"%" not in piece:
        return 0
    lines = piece.splitlines(keepends=True)
    count = len(lines)
    while count and (not lines[count - 1].strip() or lines[count - 1].lstrip().startswith((b"#", b"%"))):
        count -= 1
    behind = lines[count - 1].startswith(b"...") if count else first
    return sum(map(len, lines[count:])) if behind and any(each.startswith(b"%") for each in lines[count:]) else 0


def _documents(part: bytes, name: str, line: int, most: int) -> Iterator[Located | InputError]:
    try:
        text = decoded(part, name, len(part), line)
        if text.lstrip(" \t\r\n").startswith("{") and (found := _json(text, name, line, most)) is not None:
            yield from found
            return
        with yaml_errors(name, text, line):
            builder = Builder(name, text, line)
            for number, value in enumerate(builder.documents()):
                yield Located(name, value, partial(positions, text, number, line), builder.start)
    except InputError as error:
        yield error


# --- JSON ------------------------------------------------------------------------------------------------------------
# JSON is nearly always YAML, but pairs of surrogates are not, nor several objects without a separator, as jq writes
# them and kubectl reads them.


def _json(text: str, name: str, line: int, most: int) -> list[Located] | None:
    """All objects of a JSON text, the first of more than ``most``, or None if it is invalid: then YAML reports the
    position."""
    decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refused, parse_float=_finite)
    found: list[Located] = []
    before = end = begin = 0
    try:
        while (at := _space(text, end)) < len(text) and len(found) <= most:
            value, end = decoder.raw_decode(text, at)
            if _SURROGATE.search(text, at, end):
                json.dumps(value, ensure_ascii=False).encode()  # a single surrogate is no character
            _measured(value, 0)
            # Count from the object before, since one line may have all objects.
            line, begin = line + text.count("\n", before, at), max(begin, text.rfind("\n", before, at) + 1)
            start, before = Mark(line, at - begin + 1), at
            found.append(Located(name, value, partial(_json_places, text, at, end, start), start))
    except (ValueError, RecursionError):
        return None
    return found


def _json_places(text: str, begin: int, end: int, start: Mark) -> Node:
    """The positions; pairs of surrogates are replaced by as many characters that YAML accepts."""
    plain = re.sub(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}", "xxxxxx", text[begin:end])
    try:
        with yaml_errors("", plain, start.line):
            return positions(plain, 0, start.line, start.column - 1)
    except InputError:
        return Node(start)


def _space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _unique(pairs: list[tuple[str, Value]]) -> dict[str, Value]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def _refused(word: str) -> NoReturn:
    raise ValueError(word)


def _finite(text: str) -> float:
    number = float(text)
    if number - number != 0:
        raise ValueError(text)
    return number


def _measured(value: Value, depth: int) -> None:
    """Raise ``ValueError`` for too deep nesting."""
    if not isinstance(value, dict | list):
        return
    if depth == MAX_DEPTH:
        raise ValueError("nested too deep")
    for each in value.values() if isinstance(value, dict) else value:
        _measured(each, depth + 1)
