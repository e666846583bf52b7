"""Manifests as people keep them: files, directories and standard input, each object with the place where it stands.

Unlike a replayed directory this says nothing of what a cluster has: it is what somebody is about to apply.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from scanner.cluster import route_keys
from scanner.cluster.keeping import kept
from scanner.cluster.manifest_files import STANDARD_INPUT, Skipped, Unlisted, files
from scanner.cluster.prune import Pruner
from scanner.errors import InputError
from scanner.model.declared import Given, Place
from scanner.model.held_profiles import held_profiles
from scanner.model.kinds import ROUTE, SECRET, Kind
from scanner.model.located import MAX_BYTES, Located, PlacedError, Steps, shown
from scanner.model.objects import Fields, KubeObject
from scanner.model.yaml_stream import stream

MAX_FILE = 16 * MAX_BYTES
MAX_OBJECTS = 1_000_000
_LISTS = 3
"""Lists in lists that are looked into."""
_TEMPLATE = b"{{"
_RENDERED = "a template? lint what it renders: helm template . | adhere lint -"


@dataclass(frozen=True, slots=True)
class Bad:
    """Something that could not be read: the document, the object or the whole file was not looked at."""

    place: Place
    message: str
    hint: str = ""


@dataclass(slots=True)
class Manifests:
    """What was given."""

    given: list[Given] = field(default_factory=list)
    bad: list[Bad] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    files: int = 0
    others: int = 0
    """Objects of kinds that nobody looks at."""
    strangers: int = 0
    """Documents that are no Kubernetes objects: values of a chart, a pipeline."""


def read_manifests(paths: Iterable[str], kinds: Iterable[Kind]) -> Manifests:
    """Every object of ``kinds`` in the files, in the directories' ``.yaml``, ``.yml`` and ``.json`` files, and in
    standard input (``-``). Raises ``InputError`` for a path that does not exist, and for more files or objects than
    anybody has.
    """
    reader = _Reader(kinds)
    seen: set[str] = set()
    for given in paths:
        for each in files(given):
            if isinstance(each, Skipped):
                reader.found.skipped.append(each)
            elif isinstance(each, Unlisted):
                reader.found.bad.append(Bad(Place(each.path, 1, 1), f"the directory: {each.reason}"))
            elif (real := each if each == STANDARD_INPUT else os.path.realpath(each)) not in seen:
                seen.add(real)  # a directory and a file in it
                reader.file(each)
    return reader.found


class _Reader:
    """Sorts objects into the kinds that are wanted."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._kinds = {(kind.group, kind.name): kind for kind in kinds}
        self._names = {kind.name for kind in kinds}
        self._pruner = Pruner()
        self.found = Manifests()

    def file(self, name: str) -> None:
        """Take every object of a file; what cannot be read is remembered."""
        self.found.files += 1
        try:
            data = _bytes(name)
        except InputError as error:
            self.found.bad.append(_bad(_shown(name), error))
            return
        for document in stream(data, _shown(name), MAX_FILE):
            if isinstance(document, InputError):
                bad = _bad(_shown(name), document)
                lines = data.splitlines()[max(bad.place.line - 2, 0) : bad.place.line]
                templated = _TEMPLATE in b"".join(lines)
                self.found.bad.append(Bad(bad.place, bad.message, _RENDERED) if templated else bad)
            else:
                self._object(document, (), document.value, _LISTS)

    def _object(
        self, document: Located, above: Steps, value: object, lists: int, version: str = "", name: str = ""
    ) -> None:
        """An object or a list of some; those of a typed list need not say what they are."""
        if value is None:
            return
        raw = Fields(value) if isinstance(value, dict) else Fields({})
        version, name = raw.text("apiVersion") or version, raw.text("kind") or name
        if wrong := self._half_named(raw, version, name):
            self._bad(document, above, *wrong)
        elif not (version and name):
            self.found.strangers += 1
        elif name.endswith("List") and raw.has("items"):
            self._items(document, above, raw, lists, (version, "" if name == "List" else name.removesuffix("List")))
        else:
            self._sorted(document, above, raw, version, name)

    def _half_named(self, raw: Fields, version: str, name: str) -> tuple[str, str] | None:
        """What is wrong with an object that somebody meant to be one of ours."""
        if name not in self._names or not raw.has("metadata"):
            return None
        if not version:
            return f"{name} without apiVersion", "apiVersion is GROUP/VERSION, or VERSION of the core's"
        if "." in version and "/" not in version:
            return f"{name} of {shown(version)}, which has no version", f"apiVersion: {version}/v1"
        return None

    def _items(self, document: Located, above: Steps, raw: Fields, lists: int, typed: tuple[str, str]) -> None:
        items = raw.at("items")
        if not isinstance(items, list):
            self._bad(document, (*above, "items"), "items is no list", "")
        elif not lists:
            self._bad(document, above, f"lists in lists, more than {_LISTS} deep", "")
        else:
            for index, item in enumerate(items):
                self._object(document, (*above, "items", index), item, lists - 1, *(typed if typed[1] else ()))

    def _sorted(self, document: Located, above: Steps, raw: Fields, version: str, name: str) -> None:
        kind = self._kinds.get((version.rpartition("/")[0], name))
        if kind is None and next(held_profiles(raw), None):
            kind = Kind(group=version.rpartition("/")[0], plural="", name=name)  # somebody's own, with a TLS profile
        if kind is None:
            self.found.others += 1
            return
        whole = {"apiVersion": version, "kind": name, **raw.raw}
        found = self._kept(kind, whole)
        if found is None or not found.name:
            self._bad(document, (*above, "metadata"), f"{kind.name} without a name", _named(raw))
            return
        if len(self.found.given) >= MAX_OBJECTS:
            raise InputError(f"{document.file}: more than {MAX_OBJECTS:,} objects", hint="lint them in several runs")
        self.found.given.append(Given(object=found, located=document, above=above))

    def _kept(self, kind: Kind, whole: dict[str, object]) -> KubeObject | None:
        """Of a Secret only what may be kept; of others everything, since what is pruned is just what may be wrong, but
        for private keys: one may stand in any field, by mistake, and findings quote what they are about."""
        if kind == SECRET:
            return kept(kind, whole, self._pruner)
        scrubbed = self._pruner.copy(route_keys.without_key(whole) if kind == ROUTE else whole)
        return KubeObject(scrubbed, kind) if isinstance(scrubbed, dict) else None

    def _bad(self, document: Located, steps: Steps, message: str, hint: str) -> None:
        self.found.bad.append(Bad(Place(document.file, *document.mark(steps)), message, hint))


def _named(raw: Fields) -> str:
    if raw.text("metadata", "generateName"):
        return "metadata.generateName makes a new object at each run; give it a name to have it linted"
    return "metadata.name is required, as text"


def _shown(name: str) -> str:
    return "<stdin>" if name == STANDARD_INPUT else name


def _bytes(name: str) -> bytes:
    try:
        if name != STANDARD_INPUT:
            with Path(name).open("rb") as file:
                return file.read(MAX_FILE + 1)
        if sys.stdin is None:
            raise InputError("<stdin>: cannot be read: it is closed")
        return sys.stdin.buffer.read(MAX_FILE + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"{_shown(name)}: cannot be read: {reason}") from None


def _bad(name: str, error: InputError) -> Bad:
    """An error with its place apart from what it says."""
    if isinstance(error, PlacedError):
        return Bad(Place(name, *error.mark), error.what, error.hint)
    return Bad(Place(name, 1, 1), error.message.removeprefix(f"{name}: ").removeprefix("cannot be read: "), error.hint)
