"""Secrets of Contour's objects: certificates, CAs and revocation lists (``internal/dag/secret.go``).

Contour accepts a certificate with its key in a Secret of either type. It compares neither the key nor the names nor the
dates, so a fault only shows when Envoy refuses the certificate, or serves it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from scanner.files.source_positions import Steps
from scanner.kube import ingress, references
from scanner.kube.contour import BySecret, Delegation, HTTPProxy, SecretName, VirtualHostTLS, delegations_by_secret
from scanner.kube.ingress import Ingress
from scanner.kube.kinds import (
    HEPTIO_DELEGATION,
    HTTP_PROXY,
    INGRESS,
    INGRESS_CLASS,
    INGRESS_ROUTE,
    TLS_CERTIFICATE_DELEGATION,
    Kind,
)
from scanner.kube.objects import KubeObject
from scanner.kube.secrets import Secret
from scanner.lint.contour import contour_configuration
from scanner.lint.contour.contour_configuration import watched
from scanner.lint.referenced_certificates import authority_flaws, entry, of_text, other_format
from scanner.lint.references import READS as SECRETS
from scanner.lint.references import absent, secret_flaws, secret_of, served_flaws
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject

USERS: Final[tuple[Kind, ...]] = (HTTP_PROXY, INGRESS, INGRESS_ROUTE)
"""The kinds that refer to Secrets."""
DELEGATIONS: Final[tuple[Kind, ...]] = (TLS_CERTIFICATE_DELEGATION, HEPTIO_DELEGATION)
"""The kinds that ``permission`` reads."""
READS: Final = (*SECRETS, *DELEGATIONS, INGRESS_CLASS)
"""The kinds that a rule reads if it checks Secrets of other namespaces."""
CERTIFICATE_USE: Final = "the certificate"
_WHAT: Final[Mapping[references.ReferenceRole, str]] = {
    "certificate": CERTIFICATE_USE,
    "client-ca": "the CA of clients",
    "client-crl": "the revocation list of clients",
    "jwks-ca": "the CA of the JWKS",
    "backend-ca": "the CA of a service",
}


class Use(Struct, frozen=True, kw_only=True):
    """One reference to a Secret."""

    steps: Steps
    secret: SecretName
    what: str
    """``the certificate``, ``the CA of clients``."""
    hosts: tuple[str, ...] = ()
    """The names that a certificate is served under."""


def is_served_by_contour(declared: Declared, found: KubeObject) -> bool:
    """True if it is known that Contour serves an Ingress."""
    return ingress.is_served_by_contour(found, declared.known) is True


def of_object(subject: Subject) -> Iterator[Use]:
    """The object's references to Secrets, as Contour reads them."""
    item = subject.object
    if item.kind == INGRESS and not is_served_by_contour(subject.declared, item):
        return
    for link in references.links(item, of_contour=True):
        certificate = link.role == "certificate"
        if link.grant is None and item.kind != INGRESS:
            continue
        if certificate and item.kind != INGRESS and VirtualHostTLS(link.enclosing.raw).passthrough:
            continue
        secret = SecretName(link.namespace, link.name)
        yield Use(steps=link.steps, secret=secret, what=_WHAT[link.role], hosts=link.hosts if certificate else ())


class Permission(Struct, frozen=True, kw_only=True):
    """The answer if a reference is allowed."""

    allowed: bool | None
    """None: unknown."""
    near: tuple[tuple[KubeObject, Delegation], ...] = ()
    """Some delegations of that Secret to other namespaces."""
    missing: Missing | None = None
    """The reason if it is unknown."""


def _current(declared: Declared) -> BySecret:
    return delegations_by_secret(declared.every(TLS_CERTIFICATE_DELEGATION))


def _former(declared: Declared) -> BySecret:
    return delegations_by_secret(declared.every(HEPTIO_DELEGATION))


def permission(declared: Declared, user: KubeObject, secret: SecretName) -> Permission:
    """Decide if ``user`` may refer to ``secret``.

    If a known delegation of this Secret names only other namespaces, the answer is no: its owner must change it, or add
    a second one.
    """
    if secret.namespace == user.namespace:
        return Permission(allowed=True)
    indexes = (_current, _former) if user.kind.group == HEPTIO_DELEGATION.group else (_current,)
    found = [index[secret] for index in map(declared.once, indexes) if secret in index]
    if any(each.permits(user.namespace) for each in found):
        return Permission(allowed=True)
    gap = None if found else declared.gap(TLS_CERTIFICATE_DELEGATION)
    name = f"{TLS_CERTIFICATE_DELEGATION.name}/{secret.namespace or '?'}/..."
    return Permission(
        allowed=None if gap else False,
        near=tuple(each for one in found for each in one.some),
        missing=Missing(name=name, gap=gap) if gap else None,
    )


TYPES: Final = ("kubernetes.io/tls", "Opaque")
CRL: Final = "crl.pem"


def ca_flaws(secret: KubeObject | Missing, at: Steps, what: str) -> Iterator[Flaw]:
    """Find why Contour does not use the Secret's ``ca.crt`` as a CA. It needs a certificate in PEM; only Envoy parses
    it."""
    if isinstance(secret, Missing):
        yield _absent(secret, at, what)
    elif not of_text(entry(secret, "ca.crt") or ""):
        yield Flaw(
            message=f"{secret.reference} has no certificate in PEM in ca.crt{other_format(secret, 'ca.crt')}; "
            "Contour does not use it as a CA",
            at=at,
            fix=f"{secret.reference}: put the CA's certificate into ca.crt",
        )


