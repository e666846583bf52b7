"""References of Contour's objects to Secrets, and whether each is permitted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube import ingress, references
from scanner.kube.contour import BySecret, Delegation, SecretName, VirtualHostTLS, by_secret
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
from scanner.lint.references import READS as SECRETS
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Subject

VHOST: Final = ("spec", "virtualhost")
TLS: Final = (*VHOST, "tls")
FALLBACK: Final = (*TLS, "enableFallbackCertificate")
USERS: Final[tuple[Kind, ...]] = (HTTP_PROXY, INGRESS, INGRESS_ROUTE)
"""The kinds that refer to Secrets."""
DELEGATIONS: Final[tuple[Kind, ...]] = (TLS_CERTIFICATE_DELEGATION, HEPTIO_DELEGATION)
"""The kinds that ``permission`` reads."""
READS: Final = (*SECRETS, *DELEGATIONS, INGRESS_CLASS)
"""The kinds that a rule reads if it looks into Secrets of other namespaces."""
CERTIFICATE_USE: Final = "the certificate"
_WHAT: Final[Mapping[references.ReferenceRole, str]] = {
    "certificate": CERTIFICATE_USE,
    "client-ca": "the CA of clients",
    "client-crl": "the revocation list of clients",
    "jwks-ca": "the CA of the JWKS",
    "backend-ca": "the CA of a service",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One reference to a Secret."""

    steps: Steps
    secret: SecretName
    what: str
    """``the certificate``, ``the CA of clients``."""
    hosts: tuple[str, ...] = ()
    """Of a certificate: the names under which it is served."""


def is_contours(declared: Declared, found: KubeObject) -> bool:
    """Whether an Ingress is one that Contour serves, as far as that is known."""
    return ingress.is_contours(found, declared.known) is True


def of_object(subject: Subject) -> Iterator[Use]:
    """Every reference of the object to a Secret, as Contour reads it."""
    item = subject.object
    if item.kind == INGRESS and not is_contours(subject.declared, item):
        return
    for link in references.links(item, contours=True):
        certificate = link.role == "certificate"
        if link.grant is None and item.kind != INGRESS:
            continue
        if certificate and item.kind != INGRESS and VirtualHostTLS(link.beside.raw).passthrough:
            continue
        secret = SecretName(link.namespace, link.name)
        yield Use(steps=link.steps, secret=secret, what=_WHAT[link.role], hosts=link.hosts if certificate else ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """Whether a reference is allowed."""

    allowed: bool | None
    """None: unknown."""
    near: tuple[tuple[KubeObject, Delegation], ...] = ()
    """Delegations of that Secret to other namespaces: some of them."""
    missing: Missing | None = None
    """Why it is unknown."""


def _current(declared: Declared) -> BySecret:
    return by_secret(declared.every(TLS_CERTIFICATE_DELEGATION))


def _former(declared: Declared) -> BySecret:
    return by_secret(declared.every(HEPTIO_DELEGATION))


def permission(declared: Declared, user: KubeObject, secret: SecretName) -> Permission:
    """Whether ``user`` may refer to ``secret``. Where a delegation of that very Secret is known and names others, the
    answer is no: its owner would have to change it, or to add a second one that is not among the objects."""
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
