"""JUnit XML for CI systems: a test case for each rule and listener, with stable names.

There is no standard; the schema of Jenkins' xUnit plugin is the strictest. GitLab, Jenkins and the common actions of
GitHub read: ``testsuites`` > ``testsuite`` (one for each endpoint id) > ``testcase`` with ``classname`` = endpoint id
and ``name`` = rule id. GitLab and Jenkins keep one case for each pair of those, so the replicas of an id are merged,
with the worst result.

* ``failure``: violated. ``error``: inconclusive, with the reason and a fix; unknown is never a pass. ``skipped``: not
  applicable, informational, or not counted in the exit code.
* Certificates of the platform are the cases of one suite, with their well-known name as ``classname``; other
  certificates are under their place. The sums of the inventory are properties of the suite ``adhere``.
* ``time``: the case ``coverage`` has the time of the scan, because listeners are probed side by side; the others have
  none.
* ``package`` and ``properties`` of a suite are component, owner and ``standing``, for dashboards.

Lint has a suite for each object, and a case for each rule that reads its kind. Objects of one name in several files are
one suite.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Literal, TextIO
from xml.etree import ElementTree

from msgspec import Struct, field

from scanner.model.inventory import CertificateReport, InventoryRow, NamesRow
from scanner.model.lint_report import LintReport
from scanner.model.report import NEVER_FAILS, EndpointRow, FindingRow, Report, exit_code
from scanner.report import headline
from scanner.report.coverage import stopped
from scanner.report.escape import plain
from scanner.report.formats.lint_text import named, place
from scanner.report.grouping import owner_name
from scanner.report.issues import gaps

Outcome = Literal["failure", "error", "skipped", "pass"]

_WORST: tuple[Outcome, ...] = ("failure", "error", "skipped", "pass")
_OUTCOMES: dict[str, Outcome] = {
    "fail": "failure",
    "inconclusive": "error",
    "not_applicable": "skipped",
    "pass": "pass",
}
_LIMIT = 2000
"""Characters of one text. Dashboards store every case, and a certificate can have thousands of names."""
_TEXTS = 100
"""Texts of one case; the others are counted."""


class Case(Struct):
    """A test case."""

    name: str
    outcome: Outcome = "pass"
    message: str = ""
    texts: list[str] = field(default_factory=list)
    more: int = 0
    """Number of texts that are left out."""
    classname: str = ""
    """Empty: the name of the suite."""
    type: str = ""
    """Type of a failure or error; empty: the name of the case."""
    seconds: float = 0

    def add(self, outcome: Outcome, message: str, text: str) -> None:
        """Add the result of a replica or certificate. The worst result names the case, and its text is kept."""
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


class Suite(Struct, frozen=True, kw_only=True):
    """A test suite."""

    name: str
    cases: list[Case]
    package: str = ""
    properties: dict[str, str] = field(default_factory=dict)


def write(report: Report, out: TextIO) -> None:
    """Write the report of a scan. Its rows are read three times: for the replicas, the totals and the suites."""
    replicas = Counter(row["id"] for row in report.rows())
    write_suites(out, "adhere", lambda: _suites(report, replicas), report.started)


def write_suites(out: TextIO, name: str, suites: Callable[[], Iterable[Suite]], started: str) -> None:
    """Write a document. ``suites`` is called twice: for the totals, and for the suites."""
    totals, seconds = Counter[Outcome](), 0.0
    for case in (case for suite in suites() for case in suite.cases):
        totals[case.outcome] += 1
        seconds += case.seconds
    root = {"name": name, **_counts(totals), "time": f"{seconds:.3f}"}
    del root["skipped"]  # only a suite has it
    start = ElementTree.tostring(ElementTree.Element("testsuites", root), "unicode", short_empty_elements=False)
    out.write("<?xml version='1.0' encoding='UTF-8'?>\n" + start.removesuffix("</testsuites>") + "\n")
    for suite in suites():
        element = suite_element(suite, plain(started))
        ElementTree.indent(element)
        out.write(ElementTree.tostring(element, "unicode") + "\n")
    out.write("</testsuites>\n")


def _suites(report: Report, replicas: Counter[str]) -> Iterator[Suite]:
    """Yield the suite of the scan, then cluster-wide findings, endpoint ids, and certificates with names."""
    certificates = report.certificates
    properties = _counted(report) | (_sums(certificates) if certificates else {})
    yield Suite(name="adhere", cases=[coverage_case(report)], properties=properties)
    shown: set[object] = set()
    named = _named(certificates.rows(), shown) if certificates else []
    about: dict[str, list[FindingRow]] = {}
    for finding in report.findings:
        if headline.same(finding) not in shown:
            about.setdefault(finding["about"] or "objects", []).append(finding)
    for name, findings in about.items():
        yield Suite(name=name, cases=cases_of(findings, ""))
    waiting: dict[str, list[_Seen]] = {}
    for row in report.rows():
        waiting.setdefault(row["id"], []).append(_seen(row))
        if len(waiting[row["id"]]) == replicas[row["id"]]:
            yield _endpoint_suite(row, waiting.pop(row["id"]))
    if named:
        yield Suite(name="certificates", cases=named)


def _endpoint_suite(row: EndpointRow, replicas: list[_Seen]) -> Suite:
    cases, name = _endpoint_cases(replicas), row["id"]
    if row["standing"] == "listed":
        return Suite(name=name, cases=cases)
    words = {"component": row["component"], "owner": owner_name(row["owner"]), "standing": row["standing"]}
    properties = {key: word for key, word in words.items() if word}
    return Suite(name=name, cases=cases, package=row["component"] or properties["owner"], properties=properties)


def _counted(report: Report) -> dict[str, str]:
    """Count endpoints by outcome and findings by severity, like the other formats: cases are merged over replicas."""
    counts = report.summary
    outcomes = {f"endpoints.{each}": str(count) for each, count in counts.outcomes.items()}
    findings = {f"findings.{each}": str(count) for each, count in counts.failures.items()}
    trust = {"trust.not-checked": counts.trust_unchecked, "trust.self-signed": counts.self_signed}
    trust["names.not-checked"] = counts.names_unchecked
    others = {**trust, "connections": counts.connections, "exit": exit_code(report, report.fail_on)}
    return {"endpoints": str(counts.endpoints), **outcomes, **findings, **{key: str(n) for key, n in others.items()}}


def _sums(certificates: CertificateReport) -> dict[str, str]:
    """Count the certificates by status, and by key and category."""
    summary = certificates.summary
    keys = {f"certificates.{each['category']}.{each['key']}": str(each["count"]) for each in summary["keys"]}
    statuses = {f"certificates.{status}": str(count) for status, count in summary["statuses"].items()}
    until = {"certificates.pending-until": summary["pending_until"]} if summary["pending_until"] else {}
    return {"certificates": str(summary["certificates"]), **statuses, **until, **keys, **_names(summary["names"])}


def _names(rows: Iterable[NamesRow]) -> dict[str, str]:
    """Count the names that the PKI configuration governs, by state."""
    found: dict[str, str] = {}
    for row in rows:
        prefix = f"{row['cluster']}/pki-names" if row["cluster"] else "pki-names"
        said = {"judged": row["judged"], "unknown": row["unknown"], "never-seen": row["never_seen"]}
        found |= {f"{prefix}.{state}": str(len(names)) for state, names in said.items()}
        found |= {f"{prefix}.{state}.names": ", ".join(names) for state, names in said.items() if names}
        found[f"{prefix}.complete"] = str(row["complete"]).lower()
    return found


def _named(rows: Iterable[InventoryRow], shown: set[object]) -> list[Case]:
    """Return the cases of certificates with well-known names. Adds the keys of their findings to ``shown``."""
    found: dict[str, dict[str, Case]] = {}
    for row in rows:
        if not row["names"]:
            continue
        name = "/".join(filter(None, (row["cluster"], "certificate", " or ".join(row["names"]))))
        cases = found.setdefault(name, {})
        component = f"component: {row['component']}" if row["component"] else ""
        where = "; ".join(filter(None, (next(iter(row["places"]), ""), component)))
        if row["findings"]:
            cases_of(row["findings"], where, cases)
        else:
            _unjudged(row, where, cases)
        shown.update(headline.same(each) for each in row["findings"])
    for name, cases in found.items():
        for case in cases.values():
            case.classname = name
    return [case for cases in found.values() for case in cases.values()]


def _unjudged(row: InventoryRow, where: str, cases: dict[str, Case]) -> None:
    """A certificate without a finding is skipped, not passed."""
    cases.setdefault("verdict", Case("verdict")).add("skipped", row["status"], _lines([where, row["why"]]))


def coverage_case(report: Report) -> Case:
    """Case that is an error if the scan was stopped or has no endpoint."""
    case, counts = Case("coverage", seconds=_seconds(report)), report.coverage
    judged = f"{counts['judged']} of {counts['endpoints']} endpoints judged"
    if counts["interrupted"]:
        message, fix = stopped(counts), "let the scan run to its end, or scan less: --include, --exclude"
    elif not counts["endpoints"]:
        message, fix = "nothing was scanned", "correct the targets, --include and --exclude"
    elif not counts["complete"]:
        message, fix = f"not complete: {judged}", "correct what the other errors of this report name"
    else:
        return case
    case.add("error", message, _lines([*gaps(report), f"fix: {fix}"]))
    return case


class _Seen(Struct, frozen=True):
    """The fields of a replica that its suite needs. Other replicas may come much later, and a row is large."""

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
            case.add(each.outcome, each.reason, _lines([where, each.detail, _remedy(each.outcome, each.status)]))
    return list(cases.values())


def _unsaid(seen: _Seen, cases: list[Case]) -> bool:
    """True if no case has the endpoint's verdict. Then it gets a case of its own, because it must not be green."""
    if not cases:
        return True
    outcome = seen.outcome
    if seen.status in NEVER_FAILS or outcome in {"pass", "skipped"}:
        return False
    return all(_WORST.index(case.outcome) > _WORST.index(outcome) for case in cases)


