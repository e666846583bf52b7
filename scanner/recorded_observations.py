"""Observations that an earlier run, or another shard, of the same scan has recorded: they are not repeated."""

from __future__ import annotations

import os
import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from scanner.errors import InputError
from scanner.files.regular_file import opened
from scanner.model.saved_scan import MOST_BYTES, PARTS, SHARDS, Seen, decode
from scanner.values import replace

_PLACE = re.compile(rb'\{"record":"[\w./]+","place":(\d{1,15}),')
_STOPPED = b'"stopped":"'
"""In the line of an endpoint that the end of the scan has cut off; in a text the quotes have backslashes."""


class Recorded(Protocol):
    """Observations by the place of their job."""

    def at(self, place: int) -> Mapping[str, Seen]:
        """Return the finished observations of a job, by instance."""
        ...


class RecordedObservations:
    """The index of files of observations: 20 bytes an endpoint, because a scan may have a million.

    Raises ``InputError`` for a file that is not one of adhere. Lines that were not completed are left out, and so are
    endpoints that the end of the scan has cut off: they are asked again.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        self._paths = tuple(paths)
        places, files, offsets = array("q"), array("I"), array("q")
        for number, path in enumerate(self._paths):
            for place, offset in _index(path):
                places.append(place)
                files.append(number)
                offsets.append(offset)
        order = sorted(range(len(places)), key=places.__getitem__)
        self._places = array("q", (places[each] for each in order))
        self._files = array("I", (files[each] for each in order))
        self._offsets = array("q", (offsets[each] for each in order))

    def __len__(self) -> int:
        return len(self._places)

    def at(self, place: int) -> Mapping[str, Seen]:
        """Return the finished observations of a job, by instance. Raises ``InputError``."""
        found: dict[str, Seen] = {}
        number = bisect_left(self._places, place)
        while number < len(self._places) and self._places[number] == place:
            seen = _read(self._paths[self._files[number]], self._offsets[number])
            found[seen.endpoint.instance] = seen
            number += 1
        return found

    def places(self) -> Iterator[int]:
        """Yield the places that have an observation, in their order."""
        before = None
        for place in self._places:
            if place != before:
                yield place
            before = place


class OfSeveralScans:
    """The observations of several scans that are merged: the places of each follow those of the one before, and with
    several clusters ids begin with the cluster's name."""

    def __init__(self, parts: Sequence[tuple[Recorded, int, str]]) -> None:
        """``parts``: for each scan its observations, its number of places, and the prefix of its ids."""
        self._parts = parts

    def at(self, place: int) -> Mapping[str, Seen]:
        """Return the finished observations of a job, by instance. Raises ``InputError``."""
        for recorded, count, prefix in self._parts:
            if place < count:
                return {f"{prefix}{name}": _named(seen, prefix) for name, seen in recorded.at(place).items()}
            place -= count
        return {}


def _named(seen: Seen, prefix: str) -> Seen:
    if not prefix:
        return seen
    endpoint, instance = seen.endpoint, f"{prefix}{seen.endpoint.instance}"
    return replace(
        seen,
        endpoint=replace(endpoint, id=f"{prefix}{endpoint.id}", instance=instance),
        observation=replace(seen.observation, instance=instance),
    )


def recorded_files(directory: str, scan: str) -> list[Path]:
    """Return the files of observations of the saved scan with this id, and of its shards. Shards of a former scan in
    the same directory have another id."""
    return [*sorted(Path(directory).glob(PARTS)), *sorted(Path(directory, SHARDS, scan).glob(f"*/{PARTS}"))]


def remove_unfinished(path: Path) -> None:
    """Remove what the next run makes again: a last line that was not completed, and endpoints that were cut off.
    Raises ``InputError`` for a file that is not one of adhere, ``OSError`` if it cannot be written."""
    if not os.path.lexists(path):
        return
    rest = path.with_name(f"{path.name}.new")
    with rest.open("wb") as out:
        out.writelines(line for line in _complete_lines(path) if _STOPPED not in line)
    rest.replace(path)


def _index(path: Path) -> Iterator[tuple[int, int]]:
    """Yield place and position of each complete line."""
    offset = 0
    for number, line in enumerate(_complete_lines(path), start=1):
        found = _PLACE.match(line)
        if not found:
            raise InputError(f"{path}:{number}: no observation with a place", hint="was the file changed? Scan again")
        if _STOPPED not in line:
            yield int(found[1]), offset
        offset += len(line)


def _complete_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a regular file, without the last one if it was not completed."""
    with opened(path, path.parent) as source:
        while (line := source.readline(MOST_BYTES + 1)).endswith(b"\n"):
            yield line
        if len(line) > MOST_BYTES:
            raise InputError(f"{path}: a line is longer than {MOST_BYTES} bytes", hint="was the file changed?")


def _read(path: Path, offset: int) -> Seen:
    with opened(path, path.parent) as source:
        source.seek(offset)
        line = source.readline(MOST_BYTES + 1)
    if not line.endswith(b"\n"):
        raise InputError(f"{path}: longer than {MOST_BYTES} bytes at byte {offset}", hint="was the file changed?")
    return decode(line, f"{path}: byte {offset}")
