"""A TLS server as a pure function of an offer, with every quirk that real servers were seen to have.

Nothing here listens: the plans are generators, so a model answers them directly, a few thousand times a second. Each
quirk is one field and one step of ``ModelServer.answer``; they combine freely. What the model would really accept
(``versions``, ``selectable``, ``usable_groups``) is worked out from its configuration and not from its answers, so that
the plans are held against something other than themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from functools import cache
from random import Random
from typing import Literal, Protocol

from hypothesis.vendor.pretty import RepresentationPrinter

from scanner.probe import candidates
from scanner.probe import interview as plans
from scanner.probe.evidence import Evidence
from scanner.probe.exchange import BAD_LENGTHS, client_hello
from scanner.probe.offers import Offer, Reply
from scanner.probe.session import Question
from scanner.tls import codepoints
from scanner.tls.client_hello import ClientHello
from scanner.tls.codepoints import (
    EC_POINT_FORMATS,
    KEY_SHARE,
    SIGNATURE_ALGORITHMS,
    SSL2,
    SSL3,
    TLS10,
    TLS11,
    TLS12,
    TLS13,
    VERSIONS,
)
from scanner.tls.extensions import find
from scanner.tls.names import authentication, key_exchange, needs_credentials, since_tls12, suite_name
from tests.tls.hello_codecs import pull_key_share, pull_signature_algorithms

Order = Literal["server", "client"]

SECP256R1 = 0x0017
X25519 = 0x001D
COMMON = (X25519, SECP256R1)
"""The groups that a client without anything special has shares of."""

HANDSHAKE_FAILURE = Reply("alert", alert=40)
ILLEGAL_PARAMETER = Reply("alert", alert=47)
DECODE_ERROR = Reply("alert", alert=50)
PROTOCOL_VERSION = Reply("alert", alert=70)
INSUFFICIENT_SECURITY = Reply("alert", alert=71)
INTERNAL_ERROR = Reply("alert", alert=80)
MISSING_EXTENSION = Reply("alert", alert=109)
UNKNOWN_PSK_IDENTITY = Reply("alert", alert=115)
FIN, RST, SILENCE = Reply("fin"), Reply("rst"), Reply("silence")

OBSOLETE_GROUPS = frozenset({*range(0x01, 0x17), 0x1A, 0x1B, 0x1C, 0xFF01, 0xFF02})
"""RFC 8446, section 4.2.7: MUST NOT be offered by TLS 1.3 implementations."""
HYBRIDS = frozenset({*range(0x11E9, 0x11EF), 0x6399, 0x639A, 0x0200, 0x0201, 0x0202})
FINITE_FIELDS = frozenset(range(0x0100, 0x0105))
KNOWN_CURVES = frozenset({0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1A, 0x1B, 0x1C, 0x1D, 0x1E})
"""Group that mbedTLS 2.28 counts."""
SCHEMES = {
    "RSA": frozenset({0x0201, 0x0401, 0x0501, 0x0601, 0x0804, 0x0805, 0x0806}),
    "PSS": frozenset({0x0804, 0x0805, 0x0806}),
    "ECDSA": frozenset({0x0203, 0x0403, 0x0503, 0x0603}),
    "DSS": frozenset({0x0202, 0x0402}),
}
"""By authentication, what a server may sign with."""
HIDDEN = ("random", "connections")

_RECORD_HEADER = 5
_TLS_UP_TO_12 = (TLS12, TLS11, TLS10, SSL3)


@cache
def handshake_bytes(offer: Offer, name: str | None) -> int:
    """The length of the ClientHello, as load balancers count it: without the record's header."""
    return len(client_hello(offer, name, bytes(32))) - _RECORD_HEADER


@cache
def extension_types(offer: Offer, name: str | None) -> frozenset[int]:
    """The extensions that really travel."""
    hello = ClientHello.decode(client_hello(offer, name, bytes(32))[_RECORD_HEADER:])
    return frozenset(extension.type for extension in hello.extensions or ())


@cache
def schemes(offer: Offer, name: str | None) -> tuple[int, ...]:
    """The signature schemes that really travel."""
    hello = ClientHello.decode(client_hello(offer, name, bytes(32))[_RECORD_HEADER:])
    data = find(hello.extensions, SIGNATURE_ALGORITHMS)
    return () if data is None else pull_signature_algorithms(data)


@cache
def shared_groups(offer: Offer, name: str | None) -> tuple[int, ...]:
    """The groups of the key shares that really travel."""
    hello = ClientHello.decode(client_hello(offer, name, bytes(32))[_RECORD_HEADER:])
    data = find(hello.extensions, KEY_SHARE)
    return () if data is None else tuple(group for group, _ in pull_key_share(data))


