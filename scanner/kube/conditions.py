"""Conditions of objects, which is what operators report of their own work; and when a field was last changed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from scanner.kube.objects import Fields, KubeObject
from scanner.kube.view import Moment, Number, Parts, Text, View


class Condition(View):
    """One condition (meta/v1). Its texts are cut, for anybody may have written them."""

    type = Text()
    status = Text()
    observed_generation = Number()
    since = Moment("lastTransitionTime")

    @property
    def reason(self) -> str:
        """The reason in one word."""
        return self.text("reason")[:100]

    @property
    def message(self) -> str:
        """The reason for people."""
        return self.text("message")[:300]

    @property
    def holds(self) -> bool:
        """Whether its status is ``True``; ``Unknown`` does not hold."""
        return self.status == "True"

    def is_current(self, holder: KubeObject) -> bool:
        """Whether it was not set for an older generation of ``holder`` (meta/v1 ``observedGeneration``)."""
        seen, generation = self.observed_generation, holder.generation
        return seen is None or generation is None or seen >= generation


def conditions(holder: Fields, *steps: str) -> tuple[Condition, ...]:
    """Those in ``status.conditions``, or at ``steps``."""
    return Parts(Condition, *(steps or ("status", "conditions"))).read(holder)


def condition(holder: Fields, type_: str, *steps: str) -> Condition | None:
    """The condition of that type in ``status.conditions`` (or at ``steps``), or None."""
    return of_type(conditions(holder, *steps), type_)


def of_type(every: Iterable[Condition], type_: str) -> Condition | None:
    """The first condition of a type, or None."""
    return next((each for each in every if each.type == type_), None)


def latest(times: Iterable[datetime | None]) -> datetime | None:
    """The latest time, or None where one of them is not known."""
    every = list(times)
    known = [each for each in every if each is not None]
    return max(known) if known and len(known) == len(every) else None


def changed(holder: KubeObject, *paths: tuple[str, ...]) -> datetime | None:
    """The time at which one of the fields at ``paths`` was last written, by who manages them (``managedFields``); None
    where nothing says it. Too late where the same manager has since written something else."""
    if holder.generation == 1:
        return holder.created
    times = (
        each.time
        for each in holder.managed_fields
        if not each.subresource and any(each.owns(*path) for path in paths if path)
    )
    return max((each for each in times if each is not None), default=None)
