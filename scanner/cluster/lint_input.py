"""Manifests from files, directories and standard input; each object keeps its file, line and column.

Unlike a saved snapshot, they do not show the state of a cluster.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from msgspec import Struct

from scanner.cluster.manifest_documents import Bad, Manifests, Objects, Skipped
from scanner.cluster.manifests import SUFFIXES
from scanner.errors import InputError
from scanner.files.regular_file import LINK_OUT, NOT_REGULAR, content, leads_out
from scanner.files.source_positions import PlacedError
from scanner.files.yaml_stream import MAX_DOCUMENTS, DocumentLimit, RestUnreadError, comments, document_at, stream
from scanner.files.yaml_values import MAX_BYTES, load, scalars
from scanner.kube.kinds import Kind
from scanner.kube.objects import Fields
from scanner.model.declared import DEFAULT, Place
from scanner.values import replace

_KEYS: Final = frozenset({"apiversion", "kind"})
"""Keys of an object. Their case is ignored: a wrong one is reported, not skipped."""
_IN_TEXT: Final = re.compile(r"apiversion|kind|\\[xuU]", re.IGNORECASE)
"""The same keys in text that is neither YAML nor JSON, and escapes that may spell them."""
_BRACES: Final = "{{"
_NUL: Final = "\0"
"""Every second byte of ASCII text in UTF-16."""


def is_no_object(document: bytes, *, is_json: bool = False) -> bool:
    """True if an unreadable document is no Kubernetes object.

    Invalid YAML may be a manifest with an error in it. So the text alone decides only for ``.json`` files, such as JSON
    with comments (``tsconfig``, settings of editors).
    """
    try:
        text = document.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    if _BRACES in text or _NUL in text:
        return False  # the rendered text or the encoding is unknown
    try:
        return not any(_may_be_key(value, tag) for value, tag in scalars(text))
    except InputError:
        return is_json and not _IN_TEXT.search(text)


def _may_be_key(value: str, tag: str) -> bool:
    """True for one of these keys, or base64 (YAML 1.1, ``!!binary``), which kubectl decodes."""
    return value.casefold() in _KEYS or tag.endswith("binary")


MAX_FILE = 16 * MAX_BYTES
_TEMPLATE = b"{{"
_IGNORE: Final = re.compile(r"#[ \t]*adhere:[ \t]*ignore\b([^\n]{0,1000})")
_IGNORE_BYTES: Final = b"adhere:"
_MOST_IGNORES = 1000
"""Ignores of one file; more are not honoured."""
_NO_OBJECT = "it has no apiVersion and no kind, so it is not a manifest"
_RENDERED = "if this is a template, lint its output: helm template . | adhere lint -"


def read_manifests(paths: Iterable[str], kinds: Iterable[Kind], namespace: str = DEFAULT) -> Manifests:
    """Read all objects of ``kinds`` from files, from the directories' ``.yaml``, ``.yml`` and ``.json`` files, and from
    standard input (``-``). ``namespace``: default for objects without one.

    Raises ``InputError`` for a path that does not exist, and for too many files, documents or objects.
    """
    reader = _Reader(kinds, namespace)
    seen: set[str] = set()
    for path in paths:
        for each in files(path):
            if isinstance(each, Skipped):
                reader.found.skipped.append(each)
            elif isinstance(each, Unlisted):
                reader.found.bad.append(Bad(Place(each.path, 1, 1), f"the directory: {each.reason}"))
            elif (real := each if each == STANDARD_INPUT else os.path.realpath(each)) not in seen:
                seen.add(real)  # a directory, and also a file in it
                reader.file(each)
    return reader.found


class _Reader:
    """Reads the documents of files."""

    def __init__(self, kinds: Iterable[Kind], namespace: str) -> None:
        self.found = Manifests(namespace=namespace)
        self._objects = Objects(kinds, self.found)
        self._documents = DocumentLimit(MAX_DOCUMENTS)
        self._charts: set[str] = set()

    def file(self, name: str) -> None:
        """Read all objects of a file; what cannot be read goes to ``bad``."""
        self.found.files += 1
        try:
            data = _bytes(name)
        except InputError as error:
            self.found.bad.append(_bad(_shown(name), error))
            return
        if _TEMPLATE in data and (chart := chart_of(name)):
            self._skip_chart(chart)
            return
        if _IGNORE_BYTES in data:
            self.found.ignores += ((_shown(name), each) for each in islice(comments(data, _IGNORE), _MOST_IGNORES))
        templated = False
        for document in stream(data, _shown(name), MAX_FILE, self._documents):
            if not isinstance(document, InputError):
                self._objects.document(document)
                continue
            bad = _bad(_shown(name), document)
            if _is_of_document(document) and is_no_object(
                document_at(data, bad.place.line), is_json=name.lower().endswith(".json")
            ):
                self.found.bad.append(replace(bad, message=f"{bad.message}; {_NO_OBJECT}", hint="", is_object=False))
            elif not _is_templated(data, bad.place.line):
                self.found.bad.append(bad)
            elif not templated:  # once per file
                self.found.bad.append(Bad(bad.place, bad.message, _RENDERED))
                templated = True

    def _skip_chart(self, chart: str) -> None:
        """Report the chart of a template that was passed by name, as by a hook."""
        if chart not in self._charts:
            self._charts.add(chart)
            self.found.skipped.append(rendered(chart))


def _is_of_document(error: InputError) -> bool:
    """True if the error is about one document, not about the file or about the rest behind the last document."""
    return isinstance(error, PlacedError) and not isinstance(error, RestUnreadError)


def _is_templated(data: bytes, line: int) -> bool:
    """True if the line, or the one before it, has a template expression. Some errors begin on the line before."""
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
    """The error with its place apart from the message."""
    if isinstance(error, PlacedError):
        return Bad(Place(name, *error.mark), error.what, error.hint)
    return Bad(Place(name, 1, 1), error.message.removeprefix(f"{name}: ").removeprefix("cannot be read: "), error.hint)


NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")


class Kustomization(Struct, frozen=True):
    """A kustomization with patches."""

    directory: str
    files: frozenset[str]
    """Real paths of its patch files; inline patches have none."""


def patching(directory: str, names: list[str]) -> Kustomization | None:
    """The kustomization of a directory, if it has patches. An unreadable one is reported as a file of its own."""
    name = next((each for each in NAMES if each in names), None)
    path = str(Path(directory, name or ""))
    try:
        raw = load(content(path, MAX_BYTES, directory), path).value if name else None
    except InputError:
        return None
    patches = list(_patches(Fields(raw))) if isinstance(raw, dict) else []
    if not patches:
        return None
    files = (os.path.realpath(Path(directory, each)) for each in patches if each and "\0" not in each)
    return Kustomization(directory, frozenset(files))


def _patches(raw: Fields) -> Iterator[str]:
    """The path of each patch; empty for an inline one."""
    for field in ("patches", "patchesJson6902"):
        for each in raw.each(field):
            yield each.text("path")
    for text in raw.texts("patchesStrategicMerge"):
        yield "" if "\n" in text else text


MAX_FILES = 100_000
STANDARD_INPUT = "-"
_EMPTY = "''"
_SKIPPED = frozenset({".git", "node_modules", ".venv"})
"""Directories without manifests."""
_CHART = "Chart.yaml"
_TEMPLATES = "templates"
"""Directory of templates in a Helm chart (helm.sh, "The Chart File Structure")."""


class Unlisted(Struct, frozen=True):
    """A directory that cannot be listed."""

    path: str
    reason: str


def files(path: str) -> Iterator[str | Skipped | Unlisted]:
    """Yield the path itself if it is a file, else all ``.yaml``, ``.yml`` and ``.json`` files below, in any case.

    Raises ``InputError`` for a path that does not exist, and for a directory with more than ``MAX_FILES``.
    """
    if path == STANDARD_INPUT or not _is_directory(path):
        yield path
        return
    root, unlisted = os.path.realpath(path), list[OSError]()
    found: list[str] = []
    patches: list[Kustomization] = []
    for parent, names, here in os.walk(path, onerror=unlisted.append):
        yield from _prune_directories(root, parent, names, here)
        found += (str(Path(parent, name)) for name in sorted(here) if name.lower().endswith(SUFFIXES))
        if len(found) > MAX_FILES:
            raise InputError(f"{path}: more than {MAX_FILES:,} files", hint="check the path of the directory")
        patches += filter(None, [patching(parent, here)])
    yield from _regular(root, found, frozenset().union(*(each.files for each in patches)))
    yield from map(_skipped_patches, patches)
    yield from (Unlisted(str(each.filename), str(each.strerror)) for each in unlisted)


def _regular(root: str, found: list[str], patches: frozenset[str]) -> Iterator[str | Skipped]:
    """The files without links that lead out of the directory, and without patches of kustomize."""
    for path in found:
        if Path(path).is_symlink() and leads_out(path, root):
            yield Skipped(path, LINK_OUT, "pass the target of the link instead")
        elif _is_special(path):
            yield Skipped(path, NOT_REGULAR, "only regular files are read in a directory")
        elif not patches or os.path.realpath(path) not in patches:
            yield path


def _skipped_patches(each: Kustomization) -> Skipped:
    hint = f"lint its output: kustomize build {each.directory} | adhere lint -"
    return Skipped(each.directory, "patches of kustomize are not manifests, so the patched objects are unknown", hint)


def _is_directory(path: str) -> bool:
    """True for a directory; other paths count as files, also unreadable ones. Raises ``InputError``."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)  # noqa: PTH116 - ``Path("")`` is the current directory
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a NUL in the name
        raise InputError(f"{path or _EMPTY}: there is no such file or directory", hint="check the path") from None
    except OSError:
        return False


