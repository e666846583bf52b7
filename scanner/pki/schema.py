"""A part of OpenAPI v3 with validation rules, as CustomResourceDefinitions use it: what the API would not take.

The words are the API server's (apiextensions-apiserver and kube-openapi), so that who reads ours finds theirs. It
checks more than the server where that stops at the first serious mistake; it never accepts what the server refuses.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from scanner.files.source_positions import Steps
from scanner.model.pki_config import Complaint

Type = Literal["object", "array", "string", "integer"]
Holds = Callable[[Mapping[str, object]], bool]

_SHOWN: Final = 100
"""Characters of a value that a message repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """What one value must be."""

    type: Type
    fields: Mapping[str, Schema] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    min_fields: int = 0
    items: Schema | None = None
    list_key: str = ""
    """Of a list: the field by which no two items are the same."""
    words: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    """Whole numbers that are taken, where they are listed."""
    least: int | None = None
    most: int | None = None
    step: int | None = None
    not_empty: bool = False
    rules: tuple[tuple[Holds, str], ...] = ()
    """What must hold for an object, and the message where it does not."""


def complaints(schema: Schema, value: object, steps: Steps) -> Iterator[Complaint]:
    """What is wrong with the value at ``steps``, itself first."""
    if _OF_TYPE[schema.type](value):
        yield from _CHECKS[schema.type](schema, value, steps)
        return
    yield Complaint(steps, f"must be of type {_type_said(schema, value)}")
    if schema.type == "integer" and isinstance(value, float):
        yield from _integer(schema, value, steps)
    elif schema.words or schema.numbers:
        yield Complaint(steps, _unsupported(value, schema.words or schema.numbers))


def without_nulls(value: object) -> object:
    """The value as the API server keeps it: a field that is null is not there."""
    if isinstance(value, dict):
        return {name: without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def unknown_fields(schema: Schema, value: object, steps: Steps) -> Iterator[Steps]:
    """The ways to fields that ``schema`` does not have: the API server prunes them."""
    if isinstance(value, dict):
        for name, inner in value.items():
            known = schema.fields.get(name)
            if known is None:
                yield (*steps, name)
            else:
                yield from unknown_fields(known, inner, (*steps, name))
    elif isinstance(value, list) and schema.items:
        for index, item in enumerate(value):
            yield from unknown_fields(schema.items, item, (*steps, index))


def _object(schema: Schema, value: object, steps: Steps) -> Iterator[Complaint]:
    holder = value if isinstance(value, dict) else {}
    yield from (Complaint((*steps, name), "Required value") for name in schema.required if name not in holder)
    known = [name for name in schema.fields if name in holder]
    if len(known) < schema.min_fields:
        yield Complaint(steps, f"should have at least {schema.min_fields} properties")
    for name in known:
        yield from complaints(schema.fields[name], holder[name], (*steps, name))
    yield from (Complaint(steps, message) for holds, message in schema.rules if not holds(holder))


def _array(schema: Schema, value: object, steps: Steps) -> Iterator[Complaint]:
    seen: set[str] = set()
    for index, item in enumerate(value if isinstance(value, list) else ()):
        if schema.items:
            yield from complaints(schema.items, item, (*steps, index))
        if schema.list_key and not isinstance(item, dict):
            yield Complaint((*steps, index), "must be an object for an array of list-type map")
        if schema.list_key and (item is None or isinstance(item, dict)):
            name = _quoted({key: value for key, value in (item or {}).items() if key == schema.list_key})
            if name in seen:  # two without a name, too
                yield Complaint((*steps, index), f"Duplicate value: {name}")
            seen.add(name)


def _string(schema: Schema, value: object, steps: Steps) -> Iterator[Complaint]:
    if schema.not_empty and value == "":
        yield Complaint(steps, "should be at least 1 chars long")
    if schema.words and value not in schema.words:
        yield Complaint(steps, _unsupported(value, schema.words))


def _integer(schema: Schema, value: object, steps: Steps) -> Iterator[Complaint]:
    number = value if isinstance(value, int | float) else 0
    if schema.numbers and number not in schema.numbers:
        yield Complaint(steps, _unsupported(value, schema.numbers))
    if schema.least is not None and number < schema.least:
        yield Complaint(steps, f"should be greater than or equal to {schema.least}")
    if schema.most is not None and number > schema.most:
        yield Complaint(steps, f"should be less than or equal to {schema.most}")
    if schema.step is not None and number % schema.step:
        yield Complaint(steps, f"should be a multiple of {schema.step}")


def _type_said(schema: Schema, value: object) -> str:
    """Numbers are compared with the format first: every integer here is an ``int32``."""
    return "int32" if schema.type == "integer" and not isinstance(value, str) else schema.type


def _unsupported(value: object, taken: tuple[object, ...]) -> str:
    listed = ", ".join(f'"{each}"' for each in taken)
    return f"Unsupported value: {_quoted(value)}: supported values: {listed}"


def _quoted(value: object) -> str:
    text = json.dumps(value, separators=(",", ":"))
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _whole(value: object) -> bool:
    """JSON does not tell 2048.0 from 2048."""
    return not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))


_OF_TYPE: Final[Mapping[Type, Callable[[object], bool]]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "integer": _whole,
}
_CHECKS: Final[Mapping[Type, Callable[[Schema, object, Steps], Iterator[Complaint]]]] = {
    "object": _object,
    "array": _array,
    "string": _string,
    "integer": _integer,
}
