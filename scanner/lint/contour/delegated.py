"""References from one namespace to the Secret of another, and whether they are allowed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.kube.kinds import HTTP_PROXY, INGRESS, INGRESS_CLASS, Kind
from scanner.lint.contour import configuration, delegation
from scanner.lint.contour.configuration import configurations, unseen
from scanner.lint.contour.delegation import Permission, permission
from scanner.lint.contour.uses import TLS, USERS, Use, of_object
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_REASONS: Final = {
    "the CA of a service": "CACertificateNotDelegated",
    "the CA of the JWKS": "RemoteJWKSCACertificateNotDelegated",
}
"""In the status of an HTTPProxy; of all else it is ``DelegationNotPermitted``."""
_MEANS: Final[dict[Kind, str]] = {
    HTTP_PROXY: "Contour calls the HTTPProxy invalid ({reason}) and serves none of it",
    INGRESS: "Contour leaves the TLS of the Ingress out, says so in its log alone, and serves its hosts without TLS",
}
_FALLBACK: Final = (*TLS, "enableFallbackCertificate")


def check_delegation(subject: Subject) -> Iterator[Flaw]:
    """A Secret of another namespace is referred to with a delegation."""
    for use in of_object(subject):
        means = _MEANS.get(subject.object.kind, "Contour refuses the reference")
        yield from _judged(subject, use, means.format(reason=_REASONS.get(use.what, "DelegationNotPermitted")))
    if subject.object.kind == HTTP_PROXY and subject.object.flag(*_FALLBACK):
        yield from _fallbacks(subject)


def _fallbacks(subject: Subject) -> Iterator[Flaw]:
    found = [each.fallback for each in configurations(subject.declared) if each.fallback]
    for secret in dict.fromkeys(found):
        use = Use(steps=_FALLBACK, secret=secret, what="the fallback certificate")
        yield from _judged(subject, use, "Contour calls the HTTPProxy invalid (FallbackNotDelegated)")
    missing = unseen(subject.declared)
    if missing and not found:
        yield undecided(missing, _FALLBACK, "whether the fallback certificate is delegated to this namespace")


def _judged(subject: Subject, use: Use, means: str) -> Iterator[Flaw]:
    found = permission(subject.declared, subject.object, use.secret)
    if found.missing:
        yield undecided(found.missing, use.steps, f"whether {use.secret} is delegated to {_here(subject)}")
    elif not found.allowed:
        yield Flaw(
            message=f"{use.what}, {use.secret}, is not delegated to {_here(subject)}: {means}",
            at=use.steps,
            observed=tuple(_said(found)),
            fix=f"a TLSCertificateDelegation in {use.secret.namespace}: delegate the Secret to {_here(subject)}",
            correction=_correction(subject, use),
        )


def _here(subject: Subject) -> str:
    return subject.object.namespace or ""


def _said(found: Permission) -> Iterator[str]:
    for each in found.near[:10]:
        yield f"{each.holder.reference} delegates it to {', '.join(each.targets[:20]) or 'nobody'}"
        if "*" in each.targets:
            yield "beside other namespaces * does not mean all of them"


def _correction(subject: Subject, use: Use) -> str:
    return (
        "apiVersion: projectcontour.io/v1\nkind: TLSCertificateDelegation\n"
        f"metadata: {{name: {use.secret.name}, namespace: {use.secret.namespace}}}\nspec:\n  delegations:\n"
        f"  - secretName: {use.secret.name}\n    targetNamespaces: [{_here(subject)}]"
    )


DELEGATION = ObjectRule(
    id="contour-delegation",
    subjects=USERS,
    reads=(*delegation.READS, *configuration.READS, INGRESS_CLASS),
    check=check_delegation,
)
