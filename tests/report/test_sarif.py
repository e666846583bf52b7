"""SARIF: valid by its schema, within GitHub's limits, and with the same fingerprints in every scan."""

from __future__ import annotations

import json
import re
from email import message_from_string
from email.message import Message
from importlib.metadata import PackageNotFoundError
from io import StringIO
from typing import Any

import pytest

from scanner.model.finding import Severity, Status
from scanner.model.lint_report import LintReport
from scanner.model.report import Report
from scanner.report import issues
from scanner.report.formats import sarif
from scanner.values import replace
from tests.report import cluster_samples, samples
from tests.report.sample_reports import REPORTS, row
from tests.report.samples import finding
from tests.schemas import errors

EACH = pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)


def log_of(report: Report | LintReport) -> dict[str, Any]:
    out = StringIO()
    sarif.write(report, out)
    return dict(json.loads(out.getvalue()))


def results(report: Report | LintReport) -> list[dict[str, Any]]:
    return [each for run in log_of(report)["runs"] for each in run["results"]]


@EACH
def test_it_is_valid(report: Report | LintReport) -> None:
    assert errors(log_of(report), "sarif-2.1.0") == []


def test_the_schema_refuses_what_it_is_not() -> None:
    log = log_of(samples.report())
    log["runs"][0]["results"][0]["level"] = "medium"
    del log["runs"][0]["tool"]["driver"]["name"]
    assert len(errors(log, "sarif-2.1.0")) == 2


@EACH
def test_every_result_has_what_github_requires(report: Report | LintReport) -> None:
    """docs.github.com, SARIF support for code scanning: a file and a line, a message, a known rule, fingerprints."""
    for run in log_of(report)["runs"]:
        rules = run["tool"]["driver"]["rules"]
        assert len({each["id"] for each in rules}) == len(rules) <= 25_000
        for each in run["results"]:
            ((location,), text) = each["locations"], each["message"]["text"]
            uri = location["physicalLocation"]["artifactLocation"]["uri"]
            assert re.fullmatch(r"(?:[A-Za-z0-9\-._~/]|%[0-9A-F]{2})+", uri)
            assert not {"..", ".", ""} & set(uri.split("/"))
            assert location["physicalLocation"]["region"]["startLine"] >= 1
            assert text
            assert len(text) <= 1000
            assert re.fullmatch("[0-9a-f]{32}", each["partialFingerprints"]["adhere/v1"])
            assert "ruleIndex" not in each or rules[each["ruleIndex"]]["id"] == each["ruleId"]


def test_every_open_finding_of_a_scan_is_a_result_and_inconclusive_is_no_pass() -> None:
    report = cluster_samples.report()
    expected = {
        (each["rule"], each["verdict"] == "fail")
        for found in (report.findings, *(one["findings"] for one in report.rows()))
        for each in found
        if each["verdict"] == "fail" or (each["verdict"] == "inconclusive" and each["severity"] != "info")
    }
    seen = results(report)
    assert {(each["ruleId"], each["kind"] != "open") for each in seen} == expected
    assert {each["kind"] for each in seen} == {"open", "fail", "informational"}
    assert all((each["kind"] == "fail") == (each["level"] != "none") for each in seen)


@pytest.mark.parametrize("verdict", ["fail", "inconclusive"])
def test_an_endpoint_whose_findings_do_not_say_its_verdict_is_a_result(verdict: str) -> None:
    (one,) = results(samples.report([row("a", finding("r", "high", "pass", "m"), verdict=verdict)]))
    assert (one["ruleId"], one["kind"]) == ("verdict", "fail" if verdict == "fail" else "open")


@pytest.mark.parametrize("status", ["waived", "known", "readiness"])
def test_a_failure_that_does_not_count_hides_nothing_unknown(status: Status) -> None:
    excused, unknown = finding("r", "high", "fail", "m", status=status), finding("r", "low", "inconclusive", "unknown")
    both = [row("a:1", excused, number=1), row("a:1", unknown, verdict="inconclusive", number=2)]
    (one,) = results(samples.report(both))
    assert one["kind"] == "open"


def test_replicas_are_one_result_and_the_worst_names_it() -> None:
    found = (finding("r", "high", "inconclusive", "unknown"), finding("r", "high", "fail", "broken"))
    rows = [
        row("Deployment/shop/web:8443", found[number % 2], verdict=found[number % 2].verdict, number=number)
        for number in range(4)
    ]
    (one,) = results(samples.report(rows))
    assert one["kind"] == "fail"
    assert one["message"]["text"].startswith("Deployment/shop/web:8443: high: broken (+3 more)")


