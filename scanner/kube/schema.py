"""Schemas of API kinds (``profiles/schemas``), and the comparison of a value with a schema.

The keywords are those of OpenAPI v3 as CustomResourceDefinitions use it (kubernetes.io, "Extend the Kubernetes API with
CustomResourceDefinitions", Validation). ``parse_schema`` reads the ones that the comparison checks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final, TypeAlias

from msgspec import Struct

from scanner.data import data
from scanner.kube.kinds import Kind
from scanner.kube.objects import Fields, Steps

MAX_EXACT: Final = (1 << 53) - 1
"""Floating-point numbers up to here represent every whole number (IEEE 754, binary64)."""
_MIN, _MAX = -(1 << 63), (1 << 63) - 1


# --- What a field holds ----------------------------------------------------------------------------------------------


class TextShape(Struct, frozen=True, kw_only=True):
    """Text, or one of several words."""

    enum: tuple[str, ...] = ()
    """The only accepted words."""
    pattern: str = ""
    """Pattern of the definition, in Go's syntax; matches anywhere in the text unless it is anchored."""
    min_length: int = 0
    max_length: int | None = None
    description: str = ""
    """The pattern for people: ``a DNS name in lower case``."""
    known: tuple[str, ...] = ()
    """Words with a meaning. Other words that the pattern accepts have none, except those with a domain and a slash,
    which are the implementation's own."""
    weak: tuple[str, ...] = ()
    """Words that are accepted and never suggested."""

    def accepts(self, value: str) -> bool:
        """True if an API server accepts the value."""
        if self.enum:
            return value in self.enum
        fits = self.min_length <= len(value) and (self.max_length is None or len(value) <= self.max_length)
        return fits and (not self.pattern or _compiled(self.pattern).search(value) is not None)


class NumberShape(Struct, frozen=True, kw_only=True):
    """A whole number."""

    enum: tuple[int, ...] = ()
    """The only accepted numbers."""
    minimum: int | None = None
    maximum: int | None = None
    multiple_of: int = 1

    def accepts(self, value: float) -> bool:
        """True if an API server accepts the value."""
        fits = (self.minimum is None or value >= self.minimum) and (self.maximum is None or value <= self.maximum)
        return fits and not value % self.multiple_of and (not self.enum or value in self.enum)


class NumberOrText(Struct, frozen=True):
    """A port by its number or its name (Kubernetes ``IntOrString``)."""

    number: NumberShape
    text: TextShape


class Boolean(Struct, frozen=True):
    """True or false."""


class TextMap(Struct, frozen=True, kw_only=True):
    """A mapping of free names to text."""

    max_properties: int | None = None
    max_length: int | None = None
    """Characters of a value."""


class Anything(Struct, frozen=True):
    """A field that no TLS rule reads."""

    former: bool = False
    """True if only earlier releases or proposals have the field: another rule reports it, and no hint suggests it."""


class Array(Struct, frozen=True):
    """A list of items of one shape."""

    items: Shape
    min_items: int = 0
    max_items: int | None = None
    nulls: bool = False
    """True if null is accepted as an empty item, as in Go's own types and unlike in definitions."""
    key: str = ""
    """Field that must differ in every item."""


class Constraint(Struct, frozen=True):
    """A condition on several fields, in a definition in CEL or in an API server in Go."""

    violated: Callable[[Fields], object]
    message: str
    """The API server's own words, if it refuses the object."""
    at: tuple[str, ...] = ()
    """The field to look at."""
    fix: str = "set the fields as the message requires"
    accepted: bool = False
    """True if the API server accepts the object, although it does not do what its author intends."""


class Record(Struct, frozen=True):
    """A mapping with exactly these fields."""

    fields: Mapping[str, Shape]
    required: tuple[str, ...] = ()
    reported: tuple[str, ...] = ()
    """Fields whose wrong or missing values another rule reports."""
    constraints: tuple[Constraint, ...] = ()
    """Constraints that no other rule reports."""
    min_properties: int = 0
    others: bool = False
    """True if it has more fields, which the schema does not describe."""

    @property
    def names(self) -> tuple[str, ...]:
        """Fields of a current definition."""
        return tuple(name for name, each in self.fields.items() if each != FORMER)


Shape: TypeAlias = "TextShape | NumberShape | NumberOrText | Boolean | TextMap | Anything | Array | Record"

