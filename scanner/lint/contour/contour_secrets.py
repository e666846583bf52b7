"""Secrets to which Contour's objects refer: certificates, CAs and revocation lists (``internal/dag/secret.go``).

Contour takes a certificate with its key in a Secret of either type. It checks neither that they belong together nor
names nor dates, so a fault shows only when Envoy refuses the certificate, or serves it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube.contour import HTTPProxy
from scanner.kube.ingress import Ingress
from scanner.kube.kinds import HTTP_PROXY, INGRESS, INGRESS_CLASS
from scanner.kube.objects import KubeObject
from scanner.kube.secrets import Secret
from scanner.lint.certificates import authority_flaws, entry, instead, of_text
from scanner.lint.contour import contour_configuration
from scanner.lint.contour.contour_configuration import Configuration, watched
from scanner.lint.contour.secret_uses import CERTIFICATE_USE, READS, USERS, Use, is_contours, of_object, permission
from scanner.lint.references import absent, secret_flaws, secret_of, served_flaws
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject

TYPES: Final = ("kubernetes.io/tls", "Opaque")
CRL: Final = "crl.pem"


def verifying(secret: KubeObject | Missing, at: Steps, what: str) -> Iterator[Flaw]:
    """Why nothing can be verified by the Secret's ``ca.crt``: Contour wants a certificate in PEM there, and leaves it
    to Envoy whether it can be read."""
    if isinstance(secret, Missing):
        yield _absent(secret, at, what)
    elif not of_text(entry(secret, "ca.crt") or ""):
        yield Flaw(
            message=f"{secret.reference} has no certificate in PEM in ca.crt{instead(secret, 'ca.crt')}; Contour takes "
            "it for no CA",
            at=at,
            fix=f"{secret.reference}: put the CA's certificate into ca.crt",
        )


def revoking(secret: KubeObject | Missing, at: Steps) -> Iterator[Flaw]:
    """Why nothing can be revoked by the Secret's ``crl.pem``."""
    if isinstance(secret, Missing):
        yield _absent(secret, at, "the revocation list")
    elif CRL not in Secret.of(secret).revocation_entries:
        yield Flaw(
            message=f"{secret.reference} has no revocation list in PEM in {CRL}",
            at=at,
            fix=f"{secret.reference}: put the list into {CRL}",
        )


def _absent(secret: Missing, at: Steps, what: str) -> Flaw:
    return absent(secret, at, question=f"whether {what} can be read", message=f", with {what},")


def unusable(subject: Subject, secret: KubeObject | Missing, at: Steps) -> Iterator[Flaw]:
    """Why a Secret is none of the three."""
    if isinstance(secret, Missing) or entry(secret, "tls.crt") is not None or not _public(secret):
        yield from secret_flaws(subject.declared, secret, at, types=TYPES)


def _public(secret: KubeObject) -> bool:
    return bool(of_text(entry(secret, "ca.crt") or "")) or CRL in Secret.of(secret).revocation_entries


# --- Certificates -----------------------------------------------------------------------------------------------------


def looked_up(subject: Subject, use: Use) -> Missing | None:
    """Why nothing can be said of the Secret: what is not delegated is another rule's, and shows nothing of it."""
    if permission(subject.declared, subject.object, use.secret).allowed is False:
        return Missing(name=str(use.secret))
    return None


def check_certificate(subject: Subject) -> Iterator[Flaw]:
    """A virtual host's certificate can be served, and is for its host."""
    configured = contour_configuration.of_object(subject.object)
    if configured:
        yield from _of_all(subject, configured)
    for use in of_object(subject) if subject.object.kind in USERS else ():
        if use.what == CERTIFICATE_USE:
            yield from seen(subject, use)
        if use.what == CERTIFICATE_USE and not looked_up(subject, use) and not _ordinary(subject, use):
            yield from _served(subject, use)


def seen(subject: Subject, use: Use) -> Iterator[Flaw]:
    """Whether Contour looks there at all. What is no root for that very reason is another rule's."""
    namespaces = watched(subject.declared)
    if HTTPProxy.of(subject.object).is_root and subject.object.namespace not in namespaces:
        return
    if namespaces and use.secret.namespace and use.secret.namespace not in namespaces:
        where = ", ".join(sorted(namespaces)[:10])
        yield Flaw(
            message=f"Contour looks at the Secrets of {where} alone (rootNamespaces): {use.secret} is none to it",
            at=use.steps,
            fix="Contour's configuration: add the namespace to rootNamespaces",
        )


def _ordinary(subject: Subject, use: Use) -> bool:
    """An Ingress with a Secret of its own namespace is judged as any other Ingress."""
    return subject.object.kind == INGRESS and use.secret.namespace == subject.object.namespace


def _of_all(subject: Subject, configured: Configuration) -> Iterator[Flaw]:
    found = configured.settings
    for each, usage in ((found.fallback_certificate, "serverAuth"), (found.client_certificate, "clientAuth")):
        if each.secret is not None:
            use = Use(steps=configured.at(each.steps), secret=each.secret, what=CERTIFICATE_USE)
            yield from _served(subject, use, usage)


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
    of_contour = is_contours(subject.declared, subject.object)
    for each in Ingress.of(subject.object).tls:
        namespace, slash, name = each.secret_name.partition("/")
        if slash:
            yield Flaw(
                message="the API server refuses a secretName with a slash: it must be the name of a Secret",
                at=(*each.steps, "secretName"),
                observed=(each.secret_name,),
                fix=f"{subject.object.reference}: "
                + (
                    "give the namespace in projectcontour.io/tls-cert-namespace"
                    if of_contour
                    else f"name a Secret in {subject.object.namespace}"
                ),
                correction=f"metadata:\n  annotations:\n    projectcontour.io/tls-cert-namespace: {namespace}\n"
                f"spec:\n  tls:\n  - secretName: {name}"
                if of_contour
                else f"spec:\n  tls:\n  - secretName: {name}",
            )


SLASH = ObjectRule(id="contour-ingress-slash", subjects=(INGRESS,), reads=(INGRESS_CLASS,), check=check_slash)


# --- CAs and revocation lists -----------------------------------------------------------------------------------------


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
    reads=(*READS, *contour_configuration.READS),
    check=check_authority,
)
