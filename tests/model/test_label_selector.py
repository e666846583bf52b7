"""LabelSelectors of objects."""

from __future__ import annotations

from typing import Any

import pytest

from scanner.model.label_selector import is_empty, selects
from scanner.model.objects import Fields

LABELS = {"tier": "edge", "infra": ""}


def term(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


CASES: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"matchLabels": {"tier": "edge"}}, True),
    ({"matchLabels": {"tier": "far"}}, False),
    ({"matchLabels": {"infra": ""}}, True),
    ({"matchLabels": {"tier": 7}}, False),
    (term("tier", "In", "edge", "far"), True),
    (term("tier", "In", "far"), False),
    (term("tier", "NotIn", "far"), True),
    (term("gone", "NotIn", "far"), True),
    (term("infra", "Exists"), True),
    (term("gone", "Exists"), False),
    (term("gone", "DoesNotExist"), True),
    (term("tier", "Like", "edge"), False),
    ({"matchLabels": {"tier": "edge"}, **term("infra", "DoesNotExist")}, False),
]


@pytest.mark.parametrize(("selector", "holds"), CASES)
def test_selects(selector: dict[str, Any], *, holds: bool) -> None:
    assert selects(Fields(selector), LABELS) is holds


@pytest.mark.parametrize(
    ("selector", "empty"),
    [({}, True), ({"matchLabels": {}, "matchExpressions": []}, True), ({"matchLabels": {"a": "b"}}, False)],
)
def test_is_empty(selector: dict[str, Any], *, empty: bool) -> None:
    assert is_empty(Fields(selector)) is empty
