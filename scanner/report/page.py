"""A page of text for a terminal or a file: lines, eight colours, folding."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TextIO

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


@dataclass(frozen=True, slots=True)
class Page:
    """Where the lines go. Texts from outside have been through ``escape.plain`` before they get here."""

    out: TextIO
    color: bool
    width: int | None
    """Of the terminal, in columns; None (a file, a pipe) folds nothing."""

    def line(self, *parts: str) -> None:
        """One line; spaces at its end are left out."""
        self.out.write("".join(parts).rstrip() + "\n")

    def paint(self, style: str, text: str) -> str:
        """``text`` in a style of ``COLORS``, where there are colours."""
        return f"\x1b[{COLORS[style]}m{text}\x1b[0m" if self.color and style in COLORS else text

    def title(self, text: str) -> None:
        """The head of a section."""
        self.line(self.paint("title", text))

    def folded(self, indent: int, first: str, text: str) -> None:
        """``text`` folded between ``indent`` and the page's width, behind ``first``, which is as wide as ``indent``."""
        lines = [text]
        if self.width is not None:
            room = max(self.width - indent, 30)
            lines = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or [""]
        self.line(first, lines[0])
        for more in lines[1:]:
            self.line(" " * indent, more)


def pad(text: str, width: int) -> str:
    """``text`` with spaces behind it, so that it takes ``width`` columns."""
    return text + " " * (width - columns(text))
