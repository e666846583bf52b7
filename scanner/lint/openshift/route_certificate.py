"""The certificate that a Route brings, in itself or in a Secret: whether the router and clients accept it."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from typing import Final

from scanner.kube.ingress import Route
from scanner.kube.kinds import ROUTE, SERVICE
from scanner.kube.objects import KubeObject, Steps
from scanner.kube.secrets import SERVICE_CA, KeyHolder, Secret, service_ca_secret
from scanner.lint import references
from scanner.lint.referenced_certificates import (
    chain_of,
    display_name,
    entry,
    expired,
    fault_flaws,
    is_no_ca,
    leaf_flaws,
    of_text,
    other_format_of,
    unreadable_flaws,
)
from scanner.lint.references import editable, name_flaws, secret_flaws, secret_of
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided
from scanner.tls.certificate import CertificateFacts

EXTERNAL: Final = ("spec", "tls", "externalCertificate")
_CERTIFICATE: Final = ("spec", "tls", "certificate")
_KEY: Final = ("spec", "tls", "key")
_AUTHORITY: Final = ("spec", "tls", "caCertificate")

KEYS: Final = ("RSA", "ECDSA")
"""Key types that the router accepts (openshift/router ``pkg/router/routeapihelpers/validation.go``)."""
_OLD: Final = ("SHA1", "MD5", "MD2")
_LABEL: Final = re.compile(r"-----BEGIN ([^\n-]{1,60})-----[^-]*-----END \1-----")
_BLOCKS: Final = frozenset(
    {
        *("CERTIFICATE", "EC PARAMETERS", "PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "ECDSA PRIVATE KEY"),
        *("PUBLIC KEY", "RSA PUBLIC KEY", "DSA PUBLIC KEY", "ECDSA PUBLIC KEY"),
    }
)
"""PEM blocks that the router accepts (``knownBlockDecoders``, the same file)."""


# --- The router's own checks, with its messages -----------------------------------------------------------------------


def _rejected_signature(certificate: CertificateFacts) -> str | None:
    """The router's error about an old signature. It accepts old ones of self-signed certificates."""
    algorithm = certificate.signature_hash
    if algorithm in _OLD and not certificate.self_issued:
        return f"router does not support CA-signed certs using {algorithm}"
    return None


def _unrecognized(text: str) -> str | None:
    """The router's error about an unknown PEM block."""
    label = next((match[1] for match in _LABEL.finditer(text) if match[1] not in _BLOCKS), None)
    return f"unrecognized PEM block {label}" if label else None


def _beside_key(holder: KeyHolder) -> str | None:
    """The router's error about other PEM blocks beside the key of a Route or Secret."""
    labels = holder.key_blocks
    return f"field contains invalid types {', '.join(labels)}" if labels else None


def unknown_block(text: str, at: Steps) -> Iterator[Flaw]:
    """Report a PEM block that the router does not know."""
    if error := _unrecognized(text):
        yield Flaw(message=f"the router rejects it: {error}", at=at, severity="high", fix=f"remove it from {at[-1]}")


def old_signature(certificate: CertificateFacts, at: Steps) -> Iterator[Flaw]:
    """Report a signature that the router rejects."""
    if error := _rejected_signature(certificate):
        yield Flaw(
            message=f"the router rejects it: {error}",
            at=at,
            severity="high",
            observed=(display_name(certificate),),
            fix="replace it with a certificate signed with SHA-256",
        )


# --- In the Route -----------------------------------------------------------------------------------------------------


def check_key(subject: Subject) -> Iterator[Flaw]:
    """A Route does not contain a private key."""
    if Route.of(subject.object).tls.key:
        yield Flaw(
            message="the Route contains a private key, which every reader of Routes can read",
            at=_KEY,
            fix="put certificate and key into a Secret, let the router read it with a Role and a RoleBinding "
            "(adhere rules show route-router-access), and name it in externalCertificate",
            correction="externalCertificate:\n  name: NAME",
        )


