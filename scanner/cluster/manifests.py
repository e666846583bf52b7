"""Objects of a must-gather, or of other manifests, as a snapshot.

A must-gather (``oc adm must-gather``, ``oc adm inspect``) has its objects under ``cluster-scoped-resources/<group>/``
and ``namespaces/<namespace>/<group>/``, there as ``<plural>.yaml``, a list, or ``<plural>/<name>.yaml``, below a
directory that is named after the image. The rest is logs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct, field

from scanner.cluster.retention import Pruner
from scanner.cluster.snapshot_objects import kept
from scanner.errors import InputError
from scanner.files import regular_file
from scanner.files.source_positions import shown
from scanner.files.yaml_values import MAX_BYTES, documents
from scanner.kube.kinds import MICROSHIFT_CONFIG, SECRET, Kind
from scanner.kube.objects import KubeObject

SUFFIXES = (".yaml", ".yml", ".json")
MAX_YAML = 64 * MAX_BYTES
MAX_JSON = 256 * MAX_BYTES
MAX_FILES = 500_000
_ROOTS = ("cluster-scoped-resources", "namespaces")
_MARKS = ("event-filter.html", "timestamp", "must-gather.log", "must-gather.logs")
"""Other files of a must-gather; one of a single namespace has no cluster-scoped resources."""
_DEEPEST_ROOT = 4
"""Most directories above the roots of a must-gather."""
_EPOCH = datetime.fromtimestamp(0, UTC)
_LISTS = 3
"""Depth of nested lists."""


class Found(Struct):
    """The content of a directory."""

    objects: dict[Kind, dict[tuple[str | None, str], KubeObject]] = field(default_factory=dict)
    """Objects by namespace and name, since a must-gather has its pods twice."""
    bad: list[tuple[Kind | None, str]] = field(default_factory=list)
    """Errors of files, with the kind of their objects if the path shows it."""
    newest: datetime = _EPOCH
    """Modification time of the newest file."""
    gathered: bool = False
    """True for a must-gather."""
    partial: set[Kind] = field(default_factory=set)
    """Kinds that may be incomplete: in a must-gather, those below a namespace."""
    files: int = 0
    """Number of opened files."""


def manifests(directory: Path, kinds: Iterable[Kind]) -> Found:
    """Read all objects of ``kinds`` below ``directory``, or in that file.

    Raises ``InputError`` for a directory that cannot be listed or has too many files.
    """
    reader = _Reader(tuple(kinds))
    paths = list(_paths(directory))
    top = directory if directory.is_dir() else directory.resolve().parent
    roots = [_below_root(path.relative_to(directory).parts) for path in paths]
    reader.found.gathered = _is_gathered(directory, paths, roots)
    for path, root in zip(paths, roots, strict=True):
        if not reader.found.gathered:
            reader.file(path, top, None)
        elif root is not None:
            kind = reader.by_resource.get(_resource(root)) if _resource(root) else None
            if kind is not None:
                reader.file(path, top, kind)
                if root[0] != _ROOTS[0]:
                    reader.found.partial.add(kind)
    return reader.found


def _is_gathered(directory: Path, paths: list[Path], roots: list[tuple[str, ...] | None]) -> bool:
    """True for a must-gather. Other directories may be called ``namespaces``, too."""
    found: dict[Path, set[str]] = {}
    for path, root in zip(paths, roots, strict=True):
        if root is not None:
            found.setdefault(path.parents[len(root) - 1], set()).add(root[0])
    return any(
        len(beside) == len(_ROOTS)
        or any((place / mark).exists() for place in {at, at.parent if at != directory else at} for mark in _MARKS)
        for at, beside in found.items()
    )


def _paths(directory: Path) -> Iterator[Path]:
    """All files that may contain objects, in a stable order."""
    if directory.is_file():
        yield directory
        return
    count = 0
    for parent, names, files in os.walk(directory):
        names.sort()
        for name in sorted(files):
            if name.endswith(SUFFIXES):
                count += 1
                if count > MAX_FILES:
                    raise InputError(
                        f"{directory}: more than {MAX_FILES} files", hint="check the path of the directory"
                    )
                yield Path(parent, name)


def _below_root(parts: tuple[str, ...]) -> tuple[str, ...] | None:
    """The path below a must-gather's root, or None for another file."""
    for index, part in enumerate(parts[: _DEEPEST_ROOT + 1]):
        if part in _ROOTS:
            return parts[index:]
    return None


