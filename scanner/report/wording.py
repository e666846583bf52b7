"""Numbers in sentences."""

from __future__ import annotations


def counted(count: int, noun: str, several: str = "") -> str:
    """``1 endpoint``, ``2 endpoints``; ``several`` where an s at the end is not enough."""
    return f"{count} {noun if count == 1 else several or f'{noun}s'}"