def check_inline(subject: Subject) -> Iterator[Flaw]:
    """The router accepts a Route's own certificate, key and CA."""
    route = Route.of(subject.object)
    tls = route.tls
    if not route.is_terminated:
        return
    if not tls.certificate:
        for at, text in ((_KEY, tls.key), (_AUTHORITY, tls.ca_certificate)):
            if text:
                message = f"{at[-1]} has no effect without a certificate: the router serves its default one"
                yield Flaw(message=message, at=at, severity="low", fix=f"add the certificate, or remove {at[-1]}")
        return
    chain = of_text(tls.certificate)
    if not chain:
        message = f"the router rejects it: no certificate in PEM{other_format_of(tls.certificate)}"
        yield Flaw(message=message, at=_CERTIFICATE, fix="set the certificate in PEM")
        return
    yield from unreadable_flaws(route, chain, _CERTIFICATE, name="certificate")
    yield from _pair(route)
    for place, each in enumerate(chain):
        yield from _rejected(each, leaf=place == 0)
    if tls.ca_certificate:
        authorities = of_text(tls.ca_certificate)
        yield from unreadable_flaws(route, authorities, _AUTHORITY, name="caCertificate")
        yield from _chained(chain, authorities)
        for each in authorities:
            yield from old_signature(each, _AUTHORITY)
    yield from unknown_block(tls.certificate, _CERTIFICATE)
    yield from unknown_block(tls.ca_certificate, _AUTHORITY)


def _pair(route: Route) -> Iterator[Flaw]:
    matches = route.key_matches
    if error := _beside_key(route):
        yield Flaw(message=f"the router rejects it: {error}", at=_KEY, fix="keep only the private key in key")
        if matches is not False:
            return
    if matches is False:
        yield Flaw(
            message="the router rejects it: private key does not match public key",
            at=_KEY,
            fix="set the private key of the first certificate",
        )
    elif isinstance(matches, str) and matches == "there is no tls.key":
        yield Flaw(message="the router rejects it: no key specified", at=_KEY, fix="add the key")
    elif isinstance(matches, str) and matches.startswith("tls.key "):
        message = f"the router rejects it: key {matches.removeprefix('tls.key ')}"
        yield Flaw(message=message, at=_KEY, fix="set the key in PEM, not encrypted")
    elif matches is not True:
        reason = f" ({matches})" if isinstance(matches, str) else ""
        message = f"unknown: whether the key belongs to the certificate{reason.replace('tls.crt', 'certificate')}"
        yield Flaw(message=message, at=_KEY, verdict="inconclusive")


def _rejected(certificate: CertificateFacts, *, leaf: bool) -> Iterator[Flaw]:
    algorithm = certificate.key_algorithm
    if leaf and algorithm is not None and algorithm not in KEYS:
        message = f"the router rejects it: it accepts no {algorithm} key (block private key is not valid)"
        yield Flaw(message=message, at=_KEY, expected=KEYS, observed=(algorithm,), fix="use an RSA or ECDSA key")
    yield from old_signature(certificate, _CERTIFICATE)


def _chained(chain: Sequence[CertificateFacts], authorities: Sequence[CertificateFacts]) -> Iterator[Flaw]:
    subjects = {each.subject for each in authorities}
    if not authorities:
        message = "the router rejects it: failed to parse CA certificate"
        yield Flaw(message=message, at=_AUTHORITY, fix="set CA certificates in PEM")
    elif chain[0].issuer is not None and chain[0].issuer not in subjects and chain[0] not in authorities:
        yield Flaw(
            message="the router rejects it: caCertificate does not contain the issuer of the certificate",
            at=_AUTHORITY,
            expected=(chain[0].issuer[:200],),
            observed=tuple(display_name(each) for each in authorities[:5]),
            fix="put the issuer of the certificate into caCertificate",
        )


# --- In a Secret ------------------------------------------------------------------------------------------------------


def check_secret(subject: Subject) -> Iterator[Flaw]:
    """A Route's external certificate can be served."""
    name = Route.of(subject.object).external_secret
    if not name:
        return
    secret = secret_of(subject, name)
    yield from secret_flaws(subject.declared, secret, EXTERNAL)
    if isinstance(secret, Missing):
        return
    chain, owner = chain_of(secret), editable(subject.declared, name, subject.object.namespace)
    yield from unreadable_flaws(secret, chain, EXTERNAL)
    rejected = {
        "tls.key": _beside_key(Secret.of(secret)),
        "tls.crt": _unrecognized(entry(secret, "tls.crt") or ""),
    }
    for entry_, error in rejected.items():
        if error:
            fix = f"{owner}: remove everything else from {entry_}"
            yield Flaw(message=f"{secret.reference}: the router rejects {entry_}: {error}", at=EXTERNAL, fix=fix)
    for place, each in enumerate(chain):
        for message in _rejected_from_secret(each, leaf=place == 0):
            fix = f"{owner}: replace the certificate"
            yield Flaw(message=f"{secret.reference}: {display_name(each)} {message}", at=EXTERNAL, fix=fix)


