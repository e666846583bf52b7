"""Text for people: a line for every endpoint, then what failed and how to mend it, then the sum.

Two passes over the rows, and never more than a screenful of them in memory. Every text from outside goes through
``escape.plain`` on its way out.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import TextIO

from scanner.model.finding import SEVERITIES
from scanner.model.report import VERDICTS, EndpointRow, FindingRow, Report
from scanner.report import headline
from scanner.report.escape import plain
from scanner.report.escape import width as columns

_COLORS: dict[str, str] = {
    "fail": "1;31",
    "inconclusive": "33",
    "pass": "32",
    "not_applicable": "2",
    "critical": "1;31",
    "high": "31",
    "medium": "33",
    "low": "36",
    "info": "2",
    "title": "1",
    "quiet": "2",
}
"""SGR parameters (ECMA-48, 8.3.117) from the eight colours that every theme keeps readable."""

_SAMPLE = 200
"""Rows that decide how wide the columns are; later, longer texts only push their own line."""
_ITEMS = 8
"""Offending items shown per finding; the JSON document has them all."""
_RIGHT = 3
"""Items shown of what would have been right."""
_LABEL = 12
_INDENT = 18
"""Columns of the verdict, in front of everything else."""
_REASON = 24
"""Columns that a reason needs at least to be worth reading."""
"""Columns of the severity before a finding."""


@dataclass(frozen=True, slots=True)
class _Page:
    """Where the lines go."""

    out: TextIO
    color: bool
    width: int | None

    def line(self, *parts: str) -> None:
        self.out.write("".join(parts).rstrip() + "\n")

    def paint(self, style: str, text: str) -> str:
        return f"\x1b[{_COLORS[style]}m{text}\x1b[0m" if self.color and style in _COLORS else text

    def folded(self, indent: int, first: str, text: str) -> None:
        """``text`` folded between ``indent`` and the page's width, behind ``first``, which is as wide as ``indent``."""
        lines = [text]
        if self.width is not None:
            room = max(self.width - indent, 30)
            lines = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or [""]
        self.line(first, lines[0])
        for more in lines[1:]:
            self.line(" " * indent, more)


def write(report: Report, out: TextIO, *, color: bool = False, width: int | None = None) -> None:
    """The whole report. ``width`` is the terminal's in columns; None (a file, a pipe) folds nothing."""
    page = _Page(out, color, None if width is None else max(width, 40))
    _header(page, report)
    _table(page, report.rows())
    _details(page, report)
    _summary(page, report)


def _header(page: _Page, report: Report) -> None:
    scanner = report.scanner
    page.line(
        page.paint("title", f"{plain(scanner['name'])} {plain(scanner['version'])}"),
        f"  profile {plain(scanner['profile'])}  {plain(scanner['mode'])}  {plain(report.started)}",
    )
    page.line()


def _table(page: _Page, rows: Iterator[EndpointRow]) -> None:
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

    page: _Page
    name: int
    says: int
    replicas: frozenset[str]

    def line(self, row: EndpointRow) -> None:
        """One endpoint; the reason is cut at the page's edge, the details below have all of it."""
        page, verdict = self.page, row["verdict"]
        mark = page.paint(verdict, f"{headline.SYMBOLS[verdict]} {headline.WORDS[verdict]:<15}")
        name = _name(row, short=row["id"] not in self.replicas)
        left = f"{_pad(name, self.name)}  {_pad(_says(row), self.says)}  "
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


def _pad(text: str, width: int) -> str:
    return text + " " * (width - columns(text))


def _details(page: _Page, report: Report) -> None:
    """What failed, then what could not be judged: each with what to do."""
    if report.findings:
        page.line(page.paint("title", "FINDINGS ON NO SINGLE ENDPOINT"))
        _findings(page, report.findings)
        page.line()
    for verdict, title in (("fail", "WHAT FAILED"), ("inconclusive", "WHAT COULD NOT BE JUDGED")):
        if not report.summary.verdicts[verdict]:
            continue
        page.line(page.paint("title", title))
        page.line()
        for row in report.rows():
            if row["verdict"] == verdict:
                _detail(page, row)


def _detail(page: _Page, row: EndpointRow) -> None:
    verdict = row["verdict"]
    evidence = f"  {page.paint('quiet', plain(row['detail'], 120))}" if row["detail"] else ""
    page.line(page.paint(verdict, f"{headline.SYMBOLS[verdict]} {_name(row)}"), f"  {_says(row)}", evidence)
    findings = [one for one in row["findings"] if headline.open_question(one)]
    if not findings:
        page.folded(2, "  ", plain(headline.reason(row), 600))
    _findings(page, findings)
    page.line()


