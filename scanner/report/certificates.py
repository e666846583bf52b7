"""Words and order of a report's certificates, and the section of the HTML page with its chart and table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from heapq import nsmallest
from typing import Final

from msgspec import Struct

from scanner.model.finding import outcome as outcome_of
from scanner.model.inventory import (
    CATEGORIES,
    HORIZONS,
    CertificateReport,
    EndsRow,
    InventoryRow,
    InventorySummary,
    KeyCountRow,
    NamesRow,
    key_name,
    moment,
)
from scanner.model.report import NEVER_FAILS, FindingRow
from scanner.report import headline
from scanner.report.page import counted

STATUSES: Final[dict[str, tuple[str, str]]] = {
    "violation": ("violates", "fail"),
    "needs-forced-rotation": ("needs forced rotation", "fail"),
    "not-tested": ("inconclusive", "inconclusive"),
    "pending-rotation": ("pending rotation", "deviates"),
    "not-implemented": ("not implemented", "deviates"),
    "known": ("known", "deviates"),
    "ok": ("key complies", "pass"),
    "informational": ("stronger than required", "pass"),
    "not-required": ("no key requirement", "not_applicable"),
    "superseded": ("superseded", "not_applicable"),
    "unattributed": ("origin unknown", "not_applicable"),
    "not-governed": ("other kind", "not_applicable"),
}
"""Status -> its words and its colour, one of ``OUTCOMES``; in the order of the sums."""

SOON: Final = timedelta(days=30)
"""Time before expiry from which a certificate is listed."""
_NEVER: Final = float("inf")


def words(status: str) -> str:
    """Return the words of a status."""
    return STATUSES.get(status, (status, ""))[0]


def statuses(summary: InventorySummary) -> list[tuple[str, int]]:
    """Count the certificates by status, in the order of ``STATUSES``."""
    order = {status: place for place, status in enumerate(STATUSES)}
    return sorted(summary["statuses"].items(), key=lambda one: (order.get(one[0], len(order)), one[0]))


def names_line(row: NamesRow, most: int = 10) -> str:
    """``2 of 57 governed names judged, 1 not judged, 54 never seen; NOT COMPLETE``, and the first ``most`` names."""
    missing = {"not judged": row["unknown"], "never seen": row["never_seen"]}
    total = len(row["judged"]) + sum(map(len, missing.values()))
    parts = [f"{len(row['judged'])} of {total} governed names judged"]
    parts += [f"{len(names)} {what}" for what, names in missing.items() if names]
    if row["elsewhere"]:
        parts.append(f"{len(row['elsewhere'])} not in this cluster")
    counts = ", ".join(parts)
    if row["complete"]:
        return f"{counts}; complete"
    names = [*row["unknown"], *row["never_seen"]] if most else []
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{counts}; NOT COMPLETE: {row['why']}" + (f" ({', '.join(names[:most])}{more})" if names else "")


def outcome(row: InventoryRow) -> str:
    """Return the outcome of a row, from its verdict and status."""
    if row["status"] == "unattributed":
        return "not_applicable"  # no configuration to judge it by
    return outcome_of(row["verdict"], row["status"])


def name(row: InventoryRow) -> str:
    """Return its well-known name, else its subject, else its digest."""
    return " or ".join(row["names"]) or row["subject"] or f"SHA-256 {row['sha256'][:16]}"


def importance(row: InventoryRow) -> tuple[int, float, str]:
    """Sort key: violations, inconclusive, deviations, the rest; of each those that expire first."""
    if row["verdict"] == "fail":
        rank = 2 if row["status"] in NEVER_FAILS else 0
    else:
        rank = 1 if row["status"] == "not-tested" else 3
    return rank, expiry(row), row["sha256"]


def expiry(row: InventoryRow) -> float:
    """Sort key: seconds since 1970; unreadable dates last."""
    end = moment(row["not_after"])
    return _NEVER if end is None else end.timestamp()


def first(
    rows: Iterable[InventoryRow], most: int, served: Mapping[str, FindingRow] | None = None
) -> list[InventoryRow]:
    """Return the ``most`` most important rows, without holding the others in memory. ``served``: by SHA-256 of a leaf,
    the worst open finding of a listener that serves it; a failure counts like one of its key."""
    known = served or {}
    return nsmallest(most, rows, key=lambda row: _place(row, known.get(row["sha256"])))


def _place(row: InventoryRow, served: FindingRow | None) -> tuple[int, int, float, str]:
    rank, end, digest = importance(row)
    failed = [one for one in (*row["findings"], *([served] if served else [])) if one["verdict"] == "fail"]
    if served and served["verdict"] == "fail":
        rank = min(rank, 2 if served["status"] in NEVER_FAILS else 0)
    return rank, min(map(headline.rank, failed), default=0), end, digest


def expiring(rows: Iterable[InventoryRow], now: datetime | None, most: int) -> list[InventoryRow]:
    """Return the first ``most`` certificates that have expired or expire within ``SOON``."""
    if now is None:
        return []
    limit = (now + SOON).timestamp()
    return nsmallest(most, (row for row in rows if expiry(row) < limit), key=lambda row: (expiry(row), row["sha256"]))


def step_name(step: EndsRow) -> str:
    """Return the label of a step on the axis: ``expired``, ``7 days``, ``1 year``, ``later``."""
    if step["from_days"] is None:
        return "expired"
    days = step["to_days"]
    if days is None:
        return "later"
    for size, unit in ((365, "year"), (30, "month"), (7, "week")):
        if days % size == 0:
            count = days // size
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return f"{days} days"


def expiry_step(end: datetime, now: datetime) -> str:
    """Return the label of the step in which a certificate expires."""
    days = next((days for days in HORIZONS if end - now < timedelta(days=days)), None)
    return step_name(EndsRow(from_days=None if days == 0 else 0, to_days=days, categories={}))


def used_categories(summary: InventorySummary) -> list[str]:
    """Return the categories that occur, in their order."""
    used = {one["category"] for one in summary["keys"]}
    return [each for each in CATEGORIES if each in used]


def by_key(keys: Iterable[KeyCountRow]) -> dict[str, dict[str, int]]:
    """Count by key and category, the most frequent key first."""
    found: dict[str, dict[str, int]] = {}
    for one in keys:
        found.setdefault(one["key"], {})[one["category"]] = one["count"]
    return dict(sorted(found.items(), key=lambda one: (-sum(one[1].values()), one[0])))


MOST_CERTIFICATES: Final = 250
"""Lines of the table; the sums above it count all certificates."""

BASE: Final = 138
"""Bottom of the chart's bars, in pixels from its top."""
TALLEST: Final = 112
_SHORTEST: Final = 3
"""Pixels of a bar for one certificate of many thousands, so that it is visible."""
_UNITS: Final = {"week": "w", "weeks": "w", "month": "m", "months": "m", "year": "y", "years": "y", "days": "d"}


