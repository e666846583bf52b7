"""Values beside those that the table of TLS fields takes, made from the table: each field's, one after the other."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from scanner.files.source_positions import Steps
from scanner.kube.schema import ANY, Array, Boolean, NumberOrText, NumberShape, Record, Shape, TextMap, TextShape
from tests.e2e.writing import Object

ADDRESS: tuple[Steps, ...] = (("metadata",), ("metadata", "name"), ("metadata", "namespace"))
"""By which an object is written: with another one it is another object."""
NAMES: tuple[object, ...] = (
    "", "Web.Shop.example", "web..example", "web.shop.example.", "*.*.example", "*", "*.example", "-web", "web-", "a_b",
    "a b", "web\n", "10.0.0.1", "[::1]", "/web", "example.com/Name", "example.com/-", "spiffe://web/a", "mailto:a",
    "https://a.example/b", "https://a.example/b?c=d", "https://a.example/#b", "https://u@a.example", "http://a.example",
    "HTTPS://a.example:8443", "not a url", 443, True, 1.5, None, {}, [],
)  # fmt: skip
NUMBERS: tuple[object, ...] = (-1, 0, 1, 443, 65535, 65536, 99999, 1 << 63, 1e300, 1.5, "443", True, None, {}, [])
FLAGS: tuple[object, ...] = (True, False, "true", 1, None, [])


@dataclass(frozen=True, slots=True)
class Change:
    """Another value somewhere in an object."""

    at: Steps
    value: object
    gone: bool = False
    """The field is taken away instead."""

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.at))} = {'(gone)' if self.gone else repr(self.value)[:60]}"

    def made(self, item: Object) -> Object:
        """The object with it."""
        found = copy.deepcopy(item)
        holder: Any = found
        for step in self.at[:-1]:
            holder = holder[step]
        if self.gone:
            del holder[self.at[-1]]
        else:
            holder[self.at[-1]] = self.value
        return found


def changes(value: Any, shape: Shape, at: Steps = ()) -> Iterator[Change]:  # noqa: ANN401 - JSON
    """Of a value and all that is in it."""
    if shape == ANY:
        return
    if at and at not in ADDRESS:
        yield from (
            Change(at, each) for each in _others(value, shape) if each != value or type(each) is not type(value)
        )
    if isinstance(shape, Record):
        for name, inner in shape.fields.items():
            if name in value and inner != ANY:
                if (*at, name) not in ADDRESS:
                    yield Change((*at, name), None, gone=True)
                yield from changes(value[name], inner, (*at, name))
    elif isinstance(shape, Array) and value:
        yield from changes(value[0], shape.items, (*at, 0))


def _others(value: Any, shape: Shape) -> Iterator[object]:  # noqa: ANN401 - JSON
    match shape:
        case TextShape(enum=words) if words:
            yield from (*words, *(word.swapcase() for word in words if word), "sweet", "", 1, True, None, [], {})
        case TextShape() if shape == TextShape():
            yield from ("", "a b", "web\n", 443, True, 1.5, None, {}, [])
        case TextShape(known=known, max_length=longest):
            yield from (*NAMES, *known, *(word.lower() for word in known))
            yield from ("a" * length for length in (63, 64, longest or 300, (longest or 300) + 1))
        case NumberShape():
            yield from NUMBERS
        case NumberOrText(text=text):
            yield from (*_others(value, text), *NUMBERS)
        case Boolean():
            yield from FLAGS
        case TextMap(max_properties=most, max_length=longest):
            yield from ({}, {"example.com/a": 1}, {"example.com/a": None}, {"example.com/a": True}, [], "a", None)
            yield from ({f"example.com/a{n}": "b" for n in range(many)} for many in (most or 16, (most or 16) + 1))
            yield from ({"example.com/a": "b" * length} for length in (longest or 63, (longest or 63) + 1))
        case Array(max_items=most):
            yield from ([], [None], None, {}, "a", [*value, None])
            yield from ([value[0]] * many for many in (2, most, most + 1) if most) if most else ()
        case _:
            yield from ({}, [], "a", None)
