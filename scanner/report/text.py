"""Text for people: a line for every endpoint, then what failed and how to mend it, then the sum.

Two passes over the rows, and never more than a screenful of them in memory. Every text from outside goes through
``escape.plain`` on its way out.
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
"""Rows that decide how wide the columns are; later, longer texts only push their own line."""
_INDENT = 18
"""Columns of the verdict, in front of everything else."""
_SECTIONS: tuple[tuple[Outcome, str], ...] = (
    ("fail", "FAILED"),
    ("deviates", "DIFFERENCES NOT COUNTED IN THE EXIT CODE"),
    ("inconclusive", "INCONCLUSIVE"),
)
_MOST_FINDINGS = 200
"""Findings on no single endpoint; each of a cluster's certificates may have one."""
_MOST_UNFINISHED = 10
"""Endpoints named that were in progress when the scan was stopped."""
_REASON = 24
"""Columns that a reason needs at least to be worth reading."""


def write(report: Report, out: TextIO, *, color: bool = False, width: int | None = None) -> None:
    """The whole report. ``width`` is the terminal's in columns; None (a file, a pipe) folds nothing."""
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
        f"  profile {plain(scanner['profile'])}" if scanner["profile"] else "",
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
    """Column widths, and the ids that need their address to be told apart."""

    page: Page
    name: int
    says: int
    replicas: frozenset[str]

    def line(self, row: EndpointRow) -> None:
        """One endpoint; the reason is cut at the page's edge, the details below have all of it."""
        page, verdict = self.page, headline.outcome(row)
        mark = page.paint(verdict, f"{headline.SYMBOLS[verdict]} {headline.WORDS[verdict]:<15}")
        name = _name(row, short=row["id"] not in self.replicas)
        left = f"{pad(name, self.name)}  {pad(_says(row), self.says)}  "
        if page.width is None or page.width - _INDENT - columns(left) >= _REASON:
            room = None if page.width is None else page.width - _INDENT - columns(left)
            page.line(mark, " ", left, plain(headline.reason(row), room))
        else:  # a narrow page: the reason gets a line of its own
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
    """What failed, then what could not be judged: each with what to do."""
    if report.findings:
        page.title("CLUSTER-WIDE FINDINGS")
        told = merged(report.findings)
        worst = nsmallest(_MOST_FINDINGS, told, key=headline.importance)
        write_findings(page, worst)
        if len(told) > len(worst):
            page.line(f"  and {len(told) - len(worst)} more, all of them in the JSON report")
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
    """One block for all endpoints that were in progress when the scan was stopped, and for those after them."""
    page.title("NOT FINISHED")
    page.folded(4, "  ", plain(stopped(report.coverage)))
    names = [_name(row) for row in islice(filter(headline.in_progress, report.rows()), _MOST_UNFINISHED)]
    if names:
        more = f" and {going - len(names)} more, all of them in the JSON report" if going > len(names) else ""
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
    told = [page.paint(each, headline.so_many(count, each)) for each, count in counts.outcomes.items() if count]
    excused = headline.excused(counts)
    page.line(
        "  endpoints  ",
        f"{counts.endpoints}: {', '.join(told)}" if told else "none",
        f"  ({plain(excused)}: listed, not counted in the exit code)" if excused else "",
    )
    failures = [
        page.paint(severity, f"{counts.failures[severity]} {severity}")
        for severity in reversed(SEVERITIES)
        if counts.failures[severity]
    ]
    page.line("  findings   ", ", ".join(failures) or "none that fails")
    if counts.rules:
        often = sorted(counts.rules.items(), key=lambda item: (-item[1], item[0]))
        page.folded(13, "  by rule    ", ", ".join(f"{plain(rule)} {count}" for rule, count in often[:10]))
    page.line(
        "  cost       ",
        f"{counted(counts.connections, 'connection')}, {plain(report.started)} to {plain(report.finished)}",
    )
    if trust := trust_line(counts):
        page.folded(13, "  trust      ", trust.removeprefix("trust "))
    page.folded(13, "  coverage   ", coverage(report))
    if report.certificates is not None:
        text_cluster.certificate_coverage(page, report.certificates)
    page.folded(8, "", plain(exit_line(report)))


def coverage(report: Report) -> str:
    """Whether the result covers what was asked for, as a sentence."""
    told = report.coverage
    judged = f"{told['judged']} of {counted(told['endpoints'], 'endpoint')} judged"
    if not told["endpoints"]:
        judged = "nothing was scanned"
    if short := stopped(told):
        return f"NOT COMPLETE: {plain(short)}"
    if short := shortfalls(report):
        return f"{judged}; NOT COMPLETE: {plain(short)}"
    return f"{judged}; complete" if told["endpoints"] else judged
