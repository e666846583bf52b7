"""A tree with bases and overlays: patches are no objects, and what they change is said to be unseen."""

from __future__ import annotations

from pathlib import Path

import pytest

from scanner.cluster.lint_input import read_manifests
from scanner.cluster.manifest_documents import Manifests
from scanner.kube.kinds import ROUTE
from tests.cluster.manifest_files import route, told, tree

pytestmark = pytest.mark.crypto

PATCH = route("a") + "spec: {host: b.example.com}\n"
BASE = {"base/kustomization.yaml": "resources: [a.yaml]\n", "base/a.yaml": route("a") + "spec: {host: a.example.com}\n"}


def found_in(directory: Path, files: dict[str, str]) -> Manifests:
    return read_manifests([str(tree(directory, {**BASE, **files}))], (ROUTE,))


PATCHES = [
    "patches: [{path: a.yaml}]\n",
    "patches:\n- path: ./a.yaml\n  target: {kind: Route}\n",
    "patchesStrategicMerge: [../prod/a.yaml]\n",
    "patchesJson6902: [{path: a.yaml, target: {kind: Route, name: a}}]\n",
]


@pytest.mark.parametrize("name", ["kustomization.yaml", "kustomization.yml", "Kustomization"])
@pytest.mark.parametrize("text", PATCHES)
def test_patches_are_no_manifests(tmp_path: Path, text: str, name: str) -> None:
    found = found_in(tmp_path, {f"prod/{name}": f"resources: [../base]\n{text}", "prod/a.yaml": PATCH})
    assert told(found) == (["a"], [])
    (skipped,) = found.skipped
    assert skipped.path == f"{tmp_path}/prod"
    assert skipped.hint == f"lint its output: kustomize build {tmp_path}/prod | adhere lint -"


INLINE = ["patches: [{patch: 'kind: Route'}]\n", 'patchesStrategicMerge: ["kind: Route\\napiVersion: a\\n"]\n']


@pytest.mark.parametrize("text", INLINE)
def test_patches_within_the_kustomization_are_said_too(tmp_path: Path, text: str) -> None:
    found = found_in(tmp_path, {"prod/kustomization.yaml": text, "prod/b.yaml": route("b")})
    assert told(found)[0] == ["a", "b"]
    assert [each.path for each in found.skipped] == [f"{tmp_path}/prod"]


ODD = [
    "",
    "[]",
    "patches: 1",
    "patches: [1, null, {path: [a.yaml]}]",
    "a: &a [*a]",
    'patches: [{path: "\\0"}]',
    "patches: []",
]


@pytest.mark.parametrize("text", ODD)
def test_no_kustomization_is_too_odd(tmp_path: Path, text: str) -> None:
    found = found_in(tmp_path, {"prod/kustomization.yaml": text, "prod/a.yaml": route("b")})
    assert told(found)[0] == ["a", "b"]


def test_what_has_no_patches_hides_nothing(tmp_path: Path) -> None:
    found = found_in(tmp_path, {"prod/kustomization.yaml": "resources: [../base, b.yaml]\n", "prod/b.yaml": route("b")})
    assert told(found) == (["a", "b"], [])
    assert found.skipped == []


def test_a_patch_that_is_named_is_read(tmp_path: Path) -> None:
    tree(tmp_path, {"prod/kustomization.yaml": PATCHES[0], "prod/a.yaml": PATCH})
    assert told(read_manifests([f"{tmp_path}/prod/a.yaml"], (ROUTE,))) == (["a"], [])
