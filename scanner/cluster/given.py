"""Manifests as people keep them: files, directories and standard input, each object with the place where it stands.

Unlike a replayed directory this says nothing of what a cluster has: it is what somebody is about to apply.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from scanner.cluster.keeping import kept
from scanner.cluster.manifests import SUFFIXES
from scanner.cluster.prune import Pruner
from scanner.errors import InputError
from scanner.model.declared import Given, Place
from scanner.model.kinds import SECRET, Kind
from scanner.model.located import MAX_BYTES, Located, Steps, located_documents
from scanner.model.objects import Fields, KubeObject

MAX_FILE = 16 * MAX_BYTES
MAX_FILES = 100_000
MAX_OBJECTS = 1_000_000
STANDARD_INPUT = "-"
_LISTS = 3
"""Lists in lists that are looked into."""
_SKIPPED = frozenset({".git", "node_modules", ".venv"})
"""Directories that hold nothing that anybody applies."""
_PLACED = re.compile(r"(.*):([0-9]+):([0-9]+): (.*)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Bad:
    """Something that could not be read: everything behind it in its file was not looked at."""

    place: Place
    message: str
    hint: str = ""


@dataclass(slots=True)
class Manifests:
    """What was given."""

    given: list[Given] = field(default_factory=list)
    bad: list[Bad] = field(default_factory=list)
    files: int = 0
    others: int = 0
    """Objects of kinds that nobody looks at."""
    strangers: int = 0
    """Documents that are no Kubernetes objects: values of a chart, a pipeline."""


def read_manifests(paths: Iterable[str], kinds: Iterable[Kind]) -> Manifests:
    """Every object of ``kinds`` in the files, in the directories' ``.yaml``, ``.yml`` and ``.json`` files, and in
    standard input (``-``). Raises ``InputError`` for a path that does not exist or a directory that cannot be listed.
    """
    reader = _Reader(kinds)
    seen: set[str] = set()
    for given in paths:
        for name in _files(given):
            if name not in seen:  # a directory and a file in it
                seen.add(name)
                reader.file(name)
    return reader.found


def _files(given: str) -> Iterator[str]:
    path = Path(given)
    if given == STANDARD_INPUT or (path.exists() and not path.is_dir()):
        yield given
        return
    if not path.exists():
        raise InputError(f"{given}: there is no such file or directory", hint="is the path right?")
    count = 0
    for parent, names, files in os.walk(given, onerror=_unlisted):
        names[:] = sorted(each for each in names if each not in _SKIPPED)
        for name in sorted(each for each in files if each.endswith(SUFFIXES)):
            count += 1
            if count > MAX_FILES:
                raise InputError(f"{given}: more than {MAX_FILES:,} files", hint="is this the right directory?")
            yield str(Path(parent, name))


def _unlisted(error: OSError) -> None:
    raise InputError(f"{error.filename}: cannot be listed: {error.strerror}") from None


class _Reader:
    """Sorts objects into the kinds that are wanted."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._kinds = {(kind.group, kind.name): kind for kind in kinds}
        self._pruner = Pruner()
        self.found = Manifests()

    def file(self, name: str) -> None:
        """Take every object of a file; where it cannot be read any further is remembered."""
        self.found.files += 1
        try:
            for document in located_documents(_bytes(name), _shown(name), MAX_FILE):
                self._object(document, (), document.value, _LISTS)
        except InputError as error:
            self.found.bad.append(_bad(_shown(name), error))

    def _object(self, document: Located, above: Steps, value: object, lists: int) -> None:
        if value is None:
            return
        raw = Fields(value) if isinstance(value, dict) else Fields({})
        version, name = raw.text("apiVersion"), raw.text("kind")
        if not (version and name):
            self.found.strangers += 1
            return
        items = raw.at("items")
        if name.endswith("List") and isinstance(items, list):
            for index, item in enumerate(items) if lists else ():
                self._object(document, (*above, "items", index), item, lists - 1)
            return
        kind = self._kinds.get((version.rpartition("/")[0], name))
        if kind is None:
            self.found.others += 1
        elif len(self.found.given) < MAX_OBJECTS:
            self._take(kind, document, above, raw)

    def _take(self, kind: Kind, document: Located, above: Steps, raw: Fields) -> None:
        # Of a Secret only what may be kept; of others everything, since what is pruned is just what may be wrong.
        found = kept(kind, raw.raw, self._pruner) if kind == SECRET else KubeObject(raw.raw, kind)
        if found is None or not found.name:
            mark = document.mark((*above, "metadata"))
            place = Place(document.file, *mark)
            self.found.bad.append(Bad(place, f"{kind.name} without a name", "metadata.name is required"))
            return
        self.found.given.append(Given(object=found, located=document, above=above))


def _shown(name: str) -> str:
    return "<stdin>" if name == STANDARD_INPUT else name


def _bytes(name: str) -> bytes:
    try:
        if name == STANDARD_INPUT:
            return sys.stdin.buffer.read(MAX_FILE + 1)
        with Path(name).open("rb") as file:
            return file.read(MAX_FILE + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"{name}: cannot be read: {reason}") from None


def _bad(name: str, error: InputError) -> Bad:
    """An error with its place apart from what it says."""
    placed = _PLACED.match(error.message)
    if placed:
        return Bad(Place(name, int(placed[2]), int(placed[3])), placed[4], error.hint)
    return Bad(Place(name, 1, 1), error.message.removeprefix(f"{name}: "), error.hint)
