"""Findings that say the same of several things are one."""

from __future__ import annotations

from scanner.model.report import FindingRow
from scanner.report.grouping import merged
from scanner.report.rows import finding_row
from tests.report.samples import finding


def _found(name: str, fix: str = "none") -> FindingRow:
    said = finding("pki-lifetime", "info", "pass", "it is short", observed=(name,), evidence=(f"signed by {name}",))
    return {**finding_row(said), "fix": fix}


def test_findings_that_differ_in_what_they_found_are_one() -> None:
    some = [_found(each) for each in "abc"]
    (one,) = merged(some)
    assert one == {**some[0], "observed": ["a", "b", "c"], "evidence": []}


def test_findings_with_another_remedy_stay_apart_and_keep_all() -> None:
    some = [_found(each, fix=f"delete Secret/{each}") for each in "ab"]
    assert merged(some) == some
