"""What a kustomization patches: patches look like objects, and are parts of some.

Fields: kubectl.docs.kubernetes.io, "kustomization file", ``patches``, ``patchesStrategicMerge``, ``patchesJson6902``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scanner.errors import InputError
from scanner.files.regular_file import content
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