def test_a_fingerprint_is_that_of_rule_and_endpoint_id() -> None:
    def prints(name: str, rule: str, message: str, number: int) -> str:
        one = results(samples.report([row(name, finding(rule, "high", "fail", message), number=number)]))[0]
        return str(one["partialFingerprints"]["adhere/v1"])

    first = prints("Pod/a/b:1", "r", "expires in 20 hours", 1)
    assert prints("Pod/a/b:1", "r", "expires in 19 hours", 2) == first
    assert len({first, prints("Pod/a/c:1", "r", "m", 1), prints("Pod/a/b:1", "q", "m", 1)}) == 3


def test_a_listener_is_located_by_its_owner_and_a_target_by_its_line() -> None:
    (one,) = results(samples.report([row("../x:1", finding("r", "high", "fail", "m"))]))
    (location,) = one["locations"]
    assert location["logicalLocations"] == [{"fullyQualifiedName": "../x:1", "kind": "Target"}]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "targets.txt"
    assert location["physicalLocation"]["region"]["startLine"] == 1
    moved = row("../x:1", finding("r", "high", "fail", "m"))
    moved["standing"] = "user"
    (one,) = results(samples.report([moved]))
    assert one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "adhere/_/x%3A1"


def test_what_is_too_much_for_a_run_is_in_the_next_and_what_is_too_much_for_a_log_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sarif, "MOST", 2)
    monkeypatch.setattr(sarif, "RUNS", 2)
    severities: tuple[Severity, ...] = ("low", "critical", "info", "medium", "high")
    rows = [row(f"a:{number}", finding("r", each, "fail", each)) for number, each in enumerate(severities)]
    log = log_of(samples.report(rows))
    assert errors(log, "sarif-2.1.0") == []
    told = [{re.findall(r"\w+: (\w+)", each["message"]["text"])[0] for each in run["results"]} for run in log["runs"]]
    assert told == [{"critical", "high"}, {"medium", "low"}]
    assert [run.get("automationDetails") for run in log["runs"]] == [None, {"id": "adhere-scan-2/"}]
    assert "1 results are left out" in str(log["runs"][0]["invocations"])


def test_it_says_that_a_scan_is_not_complete() -> None:
    (run,) = log_of(samples.report())["runs"]
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["exitCode"] == 1
    assert "could not be judged" in str(invocation["toolExecutionNotifications"])
    (run,) = log_of(samples.report([]))["runs"]
    assert run["invocations"][0]["executionSuccessful"] is False
    assert run["invocations"][0]["exitCodeDescription"] == "exit 4: nothing was judged"
    passed = [each for each in samples.report().rows() if each["verdict"] == "pass"]
    (run,) = log_of(samples.report(passed))["runs"]
    assert run["invocations"][0]["executionSuccessful"] is True


def test_rules_have_their_page_and_an_address() -> None:
    rules = {each["id"]: each for each in log_of(samples.report())["runs"][0]["tool"]["driver"]["rules"]}
    assert rules["tls-version"]["helpUri"] == "https://www.rfc-editor.org/rfc/rfc8996"
    assert rules["tls-version"]["help"]["markdown"].startswith("Accepts no version")


def test_a_waiver_is_a_suppression() -> None:
    waived = finding("r", "high", "fail", "m", status="waived", waiver="ops: until 2027-01-31")
    (one,) = results(samples.report([row("a:1", waived)]))
    assert one["suppressions"] == [{"kind": "external", "justification": "ops: until 2027-01-31"}]


def test_rows_are_read_again_and_not_kept() -> None:
    passes = 0

    def rows() -> Any:  # noqa: ANN401 - an iterator
        nonlocal passes
        passes += 1
        return iter(samples.report().rows())

    found = issues.Issues(replace(samples.report(), rows=rows))
    list(found.read(set(found.ranked[:1])))
    assert passes == 2


def test_a_rule_has_its_controls() -> None:
    report = samples.report()
    report.rules[0]["controls"] = ["NIST SP 800-52 Revision 2 3.1"]
    try:
        first, second = log_of(report)["runs"][0]["tool"]["driver"]["rules"][:2]
    finally:
        del report.rules[0]["controls"]
    assert first["properties"]["controls"] == ["NIST SP 800-52 Revision 2 3.1"]
    assert "controls" not in second["properties"]


@pytest.mark.parametrize(
    ("urls", "address"),
    [
        ("", None),
        ("Homepage, https://a.example/", "https://a.example/"),
        ("Homepage, https://a.example/\nProject-URL: Documentation, https://docs.example/", "https://docs.example/"),
        ("Source, https://git.example/", None),
        ("documentation, javascript:alert(1)", None),
        (None, None),
    ],
)
def test_the_address_of_the_package_is_that_of_the_tool(
    monkeypatch: pytest.MonkeyPatch, urls: str | None, address: str | None
) -> None:
    def metadata(name: str) -> Message:
        if urls is None:
            raise PackageNotFoundError(name)
        return message_from_string(f"Name: {name}\n" + (f"Project-URL: {urls}\n" if urls else ""))

    monkeypatch.setattr(sarif, "metadata", metadata)
    assert log_of(samples.report())["runs"][0]["tool"]["driver"].get("informationUri") == address
