"""What follows from a value is found once for each value."""

from __future__ import annotations

from scanner.model.once import Once


class Counted(Once):
    def __init__(self) -> None:
        self._made = {}
        self.asked = 0


def asked(counted: Counted) -> int | None:
    counted.asked += 1
    return None if counted.asked == 1 else counted.asked


def test_it_is_asked_once_though_it_found_nothing() -> None:
    counted, another = Counted(), Counted()
    assert [counted.once(asked), counted.once(asked), another.once(asked)] == [None, None, None]
    assert (counted.asked, another.asked) == (1, 1)
