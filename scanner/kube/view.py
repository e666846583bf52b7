"""Typed parts of Kubernetes objects: each field is declared once, with its type, and is read leniently.

A class lists the fields of one type of the API; ``kube/`` has one module a family of objects::

    class ListenerTLS(View):
        mode = Text()
        certificate_refs = Parts(SecretReference)

    class Gateway(KubeObject):
        listeners = Parts(Listener, "spec", "listeners")

A field without steps has the attribute's name in camel case. Reading never fails: a value that is missing or of another
type reads as empty, and an item of another type is left out of a list. Nothing is copied or validated when the object
is loaded, so a field that nobody reads costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar, overload

from scanner.kube.objects import Fields, Steps, moment

T_co = TypeVar("T_co", covariant=True)
V = TypeVar("V", bound="View")


@dataclass(frozen=True, slots=True)
class View(Fields):
    """A mapping inside an object, and the way to it."""

    steps: Steps = ()
    """Keys and indexes from the object's top; findings name the field by them."""

    def __bool__(self) -> bool:
        """Whether there is a mapping that is not empty."""
        return bool(self.raw)


class _Field(Generic[T_co]):
    """A descriptor that reads one field."""

    def __init__(self, *steps: str) -> None:
        self.path = steps

    def __set_name__(self, owner: type, name: str) -> None:
        if not self.path:
            first, *rest = name.split("_")
            self.path = (first + "".join(word.capitalize() for word in rest),)

    @overload
    def __get__(self, fields: None, owner: type) -> _Field[T_co]: ...
    @overload
    def __get__(self, fields: Fields, owner: type) -> T_co: ...
    def __get__(self, fields: Fields | None, owner: type) -> T_co | _Field[T_co]:
        return self if fields is None else self.read(fields)

    def read(self, fields: Fields) -> T_co:
        """The field's value."""
        raise NotImplementedError


class Text(_Field[str]):
    """A text; "" where there is none."""

    def read(self, fields: Fields) -> str:
        return fields.text(*self.path)


class Number(_Field[int | None]):
    """A whole number; true is none."""

    def read(self, fields: Fields) -> int | None:
        return fields.number(*self.path)


class Flag(_Field[bool]):
    """Whether the value is true."""

    def read(self, fields: Fields) -> bool:
        return fields.flag(*self.path)


class Present(_Field[bool]):
    """Whether anything other than null is there."""

    def read(self, fields: Fields) -> bool:
        return fields.has(*self.path)


class Value(_Field[object]):
    """The value as it is, for what may have several types (``IntOrString``)."""

    def read(self, fields: Fields) -> object:
        return fields.at(*self.path)


class Texts(_Field[tuple[str, ...]]):
    """The texts of a list."""

    def read(self, fields: Fields) -> tuple[str, ...]:
        return fields.texts(*self.path)


class Words(_Field[dict[str, str]]):
    """A mapping of text to text, as labels are."""

    def read(self, fields: Fields) -> dict[str, str]:
        return fields.words(*self.path)


class Moment(_Field[datetime | None]):
    """A time (RFC 3339)."""

    def read(self, fields: Fields) -> datetime | None:
        return moment(fields.text(*self.path))


class Part(_Field[V]):
    """A mapping by its type; an empty one where there is none."""

    def __init__(self, view: type[V], *steps: str) -> None:
        super().__init__(*steps)
        self._view = view

    def read(self, fields: Fields) -> V:
        return self._view(fields.fields(*self.path).raw, (*fields.steps, *self.path))


class Parts(_Field[tuple[V, ...]]):
    """The mappings of a list by their type. Each has its index in the list as the last of its steps."""

    def __init__(self, view: type[V], *steps: str) -> None:
        super().__init__(*steps)
        self._view = view

    def read(self, fields: Fields) -> tuple[V, ...]:
        value, view, steps = fields.at(*self.path), self._view, (*fields.steps, *self.path)
        every = enumerate(value) if isinstance(value, list) else ()
        return tuple(view(each, (*steps, index)) for index, each in every if isinstance(each, Mapping))


class Named(_Field[dict[str, V]]):
    """The mappings in a mapping, by their keys."""

    def __init__(self, view: type[V], *steps: str) -> None:
        super().__init__(*steps)
        self._view = view

    def read(self, fields: Fields) -> dict[str, V]:
        value, steps = fields.at(*self.path), (*fields.steps, *self.path)
        return {key: self._view(each, (*steps, key)) for key, each in _items(value) if isinstance(each, dict)}


def _items(value: object) -> Iterator[tuple[str, object]]:
    yield from ((str(key), each) for key, each in value.items()) if isinstance(value, Mapping) else ()
