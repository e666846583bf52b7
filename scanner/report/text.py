"""Text: a line for each endpoint or component, then failures with their fixes, then the summary.

Rows are read in passes and not kept in memory. Texts of servers and objects are escaped with ``escape.plain``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import nsmallest
from itertools import chain, islice
from typing import TextIO

from scanner.model.finding import SEVERITIES, Outcome
from scanner.model.report import EndpointRow, Report
from scanner.report import headline, text_cluster
from scanner.report.coverage import exit_line, shortfalls, stopped, trust_line
from scanner.report.escape import plain
from scanner.report.escape import width as columns
from scanner.report.grouping import merged
from scanner.report.page import Page, counted, pad
from scanner.report.page import findings as write_findings

_SAMPLE = 200
"""Rows that decide the width of the columns; a longer text of a later row moves its own line only."""
_INDENT = 18
"""Columns of the verdict."""
_SECTIONS: tuple[tuple[Outcome, str], ...] = (
    ("fail", "FAILED"),
    ("deviates", "DIFFERENCES NOT COUNTED IN THE EXIT CODE"),
    ("inconclusive", "INCONCLUSIVE"),
)
_MOST_FINDINGS = 200
"""Cluster-wide findings; each certificate of a cluster may have one."""
_MOST_UNFINISHED = 10
"""Endpoints in the list of those that were in progress when the scan was stopped."""
_REASON = 24
"""Least columns of a reason on the line of its endpoint."""


def write(report: Report, out: TextIO, *, color: bool = False, width: int | None = None) -> None:
    """Write the report. ``width``: columns of the terminal; None for a file or pipe, where nothing is folded."""
    page = Page(out, color, None if width is None else max(width, 40))
    _header(page, report)
    if report.summary.components or report.coverage.get("discovery"):
        text_cluster.write(page, report)
    else:
        _table(page, report.rows())
    if report.certificates is not None:
        text_cluster.write_certificates(page, report.certificates, report.finished)
    _details(page, report)
    _summary(page, report)


def _header(page: Page, report: Report) -> None:
    scanner = report.scanner
    page.line(
        page.paint("title", f"{plain(scanner['name'])} {plain(scanner['version'])}"),
        f"  profile: {plain(scanner['profile'])}" if scanner["profile"] else "",
        f"  {plain(scanner['mode'])}  {plain(report.started)}",
    )
    for name in text_cluster.names(report.cluster) if report.cluster else ():
        page.line(name)
    page.line()


def _table(page: Page, rows: Iterator[EndpointRow]) -> None:
    sample = list(islice(rows, _SAMPLE))
    if not sample:
        return
    ids = Counter(row["id"] for row in sample)
    replicas = frozenset(name for name, count in ids.items() if count > 1)
    names = (_name(row, short=row["id"] not in replicas) for row in sample)
    table = _Table(
        page,
        _fit("ENDPOINT", names, (page.width or 200) * 9 // 20),
        _fit("SPEAKS", (_says(row) for row in sample), 30),
        replicas,
    )
    page.line(page.paint("quiet", f"  {'VERDICT':<15} {'ENDPOINT':<{table.name}}  {'SPEAKS':<{table.says}}  WHY"))
    for row in chain(sample, rows):
        table.line(row)
    page.line()


@dataclass(frozen=True, slots=True)
class _Table:
    """Widths of the columns, and the ids that several endpoints share: those are shown with their address."""

    page: Page
    name: int
    says: int
    replicas: frozenset[str]

    def line(self, row: EndpointRow) -> None:
        """Write one endpoint. The reason is cut at the edge of the page; the details below have all of it."""
        page, verdict = self.page, headline.outcome(row)
        mark = page.paint(verdict, f"{headline.SYMBOLS[verdict]} {headline.WORDS[verdict]:<15}")
        name = _name(row, short=row["id"] not in self.replicas)
        left = f"{pad(name, self.name)}  {pad(_says(row), self.says)}  "
        if page.width is None or page.width - _INDENT - columns(left) >= _REASON:
            room = None if page.width is None else page.width - _INDENT - columns(left)
            page.line(mark, " ", left, plain(headline.reason(row), room))
        else:  # a narrow page
            page.line(mark, " ", left)
            if row["verdict"] != "pass":
                page.line(" " * _INDENT, plain(headline.reason(row), page.width - _INDENT))


def _name(row: EndpointRow, *, short: bool = False) -> str:
    where = "" if short else headline.place(row)
    return plain(row["id"], 90) + (f" at {plain(where)}" if where else "")


def _says(row: EndpointRow) -> str:
    return plain(headline.speaks(row), 40)


def _fit(title: str, texts: Iterable[str], most: int) -> int:
    return min(max(len(title), *(columns(text) for text in texts)), most)


def _details(page: Page, report: Report) -> None:
    """Write failures, then differences, then inconclusive endpoints."""
    if report.findings:
        page.title("CLUSTER-WIDE FINDINGS")
        found = merged(report.findings)
        write_findings(page, nsmallest(_MOST_FINDINGS, found, key=headline.importance))
        if len(found) > _MOST_FINDINGS:
            page.line(f"  and {len(found) - _MOST_FINDINGS} more (all of them are in the JSON report)")
        page.line()
    counts, going = report.summary.outcomes, report.coverage.get("in_progress", 0)
    if report.coverage["interrupted"]:
        _stopped(page, report, going)
    for outcome, title in _SECTIONS:
        if counts[outcome] <= (going if outcome == "inconclusive" else 0):
            continue
        page.title(title)
        page.line()
        if report.summary.components:
            text_cluster.details(page, report, outcome)
            continue
        for row in report.rows():
            if headline.outcome(row) == outcome and not headline.in_progress(row):
                _detail(page, row)


def _stopped(page: Page, report: Report, going: int) -> None:
    """Write one block for all endpoints that were in progress or not started when the scan was stopped."""
    page.title("NOT FINISHED")
    page.folded(4, "  ", plain(stopped(report.coverage)))
    names = [_name(row) for row in islice(filter(headline.in_progress, report.rows()), _MOST_UNFINISHED)]
    if names:
        more = f" and {going - len(names)} more (all of them are in the JSON report)" if going > len(names) else ""
        page.folded(4, "  in progress: ", ", ".join(names) + more)
    page.line()


def _detail(page: Page, row: EndpointRow) -> None:
    verdict = headline.outcome(row)
    evidence = f"  {page.paint('quiet', plain(headline.status_line(row['detail']), 120))}" if row["detail"] else ""
    page.line(page.paint(verdict, f"{headline.SYMBOLS[verdict]} {_name(row)}"), f"  {_says(row)}", evidence)
    findings = [one for one in row["findings"] if headline.open_question(one)]
    if not findings:
        page.folded(2, "  ", plain(headline.reason(row), 600))
    write_findings(page, findings)
    page.line()


def _summary(page: Page, report: Report) -> None:
    counts = report.summary
    page.title("SUMMARY")
    outcomes = [page.paint(each, headline.so_many(count, each)) for each, count in counts.outcomes.items() if count]
    excused = headline.excused(counts)
    page.line(
        "  endpoints  ",
        f"{counts.endpoints}: {', '.join(outcomes)}" if outcomes else "none",
        f"  (not counted in the exit code: {plain(excused)})" if excused else "",
    )
    failures = [
        page.paint(severity, f"{counts.failures[severity]} {severity}")
        for severity in reversed(SEVERITIES)
        if counts.failures[severity]
    ]
    page.line("  findings   ", ", ".join(failures) or "none")
    if counts.rules:
        often = sorted(counts.rules.items(), key=lambda item: (-item[1], item[0]))
        page.folded(13, "  by rule    ", ", ".join(f"{plain(rule)} {count}" for rule, count in often[:10]))
    page.line(
        "  probed     ",
        f"with {counted(counts.connections, 'connection')}, {plain(report.started)} to {plain(report.finished)}",
    )
    if trust := trust_line(counts):
        page.folded(13, "  trust      ", trust.removeprefix("trust "))
    page.folded(13, "  coverage   ", coverage(report))
    if report.certificates is not None:
        text_cluster.certificate_coverage(page, report.certificates)
    page.folded(8, "", plain(exit_line(report)))


def coverage(report: Report) -> str:
    """Return the counts of judged endpoints, and whether the scan is complete."""
    counts = report.coverage
    if short := stopped(counts):
        return f"NOT COMPLETE: {plain(short)}"
    judged = f"{counts['judged']} of {counted(counts['endpoints'], 'endpoint')} judged"
    if not counts["endpoints"]:
        judged = "nothing was scanned"
    if short := shortfalls(report):
        return f"{judged}; NOT COMPLETE: {plain(short)}"
    return f"{judged}; complete" if counts["endpoints"] else judged
