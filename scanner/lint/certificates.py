"""Certificates in the Secrets and ConfigMaps that objects refer to, and what is wrong with them (RFC 5280)."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache, partial
from typing import Final

from scanner.model.certificate_faults import Reading, date, field, short, weak_key, weak_signature
from scanner.model.finding import Severity
from scanner.model.known import Unknown
from scanner.model.located import Steps
from scanner.model.object_rule import Flaw
from scanner.model.objects import KubeObject
from scanner.model.pem import looks_like_a_key, pem_certificates, unreadable
from scanner.tls.certificate import CertificateFacts, parsed_once

Fault = Callable[[CertificateFacts], Reading]

MOST: Final = 1000
"""Certificates of one text; more than any bundle of public roots."""
LEAST_RSA_BITS: Final = 2048
_ANY_USAGE: Final = "2.5.29.37.0"
"""anyExtendedKeyUsage (RFC 5280 section 4.2.1.12)."""


def entry(holder: KubeObject, name: str) -> str | None:
    """The text of an entry of a Secret or ConfigMap; None where there is none, "" of what is not base64."""
    coded = holder.text("data" if holder.kind.name == "Secret" else "binaryData", name)
    if not coded:
        return holder.text("data", name) or None if holder.kind.name == "ConfigMap" else None
    try:
        return b64decode("".join(coded.split()), validate=True).decode("utf-8", "replace")
    except (NotBase64, ValueError):
        return ""


@lru_cache(maxsize=128)  # many objects refer to the same few
def of_text(text: str) -> tuple[CertificateFacts, ...]:
    """Every certificate of a text in PEM, in its order; one that cannot be read says why."""
    return tuple(
        unreadable(each.reason) if isinstance(each, Unknown) else _facts(each) for each in pem_certificates(text, MOST)
    )


def _facts(der: bytes) -> CertificateFacts:
    return unreadable("a private key where a certificate should be") if looks_like_a_key(der) else parsed_once(der)


def chain_of(secret: KubeObject) -> tuple[CertificateFacts, ...]:
    """The certificates in a Secret's ``tls.crt``, the leaf first; none where there are none."""
    return of_text(entry(secret, "tls.crt") or "")


def called(certificate: CertificateFacts) -> str:
    """A certificate as findings name it."""
    return short(certificate.subject) if certificate.subject else f"the certificate {certificate.sha256[:16]}"


def ended(now: datetime) -> Fault:
    """Its validity is over."""
    return field("not_after", lambda end: f"ended {date(end)}" if end < now else None)


def not_begun(now: datetime) -> Fault:
    """Its validity has not begun."""
    return field("not_before", lambda start: f"begins only {date(start)}" if start > now else None)


def is_a_ca(certificate: CertificateFacts) -> Reading:
    """A leaf that may sign others."""
    return field("is_ca", lambda ca: "is a CA (basicConstraints), not a leaf" if ca else None)(certificate)


def is_no_ca(certificate: CertificateFacts) -> Reading:
    """A trust anchor that may sign nothing."""
    return field("is_ca", lambda ca: None if ca else "is no CA (basicConstraints): nobody verifies by it")(certificate)


def not_for(usage: str) -> Fault:
    """Its extendedKeyUsage is there and leaves ``usage`` out (RFC 5280 section 4.2.1.12)."""

    def missing(usages: tuple[str, ...]) -> Reading:
        if not usages or usage in usages or _ANY_USAGE in usages:
            return None
        return f"is not for {usage}: its extendedKeyUsage has only {', '.join(map(short, usages[:5]))}"

    return field("extended_key_usage", missing)


def _of_every(now: datetime) -> tuple[tuple[Severity | None, Fault], ...]:
    return (
        ("high", ended(now)),
        ("high", not_begun(now)),
        ("medium", partial(weak_key, min_rsa_bits=LEAST_RSA_BITS)),
    )


def leaf_flaws(
    secret: KubeObject, at: Steps, now: datetime, *, usage: str = "serverAuth", fix: str | None = None
) -> Iterator[Flaw]:
    """What is wrong with the certificates in a Secret's ``tls.crt`` at ``now``, the leaf's and its issuers'.

    ``usage``: what the leaf is for. ``at``: the field that refers to the Secret.
    """
    chain = chain_of(secret)
    of_leaf: tuple[tuple[Severity | None, Fault], ...] = (
        ("medium", weak_signature),
        ("medium", is_a_ca),
        ("medium", not_for(usage)),
    )
    for place, each in enumerate(chain):
        signed: tuple[tuple[Severity | None, Fault], ...] = (("medium", weak_signature),)
        more = of_leaf if place == 0 else () if each.self_issued else signed
        yield from flaws(secret, each, at, (*_of_every(now), *more), fix=fix)


def authority_flaws(holder: KubeObject, at: Steps, now: datetime, *, name: str = "ca.crt") -> Iterator[Flaw]:
    """What is wrong with the trust anchors in an entry of a ConfigMap or Secret: absent, no PEM, no CA, ended."""
    text = entry(holder, name)
    found = of_text(text or "")
    fix = f"{holder.reference}: put the CA's certificate in PEM into {name}"
    if text is None:
        yield Flaw(message=f"{holder.reference} has no {name}", at=at, fix=fix)
    elif not found:
        yield Flaw(message=f"{holder.reference}: {name} has no certificate in PEM", at=at, fix=fix)
    faults: tuple[tuple[Severity | None, Fault], ...] = ((None, is_no_ca), (None, ended(now)))
    for each in found:
        yield from flaws(holder, each, at, faults, fix=fix)


def flaws(
    holder: KubeObject,
    certificate: CertificateFacts,
    at: Steps,
    faults: Sequence[tuple[Severity | None, Fault]],
    *,
    fix: str | None = None,
) -> Iterator[Flaw]:
    """What the ``faults`` say of one certificate, each with its severity; what cannot be read is inconclusive."""
    where = f"{holder.reference}: {called(certificate)}"
    unread = set()
    for severity, fault in faults:
        said = fault(certificate)
        if isinstance(said, Unknown):
            unread.add(said.reason)
        elif said is not None:
            yield Flaw(message=f"{where}: {said}", at=at, severity=severity, fix=fix or f"{holder.reference}: renew it")
    for reason in sorted(unread):
        yield Flaw(message=f"{where}: {reason}", at=at, verdict="inconclusive")
