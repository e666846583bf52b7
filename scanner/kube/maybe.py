"""``Known``: a value, or ``Unknown`` with the reason."""

from __future__ import annotations

from typing import TypeAlias, TypeVar

from msgspec import Struct

T = TypeVar("T")


class Unknown(Struct, frozen=True, tag=True):  # tagged: msgspec decodes unions of structs by their tags
    """A value that could not be determined. A check that depends on it never passes."""

    reason: str
    """One clause for people, without a full stop: ``the listener refused every offer``."""


Known: TypeAlias = T | Unknown
