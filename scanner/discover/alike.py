"""What is said of values that many objects have in common, said once.

Replicas share their containers and labels: reading keeps equal ones once, as one and the same value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar, TypeVarTuple

Answer = TypeVar("Answer")
Values = TypeVarTuple("Values")


class Alike(Generic[*Values, Answer]):
    """A function of values, asked once for each, by identity: comparing them would cost more than asking."""

    def __init__(self, asked: Callable[[*Values], Answer]) -> None:
        self._asked = asked
        self._known: dict[tuple[int, ...], tuple[tuple[object, ...], Answer]] = {}
        """With the values, so that no others can take over their identity."""

    def __call__(self, *values: *Values) -> Answer:
        key = tuple(map(id, values))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = (values, self._asked(*values))
        return found[1]