def cases_of(findings: Iterable[FindingRow], where: str, cases: dict[str, Case] | None = None) -> list[Case]:
    """Add findings to the cases of their rules. ``where``: replica, certificate or place in a file."""
    cases = {} if cases is None else cases
    for finding in findings:
        cases.setdefault(finding["rule"], Case(finding["rule"])).add_finding(finding, where)
    return list(cases.values())


def _outcome(finding: FindingRow) -> Outcome:
    outcome = _OUTCOMES[finding["verdict"]]
    excused = finding["severity"] == "info" or (outcome == "failure" and finding["status"] in NEVER_FAILS)
    return "skipped" if excused and outcome != "pass" else outcome


_REMEDIES = {
    "unreachable": "let the scanner reach the listener, or exclude it",
    "not-tls": "let the listener speak TLS, or exclude it",
    "interrupted": "scan again, with a longer --deadline if it was reached",
    "sampled": "scan from where each backend can be reached: in the cluster, or with --via port-forward",
}
_OTHERWISE = "provide what the message names, and run adhere again"


def _remedy(outcome: Outcome, status: str) -> str:
    """Return a fix for an error that has none of its own; the message has the reason."""
    return f"fix: {_REMEDIES.get(status, _OTHERWISE)}" if outcome == "error" else ""


