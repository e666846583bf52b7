"""Certificates in the Secrets and ConfigMaps that objects refer to, and their faults (RFC 5280)."""

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
    """The text of an entry of a Secret or ConfigMap; None where there is none, "" where it is not base64."""
    if holder.kind.name == "Secret":
        coded = Secret.of(holder).data.get(name)
    else:
        coded = ConfigMap.of(holder).binary_data.get(name)
    if coded:
        return _decoded(coded)
    return ConfigMap.of(holder).data.get(name) or None if holder.kind.name == "ConfigMap" else None


_decoded: Final = lru_cache(maxsize=128)(decoded_text)  # so that ``of_text`` gets the same string, already hashed


def other_format(holder: KubeObject, name: str) -> str:
    """``: it is a PKCS #12 container``, for an entry of a Secret or ConfigMap without a certificate in PEM; "" if its
    format is unknown."""
    if holder.kind.name == "Secret":  # its content is not kept
        what = Secret.of(holder).forms.get(name)
        return f": it is {what}" if what else ""
    found = ConfigMap.of(holder)
    return other_format_of(found.data.get(name) or _binary(found.binary_data.get(name, "")) or b"")


def other_format_of(content: str | bytes) -> str:
    """The same for the content itself."""
    what = form_of(content.encode("utf-8", "replace") if isinstance(content, str) else content)
    return f": it is {what}" if what else ""


def _binary(coded: str) -> bytes | None:
    try:
        return decoded(coded)
    except ValueError:
        return coded.encode("utf-8", "replace")  # may be the note that a private key was removed


@lru_cache(maxsize=128)  # many objects refer to the same few
def of_text(text: str) -> tuple[CertificateFacts, ...]:
    """Parse every certificate of a text in PEM, in its order; one that cannot be read has the reason."""
    return tuple(
        unreadable(each.reason) if isinstance(each, Unknown) else _facts(each) for each in pem_certificates(text, MOST)
    )


@lru_cache(maxsize=16_384)
def _facts(der: bytes) -> CertificateFacts:
    """Parse one certificate. Cached, because several rules and objects ask for the same one; 3 KiB each."""
    return (
        unreadable("a private key where a certificate should be") if looks_like_a_key(der) else parse_certificate(der)
    )


def chain_of(secret: KubeObject) -> tuple[CertificateFacts, ...]:
    """The certificates in a Secret's ``tls.crt``, the leaf first; none where there are none."""
    return of_text(entry(secret, "tls.crt") or "")


def leaf_of(secret: KubeObject) -> CertificateFacts | None:
    """The first certificate in a Secret's ``tls.crt``."""
    return next(iter(chain_of(secret)), None)


def is_remainder(certificate: CertificateFacts) -> bool:
    """True if it represents the certificates that were not read because the text has too many."""
    return any(reason.startswith("more than ") for reason in islice(certificate.unreadable.values(), 1))


def display_name(certificate: CertificateFacts) -> str:
    """The certificate's subject, else its fingerprint."""
    return short(certificate.subject) if certificate.subject else f"the certificate {certificate.sha256[:16]}"


def expired(now: datetime) -> Fault:
    """The certificate has expired."""
    return field("not_after", lambda end: f"expired on {date(end)}" if end < now else None)


def not_yet_valid(now: datetime) -> Fault:
    """The validity of the certificate has not begun."""
    return field("not_before", lambda start: f"is not valid before {date(start)}" if start > now else None)


def is_a_ca(certificate: CertificateFacts) -> Reading:
    """The leaf may sign other certificates."""
    return field("is_ca", lambda ca: "is a CA (basicConstraints), not a leaf" if ca else None)(certificate)


def is_no_ca(certificate: CertificateFacts) -> Reading:
    """The trust anchor may sign no certificate."""
    message = "is not a CA (basicConstraints): it can verify no certificate but, at most, itself"
    return field("is_ca", lambda ca: None if ca else message)(certificate)


