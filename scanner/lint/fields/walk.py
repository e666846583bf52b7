"""An object beside its shape: which fields it does not have, or lacks, and which values are of another type or none
that an API server takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from scanner.files.source_positions import Steps
from scanner.kube.objects import Fields
from scanner.lint.fields.shape import (
    MOST_EXACT,
    Anything,
    Clash,
    Either,
    Flag,
    Items,
    Number,
    Record,
    Shape,
    Text,
    Words,
)
from scanner.lint.fields.shapes import shape_of
from scanner.model.object_rule import Subject

_TYPES: Mapping[type[object], tuple[str, type | tuple[type, ...]]] = {
    Text: ("text", str),
    Number: ("a whole number", int),
    Either: ("a whole number or text", (int, str)),
    Flag: ("true or false", bool),
    Words: ("a mapping", dict),
    Items: ("a list", list),
    Record: ("a mapping", dict),
}


_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Unknown:
    """A field that the mapping around it does not have."""

    at: Steps
    name: str
    known: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mistyped:
    """A value of another type than its field's."""

    at: Steps
    value: object
    shape: Shape

    @property
    def meant(self) -> str:
        """The type, for people."""
        return _TYPES[type(self.shape)][0]


@dataclass(frozen=True, slots=True)
class Untaken:
    """A value of the right type that an API server refuses, or that means nothing."""

    at: Steps
    value: str | float
    shape: Text | Number


@dataclass(frozen=True, slots=True)
class Miscounted:
    """A list or mapping with more or fewer entries than there may be."""

    at: Steps
    count: int
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Lacking:
    """A field that must be there."""

    at: Steps
    name: str


@dataclass(frozen=True, slots=True)
class Clashing:
    """Fields that do not go together."""

    at: Steps
    clash: Clash


Difference: TypeAlias = Unknown | Mistyped | Untaken | Miscounted | Lacking | Clashing


def compare(subject: Subject) -> Iterator[Difference]:
    """Everything in the object that does not fit its shape."""
    if not subject.once(_in_order):
        yield from _differences(subject)


def _in_order(subject: Subject) -> bool:
    """Most objects are, and three rules ask. The differences themselves are not kept: whoever wrote the object chooses
    how many they are."""
    return next(_differences(subject), None) is None


def _differences(subject: Subject) -> Iterator[Difference]:
    yield from _compared(subject.object.raw, shape_of(subject.object), ())


def _compared(value: object, shape: Shape, steps: Steps) -> Iterable[Difference]:
    if isinstance(shape, Anything):
        return ()
    if not _fits(value, shape):
        return (Mistyped(steps, value, shape),)
    if isinstance(shape, Either):
        return _compared(value, shape.text if isinstance(value, str) else shape.number, steps)
    if isinstance(value, list) and isinstance(shape, Items):
        return _items(value, shape, steps)
    if isinstance(value, dict) and isinstance(shape, Record):
        return _record(value, shape, steps)
    if isinstance(value, dict) and isinstance(shape, Words):
        return _words(value, shape, steps)
    if isinstance(value, str | int | float) and isinstance(shape, Text | Number) and not _means(value, shape):
        return (Untaken(steps, value, shape),)
    return ()


def _items(value: list[object], shape: Items, steps: Steps) -> Iterator[Difference]:
    if len(value) < shape.least or (shape.most is not None and len(value) > shape.most):
        yield Miscounted(steps, len(value), shape.least, shape.most)
    for index, each in enumerate(value):
        if each is not None or not shape.nulls:
            yield from _compared(each, shape.of, (*steps, index))


def _record(value: Mapping[str, object], shape: Record, steps: Steps) -> Iterator[Difference]:
    for name, each in value.items():
        if name not in shape.fields:
            if not shape.others:
                yield Unknown((*steps, name), name, shape.names)
        elif each is not None:  # null is as good as nothing
            found = _compared(each, shape.fields[name], (*steps, name))
            yield from _other(found) if name in shape.told else found
    for name in shape.required:
        if value.get(name) is None and name not in shape.told:
            yield Lacking((*steps, name), name)
    if shape.clashes:
        fields = Fields(value)
        yield from (Clashing((*steps, *each.at), each) for each in shape.clashes if each.when(fields))


def _other(found: Iterable[Difference]) -> Iterator[Difference]:
    """What is no matter of values: those another rule looks at."""
    return (each for each in found if isinstance(each, Unknown | Mistyped))


def _words(value: Mapping[str, object], shape: Words, steps: Steps) -> Iterator[Difference]:
    if shape.most is not None and len(value) > shape.most:
        yield Miscounted(steps, len(value), 0, shape.most)
    text = Text(longest=shape.longest)
    for name, each in value.items():
        if each is not None:
            yield from _compared(each, text, (*steps, name))


def _fits(value: object, shape: Shape) -> bool:
    if isinstance(shape, Number):
        return _is_whole(value)
    if isinstance(shape, Either) and not isinstance(value, str):
        return isinstance(value, int) and _is_whole(value)
    return isinstance(value, _TYPES[type(shape)][1])


def _is_whole(value: object) -> bool:
    """As an API server decodes JSON: what does not fit 64 bits is a floating-point number, and one of those is whole
    only as far as it can tell whole numbers apart (kube-openapi ``pkg/validation``, ``IsFloat64AJSONInteger``)."""
    if isinstance(value, float):
        return value.is_integer() and abs(value) <= MOST_EXACT
    return isinstance(value, int) and not isinstance(value, bool) and _LEAST <= value <= _MOST


def _means(value: str | float, shape: Text | Number) -> bool:
    if isinstance(shape, Number):
        return not isinstance(value, str) and shape.takes(value)
    return isinstance(value, str) and shape.takes(value) and (not shape.known or value in shape.known or "/" in value)
