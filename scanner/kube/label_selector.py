"""A LabelSelector of an object (meta/v1): which labels it selects."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from scanner.kube.objects import Fields

_OPERATORS: Mapping[str, Callable[[str | None, tuple[str, ...]], bool]] = {
    "In": lambda value, values: value in values,
    "NotIn": lambda value, values: value not in values,
    "Exists": lambda value, _: value is not None,
    "DoesNotExist": lambda value, _: value is None,
}


def is_empty(selector: Fields) -> bool:
    """Whether it requires nothing. What that selects, everything or nothing, is up to the reader of the object."""
    return not selector.fields("matchLabels").raw and not selector.at("matchExpressions")


def selects(selector: Fields, labels: Mapping[str, str]) -> bool:
    """Whether all that it requires holds; a requirement that nobody understands does not."""
    wanted = selector.fields("matchLabels").raw
    if not all(labels.get(key) == value for key, value in wanted.items()):
        return False
    return all(_holds(term, labels) for term in selector.each("matchExpressions"))


def _holds(term: Fields, labels: Mapping[str, str]) -> bool:
    operator = _OPERATORS.get(term.text("operator"))
    return operator is not None and operator(labels.get(term.text("key")), term.texts("values"))


def excludes(one: Fields, other: Fields) -> bool:
    """Whether it is sure that no labels are selected by both: they ask for different values of one label."""
    wishes, others = _wishes(one), _wishes(other)
    return any(not _together(wishes[key], others[key]) for key in wishes.keys() & others.keys())


def _wishes(selector: Fields) -> Mapping[str, list[tuple[str, frozenset[str]]]]:
    """For each label, what is required of it: operator and values."""
    found: dict[str, list[tuple[str, frozenset[str]]]] = {}
    for key, value in selector.fields("matchLabels").raw.items():
        found.setdefault(key, []).append(("In", frozenset({str(value)})))
    for term in selector.each("matchExpressions"):
        found.setdefault(term.text("key"), []).append((term.text("operator"), frozenset(term.texts("values"))))
    return found


def _together(one: list[tuple[str, frozenset[str]]], other: list[tuple[str, frozenset[str]]]) -> bool:
    """Whether a label, or its absence, may meet all of these."""
    wanted = [values for operator, values in (*one, *other) if operator == "In"]
    operators = {operator for operator, _ in (*one, *other)}
    if "DoesNotExist" in operators and (wanted or "Exists" in operators):
        return False
    if not wanted:
        return True
    unwanted = frozenset().union(*(values for operator, values in (*one, *other) if operator == "NotIn"))
    return bool(frozenset.intersection(*wanted) - unwanted)
