"""JUnit XML for CI systems: a test case per rule and workload listener, with names that stay the same.

There is no standard; this is what GitLab, Jenkins and the common GitHub actions all read: ``testsuites`` >
``testsuite`` (one per endpoint id) > ``testcase`` with ``classname`` = endpoint id and ``name`` = rule id. GitLab and
Jenkins keep one case per pair of those, so the replicas behind one id are merged, the worst one deciding.

* ``failure``: violated. ``error``: could not be judged; nothing that is unknown is ever shown as a pass.
* ``package`` and ``properties`` of a suite say component, owner and standing, for dashboards that group by them.
* ``skipped``: not applicable, and what is kept but must not break a build: waived, readiness, converging.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TextIO
from xml.etree import ElementTree

from scanner.model.report import NEVER_FAILS, EndpointRow, FindingRow, Report
from scanner.report import headline
from scanner.report.escape import plain
from scanner.report.grouping import owner_name

Outcome = Literal["failure", "error", "skipped", "pass"]

_WORST: tuple[Outcome, ...] = ("failure", "error", "skipped", "pass")
_OUTCOMES: dict[str, Outcome] = {
    "fail": "failure",
    "inconclusive": "error",
    "not_applicable": "skipped",
    "pass": "pass",
}
_LIMIT = 2000
"""Characters of one text: dashboards store every case, and a certificate can carry thousands of names."""


@dataclass(slots=True)
class _Case:
    name: str
    outcome: Outcome = "pass"
    message: str = ""
    texts: list[str] = field(default_factory=list)

    def add(self, outcome: Outcome, message: str, text: str) -> None:
        """Another replica's, or another certificate's: the worst one names the case, all texts are kept."""
        if not self.texts or _WORST.index(outcome) < _WORST.index(self.outcome):
            self.outcome, self.message = outcome, message
        self.texts.append(text)


def write(report: Report, out: TextIO) -> None:
    """The whole document, in three passes: who has replicas, the totals for the root, the suites."""
    totals: Counter[Outcome] = Counter()
    replicas = Counter(row["id"] for row in report.rows())
    for _, cases, _ in _suites(report, replicas):
        totals.update(case.outcome for case in cases)
    root = {"name": "adhere", **_counts(totals), "timestamp": plain(report.started), "time": _seconds(report)}
    start = ElementTree.tostring(ElementTree.Element("testsuites", root), "unicode", short_empty_elements=False)
    out.write("<?xml version='1.0' encoding='UTF-8'?>\n" + start.removesuffix("</testsuites>") + "\n")
    for name, cases, whose in _suites(report, replicas):
        element = _suite(name, cases, plain(report.started), whose)
        ElementTree.indent(element)
        out.write(ElementTree.tostring(element, "unicode") + "\n")
    out.write("</testsuites>\n")


Whose = dict[str, str]
"""Component, owner and standing of a suite's endpoint; empty for a target of a list."""


def _suites(report: Report, replicas: Counter[str]) -> Iterator[tuple[str, list[_Case], Whose]]:
    """Name, cases and owner of each suite: the scan itself, what belongs to no endpoint, then every endpoint id."""
    yield "adhere", [_coverage(report)], {}
    about: dict[str, list[FindingRow]] = {}
    for finding in report.findings:
        about.setdefault(finding["about"] or "objects", []).append(finding)
    for name, findings in about.items():
        yield name, _cases(findings, ""), {}
    waiting: dict[str, list[_Seen]] = {}
    for row in report.rows():
        waiting.setdefault(row["id"], []).append(_seen(row))
        if len(waiting[row["id"]]) == replicas[row["id"]]:
            yield row["id"], _endpoint_cases(waiting.pop(row["id"])), _whose(row)


def _whose(row: EndpointRow) -> Whose:
    if row["standing"] == "listed":
        return {}
    words = {"component": row["component"], "owner": owner_name(row["owner"]), "standing": row["standing"]}
    return {name: word for name, word in words.items() if word}


