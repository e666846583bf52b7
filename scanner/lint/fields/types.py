"""Values of another type than their field's."""

from __future__ import annotations

import re
from collections.abc import Iterator

from scanner.files.source_positions import shown
from scanner.lint.fields.shape import MOST_EXACT, Items, Text
from scanner.lint.fields.shapes import SHAPES
from scanner.lint.fields.walk import Mistyped, compare
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]*\Z")
"""Names that may stand in a correction: those of a mapping's entries are whoever's choice."""


def check_types(subject: Subject) -> Iterator[Flaw]:
    """Values in the TLS parts of an object are of their fields' types."""
    for each in compare(subject):
        if isinstance(each, Mistyped):
            yield Flaw(
                message=f"must be {each.meant}, not {_seen(each)}: the API server refuses the object",
                at=each.at,
                expected=(each.meant,),
                observed=(_seen(each),),
                fix=f"{subject.object.reference}: write {each.meant}",
                correction=_correction(each),
            )


def _seen(mistyped: Mistyped) -> str:
    """Nothing of what is in a list or mapping, and nothing of a key."""
    if isinstance(mistyped.value, list | dict):
        return "a list" if isinstance(mistyped.value, list) else "a mapping"
    if mistyped.value is None:
        return "null"
    return "something else" if mistyped.at[-1:] == ("key",) else shown(mistyped.value)


def _correction(mistyped: Mistyped) -> str | None:
    """Where it is plain what was meant."""
    name, value = mistyped.at[-1] if mistyped.at else "", mistyped.value
    if not isinstance(name, str) or name == "key":
        return None
    if isinstance(value, float) and abs(value) > MOST_EXACT:
        return None  # nobody knows any more what was written
    if isinstance(mistyped.shape, Text) and isinstance(value, int | float) and _PLAIN.match(name):
        return f'{name}: "{str(value).lower() if isinstance(value, bool) else value}"'
    if (
        isinstance(mistyped.shape, Items)
        and isinstance(mistyped.shape.of, Text)
        and isinstance(value, str)
        and value.isprintable()
    ):
        return f"{name}: [{value}]"
    return None


TYPES = ObjectRule(
    id="field-type",
    subjects=tuple(SHAPES),
    check=check_types,
)
