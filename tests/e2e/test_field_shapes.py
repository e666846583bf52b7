"""The table of TLS fields, field by field beside the real definitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from scanner.lint.fields.shapes import ANY, FLAG, NUMBER, SHAPES, TEXT, WORDS, Shape
from scanner.model.kinds import Kind
from scanner.model.located import dotted
from tests.e2e.writing import Object

GIVEN_UP = {
    "spec.backendTLS", "spec.tls.default", "spec.tls.perPort", "spec.listeners.tls.frontendValidation",
    "spec.targetRef", "spec.tls",
}  # fmt: skip
"""Fields of earlier releases, of which other rules say that they are dropped."""
TYPES = {TEXT: "string", NUMBER: "integer", FLAG: "boolean", WORDS: "object"}


def schemas(definitions: list[Object], kind: Kind) -> list[Any]:
    """Of the storage version and all others."""
    spec = [each["spec"] for each in definitions]
    found = [each for each in spec if (each["group"], each["names"]["kind"]) == (kind.group, kind.name)]
    return [version["schema"]["openAPIV3Schema"] for each in found for version in each["versions"]]


def differences(shape: Shape, schema: Any, steps: tuple[str, ...]) -> Iterator[str]:  # noqa: ANN401 - JSON
    """Fields that only one of them has, and types that differ."""
    where = dotted(steps)
    if shape == ANY:
        return
    if isinstance(shape, str):
        if schema.get("type") != TYPES[shape]:
            yield f"{where} is {schema.get('type')}, not {shape}"
    elif isinstance(shape, tuple):
        if schema.get("type") != "array":
            yield f"{where} is no list"
        else:
            yield from differences(shape[0], schema["items"], steps)
    else:
        there = schema.get("properties", {})
        yield from (f"{dotted((*steps, name))} is missing in the table" for name in there if name not in shape)
        for name, inner in shape.items():
            if name in there:
                yield from differences(inner, there[name], (*steps, name))
            elif dotted((*steps, name)) not in GIVEN_UP:
                yield f"{dotted((*steps, name))} is only in the table"


def test_the_table_is_what_the_definitions_say(definitions: list[Object]) -> None:
    compared = 0
    found: Mapping[str, list[str]] = {}
    for kind, shape in SHAPES.items():
        for schema in schemas(definitions, kind):
            compared += 1
            below = {name: each for name, each in schema["properties"].items() if name in shape}
            found = {**found, f"{kind.name} {compared}": list(differences(shape, {"properties": below}, ()))}
    assert {name: each for name, each in found.items() if each} == {}
    assert compared >= 10


@pytest.mark.parametrize("field", sorted(GIVEN_UP))
def test_what_was_given_up_is_still_in_the_table(field: str) -> None:
    def has(shape: Shape, names: list[str]) -> bool:
        if not names:
            return True
        inner = shape[0] if isinstance(shape, tuple) else shape
        return isinstance(inner, Mapping) and names[0] in inner and has(inner[names[0]], names[1:])

    assert any(has(shape, field.split(".")) for shape in SHAPES.values())
