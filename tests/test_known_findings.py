"""A baseline: what is known does not count, what is new or worse does, and what is unknown is never known."""

from __future__ import annotations

import json
from copy import deepcopy
from io import StringIO
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.errors import InputError, ScannerError, UsageError
from scanner.known_findings import lint_with_baseline, load_baseline, scan_with_baseline, write_baseline
from scanner.model.fingerprint import Baseline
from scanner.model.lint_report import SCHEMA as LINT
from scanner.model.lint_report import LintReport
from scanner.model.lint_report import exit_code as lint_exit_code
from scanner.model.report import EXIT_FINDINGS, EXIT_INCOMPLETE, EXIT_OK, Coverage, EndpointRow, Report, exit_code
from scanner.model.report import SCHEMA as SCAN
from scanner.report import FORMATS, LINT_FORMATS
from scanner.report.results import Results, of_scan
from scanner.report.rows import finding_row
from scanner.values import replace
from tests.report import cluster_samples, lint_samples
from tests.report.samples import finding
from tests.schemas import errors

ROOT = Path(__file__).parents[1]
COMPLETE = [row for row in cluster_samples.rows() if row["verdict"] != "inconclusive"][:-1]
"""Rows without the inconclusive and the hostile one."""
DNS = "DaemonSet/openshift-dns/dns-default:9154"


def _report(rows: list[EndpointRow] = COMPLETE) -> Report:
    found = cluster_samples.report(rows)
    return replace(found, coverage={**found.coverage, "complete": True, "discovery": None})


def _results(report: Report) -> Results:
    found = of_scan("results.json", report.started, report.coverage)
    found.add_endpoints(report.rows())
    found.add_findings(report.findings)
    return found


def _baseline(tmp_path: Path, report: Report | LintReport) -> Baseline:
    path = tmp_path / "baseline.json"
    if isinstance(report, LintReport):
        results = Results(source="lint.json", of=LINT, started=report.started)
        results.add_objects(report.objects, report.findings)
    else:
        results = _results(report)
    with path.open("w") as out:
        write_baseline(results, out)
    assert errors(json.loads(path.read_text()), "baseline-v1") == []
    return load_baseline(str(path), results.of)


def _written(report: Report | LintReport, name: str) -> str:
    out = StringIO()
    (LINT_FORMATS[name].write(report, out) if isinstance(report, LintReport) else FORMATS[name].write(report, out))
    return out.getvalue()


def _with(rule: str, **parts: Any) -> list[EndpointRow]:  # noqa: ANN401 - parts of a finding
    rows = deepcopy(COMPLETE)
    for row in rows:
        for one in row["findings"] if row["id"] == DNS else ():
            if one["rule"] == rule:
                one.update(parts)  # type: ignore[typeddict-item] # parts of a finding
    return rows


def test_what_is_known_does_not_count(tmp_path: Path) -> None:
    report = _report()
    assert exit_code(report, "low") == EXIT_FINDINGS
    known = scan_with_baseline(report, _baseline(tmp_path, report))
    assert exit_code(known, "low") == EXIT_OK
    assert known.baseline == {"known": len(list(_results(report).failing())), "new": 0, "absent": 0}
    assert not any(known.summary.failures.values())
    assert {row["verdict"] for row in known.rows()} == {row["verdict"] for row in report.rows()}
    assert {row["status"] for row in known.rows() if row["id"] == DNS} == {"known"}


def test_every_format_keeps_it(tmp_path: Path) -> None:
    known = scan_with_baseline(_report(), _baseline(tmp_path, _report()))
    document = json.loads(_written(known, "json"))
    assert errors(document, "scan-v1") == []
    assert document["summary"]["baseline"]["known"] > 2
    assert document["exit"]["code"] == EXIT_OK
    assert "known and 0 new" in document["exit"]["reasons"]
    text = _written(known, "text")
    assert "known: " in text
    assert text.splitlines()[-1].startswith("exit 0: ")
    cases = ElementTree.fromstring(_written(known, "junit"))
    assert not list(cases.iter("failure"))
    assert any("known" in case.get("message", "") for case in cases.iter("skipped"))
    results = [each for run in json.loads(_written(known, "sarif"))["runs"] for each in run["results"]]
    states = {(each["baselineState"], each["kind"]) for each in results}
    assert ("unchanged", "fail") in states
    assert "baselineState" not in _written(_report(), "sarif")
    assert "known" in _written(known, "html")


@pytest.mark.parametrize(
    ("parts", "new"),
    [
        ({}, 0),
        ({"message": "in other words, in 3 days", "reproduce": "ask 10.9.9.9"}, 0),
        ({"severity": "low"}, 0),
        ({"severity": "critical"}, 1),
        ({"observed": ["TLSv1 (VersionTLS10, 0x0301)"]}, 0),
        ({"observed": ["SSLv3 (0x0300)"]}, 1),
    ],
)
def test_only_what_is_worse_counts_again(tmp_path: Path, parts: dict[str, object], new: int) -> None:
    baseline = _baseline(tmp_path, _report())
    found = scan_with_baseline(_report(_with("tls-version", **parts)), baseline)
    assert found.baseline is not None
    assert (found.baseline["new"], exit_code(found, "low")) == (new, EXIT_FINDINGS if new else EXIT_OK)


def test_a_rule_that_newly_fails_counts(tmp_path: Path) -> None:
    rows = deepcopy(COMPLETE)
    rows[0]["findings"].append(finding_row(finding("cert-expired", "high", "fail", "it has expired")))
    rows[0]["verdict"], rows[0]["status"] = "fail", "violation"
    found = scan_with_baseline(_report(rows), _baseline(tmp_path, _report()))
    assert found.summary.rules == {"cert-expired": 1}
    assert exit_code(found, "medium") == EXIT_FINDINGS


