"""JSON of reports, and files of rows, one object a line, so that a scan keeps no rows in memory."""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self, TextIO, cast

import msgspec

from scanner.errors import InputError, ResourceError
from scanner.model.report import VERDICTS, EndpointRow, FindingRow
from scanner.model.serialization import DecodeError, codec
from scanner.report.escape import json_text

_A_ROW = codec(EndpointRow).decode
_A_FINDING = codec(FindingRow).decode

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":"))
_BUFFER = 1 << 16
"""Bytes: more than most rows have, because rows are not read in the order in which they were written."""
_NONE_REFUSED = '"refused":[]'
"""Never part of a text: in a text its quotes would have backslashes."""


def dumps(value: object) -> str:
    """Encode ``value`` as compact JSON on one line, safe to print (``escape.json_text``)."""
    try:
        return json_text(msgspec.json.encode(value).decode())
    except (UnicodeEncodeError, OverflowError, TypeError):  # lone surrogates, large numbers: slower, otherwise the same
        return json_text(_ENCODER.encode(value))


def write_document(out: TextIO, members: Mapping[str, object]) -> None:
    """Write a JSON object, a line for each member. An iterator is an array of encoded values, a line for each."""
    before = "{"
    for key, value in members.items():
        out.write(f"{before}\n{dumps(key)}: ")
        if isinstance(value, Iterator):
            out.write("[")
            for number, line in enumerate(value):
                out.write(",\n" if number else "\n")
                out.write(line)  # apart, because a line is long
            out.write("\n]")
        else:
            out.write(dumps(value))
        before = ","
    out.write("\n}\n")


def row_text(row: EndpointRow) -> str:
    """Encode a row like ``dumps``, with the lists of refused suites filled in afterwards.

    They are nine tenths of a row, and the same in most rows of a scan.
    """
    observed = row["observed"]
    versions = observed["versions"] or {}
    spoken = [version for version in versions.values() if version]
    if not spoken:
        return dumps(row)
    short = {name: version and {**version, "refused": []} for name, version in versions.items()}
    first, *others = dumps({**row, "observed": {**observed, "versions": short}}).split(_NONE_REFUSED)
    lists = (_refused(tuple(version["refused"])) for version in spoken)
    return first + "".join(f"{names}{rest}" for names, rest in zip(lists, others, strict=True))


@lru_cache(maxsize=256)
def _refused(names: tuple[str, ...]) -> str:
    return f'"refused":{dumps(names)}'


class RowFile:
    """A JSON-lines file of endpoint rows, written during the scan and read once or more by each format.

    Every row is written at once, so that a killed run loses none. Raises ``ResourceError`` if the file cannot be opened
    or written.
    """

    def __init__(self, path: Path) -> None:
        """Create an empty file at ``path``."""
        self.path = path
        self._places, self._starts = array("q"), array("q")  # lists of tuples take eight times the memory
        self._written = 0
        try:
            self._out = path.open("wb", buffering=0)
        except OSError as error:
            raise _cannot_write(path, error) from error

    def append(self, row: EndpointRow, place: int = 0) -> int:
        """Write a row. ``rows`` sorts by ``place``, then by number.

        Returns the number of the row, for ``row`` and ``replace``.
        """
        self._starts.append(self._write(row))
        self._places.append(place)
        return len(self._places) - 1

    def row(self, number: int) -> EndpointRow:
        """Return the row with this number."""
        with _opened(self.path) as source:
            source.seek(self._starts[number])
            return cast("EndpointRow", _object(f"{self.path}", source.readline(), _is_ours))

    def replace(self, number: int, row: EndpointRow) -> None:
        """Replace a row. The new one is written at the end of the file: the last row of an instance counts."""
        self._starts[number] = self._write(row)

    def _write(self, row: EndpointRow) -> int:
        """Write a row and return its position in the file."""
        line = memoryview(row_text(row).encode() + b"\n")
        start = self._written
        self._written += len(line)
        try:
            while line:  # a raw file may take less than all of it
                line = line[self._out.write(line) :]
        except OSError as error:
            raise _cannot_write(self.path, error) from error
        return start

    def rows(self) -> Iterator[EndpointRow]:
        """Yield all rows by place, so that the same targets give the same report."""
        for line in self._lines():
            yield cast("EndpointRow", _object(f"{self.path}", line, _is_ours))

    def lines(self) -> Iterator[str]:
        """Yield the rows as JSON, without the end of the line."""
        for line in self._lines():
            yield line.decode().rstrip("\n")

    def _lines(self) -> Iterator[bytes]:
        with _opened(self.path) as source:
            position = 0
            for number in sorted(range(len(self._places)), key=self._places.__getitem__):
                if self._starts[number] != position:  # as a rule the next line: a seek would drop what is buffered
                    position = source.seek(self._starts[number])
                line = source.readline()
                position += len(line)
                yield line

    def close(self) -> None:
        """Close the file for writing; ``rows`` still works."""
        self._out.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_rows(path: Path) -> Iterator[EndpointRow]:
    """Yield the rows of a ``RowFile``, without an incomplete last line of a killed run.

    Raises ``InputError`` with file, line and column for a line that is no row.
    """
    with _opened(path) as source:
        for number, line in enumerate(source, start=1):
            if line.endswith(b"\n"):  # else its writer was killed: that row was never finished
                yield cast("EndpointRow", _object(f"{path}:{number}", line, _A_ROW))


def read_findings(path: Path) -> Iterator[FindingRow]:
    """Yield the findings of a file with one JSON object a line. Raises ``InputError`` like ``read_rows``."""
    with _opened(path) as source:
        for number, line in enumerate(source, start=1):
            yield cast("FindingRow", _object(f"{path}:{number}", line, _A_FINDING))


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb", buffering=_BUFFER)
    except OSError as error:
        raise InputError(f"{path}: cannot read the rows: {error.strerror or error}") from error


def _is_ours(value: object) -> object:
    """Check a row that this process has written."""
    if not isinstance(value, dict) or not value.keys() >= EndpointRow.__required_keys__:
        raise DecodeError("members are missing")
    return value


def _parsed(line: bytes) -> object:
    try:
        return cast("object", msgspec.json.decode(line))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return json.loads(line)  # for its answer, and for numbers that the faster parser does not take


def _object(where: str, line: bytes, decode: Callable[[object], Any]) -> dict[str, object]:
    hint = "this is not a file of rows that adhere wrote"
    try:
        value: dict[str, object] = decode(_parsed(line))
    except json.JSONDecodeError as error:
        raise InputError(f"{where}:{error.colno}: {error.msg}", hint=hint) from error
    except DecodeError as error:
        detail = f" ({error.path}: {error.problem})" if error.path else ""
        raise InputError(f"{where}:1: not a row of adhere.scan/v1{detail}", hint=hint) from error
    except (UnicodeDecodeError, RecursionError, ValueError) as error:
        raise InputError(f"{where}:1: not a line of JSON in UTF-8", hint=hint) from error
    if value["verdict"] not in VERDICTS:
        raise InputError(f"{where}:1: not a row of adhere.scan/v1", hint=hint)
    return value


def _cannot_write(path: Path, error: OSError) -> ResourceError:
    return ResourceError(
        f"{path}: cannot keep the results: {error.strerror or os.strerror(error.errno or 0)}",
        hint="is the disk full, or the directory not writable?",
    )
