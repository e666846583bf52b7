"""Parts of objects of all kinds (meta/v1): conditions, label selectors, and the times at which fields were written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Generic, TypeVar

from scanner.kube.objects import Fields, KubeObject
from scanner.kube.view import Moment, Number, Parts, Text, Texts, View, Words


class Condition(View):
    """One condition (meta/v1). Its texts are truncated, because any client may have written them."""

    type = Text()
    status = Text()
    observed_generation = Number()
    since = Moment("lastTransitionTime")

    @property
    def reason(self) -> str:
        """The reason as one word."""
        return self.text("reason")[:100]

    @property
    def message(self) -> str:
        """The reason for people."""
        return self.text("message")[:300]

    @property
    def holds(self) -> bool:
        """True if its status is ``True``; ``Unknown`` does not count."""
        return self.status == "True"

    def is_current(self, holder: KubeObject) -> bool:
        """True unless it was set for an older generation of ``holder`` (meta/v1 ``observedGeneration``)."""
        seen, generation = self.observed_generation, holder.generation
        return seen is None or generation is None or seen >= generation


def conditions(holder: Fields, *steps: str) -> tuple[Condition, ...]:
    """Conditions in ``status.conditions``, or at ``steps``."""
    return Parts(Condition, *(steps or ("status", "conditions"))).read(holder)


def condition(holder: Fields, type_: str, *steps: str) -> Condition | None:
    """The condition of that type in ``status.conditions`` (or at ``steps``), or None."""
    return of_type(conditions(holder, *steps), type_)


def of_type(every: Iterable[Condition], type_: str) -> Condition | None:
    """The first condition of a type, or None."""
    return next((each for each in every if each.type == type_), None)


def changed(holder: KubeObject, *paths: tuple[str, ...]) -> datetime | None:
    """The time at which one of the fields at ``paths`` was last written, from ``managedFields``; None if unknown. It is
    too late if the same manager has since written another field."""
    if holder.generation == 1:
        return holder.created
    times = (
        each.time
        for each in holder.managed_fields
        if not each.subresource and any(each.owns(*path) for path in paths if path)
    )
    return max((each for each in times if each is not None), default=None)


_OPERATORS: Mapping[str, Callable[[str | None, tuple[str, ...]], bool]] = {
    "In": lambda value, values: value in values,
    "NotIn": lambda value, values: value not in values,
    "Exists": lambda value, _: value is not None,
    "DoesNotExist": lambda value, _: value is None,
}


class Requirement(View):
    """One of ``matchExpressions``."""

    key = Text()
    operator = Text()
    values = Texts()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """True if labels meet it; an operator that the API does not have selects nothing."""
        operator = _OPERATORS.get(self.operator)
        return operator is not None and operator(labels.get(self.key), self.values)


class LabelSelector(View):
    match_labels = Words()
    match_expressions = Parts(Requirement)


def is_empty(selector: Fields) -> bool:
    """True if it has no requirement. The reader of the object defines whether that selects everything or nothing."""
    return not selector.fields("matchLabels").raw and not selector.at("matchExpressions")


def selects(selector: Fields, labels: Mapping[str, str]) -> bool:
    """True if labels meet every requirement; an unknown operator is never met."""
    required = selector.fields("matchLabels").raw
    if not all(labels.get(key) == value for key, value in required.items()):
        return False
    return all(each.holds(labels) for each in LabelSelector.match_expressions.read(selector))


def are_disjoint(one: Fields, other: Fields) -> bool:
    """True if no labels match both, because they require different values of one label."""
    first, second = _requirements(one), _requirements(other)
    return any(not _compatible(first[key], second[key]) for key in first.keys() & second.keys())


def _requirements(selector: Fields) -> Mapping[str, list[tuple[str, frozenset[str]]]]:
    """Requirements on each label: operator and values."""
    found: dict[str, list[tuple[str, frozenset[str]]]] = {}
    for key, value in selector.fields("matchLabels").raw.items():
        found.setdefault(key, []).append(("In", frozenset({str(value)})))
    for term in LabelSelector.match_expressions.read(selector):
        found.setdefault(term.key, []).append((term.operator, frozenset(term.values)))
    return found


def _compatible(one: list[tuple[str, frozenset[str]]], other: list[tuple[str, frozenset[str]]]) -> bool:
    """True if some value of a label, or its absence, meets all of these."""
    allowed = [values for operator, values in (*one, *other) if operator == "In"]
    operators = {operator for operator, _ in (*one, *other)}
    if "DoesNotExist" in operators and (allowed or "Exists" in operators):
        return False
    if not allowed:
        return True
    excluded = frozenset().union(*(values for operator, values in (*one, *other) if operator == "NotIn"))
    return bool(frozenset.intersection(*allowed) - excluded)


Item = TypeVar("Item")


class LabelIndex(Generic[Item]):
    """Items indexed by namespace and label, so that a selector does not look at every item; built at the first
    lookup."""

    def __init__(self, items: Iterable[Item], where: Callable[[Item], tuple[str | None, Mapping[str, str]]]) -> None:
        self._items = items
        self._where = where
        self._by: dict[tuple[str | None, str, str], list[Item]] | None = None
        self._in: dict[str | None, list[Item]] = {None: []}

    def select(self, namespace: str | None, selector: LabelSelector) -> list[Item]:
        """Items that ``selector`` selects in ``namespace``, or in all of them. An empty selector selects all."""
        by = self._built()
        lists = [by.get((namespace, key, value), []) for key, value in selector.match_labels.items()]
        shortest = min(lists, key=len) if lists else self._in.get(namespace, [])
        return [each for each in shortest if selects(selector, self._where(each)[1])]

    def _built(self) -> dict[tuple[str | None, str, str], list[Item]]:
        if self._by is None:
            self._by = {}
            for item in self._items:
                namespace, labels = self._where(item)
                for place in {namespace, None}:
                    self._in.setdefault(place, []).append(item)
                    for key, value in labels.items():
                        self._by.setdefault((place, key, value), []).append(item)
        return self._by
