"""What follows from a value is found once, when it is first needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

S = TypeVar("S", bound="Once")
T = TypeVar("T")


class Once:
    """Keeps in ``_made``, a dict of its own, what was found of it."""

    __slots__ = ()
    _made: dict[Callable[[Any], object], object]

    def once(self: S, make: Callable[[S], T]) -> T:
        """What ``make`` says of it. ``make`` is a function of a module; the same one is asked once."""
        if make not in self._made:
            self._made[make] = make(self)
        return cast("T", self._made[make])
