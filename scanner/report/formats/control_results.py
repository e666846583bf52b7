"""Controls of published benchmarks in Markdown: holds, does not hold, or not determined, with counts.

A control holds only if the scan is complete and every endpoint that the control is about was determined and passed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TextIO

from scanner.model.controls import Answer, Control, catalogues
from scanner.model.report import Report
from scanner.report.coverage import exit_line, shortfalls
from scanner.report.escape import plain
from scanner.report.formats.markdown import code
from scanner.report.page import counted

_EXAMPLES = 3
"""Endpoints that a control names; all are counted."""
_HEAD = "| control | requirement | result | pass | fail | not determined | first endpoints of these |\n"


def write(report: Report, out: TextIO) -> None:
    """Write a table for each catalogue. The rows are read once, and only counts are kept."""
    counts: dict[str, Counter[Answer]] = {}
    examples: dict[tuple[str, Answer], dict[str, None]] = {}
    named = [(each.name(control), control) for each in catalogues() for control in each.controls]
    for row in report.rows():
        for name, control in named:
            if answer := control.answer(row):
                counts.setdefault(name, Counter())[answer] += 1
                if answer != "pass" and len(examples.setdefault((name, answer), {})) < _EXAMPLES:
                    examples[name, answer][row["id"]] = None
    complete = report.coverage["complete"]
    out.write(f"# Controls\n\nScan of {plain(report.started)} by adhere {plain(report.scanner['version'])}. ")
    out.write("A control holds only if every endpoint that it is about was determined and passed.\n")
    if not complete:
        short = shortfalls(report) or "not everything was judged"
        out.write(f"\nThe scan is not complete, so that no control holds: {code(short, 900)}\n")
    for catalogue in catalogues():
        out.write(f"\n## {catalogue.title} {catalogue.version}\n\nRead on {catalogue.read}: {catalogue.source}.\n\n")
        out.write(f"{_HEAD}|---|---|---|---|---|---|---|\n")
        for control in catalogue.controls:
            name = catalogue.name(control)
            first = examples.get((name, "fail")) or examples.get((name, "unknown"), {})
            out.write(_line(control, counts.get(name, Counter()), first, complete=complete))
    out.write(f"\n{code(exit_line(report), 900)}\n")


def _line(control: Control, counts: Counter[Answer], first: Iterable[str], *, complete: bool) -> str:
    about = f" ({', '.join(control.components)})" if control.components else ""
    cells = [f"{control.id}{about}", control.title, result(control, counts, complete=complete)]
    cells += [str(counts["pass"]), str(counts["fail"]), str(counts["unknown"]), ", ".join(map(code, first))]
    return f"| {' | '.join(cells)} |\n"


def result(control: Control, counts: Counter[Answer], *, complete: bool) -> str:
    """Return the result of a control. Unknown is never "holds"."""
    if counts["fail"]:
        return "**does not hold**"
    if not counts.total():
        return "not tested: no such endpoint"
    if counts["unknown"]:
        return f"not determined: {counted(counts['unknown'], 'endpoint')}"
    if control.not_tested:
        return f"not determined: {control.not_tested} not tested"
    return "holds" if complete else "not determined: the scan is not complete"
