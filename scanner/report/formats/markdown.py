"""Markdown for the summary of a GitHub job and for comments on pull requests and merge requests.

Texts of servers, objects and files are code spans (CommonMark, section 6.1): in a code span there is no markup, HTML,
link or mention. A pipe would end the cell of a table, so it becomes a broken bar.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TextIO

from msgspec import Struct

from scanner.model.finding import OUTCOMES, SEVERITIES, Outcome
from scanner.model.finding import outcome as outcome_of
from scanner.model.lint_report import LintReport
from scanner.model.report import FindingRow, Report
from scanner.report import headline
from scanner.report.coverage import trust_line
from scanner.report.escape import plain
from scanner.report.formats import lint_text
from scanner.report.formats.text import coverage
from scanner.report.grouping import Group, groups, merged
from scanner.report.issues import ending, gaps
from scanner.report.page import counted

MOST: Final = 60_000
"""Characters of the document. A comment on GitHub has at most 65,536, and the summary of a step 1 MiB."""
_END: Final = 4_000
"""Characters that are kept for the end."""
_LONGEST: Final = 300
_GAPS: Final = 10
_TITLES: Mapping[Outcome, str] = {
    "fail": "Failed",
    "inconclusive": "Inconclusive",
    "deviates": "Differences not counted in the exit code",
}


class _Entry(Struct, frozen=True):
    outcome: Outcome
    finding: FindingRow
    where: str
    """Markdown."""


def write(report: Report | LintReport, out: TextIO) -> None:
    """Write the counts, the findings in groups, what was not read, and the exit code with its reasons."""
    lint = isinstance(report, LintReport)
    parts = [*(_lint_counts(report) if isinstance(report, LintReport) else _counts(report))]
    room = MOST - _END - sum(map(len, parts))
    found = list(_linted(report) if isinstance(report, LintReport) else _found(report))
    for outcome, title in _TITLES.items():
        chosen = [each for each in found if each.outcome == outcome]
        rows, room = _fitting(chosen, room)
        if not chosen:
            continue
        parts += [f"\n### {title}\n\n", *rows]
        if left := len(chosen) - max(len(rows) - 1, 0):
            what = counted(left, "finding") if lint else counted(left, "group", "groups") + " of findings"
            parts.append(f"\n{what} left out here: the JSON report has all.\n")
    if missing := gaps(report):
        parts.append("\n### Not read or not judged\n\n")
        parts += [f"* {code(text)}\n" for text in missing[:_GAPS]]
        parts += [f"* and {len(missing) - _GAPS} more\n"] if len(missing) > _GAPS else []
    _, line = ending(report)
    out.write("".join(parts) + f"\n{code(line, 900)}\n")


def code(text: str, limit: int = _LONGEST) -> str:
    """Return ``text`` as a code span that also fits in a table."""
    shown = plain(text, limit).replace("|", "¦")
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    space = " " if shown[:1] in "` " or shown[-1:] in "` " else ""
    return f"{fence}{space}{shown}{space}{fence}" if shown else ""


def _table(head: Iterable[str], *rows: Iterable[str]) -> str:
    lines = [list(head), *map(list, rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _counts(report: Report) -> Iterator[str]:
    counts = report.summary
    said = ", ".join(headline.so_many(count, each) for each, count in counts.outcomes.items() if count)
    yield f"## adhere scan: {said or 'no endpoint'}\n\n"
    words = [f"{headline.SYMBOLS[each]} {headline.WORDS[each]}" for each in OUTCOMES]
    yield _table(["", *words], ["endpoints", *(str(counts.outcomes[each]) for each in OUTCOMES)])
    severe = SEVERITIES[::-1]
    yield "\n" + _table(["", *severe], ["findings", *(str(counts.failures[each]) for each in severe)])
    lines = (f"coverage: {coverage(report)}", trust_line(counts))
    yield "".join(f"\n{code(line, 900)}\n" for line in lines if line)


def _lint_counts(report: LintReport) -> Iterator[str]:
    yield f"## adhere lint: {plain(lint_text.summary(report))}\n\n"
    counts = report.counts()
    yield _table(["", *counts], ["objects", *map(str, counts.values())])


def _found(report: Report) -> Iterator[_Entry]:
    """Yield cluster-wide findings and groups of findings, the most important first."""
    wide = [
        _Entry(outcome_of(each["verdict"], each["status"]), each, code(each["about"] or "objects"))
        for each in merged(filter(headline.open_question, report.findings))
    ]
    grouped = [_Entry(each.outcome, each.shown, _where(each)) for each in groups(report.rows())]
    yield from sorted((*wide, *grouped), key=lambda one: headline.importance(one.finding))


def _where(group: Group) -> str:
    names = ", ".join(code(name) for name, _ in group.examples)
    more = group.listeners - len(group.examples)
    names += f" and {counted(more, 'more listener')}" if more else ""
    return names + (f" ({counted(group.endpoints, 'endpoint')})" if group.endpoints > 1 else "")


def _linted(report: LintReport) -> Iterator[_Entry]:
    for each in sorted(lint_text.ranked(report), key=headline.importance):
        names = dict.fromkeys((lint_text.place(each), each["about"] or ""))
        yield _Entry(outcome_of(each["verdict"], each["status"]), each, " ".join(map(code, names)).strip())


def _fitting(entries: list[_Entry], room: int) -> tuple[list[str], int]:
    """Return the table of the first entries that fit, a line each below its head, and the room that is left."""
    lines: list[str] = []
    for each in entries:
        line = _line(each)
        added = [line] if lines else [_table(["severity", "rule", "finding", "where"]), line]
        if sum(map(len, added)) > room:
            return lines, 0
        room -= sum(map(len, added))
        lines += added
    return lines, room


def _line(entry: _Entry) -> str:
    finding = entry.finding
    details = (f"{label}: {code(text)}" for label, text in headline.brief(finding))
    text = "<br>".join((code(headline.kind(finding["status"]) + finding["message"]), *details))
    return f"| {plain(finding['severity'], 20)} | {code(finding['rule'])} | {text} | {entry.where} |\n"
