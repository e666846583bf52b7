"""Text for a terminal or a file: lines, colours, folding, numbers in sentences, and findings with their details."""

from __future__ import annotations

import textwrap
from collections.abc import Container, Iterable, Mapping
from typing import Final, TextIO

from msgspec import Struct

from scanner.model.report import BaselineRow, FindingRow
from scanner.report import headline
from scanner.report.escape import plain
from scanner.report.escape import width as columns

COLORS: dict[str, str] = {
    "fail": "1;31",
    "deviates": "36",
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


class Page(Struct, frozen=True):
    """A text that is written line by line. Callers escape texts of servers and objects with ``escape.plain``."""

    out: TextIO
    color: bool
    width: int | None
    """Columns of the terminal; None for a file or pipe, where nothing is folded."""

    def line(self, *parts: str) -> None:
        """Write one line, without spaces at its end."""
        self.out.write("".join(parts).rstrip() + "\n")

    def paint(self, style: str, text: str) -> str:
        """Colour ``text`` in a style of ``COLORS``, if the page has colours."""
        return f"\x1b[{COLORS[style]}m{text}\x1b[0m" if self.color and style in COLORS else text

    def title(self, text: str, more: str = "") -> None:
        """Write the title of a section; ``more``: what the section leaves out."""
        self.line(self.paint("title", text), f"  {self.paint('quiet', more)}" if more else "")

    def folded(self, indent: int, first: str, text: str) -> None:
        """Write ``first``, which is ``indent`` columns wide, and ``text``, folded between ``indent`` and the width."""
        lines = [text]
        if self.width is not None:
            room = max(self.width - indent, 30)
            lines = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or [""]
        self.line(first, lines[0])
        for more in lines[1:]:
            self.line(" " * indent, more)


def pad(text: str, width: int) -> str:
    """Add spaces to ``text`` up to ``width`` columns."""
    return text + " " * (width - columns(text))


_NAMED: Final = 10
"""Components or rules in one line."""


def counted(count: int, noun: str, several: str = "") -> str:
    """``1 endpoint``, ``2 endpoints``; ``several`` where an s at the end is not enough."""
    return f"{count} {noun if count == 1 else several or f'{noun}s'}"


def exit_text(code: int, reasons: Iterable[str]) -> str:
    """Return the last line of every text: the exit code and its reasons."""
    return f"exit {code}: {'; '.join(filter(None, reasons))}"


def failures_text(
    rules: Mapping[str, int], fail_on: str, where: str, components: Mapping[str, int] | None = None
) -> str:
    """Count the findings that make the exit code 1; in parentheses endpoints by component, or else findings by rule."""
    often = sorted((components or rules).items(), key=lambda one: (-one[1], one[0]))
    if components:
        names = [f"{name} x{number}" if number > 1 else name for name, number in often]
    else:
        names = [f"{name} {number}" for name, number in often]
    more = len(names) - _NAMED
    named = ", ".join(names[:_NAMED])
    if more > 0:
        named += f" and {counted(more, 'more component' if components else 'more rule')}"
    return f"{counted(sum(rules.values()), 'finding')} at or above {fail_on}{where} ({named})"


def baseline_text(row: BaselineRow | None) -> str:
    """Count the known findings; "" without a baseline."""
    if row is None:
        return ""
    absent = f", {row['absent']} of the baseline not found" if row["absent"] else ""
    return f"baseline: {row['known']} known and {row['new']} new{absent}"


def no_failures_text(fail_on: str) -> str:
    """Return why no finding makes the exit code 1."""
    return "findings are not counted (--fail-on never)" if fail_on == "never" else f"no finding at or above {fail_on}"


LABEL = 12
"""Columns of the severity before a finding."""
_ITEMS = 8
"""Observed items shown per finding; the JSON document has all."""
_RIGHT = 3
"""Expected items shown per finding."""


def findings(page: Page, found: list[FindingRow], controls: Mapping[str, list[str]] | None = None) -> None:
    """Write findings, the most important first, each with its details and the ``controls`` of its rule."""
    for finding in sorted(found, key=headline.importance):
        word = headline.label(finding)
        kind = plain(headline.kind(finding["status"]))
        label = page.paint(word, pad(plain(word), LABEL))
        page.folded(LABEL + 3, f"  {label} ", f"{plain(finding['rule'])}: {kind}{plain(finding['message'], 600)}")
        for name, items in headline.details(finding, controls):
            _detail(page, name, items, finding)


_GROUPED = 3
"""Observed and expected items shown of a group."""


def group(
    page: Page, finding: FindingRow, count: str = "", at: str = "", *, differ: Container[str] = (), brief: bool = False
) -> None:
    """Write the finding of several endpoints with ``count`` and the names of the first, a line for each detail.

    ``differ``: the details that differ between the endpoints; ``brief``: only the finding and its fix.
    """
    word = headline.label(finding)
    label = page.paint(word, pad(plain(word), LABEL))
    what = f"{plain(finding['rule'])}: {plain(headline.kind(finding['status']))}{plain(finding['message'], 600)}{count}"
    page.folded(LABEL + 3, f"  {label} ", f"{what}: {at}" if brief and at else what)
    if at and not brief:
        page.folded(LABEL + 14, _label(page, "at"), at)
    for name, items in headline.details(finding):
        if (brief and name != "fix") or (name == "evidence" and finding["verdict"] != "inconclusive"):
            continue
        if name in ("reproduce", "sslyze"):  # not folded, so that a command can be copied
            page.line(_label(page, name), plain(items[0]))
            continue
        shown = items[:_GROUPED] if len(items) > _GROUPED + 1 else items
        more = f" and {len(items) - len(shown)} more" if len(items) > len(shown) else ""
        more += "; it differs between the endpoints" if name in differ else ""
        text = ", ".join(
            plain(headline.status_line(item), 600 if name in ("fix", "waived by") else 160) for item in shown
        )
        page.folded(LABEL + 14, _label(page, name), f"{text}{more}")


def _detail(page: Page, name: str, items: list[str], finding: FindingRow) -> None:
    label = _label(page, name)
    match name:
        case "reproduce" | "sslyze":  # not folded, so that a command can be copied
            page.line(label, plain(items[0]))
        case "fix" | "waived by" | "controls":
            page.folded(LABEL + 14, label, plain(items[0], 600))
        case "expected":  # short: the observed items matter more
            if finding["verdict"] == "fail":
                shown = items[:_RIGHT] if len(items) > _RIGHT + 1 else items
                more = f" and {len(items) - len(shown)} more" if len(items) > len(shown) else ""
                page.folded(LABEL + 14, label, ", ".join(plain(item, 160) for item in shown) + more)
        case "evidence":  # for a failure it is in the JSON report only
            if finding["verdict"] == "inconclusive" or finding["about"]:
                _items(page, label, list(map(headline.status_line, items)))
        case _:
            _items(page, label, items)


def _items(page: Page, label: str, items: list[str]) -> None:
    shown = items[:_ITEMS] if len(items) > _ITEMS + 1 else items
    for item in shown:
        page.line(label, plain(item, 160))
        label = _label(page, "")
    if len(items) > len(shown):
        page.line(label, f"and {len(items) - len(shown)} more (all of them are in the JSON report)")


def _label(page: Page, name: str) -> str:
    return " " * (LABEL + 3) + page.paint("quiet", f"{name:<11}")
