"""JUnit XML for CI systems: a test case per rule and workload listener, with names that stay the same.

There is no standard; this is what GitLab, Jenkins and the common GitHub actions all read: ``testsuites`` >
``testsuite`` (one per endpoint id) > ``testcase`` with ``classname`` = endpoint id and ``name`` = rule id. GitLab and
Jenkins keep one case per pair of those, so the replicas behind one id are merged, the worst one deciding.

* ``failure``: violated. ``error``: could not be judged; nothing that is unknown is ever shown as a pass.
* Certificates of the platform have a suite for each well-known name; those that share one are merged alike. What is
  said of others stands under where they are. The properties of the scan's own suite are the sums of the inventory.
* ``package`` and ``properties`` of a suite say component, owner and standing, for dashboards that group by them.
* ``skipped``: not applicable, informational, and what is kept but must not break a build: waived, readiness,
  converging.

``report.lint.junit`` gives ``write_suites`` the suites of a lint report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TextIO
from xml.etree import ElementTree

from scanner.model.inventory import CertificateReport, InventoryRow, NamesRow
from scanner.model.lint_report import LintReport
from scanner.model.report import NEVER_FAILS, EndpointRow, FindingRow, Report, exit_code
from scanner.report import headline
from scanner.report.coverage import stopped
from scanner.report.escape import plain
from scanner.report.grouping import owner_name
from scanner.report.lint_text import named, place

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
_TEXTS = 100
"""Texts of one case; further replicas, or certificates of the same name, are counted."""


@dataclass(slots=True)
class Case:
    """One test of a CI system."""

    name: str
    outcome: Outcome = "pass"
    message: str = ""
    texts: list[str] = field(default_factory=list)
    more: int = 0
    """Texts that were left out."""

    def add(self, outcome: Outcome, message: str, text: str) -> None:
        """Another replica's, or another certificate's: the worst one names the case, and its text is always kept."""
        worse = not self.texts or _WORST.index(outcome) < _WORST.index(self.outcome)
        if worse:
            self.outcome, self.message = outcome, message
        if len(self.texts) < _TEXTS:
            self.texts.append(text)
            return
        self.more += 1
        if worse:
            self.texts[-1] = text

    def add_finding(self, finding: FindingRow, where: str) -> None:
        """Add a finding at ``where``: a replica, a certificate or a place in a file."""
        message = headline.kind(finding["status"]) + finding["message"]
        self.add(_outcome(finding), message, _text(finding, where))


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Cases of one class name."""

    name: str
    cases: list[Case]
    package: str = ""
    properties: dict[str, str] = field(default_factory=dict)


def write(report: Report, out: TextIO) -> None:
    """Write the report of a scan. Its rows are read three times: for the replicas, the totals and the suites."""
    replicas = Counter(row["id"] for row in report.rows())
    write_suites(out, "adhere", lambda: _suites(report, replicas), report.started, time=_seconds(report))


def write_suites(out: TextIO, name: str, suites: Callable[[], Iterable[Suite]], started: str, **more: str) -> None:
    """Write a document. ``suites`` is called twice: for the totals of the root, and for the suites."""
    totals = Counter(case.outcome for suite in suites() for case in suite.cases)
    root = {"name": name, **_counts(totals), "timestamp": plain(started), **more}
    start = ElementTree.tostring(ElementTree.Element("testsuites", root), "unicode", short_empty_elements=False)
    out.write("<?xml version='1.0' encoding='UTF-8'?>\n" + start.removesuffix("</testsuites>") + "\n")
    for suite in suites():
        element = _element(suite, plain(started))
        ElementTree.indent(element)
        out.write(ElementTree.tostring(element, "unicode") + "\n")
    out.write("</testsuites>\n")


