"""Where a parser of YAML says that something stands, and where people see it."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Protocol

from scanner.model.places import Mark

_ODD_BREAK = re.compile("\r(?!\n)|[\x85\u2028\u2029]")
"""What ends a line in YAML 1.1 (section 5.4, "b-generic") and nowhere else."""


class YamlMark(Protocol):
    """libyaml's and PyYAML's own, which count from 0."""

    index: int
    line: int
    column: int


class Marks:
    """From the parser's places to those that people see. ``grep -n``, editors and readers of SARIF ("newlineSequences")
    begin a line behind a line feed, with or without a carriage return before it; libyaml, by YAML 1.1, also behind
    U+0085, U+2028, U+2029 and a carriage return alone."""

    def __init__(self, text: str, first: int = 1, before: int = 0) -> None:
        """``first``: the line in which ``text`` begins; ``before``: characters that stand before it there."""
        self._first, self._before = first, before
        odd = ("\r" in text or not text.isascii()) and _ODD_BREAK.search(text)
        self._begins = [0, *(match.end() for match in re.finditer("\n", text))] if odd else None

    def __call__(self, mark: YamlMark | None) -> Mark:
        if mark is None:
            return Mark(self._first, self._before + 1)
        line, column = mark.line, mark.column
        if self._begins is not None:
            line = bisect_right(self._begins, mark.index) - 1
            column = mark.index - self._begins[line]
        return Mark(line + self._first, column + 1 + (0 if line else self._before))
