"""JSON documents against the schemas of docs/schema, and against those of other projects in tests/report/schemas."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

FOLDERS = (Path(__file__).parents[1] / "docs/schema", Path(__file__).parent / "report/schemas")


@cache
def schema(name: str) -> dict[str, Any]:
    """The schema in ``scan-v1.json``, by the name ``scan-v1``."""
    path = next(path for folder in FOLDERS if (path := folder / f"{name}.json").exists())
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def errors(document: Any, against: str | dict[str, Any]) -> list[str]:  # noqa: ANN401 - JSON
    """How a document violates a schema, or the schema with this name."""
    validator = _named(against) if isinstance(against, str) else _validator(against)
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]


@cache
def _named(name: str) -> Validator:
    return _validator(schema(name))


def _validator(contents: dict[str, Any]) -> Validator:
    # Imported here, because jsonschema builds 38 parsers when it is imported, which takes seconds.
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry, Resource

    scan = schema("scan-v1")  # other schemas refer to its definitions
    registry: Registry[Any] = Registry().with_resource(scan["$id"], Resource.from_contents(scan))
    kind = validator_for(contents, default=Draft202012Validator)
    kind.check_schema(contents)
    return kind(contents, registry=registry, format_checker=kind.FORMAT_CHECKER)
