"""What objects declare, as lint looks at it."""

from __future__ import annotations

from datetime import UTC, datetime

from scanner.kube.kinds import SERVICE
from scanner.kube.snapshot import Origin, Snapshot
from scanner.model.declared import Declared

asked: list[int] = []


def _services(declared: Declared) -> int:
    asked.append(1)
    return len(declared.every(SERVICE))


def test_what_is_worked_out_of_everything_is_worked_out_once() -> None:
    asked.clear()
    known = Snapshot(taken_at=datetime(2026, 1, 1, tzinfo=UTC), origin=Origin(name="any"), objects={SERVICE: ()})
    one, other = Declared(given=(), known=known), Declared(given=(), known=known)
    assert [one.once(_services), one.once(_services), other.once(_services)] == [0, 0, 0]
    assert len(asked) == 2, "once for each"
