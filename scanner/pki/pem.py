"""How certificates in PEM belong together (RFC 7468), and the reading of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256

from scanner.model.held_certificate import HeldCertificate, Role
from scanner.model.pem import MOST, Parser, inside, looks_like_a_key, pem_certificates, unreadable
from scanner.tls.certificate import CertificateFacts

__all__ = [
    "MOST",
    "Parser",
    "apart",
    "chain_first",
    "chain_of",
    "inside",
    "issued",
    "looks_like_a_key",
    "pem_certificates",
    "roles",
    "unreadable",
]

_LONGEST_CHAIN = 10


def issued(certificate: CertificateFacts, issuer: CertificateFacts) -> bool:
    """Whether the names say that one issued the other, which is not itself."""
    return certificate.issuer is not None and certificate.issuer == issuer.subject and not certificate.self_issued


def chain_of(certificate: CertificateFacts, behind: Iterable[CertificateFacts]) -> tuple[CertificateFacts, ...]:
    """Those of ``behind`` that continue the chain, in their order, as long as each issued the one before."""
    chain: list[CertificateFacts] = []
    for each in behind:
        if len(chain) == _LONGEST_CHAIN or not issued(chain[-1] if chain else certificate, each):
            break
        chain.append(each)
    return tuple(chain)


def chain_first(found: Sequence[CertificateFacts]) -> list[CertificateFacts]:
    """The first, its issuer, that one's and so on, then the rest as they stand: files need not keep an order."""
    ordered, rest = list(found[:1]), list(found[1:])
    while ordered and len(ordered) <= _LONGEST_CHAIN:
        behind = next((each for each in rest if issued(ordered[-1], each)), None)
        if behind is None:
            break
        rest.remove(behind)
        ordered.append(behind)
    return ordered + rest


def roles(found: Sequence[CertificateFacts], *, keyed: bool = False) -> Iterator[Role]:
    """What each certificate of a file is there for; ``keyed``: the first has its key beside it."""
    for number, each in enumerate(found):
        if number == 0 and keyed:
            yield "client" if each.extended_key_usage == ("clientAuth",) and not each.is_ca else "leaf"
        elif not each.is_ca:
            yield "client" if each.extended_key_usage == ("clientAuth",) else "leaf"
        else:
            yield "issuer" if number and issued(found[number - 1], each) else "trusted"


def apart(held: HeldCertificate) -> HeldCertificate:
    """With a digest of its own, that of its place, where it has no bytes: else all that cannot be read, wherever it is,
    would be one certificate, with the name and the findings of the first."""
    if held.facts.der:
        return held
    digest = sha256(str(held.place).encode("utf-8", "backslashreplace")).hexdigest()
    return replace(held, facts=replace(held.facts, sha256=digest))