ANY: Final = Anything()
FORMER: Final = Anything(former=True)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of a definition. Go's ``$`` is the very end; Python's also matches before a final line
    break."""
    return re.compile(pattern.replace("$", r"\Z"))


# --- The shipped files -----------------------------------------------------------------------------------------------

Schema: TypeAlias = Mapping[str, Any]
"""A schema as in its file."""
Change: TypeAlias = Callable[[str, Schema], Schema]
"""Function that returns the schema to use for the one at a path (``spec.listeners[].port``)."""


class Definition(Struct, frozen=True):
    """The schemas of one kind."""

    module: str
    release: str
    """The module's version: ``v1.6.1``, or Go's pseudo-version with the commit's date."""
    versions: Mapping[str, Schema]
    """By API version; the first is the current one."""

    def __str__(self) -> str:
        """The name and release of the module, for people: ``gateway-api v1.6.1``."""
        name = self.module.removeprefix("github.com/")
        name = name.partition("/")[2] if "." in name.partition("/")[0] else name
        date = re.match(r"v0\.0\.0-(\d{4})(\d\d)(\d\d)", self.release)
        return f"{name} of {'-'.join(date.groups())}" if date else f"{name} {self.release}"


@cache
def definition(kind: Kind) -> Definition:
    """Read the schemas of a kind. Raises ``KeyError`` for a kind without any."""
    try:
        content = json.loads((data("schemas") / f"{kind.resource}.json").read_bytes())
    except FileNotFoundError:
        raise KeyError(kind) from None
    versions = content["versions"]
    found = {name: versions[each] if isinstance(each, str) else each for name, each in versions.items()}
    return Definition(content["module"], content["version"], found)


def parse_schema(schema: Schema, change: Change, path: str = "") -> Shape:
    """Parse a schema, with ``change`` applied at each path; a schema without a type is ``ANY``."""
    schema = change(path, schema)
    if schema.get("x-kubernetes-int-or-string"):
        return NumberOrText(*(_SCALARS[each](schema.get(each, {})) for each in ("integer", "string")))  # type: ignore[arg-type]
    kind = schema.get("type", "")
    if kind == "array":
        (key,) = schema.get("x-kubernetes-list-map-keys", [""])
        return Array(
            parse_schema(schema["items"], change, f"{path}[]"),
            schema.get("minItems", 0),
            schema.get("maxItems"),
            schema.get("nulls", False),
            key,
        )
    if kind == "object":
        return _object(schema, change, path)
    return _SCALARS[kind](schema) if kind in _SCALARS else FORMER if schema.get("former") else ANY


def _object(schema: Schema, change: Change, path: str) -> Shape:
    values = schema.get("additionalProperties")
    if isinstance(values, Mapping) and values.get("type") == "string":
        return TextMap(max_properties=schema.get("maxProperties"), max_length=values.get("maxLength"))
    start = f"{path}." if path else ""
    return Record(
        {name: parse_schema(each, change, start + name) for name, each in schema.get("properties", {}).items()},
        tuple(schema.get("required", ())),
        reported=schema.get("reported", ()),
        constraints=schema.get("constraints", ()),
        min_properties=schema.get("minProperties", 0),
        others=bool(schema.get("x-kubernetes-preserve-unknown-fields")),
    )


def _text(schema: Schema) -> TextShape:
    if "enum" in schema:
        return TextShape(enum=tuple(schema["enum"]), weak=schema.get("weak", ()))
    return TextShape(
        pattern=schema.get("pattern", ""),
        min_length=schema.get("minLength", 0),
        max_length=schema.get("maxLength"),
        description=schema.get("description", ""),
        known=schema.get("known", ()),
    )


def _number(schema: Schema) -> NumberShape:
    beyond = 1 if schema.get("exclusiveMaximum") else 0
    return NumberShape(
        enum=tuple(schema.get("enum", ())),
        minimum=schema.get("minimum"),
        maximum=schema["maximum"] - beyond if "maximum" in schema else None,
        multiple_of=schema.get("multipleOf", 1),
    )


_SCALARS: Final[Mapping[str, Callable[[Schema], Shape]]] = {
    "string": _text,
    "integer": _number,
    "boolean": lambda _: Boolean(),
}


# --- How a value differs ---------------------------------------------------------------------------------------------


class UnknownField(Struct, frozen=True):
    """A field that the mapping around it does not have."""

    at: Steps
    name: str
    known: tuple[str, ...]


class WrongType(Struct, frozen=True):
    """A value of another type than its field's."""

    at: Steps
    value: object
    shape: Shape

    @property
    def expected(self) -> str:
        """The type, for people."""
        return _TYPES[type(self.shape)][0]


class WrongValue(Struct, frozen=True):
    """A value of the right type that an API server refuses, or that has no meaning."""

    at: Steps
    value: str | float
    shape: TextShape | NumberShape


class WrongCount(Struct, frozen=True):
    """A list or mapping with more or fewer entries than allowed."""

    at: Steps
    count: int
    least: int
    most: int | None


class MissingField(Struct, frozen=True):
    """A required field that is missing."""

    at: Steps
    name: str


class Violated(Struct, frozen=True):
    """A constraint that does not hold."""

    at: Steps
    constraint: Constraint


class Duplicate(Struct, frozen=True):
    """An item with the key of an earlier one."""

    at: Steps
    key: Mapping[str, object]


