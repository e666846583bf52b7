"""Fields that an object's kind does not have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from scanner.files.source_positions import dotted, shown
from scanner.kube.kinds import CUSTOM_RESOURCE_DEFINITION
from scanner.kube.schema import UnknownField, definition
from scanner.lint.fields.misplaced import belongs
from scanner.lint.fields.schemas import KINDS, compare
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_CUTOFF = 0.75
"""``tlsSecurityProfil`` and ``certificateRef`` are nearer than this to what they should be."""


def check_unknown(subject: Subject) -> Iterator[Flaw]:
    """The TLS parts of an object have only fields that their kind has."""
    for each in compare(subject):
        if isinstance(each, UnknownField):
            yield _flaw(subject, each)


def _flaw(subject: Subject, unknown: UnknownField) -> Flaw:
    message = f"unknown field {shown(unknown.name)}, removed by the API server"
    checked = f"checked against {definition(subject.object.kind)}"
    field = belongs(subject, unknown.at)
    if field:
        return Flaw(
            message=f"{message}: this security setting belongs in {field} ({checked})",
            at=unknown.at,
            severity="high",
            expected=(field,),
            observed=(dotted(unknown.at),),
            fix=f"{subject.object.reference}: move {unknown.name} to {field}",
        )
    meant = nearest(unknown.name, unknown.known)
    return Flaw(
        message=f"{message}; did you mean {meant}? ({checked})" if meant else f"{message} ({checked})",
        at=unknown.at,
        severity=None if meant else "low",
        expected=(meant,) if meant else unknown.known[:20],
        observed=(unknown.name,),
        fix=f"{subject.object.reference}: " + (f"rename the field to {meant}" if meant else "remove the field"),
        correction=f"{meant}: ..." if meant else None,
    )


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that ``name`` was probably meant to be."""
    spellings = {each.lower(): each for each in known}
    close = get_close_matches(name[:80].lower(), spellings, n=1, cutoff=_CUTOFF)
    return spellings[close[0]] if close else None


UNKNOWN = ObjectRule(id="field-unknown", subjects=KINDS, check=check_unknown, reads=(CUSTOM_RESOURCE_DEFINITION,))
