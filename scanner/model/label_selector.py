"""A LabelSelector of an object (meta/v1): which labels it selects."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from scanner.model.objects import Fields

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
