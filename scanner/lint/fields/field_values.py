"""Values of another type than their field's, values that an API server refuses, and values without a meaning."""

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
"""Names that may be part of a correction: the author of an object chooses the keys of a mapping."""


def check_types(subject: Subject) -> Iterator[Flaw]:
    """Values in the TLS parts of an object are of their fields' types."""
    for each in compare(subject):
        if isinstance(each, WrongType):
            yield Flaw(
                message=f"must be {each.expected}, not {_type_shown(each)}: the API server refuses the object",
                at=each.at,
                expected=(each.expected,),
                observed=(_type_shown(each),),
                fix=f"{subject.object.reference}: write {each.expected}",
                correction=_type_correction(each),
            )


def _type_shown(wrong: WrongType) -> str:
    """Nothing of what is in a list or mapping, and nothing of a key."""
    if isinstance(wrong.value, list | dict):
        return "a list" if isinstance(wrong.value, list) else "a mapping"
    if wrong.value is None:
        return "null"
    return "something else" if wrong.at[-1:] == ("key",) else shown(wrong.value)


def _type_correction(wrong: WrongType) -> str | None:
    """Where it is plain what was meant."""
    name, value = wrong.at[-1] if wrong.at else "", wrong.value
    if not isinstance(name, str) or name == "key":
        return None
    if isinstance(value, float) and abs(value) > MAX_EXACT:
        return None  # what was written is lost
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
"""What may stand in a correction."""
_STRANGE = 20
"""Unknown fields of one mapping that are compared with what it lacks."""


def check_values(subject: Subject) -> Iterator[Flaw]:
    """Values in the TLS parts of an object are such as their fields take."""
    strange: dict[Steps, list[str]] = {}
    for each in compare(subject):
        if isinstance(each, UnknownField):
            names = strange.setdefault(each.at[:-1], [])
            names += [each.name] if len(names) < _STRANGE else []
        elif isinstance(each, WrongValue):
            yield _wrong_value(subject, each)
        elif isinstance(each, WrongCount):
            yield _refused(subject, each, f"has {each.count} items, and may have {_bounds(each.least, each.most)}")
        elif isinstance(each, Violated):
            yield _violated(subject, each)
        elif isinstance(each, MissingField) and not _misspelt(each, strange.get(each.at[:-1], ())):
            yield _refused(subject, each, f"{each.name} is required and missing", f"set {each.name}")


def _misspelt(missing: MissingField, names: Iterable[str]) -> bool:
    """Whether it is there by another name, which is ``field-unknown``'s. Names come before what is lacking."""
    return any(nearest(name, [missing.name]) for name in names)


def _refused(subject: Subject, each: WrongCount | MissingField, what: str, fix: str = "correct the list") -> Flaw:
    return Flaw(
        message=f"{what}: the API server refuses the object", at=each.at, fix=f"{subject.object.reference}: {fix}"
    )


def _violated(subject: Subject, each: Violated) -> Flaw:
    said = each.constraint.message
    return Flaw(
        message=said if each.constraint.accepted else f"{said}: the API server refuses the object",
        at=each.at,
        severity="medium" if each.constraint.accepted else None,
        fix=f"{subject.object.reference}: {each.constraint.fix}",
    )


def _wrong_value(subject: Subject, each: WrongValue) -> Flaw:
    expected, meant = _expected(each), _meant(each)
    ignored = isinstance(each.shape, TextShape) and isinstance(each.value, str) and each.shape.accepts(each.value)
    why = "unknown value, and no controller serves it" if ignored else "the API server refuses the object"
    message = f"must be {_either(expected)}, not {_value_shown(each)}: {why}"
    return Flaw(
        message=f"{message}; did you mean {meant}?" if meant else message,
        at=each.at,
        severity="medium" if ignored else None,
        expected=expected,
        observed=(_value_shown(each),),
        fix=f"{subject.object.reference}: write {meant or _either(expected)}",
        correction=_value_correction(each, meant),
    )


def _either(words: tuple[str, ...]) -> str:
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def _value_shown(each: WrongValue) -> str:
    return (
        f"{len(each.value)} characters"
        if isinstance(each.value, str) and not each.value.isprintable()
        else (shown(each.value))
    )


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


def _meant(each: WrongValue) -> str | None:
    """The value that was nearly written."""
    if isinstance(each.shape, NumberShape) or not isinstance(each.value, str):
        return None
    words = [word for word in (*each.shape.enum, *each.shape.known) if word]
    if words:
        return nearest(each.value.strip(), words)
    said = each.value[:300].strip().lower().removesuffix(".")
    return said if _PLAIN.match(said) and each.shape.accepts(said) else None


def _value_correction(each: WrongValue, meant: str | None) -> str | None:
    name = next((step for step in reversed(each.at) if isinstance(step, str)), "")
    if not meant or not isinstance(each.shape, TextShape) or meant in each.shape.weak:
        return None
    value = f'"{meant}"' if meant.startswith("*") else meant
    return f"{name}: {value}" if isinstance(each.at[-1], str) else f"{name}: [{value}]"


VALUES = ObjectRule(id="field-value", subjects=KINDS, check=check_values)
