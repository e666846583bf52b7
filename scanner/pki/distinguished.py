"""Distinguished names, as certificates' facts have them (RFC 4514), taken apart."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

LONGEST: Final = 2000
"""Characters. No name of the platform comes near, though operators do not keep to the 64 of RFC 5280 appendix A.1."""

_PART: Final = re.compile(r"((?:[^\\,+]|\\.)*)([,+]|\Z)", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\([0-9A-Fa-f]{2}|.)", re.DOTALL)


def values(name: str, kind: str) -> tuple[str, ...]:
    """The values of every attribute ``kind`` (``CN``, ``O``) of a name, () of one longer than ``LONGEST``. An escaped
    separator is part of its value, so that ``CN=a\\,O=b`` has no O."""
    return _values(name, kind) if len(name) <= LONGEST else ()


@lru_cache(maxsize=4096)
def _values(name: str, kind: str) -> tuple[str, ...]:
    pairs = (part.group(1).partition("=") for part in _PART.finditer(name))
    return tuple(_plain(value) for attribute, _, value in pairs if attribute == kind)


def common_name(name: str | None) -> str | None:
    """The common name; "" where there is none or several, by which nothing is recognised. None of a name that cannot be
    read."""
    if name is None:
        return None
    found = values(name, "CN")
    return found[0] if len(found) == 1 else ""


def organizations(name: str | None) -> tuple[str, ...] | None:
    """The organizations. None of a name that cannot be read."""
    return None if name is None else values(name, "O")


def _plain(value: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)) if len(match[1]) == 2 else match[1], value)
