"""What is said of values that many objects have in common, said once.

Replicas share their containers and labels: reading keeps equal ones once, as one and the same value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")
Answer = TypeVar("Answer")


class Alike(Generic[Value, Answer]):
    """A function of a value, asked once for each value, by identity: comparing them would cost more than asking."""

    def __init__(self, asked: Callable[[Value], Answer]) -> None:
        self._asked = asked
        self._known: dict[int, tuple[Value, Answer]] = {}
        """With the value, so that no other one can take over its identity."""

    def __call__(self, value: Value) -> Answer:
        found = self._known.get(id(value))
        if found is None:
            found = self._known[id(value)] = (value, self._asked(value))
        return found[1]
