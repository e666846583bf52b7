"""A section gives what is there, and an error at the position of each value that should not be there."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import pytest
from pydantic import Field

from scanner.config.file_reader import (
    MOST_ITEMS,
    MOST_TEXT,
    AdhereFile,
    FileSection,
    Name,
    Ports,
    SelectorSection,
    Text,
    Texts,
    parse_file,
)
from scanner.errors import InputError
from scanner.files.yaml_values import load
from scanner.model.scan_policy import Selector


class Inner(FileSection):
    b: Text = Field(description="why")


class File(FileSection):
    HINTS: ClassVar = {"spec": "not here"}

    text: Text = ""
    word: Literal["one", "two"] | None = None
    flag: bool | None = None
    number: Annotated[int, Field(ge=0, le=9)] | None = None
    texts: Texts = ()
    ports: Ports = ()
    labels: dict[str, str] = Field(default={})
    inner: Inner | None = None
    each: tuple[Inner, ...] = Field(default=(), strict=False)
    named: dict[Name, Inner] = Field(default={})
    selector: SelectorSection | None = None
    two_words: bool = False


class Headed(AdhereFile):
    kind: Literal["Thing"] = Field(description="write kind: Thing")


def parsed(text: str) -> File:
    return parse_file(load(text.encode(), "f.yaml"), File, "file")


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("text: x", "text", "x"),
        ("text: ' x '", "text", "x"),
        ("{}", "text", ""),
        ("word: two", "word", "two"),
        ("word:", "word", None),
        ("flag: false", "flag", False),
        ("{}", "flag", None),
        ("number: 0", "number", 0),
        ("number:", "number", None),
        ("texts: [x, y]", "texts", ("x", "y")),
        ("texts:", "texts", ()),
        ("ports: [443, 1-3, 2]", "ports", (443, 1, 2, 3)),
        ("ports: [1-65535, 1-65535]", "ports", tuple(range(1, 65536))),
        ("labels: {k: v, l: ''}", "labels", {"k": "v", "l": ""}),
        ("each: [{b: x}, {b: y}]", "each", (Inner(b="x"), Inner(b="y"))),
        ("inner: {b: x}", "inner", Inner(b="x")),
        ("twoWords: true", "two_words", True),
    ],
)
def test_values(text: str, name: str, value: object) -> None:
    assert getattr(parsed(text), name) == value


def test_only_what_the_file_has_is_given() -> None:
    assert parsed("text: x\nword:\nnumber: 0").given() == {"text": "x", "number": 0}


def test_a_selector() -> None:
    selector = parsed("selector: {ports: [80], labels: {a: b}}").selector
    assert selector is not None
    assert selector.value() == Selector(ports=(80,), labels=(("a", "b"),))


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("text: [x]", "1:7: text: must be text, not ['x']", ""),
        ("text: 1.5", "1:7: text: must be text, not 1.5", "put it in quotes"),
        ("text: ''", "1:7: text: must be some text, not ''", ""),
        ("text: ' '", "1:7: text: must be some text, not ' '", ""),
        (f"text: {'x' * (MOST_TEXT + 1)}", "1:7: text: is longer than 1000 characters", ""),
        ("inner: {}", "1:8: inner: b is missing", "why"),
        ("inner: {b: }", "1:8: inner: b is missing", "why"),
        ("word: tow", "1:7: word: must be 'one' or 'two', not 'tow'", "did you mean 'two'?"),
        ("word: other", "1:7: word: must be 'one' or 'two', not 'other'", ""),
        ("word: [one]", "1:7: word: must be 'one' or 'two', not ['one']", ""),
        ("flag: 'true'", "1:7: flag: must be true or false, not 'true'", ""),
        ("number: 10", "1:9: number: must be at most 9, not 10", ""),
        ("number: 1.5", "1:9: number: must be a whole number, not 1.5", ""),
        ("number: true", "1:9: number: must be a whole number, not True", ""),
        ("texts: x", "1:8: texts: must be a list, not 'x'", ""),
        ("texts: {x: y}", "1:8: texts: must be a list, not {'x': 'y'}", ""),
        ("texts: [1]", "1:9: texts[0]: must be text, not 1", "put it in quotes"),
        ("texts: [' ']", "1:9: texts[0]: must be some text, not ' '", ""),
        ("ports: [true]", "1:9: ports[0]: True is not a port", "a number from 1 to 65535, or a range 9200-9219"),
        ("ports: [70000]", "1:9: ports[0]: 70000 is not a port", ""),
        ("ports: [0]", "1:9: ports[0]: 0 is not a port", ""),
        ("ports: [1-70000]", "1:9: ports[0]: '1-70000' is not a port", ""),
        (f"ports: [{'1, ' * (MOST_ITEMS + 1)}]", "1:8: ports: has more than 1000 items", ""),
        ("labels: {k: 1}", "1:13: labels.k: must be text, not 1", "put it in quotes"),
        ("labels: {k: }", "1:13: labels.k: must be text, not None", ""),
        ("inner: x", "1:8: inner: must be a mapping, not 'x'", ""),
        ("each: [{}]", "1:8: each[0]: b is missing", "why"),
        ("each: [null]", "1:8: each[0]: must be a mapping, not None", ""),
        (
            "named: {A b: {b: x}}",
            "1:9: named['A b']: invalid name 'A b'",
            "use lower case letters, digits, '-' and '.'",
        ),
        ("named: {a: {c: x, b: x}}", "1:13: named.a.c: unknown field 'c'", "use one of: b"),
        ("selector: {}", "1:11: selector: selects nothing in particular", 'for every endpoint write endpoints: ["*"]'),
        ("texs: []", "1:1: texs: unknown field 'texs'", "did you mean 'texts'?"),
        ("texs:", "1:1: texs: unknown field 'texs'", "did you mean 'texts'?"),
        ("spec: {}", "1:1: spec: unknown field 'spec'", "not here"),
        ("two_words: true", "1:1: two_words: unknown field 'two_words'", "did you mean 'twoWords'?"),
        ("- a", "1:1: must be a mapping, not ['a']", ""),
    ],
)
def test_errors(text: str, message: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        parsed(text)
    assert caught.value.message == f"f.yaml:{message}"
    assert caught.value.hint.startswith(hint)
    assert bool(caught.value.hint) >= bool(hint)


def test_the_header() -> None:
    parse_file(load(b"apiVersion: adhere/v1\nkind: Thing\n", "f.yaml"), Headed, "thing")
    with pytest.raises(InputError) as caught:
        parse_file(load(b"apiVersion: v1\n", "f.yaml"), Headed, "thing")
    assert caught.value.message.splitlines() == [
        "f.yaml:1:1: kind is missing (write kind: Thing)",
        "f.yaml:1:13: apiVersion: must be 'adhere/v1', not 'v1'",
    ]
    with pytest.raises(InputError) as caught:
        parse_file(load(b"", "f.yaml"), Headed, "thing")
    assert (caught.value.message, caught.value.hint) == (
        "f.yaml:1:1: no thing in this file",
        "it starts with kind: Thing",
    )