def _resource(parts: tuple[str, ...]) -> tuple[str, str] | None:
    """Group and plural of the objects in a file of a must-gather."""
    if parts[0] == "cluster-scoped-resources":
        rest = parts[1:]
    elif len(parts) == 3:
        return "", "namespaces"  # namespaces/shop/shop.yaml
    elif len(parts) == 5 and parts[2] == "pods":
        return "", "pods"  # namespaces/shop/pods/checkout-1/checkout-1.yaml
    else:
        rest = parts[2:]
    if len(rest) not in (2, 3):
        return None
    group = "" if rest[0] == "core" else rest[0]
    return group, rest[1].rpartition(".")[0] if len(rest) == 2 else rest[1]


class _Reader:
    """Collects objects of the requested kinds."""

    def __init__(self, kinds: tuple[Kind, ...]) -> None:
        self.by_resource: dict[tuple[str, str] | None, Kind] = {(kind.group, kind.plural): kind for kind in kinds}
        self._by_name = {(kind.group, kind.name): kind for kind in kinds}
        self._pruner = Pruner()
        self.found = Found()

    def file(self, path: Path, root: Path, kind: Kind | None) -> None:
        """Read all objects of a file; errors go to ``bad``."""
        try:
            self.found.files += 1
            self.found.newest = max(self.found.newest, _written(path))
            for document in contents(path, root):
                self._document(document, "", "", _LISTS)
        except InputError as error:
            self.found.bad.append((kind, error.message))

    def _document(self, document: object, api_version: str, name: str, lists: int) -> None:
        """Keep an object, or each object of a list. Those of a typed list need no kind."""
        if not isinstance(document, dict) or lists < 0:
            return
        version, kind_name = (_text(document.get(key)) for key in ("apiVersion", "kind"))
        version, kind_name = version or api_version, kind_name or name
        items = document.get("items")
        if kind_name.endswith("List") and isinstance(items, list):
            for item in items:
                self._document(item, version, kind_name.removesuffix("List"), lists - 1)
            return
        kind = self._by_name.get((version.rpartition("/")[0], kind_name))
        if kind_name == MICROSHIFT_CONFIG.name:
            kind = self._by_name.get((MICROSHIFT_CONFIG.group, MICROSHIFT_CONFIG.name))
            document = _named_file(document)
        if kind is not None:
            self._keep(kind, document, version)

    def _keep(self, kind: Kind, document: dict[str, object], api_version: str) -> None:
        if kind == SECRET:
            document = {key: value for key, value in document.items() if key != "adhere"}  # not from a check of ours
        found = kept(kind, document, self._pruner, api_version)
        if found is None or (kind.named and (found.namespace or "", found.name) not in kind.named):
            return
        self.found.objects.setdefault(kind, {}).setdefault((found.namespace, found.name), found)


def _written(path: Path) -> datetime:
    """Modification time of the file; the epoch if it is unknown."""
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except (OSError, ValueError, OverflowError):
        return _EPOCH


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def contents(path: Path, root: Path) -> Iterator[object]:
    """All documents of a file below ``root``. Raises ``InputError`` with file, line and column."""
    as_json = path.suffix == ".json"
    limit = MAX_JSON if as_json else MAX_YAML
    data = regular_file.content(path, limit, root)
    if len(data) > limit:
        raise InputError(f"{path}: larger than {limit >> 20} MiB")
    if not as_json:
        yield from documents(data, str(path), limit)
        return
    try:
        yield json.loads(data)
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}:1:1: not JSON: {shown(str(error))}") from None


def _named_file(document: dict[str, object]) -> dict[str, object]:
    """The configuration file of a MicroShift node as an object with a name, whatever its version."""
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return {**document, "metadata": {"name": "config", **metadata}}
