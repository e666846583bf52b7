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
    """A Secret of another namespace is referred to with a delegation.

    ## What it requires

    That each Secret of another namespace to which an HTTPProxy, an IngressRoute or an Ingress of Contour refers is
    delegated to it: by a TLSCertificateDelegation in the Secret's namespace that names the Secret, and among whose
    `targetNamespaces` is the namespace of the referring object, or nothing but `*`. References are
    `namespace/secret`, and in an Ingress the annotation `projectcontour.io/tls-cert-namespace`, which holds for all
    of its `tls` entries. CAs of clients and of services and revocation lists need the delegation as certificates do,
    and so does the fallback certificate of an HTTPProxy with `enableFallbackCertificate`.

    ## Why

    Without a delegation Contour refuses the reference. An HTTPProxy is invalid then and says so in its status; an
    Ingress says nothing anywhere, and its hosts answer without TLS.

    ## What fails

    A reference that no delegation allows: high. Where a delegation of the Secret is among what was given and names
    other namespaces, that is decided although there may be others.

    ## What is inconclusive

    Without any delegation of the Secret: whether there is one, where delegations were not given. Whether the fallback
    certificate is delegated, where Contour's configuration was not given.

    ## Example that fails

    ```yaml
    apiVersion: projectcontour.io/v1
    kind: TLSCertificateDelegation
    metadata: {name: wildcards, namespace: certificates}
    spec:
      delegations:
      - {secretName: wildcard, targetNamespaces: [shop, "*"]}
    ---
    apiVersion: projectcontour.io/v1
    kind: HTTPProxy
    metadata: {name: blog, namespace: blog}
    spec:
      virtualhost:
        fqdn: blog.example.com
        tls: {secretName: certificates/wildcard}
      routes: [{services: [{name: blog, port: 80}]}]
    ```

    ## Example that passes

    ```yaml
    apiVersion: projectcontour.io/v1
    kind: TLSCertificateDelegation
    metadata: {name: wildcards, namespace: certificates}
    spec:
      delegations:
      - {secretName: wildcard, targetNamespaces: [shop, blog]}
    ---
    apiVersion: projectcontour.io/v1
    kind: HTTPProxy
    metadata: {name: blog, namespace: blog}
    spec:
      virtualhost:
        fqdn: blog.example.com
        tls: {secretName: certificates/wildcard}
      routes: [{services: [{name: blog, port: 80}]}]
    ```

    ## How to fix

    Add the namespace to the delegation, or create one beside the Secret; whoever owns the Secret's namespace has to do
    it.
    """
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
    title="A Secret of another namespace is referred to with a delegation",
    severity="high",
    subjects=USERS,
    reads=(*delegation.READS, *configuration.READS, INGRESS_CLASS),
    check=check_delegation,
    references=(
        "Contour internal/dag/cache.go (delegationPermitted)",
        "Contour design/tls-certificate-delegation.md",
        "projectcontour.io/v1 TLSCertificateDelegation spec.delegations",
    ),
)
