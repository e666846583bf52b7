"""ExtensionServices: where Envoy asks who may have what, and whether it knows that it asks the right one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube.kinds import EXTENSION_SERVICE, SECRET
from scanner.kube.objects import Fields
from scanner.lint.certificates import authority_flaws, entry, of_text
from scanner.lint.contour.certificate import READS_OF_USES
from scanner.lint.contour.delegation import permission
from scanner.lint.contour.secrets import verifying
from scanner.lint.references import secret_of
from scanner.model.declared import Missing
from scanner.model.delegations import secret_name
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_PROTOCOL: Final = ("spec", "protocol")
_VALIDATION: Final = ("spec", "validation")
_AUTHORITY: Final = (*_VALIDATION, "caSecret")
_TLS: Final = "h2"
"""The default."""


def check_extension(subject: Subject) -> Iterator[Flaw]:
    """What Envoy asks for authorization, rate limits and traces is verified."""
    protocol = subject.object.text(*_PROTOCOL) or _TLS
    if not subject.object.has(*_VALIDATION):
        yield _unverified(subject, protocol)
        return
    validation = subject.object.fields(*_VALIDATION)
    if protocol != _TLS:
        what = f"upstream TLS validation not supported for {protocol!r} protocol (InconsistentProtocol)"
        yield _refused(subject, _PROTOCOL, what)
    yield from _subject(subject, validation)
    yield from _authority(subject, validation)


def _unverified(subject: Subject, protocol: str) -> Flaw:
    if protocol == _TLS:
        return Flaw(
            message="TLS is spoken to this service, and its certificate is verified by nobody",
            at=("spec",),
            severity="medium",
            fix=f"{subject.object.reference}: add validation with caSecret and subjectName",
            correction="validation:\n  caSecret: <name>\n  subjectName: <name in the certificate>",
        )
    return Flaw(
        message=f"headers of requests are sent in plain text: the protocol is {protocol}",
        at=_PROTOCOL,
        severity="low",
        fix=f"{subject.object.reference}: speak h2, and add validation",
        correction="protocol: h2",
    )


def _refused(subject: Subject, at: Steps, what: str) -> Flaw:
    fix = f"{subject.object.reference}: a validation that Contour takes"
    return Flaw(message=f"Contour leaves it out: {what}", at=at, fix=fix)


def _subject(subject: Subject, validation: Fields) -> Iterator[Flaw]:
    name, names = validation.text("subjectName"), validation.texts("subjectNames")
    if not name:
        yield _refused(subject, (*_VALIDATION, "subjectName"), "validation has no subjectName (TLSUpstreamValidation)")
    elif names and names[0] != name:
        what = "the first of subjectNames is not subjectName (TLSUpstreamValidation)"
        yield _refused(subject, (*_VALIDATION, "subjectNames"), what)


def _authority(subject: Subject, validation: Fields) -> Iterator[Flaw]:
    if not validation.text("caSecret"):
        yield _refused(subject, _VALIDATION, "validation has no caSecret (TLSUpstreamValidation)")
        return
    secret = secret_name(validation.text("caSecret"), subject.object.namespace)
    permitted = permission(subject.declared, subject.object, secret)
    if permitted.allowed is False:
        yield _refused(subject, _AUTHORITY, f"{secret} is not delegated (CACertificateNotDelegated)")
        return
    if permitted.allowed is None:
        message = f"cannot be decided here: whether {secret} is delegated to this namespace"
        yield Flaw(message=message, at=_AUTHORITY, verdict="inconclusive")
    found = secret_of(subject, secret.name, secret.namespace)
    yield from verifying(found, _AUTHORITY, "the CA of the service")
    if not isinstance(found, Missing) and of_text(entry(found, "ca.crt") or ""):
        yield from authority_flaws(found, _AUTHORITY, subject.declared.known.taken_at)


EXTENSION = ObjectRule(
    id="contour-extension-service",
    subjects=(EXTENSION_SERVICE,),
    reads=(*READS_OF_USES, SECRET),
    check=check_extension,
)
