"""Client certificates at a virtual host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.kube.kinds import HTTP_PROXY
from scanner.lint.contour.uses import TLS, VHOST
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_VALIDATION: Final = (*TLS, "clientValidation")


def check_client_validation(subject: Subject) -> Iterator[Flaw]:
    """Client certificates that a virtual host asks for are verified."""
    if not isinstance(subject.object.at(*_VALIDATION), dict):
        return
    validation = subject.object.fields(*_VALIDATION)
    fix = f"{subject.object.reference}: name the clients' CA in caSecret, and let it be enforced"
    if validation.flag("skipClientCertValidation"):
        if not subject.object.has(*VHOST, "authorization"):
            without = "" if validation.text("caSecret") else ", and without caSecret none at all as well"
            message = f"client certificates are verified by nobody: any is taken, also a self-made one{without}"
            yield Flaw(message=message, at=(*_VALIDATION, "skipClientCertValidation"), fix=fix)
    elif not validation.text("caSecret"):
        message = "clientValidation has no caSecret: Contour calls the HTTPProxy invalid (ClientValidationInvalid)"
        yield Flaw(message=message, at=_VALIDATION, fix=fix, correction="clientValidation:\n  caSecret: <name>")
    if validation.flag("optionalClientCertificate"):
        message = "clients without a certificate are let in"
        yield Flaw(message=message, at=(*_VALIDATION, "optionalClientCertificate"), severity="medium", fix=fix)


CLIENT_VALIDATION = ObjectRule(
    id="contour-client-validation",
    subjects=(HTTP_PROXY,),
    check=check_client_validation,
)
