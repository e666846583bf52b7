"""Which files somebody means who names files and directories of manifests."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scanner.cluster.manifests import SUFFIXES
from scanner.errors import InputError

MAX_FILES = 100_000
STANDARD_INPUT = "-"
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
    """Every file: itself, or the ``.yaml``, ``.yml`` and ``.json`` files below. Raises ``InputError`` for a path that
    does not exist, and for a directory with more than ``MAX_FILES``."""
    if given == STANDARD_INPUT or not _is_directory(given):
        yield given
        return
    root, count, unlisted = os.path.realpath(given), 0, list[OSError]()
    for parent, names, found in os.walk(given, onerror=unlisted.append):
        yield from _not_entered(root, parent, names, found)
        for name in sorted(each for each in found if each.endswith(SUFFIXES)):
            count += 1
            if count > MAX_FILES:
                raise InputError(f"{given}: more than {MAX_FILES:,} files", hint="is this the right directory?")
            path = str(Path(parent, name))
            special = _special(path)
            yield Skipped(path, special, "only files are read in a directory") if special else path
    yield from (Unlisted(str(each.filename), str(each.strerror)) for each in unlisted)


def _is_directory(given: str) -> bool:
    """What is neither is a file, be it one that cannot be read."""
    try:
        return stat.S_ISDIR(Path(given).stat().st_mode)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a NUL in the name
        raise InputError(f"{given}: there is no such file or directory", hint="is the path right?") from None
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
            target = os.path.realpath(path)
            if os.path.commonpath((root, target)) != root:
                yield Skipped(str(path), "a link that leads out of the directory", "name where it leads to instead")
    if _CHART in found and _TEMPLATES in names:
        names.remove(_TEMPLATES)
        rendered = f"lint what it renders: helm template {parent} | adhere lint -"
        yield Skipped(str(Path(parent, _TEMPLATES)), "templates of a Helm chart are no manifests", rendered)


def _special(path: str) -> str:
    """What else than a file it is: reading from a pipe could wait for ever."""
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return ""  # reading it says why
    return "" if stat.S_ISREG(mode) else "no regular file"
