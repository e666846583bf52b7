"""The times at which fields were last written, from ``managedFields``."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.kube.kinds import API_SERVER
from scanner.kube.meta import are_disjoint, changed, is_empty, selects
from scanner.kube.objects import Fields, KubeObject


def entry(time: object, **more: object) -> dict[str, object]:
    return {"time": time, "fieldsV1": {"f:spec": {"f:tlsSecurityProfile": {}}}, **more}


def at(*entries: dict[str, object]) -> datetime | None:
    metadata = {"generation": 2, "managedFields": list(entries)}
    return changed(KubeObject({"metadata": metadata}, API_SERVER), ("spec", "tlsSecurityProfile"))


def test_an_entry_without_a_valid_time_is_left_out() -> None:
    first, last = (datetime(2026, 11, day, tzinfo=UTC) for day in (1, 2))
    assert at(entry("never"), entry("2026-11-02T00:00:00Z"), entry(None), entry("2026-11-01T00:00:00Z")) == last
    assert at(entry("2026-11-01T00:00:00Z"), entry("2026-11-02T00:00:00Z", subresource="status")) == first
    assert at(entry("never"), entry(None)) is None


def test_where_no_field_is_meant_nothing_says_when_it_was_written() -> None:
    managed = [entry("2026-11-01T00:00:00Z")]
    assert changed(KubeObject({"metadata": {"generation": 2, "managedFields": managed}}, API_SERVER), ()) is None


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


EXCLUDING: list[tuple[dict[str, Any], dict[str, Any], bool]] = [
    ({}, {}, False),
    ({}, {"matchLabels": {"tier": "edge"}}, False),
    ({"matchLabels": {"tier": "edge"}}, {"matchLabels": {"tier": "far"}}, True),
    ({"matchLabels": {"tier": "edge"}}, {"matchLabels": {"infra": ""}}, False),
    ({"matchLabels": {"tier": "edge"}}, term("tier", "NotIn", "edge"), True),
    (term("tier", "In", "edge", "far"), term("tier", "NotIn", "edge"), False),
    (term("tier", "In", "edge", "far"), term("tier", "In", "far"), False),
    (term("tier", "Exists"), term("tier", "DoesNotExist"), True),
    (term("tier", "In", "edge"), term("tier", "DoesNotExist"), True),
    (term("tier", "NotIn", "edge"), term("tier", "DoesNotExist"), False),
]


@pytest.mark.parametrize(("one", "other", "holds"), EXCLUDING)
def test_excludes(one: dict[str, Any], other: dict[str, Any], *, holds: bool) -> None:
    assert are_disjoint(Fields(one), Fields(other)) is holds
    assert are_disjoint(Fields(other), Fields(one)) is holds


TERMS = st.builds(
    lambda key, operator, values: {"key": key, "operator": operator, "values": values},
    st.sampled_from("ab"),
    st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]),
    st.lists(st.sampled_from("xyz"), max_size=2),
)
SELECTORS = st.builds(
    lambda labels, terms: {"matchLabels": labels, "matchExpressions": terms},
    st.dictionaries(st.sampled_from("ab"), st.sampled_from("xyz"), max_size=2),
    st.lists(TERMS, max_size=2),
)


@given(SELECTORS, SELECTORS, st.dictionaries(st.sampled_from("ab"), st.sampled_from("xyz")))
def test_nothing_is_selected_by_both_that_exclude_each_other(
    one: dict[str, Any], other: dict[str, Any], labels: dict[str, str]
) -> None:
    if are_disjoint(Fields(one), Fields(other)):
        assert not (selects(Fields(one), labels) and selects(Fields(other), labels))