class Segment(Struct, frozen=True, kw_only=True):
    """The part of a bar for one category."""

    category: str
    count: int
    top: float
    height: float


class Bar(Struct, frozen=True, kw_only=True):
    """Certificates that expire in one step of time."""

    name: str
    """``expired``, ``within 3 months``."""
    step: str
    """``expired``, ``3 months``: the filter of the page."""
    short: str
    """``3 m``: a telephone has room for ten of them."""
    total: int
    categories: dict[str, int]
    segments: list[Segment]
    left: float
    """Left edge, in percent of the chart's width."""
    urgency: str
    """``fail`` for expired ones, ``inconclusive`` for those that expire within a month, else empty."""


class CertificateView(Struct, frozen=True, kw_only=True):
    """One line of the table."""

    row: InventoryRow
    name: str
    outcome: str
    words: str
    key: str
    expires: str
    """The day."""
    left: str
    """``in 17 days``, ``expired 2 days ago``."""
    urgency: str
    """Like that of ``Bar``."""
    renewal: str
    """``will be renewed before 2026-12-01``, or empty."""
    step: str
    """Step of the chart, or empty."""
    worst: FindingRow | None
    """The worst open finding: of its key, or of a listener that serves it."""
    findings: list[FindingRow]
    """All findings."""
    fix: str
    """The fix of a violation, or empty."""
    about: str
    """Category, component, namespace, cluster; and the subject of a certificate with a well-known name."""