def test_what_is_unknown_is_never_known(tmp_path: Path) -> None:
    baseline = _baseline(tmp_path, _report())
    rows = _with("tls-version", verdict="inconclusive", status="unreachable")
    for row in rows:
        if row["id"] == DNS:
            row["verdict"], row["status"] = "inconclusive", "unreachable"
    found = scan_with_baseline(_report(rows), baseline)
    stopped = replace(found, coverage={**found.coverage, "complete": False})
    assert exit_code(stopped, "low") == EXIT_INCOMPLETE
    assert found.baseline is not None
    assert found.baseline["absent"] == 1
    settled = _with("tls-cipher-suite", verdict="inconclusive", status="not-tested")
    assert exit_code(scan_with_baseline(_report(settled), baseline), "low") == EXIT_INCOMPLETE


def test_a_requirement_of_the_policy_is_never_known(tmp_path: Path) -> None:
    row = finding_row(finding("require-determined", "high", "fail", "9 endpoints are inconclusive", about="require"))
    report = replace(_report(), findings=[row])
    baseline = _baseline(tmp_path, report)
    assert not [each for each in baseline.known.values() if each["rule"] == row["rule"]]
    assert [each["status"] for each in scan_with_baseline(report, baseline).findings] == ["violation"]


def test_a_finding_that_is_excused_is_not_recorded(tmp_path: Path) -> None:
    baseline = _baseline(tmp_path, _report(_with("tls-version", status="waived")))
    assert scan_with_baseline(_report(), baseline).summary.rules["tls-version"] == 3


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"complete": False, "interrupted": "SIGTERM"}, "stopped by SIGTERM"),
        ({"complete": False, "not_judged": 2}, "2 endpoints could not be judged"),
        ({"complete": False}, "some could not be judged"),
    ],
)
def test_no_baseline_of_a_partial_scan(change: dict[str, Any], reason: str) -> None:
    report, out = _report(), StringIO()
    coverage = cast("Coverage", {**report.coverage, **change})
    with pytest.raises(UsageError, match=reason) as caught:
        write_baseline(_results(replace(report, coverage=coverage)), out)
    assert "results.json" in caught.value.message
    assert out.getvalue() == ""


def test_no_baseline_of_nothing() -> None:
    with pytest.raises(UsageError, match="nothing was judged"):
        write_baseline(_results(_report([])), StringIO())


@given(kept=st.sets(st.sampled_from(sorted({row["id"] for row in COMPLETE}))))
def test_known_and_new_are_all_that_fail(kept: set[str]) -> None:
    """A baseline of some endpoints hides these and no others."""
    part = _report([row for row in COMPLETE if row["id"] in kept])
    known = {each["fingerprint"]: each for each in _results(part).failing()}
    found = scan_with_baseline(_report(), Baseline(source="x", of=SCAN, known=known))
    assert found.baseline is not None
    assert found.baseline["known"] + found.baseline["new"] == len(list(_results(_report()).failing()))
    assert found.baseline["absent"] == 0
    assert not {row["id"] for row in found.rows() if row["status"] == "violation"} & kept


# --- lint -----------------------------------------------------------------------------------------------------------


def _linted(*, line: int = 12, times: int = 1) -> LintReport:
    found = [lint_samples.finding(place=("shop/gateway.yaml", line, 15)) for _ in range(times)]
    return lint_samples.report(lint_samples.judged(*found, verdict="fail"))


def test_known_findings_of_lint(tmp_path: Path) -> None:
    baseline = _baseline(tmp_path, _linted())
    moved = lint_with_baseline(_linted(line=99), baseline)
    assert lint_exit_code(moved, "low") == EXIT_OK
    assert lint_exit_code(lint_with_baseline(_linted(times=2), baseline), "low") == EXIT_FINDINGS
    document = json.loads(_written(moved, "json"))
    assert errors(document, "lint-v1") == []
    assert document["summary"]["baseline"] == {"known": 1, "new": 0, "absent": 0}
    assert "shop/gateway.yaml:99:15: known: gateway-insecure-fallback" in _written(moved, "text")
    (result,) = json.loads(_written(moved, "sarif"))["runs"][0]["results"]
    assert (result["baselineState"], result["level"]) == ("unchanged", "error")


def test_what_lint_leaves_undecided_is_recorded_by_nobody() -> None:
    report = lint_samples.every()
    results = Results(source="lint.json", of=LINT, started="", undecided="1 finding undecided")
    results.add_objects(report.objects, report.findings)
    with pytest.raises(UsageError, match="lint could not decide everything: 1 finding undecided"):
        write_baseline(results, StringIO())
    out = StringIO()
    write_baseline(results, out, accept_undecided=True)
    assert "gateway-certificate" not in out.getvalue()
    assert "gateway-insecure-fallback" in out.getvalue()


# --- the file -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "not JSON"),
        ("\xff", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("{}", "not an adhere.baseline/v1"),
        ('{"schema": "adhere.baseline/v1", "of": "adhere.scan/v1"}', "findings is missing"),
        ('{"schema": "adhere.baseline/v1", "of": "adhere.scan/v1", "findings": [{}]}', r"findings\[0\]: .* is missing"),
        ('{"schema": "adhere.baseline/v1", "of": "adhere.lint/v1", "findings": []}', "a baseline of adhere.lint/v1"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "baseline.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ScannerError, match=problem) as caught:
        load_baseline(str(path), SCAN)
    assert str(path) in caught.value.message
    assert caught.value.hint


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        load_baseline(str(tmp_path / "none"), SCAN)
