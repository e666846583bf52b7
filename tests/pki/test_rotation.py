"""When each certificate is made again, by its names and its own dates."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from scanner.model.well_known import Owner, Recognition, WellKnown
from scanner.pki.rotation import renewal

MADE = datetime(2026, 1, 1, tzinfo=UTC)
END = datetime(2027, 1, 1, tzinfo=UTC)
OPERATED = WellKnown(
    name="x",
    origin="enhancement",
    category="serving",
    shipped_category="serving",
    owner=Owner(name="o", implements=True),
    rotates="operator",
    days=365,
    refresh_days=30,
    recognition=Recognition(),
)
SLOWER = replace(OPERATED, refresh_days=60)
UNTIMED = replace(OPERATED, refresh_days=None)
NEVER = replace(OPERATED, rotates="never")
FIRST = replace(OPERATED, rotates="day-1")


@pytest.mark.parametrize(
    ("names", "rotates", "by", "ends"),
    [
        ((OPERATED,), "operator", MADE + timedelta(days=30), False),
        ((OPERATED, SLOWER), "operator", MADE + timedelta(days=60), False),
        ((UNTIMED,), "operator", END, True),
        ((), "operator", END, True),
        ((NEVER,), "never", None, False),
        ((NEVER, UNTIMED), "operator", MADE + timedelta(days=30), False),
        ((FIRST,), "day-1", MADE + timedelta(days=1), False),
    ],
)
def test_by_when(names: tuple[WellKnown, ...], rotates: str, by: datetime | None, ends: bool) -> None:
    found = renewal(names, MADE, END)
    assert (found.rotates, found.by, found.ends) == (rotates, by, ends)


def test_dates_that_cannot_be_read_or_have_no_day_after() -> None:
    assert renewal((OPERATED,), None, END).by == END
    assert renewal((FIRST,), None, None).by is None
    assert renewal((OPERATED,), datetime(9999, 12, 31, tzinfo=UTC), None).by is None