COMPRESSED, NAMED_FIELDS = -1, -2
"""Parts of extensions: compressed points, and groups of RFC 7919."""


@cache
def sent(offer: Offer, name: str | None) -> frozenset[int]:
    """The extensions that really travel, and the parts of them that matter."""
    hello = ClientHello.decode(client_hello(offer, name, bytes(32))[_RECORD_HEADER:])
    found = {extension.type for extension in hello.extensions or ()}
    found |= {COMPRESSED} if b"\x01" in (find(hello.extensions, EC_POINT_FORMATS) or b"")[1:] else set()
    found |= {NAMED_FIELDS} if FINITE_FIELDS.intersection(offer.groups) else set()
    return frozenset(found)


def certificate(suite: int) -> str:
    """The kind of certificate that a server looks for: static ECDH keys are those of ECDSA certificates."""
    return "ECDSA" if key_exchange(suite) == "ECDH" else authentication(suite)


def needs_group(suite: int) -> bool:
    """True if the key exchange uses a named curve (TLS 1.2 and below)."""
    return key_exchange(suite) in ("ECDHE", "ECDH_anon", "ECDHE_PSK")


def _brief(value: object) -> str:
    return value.ending_kind if isinstance(value, Reply) else str(value)


@dataclass(kw_only=True, repr=False)
class ModelServer:
    """One listener."""

    suites: Mapping[int, tuple[int, ...]]
    """By version that it speaks, in its own order of preference; () for SSLv2."""
    groups: tuple[int, ...] = (X25519, SECP256R1, 0x0018)
    """In its own order of preference, for all versions."""
    order: Order = "server"
    curves: Mapping[str, int] = field(default_factory=dict)
    """``ECDSA``: the curve of the ECDSA certificate, which the client has to list up to TLS 1.2 (RFC 8422, 5.1)."""
    name: str | None = "model.example"
    """The server_name that the client sends."""

    refusal: Reply = HANDSHAKE_FAILURE
    """Ending of an offer without a common suite."""
    version_refusal: Reply = PROTOCOL_VERSION
    """Ending of an offer without a supported version."""

    reads: int | None = None
    """It looks at so many suites only, from the first."""
    most: int | None = None
    """So many suites are too many..."""
    too_many: Reply = RST
    """... and end in this."""
    longest: int | None = None
    """A ClientHello of more bytes than this is reset."""
    hangs: bool = False
    """A ClientHello of 256 to 511 bytes is never answered (the reason for RFC 7685)."""
    srp: Literal["chosen", "anywhere"] = "chosen"
    """An SRP suite ends the connection when it is selected, or when it is offered at all."""
    needs: frozenset[int] = frozenset()
    """Extensions without which it refuses."""
    no_retry: Literal["", "empty", "ever"] = ""
    """It sends no HelloRetryRequest for an empty key_share; or none at all, so that its group must be among the
    shares."""
    no_retry_ending: Reply = HANDSHAKE_FAILURE
    dead_ends: frozenset[int] = frozenset()
    """Suites that it selects and then does not go on with (TLS 1.2 and below)."""
    tolerates: int = TLS13
    """A hello of a later version than this is not answered with an earlier one..."""
    intolerance: Reply = PROTOCOL_VERSION
    """... but ends in this."""
    named: frozenset[int] = frozenset()
    """Suites that it knows by name: the first of the client's decides on the certificate, usable or not (Tomcat)."""
    psk_fails: bool = False
    """A hello with one of its own PSK suites ends in alert 80, whatever else it offers (Erlang)."""
    chokes: frozenset[int] = frozenset()
    """A hello with one of these groups ends in alert 80 (GnuTLS)."""
    wants: tuple[int, str] | None = None
    """Up to TLS 1.2 it takes suites of this kind (``KINDS``) without credentials only with this extension ..."""
    minds: tuple[int, str] | None = None
    """... or only without this one."""
    finite_fields: bool = False
    """DHE from TLS 1.0 to 1.2 only with an own group of RFC 7919 on offer (GnuTLS without parameters)."""
    hybrids_close: bool = False
    """A hello without TLS 1.3 that names an ML-KEM hybrid is closed (s2n-tls)."""
    curves_read: int | None = None
    """Up to TLS 1.2 it reads so many of the curves that it knows, from the first (mbedTLS 2.28: 11)."""
    schemes_read: int | None = None
    """It reads so many signature schemes, from the first (wolfSSL 5.7: 16 to 20)."""
    strict: bool = False
    """A hello for TLS 1.3 that breaks RFC 8446, sections 4.2.7 or 4.2.8, ends in alert 47 (tlslite-ng)."""
    accident: Reply = RST
    """Ending of any connection ..."""
    accidents: float = 0.0
    """... with this probability ..."""
    alternates: Literal["", "odd", "even"] = ""
    """... or to every second one."""
    connections: int = 0
    random: Random = field(default_factory=lambda: Random(0))

    def __repr__(self) -> str:
        """Only what makes it special: property tests print these."""
        special = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in HIDDEN}
        return f"ModelServer({', '.join(f'{name}={_brief(value)}' for name, value in special.items() if value)})"

    def _repr_pretty_(self, printer: RepresentationPrinter, cycle: bool) -> None:
        printer.text(repr(self))  # the name is Hypothesis's

    # --- what it answers

    def answer(self, offer: Offer) -> Reply:
        """One connection."""
        self.connections += 1
        if self.alternates and self.connections % 2 == (self.alternates == "odd"):
            return self.accident
        if self.accidents and self.random.random() < self.accidents:
            return self.accident
        if offer.version == SSL2:
            return Reply("hello", version=SSL2, done=True) if SSL2 in self.suites else self.version_refusal
        return self._size(offer) or self._version(offer)

    def _size(self, offer: Offer) -> Reply | None:
        if self.most is not None and len(offer.suites) > self.most:
            return self.too_many
        if self.hangs and handshake_bytes(offer, self.name) in BAD_LENGTHS:
            return SILENCE
        if self.longest is not None and handshake_bytes(offer, self.name) > self.longest:
            return RST
        return self._contents(offer)

    def _contents(self, offer: Offer) -> Reply | None:
        shares = [group for group in offer.groups if group in shared_groups(offer, self.name)]
        in_order = (*shares,) == shared_groups(offer, self.name)
        if self.strict and offer.version == TLS13 and (OBSOLETE_GROUPS.intersection(offer.groups) or not in_order):
            return ILLEGAL_PARAMETER
        if self.hybrids_close and offer.version < TLS13 and HYBRIDS.intersection(offer.groups):
            return FIN
        return INTERNAL_ERROR if self.chokes.intersection(offer.groups) else None

    def _version(self, offer: Offer) -> Reply:
        if offer.version > self.tolerates:
            return self.intolerance
        version = self.negotiated(offer.version)
        if version is None:
            return self.version_refusal
        if self.needs and not self.needs <= extension_types(offer, self.name):
            return MISSING_EXTENSION if version == TLS13 else self.refusal
        return self._suite(offer, version)

    def _suite(self, offer: Offer, version: int) -> Reply:
        seen = offer.suites[: self.reads]
        own = self.suites[version]
        if self.srp == "anywhere" and any(is_srp(suite) for suite in own) and any(is_srp(suite) for suite in seen):
            return UNKNOWN_PSK_IDENTITY
        if self.psk_fails and any(is_psk(suite) for suite in own if suite in seen):
            return INTERNAL_ERROR
        kinds = (certificate(suite) for suite in seen if suite in self.named)
        kind = next((one for one in kinds if one in ("RSA", "ECDSA")), None)
        if self.named and version < TLS13:
            own = tuple(
                suite for suite in own if certificate(suite) not in ("RSA", "ECDSA") or certificate(suite) == kind
            )
        first, second = (own, seen) if self.order == "server" else (seen, own)
        for suite in first:
            if suite in second and self._possible(suite, version, offer):
                return self._selected(suite, version, offer)
        return self.refusal

    def _possible(self, suite: int, version: int, offer: Offer) -> bool:
        if version >= TLS12 and not self._signs(suite, version, offer):
            return False
        if version == TLS13:
            return True
        could_be = version == TLS12 or (version > SSL3 and not since_tls12(suite))
        if could_be and not needs_credentials(suite) and not self._minds_nothing(suite, sent(offer, self.name)):
            return False
        curve = self.curves.get(authentication(suite))
        if offer.version != SSL3 and curve is not None and curve not in self._read_groups(version, offer):
            return False
        if (
            self.finite_fields
            and version > SSL3
            and is_dhe(suite)
            and not FINITE_FIELDS.intersection(self.groups, offer.groups)
        ):
            return False
        return not needs_group(suite) or self._group(version, offer) is not None

    def _minds_nothing(self, suite: int, extensions: frozenset[int]) -> bool:
        wanted, minded = (quirk if quirk and KINDS[quirk[1]](suite) else None for quirk in (self.wants, self.minds))
        return (wanted is None or wanted[0] in extensions) and (minded is None or minded[0] not in extensions)

    def _signs(self, suite: int, version: int, offer: Offer) -> bool:
        """True if a signature scheme fits. TLS 1.3 has no RSA signature other than PSS."""
        if self.schemes_read is None or (version < TLS13 and key_exchange(suite) not in ("DHE", "ECDHE")):
            return True
        kind = "PSS" if version == TLS13 else authentication(suite)
        return kind not in SCHEMES or bool(SCHEMES[kind].intersection(schemes(offer, self.name)[: self.schemes_read]))

    def _read_groups(self, version: int, offer: Offer) -> tuple[int, ...]:
        if self.curves_read is None or version == TLS13:
            return offer.groups
        finite = tuple(code for code in offer.groups if code in FINITE_FIELDS)
        return (
            *[code for code in offer.groups if code in KNOWN_CURVES or code in self.groups][: self.curves_read],
            *finite,
        )

    def _selected(self, suite: int, version: int, offer: Offer) -> Reply:
        if is_srp(suite):
            return UNKNOWN_PSK_IDENTITY
        if version == TLS13:
            return self._selected_group(suite, offer)
        group = self._group(version, offer) if needs_group(suite) else None
        return Reply("hello", version=version, suite=suite, group=group, done=suite not in self.dead_ends)

    def _selected_group(self, suite: int, offer: Offer) -> Reply:
        group = self._group(TLS13, offer)
        if group is None:
            return self.refusal
        shares = shared_groups(offer, self.name)
        if self.no_retry and not shares:
            return self.no_retry_ending
        if self.no_retry == "ever" and group not in shares:
            possible = [code for code in shares if code in self.groups]
            if not possible:
                return self.no_retry_ending
            group = possible[0]
        return Reply("hello", version=TLS13, suite=suite, group=group)

    def _group(self, version: int, offer: Offer) -> int | None:
        own = self.groups_of(version)
        if offer.version == SSL3:
            return own[0] if own else None
        read = self._read_groups(version, offer)
        first, second = (own, read) if self.order == "server" else (read, own)
        return next((group for group in first if group in second), None)

    # --- what is true of it

    def negotiated(self, offered: int) -> int | None:
        """The version that a hello of version ``offered`` leads to. TLS 1.3 is offered alone."""
        if offered == TLS13:
            return TLS13 if TLS13 in self.suites else None
        return next((version for version in _TLS_UP_TO_12 if version <= offered and version in self.suites), None)

    def groups_of(self, version: int) -> tuple[int, ...]:
        """Its groups in ``version``: only curves up to TLS 1.2, and no obsolete ones in TLS 1.3."""
        if version == TLS13:
            return tuple(code for code in self.groups if code not in OBSOLETE_GROUPS)
        return tuple(code for code in self.groups if code < 0x0100)

    def reachable(self, version: int) -> bool:
        """True if any hello leads to ``version``."""
        if version in (SSL2, TLS13):
            return version in self.suites and version <= self.tolerates
        return any(
            self.negotiated(offered) == version and offered <= self.tolerates and (offered > SSL3 or not self.needs)
            for offered in _TLS_UP_TO_12
        )

    def known(self, version: int) -> set[int]:
        """Suites that it has in ``version``, also those with which no handshake of ours can succeed."""
        if not self.reachable(version):
            return set()
        if version == TLS13:
            return {*self.suites[version]} if self._shares_a_group() else set()
        groups = self.groups_of(version)
        return {
            suite
            for suite in self.suites[version]
            if (groups or not needs_group(suite))
            and (not self.finite_fields or version == SSL3 or not is_dhe(suite) or self._has_finite_field(version))
        }

    def _has_finite_field(self, version: int) -> bool:
        """True if a hello with a supported group leads to ``version``: SSLv3 has no groups."""
        leads = any(self.negotiated(offered) == version for offered in _TLS_UP_TO_12 if offered > SSL3)
        return leads and not FINITE_FIELDS.isdisjoint(self.groups)

    def _shares_a_group(self) -> bool:
        return any(group in self.groups for group in COMMON) if self.no_retry == "ever" else bool(self.groups_of(TLS13))

    def selectable(self, version: int) -> set[int]:
        """Suites with which a handshake of ours can succeed."""
        return {
            suite
            for suite in self.known(version)
            if not is_srp(suite)
            and (version == TLS13 or suite not in self.dead_ends)
            and not (self.psk_fails and is_psk(suite))
        }

    def versions(self) -> set[int]:
        """Versions in which a handshake of ours can succeed."""
        spoken = {version for version in self.suites if version != SSL2 and self.selectable(version)}
        return spoken | ({SSL2} & set(self.suites))

    def usable_groups(self, version: int) -> set[int]:
        """Groups that a handshake of ours can end on."""
        suites = self.selectable(version)
        if version == TLS13:
            able = COMMON if self.no_retry == "ever" else self.groups
            return set(self.groups_of(TLS13)) & set(able) if suites else set()
        return set(self.groups_of(version)) if any(needs_group(suite) for suite in suites) else set()


