"""What is not asked, and lists that are cut, each with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from scanner.kube.objects import KubeObject
from scanner.model.endpoint import Endpoint

Item = TypeVar("Item")


class Omission(NamedTuple):
    """Something that is not asked."""

    reason: str
    times: int = 1
    endpoints: tuple[Endpoint, ...] = ()
    """What it would be, where somebody wants to know."""
    cut: bool = False
    """Whether it is something that nobody looked at, because there was too much of it."""


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
