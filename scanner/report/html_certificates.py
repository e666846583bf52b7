"""What the HTML page shows of certificates: the chart of when they end, the table of keys, and the ones that matter."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from scanner.model.inventory import CertificateReport, InventoryRow, InventorySummary, key_name, moment
from scanner.report import certificates, headline
from scanner.report.wording import counted

MOST_CERTIFICATES: Final = 250
"""Lines of the table; the sums above it count them all."""

BASE: Final = 138
"""Where the bars of the chart stand, in pixels from its top."""
TALLEST: Final = 112
_SHORTEST: Final = 3
"""Pixels of a bar that stands for one of many thousands: it is still there."""
_SHORT: Final = {"week": "w", "weeks": "w", "month": "m", "months": "m", "year": "y", "years": "y", "days": "d"}


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


def view(found: CertificateReport, now: str) -> CertificatesView | None:
    """The section; None where there is no certificate. ``now`` is the end of the scan, RFC 3339."""
    told = found.summary
    if not told["certificates"] and not told["names"]:
        return None
    first = certificates.first(found.rows(), MOST_CERTIFICATES)
    bars = _bars(told)
    return CertificatesView(
        summary=told,
        statuses=[(certificates.words(each), count, _outcome(each)) for each, count in certificates.statuses(told)],
        categories=certificates.used_categories(told),
        keys=certificates.by_key(told["keys"]),
        bars=bars,
        described=", ".join(f"{bar.name} {bar.total}" for bar in bars if bar.total),
        names=[
            f"{row['cluster'] + ': ' if row['cluster'] else ''}{certificates.names_line(row, 100)}"
            for row in told["names"][:20]
        ],
        rows=[_row(row, moment(now)) for row in first],
        told=frozenset(headline.same(one) for row in first for one in row["findings"]),
    )


def _outcome(status: str) -> str:
    return certificates.STATUSES.get(status, ("", "not_applicable"))[1]


# --- the chart ------------------------------------------------------------------------------------------------------


def _bars(told: InventorySummary) -> list[Bar]:
    steps = told["ends"]
    most = max((sum(step["categories"].values()) for step in steps), default=0) or 1
    width = 100 / len(steps)
    return [
        Bar(
            name=_full(certificates.step_name(step)),
            short=_short(certificates.step_name(step)),
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
    return f"{number} {_SHORT[unit]}" if unit else name


def _step_urgency(days: int | None) -> str:
    if days is None or days > certificates.SOON.days:
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
        name=certificates.name(row),
        outcome=certificates.outcome(row),
        words=certificates.words(row["status"]),
        key=key_name(row["key"]),
        ends=(row["not_after"] or "")[:10],
        left="" if left is None else _left(left),
        urgency="" if left is None else _urgency(left),
        again=_again(row),
        fix=next((one["fix"] for one in row["findings"] if one["verdict"] == "fail" and one["fix"]), ""),
        about=" · ".join(filter(None, (row["category"], row["component"], row["namespace"], row["cluster"], subject))),
    )


def _urgency(left: timedelta) -> str:
    return "fail" if left < timedelta() else "inconclusive" if left < certificates.SOON else ""


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
