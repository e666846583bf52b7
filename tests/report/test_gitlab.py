"""GitLab's Code Quality report: the members that GitLab documents, and fingerprints that are unique and stay."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest

from scanner.model.lint_report import LintReport
from scanner.model.report import Report
from scanner.report.formats import gitlab
from tests.report import cluster_samples, lint_samples, samples
from tests.report.sample_reports import REPORTS, row
from tests.report.samples import finding
from tests.schemas import errors

TEXT = {"type": "string", "minLength": 1}
ISSUES = {  # docs.gitlab.com, Code Quality, "Code Quality report format"
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": TEXT,
            "check_name": TEXT,
            "fingerprint": TEXT,
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "pattern": r"\A(?!\./|/)."},
                    "lines": {
                        "type": "object",
                        "required": ["begin"],
                        "properties": {"begin": {"type": "integer", "minimum": 1}},
                    },
                },
            },
        },
    },
}


def issues(report: Report | LintReport) -> list[dict[str, Any]]:
    out = StringIO()
    gitlab.write(report, out)
    return list(json.loads(out.getvalue()))


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_it_is_valid_and_fingerprints_are_unique(report: Report | LintReport) -> None:
    found = issues(report)
    assert errors(found, ISSUES) == []
    assert len({each["fingerprint"] for each in found}) == len(found)
    assert issues(report) == found


def test_an_issue_is_at_its_line() -> None:
    (one,) = [each for each in issues(lint_samples.every()) if each["check_name"] == "gateway-insecure-fallback"]
    assert one["location"] == {"path": "shop/gateway.yaml", "lines": {"begin": 12}}
    assert one["severity"] == "critical"
    assert one["description"] == (
        "Gateway/shop/edge spec.tls: high: clients without a valid certificate are let in. "
        "observed: AllowInsecureFallback. expected: AllowValidOnly. Gateway/shop/edge: set the mode to AllowValidOnly."
    )


def test_severities() -> None:
    cases = [
        (finding("r", "critical", "fail", "m"), "blocker"),
        (finding("r", "low", "fail", "m"), "minor"),
        (finding("r", "high", "fail", "m", status="waived"), "info"),
        (finding("r", "low", "inconclusive", "m"), "major"),
    ]
    for one, severity in cases:
        verdict = one.verdict
        told = issues(samples.report([row("a:1", one, verdict=verdict)]))
        assert [each["severity"] for each in told if each["check_name"] == "r"] == [severity]


def test_a_scan_that_is_not_complete_is_an_issue() -> None:
    (one,) = [each for each in issues(cluster_samples.report()) if each["check_name"] == "coverage"]
    assert one["description"].startswith("not complete: ")
    assert "; not read: " in one["description"]
    assert [each["description"] for each in issues(samples.report([]))] == ["nothing was judged"]
    passed = samples.report([row("a:1", finding("r", "high", "pass", "m"), verdict="pass")])
    assert issues(passed) == []
