"""The inventory: every certificate once, with its places, its classification and its required key, and the coverage of
the names that the PKI object governs. Pure.

With 50,000 certificates only facts stay in memory: no DER, and the first few places of each.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from fnmatch import fnmatchcase

from msgspec import Struct, field

from scanner.kube.kinds import INFRASTRUCTURE, NAMESPACE, SECRET
from scanner.kube.maybe import Unknown
from scanner.kube.openshift import Infrastructure
from scanner.kube.snapshot import Snapshot
from scanner.model.expectation import Because
from scanner.model.finding import Finding
from scanner.model.held_certificate import HeldCertificate
from scanner.model.inventory import NamesRow
from scanner.model.pki_config import Key, key_of
from scanner.model.scan_policy import ScanPolicy
from scanner.model.well_known import Names, WellKnown
from scanner.pki.governing import MICROSHIFT_FILE, Governing
from scanner.pki.inventory_index import InventoryIndex
from scanner.pki.recognition import Classified, classify, made_by_name
from scanner.pki.resolution import required
from scanner.pki.rules import of_all, of_certificate
from scanner.pki.subject import Subject
from scanner.tls.certificate import CertificateFacts
from scanner.values import replace

PLACES = 5
"""Most places that are listed for one certificate; all are counted."""


class Entry(Struct, kw_only=True):
    """One certificate."""

    sha256: str
    subject: str | None
    issuer: str | None
    key: Key | None
    """None if it cannot be read."""
    not_before: datetime | None
    not_after: datetime | None
    classified: Classified
    """Classification in the most informative place."""
    findings: tuple[Finding, ...]
    unproven: bool = False
    """True if it is unknown whether it is the platform's, and the PKI object would then require a key."""
    superseded: bool = False
    """True if a newer signer of the same name replaces it."""
    namespace: str | None = None
    """Namespace of that place or listener."""
    listener: str = ""
    """That place, if it is a listener."""
    places: list[str] = field(default_factory=list)
    """The first objects and files that hold it."""
    served: list[str] = field(default_factory=list)
    """The first listeners that serve it, by name: listeners are finished in any order."""
    count: int = 0
    """Number of places."""

    @property
    def listed(self) -> list[str]:
        """The places of a report."""
        return [*self.places, *self.served][:PLACES]

    @property
    def name(self) -> str:
        """Its well-known name, or ""; several if it is ambiguous."""
        return " or ".join(each.name for each in self.classified.names)