def _suites(report: Report, replicas: Counter[str]) -> Iterator[Suite]:
    """The scan itself, the certificates that have names, what belongs to no endpoint, then every endpoint id."""
    certificates = report.certificates
    properties = _counted(report) | (_sums(certificates) if certificates else {})
    yield Suite(name="adhere", cases=[_coverage(report)], properties=properties)
    told: set[object] = set()
    yield from _named(certificates.rows(), told) if certificates else ()
    about: dict[str, list[FindingRow]] = {}
    for finding in report.findings:
        if headline.same(finding) not in told:
            about.setdefault(finding["about"] or "objects", []).append(finding)
    for name, findings in about.items():
        yield Suite(name=name, cases=cases_of(findings, ""))
    waiting: dict[str, list[_Seen]] = {}
    for row in report.rows():
        waiting.setdefault(row["id"], []).append(_seen(row))
        if len(waiting[row["id"]]) == replicas[row["id"]]:
            yield _endpoint_suite(row, waiting.pop(row["id"]))


def _endpoint_suite(row: EndpointRow, replicas: list[_Seen]) -> Suite:
    cases, name = _endpoint_cases(replicas), row["id"]
    if row["standing"] == "listed":
        return Suite(name=name, cases=cases)
    words = {"component": row["component"], "owner": owner_name(row["owner"]), "standing": row["standing"]}
    properties = {key: word for key, word in words.items() if word}
    return Suite(name=name, cases=cases, package=row["component"] or properties["owner"], properties=properties)


def _counted(report: Report) -> dict[str, str]:
    """Endpoints by outcome and findings by severity, as all formats count them: cases are merged over replicas."""
    counts = report.summary
    outcomes = {f"endpoints.{each}": str(count) for each, count in counts.outcomes.items()}
    findings = {f"findings.{each}": str(count) for each, count in counts.failures.items()}
    trust = {"trust.not-checked": counts.trust_unchecked, "trust.self-signed": counts.self_signed}
    trust["names.not-checked"] = counts.names_unchecked
    others = {**trust, "connections": counts.connections, "exit": exit_code(report, report.fail_on)}
    return {"endpoints": str(counts.endpoints), **outcomes, **findings, **{key: str(n) for key, n in others.items()}}


def _sums(certificates: CertificateReport) -> dict[str, str]:
    """The inventory by status, and by key and category, as properties."""
    told = certificates.summary
    keys = {f"certificates.{each['category']}.{each['key']}": str(each["count"]) for each in told["keys"]}
    statuses = {f"certificates.{status}": str(count) for status, count in told["statuses"].items()}
    until = {"certificates.pending-until": told["pending_until"]} if told["pending_until"] else {}
    return {"certificates": str(told["certificates"]), **statuses, **until, **keys, **_names(told["names"])}


def _names(rows: Iterable[NamesRow]) -> dict[str, str]:
    """The names that the PKI configuration governs: how many by what was seen, and those that were never seen."""
    found: dict[str, str] = {}
    for row in rows:
        prefix = f"{row['cluster']}/pki-names" if row["cluster"] else "pki-names"
        said = {"judged": row["judged"], "unknown": row["unknown"], "never-seen": row["never_seen"]}
        found |= {f"{prefix}.{state}": str(len(names)) for state, names in said.items()}
        found |= {f"{prefix}.{state}.names": ", ".join(names) for state, names in said.items() if names}
        found[f"{prefix}.complete"] = str(row["complete"]).lower()
    return found


def _named(rows: Iterable[InventoryRow], told: set[object]) -> Iterator[Suite]:
    """A suite for each well-known name of which anything is said; ``told`` learns which findings are in them."""
    suites: dict[str, Suite] = {}
    for row in rows:
        if not row["names"]:
            continue
        name = "/".join(filter(None, (row["cluster"], "certificate", " or ".join(row["names"]))))
        words = {"component": row["component"], "category": row["category"], "namespace": row["namespace"]}
        properties = {key: word for key, word in words.items() if word}
        suite = suites.setdefault(
            name, Suite(name=name, cases=[], package=row["component"] or "", properties=properties)
        )
        cases = {case.name: case for case in suite.cases}
        where = next(iter(row["places"]), "")
        suite.cases[:] = cases_of(row["findings"], where, cases) if row["findings"] else _unjudged(row, where, cases)
        told.update(headline.same(each) for each in row["findings"])
    yield from suites.values()


