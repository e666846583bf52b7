"""Conversion of values of the model to JSON and back, by their types: exact, and strict about edited files.

Every field of a class is a member; a tuple or set is a list, a mapping an object, an enumeration its value, a time
RFC 3339, bytes base64, and ``Unknown`` is ``{"unknown": "the reason"}``. A missing member gets its default, so that
files of older releases can be read; an unknown one is refused, for it may matter. Rows (``TypedDict``) are JSON
already: they are checked, and unknown members stay.

pydantic converts faster, but this format would need annotations on the types of ``tls`` and ``kube``.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from math import isfinite
from types import NoneType, UnionType
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from msgspec import Struct, structs

from scanner.kube.maybe import Unknown
from scanner.model.row import ObservedRow
from scanner.tls.certificate import CertificateFacts, parsed_once

_LARGEST = 2**53
"""Larger whole numbers differ between readers of JSON (RFC 8259, section 6)."""


class DecodeError(ValueError):
    """JSON that is not a value of the type: ``path`` is the member, ``problem`` the error."""

    def __init__(self, problem: str, path: str = "") -> None:
        super().__init__(problem)
        self.problem, self.path = problem, path

    def inside(self, step: str) -> DecodeError:
        """The same error, with a longer path."""
        joined = step + (self.path if self.path.startswith("[") or not self.path else f".{self.path}")
        return DecodeError(self.problem, joined)


class Codec(Struct, frozen=True):
    """The conversion of one type."""

    encode: Callable[[Any], object]
    decode: Callable[[object], Any]
    """Raises ``DecodeError``."""


def codec(kind: Any) -> Codec:  # noqa: ANN401 - a type, as ``typing`` has them
    """The codec of a type. Raises ``TypeError`` for an unsupported type."""
    return _made(kind)


@cache
def _made(kind: Any) -> Codec:  # noqa: ANN401 - as above
    if kind in _PLAIN:
        return _PLAIN[kind]
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return Codec(_same, _one_of({value: value for value in arguments}))
    if origin in (Union, UnionType):
        return _union(arguments)
    if origin in (tuple, list, frozenset, Mapping, dict):
        return _container(origin, arguments)
    if is_typeddict(kind):
        return _row(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return Codec(lambda value: value.value, _one_of({each.value: each for each in kind}))
    if isinstance(kind, type) and (issubclass(kind, Struct) or is_dataclass(kind)):
        return _class(kind)
    raise TypeError(f"no codec for {kind}")


def _container(origin: Any, kinds: tuple[Any, ...]) -> Codec:  # noqa: ANN401 - as above
    if origin is tuple:
        return _tuple(kinds)
    if origin in (Mapping, dict):
        return _mapping(*kinds)
    each = codec(kinds[0])
    return _set(each) if origin is frozenset else Codec(_same, lambda value: _items(each, value))


def _same(value: object) -> object:
    return value


def _exactly(kind: type, called: str) -> Callable[[object], Any]:
    def decode(value: object) -> object:
        if type(value) is not kind:
            raise DecodeError(f"not {called}")
        return value

    return decode


def _number(value: object) -> int:
    if type(value) is not int or abs(value) > _LARGEST:
        raise DecodeError("not a whole number")
    return value


def _seconds(value: object) -> float:
    if type(value) not in (int, float) or not isfinite(value):  # type: ignore[arg-type] # the first half has seen to it
        raise DecodeError("not a number")
    return float(value)  # type: ignore[arg-type]


def _time(value: object) -> datetime:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise DecodeError("not a time with its offset")
    return moment


def _bytes(value: object) -> bytes:
    if not isinstance(value, str):
        raise DecodeError("not base64")
    try:
        return b64decode(value, validate=True)
    except (NotBase64, ValueError) as error:
        raise DecodeError("not base64") from error


def _unknown(value: object) -> Unknown:
    if not isinstance(value, dict) or value.keys() != {"unknown"} or not isinstance(value["unknown"], str):
        raise DecodeError('not {"unknown": "the reason"}')
    return Unknown(value["unknown"])


_PLAIN: dict[Any, Codec] = {
    str: Codec(_same, _exactly(str, "a text")),
    bool: Codec(_same, _exactly(bool, "true or false")),
    int: Codec(_same, _number),
    float: Codec(_same, _seconds),
    NoneType: Codec(_same, _exactly(NoneType, "null")),
    datetime: Codec(datetime.isoformat, _time),
    bytes: Codec(lambda value: b64encode(value).decode(), _bytes),
    CertificateFacts: Codec(lambda facts: b64encode(facts.der).decode(), lambda value: parsed_once(_bytes(value))),
    Unknown: Codec(lambda unknown: {"unknown": unknown.reason}, _unknown),
    ObservedRow: Codec(_same, _exactly(dict, "an object")),  # large, and never read back
}


def _one_of(values: dict[Any, Any]) -> Callable[[object], Any]:
    def decode(value: object) -> object:
        if isinstance(value, str) and value in values:
            return values[value]
        raise DecodeError(f"none of {', '.join(map(str, values))}")

    return decode


def _union(kinds: tuple[Any, ...]) -> Codec:
    """A codec of ``Unknown``, None and one other type."""
    rest = [kind for kind in kinds if kind not in (Unknown, NoneType)]
    if len(rest) != 1:
        raise TypeError(f"no codec for one of {kinds}")
    inner, unknown, nothing = codec(rest[0]), Unknown in kinds, NoneType in kinds

    def encode(value: object) -> object:
        if isinstance(value, Unknown):
            return _PLAIN[Unknown].encode(value)
        return None if value is None else inner.encode(value)

    def decode(value: object) -> object:
        if unknown and isinstance(value, dict) and "unknown" in value:
            return _unknown(value)
        return None if nothing and value is None else inner.decode(value)

    return Codec(encode, decode)


def _listed(value: object) -> list[object]:
    if not isinstance(value, list):
        raise DecodeError("not a list")
    return value


def _items(each: Codec, value: object) -> list[Any]:
    found = []
    for place, item in enumerate(_listed(value)):
        try:
            found.append(each.decode(item))
        except DecodeError as error:
            raise error.inside(f"[{place}]") from None
    return found


def _tuple(kinds: tuple[Any, ...]) -> Codec:
    if kinds[-1] is Ellipsis:
        each = codec(kinds[0])
        return Codec(lambda values: [each.encode(item) for item in values], lambda value: tuple(_items(each, value)))
    codecs = [codec(kind) for kind in kinds]

    def decode(value: object) -> tuple[Any, ...]:
        if len(_listed(value)) != len(codecs):
            raise DecodeError(f"not a list of {len(codecs)}")
        return tuple(one.decode(item) for one, item in zip(codecs, _listed(value), strict=True))

    return Codec(lambda values: [one.encode(item) for one, item in zip(codecs, values, strict=True)], decode)


def _set(each: Codec) -> Codec:
    return Codec(
        lambda values: sorted(each.encode(item) for item in values),  # type: ignore[type-var] # numbers, texts
        lambda value: frozenset(_items(each, value)),
    )


def _mapping(key: Any, kind: Any) -> Codec:  # noqa: ANN401 - types
    each = codec(kind)

    def decode(value: object) -> dict[Any, Any]:
        if not isinstance(value, dict):
            raise DecodeError("not an object")
        found = {}
        for name, item in value.items():
            try:
                found[_key(key, name)] = each.decode(item)
            except DecodeError as error:
                raise error.inside(name[:40]) from None
        return found

    return Codec(lambda values: {str(name): each.encode(item) for name, item in values.items()}, decode)


def _key(kind: type, name: str) -> object:
    """The key of a mapping: text, or a code point in decimal."""
    if kind is not int:
        return name
    if not name.isascii() or not name.isdigit() or len(name) > 6:
        raise DecodeError("not a code point")
    return int(name)


def _class(kind: type) -> Codec:
    types = get_type_hints(kind)
    required = _fields(kind)
    codecs = {name: codec(types[name]) for name in required}
    defaults = {name for name, must in required.items() if not must}

    def encode(value: object) -> dict[str, object]:
        return {name: each.encode(getattr(value, name)) for name, each in codecs.items()}

    def decode(value: object) -> object:
        if not isinstance(value, dict):
            raise DecodeError("not an object")
        if unknown := value.keys() - codecs.keys():
            raise DecodeError(f"unknown member: {min(unknown)[:40]}")
        if missing := codecs.keys() - value.keys() - defaults:
            raise DecodeError(f"{min(missing)} is missing")
        found = {}
        for name, item in value.items():
            try:
                found[name] = codecs[name].decode(item)
            except DecodeError as error:
                raise error.inside(name) from None
        return kind(**found)

    return Codec(encode, decode)


def _row(kind: Any) -> Codec:  # noqa: ANN401 - a type
    types, marked = get_type_hints(kind), get_type_hints(kind, include_extras=True)
    codecs = {name: codec(each) for name, each in types.items()}
    # ``__required_keys__`` has them all: it does not see NotRequired in annotations that are text.
    required = {name for name, each in marked.items() if get_origin(each) is not NotRequired}

    def decode(value: object) -> object:
        if not isinstance(value, dict):
            raise DecodeError("not an object")
        if missing := required - value.keys():
            raise DecodeError(f"{min(missing)} is missing")
        for name, each in codecs.items():
            if name in value:
                try:
                    each.decode(value[name])
                except DecodeError as error:
                    raise error.inside(name) from None
        return value

    return Codec(_same, decode)


def _fields(kind: type) -> dict[str, bool]:
    """Return the names of the fields, and whether a value is required."""
    if issubclass(kind, Struct):
        return {each.name: each.required for each in structs.fields(kind)}
    every = fields(kind)  # type: ignore[arg-type] # a dataclass: the caller has looked
    return {each.name: each.default is MISSING and each.default_factory is MISSING for each in every}