class Inventory:
    """The certificates of one cluster."""

    def __init__(self, names: Names, governing: Governing, now: datetime, policy: ScanPolicy = ScanPolicy()) -> None:
        self._names = names
        self._governing = governing
        self._now = now
        self._policy = policy
        self._entries: dict[str, Entry] = {}
        self._index = InventoryIndex(names)
        self._signers: dict[str, tuple[HeldCertificate, str | None]] = {}
        """CAs by SHA-256, in their most informative place, without DER."""
        self._signing: set[str] = set()
        """CAs that a Secret contains with their key."""
        self._settled = True

    def add(self, held: HeldCertificate, namespace: str | None = None) -> Classified:
        """Add a certificate in one place, and return its classification by all places so far. ``namespace`` (default:
        that of its object) selects the governing configuration.

        The most informative place counts: a well-known Secret before a bundle.
        """
        reference = held.place.reference
        where = namespace or (reference.namespace if reference else None)
        classified = classify(held, self._names)
        entry = self._entries.get(held.facts.sha256)
        place = str(held.place)
        self._index.add(held, classified, where, where=place, first=entry is None)
        if entry is None or _tells_more(classified, entry.classified) or _comes_first(held, classified, entry):
            entry = self._entries[held.facts.sha256] = self._entry(held, classified, where, entry)
            if held.facts.is_ca:
                slim = replace(held, facts=replace(held.facts, der=b""), chain=())
                self._signers[held.facts.sha256] = slim, where
                self._settled = False
        if held.facts.is_ca and held.place.role == "leaf" and reference is not None:
            self._signing.add(held.facts.sha256)
        entry.count += 1
        if held.place.endpoint:
            insort(entry.served, place)
            del entry.served[PLACES:]
        elif len(entry.places) < PLACES:
            entry.places.append(place)
        return entry.classified

    def _settle(self) -> None:
        """Judge signers again when all are known: the key of a cross-signed one may be older than its certificate, and
        of several with one name in a bundle only one signs."""
        if self._settled:
            return
        self._settled = True
        signers = [(sha256, self._entries[sha256]) for sha256 in self._signers]
        named: dict[str, list[str]] = {}
        for sha256, entry in signers:
            if len(entry.classified.names) == 1:
                named.setdefault(entry.name, []).append(sha256)
        successors = {old: new for same in named.values() for old, new in self._superseded(same)}
        for sha256, entry in signers:
            facts = self._signers[sha256][0].facts
            successor = successors.get(sha256)
            if successor is not None or entry.superseded or self._index.crossed(facts):
                held, where = self._signers[sha256]
                found = self._entry(held, entry.classified, where, entry, successor)
                entry.findings, entry.superseded = found.findings, found.superseded

    def _superseded(self, same: list[str]) -> Iterator[tuple[str, CertificateFacts]]:
        """Superseded signers of one name, each with the active one: the newest whose key is in a Secret, or the newest
        of all if no Secret was read."""
        facts = {each: self._signers[each][0].facts for each in same}
        signing = [each for each in same if each in self._signing]
        dated = [(made, each) for each in signing or same if (made := self._made(facts[each])) is not None]
        if not dated or (not signing and len(dated) < len(same)):
            return  # without an age, the newest is unknown
        newest = {facts[each].key_sha256 for made, each in dated if made == max(dated)[0]}
        if len(newest) > 1:
            return
        active = facts[max(dated)[1]]
        for each in same:
            if each not in self._signing and facts[each].key_sha256 != active.key_sha256:
                yield each, active

    def _made(self, facts: CertificateFacts) -> datetime | None:
        times = (self._index.first_made(facts), facts.not_before, made_by_name(facts))
        return min((each for each in times if each is not None), default=None)

    def _entry(
        self,
        held: HeldCertificate,
        classified: Classified,
        namespace: str | None,
        before: Entry | None,
        successor: CertificateFacts | None = None,
    ) -> Entry:
        facts, key, governed = held.facts, key_of(held.facts), self._governing.of(namespace)
        subject = Subject(
            held=held,
            classified=classified,
            config=governed.config,
            history=governed.history,
            now=self._now,
            first_made=self._index.first_made(facts),
            successor=successor,
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
            unproven=classified.governed is None
            and not held.place.file
            and required(governed.config, classified.category).asks,
            findings=tuple(_because(each, governed.because) for each in of_certificate(subject)),
            superseded=successor is not None,
            namespace=namespace,
            listener=str(held.place) if held.place.endpoint else "",
            places=before.places if before else [],
            served=before.served if before else [],
            count=before.count if before else 0,
        )

    def entries(self) -> Iterator[Entry]:
        """Every certificate: those of objects and files in the order in which they were first found, then those that
        are only served, by listener."""
        self._settle()
        yield from (each for each in self._entries.values() if each.places)
        served = (each for each in self._entries.values() if not each.places)
        yield from sorted(served, key=lambda each: (each.served[:1], each.sha256))

    def findings(self) -> Iterator[Finding]:
        """The findings on the certificates, without those that are ok."""
        for entry in self.entries():
            yield from (finding for finding in entry.findings if finding.status != "ok")
        yield from of_all(self._index)

    def counts(self) -> Counter[tuple[str, str]]:
        """Number of certificates by category and key: ``("signer", "RSA 2048")``."""
        return Counter((each.classified.category, str(each.key or "unreadable")) for each in self.entries())

    def name_coverage(self, cluster: str | None = None) -> NamesRow | None:
        """Coverage of the names that the cluster's own configuration governs; None if it requires nothing of any.
        ``cluster``: its name, if a report has several.

        A scan without Secrets sees few names. A required key for a name that was never seen makes the scan incomplete.
        """
        governing = self._governing
        asked = [each for each in self._names.all if _is_asked(each, governing)]
        if not asked:
            return None
        judged, seen = set[str](), set[str]()
        for entry in self.entries():
            called = {each.name for each in entry.classified.names}
            seen |= called
            if any(one.rule == "pki-key" and one.verdict in ("pass", "fail") for one in entry.findings):
                judged |= called
        elsewhere = {each.name for each in asked if each.name not in seen and _is_elsewhere(each, governing.snapshot)}
        never = [each.name for each in asked if each.name not in seen | elsewhere]
        if governing.own.source == MICROSHIFT_FILE:
            never, elsewhere = [], set()
        unknown = [each.name for each in asked if each.name in seen - judged]
        why = _incomplete(never, unknown, governing)
        return NamesRow(
            cluster=cluster,
            judged=[each.name for each in asked if each.name in judged],
            unknown=unknown,
            never_seen=never,
            elsewhere=[each.name for each in asked if each.name in elsewhere],
            why=why,
            complete=not why,
        )


