"""The certificate for clients that name no virtual host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.kube.kinds import HTTP_PROXY
from scanner.lint.contour.configuration import READS as CONFIGURATIONS
from scanner.lint.contour.configuration import configurations, unseen
from scanner.lint.contour.uses import TLS, VHOST
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_FALLBACK: Final = (*TLS, "enableFallbackCertificate")


def check_fallback(subject: Subject) -> Iterator[Flaw]:
    """A virtual host does not answer clients that do not name it."""
    if not subject.object.flag(*_FALLBACK):
        return
    tokens = bool(subject.object.at(*VHOST, "jwtProviders"))
    spoilt = ", and Contour before 1.33.5 asks those for no JWT" if tokens else ""
    yield Flaw(
        message=f"clients that send another server name, or none, are answered{spoilt}",
        at=_FALLBACK,
        severity="high" if tokens else None,
        fix=f"{subject.object.reference}: leave it out",
        correction="enableFallbackCertificate: false",
    )
    if not any(each.fallback for each in configurations(subject.declared)):
        missing = unseen(subject.declared)
        what = "whether Contour has a fallback certificate"
        refused = "Contour has no fallback certificate, and calls the HTTPProxy invalid (FallbackNotPresent)"
        yield undecided(missing, _FALLBACK, what) if missing else Flaw(message=refused, at=_FALLBACK, severity="high")


FALLBACK = ObjectRule(
    id="contour-fallback-certificate",
    subjects=(HTTP_PROXY,),
    reads=CONFIGURATIONS,
    check=check_fallback,
)
