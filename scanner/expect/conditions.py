"""Conditions of objects, which is what operators report of their own work; and when a field was last changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from scanner.kube.objects import Fields, moment

_MOST = 1000
"""Entries of ``managedFields`` that are looked at; a real object has a handful."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One condition of one object."""

    type: str
    holds: bool
    """Whether its status is ``True``; ``Unknown`` does not hold."""
    status: str
    since: datetime | None
    message: str
    reason: str = ""


def condition(holder: Fields, type_: str, *steps: str) -> Condition | None:
    """The condition of that type in ``status.conditions`` (or at ``steps``), or None."""
    for each in holder.each(*(steps or ("status", "conditions"))):
        if each.text("type") == type_:
            return Condition(
                type=type_,
                holds=each.text("status") == "True",
                status=each.text("status"),
                since=moment(each.text("lastTransitionTime")),
                message=each.text("message")[:300],
                reason=each.text("reason")[:100],
            )
    return None


def latest(times: Iterable[datetime | None]) -> datetime | None:
    """The latest time, or None where one of them is not known."""
    every = list(times)
    known = [each for each in every if each is not None]
    return max(known) if known and len(known) == len(every) else None


def changed(holder: Fields, *paths: tuple[str, ...]) -> datetime | None:
    """The time at which one of the fields at ``paths`` was last written, by who manages them (``managedFields``); None
    where nothing says it. Too late where the same manager has since written something else."""
    if holder.number("metadata", "generation") == 1:
        return moment(holder.text("metadata", "creationTimestamp"))
    entries = islice(holder.each("metadata", "managedFields"), _MOST)
    owned = [tuple(f"f:{step}" for step in path) for path in paths if path]
    times = (
        moment(each.text("time"))
        for each in entries
        if not each.text("subresource") and any(each.has("fieldsV1", *steps) for steps in owned)
    )
    return max((each for each in times if each is not None), default=None)
