"""Typed parts of Kubernetes objects: each field is declared once, with its type, and is read leniently.

A class lists the fields of one type of the API; ``kube/`` has one module per family of objects::

    class ListenerTLS(View):
        mode = Text()
        certificate_refs = Parts(SecretReference)

    class Gateway(KubeObject):
        listeners = Parts(Listener, "spec", "listeners")

A field without steps has the attribute's name in camel case. Reading never fails: a value that is missing or of another
type reads as empty, and an item of another type is left out of a list. Nothing is copied or validated when the object
is loaded, so an unread field costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Generic, Self, TypeVar, overload

from scanner.kube.objects import Fields, Steps, moment

T_co = TypeVar("T_co", covariant=True)
V = TypeVar("V", bound="View")
_MAPPING = (dict, Mapping)
"""Types of a JSON object. The builtin first: asking the abstract class alone takes most of the time."""


@dataclass(frozen=True, slots=True, init=False)
class View(Fields):
    """A mapping inside an object, with its path."""

    steps: Steps = ()
    """Keys and indexes from the top of the object; findings name the field by them."""

    def __init__(self, raw: Mapping[str, object], steps: Steps = ()) -> None:
        _set_raw(self, raw)  # the ``__init__`` of ``dataclass`` takes three times as long
        _set_steps(self, steps)

    def __bool__(self) -> bool:
        """True if the mapping is not empty."""
        return bool(self.raw)


_set_raw, _set_steps = Fields.raw.__set__, View.steps.__set__  # type: ignore[misc, attr-defined]


class _Field(property, Generic[T_co]):
    """A property that reads one field.

    A property calls its function from C; a descriptor with a ``__get__`` of its own takes half as long again, and a
    large cluster reads millions of fields.
    """

    def __init__(self, *steps: str) -> None:
        self.path = steps
        super().__init__(self._reader())

    def __set_name__(self, owner: type, name: str) -> None:
        if not self.path:
            first, *rest = name.split("_")
            self.path = (first + "".join(word.capitalize() for word in rest),)
            super().__init__(self._reader())

    if TYPE_CHECKING:

        @overload  # type: ignore[override]
        def __get__(self, fields: None, owner: type) -> Self: ...
        @overload
        def __get__(self, fields: Fields, owner: type) -> T_co: ...
        def __get__(self, fields: Fields | None, owner: type) -> Self | T_co: ...

    def read(self, fields: Fields) -> T_co:
        """The field's value."""
        return self.__get__(fields, type(fields))

    def typed(self, value: object, fields: Fields) -> T_co:
        """Convert ``value``, which was read from ``fields``, to the field's type."""
        raise NotImplementedError

    def _reader(self) -> Callable[[Fields], T_co]:
        path, typed = self.path, self.typed
        if len(path) == 1:
            (step,) = path
            return lambda fields: typed(raw.get(step) if type(raw := fields.raw) is dict else fields.at(step), fields)

        return lambda fields: typed(fields.at(*path), fields)


class Text(_Field[str]):
    """A text; "" if there is none."""

    def _reader(self) -> Callable[[Fields], str]:
        path = self.path
        if len(path) != 1:
            return super()._reader()
        (step,) = path

        def read(fields: Fields) -> str:  # most fields are such texts, so the call of ``typed`` is left out
            raw = fields.raw
            value = raw.get(step) if type(raw) is dict else fields.at(step)
            return value if isinstance(value, str) else ""

        return read

    def typed(self, value: object, fields: Fields) -> str:  # noqa: ARG002
        return value if isinstance(value, str) else ""


class Number(_Field[int | None]):
    """A whole number; a boolean is none."""

    def typed(self, value: object, fields: Fields) -> int | None:  # noqa: ARG002
        return value if isinstance(value, int) and not isinstance(value, bool) else None


class Flag(_Field[bool]):
    """True if the value is true."""

    def typed(self, value: object, fields: Fields) -> bool:  # noqa: ARG002
        return value is True


class Present(_Field[bool]):
    """True if the value is not null."""

    def typed(self, value: object, fields: Fields) -> bool:  # noqa: ARG002
        return value is not None


class Value(_Field[object]):
    """The raw value, for fields of several types (``IntOrString``)."""

    def typed(self, value: object, fields: Fields) -> object:  # noqa: ARG002
        return value


class Texts(_Field[tuple[str, ...]]):
    """The texts of a list."""

    def typed(self, value: object, fields: Fields) -> tuple[str, ...]:  # noqa: ARG002
        return tuple([item for item in value if isinstance(item, str)]) if isinstance(value, list) else ()


class Words(_Field[dict[str, str]]):
    """A mapping of text to text, as labels are."""

    def typed(self, value: object, fields: Fields) -> dict[str, str]:  # noqa: ARG002
        return {key: word for key, word in _items(value) if isinstance(key, str) and isinstance(word, str)}


class Moment(_Field[datetime | None]):
    """A time (RFC 3339)."""

    def typed(self, value: object, fields: Fields) -> datetime | None:  # noqa: ARG002
        return moment(value) if isinstance(value, str) else None


class Part(_Field[V]):
    """A mapping as a view; an empty one if there is none."""

    def __init__(self, view: type[V], *steps: str) -> None:
        super().__init__(*steps)
        self._view = view

    def typed(self, value: object, fields: Fields) -> V:
        found = value if value is not None and isinstance(value, _MAPPING) else {}
        return self._view(found, (*fields.steps, *self.path))


class Parts(_Field[tuple[V, ...]]):
    """The mappings of a list as views. The last of the steps of each is its index in the list."""

    def __init__(self, view: type[V], *steps: str) -> None:
        super().__init__(*steps)
        self._view = view

    def typed(self, value: object, fields: Fields) -> tuple[V, ...]:
        if not isinstance(value, list):
            return ()
        view, steps = self._view, (*fields.steps, *self.path)
        return tuple([view(each, (*steps, place)) for place, each in enumerate(value) if isinstance(each, _MAPPING)])


class Named(_Field[dict[str, V]]):
    """The mappings in a mapping as views, by key."""

    def __init__(self, view: type[V], *steps: str) -> None:
        super().__init__(*steps)
        self._view = view

    def typed(self, value: object, fields: Fields) -> dict[str, V]:
        steps = (*fields.steps, *self.path)
        found = ((str(key), each) for key, each in _items(value))
        return {key: self._view(each, (*steps, key)) for key, each in found if isinstance(each, _MAPPING)}


def _items(value: object) -> Iterable[tuple[object, object]]:
    return value.items() if value is not None and isinstance(value, _MAPPING) else ()
