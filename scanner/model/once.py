"""What follows from a value is computed once, when it is first needed, and lives as long as the value.

``functools.cache`` would keep every value alive, ``cached_property`` needs the function to be a method: these functions
belong to the rules and resolvers that ask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

S = TypeVar("S", bound="Once")
T = TypeVar("T")


class Once:
    """A value that keeps the results of functions of it."""

    __slots__ = ("_results",)
    _results: dict[Callable[[Any], object], object]

    def once(self: S, function: Callable[[S], T]) -> T:
        """The result of ``function(self)``; a function of a module is called once."""
        try:
            results = self._results
        except AttributeError:  # a frozen dataclass
            results = {}
            object.__setattr__(self, "_results", results)
        if function not in results:
            results[function] = function(self)
        return cast("T", results[function])
