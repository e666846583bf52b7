"""A section gives what is there, complains at its place about what should not be, and then gives nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scanner.files.problems import Problems
from scanner.files.yaml_values import load
from scanner.model.section import MOST_ITEMS, MOST_TEXT, Section, header
from scanner.model.selector import Selector


def section(text: str) -> Section:
    return Section(Problems(load(text.encode(), "f.yaml")))


def complaints(of: Section) -> list[str]:
    return [each.text for each in of.problems.found]


@pytest.mark.parametrize(
    ("text", "read", "value"),
    [
        ("a: x", lambda s: s.text("a"), "x"),
        ("a: ' x '", lambda s: s.text("a"), "x"),
        ("{}", lambda s: s.text("a"), ""),
        ("a: two", lambda s: s.choice("a", ("one", "two")), "two"),
        ("a:", lambda s: s.choice("a", ("one", "two")), None),
        ("a: false", lambda s: s.flag("a"), False),
        ("{}", lambda s: s.flag("a"), None),
        ("a: 0", lambda s: s.number("a", 0, 9), 0),
        ("a:", lambda s: s.number("a", 0, 9), None),
        ("a: [x, y]", lambda s: s.texts("a"), ("x", "y")),
        ("a:", lambda s: s.texts("a"), ()),
        ("a: [443, 1-3, 2]", lambda s: s.ports("a"), (443, 1, 2, 3)),
        ("a: [1-65535, 1-65535]", lambda s: len(s.ports("a")), 65535),
        ("a: {k: v, l: ''}", lambda s: s.words("a"), (("k", "v"), ("l", ""))),
        ("a: [{b: x}, {b: y}]", lambda s: [each.text("b") for each in s.each("a")], ["x", "y"]),
        ("a: {b: x}", lambda s: s.section("a").text("b"), "x"),
        ("a: {b: x}", lambda s: s.section("a").place, "f.yaml:1:4"),
        ("a: 1\nb: 2", lambda s: s.names(), ("a", "b")),
        ("ports: [80]", lambda s: s.selector(), Selector(ports=(80,))),
    ],
)
def test_what_is_there(text: str, read: Callable[[Section], object], value: object) -> None:
    of = section(text)
    assert read(of) == value
    assert complaints(of) == []


@pytest.mark.parametrize(
    ("text", "read", "value", "complaint"),
    [
        ("a: [x]", lambda s: s.text("a"), "", "f.yaml:1:4: a: must be text, not ['x']"),
        ("a: ''", lambda s: s.text("a"), "", "f.yaml:1:4: a: must be some text"),
        (f"a: {'x' * (MOST_TEXT + 1)}", lambda s: s.text("a"), "", "f.yaml:1:4: a: is longer than 1000 characters"),
        ("b: x", lambda s: s.text("a", required="why"), "", "f.yaml:1:1: a is missing"),
        ("a: tow", lambda s: s.choice("a", ("one", "two")), None, "f.yaml:1:4: a: 'tow' is not known here"),
        ("a: [one]", lambda s: s.choice("a", ("one", "two")), None, "f.yaml:1:4: a: ['one'] is not known here"),
        ("a: 'true'", lambda s: s.flag("a"), None, "f.yaml:1:4: a: must be true or false, not 'true'"),
        ("a: 10", lambda s: s.number("a", 0, 9), None, "f.yaml:1:4: a: must be from 0 to 9, not 10"),
        ("a: 1.5", lambda s: s.number("a", 0, 9), None, "f.yaml:1:4: a: must be a whole number, not 1.5"),
        ("a: [1]", lambda s: s.texts("a"), (), "f.yaml:1:5: a[0]: must be text, not 1"),
        ("b: 1", lambda s: s.texts("a", required=True), (), "f.yaml:1:1: a is missing or empty"),
        ("a: []", lambda s: s.ports("a", required=True), (), "f.yaml:1:1: a is missing or empty"),
        ("a: [true]", lambda s: s.ports("a"), (), "f.yaml:1:5: a[0]: True is no port"),
        ("a: [70000]", lambda s: s.ports("a"), (), "f.yaml:1:5: a[0]: 70000 is no port"),
        ("a: [1-70000]", lambda s: s.ports("a"), (), "f.yaml:1:5: a[0]: '1-70000' is no port"),
        (
            f"a: [{'1, ' * (MOST_ITEMS + 1)}]",
            lambda s: s.ports("a"),
            (),
            "f.yaml:1:4: a: has 1001 items, more than 1000",
        ),
        (
            f"a: [{'{}, ' * (MOST_ITEMS + 1)}]",
            lambda s: [*s.each("a")],
            [],
            "f.yaml:1:4: a: has 1001 items, more than 1000",
        ),
        ("a: {k: 1}", lambda s: s.words("a"), (), "f.yaml:1:8: a.k: must be text, not 1"),
        ("a: x", lambda s: s.section("a").text("b"), "", "f.yaml:1:4: a: must be a mapping, not 'x'"),
    ],
)
def test_what_is_wrong(text: str, read: Callable[[Section], object], value: object, complaint: str) -> None:
    of = section(text)
    assert read(of) == value
    assert complaints(of)[0] == complaint


def test_fields_that_nobody_knows() -> None:
    of = section("one: 1\nspec: {}\n")
    of.knows(("ones", "two"), {"spec": "not here"})
    assert [(each.text, each.hint) for each in of.problems.found] == [
        ("f.yaml:1:1: one: unknown field 'one'", "did you mean 'ones'?"),
        ("f.yaml:2:1: spec: unknown field 'spec'", "not here"),
    ]


def test_the_header() -> None:
    good = section("apiVersion: adhere/v1\nkind: Thing\n")
    header(good, "Thing")
    assert complaints(good) == []
    bad = section("apiVersion: v1\n")
    header(bad, "Thing")
    assert complaints(bad) == ["f.yaml:1:13: apiVersion: must be adhere/v1, not 'v1'", "f.yaml:1:1: kind is missing"]
