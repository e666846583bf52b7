"""Listeners that are left out, and lists that are truncated, each with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from scanner.kube.objects import KubeObject
from scanner.model.endpoint import Endpoint

Item = TypeVar("Item")


class Omission(NamedTuple):
    """Listeners that are not probed."""

    reason: str
    times: int = 1
    endpoints: tuple[Endpoint, ...] = ()
    """Their endpoints, if requested."""
    cut: bool = False
    """They were not read, because an object has too many."""


class Cuts:
    """Truncated lists, counted once per object and field."""

    def __init__(self) -> None:
        self._by: dict[tuple[str, str, bool], int] = {}

    def first(self, items: Iterable[Item], most: int, what: str, of: KubeObject) -> list[Item]:
        """The first ``most`` of ``items``, which are ``what`` (plural) of an object; the others are counted."""
        found = items if isinstance(items, list) else list(items)
        if len(found) > most:
            self.note(f"{what} beyond the first {most:,}", str(of.reference), len(found) - most)
        return found[:most]

    def note(self, what: str, where: str, times: int = 1, *, decides: bool = True) -> None:
        """Record that ``what`` was not read. ``decides``: it could have changed a verdict."""
        key = (what, where, decides)
        self._by[key] = max(times, self._by.get(key, 0))

    def omissions(self) -> Iterator[Omission]:
        for (what, _, decides), times in self._by.items():
            yield Omission(f"{what}: truncated, not read", times, cut=decides)
