"""The protocol versions of one virtual host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.files.source_positions import Steps, shown
from scanner.kube.kinds import HTTP_PROXY, INGRESS, INGRESS_CLASS
from scanner.lint.contour.configuration import READS as CONFIGURATIONS
from scanner.lint.contour.configuration import configurations
from scanner.lint.contour.uses import TLS, is_contours
from scanner.model.object_rule import Flaw, ObjectRule, Subject

VERSIONS: Final = ("1.2", "1.3")
_ANNOTATIONS: Final = {
    "projectcontour.io/tls-minimum-protocol-version": "minimumProtocolVersion",
    "projectcontour.io/tls-maximum-protocol-version": "maximumProtocolVersion",
}


def check_versions(subject: Subject) -> Iterator[Flaw]:
    """A virtual host's protocol versions are ones that Contour knows."""
    if subject.object.kind == INGRESS and not is_contours(subject.declared, subject.object):
        return
    said = dict(_said(subject))
    for field, (at, value) in said.items():
        if value not in VERSIONS:
            yield _unknown(subject, at, value)
        else:
            yield from _overridden(subject, field, at, str(value))
    (_, lowest), (at, highest) = (said.get(field, ((), None)) for field in _ANNOTATIONS.values())
    if (lowest, highest) == ("1.3", "1.2"):
        refused = ", and Contour calls the HTTPProxy invalid (TLSConfigNotValid)"
        yield Flaw(
            message="the minimum version is above the maximum: nobody can connect"
            + (refused if subject.object.kind == HTTP_PROXY else ""),
            at=at,
            severity="high",
            fix=f"{subject.object.reference}: raise the maximum or lower the minimum",
        )


def _said(subject: Subject) -> Iterator[tuple[str, tuple[Steps, object]]]:
    for annotation, field in _ANNOTATIONS.items():
        steps = (*TLS, field) if subject.object.kind == HTTP_PROXY else ("metadata", "annotations", annotation)
        value = subject.object.at(*steps)
        if value not in (None, ""):
            yield field, (steps, value)


def _unknown(subject: Subject, at: Steps, value: object) -> Flaw:
    near = next((each for each in reversed(VERSIONS) if each in str(value)), "1.2")
    return Flaw(
        message=f"{shown(value)} is no version that Contour knows, and means its default without an error",
        at=at,
        expected=tuple(f'"{each}"' for each in VERSIONS),
        observed=(shown(value),),
        fix=f"{subject.object.reference}: write one of {' and '.join(VERSIONS)} in quotes",
        correction=f'{at[-1]}: "{near}"',
    )


def _overridden(subject: Subject, field: str, at: Steps, value: str) -> Iterator[Flaw]:
    stricter = "1.3" if field == "minimumProtocolVersion" else "1.2"
    found = configurations(subject.declared)
    if value != stricter and found and all(each.tls.at(field) == stricter for each in found):
        yield Flaw(
            message=f"{value} has no effect: {found[0].holder.reference} says {stricter}, and the stricter holds",
            at=at,
            severity="low",
            fix=f"{subject.object.reference}: leave it out",
        )


VERSION = ObjectRule(
    id="contour-protocol-version",
    subjects=(HTTP_PROXY, INGRESS),
    reads=(*CONFIGURATIONS, INGRESS_CLASS),
    check=check_versions,
)
