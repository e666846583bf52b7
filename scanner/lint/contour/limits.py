"""The versions, suites and groups that Contour's own configuration sets for all virtual hosts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.files.source_positions import shown
from scanner.kube.kinds import CONFIG_MAP, CONTOUR_CONFIGURATION, CONTOUR_DEPLOYMENT
from scanner.lint.contour.configuration import Configuration, of_object, unread
from scanner.lint.contour.versions import VERSIONS
from scanner.model.contour_file import KEY as FILE
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_STRONG: Final = (
    "[ECDHE-ECDSA-AES128-GCM-SHA256|ECDHE-ECDSA-CHACHA20-POLY1305]",
    "[ECDHE-RSA-AES128-GCM-SHA256|ECDHE-RSA-CHACHA20-POLY1305]",
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES256-GCM-SHA384",
)
_CBC: Final = ("ECDHE-ECDSA-AES128-SHA", "ECDHE-RSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA", "ECDHE-RSA-AES256-SHA")
_RSA: Final = ("AES128-GCM-SHA256", "AES128-SHA", "AES256-GCM-SHA384", "AES256-SHA")
"""All that Contour takes (``apis/projectcontour/v1alpha1/ciphersuites.go``)."""
_GROUPS: Final = ("X25519", "P-256", "P-384", "P-521", "X25519MLKEM768", "MLKEM1024")
_WEAK: Final = dict.fromkeys(_CBC, "encrypts with CBC") | dict.fromkeys(
    _RSA, "has no forward secrecy (RSA key exchange)"
)
_KNOWN: Final = {"cipherSuites": frozenset((*_STRONG, *_CBC, *_RSA)), "ecdhCurves": frozenset(_GROUPS)}
_MOST: Final = 100
"""Suites or groups of one list."""


def check_limits(subject: Subject) -> Iterator[Flaw]:
    """Contour's own TLS settings are valid, and none of them is weak."""
    found = of_object(subject.object)
    if found is None:
        if why := unread(subject.object):
            message = f"cannot be decided here: what Contour is told; {shown(why, 200)}"
            yield Flaw(message=message, at=("data", FILE), verdict="inconclusive")
        return
    for field in ("minimumProtocolVersion", "maximumProtocolVersion"):
        value = found.tls.at(field)
        if value not in (None, "", *VERSIONS):
            yield _refused(found, field, value)
    for field, known in _KNOWN.items():
        for name in found.tls.texts(field)[:_MOST]:
            if name not in known:
                yield _refused(found, field, name)
            elif name in _WEAK:
                yield Flaw(
                    message=f"{name} {_WEAK[name]}",
                    at=found.steps(field),
                    severity="medium",
                    observed=(name,),
                    fix=f"{subject.object.reference}: leave it out of {field}",
                )


def _refused(found: Configuration, field: str, value: object) -> Flaw:
    return Flaw(
        message=f"Contour does not start with {field} {shown(value)}",
        at=found.steps(field),
        expected=tuple(sorted(_KNOWN.get(field, VERSIONS))),
        observed=(shown(value),),
        fix=f"{found.holder.reference}: correct {field}",
    )


LIMITS = ObjectRule(
    id="contour-limits",
    subjects=(CONTOUR_CONFIGURATION, CONTOUR_DEPLOYMENT, CONFIG_MAP),
    check=check_limits,
)
