"""Conditions of objects: what operators report of their own work."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from scanner.kube.objects import Fields, moment


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
