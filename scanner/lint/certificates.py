"""Certificates in the Secrets and ConfigMaps that objects refer to, and what is wrong with them (RFC 5280)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache, partial
from itertools import islice
from typing import Final

from scanner.files.source_positions import Steps
from scanner.kube.maybe import Unknown
from scanner.kube.objects import KubeObject
from scanner.kube.secrets import ConfigMap, Secret
from scanner.model.certificate_faults import Reading, date, field, short, weak_key, weak_signature
from scanner.model.finding import Severity
from scanner.model.object_rule import Flaw
from scanner.model.pem import broken, decoded, decoded_text, form_of, looks_like_a_key, pem_certificates, unreadable
from scanner.tls.certificate import CertificateFacts, parse_certificate

Fault = Callable[[CertificateFacts], Reading]

MOST: Final = 1000
"""Certificates of one text; more than any bundle of public roots."""
LEAST_RSA_BITS: Final = 2048
_ANY_USAGE: Final = "2.5.29.37.0"
"""anyExtendedKeyUsage (RFC 5280 section 4.2.1.12)."""


def entry(holder: KubeObject, name: str) -> str | None:
    """The text of an entry of a Secret or ConfigMap; None where there is none, "" of what is not base64."""
    if holder.kind.name == "Secret":
        coded = Secret.of(holder).data.get(name)
    else:
        coded = ConfigMap.of(holder).binary_data.get(name)
    if coded:
        return _decoded(coded)
    return ConfigMap.of(holder).data.get(name) or None if holder.kind.name == "ConfigMap" else None


_decoded: Final = lru_cache(maxsize=128)(decoded_text)  # as ``of_text``, which takes a text at once that it has seen


def instead(holder: KubeObject, name: str) -> str:
    """``: it is a PKCS #12 container``, of an entry of a Secret or ConfigMap that has no certificate in PEM; "" where
    nobody can tell what it is."""
    if holder.kind.name == "Secret":  # of which only this is kept
        what = Secret.of(holder).forms.get(name)
        return f": it is {what}" if what else ""
    found = ConfigMap.of(holder)
    return instead_of(found.data.get(name) or _binary(found.binary_data.get(name, "")) or b"")


def instead_of(content: str | bytes) -> str:
    """The same of a text."""
    what = form_of(content.encode("utf-8", "replace") if isinstance(content, str) else content)
    return f": it is {what}" if what else ""


def _binary(coded: str) -> bytes | None:
    try:
        return decoded(coded)
    except ValueError:
        return coded.encode("utf-8", "replace")  # which says where a key was removed


@lru_cache(maxsize=128)  # many objects refer to the same few
def of_text(text: str) -> tuple[CertificateFacts, ...]:
    """Every certificate of a text in PEM, in its order; one that cannot be read says why."""
    return tuple(
        unreadable(each.reason) if isinstance(each, Unknown) else _facts(each) for each in pem_certificates(text, MOST)
    )


@lru_cache(maxsize=16_384)
def _facts(der: bytes) -> CertificateFacts:
    """Read once: for the Secret, for whoever refers to it, and for the keys of all Secrets. 3 KiB each."""
    return (
        unreadable("a private key where a certificate should be") if looks_like_a_key(der) else parse_certificate(der)
    )


def chain_of(secret: KubeObject) -> tuple[CertificateFacts, ...]:
    """The certificates in a Secret's ``tls.crt``, the leaf first; none where there are none."""
    return of_text(entry(secret, "tls.crt") or "")


def limited(certificate: CertificateFacts) -> bool:
    """Whether it stands for those that were not read because there were too many before them."""
    return any(reason.startswith("more than ") for reason in islice(certificate.unreadable.values(), 1))


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
    message = "is no CA (basicConstraints): nothing is verified by it but, at most, itself"
    return field("is_ca", lambda ca: None if ca else message)(certificate)


def not_for(usage: str) -> Fault:
    """Its extendedKeyUsage is there and leaves ``usage`` out (RFC 5280 section 4.2.1.12)."""

    def missing(usages: tuple[str, ...]) -> Reading:
        if not usages or usage in usages or _ANY_USAGE in usages:
            return None
        return f"is not for {usage}: its extendedKeyUsage has only {', '.join(map(short, usages[:5]))}"

    return field("extended_key_usage", missing)


strong: Final[Fault] = partial(weak_key, min_rsa_bits=LEAST_RSA_BITS)
"""Its key is long enough, and of a kind that clients take."""


def _of_every(now: datetime) -> tuple[tuple[Severity | None, Fault], ...]:
    return (
        ("high", ended(now)),
        ("high", not_begun(now)),
        ("medium", strong),
    )


def leaf_flaws(
    secret: KubeObject, at: Steps, now: datetime, *, usage: str = "serverAuth", fix: str | None = None
) -> Iterator[Flaw]:
    """What is wrong with the certificates in a Secret's ``tls.crt`` at ``now``, the leaf's and its issuers'.

    ``usage``: what the leaf is for. ``at``: the field that refers to the Secret.
    """
    chain = chain_of(secret)
    yield from broken_flaws(secret, chain, at, severity="high", fix=fix)
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
        what = f"{name} has no certificate in PEM{instead(holder, name)}"
        yield Flaw(message=f"{holder.reference}: {what}", at=at, fix=fix)
    yield from broken_flaws(holder, found, at, name=name, fix=fix)
    faults: tuple[tuple[Severity | None, Fault], ...] = ((None, is_no_ca), (None, ended(now)))
    for each in found:
        yield from flaws(holder, each, at, faults, fix=fix)


def broken_flaws(
    holder: KubeObject,
    found: Sequence[CertificateFacts],
    at: Steps,
    *,
    name: str = "tls.crt",
    severity: Severity | None = None,
    fix: str | None = None,
) -> Iterator[Flaw]:
    """Those of an entry that nobody can read, be they the leaf or behind it: who serves or trusts them stops there."""
    for place, each in enumerate(found, 1):
        why = None if limited(each) else broken(each)
        if why:
            which = f"certificate {place} of {len(found)} in " if len(found) > 1 else "the certificate in "
            message = f"{holder.reference}: {which}{name} cannot be read: {why}"
            yield Flaw(message=message, at=at, severity=severity, fix=fix or f"{holder.reference}: give it whole")


def flaws(
    holder: KubeObject,
    certificate: CertificateFacts,
    at: Steps,
    faults: Sequence[tuple[Severity | None, Fault]],
    *,
    fix: str | None = None,
) -> Iterator[Flaw]:
    """What the ``faults`` say of one certificate, each with its severity; what cannot be read is inconclusive. Of one
    of which nothing can be read ``broken_flaws`` says so."""
    if broken(certificate) and not limited(certificate):
        return
    where = f"{holder.reference}: {called(certificate)}"
    unread = set()
    for severity, fault in faults:
        said = fault(certificate)
        if isinstance(said, Unknown):
            unread.add(said.reason)
        elif said is not None:
            remedy = fix or f"{holder.reference}: replace the certificate"
            yield Flaw(message=f"{where}: {said}", at=at, severity=severity, fix=remedy)
    for reason in sorted(unread):
        yield Flaw(message=f"{where}: {reason}", at=at, verdict="inconclusive")
