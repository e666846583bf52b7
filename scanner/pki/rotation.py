"""When a certificate of the platform is made again. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from scanner.model.well_known import Rotation, WellKnown

DAY_ONE = timedelta(days=1)
"""Within which an operator's certificate takes the place of the installer's (the enhancement, "Initial Cluster
Installation")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewal:
    """How it is made again, and by when."""

    rotates: Rotation
    """Of several names the one that promises most: only what never rotates under any of its names is called so."""
    by: datetime | None
    """The latest; None where nothing tells, or it is never."""
    ends: bool = False
    """Whether ``by`` is its own end, because nothing tells more."""


def renewal(names: Collection[WellKnown], made: datetime | None, end: datetime | None) -> Renewal:
    """Of a certificate that is called one of ``names`` and is valid from ``made`` to ``end``. Operators renew at an
    age; of names with different ages the greatest counts, because nothing tells which it has. What the installer made
    for its first day ends before that."""
    kinds = {each.rotates for each in names}
    if kinds == {"never"}:
        return Renewal(rotates="never", by=None)
    if kinds == {"day-1"}:
        return Renewal(rotates="day-1", by=None if made is None else _later(made, DAY_ONE))
    ages = [each.refresh_days for each in names if each.refresh_days]
    if made is not None and ages:
        by = _later(made, timedelta(days=max(ages)))
        if by is not None and (end is None or by < end):
            return Renewal(rotates="operator", by=by)
    return Renewal(rotates="operator", by=end, ends=True)


def _later(moment: datetime, by: timedelta) -> datetime | None:
    """None past the last day that a calendar has: a certificate may say that it was made in the year 9999."""
    try:
        return moment + by
    except OverflowError:
        return None
