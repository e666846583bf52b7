"""Files with many documents, read so that one which cannot be read hides none behind it.

A line that begins with three dashes ends whatever stands before it, be it a block of text or an open bracket
(YAML 1.2.2, section 9.1.2, "c-forbidden"). So a file falls apart at these lines, and each part is read on its own.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from functools import partial
from typing import NoReturn

from scanner.errors import InputError
from scanner.files.source_positions import Located, Mark, Node, PlacedError, Value
from scanner.files.yaml_values import MAX_DEPTH, Builder, decoded, positions, yaml_errors

MOST_BAD = 20
"""Documents of one file that cannot be read: whoever has more mends these first."""

_MARKER = re.compile(rb"\n---(?=[ \t\r\n]|\Z)")
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_SPACE = re.compile(r"[ \t\r\n]*")


class Behind(PlacedError):
    """All documents from here on, of which nobody knows what they are."""


def stream(data: bytes, name: str, limit: int) -> Iterator[Located | InputError]:
    """Every document of a file, or what is wrong with it. After ``MOST_BAD`` of these the rest is not looked at, and
    the last one says so."""
    if len(data) > limit or data.startswith(_WIDE):
        yield _refusal(data, name, limit)
        return
    bad = 0
    for part, line in _parts(data):
        for found in _documents(part, name, line):
            bad += isinstance(found, InputError)
            yield found
        if bad >= MOST_BAD:
            what = f"{bad} documents cannot be read; those behind this line were not looked at"
            yield Behind(name, Mark(line, 1), what, "correct these first")
            return


def document_at(data: bytes, line: int) -> bytes:
    """The last that begins in this line or before it: some are found to be wrong only where they end."""
    return next(part for part, begin in reversed(list(_parts(data))) if begin <= line)


def _refusal(data: bytes, name: str, limit: int) -> InputError:
    try:
        decoded(data, name, limit)
    except InputError as error:
        return error
    raise AssertionError("what begins like UTF-16 is no UTF-8")


def _parts(data: bytes) -> Iterator[tuple[bytes, int]]:
    """What stands between the markers, each part with its own in front, and the line in which it begins."""
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
    """Bytes of the directives at the end, which stand at the beginning of a file or behind ``...``."""
    if b"%" not in piece:
        return 0
    lines = piece.splitlines(keepends=True)
    count = len(lines)
    while count and (not lines[count - 1].strip() or lines[count - 1].lstrip().startswith((b"#", b"%"))):
        count -= 1
    behind = lines[count - 1].startswith(b"...") if count else first
    return sum(map(len, lines[count:])) if behind and any(each.startswith(b"%") for each in lines[count:]) else 0


def _documents(part: bytes, name: str, line: int) -> Iterator[Located | InputError]:
    try:
        text = decoded(part, name, len(part), line)
        if text.lstrip(" \t\r\n").startswith("{") and (found := _json(text, name, line)) is not None:
            yield from found
            return
        with yaml_errors(name, text, line):
            builder = Builder(name, text, line)
            for number, value in enumerate(builder.documents()):
                yield Located(name, value, partial(positions, text, number, line), builder.start)
    except InputError as error:
        yield error


# --- JSON ------------------------------------------------------------------------------------------------------------
# Nearly all of it is YAML, too, but not pairs of surrogates, and not one object after another, which is how jq writes
# and what kubectl takes.


def _json(text: str, name: str, line: int) -> list[Located] | None:
    """Every object of a text of JSON, or None for what is none, or is no good: read as YAML, that is reported with its
    place."""
    decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refused, parse_float=_finite)
    found: list[Located] = []
    before = end = begin = 0
    try:
        while (at := _space(text, end)) < len(text):
            value, end = decoder.raw_decode(text, at)
            if _SURROGATE.search(text, at, end):
                json.dumps(value, ensure_ascii=False).encode()  # half a pair is no character
            _measured(value, 0)
            # From the object before, not from the top: a line may hold all of them.
            line, begin = line + text.count("\n", before, at), max(begin, text.rfind("\n", before, at) + 1)
            start, before = Mark(line, at - begin + 1), at
            found.append(Located(name, value, partial(_json_places, text, at, end, start), start))
    except (ValueError, RecursionError):
        return None
    return found


def _json_places(text: str, begin: int, end: int, start: Mark) -> Node:
    """Each pair of surrogates is replaced by as many characters that YAML takes."""
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
    """Raises ``ValueError`` for what is nested too deep."""
    if not isinstance(value, dict | list):
        return
    if depth == MAX_DEPTH:
        raise ValueError("nested too deep")
    for each in value.values() if isinstance(value, dict) else value:
        _measured(each, depth + 1)
