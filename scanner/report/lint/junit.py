"""JUnit XML: a suite for each object, and in it a case for each rule that looks at its kind.

``failure``: violated; ``error``: could not be decided here; informational findings are ``skipped``. Objects of one name
that stand in several files are one suite, as CI systems keep one case for each pair of class and name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO
from xml.etree import ElementTree

from scanner.model.lint_report import LintFindingRow, LintReport
from scanner.model.report import NEVER_FAILS
from scanner.report.escape import plain
from scanner.report.lint.order import place, weight
from scanner.report.lint.text import named

_LIMIT = 2000
_TEXTS = 50
_OUTCOMES = ("failure", "error", "skipped", "pass")

Cases = dict[str, list[LintFindingRow]]


def write(report: LintReport, out: TextIO) -> None:
    """The whole document."""
    suites = [_suite(name, cases) for name, cases in _suites(report).items()]
    totals = {key: str(sum(int(each.get(key) or 0) for each in suites)) for key in ("tests", "failures", "errors")}
    root = ElementTree.Element("testsuites", {"name": "adhere lint", **totals, "timestamp": plain(report.started)})
    root.extend(suites)
    ElementTree.indent(root)
    out.write("<?xml version='1.0' encoding='UTF-8'?>\n" + ElementTree.tostring(root, "unicode") + "\n")


def _suites(report: LintReport) -> dict[str, Cases]:
    """By object: each rule that looked at it, with what it found."""
    found: dict[str, Cases] = {"manifests": {}}
    cases = found["manifests"]
    cases["objects"] = []  # there is always a case; without objects it is no pass
    for finding in report.findings:
        cases.setdefault(f"{finding['rule']} {place(finding)}", []).append(finding)
    for each in report.objects:
        cases = found.setdefault(named(each["object"]), {})
        for rule in each["passed"]:
            cases.setdefault(rule, [])
        for finding in each["findings"]:
            cases.setdefault(finding["rule"], []).append(finding)
    if report.objects:
        found["manifests"].pop("objects")
    return {name: cases for name, cases in found.items() if cases}


def _suite(name: str, cases: Cases) -> ElementTree.Element:
    outcomes = {case: _outcome(case, found) for case, found in cases.items()}
    counts = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    told = {key: str(sum(each == word for each in outcomes.values())) for key, word in counts.items()}
    suite = ElementTree.Element("testsuite", {"name": plain(name, 300), "tests": str(len(cases)), **told})
    for case, found in cases.items():
        element = ElementTree.SubElement(suite, "testcase", {"classname": plain(name, 300), "name": plain(case, 300)})
        element.extend(_result(outcomes[case], found))
    return suite


def _outcome(case: str, found: list[LintFindingRow]) -> str:
    if case == "objects":
        return "error"
    told = {_word(each) for each in found}
    return next((each for each in _OUTCOMES if each in told), "pass")


def _word(finding: LintFindingRow) -> str:
    if finding["verdict"] != "fail":
        return "skipped" if finding["severity"] == "info" else "error"
    return "skipped" if finding["status"] in NEVER_FAILS or finding["severity"] == "info" else "failure"


def _result(outcome: str, found: list[LintFindingRow]) -> Iterator[ElementTree.Element]:
    if outcome == "pass":
        return
    worst = max(found, key=weight, default=None)
    message = worst["message"] if worst else "there was no object to judge"
    element = ElementTree.Element(outcome, {"message": plain(message, _LIMIT)})
    texts = [f"{plain(place(each), 300)}: {plain(each['message'], _LIMIT)}" for each in found[:_TEXTS]]
    element.text = "\n".join([*texts, *([f"and {len(found) - _TEXTS} more"] if len(found) > _TEXTS else [])])
    yield element