class CertificatesView(Struct, frozen=True, kw_only=True):
    """The section of the page."""

    summary: InventorySummary
    statuses: list[tuple[str, int, str]]
    """Words, count, outcome."""
    categories: list[str]
    keys: dict[str, dict[str, int]]
    bars: list[Bar]
    described: str
    """Text alternative of the chart."""
    names: list[str]
    """Coverage of the names that the PKI configuration governs, a line for each cluster."""
    rows: list[CertificateView]
    shown: frozenset[object]
    """Keys (``headline.same``) of the findings in ``rows``."""


def certificates_view(
    found: CertificateReport, now: str, served: Mapping[str, FindingRow] | None = None
) -> CertificatesView | None:
    """Return the section, or None without certificates. ``now``: the end of the scan, RFC 3339. ``served``: for a leaf,
    by SHA-256, the worst open finding of a listener that serves it."""
    summary = found.summary
    if not summary["certificates"] and not summary["names"]:
        return None
    served = served or {}
    worst = first(found.rows(), MOST_CERTIFICATES, served)
    bars = _bars(summary["ends"])
    return CertificatesView(
        summary=summary,
        statuses=[
            (words(each), count, STATUSES.get(each, ("", "not_applicable"))[1]) for each, count in statuses(summary)
        ],
        categories=used_categories(summary),
        keys=by_key(summary["keys"]),
        bars=bars,
        described=", ".join(f"{bar.name} {bar.total}" for bar in bars if bar.total),
        names=[
            f"{row['cluster'] + ': ' if row['cluster'] else ''}{names_line(row, 100)}" for row in summary["names"][:20]
        ],
        rows=[_row(row, moment(now), served.get(row["sha256"])) for row in worst],
        shown=frozenset(headline.same(one) for row in worst for one in row["findings"]),
    )


# --- the chart ------------------------------------------------------------------------------------------------------


def _bars(steps: list[EndsRow]) -> list[Bar]:
    most = max((sum(step["categories"].values()) for step in steps), default=0) or 1
    width = 100 / len(steps)
    bars = []
    for place, step in enumerate(steps):
        name = step_name(step)
        number, _, unit = name.partition(" ")
        bars.append(
            Bar(
                name=f"within {name}" if unit else name,
                step=name,
                short=f"{number} {_UNITS[unit]}" if unit else name,
                total=sum(step["categories"].values()),
                categories=step["categories"],
                segments=_segments(step["categories"], most),
                left=round(place * width, 3),
                urgency=_step_urgency(step["to_days"]) if step["categories"] else "",
            )
        )
    return bars


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


def _row(row: InventoryRow, now: datetime | None, served: FindingRow | None) -> CertificateView:
    end = moment(row["not_after"])
    left = None if end is None or now is None else end - now
    subject = row["subject"] if row["names"] else ""
    findings = [*row["findings"], *([served] if served else [])]
    worst = min(filter(headline.open_question, findings), key=headline.badness, default=None)
    colour, words_ = outcome(row), words(row["status"])
    if served and worst is served and colour not in ("fail", "deviates"):
        colour = outcome_of(served["verdict"], served["status"])
        words_ = f"{'fails' if colour == 'fail' else headline.WORDS[colour]} on its listener"
    return CertificateView(
        row=row,
        name=name(row),
        outcome=colour,
        words=words_,
        step=expiry_step(end, now) if end and now else "",
        worst=worst,
        findings=findings,
        key=key_name(row["key"]),
        expires=(row["not_after"] or "")[:10],
        left="" if left is None else time_left(left),
        urgency="" if left is None else "fail" if left < timedelta() else "inconclusive" if left < SOON else "",
        renewal=_renewal(row),
        fix=(worst and worst["fix"]) or "",
        about=" · ".join(filter(None, (row["category"], row["component"], row["namespace"], row["cluster"], subject))),
    )


def time_left(left: timedelta) -> str:
    """``in 17 days``, ``expired 2 days ago``."""
    days = abs(left).days
    if left < timedelta():
        return f"expired {_span(days)} ago" if days else "expired today"
    return f"in {_span(days)}" if days else "within a day"


def _span(days: int) -> str:
    if days < 60:
        return counted(days, "day")
    return counted(days // 30, "month") if days < 730 else counted(days // 365, "year")


def _renewal(row: InventoryRow) -> str:
    renewal = row["renewal"]
    if renewal is None:
        return ""
    if renewal["rotates"] == "never":
        return "not renewed automatically"
    return f"will be renewed before {renewal['by'][:10]}" if renewal["by"] else ""
