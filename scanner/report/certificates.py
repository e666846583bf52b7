"""Certificates of a report for people: words, order, and the section of the HTML page with its chart and table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from heapq import nsmallest
from typing import Final

from scanner.model.finding import outcome as outcome_of
from scanner.model.inventory import (
    CATEGORIES,
    CertificateReport,
    EndsRow,
    InventoryRow,
    InventorySummary,
    KeyCountRow,
    NamesRow,
    key_name,
    moment,
)
from scanner.model.report import NEVER_FAILS
from scanner.report import headline
from scanner.report.page import counted

STATUSES: Final[dict[str, tuple[str, str]]] = {
    "violation": ("violates", "fail"),
    "needs-forced-rotation": ("needs forced rotation", "fail"),
    "not-tested": ("inconclusive", "inconclusive"),
    "pending-rotation": ("pending rotation", "deviates"),
    "not-implemented": ("not implemented", "deviates"),
    "ok": ("as required", "pass"),
    "informational": ("stronger than asked", "pass"),
    "not-required": ("without a requirement", "not_applicable"),
    "superseded": ("superseded", "not_applicable"),
    "unattributed": ("origin unknown", "not_applicable"),
    "not-governed": ("not governed", "not_applicable"),
}
"""Each with words for people, and which of ``OUTCOMES`` it looks like; in the order of the sums."""

SOON: Final = timedelta(days=30)
"""An end that is worth a line."""
_NEVER: Final = float("inf")


def words(status: str) -> str:
    """A status for people."""
    return STATUSES.get(status, (status, ""))[0]


def statuses(told: InventorySummary) -> list[tuple[str, int]]:
    """Those that occur, with how many, in the order of ``STATUSES``."""
    order = {status: place for place, status in enumerate(STATUSES)}
    return sorted(told["statuses"].items(), key=lambda one: (order.get(one[0], len(order)), one[0]))


def names_line(row: NamesRow, most: int = 10) -> str:
    """``2 of 57 judged, 1 not judged, 54 never seen: INCOMPLETE``, and the first of those that were not judged."""
    counts = {"judged": len(row["judged"]), "not judged": len(row["unknown"]), "never seen": len(row["never_seen"])}
    asked = sum(counts.values())
    said = [f"{count} {what}" for what, count in counts.items() if count and what != "judged"]
    more = [f"{len(row['elsewhere'])} not in this cluster"] if row["elsewhere"] else []
    told = ", ".join([f"{counts['judged']} of {asked} governed names judged", *said, *more])
    if row["complete"]:
        return f"{told}; complete"
    names = [*row["unknown"], *row["never_seen"]]
    if not most:
        return f"{told}; NOT COMPLETE: {row['why']}"
    listed = (
        f" ({', '.join(names[:most])}{f' and {len(names) - most} more' if len(names) > most else ''})" if names else ""
    )
    return f"{told}; NOT COMPLETE: {row['why']}{listed}"


def outcome(row: InventoryRow) -> str:
    """One of ``OUTCOMES``: the verdict, and whether a failure counts."""
    if row["status"] == "unattributed":
        return "not_applicable"  # there is nothing to be judged by
    return outcome_of(row["verdict"], row["status"])


def name(row: InventoryRow) -> str:
    """What people call it: its well-known name, else its subject, else its digest."""
    return " or ".join(row["names"]) or row["subject"] or f"SHA-256 {row['sha256'][:16]}"


def importance(row: InventoryRow) -> tuple[int, float, str]:
    """What needs a reader comes first: what violates, what is unknown, what deviates; and what ends before it."""
    if row["verdict"] == "fail":
        rank = 2 if row["status"] in NEVER_FAILS else 0
    else:
        rank = 1 if row["status"] == "not-tested" else 3
    return rank, ends(row), row["sha256"]


def ends(row: InventoryRow) -> float:
    """When, in seconds since 1970, to sort by; what cannot be read last."""
    end = moment(row["not_after"])
    return _NEVER if end is None else end.timestamp()


def first(rows: Iterable[InventoryRow], most: int) -> list[InventoryRow]:
    """The most important ones; however many there are, only these are held."""
    return nsmallest(most, rows, key=importance)


def ending(rows: Iterable[InventoryRow], now: datetime | None, most: int) -> list[InventoryRow]:
    """Those that end first, of all that have ended or will soon."""
    if now is None:
        return []
    limit = (now + SOON).timestamp()
    return nsmallest(most, (row for row in rows if ends(row) < limit), key=lambda row: (ends(row), row["sha256"]))


def step_name(step: EndsRow) -> str:
    """``ended``, ``7 days``, ``1 year``, ``later``: the end of a step of time, short enough for an axis."""
    if step["from_days"] is None:
        return "ended"
    days = step["to_days"]
    if days is None:
        return "later"
    for size, unit in ((365, "year"), (30, "month"), (7, "week")):
        if days % size == 0:
            count = days // size
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return f"{days} days"


def used_categories(told: InventorySummary) -> list[str]:
    """The categories that occur, in their order."""
    used = {one["category"] for one in told["keys"]}
    return [each for each in CATEGORIES if each in used]


def by_key(keys: Iterable[KeyCountRow]) -> dict[str, dict[str, int]]:
    """Counts by category, for each key: the most frequent key first."""
    found: dict[str, dict[str, int]] = {}
    for one in keys:
        found.setdefault(one["key"], {})[one["category"]] = one["count"]
    return dict(sorted(found.items(), key=lambda one: (-sum(one[1].values()), one[0])))


MOST_CERTIFICATES: Final = 250
"""Lines of the table; the sums above it count them all."""

BASE: Final = 138
"""Where the bars of the chart stand, in pixels from its top."""
TALLEST: Final = 112
_SHORTEST: Final = 3
"""Pixels of a bar that stands for one of many thousands: it is still there."""
_UNITS: Final = {"week": "w", "weeks": "w", "month": "m", "months": "m", "year": "y", "years": "y", "days": "d"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """The part of a bar that one category has."""

    category: str
    count: int
    top: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """Certificates that end in one step of time."""

    name: str
    """``ended``, ``within 3 months``."""
    short: str
    """``3 m``: ten of them stand side by side on a telephone."""
    total: int
    categories: dict[str, int]
    segments: list[Segment]
    left: float
    """Of its column, in percent of the chart's width."""
    urgency: str
    """``fail`` for what has ended, ``inconclusive`` for what ends within a month; empty otherwise, or for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateView:
    """One line of the table."""

    row: InventoryRow
    name: str
    outcome: str
    words: str
    key: str
    ends: str
    """The day."""
    left: str
    """``in 17 days``, ``ended 2 days ago``."""
    urgency: str
    """``fail`` where it has ended, ``inconclusive`` where it ends within a month, else empty."""
    again: str
    """When it is made again."""
    fix: str
    """What to do, where it violates."""
    about: str
    """Category, component, namespace, cluster; and the subject, where that is not its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificatesView:
    """The section."""

    summary: InventorySummary
    statuses: list[tuple[str, int, str]]
    """Words, number, outcome."""
    categories: list[str]
    keys: dict[str, dict[str, int]]
    bars: list[Bar]
    described: str
    """The chart in a sentence."""
    names: list[str]
    """What was seen of the names that the PKI configuration governs, a line for each cluster."""
    rows: list[CertificateView]
    told: frozenset[object]
    """The findings that ``rows`` show, as ``headline.same`` has them."""