def _tells_more(new: Classified, old: Classified) -> bool:
    """True if ``new`` is more informative: a well-known name, then known to be governed or not, then unknown."""
    return _weight(new) > _weight(old)


def _comes_first(held: HeldCertificate, classified: Classified, entry: Entry) -> bool:
    """True for a listener whose name sorts before that of ``entry``, and that is as informative. Findings name one
    listener: it must not depend on which one was finished first."""
    place = str(held.place)
    return bool(held.place.endpoint and entry.listener and place < entry.listener) and not _tells_more(
        entry.classified, classified
    )


def _weight(classified: Classified) -> tuple[bool, bool]:
    return bool(classified.names), classified.governed is not None


def _because(finding: Finding, step: Because | None) -> Finding:
    """Put the reason why this configuration governs in front of the evidence."""
    if step is None:
        return finding
    return replace(finding, evidence=(f"{step.source}: {step.said}", *finding.evidence))


def collect(inventory: Inventory, found: Iterable[HeldCertificate]) -> Inventory:
    """``inventory`` with everything in ``found``."""
    for each in found:
        inventory.add(each)
    return inventory


# --- Coverage of names ------------------------------------------------------------------------------------------------


def _incomplete(never_seen: list[str], unknown: list[str], governing: Governing) -> str:
    """The reason why the coverage is incomplete, or ""."""
    if governing.own.source == MICROSHIFT_FILE:
        return "MicroShift keeps its certificates in files of its node: adhere certs reads them"
    parts = []
    if never_seen:
        unread = SECRET in governing.snapshot.unreadable or not governing.snapshot.objects.get(SECRET)
        parts.append(
            f"names that were not found: {len(never_seen)}{', Secrets were not read (--secrets)' if unread else ''}"
        )
    if unknown:
        parts.append(f"seen and not judged: {len(unknown)}")
    return "; ".join(parts)


def _is_asked(name: WellKnown, governing: Governing) -> bool:
    """True if the configuration requires a key for this name. Names of the installation that operators replace on the
    first day count only with an override."""
    config = governing.own
    if name.owner.name == "hypershift" and not governing.hosted:
        return False
    if governing.of(name.namespace).config is not config:
        return False  # a guest's control plane
    if name.name not in config.overrides and (name.rotates == "day-1" or name.successor is not None):
        return False
    return required(config, name.category, (name.name,)).asks


def _is_elsewhere(name: WellKnown, snapshot: Snapshot) -> bool:
    """True if the cluster cannot have it in an object or listener: it is on nodes or with users, for another platform,
    or its Secrets were searched and do not exist."""
    platform = _platform(snapshot)
    if name.kept_elsewhere or (name.only_on and platform and platform != name.only_on):
        return True
    secrets = name.recognition.secrets
    if not secrets:
        return False
    gap, found = snapshot.gap(NAMESPACE), {each.name for each in snapshot.objects.get(NAMESPACE, ())}
    namespaces = [path.partition("/")[0] for path in secrets]
    if gap is None and found and not any(fnmatchcase(one, each) for one in found for each in namespaces):
        return True
    requested = [f"{namespace}/{secret}" for namespace, secret in snapshot.requested.get(SECRET, ())]
    present = [path for path in secrets if gap is not None or path.partition("/")[0] in found or "*" in path]
    return bool(requested) and all(any(fnmatchcase(one, path) for one in requested) for path in present)


def _platform(snapshot: Snapshot) -> str:
    every = snapshot.objects.get(INFRASTRUCTURE, ())
    return next((Infrastructure.of(each).platform for each in every), "")
