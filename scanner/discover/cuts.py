"""What is too much of something is cut, and every cut is counted: nothing that was not looked at is left unsaid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from scanner.discover.draft import Omission
from scanner.kube.objects import KubeObject

Item = TypeVar("Item")


class Cuts:
    """Where something was cut, once for each object and field, however often it is looked at."""

    def __init__(self) -> None:
        self._by: dict[tuple[str, str, bool], int] = {}

    def first(self, items: Iterable[Item], most: int, what: str, of: KubeObject) -> list[Item]:
        """The first ``most`` of ``items``, which are ``what`` (plural) of an object; the others are counted."""
        found = items if isinstance(items, list) else list(items)
        if len(found) > most:
            self.note(f"{what} beyond the first {most:,}", str(of.reference), len(found) - most)
        return found[:most]

    def note(self, what: str, where: str, times: int = 1, *, decides: bool = True) -> None:
        """``what`` was not looked at. ``decides``: a verdict could be another one if it had been."""
        key = (what, where, decides)
        self._by[key] = max(times, self._by.get(key, 0))

    def omissions(self) -> Iterator[Omission]:
        """All of them."""
        for (what, _, decides), times in self._by.items():
            yield Omission(f"{what}: cut, not looked at", times, cut=decides)
