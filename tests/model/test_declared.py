"""Objects as lint sees them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from scanner.kube.kinds import SERVICE
from scanner.kube.snapshot import Origin, Snapshot
from scanner.model.declared import Declared, Once

asked: list[int] = []


def _services(declared: Declared) -> int:
    asked.append(1)
    return len(declared.every(SERVICE))


def test_what_is_worked_out_of_everything_is_worked_out_once() -> None:
    asked.clear()
    known = Snapshot(taken_at=datetime(2026, 1, 1, tzinfo=UTC), origin=Origin(name="any"), objects={SERVICE: ()})
    one, other = Declared(subjects=(), known=known), Declared(subjects=(), known=known)
    assert [one.once(_services), one.once(_services), other.once(_services)] == [0, 0, 0]
    assert len(asked) == 2, "once for each"


class Counted(Once):
    def __init__(self) -> None:
        self.count_calls = 0


def count_calls(counted: Counted) -> int | None:
    counted.count_calls += 1
    return None if counted.count_calls == 1 else counted.count_calls


def test_it_is_asked_once_though_it_found_nothing() -> None:
    counted, another = Counted(), Counted()
    assert [counted.once(count_calls), counted.once(count_calls), another.once(count_calls)] == [None, None, None]
    assert (counted.count_calls, another.count_calls) == (1, 1)


@dataclass(frozen=True, slots=True)
class Frozen(Once):
    number: int


def test_a_frozen_value_keeps_results_too_and_is_equal_without_them() -> None:
    found: list[int] = []

    def function(frozen: Frozen) -> int:
        found.append(frozen.number)
        return frozen.number

    count_calls = Frozen(3)
    assert (count_calls.once(function), count_calls.once(function), found) == (3, 3, [3])
    assert count_calls == Frozen(3)
    assert hash(count_calls) == hash(Frozen(3))
