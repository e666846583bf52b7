"""What shows only when certificates are seen together: signers and what they sign, and keys that several have.

Of 50,000 certificates a few words each are kept; of signers, of which there are few, all but their DER.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from scanner.model.held_certificate import HeldCertificate
from scanner.model.key import Key, key_of
from scanner.model.known import Unknown
from scanner.model.well_known import Names
from scanner.pki.classify import Classified
from scanner.tls.certificate import CertificateFacts

_SIGNERS: Final = 20_000
"""CAs that are remembered; bundles of public roots have a few hundred."""
_NAMESAKES: Final = 20
"""CAs of one name. A signer that was renewed has a few."""
_HOLDERS: Final = 50
"""Places, and certificates, that are remembered of one key."""
PLATFORM: Final = "the platform"
"""The holder of everything in its namespaces: its operators copy Secrets from one to another."""
_IN_USE: Final = frozenset({"leaf", "client"})


@dataclass(slots=True)
class Signed:
    """Certificates that are signed alike: by an issuer of one name, with one kind of key and signature."""

    facts: CertificateFacts
    """Of the first, without its DER."""
    classified: Classified
    about: str
    count: int = 0


@dataclass(slots=True)
class Use:
    """Who has one key."""

    holders: dict[str, str] = field(default_factory=dict)
    """Namespaces, each with the first place there."""
    serving: dict[str, str] = field(default_factory=dict)
    """Namespaces whose listeners serve a certificate with it that no object was seen to hold, likewise. One of them may
    merely pass connections through to another."""
    made_out: dict[str, str] = field(default_factory=dict)
    """SHA-256 of the certificates with it, to whom each is made out."""


@dataclass(frozen=True, slots=True)
class _Signer:
    facts: CertificateFacts
    named: bool
    """Whether it is known as one of the platform's."""


class Across:
    """Everything that an inventory has seen, seen together."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._signers: dict[str, list[_Signer]] = {}
        self._by_key: dict[str, list[CertificateFacts]] = {}
        self._seen: set[str] = set()
        self._signed: dict[tuple[str | None, bool, Key | None, str | None], Signed] = {}
        self._uses: dict[str, Use] = {}
        self._served: dict[tuple[str, str, str], str] = {}
        self._stored: set[str] = set()

    def add(self, held: HeldCertificate, classified: Classified, namespace: str | None) -> None:
        """Take in a certificate in one place."""
        facts = held.facts
        if facts.is_ca:
            self._add_signer(facts, classified)
        elif held.place.role in _IN_USE:
            self._add_use(held, namespace)
        if held.place.role != "trusted" and not facts.self_issued and facts.sha256 not in self._seen:
            self._seen.add(facts.sha256)
            self._add_signed(held, classified)

    def crossed(self, facts: CertificateFacts) -> tuple[CertificateFacts, ...]:
        """The other certificates of the same subject and key as a CA's, by whomever they were issued."""
        if not facts.is_ca or facts.key_sha256 is None or facts.subject is None:
            return ()
        same = self._by_key.get(facts.key_sha256, ())
        return tuple(each for each in same if each.sha256 != facts.sha256 and each.subject == facts.subject)

    def first_made(self, facts: CertificateFacts) -> datetime | None:
        """When the key of a signer that was signed across was first seen made: there is another certificate of the same
        subject and key, by another issuer. None of any other certificate."""
        same = self.crossed(facts)
        if all(each.issuer == facts.issuer for each in same):
            return None
        return min((each.not_before for each in (facts, *same) if each.not_before), default=None)

    def signed(self) -> Iterator[tuple[Signed, tuple[CertificateFacts, ...]]]:
        """Those that are signed alike, with every CA of their issuer's name; where none was found, or too many, they
        are left out. Of what the platform made only its own CAs count: anybody can call a CA of theirs etcd-signer."""
        for each in self._signed.values():
            of_name = self._signers.get(each.facts.issuer or "", ())
            signers = tuple(one.facts for one in of_name if one.named or not each.classified.names)
            if signers and len(of_name) < _NAMESAKES:
                yield each, signers

    def shared(self) -> Iterator[tuple[str, Use]]:
        """Keys that several namespaces have, or certificates made out to different names; with their digests. A
        certificate that a Secret or a Route has is theirs, whichever listener serves it; and the platform's routers and
        gateways serve what is others'."""
        for (digest, key, holder), where in self._served.items():
            if digest not in self._stored and holder != PLATFORM:
                self._uses[key].serving.setdefault(holder, where)
        for key, use in self._uses.items():
            if len(use.holders.keys() | use.serving.keys()) > 1 or len(set(use.made_out.values())) > 1:
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

    def _add_signed(self, held: HeldCertificate, classified: Classified) -> None:
        facts, key = held.facts, key_of(held.facts)
        kind = (facts.issuer, bool(classified.names), None if isinstance(key, Unknown) else key, facts.signature)
        if kind not in self._signed:
            self._signed[kind] = Signed(replace(facts, der=b""), classified, str(held.place))
        self._signed[kind].count += 1

    def _add_use(self, held: HeldCertificate, namespace: str | None) -> None:
        facts, key = held.facts, held.facts.key_sha256
        if key is None or facts.is_ca is None or not (held.place.endpoint or held.place.reference):
            return
        use = self._uses.setdefault(key, Use())
        if len(use.made_out) < _HOLDERS:
            use.made_out.setdefault(facts.sha256, _made_out(facts))
        holder = self._holder(namespace)
        if held.place.endpoint:
            self._served.setdefault((facts.sha256, key, holder), str(held.place))
            return
        self._stored.add(facts.sha256)
        if len(use.holders) < _HOLDERS:
            use.holders.setdefault(holder, str(held.place))

    def _holder(self, namespace: str | None) -> str:
        return PLATFORM if namespace is None or self._names.is_platform(namespace) else namespace


def _made_out(facts: CertificateFacts) -> str:
    """To whom, so that the next certificate for the same is no other one."""
    return " ".join(filter(None, (facts.subject, *sorted(facts.sans or ()))))[:500]
