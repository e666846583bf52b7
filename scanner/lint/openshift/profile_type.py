"""The type of a ``tlsSecurityProfile``, and the field that goes with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.files.problems import did_you_mean
from scanner.files.source_positions import shown
from scanner.kube.kinds import API_SERVER
from scanner.lint.fields.unknown import nearest
from scanner.lint.openshift.profiles import SUBJECTS, Declaration, declarations
from scanner.model.declared_profile import TYPES
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_NAME: Final = "cluster"
_RECOMMENDED: Final = ("Intermediate", "Modern")
"""Types that stand in a correction: Old is weak, and Custom says nothing without a list."""


def check_type(subject: Subject) -> Iterator[Flaw]:
    """A `tlsSecurityProfile` has a type that the API knows, and the field of that type."""
    if subject.object.kind == API_SERVER and subject.object.name != _NAME:
        yield Flaw(
            message=f"the API server refuses it: must be {_NAME}",
            at=("metadata", "name"),
            expected=(_NAME,),
            fix=f"name it {_NAME}: there is one for each cluster",
        )
    for each in declarations(subject.object):
        yield from _of(each)


def _of(each: Declaration) -> Iterator[Flaw]:
    said = each.fields.at("type")
    given = [name for name in TYPES.values() if each.fields.has(name)]
    if said is None or (said == "" and given):
        yield from _without_type(each, given)
    elif not isinstance(said, str) or said not in TYPES:
        yield _unknown(each, said)
    else:
        yield from _fields_of(each, said, given)


def _without_type(each: Declaration, given: list[str]) -> Iterator[Flaw]:
    if given:
        meant = next(name for name, field in TYPES.items() if field == given[0])
        yield Flaw(
            message=f"{each.refused_by}: one of the profiles is set but 'type' field is empty",
            at=each.steps,
            fix=f"add 'type: {meant}'",
            correction=f"tlsSecurityProfile:\n  type: {meant}",
        )


def _unknown(each: Declaration, said: object) -> Flaw:
    listed = ", ".join(f'"{name}"' for name in TYPES)
    meant = nearest(said, TYPES) if isinstance(said, str) else None
    return Flaw(
        message=f"no API takes it: Unsupported value: {shown(said)}: supported values: {listed}",
        at=(*each.steps, "type"),
        expected=tuple(TYPES),
        fix=did_you_mean(said, TYPES) if isinstance(said, str) else f"one of {', '.join(TYPES)}",
        correction=f"tlsSecurityProfile:\n  type: {meant}\n  {TYPES[meant]}: {{}}" if meant in _RECOMMENDED else None,
    )


def _fields_of(each: Declaration, said: str, given: list[str]) -> Iterator[Flaw]:
    own = TYPES[said]
    if own not in given and (each.object.kind == API_SERVER or said == "Custom"):
        yield Flaw(
            message=f"{each.refused_by}: type set to {said}, but the corresponding field is unset",
            at=(*each.steps, "type"),
            fix=f"add '{own}: {{}}'" if said != "Custom" else "add custom, with ciphers and minTLSVersion",
            correction=None if said == "Custom" else f"tlsSecurityProfile:\n  type: {said}\n  {own}: {{}}",
        )
    for other in given:
        if other != own:
            yield Flaw(
                message=f"type is {said}, so {other} means nothing",
                at=(*each.steps, other),
                severity="low",
                fix=f"remove {other}, or change the type",
            )


TYPE = ObjectRule(
    id="tls-profile-type",
    subjects=SUBJECTS,
    check=check_type,
)
