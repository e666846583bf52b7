"""Whether a scan saw everything."""

from __future__ import annotations

import pytest

from scanner.jobs import Surroundings
from scanner.model.report import Summary
from scanner.model.scan_policy import ScanPolicy
from scanner.scan import Shortfall, coverage


@pytest.mark.parametrize(("truncated", "complete"), [(0, True), (1, False)])
def test_a_scan_that_cut_something_is_not_complete(truncated: int, *, complete: bool) -> None:
    around = Surroundings(discovered=1, left_out=(("x: cut", 1),), truncated=truncated)
    assert coverage(Summary(), around, ScanPolicy(), Shortfall())["complete"] is complete