def _unjudged(row: InventoryRow, where: str, cases: dict[str, Case]) -> list[Case]:
    """What no rule had anything to say of is no pass."""
    cases.setdefault("verdict", Case("verdict")).add("skipped", row["status"], _lines([where, row["why"]]))
    return list(cases.values())


def _coverage(report: Report) -> Case:
    """A scan that was cut short, or looked at nothing, is never green."""
    case, told = Case("coverage"), report.coverage
    judged = f"{told['judged']} of {told['endpoints']} endpoints judged"
    if told["interrupted"]:
        case.add("error", stopped(told), "")
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


def _endpoint_cases(replicas: list[_Seen]) -> list[Case]:
    cases: dict[str, Case] = {}
    for each in replicas:
        where = each.instance if len(replicas) > 1 else ""
        found = cases_of(each.findings, where, cases)
        if _unsaid(each, found):
            case = cases.setdefault("verdict", Case("verdict"))
            case.add(each.outcome, each.reason, _lines([where, each.detail]))
    return list(cases.values())


def _unsaid(seen: _Seen, cases: list[Case]) -> bool:
    """Whether no case carries the endpoint's verdict: then one of its own must, or a bad endpoint would be green."""
    if not cases:
        return True
    outcome = seen.outcome
    if seen.status in NEVER_FAILS or outcome in {"pass", "skipped"}:
        return False
    return all(_WORST.index(case.outcome) > _WORST.index(outcome) for case in cases)


def cases_of(findings: Iterable[FindingRow], where: str, cases: dict[str, Case] | None = None) -> list[Case]:
    """Add findings to the cases of their rules, by id. ``where``: replica, certificate or place in a file."""
    cases = {} if cases is None else cases
    for finding in findings:
        cases.setdefault(finding["rule"], Case(finding["rule"])).add_finding(finding, where)
    return list(cases.values())


def _outcome(finding: FindingRow) -> Outcome:
    outcome = _OUTCOMES[finding["verdict"]]
    excused = finding["severity"] == "info" or (outcome == "failure" and finding["status"] in NEVER_FAILS)
    return "skipped" if excused and outcome != "pass" else outcome


def _text(finding: FindingRow, where: str) -> str:
    details = (("severity", [finding["severity"]]), *headline.details(finding))
    return _lines(
        [where, finding["message"], *(f"{name}: {item}" for name, items in details for item in items if item)]
    )


def _lines(texts: Iterable[str]) -> str:
    """Each cleaned on its own: the line breaks between them are ours."""
    return "\n".join(plain(text, _LIMIT) for text in texts if text)


def _element(of: Suite, started: str) -> ElementTree.Element:
    counts = _counts(Counter(case.outcome for case in of.cases))
    suite = ElementTree.Element("testsuite", {"name": plain(of.name, _LIMIT), **counts, "timestamp": started})
    if of.package:
        suite.set("package", plain(of.package, _LIMIT))
    if of.properties:
        properties = ElementTree.SubElement(suite, "properties")
        for word, value in of.properties.items():
            ElementTree.SubElement(properties, "property", {"name": plain(word, _LIMIT), "value": plain(value, _LIMIT)})
    for case in of.cases:
        named = {"classname": plain(of.name, _LIMIT), "name": plain(case.name, _LIMIT)}
        test = ElementTree.SubElement(suite, "testcase", named)
        texts = (*case.texts, f"and {case.more} more, in the JSON report" if case.more else "")
        text = "\n\n".join(filter(None, texts))
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


_NOT_SEEN = "not seen"


def write_lint(report: LintReport, out: TextIO) -> None:
    """Write the report of lint."""
    suites = [Suite(name=name, cases=list(cases.values())) for name, cases in _lint_suites(report).items() if cases]
    write_suites(out, "adhere lint", lambda: suites, report.started)


def _lint_suites(report: LintReport) -> dict[str, dict[str, Case]]:
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