def _coverage(report: Report) -> _Case:
    """A scan that was cut short, or looked at nothing, is never green."""
    case, told = _Case("coverage"), report.coverage
    judged = f"{told['judged']} of {told['endpoints']} endpoints judged"
    if told["interrupted"]:
        case.add("error", f"interrupted by {told['interrupted']}: {judged}", "")
    elif not told["endpoints"]:
        case.add("error", "nothing was scanned", "")
    elif not told["complete"]:
        case.add("error", f"not complete: {judged}", "")
    return case


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a suite needs of one replica: the others may come much later, and a row is large."""

    instance: str
    outcome: Outcome
    status: str
    reason: str
    detail: str
    findings: list[FindingRow]


def _seen(row: EndpointRow) -> _Seen:
    reason, outcome = headline.reason(row), _OUTCOMES[row["verdict"]]
    return _Seen(row["instance"], outcome, row["status"], reason, row["detail"], row["findings"])


def _endpoint_cases(replicas: list[_Seen]) -> list[_Case]:
    cases: dict[str, _Case] = {}
    for each in replicas:
        where = each.instance if len(replicas) > 1 else ""
        found = _cases(each.findings, where, cases)
        if _unsaid(each, found):
            case = cases.setdefault("verdict", _Case("verdict"))
            case.add(each.outcome, each.reason, _lines([where, each.detail]))
    return list(cases.values())


def _unsaid(seen: _Seen, cases: list[_Case]) -> bool:
    """Whether no case carries the endpoint's verdict: then one of its own must, or a bad endpoint would be green."""
    if not cases:
        return True
    outcome = seen.outcome
    if seen.status in NEVER_FAILS or outcome in {"pass", "skipped"}:
        return False
    return all(_WORST.index(case.outcome) > _WORST.index(outcome) for case in cases)


def _cases(findings: Iterable[FindingRow], where: str, cases: dict[str, _Case] | None = None) -> list[_Case]:
    cases = {} if cases is None else cases
    for finding in findings:
        outcome = _outcome(finding)
        case = cases.setdefault(finding["rule"], _Case(finding["rule"]))
        case.add(outcome, headline.kind(finding["status"]) + finding["message"], _text(finding, where))
    return list(cases.values())


def _outcome(finding: FindingRow) -> Outcome:
    outcome = _OUTCOMES[finding["verdict"]]
    if outcome == "failure" and finding["status"] in NEVER_FAILS:
        return "skipped"
    if outcome == "error" and finding["severity"] == "info":
        return "skipped"  # it could not have failed either
    return outcome


def _text(finding: FindingRow, where: str) -> str:
    sections = (
        ("severity", [finding["severity"]]),
        ("found", finding["observed"]),
        ("expected", finding["expected"]),
        ("fix", [finding["fix"] or ""]),
        ("see it", [finding["reproduce"] or ""]),
        ("evidence", finding["evidence"]),
        ("sslyze", [finding["second_opinion"] or ""]),
        ("waived by", [finding["waiver"] or ""]),
    )
    return _lines(
        [where, finding["message"], *(f"{name}: {item}" for name, items in sections for item in items if item)]
    )


def _lines(texts: Iterable[str]) -> str:
    """Each cleaned on its own: the line breaks between them are ours."""
    return "\n".join(plain(text, _LIMIT) for text in texts if text)


def _suite(name: str, cases: list[_Case], started: str, whose: Whose) -> ElementTree.Element:
    counts = _counts(Counter(case.outcome for case in cases))
    suite = ElementTree.Element("testsuite", {"name": plain(name, _LIMIT), **counts, "timestamp": started})
    if whose:
        suite.set("package", plain(whose.get("component") or whose["owner"], _LIMIT))
        properties = ElementTree.SubElement(suite, "properties")
        for word, value in whose.items():
            ElementTree.SubElement(properties, "property", {"name": word, "value": plain(value, _LIMIT)})
    for case in cases:
        test = ElementTree.SubElement(suite, "testcase", {"classname": plain(name, _LIMIT), "name": plain(case.name)})
        text = "\n\n".join(filter(None, case.texts))
        if case.outcome == "pass":
            continue
        attributes = {"message": plain(case.message, _LIMIT)}
        if case.outcome != "skipped":
            attributes["type"] = plain(case.name)
        ElementTree.SubElement(test, case.outcome, attributes).text = text or None
    return suite


def _counts(outcomes: Counter[Outcome]) -> dict[str, str]:
    return {
        "tests": str(outcomes.total()),
        "failures": str(outcomes["failure"]),
        "errors": str(outcomes["error"]),
        "skipped": str(outcomes["skipped"]),
    }


def _seconds(report: Report) -> str:
    try:
        elapsed = datetime.fromisoformat(report.finished) - datetime.fromisoformat(report.started)
    except (ValueError, TypeError):  # a saved report may say anything
        return "0"
    return f"{max(elapsed.total_seconds(), 0):.3f}"
