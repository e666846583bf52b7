"""Four times as many objects cost lint four times as much, whatever shape their author chose."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.growth import linted
from benchmarks.shapes import SHAPES
from tests.growth import assert_linear, calls

FEW = 60
"""More than the bindings of one role that are reported, and than the names by which a role is indexed."""
LEAST = {"Ingresses of a host": 150, "KubeletConfigs and pools": 110, "Bindings of Roles that name many": 120}
"""More than the others that each is compared with."""
QUICK = ("HTTPProxies that one includes", "Bindings of a ClusterRole that names all")
"""The others take up to six seconds each."""


def check(directory: Path) -> None:
    report = linted(str(directory))
    assert report.objects
    assert not report.findings  # all of it was read


@pytest.mark.parametrize(
    "shape", [shape if shape in QUICK else pytest.param(shape, marks=pytest.mark.slow) for shape in SHAPES]
)
def test_the_cost_is_linear(shape: str, tmp_path: Path) -> None:
    def cost(size: int) -> int:
        (tmp_path / "shape.yaml").write_text(SHAPES[shape](size), encoding="utf-8")
        return calls(lambda: check(tmp_path))

    assert_linear(cost, LEAST.get(shape, FEW))
