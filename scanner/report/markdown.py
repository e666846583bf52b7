"""Hostile text in Markdown: nothing of it is a link, a mention, an image or HTML where it is in a code span or block.

CommonMark 0.31, sections 6.1 (code spans) and 4.5 (fenced code blocks): what is inside is text, and it ends only with
as many backticks as it began with. Line ends, which a span must not have, are made visible before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from scanner.report.escape import plain

_TICKS = re.compile("`+")


def code(text: str, limit: int | None = 300) -> str:
    """``text`` as a code span, cut to ``limit`` characters."""
    shown = plain(text, limit)
    if not shown.strip():
        return "(empty)"
    ticks = "`" * (_longest(shown) + 1)
    space = " " if shown.startswith(("`", " ")) or shown.endswith(("`", " ")) else ""
    return f"{ticks}{space}{shown}{space}{ticks}"


def block(lines: Iterable[str], language: str = "") -> list[str]:
    """Lines as a fenced block."""
    shown = [plain(line, 2000) for line in lines]
    fence = "`" * max(3, max((_longest(line) for line in shown), default=0) + 1)
    return [f"{fence}{language}", *shown, fence]


def _longest(text: str) -> int:
    return max((len(run) for run in _TICKS.findall(text)), default=0)
