"""CSV, as Python's reader sees it: every finding, every verdict, and no formula."""

from __future__ import annotations

import csv
from collections import Counter
from io import StringIO

import pytest

from scanner.model.endpoint import host_port
from scanner.model.fingerprint import fingerprint
from scanner.model.lint_report import LintReport
from scanner.model.report import Report
from scanner.report import headline
from scanner.report.escape import plain
from scanner.report.formats import csv_table
from scanner.values import replace
from tests.report import cluster_samples, lint_samples, samples
from tests.report.golden import assert_golden
from tests.report.sample_reports import REPORTS, row
from tests.report.samples import finding


def written(report: Report | LintReport) -> str:
    out = StringIO(newline="")
    csv_table.write(report, out)
    return out.getvalue()


def table(report: Report | LintReport) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(written(report), newline=""), strict=True))


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_no_cell_is_a_formula_or_a_command(report: Report | LintReport) -> None:
    lines = list(csv.reader(StringIO(written(report), newline=""), strict=True))
    assert lines[0] == list(csv_table.COLUMNS)
    assert {len(line) for line in lines} == {len(csv_table.COLUMNS)}
    cells = [text for line in lines for text in line]
    assert not [text for text in cells if text.lstrip()[:1] in tuple("=+-@＝＋－＠")]
    assert [text for text in cells if text != plain(text)] == []
    assert len(written(report).splitlines()) == len(lines), "a row is a line"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =1", "＝1", "'=1", 'a"b,c;d', "a"])
def test_a_cell_is_read_back(text: str) -> None:
    name = row(f"{text}:1", finding("r", "high", "fail", text, observed=(text, "b")))
    (line,) = [each for each in table(samples.report([name])) if each["rule"] == "r"]
    apostrophe = "'" if text.strip(" ")[0] in "=+-@＝" else ""
    assert line["message"] == apostrophe + plain(text)
    assert line["observed"] == f"{apostrophe}{plain(text)}; b"
    assert line["subject"] == apostrophe + plain(f"{text}:1")


@pytest.mark.parametrize("report", [samples.report(), cluster_samples.report()], ids=["targets", "cluster"])
def test_every_finding_has_a_row_and_every_endpoint_its_verdict(report: Report) -> None:
    found = table(report)
    said = Counter((each["fingerprint"], each["verdict"]) for each in found if each["kind"] == "endpoint")
    rows = list(report.rows())
    for endpoint in rows:
        for each in endpoint["findings"]:
            assert said[fingerprint(each, endpoint["id"]), each["verdict"]]
        mine = [each for each in found if each["address"] == host_port(endpoint["address"], endpoint["port"])]
        assert headline.outcome(endpoint) in {each["subject_outcome"] for each in mine}
        assert endpoint["verdict"] in {each["verdict"] for each in mine}
    assert sum(each["kind"] == "object" for each in found) == len(report.findings)
    certificates = list(report.certificates.rows()) if report.certificates else []
    listed = Counter(each["verdict"] for each in found if each["kind"] == "certificate")
    assert listed == Counter(each["verdict"] for each in certificates)


def test_what_was_not_determined_has_a_row() -> None:
    passed = finding("r", "high", "pass", "m")
    unknown = row("a:1", passed, verdict="inconclusive")
    empty = row("b:1", verdict="inconclusive")
    found = [each for each in table(samples.report([unknown, empty])) if each["kind"] == "endpoint"]
    assert [(each["subject"], each["rule"], each["verdict"], each["subject_outcome"]) for each in found] == [
        ("a:1", "", "inconclusive", "inconclusive"),
        ("a:1", "r", "pass", "inconclusive"),
        ("b:1", "", "inconclusive", "inconclusive"),
    ]
    gaps = [each["message"] for each in table(cluster_samples.report()) if each["kind"] == "coverage"]
    assert gaps[0].startswith("not complete: ")
    assert any(each.startswith("not read: ") for each in gaps)
    (nothing,) = table(samples.report([]))
    assert (nothing["verdict"], nothing["message"]) == ("inconclusive", "nothing was judged")


def test_lint_has_file_and_line() -> None:
    lines = table(lint_samples.every())
    (one,) = [each for each in lines if each["rule"] == "gateway-insecure-fallback"]
    assert (one["subject"], one["file"], one["line"]) == ("Gateway/shop/edge", "shop/gateway.yaml", "12")
    (passed,) = [each for each in lines if each["subject"] == "Route/shop/web"]
    assert (passed["verdict"], passed["rule"]) == ("pass", "")
    assert {each["message"] for each in lines if each["kind"] == "coverage"} >= {
        "not looked at: chart/templates: templates are no manifests"
    }


def test_a_long_cell_is_cut() -> None:
    long = replace(finding("r", "high", "fail", "m"), observed=("x" * 50_000,))
    (line,) = [each for each in table(samples.report([row("a:1", long)])) if each["rule"]]
    assert len(line["observed"]) == 32_000


def test_golden() -> None:
    assert_golden("report.csv", written(samples.report()))
