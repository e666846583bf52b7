"""Index over an inventory: signers with the certificates that they signed, and keys that several certificates share.

Little is stored for each of 50,000 certificates; for the few signers everything except their DER.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final, NamedTuple

from msgspec import Struct, field

from scanner.kube.maybe import Unknown
from scanner.model.held_certificate import HeldCertificate
from scanner.model.pki_config import Key, key_of
from scanner.model.well_known import Names
from scanner.pki.recognition import Classified, inside, user_provided
from scanner.tls.certificate import CertificateFacts
from scanner.values import replace

_SIGNERS: Final = 20_000
"""Most stored CAs; bundles of public roots have a few hundred."""
_NAMESAKES: Final = 20
"""Most CAs of one name. A renewed signer has a few."""
_HOLDS: Final = 100
"""Most stored places of one key."""
PLATFORM: Final = "the platform"
"""The holder of everything in its namespaces: its operators copy Secrets from one to another."""
_IN_USE: Final = frozenset({"leaf", "client"})


class Signed(Struct):
    """Certificates with the same issuer name, kind of key and signature algorithm."""

    facts: CertificateFacts
    """The first of these certificates, without DER."""
    classified: Classified
    about: str
    count: int = 0


class _Hold(NamedTuple):
    """A key in one place."""

    holder: str
    """Namespace, or ``PLATFORM``."""
    where: str
    sha256: str
    """SHA-256 of its certificate there."""
    made_out: int
    """Hash of the certificate's subject and names."""
    called: str
    served: bool


class Use(Struct):
    """A key in several places, or with several certificates."""

    holds: dict[tuple[str, str, bool], _Hold] = field(default_factory=dict)

    def add(self, hold: _Hold) -> None:
        """Add a place."""
        key = hold.holder, hold.sha256, hold.served
        if len(self.holds) < _HOLDS or key in self.holds:
            self.holds[key] = min(hold, self.holds.get(key, hold), key=lambda each: each.where)

    @property
    def _ordered(self) -> list[_Hold]:
        """By place, because listeners answer in any order."""
        return sorted(self.holds.values(), key=lambda each: (each.holder, each.where, each.sha256))

    @property
    def holders(self) -> dict[str, str]:
        """Namespaces whose objects contain the key, each with its first place."""
        return _places(each for each in self._ordered if not each.served)

    @property
    def serving(self) -> dict[str, str]:
        """Namespaces whose listeners serve a certificate with it that no object was seen to hold, likewise. One of them
        may merely pass connections through to another; the platform's routers and gateways often do."""
        stored = {each.sha256 for each in self.holds.values() if not each.served}
        served = (each for each in self._ordered if each.served and each.holder != PLATFORM)
        return _places(each for each in served if each.sha256 not in stored)

    @property
    def made_out(self) -> tuple[str, ...]:
        """The subjects of its certificates, each once."""
        return tuple({each.made_out: each.called for each in self._ordered}.values())


def _places(holds: Iterable[_Hold]) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in holds:
        found.setdefault(each.holder, each.where)
    return found


class _Signer(Struct, frozen=True):
    facts: CertificateFacts
    named: bool
    """True if it is a well-known signer of the platform."""


