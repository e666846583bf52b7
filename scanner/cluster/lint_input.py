"""Read manifests from files, directories and standard input; each object keeps its file, line and column.

Unlike a replayed directory this says nothing of what a cluster has: it is what somebody is about to apply.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from scanner.cluster.manifest_documents import MAX_OBJECTS, Bad, Manifests, Objects
from scanner.cluster.manifest_files import STANDARD_INPUT, Skipped, Unlisted, chart_of, files, rendered
from scanner.errors import InputError
from scanner.files.source_positions import PlacedError
from scanner.files.yaml_stream import Behind, document_at, stream
from scanner.files.yaml_values import MAX_BYTES, scalars
from scanner.kube.kinds import Kind
from scanner.model.declared import DEFAULT, Place

_WORDS: Final = frozenset({"apiversion", "kind"})
"""Without a key of either there is no object, whatever YAML makes of the rest. In whatever letters: a mistake in them
is no reason to look away."""
_SPELT: Final = re.compile(r"apiversion|kind|\\[xuU]", re.IGNORECASE)
"""The same in text that is neither YAML nor JSON, and what may spell them."""
_BRACES: Final = "{{"
_NUL: Final = "\0"
"""Every other character of ASCII text in UTF-16."""


def is_stranger(document: bytes, *, is_json: bool = False) -> bool:
    """Whether a document that was refused is none that anybody applies.

    What is no YAML may be a manifest with a slip in it, so that only of files that call themselves JSON (``tsconfig``,
    settings of editors: JSON with comments) the text alone decides.
    """
    try:
        text = document.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    if _BRACES in text or _NUL in text:
        return False  # nobody knows what it renders, or in which encoding it is
    try:
        return not any(_may_be_said(value, tag) for value, tag in scalars(text))
    except InputError:
        return is_json and not _SPELT.search(text)


def _may_be_said(value: str, tag: str) -> bool:
    """One of the words, or a text in base64, which kubectl's reader takes apart (YAML 1.1, ``!!binary``)."""
    return value.casefold() in _WORDS or tag.endswith("binary")


__all__ = ["MAX_FILE", "MAX_OBJECTS", "Bad", "Manifests", "read_manifests"]

MAX_FILE = 16 * MAX_BYTES
_TEMPLATE = b"{{"
_NO_OBJECT = "it has no apiVersion and no kind, and is taken for no manifest"
_RENDERED = "a template? lint what it renders: helm template . | adhere lint -"


def read_manifests(paths: Iterable[str], kinds: Iterable[Kind], namespace: str = DEFAULT) -> Manifests:
    """Every object of ``kinds`` in the files, in the directories' ``.yaml``, ``.yml`` and ``.json`` files, and in
    standard input (``-``). ``namespace``: of objects that name none. Raises ``InputError`` for a path that does not
    exist, and for more files or objects than anybody has.
    """
    reader = _Reader(kinds, namespace)
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
    """Takes files apart into documents."""

    def __init__(self, kinds: Iterable[Kind], namespace: str) -> None:
        self.found = Manifests(namespace=namespace)
        self._objects = Objects(kinds, self.found)
        self._charts: set[str] = set()

    def file(self, name: str) -> None:
        """Take every object of a file; what cannot be read is remembered."""
        self.found.files += 1
        try:
            data = _bytes(name)
        except InputError as error:
            self.found.bad.append(_bad(_shown(name), error))
            return
        if _TEMPLATE in data and (chart := chart_of(name)):
            self._of_chart(chart)
            return
        templated = False
        for document in stream(data, _shown(name), MAX_FILE):
            if not isinstance(document, InputError):
                self._objects.document(document)
                continue
            bad = _bad(_shown(name), document)
            if _is_one(document) and is_stranger(
                document_at(data, bad.place.line), is_json=name.lower().endswith(".json")
            ):
                self.found.bad.append(replace(bad, message=f"{bad.message}; {_NO_OBJECT}", hint="", stranger=True))
            elif not _is_templated(data, bad.place.line):
                self.found.bad.append(bad)
            elif not templated:  # once a file: they are all one mistake
                self.found.bad.append(Bad(bad.place, bad.message, _RENDERED))
                templated = True

    def _of_chart(self, chart: str) -> None:
        """Templates of a chart that were named one by one, as by a hook."""
        if chart not in self._charts:
            self._charts.add(chart)
            self.found.skipped.append(rendered(chart))


def _is_one(error: InputError) -> bool:
    """Whether it is about a document: of a file that is too large, and of what is behind the last that was looked at,
    the first says nothing."""
    return isinstance(error, PlacedError) and not isinstance(error, Behind)


def _is_templated(data: bytes, line: int) -> bool:
    """Whether the line, or the one before, which is where some mistakes begin, has what a template has."""
    return _TEMPLATE in b"".join(data.split(b"\n")[max(line - 2, 0) : line])


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
