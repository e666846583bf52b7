"""The table of TLS fields, field by field and bound by bound beside the real definitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from scanner.files.source_positions import dotted
from scanner.kube.kinds import Kind
from scanner.kube.objects import KubeObject
from scanner.lint.fields.shape import ANY, Flag, Items, Number, Record, Shape, Text, Words
from scanner.lint.fields.shapes import OBJECT, SHAPES, shape_of
from tests.e2e.writing import Object

GIVEN_UP = {
    "spec.backendTLS", "spec.tls.default", "spec.tls.perPort", "spec.listeners.tls.frontendValidation",
    "spec.targetRef", "spec.tls",
}  # fmt: skip
"""Fields of earlier releases, of which other rules say that they are dropped."""
TYPES = {Text: "string", Number: "integer", Flag: "boolean", Words: "object", Record: "object", Items: "array"}
DIFFERENT = {
    "Gateway spec.tls.frontend.default.validation required": "what lacks CAs is said by gateway-client-ca",
    "Gateway spec.tls.frontend.default.validation.caCertificateRefs minItems": "the same",
    "Gateway spec.tls.frontend.perPort.tls.validation required": "the same",
    "Gateway spec.tls.frontend.perPort.tls.validation.caCertificateRefs minItems": "the same",
    "BackendTLSPolicy spec required": "what lacks targets is said by backend-tls-target",
    "BackendTLSPolicy spec.targetRefs minItems": "the same",
    "TLSCertificateDelegation spec.delegations required": "contour-delegation-target says it",
    "Route spec.tls required": "Go's defaulting makes edge or reencrypt of it, and route-fields says what it was",
    "Route spec.to required": "Go's defaulting makes Service of the kind",
    "Route spec.host pattern": "Go takes an empty host, which it fills, and no upper case",
    "Route spec.subdomain pattern": "the same",
    "Route spec.path pattern": "Go takes an empty path",
    "TLSRoute spec required": "that there are hostnames is gateway-route-attachment's",
    "TLSRoute spec.hostnames minItems": "the same",
    "HostedCluster spec required": "what a cluster is made of has defaults, and is no matter of TLS",
    "IngressController required": "without a specification, its rules in CEL fail",
    "IngressController spec.domain pattern": "the definition says it in CEL",
}
"""Where the table says something else than the definition, and why; Go is library-go ``pkg/route/validation`` and
openshift-apiserver ``pkg/route/apis/route/v1/defaults.go``, by which Routes are held but in MicroShift."""


ANY_FIELD = "x-kubernetes-preserve-unknown-fields"
"""Of a mapping that the definition says nothing of: another program reads it."""


def in_table(shape: Record, name: str) -> bool:
    """Whether the table has to say something of a field that is there."""
    return not shape.others or name in shape.fields


def schemas(definitions: list[Object], kind: Kind) -> list[tuple[str, Any]]:
    """Of every version that is served."""
    spec = [each["spec"] for each in definitions]
    found = [each for each in spec if (each["group"], each["names"]["kind"]) == (kind.group, kind.name)]
    versions = [version for each in found for version in each["versions"] if version["served"]]
    return [(version["name"], version["schema"]["openAPIV3Schema"]) for version in versions]


def differences(shape: Shape, schema: Any, steps: tuple[str, ...]) -> Iterator[str]:  # noqa: ANN401 - JSON
    """Fields that only one of them has, and types and bounds that differ."""
    where = dotted(steps)
    if shape == ANY:
        return
    if schema.get("type") != TYPES[type(shape)]:
        yield f"{where} is {schema.get('type')}, not {shape}"
        return
    ours, theirs = bounds(shape), bounds_of(schema)
    for name in sorted(ours.keys() | theirs.keys()):
        if ours.get(name) != theirs.get(name):
            yield f"{where} {name}".strip()
    if isinstance(shape, Items):
        yield from differences(shape.of, schema["items"], steps)
    elif isinstance(shape, Record):
        there = {name: each for name, each in schema.get("properties", {}).items() if in_table(shape, name)}
        yield from (f"{dotted((*steps, name))} is missing in the table" for name in there if name not in shape.fields)
        for name, inner in shape.fields.items():
            if name in there:
                yield from differences(inner, there[name], (*steps, name))
            elif dotted((*steps, name)) not in GIVEN_UP and not schema.get(ANY_FIELD):
                yield f"{dotted((*steps, name))} is only in the table"


def bounds(shape: Shape) -> dict[str, object]:
    """What a shape says of values, in the definitions' words."""
    match shape:
        case Text(enum=enum) if enum:
            found: dict[str, object] = {"enum": {*enum}}
        case Text():
            found = {"pattern": shape.pattern, "minLength": shape.shortest, "maxLength": shape.longest}
        case Number():
            found = {"minimum": shape.least, "maximum": shape.most}
        case Items():
            found = {"minItems": shape.least, "maxItems": shape.most}
        case Words():
            found = {"maxProperties": shape.most, "maxLength": shape.longest}
        case Record():
            found = {"required": {*shape.required}}
        case _:
            found = {}
    return {name: each for name, each in found.items() if each}


BOUNDS = (
    "pattern", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "maxProperties",
)  # fmt: skip
"""The ones in which definitions speak of values, beside enumerations and required fields."""
NOT_LOOKED_AT = {"minProperties", "multipleOf", "not", "oneOf", "anyOf", "exclusiveMinimum", "uniqueItems"}


def bounds_of(schema: Any) -> dict[str, object]:  # noqa: ANN401 - JSON
    """The same, of a definition. Fails where it speaks in words that are not looked at."""
    assert not NOT_LOOKED_AT & schema.keys(), schema
    values = schema.get("additionalProperties")
    found = {name: schema[name] for name in BOUNDS if schema.get(name)}
    found |= {name: {*schema[name]} for name in ("enum", "required") if schema.get(name)}
    if schema.get("exclusiveMaximum"):
        found["maximum"] -= 1
    if isinstance(values, dict) and values.get("maxLength"):
        found["maxLength"] = values["maxLength"]
    return found


def test_the_table_is_what_the_definitions_say(definitions: list[Object]) -> None:
    found: dict[tuple[str, str, str], list[str]] = {}
    for kind in SHAPES:
        for version, schema in schemas(definitions, kind):
            shape = shape_of(KubeObject({"apiVersion": f"{kind.group}/{version}"}, kind))
            own = Record({name: each for name, each in shape.fields.items() if name not in OBJECT}, shape.required)
            told = {name: each for name, each in schema["properties"].items() if name in own.fields}
            required = [name for name in schema.get("required", ()) if name in own.fields]
            theirs = {"type": "object", "properties": told, "required": required}
            found[kind.name, kind.group, version] = list(differences(own, theirs, ()))
    assert {f"{of[0]} {each}" for of, several in found.items() for each in several} == DIFFERENT.keys()
    assert len(found) >= 14


@pytest.mark.parametrize("field", sorted(GIVEN_UP))
def test_what_was_given_up_is_still_in_the_table(field: str) -> None:
    def has(shape: Shape, names: list[str]) -> bool:
        if not names:
            return True
        inner = shape.of if isinstance(shape, Items) else shape
        return isinstance(inner, Record) and names[0] in inner.fields and has(inner.fields[names[0]], names[1:])

    assert any(has(shape, field.split(".")) for shape in SHAPES.values())