def _rejected_from_secret(certificate: CertificateFacts, *, leaf: bool) -> Iterator[str]:
    algorithm = certificate.key_algorithm
    if leaf and algorithm is not None and algorithm not in KEYS:
        yield f"has an {algorithm} key, which the router does not accept: block private key is not valid"
    if error := _rejected_signature(certificate):
        yield f"is rejected: {error}"


def check_chain(subject: Subject) -> Iterator[Flaw]:
    """The Secret of a Route's external certificate contains one certificate."""
    secret = secret_of(subject, name) if (name := Route.of(subject.object).external_secret) else None
    if isinstance(secret, Missing) and secret.gap and not secret.promised:
        flaw = undecided(
            secret, EXTERNAL, "whether it contains exactly one certificate"
        )  # route-external-secret counts it
        yield Flaw(message=flaw.message, at=flaw.at, verdict=flaw.verdict, severity="info")
    if secret is None or isinstance(secret, Missing):
        return
    behind = chain_of(secret)[1:]
    if behind:
        what = "a CA's" if any(each.is_ca for each in behind) else "another"
        yield Flaw(
            message=f"{secret.reference} has {what} certificate after the leaf, but the API expects one certificate",
            at=EXTERNAL,
            fix=f"{editable(subject.declared, secret.name, secret.namespace)}: keep only the leaf if clients know its "
            "issuer; else set certificate, key and caCertificate in the Route, so that the intermediates are served",
            evidence=tuple(display_name(each) for each in behind[:5]),
        )
    if entry(secret, "ca.crt"):
        yield Flaw(
            message=f"{secret.reference} has a ca.crt, which the router does not read",
            at=EXTERNAL,
            severity="info",
            status="informational",
        )


# --- In either --------------------------------------------------------------------------------------------------------


def check_certificate(subject: Subject) -> Iterator[Flaw]:
    """Clients accept a Route's certificate."""
    found = _served(subject)
    if found is not None:
        holder, at = found
        now = subject.declared.known.taken_at
        yield from leaf_flaws(holder, at, now, fix=f"{_where(subject, holder)}: replace the certificate")


def check_host(subject: Subject) -> Iterator[Flaw]:
    """A Route's certificate covers its host."""
    found = _served(subject)
    if found is not None:
        holder, at = found
        fix = f"{_where(subject, holder)}: use a certificate with these names"
        yield from name_flaws(holder, Route.of(subject.object).hosts, at, fix=fix)


def _served(subject: Subject) -> tuple[KubeObject, Steps] | None:
    """The object with a Route's certificate in ``tls.crt``, and the Route's field; None if it has none, or it was not
    seen."""
    route = Route.of(subject.object)
    if name := route.external_secret:
        found = secret_of(subject, name)
        return None if isinstance(found, Missing) else (found, EXTERNAL)
    if not route.inline_certificate:
        return None
    coded = b64encode(route.inline_certificate.encode("utf-8", "replace")).decode()
    metadata = {"name": route.name, "namespace": route.namespace}
    return KubeObject({"metadata": metadata, "binaryData": {"tls.crt": coded}}, ROUTE), _CERTIFICATE


def _where(subject: Subject, holder: KubeObject) -> str:
    if holder.kind == ROUTE:
        return str(holder.reference)
    return editable(subject.declared, holder.name, holder.namespace)


KEY = ObjectRule(id="route-inline-key", subjects=(ROUTE,), check=check_key)
INLINE = ObjectRule(id="route-inline-certificate", subjects=(ROUTE,), check=check_inline)
SECRET = ObjectRule(id="route-external-secret", subjects=(ROUTE,), check=check_secret, reads=references.READS)
CHAIN = ObjectRule(id="route-external-chain", subjects=(ROUTE,), check=check_chain, reads=references.READS)
CERTIFICATE = ObjectRule(id="route-certificate", subjects=(ROUTE,), check=check_certificate, reads=references.READS)
HOST = ObjectRule(id="route-certificate-host", subjects=(ROUTE,), check=check_host, reads=references.READS)


