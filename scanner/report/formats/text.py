"""Text: a line for each endpoint or component, then the findings in groups with their fixes, then the summary.

With ``verbose`` each endpoint is listed with its own findings. Rows are read in passes and not kept in memory.
Texts of servers and objects are escaped with ``escape.plain``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TextIO

from msgspec import Struct, field

from scanner.model.finding import SEVERITIES, Outcome
from scanner.model.report import EndpointRow, FindingRow, Report
from scanner.report import headline
from scanner.report.coverage import exit_line, shortfalls, stopped, trust_line
from scanner.report.escape import plain
from scanner.report.escape import width as columns
from scanner.report.formats import text_cluster
from scanner.report.grouping import Group, groups, merged
from scanner.report.page import Page, counted, pad
from scanner.report.page import findings as write_findings
from scanner.report.page import group as write_group

_SAMPLE = 200
"""Rows that decide the width of the columns; a longer text of a later row moves its own line only."""
_INDENT = 18
"""Columns of the verdict."""
_SECTIONS: tuple[tuple[Outcome, str], ...] = (
    ("fail", "FAILED"),
    ("deviates", "DIFFERENCES NOT COUNTED IN THE EXIT CODE"),
    ("inconclusive", "INCONCLUSIVE"),
)
_BY_OUTCOME: tuple[Outcome, ...] = ("fail", "inconclusive", "deviates")
_ALL_ROWS = 40
"""Endpoints up to which the table of targets has all."""
_MOST_ROWS = 20
"""Endpoints in the table of more targets: the first that did not pass."""
_MOST_GROUPS: dict[bool, dict[Outcome, int]] = {
    False: {"fail": 12, "deviates": 12, "inconclusive": 12},
    True: {"fail": 5, "deviates": 2, "inconclusive": 2},
}
"""Groups of findings with one outcome, by whether the text is brief."""
_DETAILED = 100
"""Endpoints up to which the text has all details of a group; with more each group has its number, names and fix, and
the whole text fits on a page."""
_MOST_FINDINGS = {False: 12, True: 2}
"""Cluster-wide findings, by whether the text is brief; each certificate of a cluster may have one."""
_MOST_UNFINISHED = 10
"""Endpoints in the list of those that were in progress when the scan was stopped."""
_VERBOSE = "--verbose and the JSON report list all"
_REASON = 24
"""Least columns of a reason on the line of its endpoint."""


def write(report: Report, out: TextIO, *, color: bool = False, width: int | None = None, verbose: bool = False) -> None:
    """Write the report. ``width``: columns of the terminal; None for a file or pipe, where nothing is folded;
    ``verbose``: list every component and every endpoint."""
    page = Page(out, color, None if width is None else max(width, 40))
    brief = report.summary.endpoints > _DETAILED and not verbose
    _header(page, report)
    if report.summary.components:
        text_cluster.write_components(page, report.summary.components.rows(), verbose=verbose, brief=brief)
    first = _First()
    found = None if verbose else groups(first.among(report.rows()))  # in one pass: decoding rows takes longest
    if verbose or not report.coverage.get("discovery"):
        _table(page, report, None if verbose else first)
    _details(page, report, found, brief=brief)
    if discovery := report.coverage.get("discovery"):
        text_cluster.write_coverage(page, discovery, brief=brief)
    if report.certificates is not None:
        text_cluster.write_certificates(page, report.certificates, report.finished, brief=brief)
    _summary(page, report, brief=brief)


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


class _First(Struct, frozen=True):
    """The first rows that did not pass, by outcome, of those that ``among`` passes on."""

    found: dict[Outcome, list[EndpointRow]] = field(default_factory=lambda: {each: [] for each in _BY_OUTCOME})

    def among(self, rows: Iterable[EndpointRow]) -> Iterator[EndpointRow]:
        """Yield the rows."""
        for row in rows:
            few = self.found.get(headline.outcome(row))
            if few is not None and len(few) < _MOST_ROWS:
                few.append(row)
            yield row

    def most(self) -> list[EndpointRow]:
        """Return at most ``_MOST_ROWS`` rows, failures before the others."""
        return [row for few in self.found.values() for row in few][:_MOST_ROWS]


def _table(page: Page, report: Report, first: _First | None) -> None:
    """Write a line for each endpoint; of many targets for those that ``first`` has, unless it is None."""
    rows, left_out = report.rows(), 0
    if first and report.summary.endpoints > _ALL_ROWS:
        chosen = first.most()
        rows, left_out = iter(chosen), report.summary.endpoints - len(chosen)
    sample = list(islice(rows, _SAMPLE))
    if not sample:
        if left_out:
            page.line(f"  {left_out} endpoints that pass or are not applicable ({_VERBOSE})\n")
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
    if left_out:
        page.line(f"  and {counted(left_out, 'more endpoint')} ({_VERBOSE})")
    page.line()


class _Table(Struct, frozen=True):
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


def _details(page: Page, report: Report, grouped: list[Group] | None, *, brief: bool) -> None:
    """Write failures, differences and inconclusive findings, then cluster-wide findings. ``grouped``: the groups of the
    endpoints' findings, or None to list them endpoint by endpoint."""
    going = report.coverage.get("in_progress", 0)
    controls = headline.controls_of(report)
    if report.coverage["interrupted"]:
        _stopped(page, report, going)
    if grouped is None:
        _listed(page, report, going)
    else:
        _grouped(page, grouped, brief=brief)
    if not report.findings:
        return
    found = merged(report.findings)
    if grouped is None:
        page.title("CLUSTER-WIDE FINDINGS")
        write_findings(page, found, controls)
    else:
        _cluster_wide(page, found, brief=brief)
    page.line()


