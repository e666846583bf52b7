"""JUnit XML: a suite for each object, and in it a case for each rule that looks at its kind.

``failure``: violated; ``error``: could not be decided here, or was not looked at; informational findings are
``skipped``. Objects of one name that stand in several files are one suite, as CI systems keep one case for each pair of
class and name.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import starmap
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
    unseen = list(_unseen(report))
    suites = [*([_unseen_suite(unseen)] if unseen else []), *starmap(_suite, _suites(report).items())]
    totals = {key: str(sum(int(each.get(key) or 0) for each in suites)) for key in ("tests", "failures", "errors")}
    root = ElementTree.Element("testsuites", {"name": "adhere lint", **totals, "timestamp": plain(report.started)})
    root.extend(suites)
    ElementTree.indent(root)
    out.write("<?xml version='1.0' encoding='UTF-8'?>\n" + ElementTree.tostring(root, "unicode") + "\n")


def _suites(report: LintReport) -> dict[str, Cases]:
    """By object: each rule that looked at it, with what it found."""
    found: dict[str, Cases] = {"manifests": {}}
    cases = found["manifests"]
    for finding in report.findings:
        cases.setdefault(f"{finding['rule']} {place(finding)}", []).append(finding)
    for each in report.objects:
        cases = found.setdefault(named(each["object"]), {})
        for rule in each["passed"]:
            cases.setdefault(rule, [])
        for finding in each["findings"]:
            cases.setdefault(finding["rule"], []).append(finding)
    return {name: cases for name, cases in found.items() if cases}


def _unseen(report: LintReport) -> Iterator[tuple[str, str]]:
    """What nobody looked at, and why: no case may be missing where something could fail."""
    if not report.objects:
        yield "objects", "there was no object to judge"
    for skipped in report.skipped:
        yield f"not looked at {skipped['path']}", "; ".join(filter(None, (skipped["reason"], skipped["remedy"])))
    for gap in report.unreadable:
        if not gap["accepted"]:
            yield f"not read {gap['resource']}", gap["reason"]


def _unseen_suite(cases: list[tuple[str, str]]) -> ElementTree.Element:
    counts = {"tests": str(len(cases)), "failures": "0", "errors": str(len(cases)), "skipped": "0"}
    suite = ElementTree.Element("testsuite", {"name": "not seen", **counts})
    for name, why in cases:
        case = ElementTree.SubElement(suite, "testcase", {"classname": "not seen", "name": plain(name, 300)})
        ElementTree.SubElement(case, "error", {"message": plain(why, _LIMIT)})
    return suite


def _suite(name: str, cases: Cases) -> ElementTree.Element:
    outcomes = {case: _outcome(found) for case, found in cases.items()}
    counts = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    told = {key: str(sum(each == word for each in outcomes.values())) for key, word in counts.items()}
    suite = ElementTree.Element("testsuite", {"name": plain(name, 300), "tests": str(len(cases)), **told})
    for case, found in cases.items():
        element = ElementTree.SubElement(suite, "testcase", {"classname": plain(name, 300), "name": plain(case, 300)})
        element.extend(_result(outcomes[case], found))
    return suite


def _outcome(found: list[LintFindingRow]) -> str:
    told = {_word(each) for each in found}
    return next((each for each in _OUTCOMES if each in told), "pass")


def _word(finding: LintFindingRow) -> str:
    if finding["verdict"] != "fail":
        return "skipped" if finding["severity"] == "info" else "error"
    return "skipped" if finding["status"] in NEVER_FAILS or finding["severity"] == "info" else "failure"


def _result(outcome: str, found: list[LintFindingRow]) -> Iterator[ElementTree.Element]:
    if outcome == "pass":
        return
    element = ElementTree.Element(outcome, {"message": plain(max(found, key=weight)["message"], _LIMIT)})
    texts = [f"{plain(place(each), 300)}: {plain(each['message'], _LIMIT)}" for each in found[:_TEXTS]]
    element.text = "\n".join([*texts, *([f"and {len(found) - _TEXTS} more"] if len(found) > _TEXTS else [])])
    yield element
