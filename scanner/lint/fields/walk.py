"""An object beside its shape: which fields it does not have, and which values are of another type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from scanner.lint.fields.shapes import ANY, FLAG, NUMBER, OBJECT, SHAPES, TEXT, WORDS, Shape
from scanner.model.located import Steps
from scanner.model.object_rule import Subject

_TYPES: Mapping[str, tuple[str, type | tuple[type, ...]]] = {
    TEXT: ("text", str),
    NUMBER: ("a whole number", int),
    FLAG: ("true or false", bool),
    WORDS: ("a mapping", dict),
}


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
        if isinstance(self.shape, str):
            return _TYPES[self.shape][0]
        return "a list" if isinstance(self.shape, tuple) else "a mapping"


def compare(subject: Subject) -> Iterator[Unknown | Mistyped]:
    """Everything in the object that does not fit its shape."""
    yield from _compared(subject.object.raw, {**OBJECT, **SHAPES[subject.object.kind]}, ())


def _compared(value: object, shape: Shape, steps: Steps) -> Iterator[Unknown | Mistyped]:
    if value is None or shape == ANY:
        return  # null is as good as nothing
    if not _fits(value, shape):
        yield Mistyped(steps, value, shape)
    elif isinstance(value, list) and isinstance(shape, tuple):
        for index, each in enumerate(value):
            yield from _compared(each, shape[0], (*steps, index))
    elif isinstance(value, dict) and isinstance(shape, Mapping):
        for name, each in value.items():
            if name in shape:
                yield from _compared(each, shape[name], (*steps, name))
            else:
                yield Unknown((*steps, name), name, tuple(shape))


def _fits(value: object, shape: Shape) -> bool:
    if isinstance(shape, str):
        number = shape == NUMBER and not isinstance(value, bool) and isinstance(value, float) and value.is_integer()
        flag = isinstance(value, bool) and shape == NUMBER
        return number or (isinstance(value, _TYPES[shape][1]) and not flag)
    return isinstance(value, list if isinstance(shape, tuple) else dict)