# --- Verification of the backend --------------------------------------------------------------------------------------

_DESTINATION: Final = ("spec", "tls", "destinationCACertificate")
_BACKENDS: Final = 4
"""Services that the API allows one Route."""


def check_backend_name(subject: Subject) -> Iterator[Flaw]:
    """A router that re-encrypts verifies the name of its backend."""
    route = Route.of(subject.object)
    if route.termination == "reencrypt" and route.tls.destination_ca:
        yield Flaw(
            message="with this field the router verifies the backend's chain, but not the backend's hostname",
            at=_DESTINATION,
            fix="use a backend certificate of the service CA, and remove destinationCACertificate",
        )


def check_backend_trust(subject: Subject) -> Iterator[Flaw]:
    """A router that re-encrypts can verify its backend."""
    route = Route.of(subject.object)
    if route.termination != "reencrypt" or not route.has_tls:
        return
    if text := route.tls.destination_ca:
        yield from _anchors(subject, text)
    else:
        yield from _services(subject)


def _anchors(subject: Subject, text: str) -> Iterator[Flaw]:
    found = of_text(text)
    if not found:
        message = f"the router rejects it: failed to parse destination CA certificate{other_format_of(text)}"
        yield Flaw(message=message, at=_DESTINATION, severity="high", fix="set CA certificates in PEM")
    fix = f"{subject.object.reference}: set destinationCACertificate to the CA of the backend's certificate"
    yield from unreadable_flaws(
        subject.object, found, _DESTINATION, name="destinationCACertificate", severity="high", fix=fix
    )
    faults = ((None, is_no_ca), (None, expired(subject.declared.known.taken_at)))
    yield from unknown_block(text, _DESTINATION)
    for each in found:
        yield from fault_flaws(subject.object, each, _DESTINATION, faults, fix=fix)
        yield from old_signature(each, _DESTINATION)
    for _, name in _backends(subject) if found else ():
        yield from _issued(subject, name, {each.subject for each in found})


def _issued(subject: Subject, name: str, subjects: set[str | None]) -> Iterator[Flaw]:
    """Report a Service's certificate from the service CA if none of the CAs has the name of its issuer."""
    service = subject.find(SERVICE, name)
    named = "" if isinstance(service, Missing) else service_ca_secret(service)
    secret = secret_of(subject, named) if named else None
    if secret is None or isinstance(secret, Missing):
        return
    chain = chain_of(secret)
    if chain and not subjects.intersection(each.issuer for each in chain):
        yield Flaw(
            message=f"none of these CAs issued the certificate in {secret.reference}, which the backend serves",
            at=_DESTINATION,
            expected=((chain[0].issuer or "")[:200],),
            fix="remove destinationCACertificate: the service CA issued the backend's certificate",
        )


def _services(subject: Subject) -> Iterator[Flaw]:
    for steps, name in _backends(subject):
        service = subject.find(SERVICE, name)
        if isinstance(service, Missing):
            if service.gap:
                yield undecided(service, steps, "whether the router can verify the backend")
            else:
                yield Flaw(message=f"{service.name} does not exist", at=steps, fix=f"create {service.name}")
        elif not service_ca_secret(service):
            yield Flaw(
                message=f"the router trusts only the service CA, but {service.reference} has no certificate from it",
                at=steps,
                fix=f"annotate {service.reference} with {SERVICE_CA[0]}, or set destinationCACertificate",
                correction=f"metadata:\n  annotations:\n    {SERVICE_CA[0]}: {name}-tls",
            )


def _backends(subject: Subject) -> Iterator[tuple[Steps, str]]:
    for each in Route.of(subject.object).backends[:_BACKENDS]:
        if each.service:
            yield (*each.steps, "name"), each.service


BACKEND_NAME = ObjectRule(id="route-backend-name", subjects=(ROUTE,), check=check_backend_name)
BACKEND_TRUST = ObjectRule(
    id="route-backend-trust",
    subjects=(ROUTE,),
    check=check_backend_trust,
    reads=(SERVICE, *references.READS),
)
