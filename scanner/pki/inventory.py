"""The inventory: every certificate once, with where it is, what it is, and what its key should be. Pure.

Of 50,000 certificates only what is said of each stays in memory: no DER, and of the places the first few.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from scanner.model.expectation import Because
from scanner.model.finding import Finding
from scanner.model.held_certificate import HeldCertificate
from scanner.model.key import Key, key_of
from scanner.model.known import Unknown
from scanner.model.scan_policy import ScanPolicy
from scanner.model.well_known import Names
from scanner.pki.across import Across
from scanner.pki.classify import Classified, classify
from scanner.pki.governing import Governing
from scanner.pki.rules import of_all, of_certificate
from scanner.pki.subject import Subject

PLACES = 5
"""Places that are told of one certificate; how many there are is counted."""


@dataclass(slots=True, kw_only=True)
class Entry:
    """One certificate."""

    sha256: str
    subject: str | None
    issuer: str | None
    key: Key | None
    """None where it cannot be read."""
    not_before: datetime | None
    not_after: datetime | None
    classified: Classified
    """As it was found in the place that tells most of it."""
    findings: tuple[Finding, ...]
    namespace: str | None = None
    """Of that place, or of the listener there."""
    places: list[str] = field(default_factory=list)
    count: int = 0
    """Of places."""

    @property
    def name(self) -> str:
        """Its well-known name, or ""; several where nothing tells which."""
        return " or ".join(each.name for each in self.classified.names)


class Inventory:
    """The certificates of one cluster."""

    def __init__(self, names: Names, governing: Governing, now: datetime, policy: ScanPolicy = ScanPolicy()) -> None:
        self._names = names
        self._governing = governing
        self._now = now
        self._policy = policy
        self._entries: dict[str, Entry] = {}
        self._across = Across(names)
        self._signers: dict[str, tuple[HeldCertificate, str | None]] = {}
        """Of a CA's SHA-256: in the place that tells most of it, without its DER."""

    def add(self, held: HeldCertificate, namespace: str | None = None) -> Classified:
        """Take in a certificate in one place: what it is, by all places so far. ``namespace`` decides who governs it;
        by default its object's.

        What one place says of it beats what another one leaves open: a well-known Secret tells more than a bundle.
        """
        reference = held.place.reference
        where = namespace or (reference.namespace if reference else None)
        classified = classify(held, self._names)
        entry = self._entries.get(held.facts.sha256)
        place = str(held.place)
        self._across.add(held, classified, where, where=place, first=entry is None)
        if entry is None or _tells_more(classified, entry.classified):
            entry = self._entries[held.facts.sha256] = self._entry(held, classified, where, entry)
            if held.facts.is_ca:
                self._judge_crossed(held, where)
        entry.count += 1
        if len(entry.places) < PLACES:
            entry.places.append(place)
        return entry.classified

    def _judge_crossed(self, held: HeldCertificate, where: str | None) -> None:
        """A signer that was signed across has the same key in another certificate, which is judged anew: its key may be
        older than it looked."""
        self._signers[held.facts.sha256] = replace(held, facts=replace(held.facts, der=b""), chain=()), where
        for other in self._across.crossed(held.facts):
            entry = self._entries[other.sha256]
            known, its_place = self._signers[other.sha256]
            entry.findings = self._entry(known, entry.classified, its_place, entry).findings

    def _entry(
        self, held: HeldCertificate, classified: Classified, namespace: str | None, before: Entry | None
    ) -> Entry:
        facts, key, governed = held.facts, key_of(held.facts), self._governing.of(namespace)
        subject = Subject(
            held=held,
            classified=classified,
            config=governed.config,
            history=governed.history,
            now=self._now,
            first_made=self._across.first_made(facts),
            policy=self._policy,
            lifetimes=self._names.lifetimes,
        )
        return Entry(
            sha256=facts.sha256,
            subject=facts.subject,
            issuer=facts.issuer,
            key=None if isinstance(key, Unknown) else key,
            not_before=facts.not_before,
            not_after=facts.not_after,
            classified=classified,
            findings=tuple(_because(each, governed.because) for each in of_certificate(subject)),
            namespace=namespace,
            places=before.places if before else [],
            count=before.count if before else 0,
        )

    def entries(self) -> Iterator[Entry]:
        """Every certificate, in the order in which it was first found."""
        return iter(self._entries.values())

    def findings(self) -> Iterator[Finding]:
        """What is to be said of them; that a key is as it should be is no news."""
        for entry in self.entries():
            yield from (finding for finding in entry.findings if finding.status != "ok")
        yield from of_all(self._across)

    def counts(self) -> Counter[tuple[str, str]]:
        """How many, by category and key: ``("signer", "RSA 2048")``."""
        return Counter((each.classified.category, str(each.key or "unreadable")) for each in self.entries())


def _tells_more(new: Classified, old: Classified) -> bool:
    """A place where it is known, or where it is known to be somebody's own, beats one where nobody can tell."""
    return _weight(new) > _weight(old)


def _weight(classified: Classified) -> int:
    if classified.names:
        return 3
    return 1 if classified.governed is None else 2


def _because(finding: Finding, step: Because | None) -> Finding:
    """Why it is this configuration that governs goes before what it says."""
    if step is None:
        return finding
    return replace(finding, evidence=(f"{step.source}: {step.said}", *finding.evidence))


def collect(inventory: Inventory, found: Iterable[HeldCertificate]) -> Inventory:
    """``inventory`` with everything in ``found``."""
    for each in found:
        inventory.add(each)
    return inventory
