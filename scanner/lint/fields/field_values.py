"""Values with a wrong type, values that the API server refuses, and values without a meaning."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from scanner.files.source_positions import Steps, shown
from scanner.kube.schema import (
    MAX_EXACT,
    Array,
    MissingField,
    NumberShape,
    TextShape,
    UnknownField,
    Violated,
    WrongCount,
    WrongType,
    WrongValue,
)
from scanner.lint.fields.schemas import KINDS, compare
from scanner.lint.fields.unknown_fields import nearest
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]*\Z")
"""Names that are safe in a correction: the author of an object chooses the keys of a mapping."""


def check_types(subject: Subject) -> Iterator[Flaw]:
    """Values in the TLS parts of an object have the types of their fields."""
    for each in compare(subject):
        if isinstance(each, WrongType):
            yield Flaw(
                message=f"must be {each.expected}, not {_type_shown(each)}: the API server refuses the object",
                at=each.at,
                expected=(each.expected,),
                observed=(_type_shown(each),),
                fix=f"{subject.object.reference}: set {each.expected}",
                correction=_type_correction(each),
            )


def _type_shown(wrong: WrongType) -> str:
    """The value as text, without the content of a list, a mapping or a private key."""
    if isinstance(wrong.value, list | dict):
        return "a list" if isinstance(wrong.value, list) else "a mapping"
    if wrong.value is None:
        return "null"
    return "something else" if wrong.at[-1:] == ("key",) else shown(wrong.value)


def _type_correction(wrong: WrongType) -> str | None:
    """A correction, if it is obvious."""
    name, value = wrong.at[-1] if wrong.at else "", wrong.value
    if not isinstance(name, str) or name == "key":
        return None
    if isinstance(value, float) and abs(value) > MAX_EXACT:
        return None  # the digits were lost when the number was parsed
    if isinstance(wrong.shape, TextShape) and isinstance(value, int | float) and _NAME.match(name):
        return f'{name}: "{str(value).lower() if isinstance(value, bool) else value}"'
    if (
        isinstance(wrong.shape, Array)
        and isinstance(wrong.shape.items, TextShape)
        and isinstance(value, str)
        and value.isprintable()
    ):
        return f"{name}: [{value}]"
    return None


TYPES = ObjectRule(id="field-type", subjects=KINDS, check=check_types)

_PLAIN = re.compile(r"[A-Za-z0-9*][A-Za-z0-9./*-]*\Z")
"""Values that are safe in a correction."""
_MOST_UNKNOWN = 20
"""Unknown fields of one mapping that are compared with its missing fields."""


def check_values(subject: Subject) -> Iterator[Flaw]:
    """Values in the TLS parts of an object are valid."""
    unknown: dict[Steps, list[str]] = {}
    for each in compare(subject):
        if isinstance(each, UnknownField):
            names = unknown.setdefault(each.at[:-1], [])
            names += [each.name] if len(names) < _MOST_UNKNOWN else []
        elif isinstance(each, WrongValue):
            yield _wrong_value(subject, each)
        elif isinstance(each, WrongCount):
            yield _refused(subject, each, f"has {each.count} items, but may have {_bounds(each.least, each.most)}")
        elif isinstance(each, Violated):
            yield _violated(subject, each)
        elif isinstance(each, MissingField) and not _is_misspelt(each, unknown.get(each.at[:-1], ())):
            yield _refused(subject, each, f"{each.name} is required and missing", f"set {each.name}")


def _is_misspelt(missing: MissingField, names: Iterable[str]) -> bool:
    """True if ``field-unknown`` reports it under a similar name. Unknown fields come before missing ones."""
    return any(nearest(name, [missing.name]) for name in names)


def _refused(subject: Subject, each: WrongCount | MissingField, what: str, fix: str = "correct the list") -> Flaw:
    return Flaw(
        message=f"{what}: the API server refuses the object", at=each.at, fix=f"{subject.object.reference}: {fix}"
    )


def _violated(subject: Subject, each: Violated) -> Flaw:
    message = each.constraint.message
    return Flaw(
        message=message if each.constraint.accepted else f"{message}: the API server refuses the object",
        at=each.at,
        severity="medium" if each.constraint.accepted else None,
        fix=f"{subject.object.reference}: {each.constraint.fix}",
    )


def _wrong_value(subject: Subject, each: WrongValue) -> Flaw:
    expected, near = _expected(each), _nearest_value(each)
    ignored = isinstance(each.shape, TextShape) and isinstance(each.value, str) and each.shape.accepts(each.value)
    why = "unknown value, and no controller serves it" if ignored else "the API server refuses the object"
    message = f"must be {_either(expected)}, not {_value_shown(each)}: {why}"
    return Flaw(
        message=f"{message}; did you mean {near}?" if near else message,
        at=each.at,
        severity="medium" if ignored else None,
        expected=expected,
        observed=(_value_shown(each),),
        fix=f"{subject.object.reference}: set {near or _either(expected)}",
        correction=_value_correction(each, near),
    )


def _either(words: tuple[str, ...]) -> str:
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def _value_shown(each: WrongValue) -> str:
    if isinstance(each.value, str) and not each.value.isprintable():
        return f"{len(each.value)} characters"
    return shown(each.value)


def _expected(each: WrongValue) -> tuple[str, ...]:
    shape = each.shape
    if isinstance(shape, NumberShape):
        return (_bounds(shape.minimum or 0, shape.maximum),)
    if shape.enum:
        return tuple(word or '""' for word in shape.enum)
    length = _bounds(shape.min_length, shape.max_length) + " characters"
    size = len(str(each.value))
    fits = shape.min_length <= size and (shape.max_length is None or size <= shape.max_length)
    return (shape.description if shape.description and (fits or not each.value) else length,)


def _bounds(least: int, most: int | None) -> str:
    return f"at least {least}" if most is None else f"at most {most}" if not least else f"{least} to {most}"


def _nearest_value(each: WrongValue) -> str | None:
    """The valid value that is most similar."""
    if isinstance(each.shape, NumberShape) or not isinstance(each.value, str):
        return None
    words = [word for word in (*each.shape.enum, *each.shape.known) if word]
    if words:
        return nearest(each.value.strip(), words)
    plain = each.value[:300].strip().lower().removesuffix(".")
    return plain if _PLAIN.match(plain) and each.shape.accepts(plain) else None


def _value_correction(each: WrongValue, near: str | None) -> str | None:
    name = next((step for step in reversed(each.at) if isinstance(step, str)), "")
    if not near or not isinstance(each.shape, TextShape) or near in each.shape.weak:
        return None
    value = f'"{near}"' if near.startswith("*") else near
    return f"{name}: {value}" if isinstance(each.at[-1], str) else f"{name}: [{value}]"


VALUES = ObjectRule(id="field-value", subjects=KINDS, check=check_values)
