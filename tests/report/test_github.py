"""Workflow commands, read as the runner of GitHub Actions reads them (actions/runner, ActionCommand.cs)."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from io import StringIO

import pytest

from scanner.model.lint_report import LintReport
from scanner.model.report import Report
from scanner.report.coverage import exit_line
from scanner.report.formats import github
from tests.report import cluster_samples, lint_samples, samples
from tests.report.sample_reports import REPORTS, row
from tests.report.samples import HOSTILE, finding

PROPERTIES = {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ",", "%25": "%"}
DATA = {"%0D": "\r", "%0A": "\n", "%25": "%"}


@dataclass(frozen=True)
class Command:
    name: str
    properties: dict[str, str]
    message: str


def unescaped(text: str, codes: dict[str, str]) -> str:
    for code, meant in codes.items():
        text = text.replace(code, meant)
    return text


def commands(report: Report | LintReport) -> list[Command]:
    out = StringIO()
    github.write(report, out)
    found = []
    for line in out.getvalue().splitlines():
        head, _, data = line.removeprefix("::").partition("::")
        name, _, properties = head.partition(" ")
        pairs = (each.partition("=") for each in properties.split(",") if each)
        told = {key: unescaped(value, PROPERTIES) for key, _, value in pairs}
        assert line.startswith("::")
        assert re.fullmatch(r"[^%]*(%(25|0A|0D|3A|2C)[^%]*)*", line)
        found.append(Command(name, told, unescaped(data, DATA)))
    return found


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_every_line_is_one_command_of_ours(report: Report | LintReport) -> None:
    found = commands(report)
    assert {each.name for each in found} <= {"error", "warning", "notice"}
    assert all(set(each.properties) <= {"file", "line", "col", "title"} for each in found)
    assert max(Counter(each.name for each in found).values()) <= github.MOST


def test_a_finding_of_a_manifest_is_beside_its_line() -> None:
    (one,) = [each for each in commands(lint_samples.every()) if "insecure-fallback" in each.properties["title"]]
    assert one.name == "error"
    title = "fails: About gateway-insecure-fallback (gateway-insecure-fallback)"
    assert one.properties == {"file": "shop/gateway.yaml", "line": "12", "col": "15", "title": title}
    assert one.message.splitlines() == [
        "Gateway/shop/edge spec.tls: high: clients without a valid certificate are let in",
        "observed: AllowInsecureFallback",
        "expected: AllowValidOnly",
        "fix: Gateway/shop/edge: set the mode to AllowValidOnly",
    ]


def test_what_is_undecided_or_was_not_read_is_a_warning() -> None:
    warnings = [each.message for each in commands(lint_samples.every()) if each.name == "warning"]
    assert warnings[:2] == [
        "not looked at: chart/templates: templates are no manifests",
        "not read: gateways.gateway.networking.k8s.io: forbidden",
    ]
    assert sum("inconclusive" in each for each in warnings) == 2


def test_a_listener_has_no_file() -> None:
    found = commands(cluster_samples.report())
    assert all("file" not in each.properties for each in found)
    assert any(each.message.startswith("DaemonSet/openshift-dns/dns-default:9154: high: ") for each in found)


def test_the_exit_code_is_an_error_unless_it_is_zero() -> None:
    failed, passed = samples.report(), samples.report([row("a:1", finding("r", "high", "pass", "m"), verdict="pass")])
    assert [each.name for each in commands(failed) if each.message == exit_line(failed)] == ["error"]
    assert commands(passed) == [
        Command("notice", {"title": "adhere"}, "exit 0: no finding at or above medium; complete")
    ]
    assert commands(samples.report([]))[-1].name == "error"


def test_failures_come_first_and_the_last_notice_counts_the_others() -> None:
    found = [("critical", "fail"), ("high", "fail"), ("medium", "inconclusive"), ("low", "fail")]
    rows = [
        row(f"host{number}:{place}", finding("r", severity, verdict, f"m{place}"), verdict=verdict)  # type: ignore[arg-type]
        for number in range(12)
        for place, (severity, verdict) in enumerate(found)
    ]
    told = commands(samples.report(rows))
    assert Counter(each.name for each in told) == {"error": 10, "warning": 10, "notice": 10}
    assert [each.name for each in told[:9]] == ["error"] * 9
    assert all("critical: m0" in each.message for each in told[:9])
    left = len(rows) - sum(each.properties["title"] != "adhere" for each in told)
    assert told[-1] == Command("notice", {"title": "adhere"}, f"{left} more results in the other reports")


def test_texts_stay_in_their_place() -> None:
    hostile = f"a%0Ab%, c: d::e\r\n{HOSTILE}"
    made = samples.report([row(hostile, finding(hostile, "high", "fail", hostile))])
    error = next(each for each in commands(made) if hostile[:6] in each.message)
    assert set(error.properties) == {"file", "line", "col", "title"}
    assert error.properties["title"].startswith("a%0Ab%, c: d")
    assert "\\r\\n" in error.message
