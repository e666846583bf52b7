"""Fields and types: what an API server would drop or refuse, before it does."""

from __future__ import annotations

from scanner.lint.fields.field_values import TYPES, VALUES
from scanner.lint.fields.unknown_fields import UNKNOWN
from scanner.model.object_rule import ObjectRule

FIELD_RULES: tuple[ObjectRule, ...] = (UNKNOWN, TYPES, VALUES)
