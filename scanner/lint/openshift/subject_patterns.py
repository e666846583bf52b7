"""Regular expressions that two engines must take: Go's RE2 when the operator looks, PCRE when HAProxy matches."""

from __future__ import annotations

import re
import warnings
from typing import Final

_LONGEST: Final = 4096
_ESCAPED: Final = re.compile(r"\\.", re.DOTALL)
_CLASS: Final = re.compile(r"\[\^?\]?[^\]]*\]")
_PCRE_ONLY: Final = re.compile(r"\(\?(?:<?[=!]|[>|(#R&+0-9])|\(\*|[*+?}]\+")
"""Looking around, atomic groups, branch resets, conditions, comments, recursion; possessive quantifiers."""
_PCRE_ESCAPES: Final = re.compile(r"(?<!\\)(?:\\\\)*\\[1-9gkGKRXhHVZ]")
"""References back, and classes that RE2 does not have."""
_RE2_ONLY: Final = re.compile(r"\\[pPQEzC]|\(\?(?:[imsU-]+[:)]|<[A-Za-z])|\[\[")
"""What Go has and Python does not, or not everywhere."""
_COUNT: Final = re.compile(r"\{(\d{1,9})(?:,(\d{0,9}))?\}")
_AT_MOST: Final = 1000
"""Repetitions that RE2 takes."""
_EVERYTHING: Final = frozenset(
    {"", "^", "$", "^$|.", ".", ".*", ".+", ".?", "^.*", ".*$", "^.*$", "^.+$", "(.*)", "^(.*)$"}
)


def refused(pattern: str) -> str | bool | None:
    """Why the operator does not take a pattern; None where it does, True where that cannot be told here."""
    if len(pattern) > _LONGEST:
        return True
    bare = _CLASS.sub("", _ESCAPED.sub("", pattern))
    if _PCRE_ONLY.search(bare) or _PCRE_ESCAPES.search(pattern):
        return "it has what PCRE knows and RE2 does not"
    if any(int(number) > _AT_MOST for pair in _COUNT.findall(bare) for number in pair if number):
        return f"it repeats something more than {_AT_MOST} times"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of sets in sets, which neither engine has
            re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return True if _RE2_ONLY.search(pattern) else f"it is no regular expression: {str(error)[:100]}"
    return None


def lets_everything(pattern: str) -> bool:
    """Whether it is one of those that match any text."""
    return pattern in _EVERYTHING
