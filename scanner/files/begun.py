"""A mark in a directory that is being filled: after ``kill -9`` it is no saved scan, but may be filled again."""

from __future__ import annotations

from pathlib import Path

BEGUN = ".adhere-incomplete"


def may_be_filled(directory: Path, head: str) -> bool:
    """Return False if the directory has content, and neither ``head``, the file that completes it, nor the mark."""
    known = (directory / head).is_file() or (directory / BEGUN).is_file()
    return known or not any(directory.iterdir())
