"""The CAs and revocation lists to which HTTPProxies refer."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.kube.kinds import HTTP_PROXY, SECRET
from scanner.lint.certificates import authority_flaws, entry, of_text
from scanner.lint.contour import configuration
from scanner.lint.contour.certificate import CERTIFICATE_USE, READS_OF_USES, looked_up, seen
from scanner.lint.contour.secrets import revoking, verifying
from scanner.lint.contour.uses import Use, of_object
from scanner.lint.references import secret_of
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject


def check_authority(subject: Subject) -> Iterator[Flaw]:
    """CAs and revocation lists to which an HTTPProxy refers are there."""
    for use in of_object(subject):
        if use.what != CERTIFICATE_USE:
            yield from seen(subject, use)
        if use.what != CERTIFICATE_USE and not looked_up(subject, use):
            yield from _trusted(subject, use)


def _trusted(subject: Subject, use: Use) -> Iterator[Flaw]:
    found = secret_of(subject, use.secret.name, use.secret.namespace)
    if use.steps[-1] == "crlSecret":
        yield from revoking(found, use.steps)
        return
    yield from verifying(found, use.steps, use.what)
    if not isinstance(found, Missing) and of_text(entry(found, "ca.crt") or ""):
        yield from authority_flaws(found, use.steps, subject.declared.known.taken_at)


AUTHORITY = ObjectRule(
    id="contour-ca",
    subjects=(HTTP_PROXY,),
    reads=(*READS_OF_USES, *configuration.READS, SECRET),
    check=check_authority,
)
