"""Four times as many objects cost lint four times as much, whatever shape their author chose."""

from __future__ import annotations

from cProfile import Profile
from pathlib import Path

import pytest

from benchmarks.growth import TIMES, linted
from benchmarks.shapes import SHAPES

FEW = 60
"""More than the bindings of one role that are reported, and than the names by which a role is indexed."""
LEAST = {"Ingresses of a host": 150, "KubeletConfigs and pools": 110, "Bindings of Roles that name many": 120}
"""More than the others that each is compared with."""


def calls(directory: Path, text: str) -> int:
    """Functions that are called, which no other load on the machine changes."""
    directory.mkdir()
    (directory / "shape.yaml").write_text(text, encoding="utf-8")
    with Profile() as profile:
        report = linted(str(directory))
    assert report.objects
    assert not report.findings  # all of it was read
    return sum(each.callcount for each in profile.getstats())


@pytest.mark.parametrize("shape", SHAPES)
def test_the_cost_is_linear(shape: str, tmp_path: Path) -> None:
    least = LEAST.get(shape, FEW)
    few, many = (calls(tmp_path / str(size), SHAPES[shape](size)) for size in (least, TIMES * least))
    assert many < 1.3 * TIMES * few
