"""Every deliberate difference from the API's schemas applies to something, and every rule in CEL has a definition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from scanner.kube.kinds import GATEWAY, SERVICE, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.schema import FORMER, Record, definition, parse_schema
from scanner.lint.fields.constraints import CEL, IN_GO
from scanner.lint.fields.schemas import CHANGES, KINDS, PATTERNS, shape_of


def paths(kind: Kind, version: str) -> set[str]:
    """Every path of a kind at which a change could apply."""
    found: set[str] = set()

    def note(path: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        found.add(path)
        return schema

    versions = definition(kind).versions
    parse_schema(versions.get(version) or next(iter(versions.values())), note)
    return found | {"metadata.name"}


def every(schema: object, keyword: str) -> Iterator[Any]:
    """The values of a keyword anywhere in a schema."""
    if isinstance(schema, dict):
        yield from [schema[keyword]] if keyword in schema else []
        yield from (found for inner in schema.values() for found in every(inner, keyword))


def applies(where: str, path: str) -> bool:
    return f".{path}".endswith(where[1:]) if where.startswith("*") else path == where


@pytest.mark.parametrize("key", [*CHANGES, *IN_GO], ids=str)
def test_every_difference_applies(key: Kind | tuple[Kind, str]) -> None:
    kind, version = key if isinstance(key, tuple) else (key, "")
    there = paths(kind, version)
    places = {*CHANGES.get(key, {}), *(IN_GO.get(kind, {}) if kind == key else ())} - {"spec.template.metadata"}
    unused = {where for where in places if not any(applies(where, each) for each in there)}
    assert unused == set()


def test_every_rule_and_pattern_is_in_a_definition() -> None:
    versions = [schema for kind in KINDS for schema in definition(kind).versions.values()]
    messages = {
        rule["message"] for schema in versions for rules in every(schema, "x-kubernetes-validations") for rule in rules
    }
    assert CEL.keys() <= messages
    assert PATTERNS.keys() <= {pattern for schema in versions for pattern in every(schema, "pattern")}


def test_another_version_has_the_current_schema() -> None:
    shapes = [shape_of(KubeObject({"apiVersion": f"v{number}"}, SERVICE)) for number in (1, 9)]
    assert shapes[0].fields["spec"] == shapes[1].fields["spec"]


def test_former_fields_are_known_and_not_suggested() -> None:
    spec = shape_of(KubeObject({}, GATEWAY)).fields["spec"]
    assert isinstance(spec, Record)
    assert (spec.fields["backendTLS"], "backendTLS" in spec.names, "tls" in spec.names) == (FORMER, False, True)
