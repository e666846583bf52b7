"""Fields that are declared with their types, on objects with arbitrary contents."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from scanner.kube.kinds import GATEWAY
from scanner.kube.objects import KubeObject
from scanner.kube.view import Flag, Moment, Named, Number, Part, Parts, Present, Text, Texts, Value, View, Words


class Inner(View):
    mode = Text()
    port = Number()
    names = Texts()
    reference = Text("ref", "name")


class Thing(KubeObject):
    first_one = Part(Inner)
    has_first = Present("firstOne")
    inner = Parts(Inner, "spec", "inner")
    by_name = Named(Inner, "spec", "byName")
    on = Flag("spec", "on")
    labelled = Words("spec", "labels")
    at_all = Value("spec", "anything")
    since = Moment("status", "since")


def thing(**fields: object) -> Thing:
    return Thing.of(KubeObject(fields, GATEWAY))


def test_each_field_by_its_type() -> None:
    found = thing(
        firstOne={"mode": "a", "port": 7, "names": ["x", 3], "ref": {"name": "r"}},
        spec={"on": True, "labels": {"a": "b", "c": 1}, "anything": [1], "byName": {"k": {"mode": "m"}}},
        status={"since": "2026-01-02T03:04:05Z"},
    )
    inner = found.first_one
    assert (inner.mode, inner.port, inner.names, inner.reference) == ("a", 7, ("x",), "r")
    assert (found.on, found.labelled, found.at_all, found.has_first) == (True, {"a": "b"}, [1], True)
    assert found.since == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert found.by_name["k"].mode == "m"
    assert found.by_name["k"].steps == ("spec", "byName", "k")


def test_parts_keep_their_indexes() -> None:
    found = thing(spec={"inner": [{"mode": "a"}, "no mapping", {"mode": "b"}]})
    assert [(each.mode, each.steps) for each in found.inner] == [
        ("a", ("spec", "inner", 0)),
        ("b", ("spec", "inner", 2)),
    ]


def test_what_is_missing_is_empty() -> None:
    found = thing()
    assert not found.first_one
    assert not found.has_first
    assert (found.inner, found.by_name, found.on, found.at_all, found.since) == ((), {}, False, None, None)
    assert found.first_one.steps == ("firstOne",)
    assert (found.first_one.mode, found.first_one.port) == ("", None)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.sampled_from(["inner", "mode", "port", "ref"]), each),
    max_leaves=8,
)


@given(_JSON, _JSON)
def test_no_value_can_fail(spec: object, first: object) -> None:
    found = thing(spec=spec, firstOne=first, status=first)
    for each in (found.first_one, *found.inner, *found.by_name.values()):
        assert isinstance(each.mode, str)
        assert each.port is None or type(each.port) is int
        assert all(isinstance(name, str) for name in each.names)
    assert isinstance(found.on, bool)
    assert isinstance(found.labelled, dict)
