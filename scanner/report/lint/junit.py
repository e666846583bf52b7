"""JUnit XML: a suite for each object, and in it a case for each rule that reads its kind.

Objects of one name in several files are one suite, because CI systems keep one case for each pair of class and name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from scanner.model.lint_report import LintReport
from scanner.report.junit import Case, Suite, write_suites
from scanner.report.lint.text import named, place

_NOT_SEEN = "not seen"


def write(report: LintReport, out: TextIO) -> None:
    """Write the report of lint."""
    suites = [Suite(name=name, cases=list(cases.values())) for name, cases in _suites(report).items() if cases]
    write_suites(out, "adhere lint", lambda: suites, report.started)


def _suites(report: LintReport) -> dict[str, dict[str, Case]]:
    """By name: what was not read, the manifests without objects, then each object."""
    suites: dict[str, dict[str, Case]] = {_NOT_SEEN: {}, "manifests": {}}
    for name, why in _unseen(report):
        suites[_NOT_SEEN].setdefault(name, Case(name)).add("error", why, "")
    for finding in report.findings:
        name = f"{finding['rule']} {place(finding)}"
        suites["manifests"].setdefault(name, Case(name)).add_finding(finding, place(finding))
    for each in report.objects:
        cases = suites.setdefault(named(each["object"]), {})
        for rule in each["passed"]:
            cases.setdefault(rule, Case(rule))
        for finding in each["findings"]:
            cases.setdefault(finding["rule"], Case(finding["rule"])).add_finding(finding, place(finding))
    return suites


def _unseen(report: LintReport) -> Iterator[tuple[str, str]]:
    """What was not read, and why: no case may be missing where something could fail."""
    if not report.objects:
        yield "objects", "there was no object to judge"
    for skipped in report.skipped:
        yield f"not looked at {skipped['path']}", "; ".join(filter(None, (skipped["reason"], skipped["remedy"])))
    for gap in report.unreadable:
        if not gap["accepted"]:
            yield f"not read {gap['resource']}", gap["reason"]
