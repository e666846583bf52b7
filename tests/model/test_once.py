"""What follows from a value is found once for each value."""

from __future__ import annotations

from dataclasses import dataclass

from scanner.model.once import Once


class Counted(Once):
    def __init__(self) -> None:
        self.asked = 0


def asked(counted: Counted) -> int | None:
    counted.asked += 1
    return None if counted.asked == 1 else counted.asked


def test_it_is_asked_once_though_it_found_nothing() -> None:
    counted, another = Counted(), Counted()
    assert [counted.once(asked), counted.once(asked), another.once(asked)] == [None, None, None]
    assert (counted.asked, another.asked) == (1, 1)


@dataclass(frozen=True, slots=True)
class Frozen(Once):
    number: int


def test_a_frozen_value_keeps_results_too_and_is_equal_without_them() -> None:
    found: list[int] = []

    def function(frozen: Frozen) -> int:
        found.append(frozen.number)
        return frozen.number

    asked = Frozen(3)
    assert (asked.once(function), asked.once(function), found) == (3, 3, [3])
    assert asked == Frozen(3)
    assert hash(asked) == hash(Frozen(3))
