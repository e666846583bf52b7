"""Numbers in sentences, and the sentence that ends every text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

_RULES: Final = 10
"""Rules named in one line."""


def counted(count: int, noun: str, several: str = "") -> str:
    """``1 endpoint``, ``2 endpoints``; ``several`` where an s at the end is not enough."""
    return f"{count} {noun if count == 1 else several or f'{noun}s'}"


def exit_text(code: int, reasons: Iterable[str]) -> str:
    """The last line of every text: the exit code and its reasons."""
    return f"exit {code}: {'; '.join(filter(None, reasons))}"


def failures_text(rules: Mapping[str, int], fail_on: str, where: str) -> str:
    """Findings that make the exit code 1, counted by rule."""
    often = sorted(rules.items(), key=lambda one: (-one[1], one[0]))
    named = ", ".join(f"{rule} {number}" for rule, number in often[:_RULES])
    more = f" and {counted(len(often) - _RULES, 'more rule')}" if len(often) > _RULES else ""
    return f"{counted(sum(rules.values()), 'finding')} at or above {fail_on} on {where} ({named}{more})"


def no_failures_text(fail_on: str) -> str:
    """Reason why no finding makes the exit code 1."""
    return "findings are not counted (--fail-on never)" if fail_on == "never" else f"no finding at or above {fail_on}"
