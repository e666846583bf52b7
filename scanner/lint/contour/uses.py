"""Where the objects that Contour reads refer to Secrets, and which Ingresses are Contour's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube import references
from scanner.kube.kinds import HTTP_PROXY, INGRESS, INGRESS_CLASS, INGRESS_ROUTE, Kind
from scanner.kube.objects import Fields, KubeObject
from scanner.kube.references import ingress_class
from scanner.model.declared import Declared
from scanner.model.delegations import SecretName
from scanner.model.object_rule import Subject

VHOST: Final = ("spec", "virtualhost")
TLS: Final = (*VHOST, "tls")
USERS: Final[tuple[Kind, ...]] = (HTTP_PROXY, INGRESS, INGRESS_ROUTE)
"""The kinds that refer to Secrets."""
_WHAT: Final[Mapping[references.Role, str]] = {
    "certificate": "the certificate",
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


def is_contours(declared: Declared, ingress: KubeObject) -> bool:
    """Whether an Ingress is one that Contour serves, as far as that is known."""
    name = ingress_class(ingress)
    return references.is_contours(ingress, declared.known.get(INGRESS_CLASS, name) if name else None) is True


def of_object(subject: Subject) -> Iterator[Use]:
    """Every Secret to which the object refers as Contour reads it."""
    item = subject.object
    if item.kind == INGRESS and not is_contours(subject.declared, item):
        return
    for link in references.links(item, contours=True):
        certificate = link.role == "certificate"
        if (link.grant is None and item.kind != INGRESS) or (certificate and link.beside.flag("passthrough")):
            continue
        hosts = link.beside.texts("hosts") if item.kind == INGRESS else filter(None, [item.text(*VHOST, "fqdn")])
        secret = SecretName(link.namespace, link.name)
        named = tuple(hosts) if certificate else ()
        yield Use(steps=link.steps, secret=secret, what=_WHAT[link.role], hosts=named)


def inner(steps: Steps, holder: Fields, field: str) -> Iterator[tuple[Steps, Fields]]:
    """The mappings of a list inside of another list's item, each with the way to it."""
    value = holder.at(field)
    for index, item in enumerate(value if isinstance(value, list) else ()):
        if isinstance(item, dict):
            yield (*steps, field, index), Fields(item)


def services(subject: Subject) -> Iterator[tuple[Steps, Fields]]:
    """Every service to which an HTTPProxy sends requests or connections."""
    for steps, route in subject.items("spec", "routes"):
        yield from inner(steps, route, "services")
    yield from subject.items("spec", "tcpproxy", "services")
