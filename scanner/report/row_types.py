"""Whether JSON has the types that a row declares: what is read back may have been changed by anybody."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import UnionType
from typing import Any, TypeAlias, get_args, get_origin, get_type_hints, is_typeddict

from scanner.model.row import ObservedRow

Fits: TypeAlias = Callable[[Any], bool]
"""Whether a JSON value is of one type."""

_UNREAD = (ObservedRow,)
"""Most of a row, and nobody reads it back: what was observed is judged again from what was kept of it."""


@lru_cache(maxsize=256)
def fits(type_: Any) -> Fits:  # noqa: ANN401 - a type, as annotations have it
    """What tells values of a TypedDict of ours, or of what is in one, from others. Fields that are too many do."""
    origin, within = get_origin(type_), get_args(type_)
    if is_typeddict(type_):
        return _a_dict if type_ in _UNREAD else _mapping(type_)
    if origin is UnionType:
        several = tuple(map(fits, within))
        return lambda value: any(each(value) for each in several)
    if origin is list:
        item = fits(within[0])
        return lambda value: type(value) is list and all(map(item, value))
    if origin is dict:
        inner = fits(within[1])
        return lambda value: type(value) is dict and all(map(inner, value.values()))
    return lambda value: type(value) is type_


def _a_dict(value: object) -> bool:
    return type(value) is dict


def _mapping(type_: Any) -> Fits:  # noqa: ANN401 - see above
    fields = [(name, fits(hint)) for name, hint in get_type_hints(type_).items()]
    required = type_.__required_keys__

    def told(value: Any) -> bool:  # noqa: ANN401 - JSON
        if type(value) is not dict or not value.keys() >= required:
            return False
        return all(fit(value[name]) for name, fit in fields if name in value)

    return told