def is_srp(suite: int) -> bool:
    """True if the suite needs a user and a password."""
    return key_exchange(suite) == "SRP"


def is_psk(suite: int) -> bool:
    """True if the suite needs a pre-shared key."""
    return key_exchange(suite).endswith("PSK")


def is_dhe(suite: int) -> bool:
    """True for an ephemeral key exchange in a finite field."""
    return key_exchange(suite) in ("DHE", "DH_anon", "DHE_PSK")


KINDS: Mapping[str, Callable[[int], bool]] = {
    "CBC": lambda suite: "_CBC_" in suite_name(suite),
    "AEAD": lambda suite: any(name in suite_name(suite) for name in ("_GCM_", "_CCM", "_CHACHA20_")),
    "stream": lambda suite: "_RC4_" in suite_name(suite),
    "DHE": is_dhe,
    "ECDHE": lambda suite: key_exchange(suite) == "ECDHE",
    "RSA": lambda suite: key_exchange(suite) == "RSA",
}


@dataclass(kw_only=True)
class Balancer:
    """One address, several listeners behind it, by chance or in turn: each connection reaches another."""

    servers: tuple[ModelServer, ...]
    random: Random | None
    """None: in turn."""
    connections: int = 0

    def answer(self, offer: Offer) -> Reply:
        """One connection to one of them."""
        self.connections += 1
        turn = self.servers[self.connections % len(self.servers)]
        return (self.random.choice(self.servers) if self.random else turn).answer(offer)

    def versions(self) -> set[int]:
        """Versions in which a handshake with any of them can succeed."""
        return set().union(*(server.versions() for server in self.servers))