def _absent(secret: Missing, at: Steps, what: str) -> Flaw:
    return absent(secret, at, question=f"whether {what} can be read", message=f", with {what},")


def unusable(subject: Subject, secret: KubeObject | Missing, at: Steps) -> Iterator[Flaw]:
    """Find why a Secret is no certificate, no CA and no revocation list."""
    if isinstance(secret, Missing) or entry(secret, "tls.crt") is not None or not _public(secret):
        yield from secret_flaws(subject.declared, secret, at, types=TYPES)


def _public(secret: KubeObject) -> bool:
    return bool(of_text(entry(secret, "ca.crt") or "")) or CRL in Secret.of(secret).revocation_entries


# --- Certificates -----------------------------------------------------------------------------------------------------


def is_refused(subject: Subject, use: Use) -> bool:
    """True if the Secret is not delegated: then only ``contour-delegation`` reports it, without its content."""
    return permission(subject.declared, subject.object, use.secret).allowed is False


def check_certificate(subject: Subject) -> Iterator[Flaw]:
    """A virtual host's certificate can be served, and is valid for its host."""
    configured = contour_configuration.of_object(subject.object)
    if configured:
        found = configured.settings
        for each, usage in ((found.fallback_certificate, "serverAuth"), (found.client_certificate, "clientAuth")):
            if each.secret is not None:
                use = Use(steps=configured.at(each.steps), secret=each.secret, what=CERTIFICATE_USE)
                yield from _served(subject, use, usage)
    for use in of_object(subject) if subject.object.kind in USERS else ():
        if use.what != CERTIFICATE_USE:
            continue
        yield from unwatched(subject, use)
        # An Ingress with a Secret of its own namespace is judged like any other Ingress.
        ordinary = subject.object.kind == INGRESS and use.secret.namespace == subject.object.namespace
        if not is_refused(subject, use) and not ordinary:
            yield from _served(subject, use)


def unwatched(subject: Subject, use: Use) -> Iterator[Flaw]:
    """Report a Secret in a namespace that Contour does not watch. ``contour-root`` reports a root there."""
    namespaces = watched(subject.declared)
    if HTTPProxy.of(subject.object).is_root and subject.object.namespace not in namespaces:
        return
    if namespaces and use.secret.namespace and use.secret.namespace not in namespaces:
        where = ", ".join(sorted(namespaces)[:10])
        yield Flaw(
            message=f"Contour does not find {use.secret}: it only watches Secrets in {where} (rootNamespaces)",
            at=use.steps,
            fix="Contour's configuration: add the namespace to rootNamespaces",
        )


def _served(subject: Subject, use: Use, usage: str = "serverAuth") -> Iterator[Flaw]:
    found = secret_of(subject, use.secret.name, use.secret.namespace)
    yield from served_flaws(subject, found, use.hosts, use.steps, usage=usage, types=TYPES)


CERTIFICATE = ObjectRule(
    id="contour-certificate",
    subjects=(*USERS, *contour_configuration.READS),
    reads=READS,
    check=check_certificate,
)


def check_slash(subject: Subject) -> Iterator[Flaw]:
    """An Ingress names a Secret without a namespace."""
    for each in Ingress.of(subject.object).tls:
        namespace, slash, name = each.secret_name.partition("/")
        fix, correction = f"name a Secret in {subject.object.namespace}", f"spec:\n  tls:\n  - secretName: {name}"
        if is_served_by_contour(subject.declared, subject.object):
            annotation = "projectcontour.io/tls-cert-namespace"
            fix = f"set the namespace in the annotation {annotation}"
            correction = f"metadata:\n  annotations:\n    {annotation}: {namespace}\n{correction}"
        if slash:
            yield Flaw(
                message="the API server refuses a secretName with a slash: it must be the name of a Secret",
                at=(*each.steps, "secretName"),
                observed=(each.secret_name,),
                fix=f"{subject.object.reference}: {fix}",
                correction=correction,
            )


SLASH = ObjectRule(id="contour-ingress-slash", subjects=(INGRESS,), reads=(INGRESS_CLASS,), check=check_slash)


# --- CAs and revocation lists -----------------------------------------------------------------------------------------


def check_authority(subject: Subject) -> Iterator[Flaw]:
    """CAs and revocation lists to which an HTTPProxy refers exist."""
    for use in of_object(subject):
        if use.what == CERTIFICATE_USE:
            continue
        yield from unwatched(subject, use)
        if not is_refused(subject, use):
            yield from _trusted(subject, use)


def _trusted(subject: Subject, use: Use) -> Iterator[Flaw]:
    found = secret_of(subject, use.secret.name, use.secret.namespace)
    if use.steps[-1] == "crlSecret":
        if isinstance(found, Missing):
            yield _absent(found, use.steps, "the revocation list")
        elif CRL not in Secret.of(found).revocation_entries:
            yield Flaw(
                message=f"{found.reference} has no revocation list in PEM in {CRL}",
                at=use.steps,
                fix=f"{found.reference}: put the list into {CRL}",
            )
        return
    yield from ca_flaws(found, use.steps, use.what)
    if not isinstance(found, Missing) and of_text(entry(found, "ca.crt") or ""):
        yield from authority_flaws(found, use.steps, subject.declared.known.taken_at)


AUTHORITY = ObjectRule(
    id="contour-ca",
    subjects=(HTTP_PROXY,),
    reads=(*READS, *contour_configuration.READS),
    check=check_authority,
)


VHOST: Final = ("spec", "virtualhost")
TLS: Final = (*VHOST, "tls")
FALLBACK: Final = (*TLS, "enableFallbackCertificate")
