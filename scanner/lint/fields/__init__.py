"""Rules on fields: unknown ones, which the API server removes, and types and values that it refuses."""

from __future__ import annotations

from scanner.lint.fields.field_values import TYPES, VALUES
from scanner.lint.fields.unknown_fields import UNKNOWN
from scanner.model.object_rule import ObjectRule

FIELD_RULES: tuple[ObjectRule, ...] = (UNKNOWN, TYPES, VALUES)
