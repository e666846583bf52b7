"""The certificates of a report as people read them: words for statuses, and which come first."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from heapq import nsmallest
from typing import Final

from scanner.model.finding import outcome as outcome_of
from scanner.model.inventory import CATEGORIES, EndsRow, InventoryRow, InventorySummary, KeyCountRow, NamesRow, moment
from scanner.model.report import NEVER_FAILS

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