class InventoryIndex:
    """Signers and keys of an inventory."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._signers: dict[str, list[_Signer]] = {}
        self._by_key: dict[str, list[CertificateFacts]] = {}
        self._signed: dict[tuple[str | None, bool, Key | None, str | None], Signed] = {}
        self._once: dict[str, _Hold] = {}
        self._uses: dict[str, Use] = {}

    def add(
        self,
        held: HeldCertificate,
        classified: Classified,
        namespace: str | None,
        *,
        where: str = "",
        first: bool = True,
    ) -> None:
        """Add a certificate in one place, with the label ``where``; ``first``: it was not seen before."""
        where = where or str(held.place)
        facts = held.facts
        if facts.is_ca:
            self._add_signer(facts, classified)
        elif held.place.role in _IN_USE:
            self._add_use(held, namespace, where)
        if first and held.place.role != "trusted" and not facts.self_issued:
            self._add_signed(held, classified, where)

    def crossed(self, facts: CertificateFacts) -> tuple[CertificateFacts, ...]:
        """The other certificates with the same subject and key as a CA, by any issuer."""
        if not facts.is_ca or facts.key_sha256 is None or facts.subject is None:
            return ()
        same = self._by_key.get(facts.key_sha256, ())
        return tuple(each for each in same if each.sha256 != facts.sha256 and each.subject == facts.subject)

    def first_made(self, facts: CertificateFacts) -> datetime | None:
        """The earliest notBefore of a cross-signed signer's certificates, which share subject and key but not the
        issuer. None for any other certificate."""
        same = self.crossed(facts)
        if all(each.issuer == facts.issuer for each in same):
            return None
        return min((each.not_before for each in (facts, *same) if each.not_before), default=None)

    def signed(self) -> Iterator[tuple[Signed, tuple[CertificateFacts, ...]]]:
        """Groups of certificates, each with every CA of their issuer's name; left out if none or too many were found.
        For the platform's certificates only its own CAs count, because users can name a CA etcd-signer too."""
        for each in self._signed.values():
            of_name = self._signers.get(each.facts.issuer or "", ())
            signers = tuple(one.facts for one in of_name if one.named or not each.classified.names)
            if signers and len(of_name) < _NAMESAKES:
                yield each, signers

    def shared(self) -> Iterator[tuple[str, Use]]:
        """Keys, by digest, in several namespaces or in certificates for different names. A certificate in a Secret or
        Route belongs to their namespace, whichever listener serves it."""
        for key, use in self._uses.items():
            if len(use.holders.keys() | use.serving.keys()) > 1 or len(use.made_out) > 1:
                yield key, use

    def _add_signer(self, facts: CertificateFacts, classified: Classified) -> None:
        if facts.subject is None or (facts.subject not in self._signers and len(self._signers) >= _SIGNERS):
            return
        of_name, named = self._signers.setdefault(facts.subject, []), bool(classified.names)
        known = next((number for number, each in enumerate(of_name) if each.facts.sha256 == facts.sha256), None)
        if known is not None:
            of_name[known] = _Signer(of_name[known].facts, of_name[known].named or named)
        elif len(of_name) < _NAMESAKES:
            slim = replace(facts, der=b"")
            of_name.append(_Signer(slim, named))
            if facts.key_sha256 is not None:
                self._by_key.setdefault(facts.key_sha256, []).append(slim)

    def _add_signed(self, held: HeldCertificate, classified: Classified, where: str) -> None:
        facts, key = held.facts, key_of(held.facts)
        kind = (facts.issuer, bool(classified.names), None if isinstance(key, Unknown) else key, facts.signature)
        if kind not in self._signed:
            self._signed[kind] = Signed(replace(facts, der=b""), classified, where)
        self._signed[kind].count += 1

    def _add_use(self, held: HeldCertificate, namespace: str | None, where: str) -> None:
        facts, key = held.facts, held.facts.key_sha256
        if key is None or facts.is_ca is None or not (held.place.endpoint or held.place.reference):
            return
        holder = namespace or PLATFORM
        place, names = held.place, self._names
        if names.is_platform(holder) or user_provided(place, names) or inside(place, names):
            holder = PLATFORM  # HyperShift copies what it makes for its hosted control planes, too
        made_out = hash((facts.subject, frozenset(facts.sans or ())))
        called = facts.subject or facts.sha256
        hold = _Hold(holder, where, facts.sha256, made_out, called, served=bool(held.place.endpoint))
        once = self._once.setdefault(key, hold)  # of most keys there is no more
        if once.holder != holder or once.sha256 != facts.sha256 or once.served != hold.served:
            use = self._uses.setdefault(key, Use())
            use.add(once)
            use.add(hold)
