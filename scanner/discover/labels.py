"""Label selectors over many objects: an index instead of a look at every object for every selector."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from scanner.kube.objects import Fields

Item = TypeVar("Item")


class Labelled(Generic[Item]):
    """Items by namespace and label; built when it is first asked."""

    def __init__(self, items: Iterable[Item], where: Callable[[Item], tuple[str, Mapping[str, str]]]) -> None:
        self._items = items
        self._where = where
        self._by: dict[tuple[str | None, str, str], list[Item]] | None = None
        self._in: dict[str | None, list[Item]] = {None: []}

    def select(self, namespace: str | None, selector: Fields) -> list[Item]:
        """What ``selector`` (meta/v1 LabelSelector) selects in ``namespace``, or in all of them. Empty selects all."""
        by = self._built()
        wanted = selector.words("matchLabels")
        lists = [by.get((namespace, key, value), []) for key, value in wanted.items()]
        shortest = min(lists, key=len) if lists else self._in.get(namespace, [])
        terms = tuple(selector.each("matchExpressions"))
        return [each for each in shortest if _holds(self._where(each)[1], wanted, terms)]

    def _built(self) -> dict[tuple[str | None, str, str], list[Item]]:
        if self._by is None:
            self._by = {}
            for item in self._items:
                namespace, labels = self._where(item)
                for place in (namespace, None):
                    self._in.setdefault(place, []).append(item)
                    for key, value in labels.items():
                        self._by.setdefault((place, key, value), []).append(item)
        return self._by


def _holds(labels: Mapping[str, str], wanted: Mapping[str, str], terms: Iterable[Fields]) -> bool:
    return all(labels.get(key) == value for key, value in wanted.items()) and all(_term(labels, each) for each in terms)


def _term(labels: Mapping[str, str], term: Fields) -> bool:
    """One of ``matchExpressions``; an operator that we do not know selects nothing."""
    value, operator = labels.get(term.text("key")), term.text("operator")
    if operator == "In":
        return value is not None and value in term.texts("values")
    if operator == "NotIn":
        return value is None or value not in term.texts("values")
    return (operator == "Exists" and value is not None) or (operator == "DoesNotExist" and value is None)
