"""Known, or unknown with a reason: how a value that might be missing says why it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody could tell, and this is why. Whatever depends on it is never a pass."""

    reason: str
    """One clause for people, without a final stop: ``the listener refused every offer``."""


Known: TypeAlias = T | Unknown