@dataclass(kw_only=True)
class Interview:
    """A whole conversation: what was offered, what was answered, and what was made of it."""

    evidence: Evidence
    asked: list[tuple[Offer, Reply]]

    @property
    def connections(self) -> int:
        """Number of offers."""
        return len(self.asked)


class Listener(Protocol):
    """A server that answers offers."""

    def answer(self, offer: Offer) -> Reply:
        """One connection."""


class Server(Listener, Protocol):
    """A listener of which it is known what it speaks."""

    def versions(self) -> set[int]:
        """Versions in which a handshake of ours can succeed."""


def interview(server: Listener, question: Question, limit: int | None = None) -> Interview:
    """Put ``question`` to ``server``, as ``observe`` does with a real one; at most ``limit`` offers, as a deadline."""
    evidence = Evidence()
    asked: list[tuple[Offer, Reply]] = []
    plan = plans.Interview(question, evidence)
    while (offer := plan.offer) is not None and (limit is None or len(asked) < limit):
        reply = server.answer(offer)
        asked.append((offer, reply))
        plan.answer(reply)
    plan.close()
    return Interview(evidence=evidence, asked=asked)


def handshake(server: Server, evidence: Evidence) -> bool:
    """The full handshake after the offers, as ``observe`` has it. Returns whether it was completed."""
    version = max(server.versions())
    reply = server.answer(Offer("full handshake", version, candidates.suites(version), candidates.groups(version)))
    if reply.accepted:
        evidence.add_reply(reply)
    elif reply.alert is not None:
        evidence.control_failed(reply.alert)
    return reply.accepted


def passes(server: Server, question: Question) -> bool:
    """True if the result is a pass: nothing forbidden is accepted, and all of it is refused."""
    evidence = interview(server, question).evidence
    if not evidence.versions.accepted or not handshake(server, evidence):
        return False
    seen = evidence.conclude("model", datetime(2026, 1, 2, tzinfo=UTC))
    forbidden = {version for version in VERSIONS if version < question.min_version}
    if not forbidden <= seen.versions.refused:
        return False
    return all(
        {*candidates.suites(version), *candidates.credential_suites(version)} - question.allowed <= answers.refused
        for version, answers in seen.suites.items()
        if version in seen.versions.accepted
    )


ALL_GROUPS = tuple(group.code for group in codepoints.GROUPS)
