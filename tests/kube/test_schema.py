"""The shipped schemas, and the differences of a value from a schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from scanner.kube.kinds import API_SERVER, GATEWAY, HTTP_PROXY, NODE, SERVICE
from scanner.kube.schema import (
    ANY,
    MAX_EXACT,
    Difference,
    MissingField,
    NumberOrText,
    TextMap,
    TextShape,
    UnknownField,
    WrongCount,
    WrongType,
    WrongValue,
    definition,
    differences,
    parse_schema,
)

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
        "mode": {"type": "string", "enum": ["On", "Off"]},
        "port": {"type": "integer", "minimum": 1, "maximum": 100, "exclusiveMaximum": True},
        "target": {"x-kubernetes-int-or-string": True},
        "names": {"type": "array", "maxItems": 2, "items": {"type": "string"}},
        "labels": {"type": "object", "maxProperties": 1, "additionalProperties": {"type": "string", "maxLength": 3}},
        "other": {},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}


def found(value: object) -> list[Difference]:
    return list(differences(value, parse_schema(SCHEMA, lambda _, schema: schema)))


@pytest.mark.parametrize(
    "value",
    [
        {"name": "a"},
        {"name": "a", "mode": None, "target": 1, "port": 99.0},
        {"name": "a", "target": "b", "other": [1], "open": {"x": 1}, "labels": {"a": "b"}},
    ],
)
def test_what_fits(value: object) -> None:
    assert found(value) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"name": "a", "nam": 1}, UnknownField),
        ({"name": 1}, WrongType),
        ({"name": "a", "names": [None]}, WrongType),
        ({"name": "a", "port": True}, WrongType),
        ({"name": "a", "port": float(MAX_EXACT + 1)}, WrongType),
        ({"name": "a", "target": 1.0}, WrongType),
        ({"name": "a\n"}, WrongValue),
        ({"name": "abcdef"}, WrongValue),
        ({"name": "a", "mode": "on"}, WrongValue),
        ({"name": "a", "port": 100}, WrongValue),
        ({"name": "a", "labels": {"a": "abcd"}}, WrongValue),
        ({"name": "a", "names": ["a", "b", "c"]}, WrongCount),
        ({"name": "a", "labels": {"a": "b", "c": "d"}}, WrongCount),
        ({"name": None}, MissingField),
        ([], WrongType),
    ],
)
def test_what_differs(value: object, expected: type[Difference]) -> None:
    (one,) = found(value)
    assert isinstance(one, expected)


def test_a_change_replaces_keywords() -> None:
    shape = parse_schema(SCHEMA, lambda path, schema: {**schema, "enum": ["b"]} if path == "names[]" else schema)
    (one,) = differences({"name": "a", "names": ["b", "a"]}, shape)
    assert one.at == ("names", 1)


def test_kinds_of_shapes() -> None:
    shape = parse_schema(SCHEMA, lambda _, schema: schema)
    fields: Mapping[str, object] = getattr(shape, "fields", {})
    assert isinstance(fields["target"], NumberOrText)
    assert (fields["other"], fields["labels"]) == (ANY, TextMap(max_properties=1, max_length=3))
    assert fields["mode"] == TextShape(enum=("On", "Off"))


def test_a_release_by_its_name() -> None:
    names = [str(definition(kind)).split()[0] for kind in (GATEWAY, API_SERVER, HTTP_PROXY, SERVICE)]
    assert names == ["gateway-api", "openshift/api", "projectcontour/contour", "kubernetes"]
    assert " of 20" in str(definition(API_SERVER))


def test_a_kind_without_a_schema() -> None:
    with pytest.raises(KeyError):
        definition(NODE)