def _text(finding: FindingRow, where: str) -> str:
    severity = "severity if it fails" if finding["verdict"] == "inconclusive" else "severity"
    details = ((severity, [finding["severity"]]), *headline.details(finding))
    items = [f"{name}: {item}" for name, items in details for item in items if item]
    return _lines(
        [where, finding["message"], *items, "" if finding["fix"] else _remedy(_outcome(finding), finding["status"])]
    )


def _lines(texts: Iterable[str]) -> str:
    """Escape each text on its own, because the line breaks between them are ours."""
    return "\n".join(plain(text, _LIMIT) for text in texts if text)


def suite_element(of: Suite, started: str) -> ElementTree.Element:
    counts = _counts(Counter(case.outcome for case in of.cases))
    seconds = f"{sum(case.seconds for case in of.cases):.3f}"
    named = {"name": plain(of.name, _LIMIT), **counts, "timestamp": started, "time": seconds}
    suite = ElementTree.Element("testsuite", named)
    if of.package:
        suite.set("package", plain(of.package, _LIMIT))
    if of.properties:
        properties = ElementTree.SubElement(suite, "properties")
        for word, value in of.properties.items():
            ElementTree.SubElement(properties, "property", {"name": plain(word, _LIMIT), "value": plain(value, _LIMIT)})
    for case in of.cases:
        named = {"classname": plain(case.classname or of.name, _LIMIT), "name": plain(case.name, _LIMIT)}
        test = ElementTree.SubElement(suite, "testcase", {**named, "time": f"{case.seconds:.3f}"})
        texts = (*case.texts, f"and {case.more} more, in the JSON report" if case.more else "")
        text = "\n\n".join(filter(None, texts))
        if case.outcome == "pass":
            continue
        attributes = {"message": plain(case.message, _LIMIT)}
        if case.outcome != "skipped":
            attributes["type"] = plain(case.type or case.name)
        ElementTree.SubElement(test, case.outcome, attributes).text = text or None
    return suite


