"""The exit code that a report earns."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from scanner.model.finding import Finding, Severity, Status, Verdict
from scanner.model.report import FailOn, Report, exit_code
from scanner.report.formats.text import coverage
from scanner.report.rows import endpoint_row
from scanner.values import replace
from tests.judge.cases import case
from tests.report.samples import report

OPEN: tuple[Verdict, Severity, Status] = ("inconclusive", "high", "not-tested")
LOW: tuple[Verdict, Severity, Status] = ("fail", "low", "violation")


def told(*findings: tuple[Verdict, Severity, Status]) -> Report:
    """A report of one endpoint that fails by some of these findings; every endpoint has a verdict."""
    of = case()
    made = [Finding(rule="a", severity=s, verdict=v, status=status, message="m") for v, s, status in findings]
    return report([endpoint_row(of.endpoint, of.expectation, of.observation, "fail", "violation", made)])


@pytest.mark.parametrize(
    ("findings", "fail_on", "code"),
    [
        ([LOW, OPEN], "medium", 3),
        ([LOW, OPEN], "low", 1),
        ([LOW, OPEN], "never", 3),
        ([("fail", "high", "readiness"), OPEN], "medium", 3),
        ([LOW], "medium", 0),
        ([LOW, ("inconclusive", "info", "not-tested")], "medium", 0),
        ([LOW, ("inconclusive", "high", "waived")], "medium", 0),
    ],
)
def test_a_failure_that_breaks_nothing_does_not_make_up_for_what_is_not_known(
    findings: Iterable[tuple[Verdict, Severity, Status]], fail_on: FailOn, code: int
) -> None:
    assert exit_code(told(*findings), fail_on) == code


def test_the_text_says_so() -> None:
    assert "NOT COMPLETE: 1 judged only in part" in coverage(told(LOW, OPEN))
    assert coverage(told(LOW)) == "1 of 1 endpoint judged; complete"


def test_nothing_scanned_and_something_unread_is_incomplete() -> None:
    """Exit code 3 comes before 4: the missing endpoints are unknown."""
    nothing = report([])
    assert exit_code(nothing, "medium") == 4
    assert coverage(nothing) == "nothing was scanned"
    unread = replace(nothing, coverage={**nothing.coverage, "complete": False})
    assert exit_code(unread, "medium") == 3
    assert coverage(unread).startswith("nothing was scanned; NOT COMPLETE")