def _prune_directories(root: str, parent: str, names: list[str], found: list[str]) -> Iterator[Skipped]:
    """Remove from ``names`` the directories not to enter. Links are not followed: a target inside of the directory is
    read anyway, and a manifest's author must not choose what is read elsewhere."""
    names[:] = sorted(each for each in names if each not in _SKIPPED)
    for name in tuple(names):
        path = Path(parent, name)
        if path.is_symlink():
            names.remove(name)
            if leads_out(path, root):
                yield Skipped(str(path), LINK_OUT, "pass the target of the link instead")
    if _CHART in found and _TEMPLATES in names:
        names.remove(_TEMPLATES)
        yield rendered(parent)


def rendered(chart: str) -> Skipped:
    """The skipped templates of a chart."""
    hint = f"lint its output: helm template {chart} | adhere lint -"
    return Skipped(str(Path(chart, _TEMPLATES)), "templates of a Helm chart are not manifests", hint)


def chart_of(path: str) -> str | None:
    """The directory of the chart to which this template belongs, or None."""
    above = [each.parent for each in Path(path).parents if each.name == _TEMPLATES]
    return next((str(each) for each in above if (each / _CHART).is_file()), None)


def _is_special(path: str) -> bool:
    """True for a pipe or device: reading from one could block for ever."""
    try:
        return not stat.S_ISREG(Path(path).stat().st_mode)
    except OSError:
        return False  # the read reports the error
