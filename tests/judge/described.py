"""Certificates as examples describe them, for rules that ask whether two of them are the same.

Two descriptions that say the same are the same certificate; what one does not mention is as in ``cases.LEAF``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from typing import Any

from scanner.model.expectation import DeclaredIssuer, DeclaredLeaf
from scanner.tls.certificate import CertificateFacts
from scanner.values import replace
from tests.judge.cases import LEAF
from tests.judge.words_served import moment

_FIELDS: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "subject": lambda value: {"subject": value},
    "issuer": lambda value: {"issuer": value},
    "names": lambda value: {"dns_names": tuple(value)},
    "serialNumber": lambda value: {"serial": value},
    "starts": lambda value: {"not_before": moment(value)},
}


def certificate(said: Mapping[str, Any]) -> CertificateFacts:
    """What a description stands for. Raises ``KeyError`` for a word that nobody knows."""
    changes: dict[str, Any] = {}
    for word, value in said.items():
        changes |= _FIELDS[word](value)
    made = replace(LEAF, **changes)
    der = repr(made).encode()
    return LEAF if made == LEAF else replace(made, der=der, sha256=sha256(der).hexdigest())


def chain(said: Iterable[Mapping[str, Any]]) -> tuple[CertificateFacts, ...]:
    """Several, in this order."""
    return tuple(certificate(each) for each in said)


def stored(place: str, certificates: Iterable[Mapping[str, Any]]) -> DeclaredLeaf:
    """The first of several as what an object has, with the others behind it."""
    first, *behind = chain(certificates)
    return DeclaredLeaf(
        place=place,
        sha256=first.sha256,
        serial=first.serial,
        names=frozenset(first.sans or ()),
        issuer=first.issuer,
        not_before=first.not_before,
        issuers=tuple(DeclaredIssuer(sha256=each.sha256, subject=each.subject, issuer=each.issuer) for each in behind),
    )