def _findings(page: _Page, findings: list[FindingRow]) -> None:
    for finding in sorted(findings, key=lambda one: (VERDICTS.index(_verdict(one)), headline.rank(one))):
        severity = finding["severity"] if finding["verdict"] == "fail" else finding["verdict"]
        kind = plain(headline.kind(finding["status"]))
        label = page.paint(severity, _pad(plain(severity), _LABEL))
        page.folded(_LABEL + 3, f"  {label} ", f"{plain(finding['rule'])}: {kind}{plain(finding['message'], 600)}")
        for name, say in _FIELDS.items():
            say(page, name, finding)


def _verdict(finding: FindingRow) -> str:
    return finding["verdict"] if finding["verdict"] in VERDICTS else "not_applicable"


def _items(page: _Page, name: str, items: list[str]) -> None:
    shown = items[:_ITEMS] if len(items) > _ITEMS + 1 else items
    for item in shown:
        page.line(_label(page, name), plain(item, 160))
        name = ""
    if len(items) > len(shown):
        page.line(_label(page, ""), f"and {len(items) - len(shown)} more (all of them are in the JSON report)")


def _label(page: _Page, name: str) -> str:
    return " " * (_LABEL + 3) + page.paint("quiet", f"{name:<11}")


def _observed(page: _Page, name: str, finding: FindingRow) -> None:
    _items(page, name, finding["observed"])


def _expected(page: _Page, name: str, finding: FindingRow) -> None:
    """Joined and short: what would be right matters less to the eye than what is wrong."""
    items = finding["expected"]
    if items and finding["verdict"] == "fail":
        shown = items[:_RIGHT] if len(items) > _RIGHT + 1 else items
        more = f" and {len(items) - len(shown)} more" if len(items) > len(shown) else ""
        page.folded(_LABEL + 14, _label(page, name), ", ".join(plain(item, 160) for item in shown) + more)


def _fix(page: _Page, name: str, finding: FindingRow) -> None:
    if finding["fix"]:
        page.folded(_LABEL + 14, _label(page, name), plain(finding["fix"], 600))


def _reproduce(page: _Page, name: str, finding: FindingRow) -> None:
    """Never folded: it is there to be copied."""
    if finding["reproduce"]:
        page.line(_label(page, name), plain(finding["reproduce"]))


def _confirmed(page: _Page, name: str, finding: FindingRow) -> None:
    if finding["second_opinion"]:
        page.line(_label(page, name), plain(finding["second_opinion"]))


_FIELDS: dict[str, Callable[[_Page, str, FindingRow], None]] = {
    "found": _observed,
    "expected": _expected,
    "fix": _fix,
    "see it": _reproduce,
    "sslyze": _confirmed,
}


def _summary(page: _Page, report: Report) -> None:
    counts = report.summary
    page.line(page.paint("title", "SUMMARY"))
    told = [
        page.paint(verdict, f"{counts.verdicts[verdict]} {headline.WORDS[verdict]}")
        for verdict in VERDICTS
        if counts.verdicts[verdict]
    ]
    excused = headline.excused(counts)
    page.line(
        "  endpoints  ",
        f"{counts.endpoints}: {', '.join(told)}" if told else "none",
        f"  ({plain(excused)}: kept and counted, breaks nothing)" if excused else "",
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
    page.line("  cost       ", f"{counts.connections} connections, {plain(report.started)} to {plain(report.finished)}")
    page.folded(13, "  coverage   ", coverage(report))


def coverage(report: Report) -> str:
    """Whether the result covers what was asked for, as a sentence."""
    told = report.coverage
    judged = f"{told['judged']} of {told['endpoints']} endpoints judged"
    if not told["endpoints"] and not told["interrupted"]:
        return "nothing was scanned"
    if told["interrupted"]:
        return f"{judged}; NOT COMPLETE: interrupted by {plain(told['interrupted'])}"
    missing = (
        (told["not_judged"], "could not be judged"),
        (report.summary.unsettled, "judged only in part, because some of it could not be told"),
    )
    open_ends = ", ".join(f"{count} {what}" for count, what in missing if count)
    if told["complete"] and not open_ends:
        return f"{judged}; complete"
    return f"{judged}; NOT COMPLETE: {open_ends or 'some could not be judged'}"
