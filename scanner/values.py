"""Copies of values with some fields changed.

Values are ``msgspec.Struct``; only what must not compare or show a field, or is a view of an object, is a dataclass
(docs/decisions/0048-structs.md).
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

__all__ = ["replace"]

if TYPE_CHECKING:
    from dataclasses import replace
else:

    def replace(value: Any, **changes: Any) -> Any:  # noqa: ANN401 - the types above are checked
        """Return a copy with these fields changed. Raises ``TypeError`` for an unknown field."""
        return (structs.replace if isinstance(value, Struct) else dataclasses.replace)(value, **changes)