def not_for(usage: str) -> Fault:
    """The certificate's extendedKeyUsage is present and lacks ``usage`` (RFC 5280 section 4.2.1.12)."""

    def missing(usages: tuple[str, ...]) -> Reading:
        if not usages or usage in usages or _ANY_USAGE in usages:
            return None
        return f"is not for {usage}: its extendedKeyUsage has only {', '.join(map(short, usages[:5]))}"

    return field("extended_key_usage", missing)


key_strength: Final[Fault] = partial(weak_key, min_rsa_bits=LEAST_RSA_BITS)
"""The key is too short, or of a type that clients do not accept."""


def leaf_flaws(
    secret: KubeObject, at: Steps, now: datetime, *, usage: str = "serverAuth", fix: str | None = None
) -> Iterator[Flaw]:
    """Find the faults of the leaf and the issuers in a Secret's ``tls.crt``.

    ``usage``: the leaf's extended key usage. ``at``: the field that refers to the Secret.
    """
    chain = chain_of(secret)
    name = str(at[-1]) if secret.kind.name == "Route" else "tls.crt"
    yield from unreadable_flaws(secret, chain, at, name=name, severity="high", fix=fix)
    for place, each in enumerate(chain):
        faults: list[tuple[Severity | None, Fault]] = [
            ("high", expired(now)),
            ("high", not_yet_valid(now)),
            ("medium", key_strength),
        ]
        if place == 0 or not each.self_issued:
            faults.append(("medium", weak_signature))
        if place == 0:
            faults += [("medium", is_a_ca), ("medium", not_for(usage))]
        yield from fault_flaws(secret, each, at, faults, fix=fix)


def authority_flaws(holder: KubeObject, at: Steps, now: datetime, *, name: str = "ca.crt") -> Iterator[Flaw]:
    """Find the faults of the trust anchors in an entry of a ConfigMap or Secret: absent, no PEM, no CA, expired."""
    text = entry(holder, name)
    found = of_text(text or "")
    fix = f"{holder.reference}: put the CA's certificate in PEM into {name}"
    if text is None:
        yield Flaw(message=f"{holder.reference} has no {name}", at=at, fix=fix)
    elif not found:
        what = f"{name} has no certificate in PEM{other_format(holder, name)}"
        yield Flaw(message=f"{holder.reference}: {what}", at=at, fix=fix)
    yield from unreadable_flaws(holder, found, at, name=name, fix=fix)
    for each in found:
        yield from fault_flaws(holder, each, at, ((None, is_no_ca), (None, expired(now))), fix=fix)


def unreadable_flaws(
    holder: KubeObject,
    found: Sequence[CertificateFacts],
    at: Steps,
    *,
    name: str = "tls.crt",
    severity: Severity | None = None,
    fix: str | None = None,
) -> Iterator[Flaw]:
    """Report certificates of an entry that cannot be parsed: the software that loads them stops at the first."""
    for place, each in enumerate(found, 1):
        why = None if is_remainder(each) else broken(each)
        if why:
            which = f"certificate {place} of {len(found)} in " if len(found) > 1 else "the certificate in "
            message = f"{holder.reference}: {which}{name} cannot be read: {why}"
            remedy = fix or f"{holder.reference}: replace it with the complete certificate"
            yield Flaw(message=message, at=at, severity=severity, fix=remedy)


def fault_flaws(
    holder: KubeObject,
    certificate: CertificateFacts,
    at: Steps,
    faults: Sequence[tuple[Severity | None, Fault]],
    *,
    fix: str | None = None,
) -> Iterator[Flaw]:
    """Apply ``faults``, each with its severity, to one certificate; a field that cannot be read is inconclusive.

    ``unreadable_flaws`` reports a certificate without any readable field.
    """
    if broken(certificate) and not is_remainder(certificate):
        return
    where = f"{holder.reference}: {display_name(certificate)}"
    unread = set()
    for severity, fault in faults:
        reading = fault(certificate)
        if isinstance(reading, Unknown):
            unread.add(reading.reason)
        elif reading is not None:
            remedy = fix or f"{holder.reference}: replace the certificate"
            yield Flaw(message=f"{where}: {reading}", at=at, severity=severity, fix=remedy)
    for reason in sorted(unread):
        yield Flaw(message=f"{where}: {reason}", at=at, verdict="inconclusive")
