"""Markdown, as a CommonMark parser with tables reads it: foreign text is in code spans, and the document is short."""

from __future__ import annotations

import re
from io import StringIO

import pytest

from scanner.model.finding import Verdict
from scanner.model.lint_report import LintReport
from scanner.model.report import Report
from scanner.report.coverage import exit_line
from scanner.report.escape import plain
from scanner.report.formats import markdown
from tests.report import cluster_samples, lint_samples, samples
from tests.report.markdown_reader import cells, tokens
from tests.report.sample_reports import REPORTS, row
from tests.report.samples import HOSTILE, finding


def written(report: Report | LintReport) -> str:
    out = StringIO()
    markdown.write(report, out)
    return out.getvalue()


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_foreign_text_is_only_in_code_spans(report: Report | LintReport) -> None:
    found = tokens(written(report))
    assert {each.content for each in found if each.type.startswith("html")} <= {"<br>"}
    assert not [each for each in found if each.type in ("link_open", "image", "fence", "code_block", "em_open")]
    for each in found:
        if each.type == "text":
            assert not re.search(r"[@<>\\]|://|script|\$\{", each.content), each.content


@pytest.mark.parametrize(
    "text",
    ["a | b", "`", "``a`", " a ", "\\", "\\|", "a`", "</code><b>", "@team #1 http://a.example", HOSTILE, "x" * 999],
)
def test_a_code_span_is_one_cell_with_its_text(text: str) -> None:
    table = f"| a | b |\n|---|---|\n| {markdown.code(text)} | z |\n"
    row = [each for each in tokens(table) if each.type in ("code_inline", "text", "html_inline")]
    assert [each.type for each in row] == ["text", "text", "code_inline", "text"]
    assert row[-1].content == "z"
    assert row[2].content.strip()[:20] == plain(text, 300).replace("|", "¦").strip()[:20]


def test_failures_come_first_and_the_last_line_is_the_exit_code() -> None:
    text = written(cluster_samples.report())
    titles = re.findall("^### (.*)$", text, re.MULTILINE)
    assert titles == [
        "Failed", "Inconclusive", "Differences not counted in the exit code", "Not read or not judged"
    ]  # fmt: skip
    assert text.startswith("## adhere scan: 4 fail, 8 differ, 2 inconclusive, 8 pass, 1 not applicable\n")
    assert text.endswith(f"\n`{exit_line(cluster_samples.report())}`\n")


def test_a_group_has_its_endpoints_and_its_fix() -> None:
    (dns,) = [each for each in cells(written(cluster_samples.report())) if "dns-default:9154 (3 endpoints)" in each[-1]]
    assert dns[:2] == ["high", "tls-version"]
    assert dns[2].startswith("it accepts versions below TLSv1.2observed: TLSv1 (VersionTLS10, 0x0301)")
    assert "fix: this component ignores" in dns[2]


def test_lint_has_the_line_of_each_finding() -> None:
    rows = cells(written(lint_samples.every()))
    assert rows[:2] == [["", "pass", "fail", "inconclusive"], ["objects", "1", "1", "1"]]
    assert [each[-1] for each in rows if "gateway-insecure-fallback" in each] == [
        "shop/gateway.yaml:12:15 Gateway/shop/edge spec.tls"
    ]


def test_it_fits_in_a_comment_and_counts_what_is_left_out() -> None:
    verdicts: tuple[Verdict, ...] = ("fail", "inconclusive")
    rows = [
        row(f"{number}-{'n' * 300}:443", finding("r", "high", verdict, f"{number} {HOSTILE * 9}"), verdict=verdict)
        for number in range(200)
        for verdict in verdicts
    ]
    text = written(samples.report(rows))
    assert len(text) <= markdown.MOST
    assert len(text.encode()) < 2**20
    left = [int(number) for number in re.findall(r"^(\d+) groups of findings left out here", text, re.MULTILINE)]
    shown = sum(each[0] == "high" for each in cells(text))
    assert shown + sum(left) == len(rows)
    assert left[1] == 200, "failures come first"
    assert text.splitlines()[-1].startswith("`exit 1: 200 findings")
