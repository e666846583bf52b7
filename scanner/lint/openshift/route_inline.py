"""Certificates and keys that stand in a Route itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube.kinds import ROUTE
from scanner.kube.objects import KubeObject
from scanner.lint.certificates import broken_flaws, called, instead, of_text
from scanner.lint.openshift.routes import KEYS, TLS, beside_key, rejected_signature, terminates, unrecognized
from scanner.model.object_rule import Flaw, ObjectRule, Subject
from scanner.tls.certificate import CertificateFacts

_CERTIFICATE: Final = (*TLS, "certificate")
_KEY: Final = (*TLS, "key")
_AUTHORITY: Final = (*TLS, "caCertificate")


def check_key(subject: Subject) -> Iterator[Flaw]:
    """A Route does not hold a private key."""
    if subject.object.text(*_KEY):
        yield Flaw(
            message="a private key stands in the Route, where everybody reads it who may read Routes",
            at=_KEY,
            fix="put certificate and key into a Secret, and name it in externalCertificate",
            correction="externalCertificate:\n  name: NAME",
        )


def check_inline(subject: Subject) -> Iterator[Flaw]:
    """A Route's own certificate, key and CA are what the router takes."""
    route = subject.object
    if not terminates(route):
        return
    if not route.text(*_CERTIFICATE):
        for at in (_KEY, _AUTHORITY):
            if route.text(*at):
                message = f"{at[-1]} is of no use without a certificate, and the router serves its default one"
                yield Flaw(message=message, at=at, severity="low", fix=f"add the certificate, or remove {at[-1]}")
        return
    chain = of_text(route.text(*_CERTIFICATE))
    if not chain:
        message = f"the router rejects it: no certificate in PEM{instead(route, 'certificate')}"
        yield Flaw(message=message, at=_CERTIFICATE, fix="give it in PEM")
        return
    yield from broken_flaws(route, chain, _CERTIFICATE, name="certificate")
    yield from _pair(subject)
    for place, each in enumerate(chain):
        yield from _rejected(each, leaf=place == 0)
    if text := route.text(*_AUTHORITY):
        authorities = of_text(text)
        yield from broken_flaws(route, authorities, _AUTHORITY, name="caCertificate")
        yield from _chained(chain, authorities)
        for each in authorities:
            yield from old_signature(each, _AUTHORITY)
    for at in (_CERTIFICATE, _AUTHORITY):
        yield from unknown_block(route, at)


def unknown_block(route: KubeObject, at: Steps) -> Iterator[Flaw]:
    """That a field has a block in PEM that the router does not know."""
    if says := unrecognized(route.text(*map(str, at))):
        yield Flaw(message=f"the router rejects it: {says}", at=at, severity="high", fix=f"remove it from {at[-1]}")


def old_signature(certificate: CertificateFacts, at: Steps) -> Iterator[Flaw]:
    """That a certificate in a field is signed in a way that the router does not take."""
    if says := rejected_signature(certificate):
        yield Flaw(
            message=f"the router rejects it: {says}",
            at=at,
            severity="high",
            observed=(called(certificate),),
            fix="get it signed with SHA-256",
        )


def _pair(subject: Subject) -> Iterator[Flaw]:
    matches = subject.object.at("adhere", "keyMatches")
    if says := beside_key(subject.object):
        yield Flaw(message=f"the router rejects it: {says}", at=_KEY, fix="keep nothing but the private key in key")
        if matches is not False:
            return
    if matches is False:
        yield Flaw(
            message="the router rejects it: private key does not match public key",
            at=_KEY,
            fix="give the key that the first certificate was made for",
        )
    elif isinstance(matches, str) and matches == "there is no tls.key":
        yield Flaw(message="the router rejects it: no key specified", at=_KEY, fix="add the key")
    elif isinstance(matches, str) and matches.startswith("tls.key "):
        message = f"the router rejects it: key {matches.removeprefix('tls.key ')}"
        yield Flaw(message=message, at=_KEY, fix="give the key in PEM, not encrypted")
    elif matches is not True:
        said = f" ({matches})" if isinstance(matches, str) else ""
        message = f"cannot be decided here: whether the key belongs to the certificate{said}"
        yield Flaw(message=message, at=_KEY, verdict="inconclusive")


def _rejected(certificate: CertificateFacts, *, leaf: bool) -> Iterator[Flaw]:
    algorithm = certificate.key_algorithm
    if leaf and algorithm is not None and algorithm not in KEYS:
        message = f"the router rejects it: it takes no {algorithm} key (block private key is not valid)"
        yield Flaw(message=message, at=_KEY, expected=KEYS, observed=(algorithm,), fix="use an RSA or ECDSA key")
    yield from old_signature(certificate, _CERTIFICATE)


def _chained(chain: Sequence[CertificateFacts], authorities: Sequence[CertificateFacts]) -> Iterator[Flaw]:
    subjects = {each.subject for each in authorities}
    if not authorities:
        message = "the router rejects it: failed to parse CA certificate"
        yield Flaw(message=message, at=_AUTHORITY, fix="give CA certificates in PEM")
    elif chain[0].issuer is not None and chain[0].issuer not in subjects and chain[0] not in authorities:
        yield Flaw(
            message="the router rejects it: caCertificate has none that issued the certificate",
            at=_AUTHORITY,
            expected=(chain[0].issuer[:200],),
            observed=tuple(called(each) for each in authorities[:5]),
            fix="put the issuer of the certificate into caCertificate",
        )


KEY = ObjectRule(
    id="route-inline-key",
    subjects=(ROUTE,),
    check=check_key,
)
INLINE = ObjectRule(
    id="route-inline-certificate",
    subjects=(ROUTE,),
    check=check_inline,
)