def _cluster_wide(page: Page, found: list[FindingRow], *, brief: bool) -> None:
    """Write the most important open findings, and count the others in the title."""
    open_ = sorted(filter(headline.open_question, found), key=headline.importance)
    shown = open_[: _MOST_FINDINGS[brief]]
    hidden, notes = len(open_) - len(shown), len(found) - len(open_)
    counts = [f"{hidden} more failed or inconclusive"] if hidden > 0 else []
    counts += [counted(notes, "note")] if notes else []
    page.title("CLUSTER-WIDE FINDINGS", f"{'and ' if shown else ''}{', '.join(counts)} ({_VERBOSE})" if counts else "")
    for each in shown:
        write_group(page, each, brief=brief)


def _listed(page: Page, report: Report, going: int) -> None:
    """Write every endpoint that did not pass, with its findings; ``going``: those in progress when it was stopped."""
    counts, controls = report.summary.outcomes, headline.controls_of(report)
    for outcome, title in _SECTIONS:
        if counts[outcome] <= (going if outcome == "inconclusive" else 0):
            continue
        page.title(title)
        page.line()
        for row in report.rows():
            if headline.outcome(row) == outcome and not headline.in_progress(row):
                _detail(page, row, controls)


def _grouped(page: Page, found: list[Group], *, brief: bool) -> None:
    """Write the groups of each outcome, at most ``_MOST_GROUPS`` of them; the title says how many there are."""
    for outcome, title in _SECTIONS:
        chosen = [each for each in found if each.outcome == outcome]
        if not chosen:
            continue
        most = _MOST_GROUPS[brief][outcome]
        page.title(title, f"the first {most} of {len(chosen)} groups ({_VERBOSE})" if len(chosen) > most else "")
        for each in chosen[:most]:
            _group(page, each, brief=brief)
        page.line()


def _group(page: Page, group: Group, *, brief: bool) -> None:
    """Write the finding with its number of endpoints, and the first of them."""
    single = group.listeners == 1
    names = [
        plain(name, 160) + (f" at {plain(address)}" if address not in name and group.endpoints == 1 else "")
        for name, address in group.examples
    ]
    more = group.listeners - len(names)
    at = ", ".join(names) + (f" and {counted(more, 'more listener')}" if more else "")
    if single and group.endpoints > 1:
        at += f" ({group.endpoints} replicas)"
    several = "" if single else f" ({counted(group.endpoints, 'endpoint')})"
    write_group(page, group.shown, several, at, differ=group.differ, brief=brief)


def _stopped(page: Page, report: Report, going: int) -> None:
    """Write one block for all endpoints that were in progress or not started when the scan was stopped."""
    page.title("NOT FINISHED")
    page.folded(4, "  ", plain(stopped(report.coverage)))
    names = [_name(row) for row in islice(filter(headline.in_progress, report.rows()), _MOST_UNFINISHED)]
    if names:
        more = f" and {going - len(names)} more (all of them are in the JSON report)" if going > len(names) else ""
        page.folded(4, "  in progress: ", ", ".join(names) + more)
    page.line()


def _detail(page: Page, row: EndpointRow, controls: dict[str, list[str]]) -> None:
    verdict = headline.outcome(row)
    evidence = f"  {page.paint('quiet', plain(headline.status_line(row['detail']), 120))}" if row["detail"] else ""
    page.line(page.paint(verdict, f"{headline.SYMBOLS[verdict]} {_name(row)}"), f"  {_says(row)}", evidence)
    findings = [one for one in row["findings"] if headline.open_question(one)]
    if not findings:
        page.folded(2, "  ", plain(headline.reason(row), 600))
    write_findings(page, findings, controls)
    page.line()


def _summary(page: Page, report: Report, *, brief: bool) -> None:
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
    if counts.rules and not brief:
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