Difference: TypeAlias = UnknownField | WrongType | WrongValue | WrongCount | MissingField | Violated | Duplicate

_TYPES: Mapping[type[object], tuple[str, type | tuple[type, ...]]] = {
    TextShape: ("text", str),
    NumberShape: ("a whole number", int),
    NumberOrText: ("a whole number or text", (int, str)),
    Boolean: ("true or false", bool),
    TextMap: ("a mapping", dict),
    Array: ("a list", list),
    Record: ("a mapping", dict),
}


def differences(value: object, shape: Shape, steps: Steps = ()) -> Iterable[Difference]:
    """Everything in the value that does not fit its shape."""
    if isinstance(shape, Anything):
        return ()
    if not _fits(value, shape):
        return (WrongType(steps, value, shape),)
    if isinstance(shape, NumberOrText):
        return differences(value, shape.text if isinstance(value, str) else shape.number, steps)
    if isinstance(value, list) and isinstance(shape, Array):
        return _items(value, shape, steps)
    if isinstance(value, dict) and isinstance(shape, Record):
        return _fields(value, shape, steps)
    if isinstance(value, dict) and isinstance(shape, TextMap):
        return _entries(value, shape, steps)
    if (
        isinstance(value, str | int | float)
        and isinstance(shape, TextShape | NumberShape)
        and not _accepted(value, shape)
    ):
        return (WrongValue(steps, value, shape),)
    return ()


def _items(value: list[object], shape: Array, steps: Steps) -> Iterator[Difference]:
    if len(value) < shape.min_items or (shape.max_items is not None and len(value) > shape.max_items):
        yield WrongCount(steps, len(value), shape.min_items, shape.max_items)
    for index, each in enumerate(value):
        if each is not None or not shape.nulls:
            yield from differences(each, shape.items, (*steps, index))
    if shape.key:
        yield from _duplicates(value, shape.key, steps)


def _duplicates(value: list[object], key: str, steps: Steps) -> Iterator[Duplicate]:
    """Yield the items with the key of an earlier one. Items without the key are equal, too."""
    seen: set[str] = set()
    for index, each in enumerate(value):
        if each is None or isinstance(each, dict):
            found = {name: inner for name, inner in (each or {}).items() if name == key and inner is not None}
            text = json.dumps(found)
            if text in seen:
                yield Duplicate((*steps, index), found)
            seen.add(text)


def _fields(value: Mapping[str, object], shape: Record, steps: Steps) -> Iterator[Difference]:
    for name, each in value.items():
        if name not in shape.fields:
            if not shape.others:
                yield UnknownField((*steps, name), name, shape.names)
        elif each is not None:  # null counts as missing
            found = differences(each, shape.fields[name], (*steps, name))
            yield from _unreported(found) if name in shape.reported else found
    for name in shape.required:
        if value.get(name) is None and name not in shape.reported:
            yield MissingField((*steps, name), name)
    if (
        shape.min_properties
        and (count := sum(value.get(name) is not None for name in shape.fields)) < shape.min_properties
    ):
        yield WrongCount(steps, count, shape.min_properties, None)
    if shape.constraints:
        fields = Fields(value)
        yield from (Violated((*steps, *each.at), each) for each in shape.constraints if each.violated(fields))


def _unreported(found: Iterable[Difference]) -> Iterator[Difference]:
    """The differences that are about fields and types, not about values."""
    return (each for each in found if isinstance(each, UnknownField | WrongType))


def _entries(value: Mapping[str, object], shape: TextMap, steps: Steps) -> Iterator[Difference]:
    if shape.max_properties is not None and len(value) > shape.max_properties:
        yield WrongCount(steps, len(value), 0, shape.max_properties)
    text = TextShape(max_length=shape.max_length)
    for name, each in value.items():
        if each is not None:
            yield from differences(each, text, (*steps, name))


def _fits(value: object, shape: Shape) -> bool:
    if isinstance(shape, NumberShape):
        return _is_whole(value)
    if isinstance(shape, NumberOrText) and not isinstance(value, str):
        return isinstance(value, int) and _is_whole(value)
    return isinstance(value, _TYPES[type(shape)][1])


def _is_whole(value: object) -> bool:
    """True for a whole number as an API server decodes JSON: a number beyond 64 bits is floating-point, which is whole
    only within its precision (kube-openapi ``pkg/validation``, ``IsFloat64AJSONInteger``)."""
    if isinstance(value, float):
        return value.is_integer() and abs(value) <= MAX_EXACT
    return isinstance(value, int) and not isinstance(value, bool) and _MIN <= value <= _MAX


def _accepted(value: str | float, shape: TextShape | NumberShape) -> bool:
    if isinstance(shape, NumberShape):
        return not isinstance(value, str) and shape.accepts(value)
    return isinstance(value, str) and shape.accepts(value) and (not shape.known or value in shape.known or "/" in value)
