"""Values that an API server refuses, or that mean nothing to who reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from scanner.files.source_positions import Steps, shown
from scanner.lint.fields.shape import Number, Text
from scanner.lint.fields.shapes import SHAPES
from scanner.lint.fields.unknown import nearest
from scanner.lint.fields.walk import Clashing, Lacking, Miscounted, Unknown, Untaken, compare
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_PLAIN = re.compile(r"[A-Za-z0-9*][A-Za-z0-9./*-]*\Z")
"""What may stand in a correction."""
_STRANGE = 20
"""Unknown fields of one mapping that are compared with what it lacks."""


def check_values(subject: Subject) -> Iterator[Flaw]:
    """Values in the TLS parts of an object are such as their fields take."""
    strange: dict[Steps, list[str]] = {}
    for each in compare(subject):
        if isinstance(each, Unknown):
            names = strange.setdefault(each.at[:-1], [])
            names += [each.name] if len(names) < _STRANGE else []
        elif isinstance(each, Untaken):
            yield _untaken(subject, each)
        elif isinstance(each, Miscounted):
            yield _refused(subject, each, f"has {each.count} items, and may have {_bounds(each.least, each.most)}")
        elif isinstance(each, Clashing):
            yield _clashing(subject, each)
        elif isinstance(each, Lacking) and not _misspelt(each, strange.get(each.at[:-1], ())):
            yield _refused(subject, each, f"{each.name} is missing, and must be there", f"write {each.name}")


def _misspelt(lacking: Lacking, names: Iterable[str]) -> bool:
    """Whether it is there by another name, which is ``field-unknown``'s. Names come before what is lacking."""
    return any(nearest(name, [lacking.name]) for name in names)


def _refused(subject: Subject, each: Miscounted | Lacking, what: str, fix: str = "mend the list") -> Flaw:
    return Flaw(
        message=f"{what}: the API server refuses the object", at=each.at, fix=f"{subject.object.reference}: {fix}"
    )


def _clashing(subject: Subject, each: Clashing) -> Flaw:
    said = each.clash.says
    return Flaw(
        message=said if each.clash.admitted else f"{said}: the API server refuses the object",
        at=each.at,
        severity="medium" if each.clash.admitted else None,
        fix=f"{subject.object.reference}: {each.clash.fix}",
    )


def _untaken(subject: Subject, each: Untaken) -> Flaw:
    expected, meant = _expected(each), _meant(each)
    ignored = isinstance(each.shape, Text) and isinstance(each.value, str) and each.shape.takes(each.value)
    why = "nobody knows it, and it is served by nobody" if ignored else "the API server refuses the object"
    message = f"must be {_either(expected)}, not {_seen(each)}: {why}"
    return Flaw(
        message=f"{message}; did you mean {meant}?" if meant else message,
        at=each.at,
        severity="medium" if ignored else None,
        expected=expected,
        observed=(_seen(each),),
        fix=f"{subject.object.reference}: write {meant or _either(expected)}",
        correction=_correction(each, meant),
    )


def _either(words: tuple[str, ...]) -> str:
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def _seen(each: Untaken) -> str:
    return (
        f"{len(each.value)} characters"
        if isinstance(each.value, str) and not each.value.isprintable()
        else (shown(each.value))
    )


def _expected(each: Untaken) -> tuple[str, ...]:
    shape = each.shape
    if isinstance(shape, Number):
        return (_bounds(shape.least or 0, shape.most),)
    if shape.enum:
        return tuple(word or '""' for word in shape.enum)
    length = _bounds(shape.shortest, shape.longest) + " characters"
    fits = shape.shortest <= len(str(each.value)) and (shape.longest is None or len(str(each.value)) <= shape.longest)
    return (shape.meant if shape.meant and (fits or not each.value) else length,)


def _bounds(least: int, most: int | None) -> str:
    return f"at least {least}" if most is None else f"at most {most}" if not least else f"{least} to {most}"


def _meant(each: Untaken) -> str | None:
    """The value that was nearly written."""
    if isinstance(each.shape, Number) or not isinstance(each.value, str):
        return None
    words = [word for word in (*each.shape.enum, *each.shape.known) if word]
    if words:
        return nearest(each.value.strip(), words)
    said = each.value[:300].strip().lower().removesuffix(".")
    return said if _PLAIN.match(said) and each.shape.takes(said) else None


def _correction(each: Untaken, meant: str | None) -> str | None:
    name = next((step for step in reversed(each.at) if isinstance(step, str)), "")
    if not meant or not isinstance(each.shape, Text) or meant in each.shape.weak:
        return None
    value = f'"{meant}"' if meant.startswith("*") else meant
    return f"{name}: {value}" if isinstance(each.at[-1], str) else f"{name}: [{value}]"


VALUES = ObjectRule(
    id="field-value",
    subjects=tuple(SHAPES),
    check=check_values,
)
