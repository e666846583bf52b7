"""The manifest files that a path means, and what a kustomization patches."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scanner.cluster.manifests import SUFFIXES
from scanner.errors import InputError
from scanner.files.regular_file import LINK_OUT, NOT_REGULAR, content, leads_out
from scanner.files.yaml_values import MAX_BYTES, load
from scanner.kube.objects import Fields

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")


@dataclass(frozen=True, slots=True)
class Kustomization:
    """A directory whose objects kustomize patches."""

    directory: str
    files: frozenset[str]
    """Those that hold patches, by their real paths; a patch that stands in the kustomization itself has none."""


def patching(directory: str, names: list[str]) -> Kustomization | None:
    """What is patched there, if there is a kustomization with patches. One that cannot be read says nothing here: it is
    a file like others, and read as such."""
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
    """The path of each; empty for one that stands in the kustomization itself."""
    for field in ("patches", "patchesJson6902"):
        for each in raw.each(field):
            yield each.text("path")
    for text in raw.texts("patchesStrategicMerge"):
        yield "" if "\n" in text else text


MAX_FILES = 100_000
STANDARD_INPUT = "-"
_EMPTY = "''"
_SKIPPED = frozenset({".git", "node_modules", ".venv"})
"""Directories that hold nothing that anybody applies."""
_CHART = "Chart.yaml"
_TEMPLATES = "templates"
"""Of a Helm chart (helm.sh, "The Chart File Structure")."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """What was not looked at, though it may hold manifests."""

    path: str
    reason: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Unlisted:
    """A directory that does not show what is in it."""

    path: str
    reason: str


def files(given: str) -> Iterator[str | Skipped | Unlisted]:
    """Every file: itself, or the ``.yaml``, ``.yml`` and ``.json`` files below, in whatever letters. Raises
    ``InputError`` for a path that does not exist, and for a directory with more than ``MAX_FILES``."""
    if given == STANDARD_INPUT or not _is_directory(given):
        yield given
        return
    root, unlisted = os.path.realpath(given), list[OSError]()
    found: list[str] = []
    patches: list[Kustomization] = []
    for parent, names, here in os.walk(given, onerror=unlisted.append):
        yield from _not_entered(root, parent, names, here)
        found += (str(Path(parent, name)) for name in sorted(here) if name.lower().endswith(SUFFIXES))
        if len(found) > MAX_FILES:
            raise InputError(f"{given}: more than {MAX_FILES:,} files", hint="is this the right directory?")
        patches += filter(None, [patching(parent, here)])
    yield from _regular(root, found, frozenset().union(*(each.files for each in patches)))
    yield from map(_patched, patches)
    yield from (Unlisted(str(each.filename), str(each.strerror)) for each in unlisted)


def _regular(root: str, found: list[str], patches: frozenset[str]) -> Iterator[str | Skipped]:
    """The files, without those elsewhere that links lead to, and without those that hold patches of kustomize."""
    for path in found:
        if Path(path).is_symlink() and leads_out(path, root):
            yield Skipped(path, LINK_OUT, "name where it leads to instead")
        elif _is_special(path):
            yield Skipped(path, NOT_REGULAR, "only files are read in a directory")
        elif not patches or os.path.realpath(path) not in patches:
            yield path


def _patched(each: Kustomization) -> Skipped:
    hint = f"lint what it renders: kustomize build {each.directory} | adhere lint -"
    return Skipped(each.directory, "patches of kustomize are no manifests, and what they change was not seen", hint)


def _is_directory(given: str) -> bool:
    """What is neither is a file, be it one that cannot be read."""
    try:
        return stat.S_ISDIR(os.stat(given).st_mode)  # noqa: PTH116 - of "" ``Path`` makes the directory we are in
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a NUL in the name
        raise InputError(f"{given or _EMPTY}: there is no such file or directory", hint="is the path right?") from None
    except OSError:
        return False


def _not_entered(root: str, parent: str, names: list[str], found: list[str]) -> Iterator[Skipped]:
    """Leaves in ``names`` the directories to go into. A link is not followed: what it leads to within the directory is
    there anyway, and a manifest's author has no say about what is read elsewhere."""
    names[:] = sorted(each for each in names if each not in _SKIPPED)
    for name in tuple(names):
        path = Path(parent, name)
        if path.is_symlink():
            names.remove(name)
            if leads_out(path, root):
                yield Skipped(str(path), LINK_OUT, "name where it leads to instead")
    if _CHART in found and _TEMPLATES in names:
        names.remove(_TEMPLATES)
        yield rendered(parent)


def rendered(chart: str) -> Skipped:
    """What is said of the templates of a chart in that directory."""
    hint = f"lint what it renders: helm template {chart} | adhere lint -"
    return Skipped(str(Path(chart, _TEMPLATES)), "templates of a Helm chart are no manifests", hint)


def chart_of(path: str) -> str | None:
    """The directory of the chart whose template the file is, if it is one."""
    above = [each.parent for each in Path(path).parents if each.name == _TEMPLATES]
    return next((str(each) for each in above if (each / _CHART).is_file()), None)


def _is_special(path: str) -> bool:
    """Whether it is another thing than a file: reading from a pipe could wait for ever."""
    try:
        return not stat.S_ISREG(Path(path).stat().st_mode)
    except OSError:
        return False  # reading it says why
