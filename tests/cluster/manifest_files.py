"""Files with manifests, and what is read from them."""

from __future__ import annotations

from pathlib import Path

from scanner.cluster.manifest_documents import Manifests

ROUTE_TEXT = "apiVersion: route.openshift.io/v1\nkind: Route\nmetadata: {name: %s}\n"


def told(found: Manifests) -> tuple[list[str], list[str]]:
    """Names, and what is wrong with its place, without the directory."""
    bad = [f"{Path(each.place.file).name}:{each.place.line}:{each.place.column}: {each.message}" for each in found.bad]
    return [each.object.name for each in found.objects], bad


def route(name: str) -> str:
    return ROUTE_TEXT % name


def tree(directory: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return directory