def _counts(outcomes: Counter[Outcome]) -> dict[str, str]:
    return {
        "tests": str(outcomes.total()),
        "failures": str(outcomes["failure"]),
        "errors": str(outcomes["error"]),
        "skipped": str(outcomes["skipped"]),
    }


def _seconds(report: Report) -> float:
    try:
        elapsed = datetime.fromisoformat(report.finished) - datetime.fromisoformat(report.started)
    except (ValueError, TypeError):  # a saved report may say anything
        return 0
    return max(elapsed.total_seconds(), 0)


_NOT_SEEN = "not seen"


def write_lint(report: LintReport, out: TextIO) -> None:
    """Write the report of lint."""
    suites = [Suite(name=name, cases=list(cases.values())) for name, cases in _lint_suites(report).items() if cases]
    write_suites(out, "adhere lint", lambda: suites, report.started)


def _lint_suites(report: LintReport) -> dict[str, dict[str, Case]]:
    """Return the cases by suite: unread inputs, manifests without objects, then objects."""
    suites: dict[str, dict[str, Case]] = {_NOT_SEEN: {}, "manifests": {}}
    for name, why, fix in _unseen(report):
        suites[_NOT_SEEN].setdefault(name, Case(name)).add("error", why, _lines([why, f"fix: {fix or _OTHERWISE}"]))
    for finding in report.findings:
        name = f"{finding['rule']} {place(finding)}"
        suites["manifests"].setdefault(name, Case(name)).add_finding(finding, place(finding))
    for each in report.objects:
        cases = suites.setdefault(named(each["object"]), {})
        for rule in each["passed"]:
            cases.setdefault(rule, Case(rule))
        for finding in each["findings"]:
            where = f"{place(finding)}: {finding['field']}" if finding["place"] and finding["field"] else place(finding)
            cases.setdefault(finding["rule"], Case(finding["rule"])).add_finding(finding, where)
    return suites


def _unseen(report: LintReport) -> Iterator[tuple[str, str, str]]:
    """Yield each input that was not read, with reason and fix: an input that may have findings needs a case."""
    if not report.objects:
        yield "objects", "there was no object to judge", "correct the paths, or accept it with --accept-empty"
    for skipped in report.skipped:
        yield f"not looked at {skipped['path']}", skipped["reason"], skipped["remedy"]
    for gap in report.unreadable:
        if not gap["accepted"]:
            yield f"not read {gap['resource']}", gap["reason"], gap["remedy"]