def certificates_view(found: CertificateReport, now: str) -> CertificatesView | None:
    """The section; None where there is no certificate. ``now`` is the end of the scan, RFC 3339."""
    told = found.summary
    if not told["certificates"] and not told["names"]:
        return None
    worst = first(found.rows(), MOST_CERTIFICATES)
    bars = _bars(told)
    return CertificatesView(
        summary=told,
        statuses=[(words(each), count, _class(each)) for each, count in statuses(told)],
        categories=used_categories(told),
        keys=by_key(told["keys"]),
        bars=bars,
        described=", ".join(f"{bar.name} {bar.total}" for bar in bars if bar.total),
        names=[
            f"{row['cluster'] + ': ' if row['cluster'] else ''}{names_line(row, 100)}" for row in told["names"][:20]
        ],
        rows=[_row(row, moment(now)) for row in worst],
        told=frozenset(headline.same(one) for row in worst for one in row["findings"]),
    )


def _class(status: str) -> str:
    return STATUSES.get(status, ("", "not_applicable"))[1]


# --- the chart ------------------------------------------------------------------------------------------------------


def _bars(told: InventorySummary) -> list[Bar]:
    steps = told["ends"]
    most = max((sum(step["categories"].values()) for step in steps), default=0) or 1
    width = 100 / len(steps)
    return [
        Bar(
            name=_full(step_name(step)),
            short=_short(step_name(step)),
            total=sum(step["categories"].values()),
            categories=step["categories"],
            segments=_segments(step["categories"], most),
            left=round(place * width, 3),
            urgency=_step_urgency(step["to_days"]) if step["categories"] else "",
        )
        for place, step in enumerate(steps)
    ]


def _full(name: str) -> str:
    return name if name in ("ended", "later") else f"within {name}"


def _short(name: str) -> str:
    number, _, unit = name.partition(" ")
    return f"{number} {_UNITS[unit]}" if unit else name


def _step_urgency(days: int | None) -> str:
    if days is None or days > SOON.days:
        return ""
    return "inconclusive" if days else "fail"


def _segments(counts: dict[str, int], most: int) -> list[Segment]:
    """From the bottom up."""
    segments, top = [], float(BASE)
    for category, count in counts.items():
        height = round(max(count / most * (TALLEST - _SHORTEST * len(counts)), 0) + _SHORTEST, 1)
        top = round(top - height, 1)
        segments.append(Segment(category=category, count=count, top=top, height=height))
    return segments


# --- the table ------------------------------------------------------------------------------------------------------


def _row(row: InventoryRow, now: datetime | None) -> CertificateView:
    end = moment(row["not_after"])
    left = None if end is None or now is None else end - now
    subject = row["subject"] if row["names"] else ""
    return CertificateView(
        row=row,
        name=name(row),
        outcome=outcome(row),
        words=words(row["status"]),
        key=key_name(row["key"]),
        ends=(row["not_after"] or "")[:10],
        left="" if left is None else _left(left),
        urgency="" if left is None else _urgency(left),
        again=_again(row),
        fix=next((one["fix"] for one in row["findings"] if one["verdict"] == "fail" and one["fix"]), ""),
        about=" · ".join(filter(None, (row["category"], row["component"], row["namespace"], row["cluster"], subject))),
    )


def _urgency(left: timedelta) -> str:
    return "fail" if left < timedelta() else "inconclusive" if left < SOON else ""


def _left(left: timedelta) -> str:
    days = abs(left).days
    if left < timedelta():
        return f"ended {_span(days)} ago" if days else "has just ended"
    return f"in {_span(days)}" if days else "within a day"


def _span(days: int) -> str:
    if days < 60:
        return counted(days, "day")
    return counted(days // 30, "month") if days < 730 else counted(days // 365, "year")


def _again(row: InventoryRow) -> str:
    renewal = row["renewal"]
    if renewal is None:
        return ""
    if renewal["rotates"] == "never":
        return "nothing renews it by itself"
    return f"renewed by {renewal['by'][:10]}" if renewal["by"] else ""
