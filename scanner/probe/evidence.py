"""The answers of one endpoint so far, and the ``Observation`` that follows from them.

Plans add answers as they are received, so that a deadline loses nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from itertools import chain
from types import TracebackType
from typing import Literal, TypeAlias

import trio
from msgspec import Struct, field

from scanner.kube.maybe import Known, Unknown
from scanner.model.observation import (
    Answered,
    Answers,
    Attempt,
    ClientCertificate,
    Negotiated,
    Observation,
    Reach,
    Stray,
)
from scanner.probe.candidates import LIKELY
from scanner.probe.offers import Ending, Reply
from scanner.probe.refusal_evidence import RefusalEvidence
from scanner.probe.starttls import upgrades
from scanner.probe.suite_enumeration import Tally
from scanner.tls.certificate import CertificateFacts, parsed_once
from scanner.tls.codepoints import TLS13
from scanner.tls.names import ANONYMOUS, alert_name, authentication, needs_credentials

Chain: TypeAlias = tuple[CertificateFacts, ...]

REACHES: tuple[tuple[Ending, Reach], ...] = (
    ("plaintext", Reach.PLAINTEXT),
    ("alert", Reach.REJECTED),
    ("unnamed", Reach.NAME_REQUIRED),
    ("declined", Reach.REJECTED),
    ("unoffered", Reach.MALFORMED),
    ("malformed", Reach.MALFORMED),
    ("rst", Reach.RESET),
    ("fin", Reach.HUNG_UP),
    ("silence", Reach.SILENT),
    ("hello", Reach.MALFORMED),
    ("closed", Reach.CLOSED),
    ("filtered", Reach.FILTERED),
    ("unreachable", Reach.UNREACHABLE),
)
"""Result of an endpoint that accepted nothing: the first listed ending that was observed decides."""

UNRECOGNIZED_NAME = 112
OTHER_CHAINS = 8
"""Chains kept per listener beside the one of the full handshake; there are as many types of keys."""
CHAINS_LENGTH = 512 * 1024
"""Limit of all chains in bytes. A listener that makes a new certificate for each connection would fill the memory."""

_NO_HANDSHAKE = Unknown("no full handshake was made")
_NOT_TESTED = Unknown("not tested")
NO_REQUEST = Unknown("not tested (--active-http)")


class cut_off(Struct):  # noqa: N801 - a context manager, written out: one for each connection
    """Record an attempt whose connection is cancelled from outside."""

    offer: str
    attempts: list[Attempt]
    started: float = 0.0

    def __enter__(self) -> None:
        self.started = trio.current_time()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, trio.Cancelled):
            seconds = trio.current_time() - self.started
            self.attempts.append(Attempt(offer=self.offer, reply="cut off", seconds=seconds))


class Evidence(Struct):
    """The answers of one endpoint. Mutable, private to one observation."""

    versions: Tally = field(default_factory=Tally)
    suites: dict[int, Tally] = field(default_factory=dict)
    groups: dict[int, Tally] = field(default_factory=dict)
    preference: dict[int, Known[Literal["server", "client"]]] = field(default_factory=dict)
    refusals: RefusalEvidence = field(default_factory=RefusalEvidence)
    chains: dict[tuple[bytes, ...], None] = field(default_factory=dict)
    """Distinct served chains; the oldest are dropped if they are too many or too long."""
    dropped: bool = False
    """Some chains were dropped."""
    facts: dict[bytes, CertificateFacts] = field(default_factory=dict)
    """Parsed certificates of ``chains``, after ``read_certificates``."""
    certificate_requested: set[bool] = field(default_factory=set)
    """Requests for a client certificate in unencrypted messages (TLS 1.2 and below), with suites that have a
    certificate."""
    requested: bool = False
    """A client certificate was requested in the full handshake."""
    unfinished: str | None = "no full handshake was made"
    """Reason why no full handshake of TLS 1.3 was completed; None if one was. Nothing else shows the certificate, the
    request for the client's, and ALPN."""
    client_certificate: Known[ClientCertificate] = _NO_HANDSHAKE
    alpn: Known[str | None] = _NO_HANDSHAKE
    ocsp_stapled: Known[bool] = _NO_HANDSHAKE
    negotiated: Known[Negotiated] = _NO_HANDSHAKE
    untrusted_client: Known[Literal["refused", "accepted"]] = _NOT_TESTED
    request_without_certificate: Known[str] = NO_REQUEST
    request_untrusted: Known[str] = NO_REQUEST
    cleartext: Known[str | None] = NO_REQUEST
    plain_port: Known[str | None] = NO_REQUEST
    answered: list[Answered] = field(default_factory=list)
    strays: list[Stray] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    dead_ends: dict[int, set[int]] = field(default_factory=dict)
    """By version, suites that were selected without a completed answer: neither they nor the version count as
    refused."""
    failures: dict[Ending, Reply] = field(default_factory=dict)
    """The first reply of each ending that accepted nothing."""
    interrupted: str | None = None
    asked: bool = False
    """The plans are complete."""
    reshaped: bool = False
    """The present offers have other extensions than the refused ones, which they do not contradict."""

    def add_reply(self, reply: Reply) -> None:
        """Record what a reply proves by itself, independent of the plan."""
        self.add_texts(reply)
        if not reply.accepted:
            if reply.ending == "hello" and reply.version is not None and reply.suite is not None:
                self.dead_ends.setdefault(reply.version, set()).add(reply.suite)
            return
        version, suite = reply.version, reply.suite
        assert version is not None  # noqa: S101 - it is accepted
        if not self.reshaped:
            self._contradict(version, suite)
        _add(self.versions, version)
        _add(self.suites.setdefault(version, Tally()), suite)
        if reply.group is not None:
            _add(self.groups.setdefault(version, Tally()), reply.group)

    def add_texts(self, reply: Reply) -> None:
        """Record the parts of a reply that do not depend on the plan: its chain, and what a failed reply says."""
        if not reply.accepted:
            self.failures.setdefault(reply.ending, reply)
            return
        if reply.chain not in self.chains:
            self.add_chain(reply.chain)
        if reply.certificate_requested is not None:
            assert reply.suite is not None  # noqa: S101 - only SSLv2 has none, whose messages are not read
            if _may_ask(reply.suite):
                self.certificate_requested.add(reply.certificate_requested)

    def adopt(self, other: Evidence) -> None:
        """Take the conclusions of a plan from ``other``, the evidence of equal replies; ``add_texts`` has added the
        rest."""
        self.versions = other.versions.copy()
        self.suites = {version: tally.copy() for version, tally in other.suites.items()}
        self.groups = {version: tally.copy() for version, tally in other.groups.items()}
        self.preference = dict(other.preference)
        self.refusals = other.refusals.copy()
        self.dead_ends = {version: set(codes) for version, codes in other.dead_ends.items()}
        self.interrupted, self.asked, self.reshaped = other.interrupted, other.asked, other.reshaped

    def _contradict(self, version: int, suite: int | None) -> None:
        """Doubt the ending of an earlier refusal of what is now accepted.

        While the plans run, they repeat offers of refused suites themselves.
        """
        if version in self.versions.refused:
            self.refusals.doubtful.add(self.versions.refused[version])
        refused = self.suites[version].refused if self.asked and version in self.suites else {}
        if suite in refused:
            self.refusals.doubtful.add(refused[suite])

    def control_failed(self, alert: int) -> None:
        """The full handshake, which offers current suites, ended in an alert: that alert proves no refusal."""
        accepted = {code for tally in self.suites.values() for code in tally.accepted}
        if not accepted.isdisjoint(LIKELY):
            self.refusals.doubtful.add(f"alert {alert}")

    def add_chain(self, served: tuple[bytes, ...] | None) -> None:
        """Add a served chain; the last one is what a modern client gets."""
        if not served:
            return
        self.chains.pop(served, None)
        self.chains[served] = None
        while len(self.chains) > 1 + OTHER_CHAINS or (len(self.chains) > 1 and _length(self.chains) > CHAINS_LENGTH):
            del self.chains[next(iter(self.chains))]
            self.dropped = True

    async def read_certificates(self) -> None:
        """Parse each certificate of ``chains``, yielding to other tasks after each."""
        for der in dict.fromkeys(chain.from_iterable(self.chains)):
            self.facts[der] = parsed_once(der)
            await trio.lowlevel.checkpoint()

    def conclude(self, instance: str, at: datetime) -> Observation:
        """Make the observation."""
        versions = _answers(self.versions, self.refusals, self.interrupted or "not asked", frozenset(self.dead_ends))
        hidden = self._hidden(versions)
        client_certificate = hidden or self._client_certificate()
        reach, failure = self._reach(client_certificate)
        unknown = self.interrupted or "not asked"
        served, others = self._chains(hidden)
        return Observation(
            instance=instance,
            at=at,
            reach=reach,
            detail=_detail(failure, self.interrupted),
            protocol=failure.protocol if failure is not None else None,
            versions=versions,
            suites=_all_answers(self.suites, self.refusals, unknown, self.dead_ends),
            groups=_all_answers(self.groups, self.refusals, unknown, {}),
            preference=dict(self.preference),
            client_certificate=client_certificate,
            certificate_requested=hidden is None and self._always_requested(),
            alpn=hidden or self.alpn,
            ocsp_stapled=hidden or self.ocsp_stapled,
            negotiated=self.negotiated,
            chain=served,
            other_chains=others,
            untrusted_client=self.untrusted_client,
            request_without_certificate=self.request_without_certificate,
            request_untrusted=self.request_untrusted,
            cleartext=self.cleartext,
            plain_port=self.plain_port,
            answered=tuple(self.answered),
            strays=tuple(self.strays),
            attempts=tuple(self.attempts),
        )

    def _hidden(self, versions: Answers) -> Unknown | None:
        """The reason why TLS 1.3 facts are unknown; None if they are known, or if the listener has no TLS 1.3."""
        if self.unfinished is None or not self.versions.accepted:
            return None
        spoken = versions.state(TLS13)
        # A client that offers TLS 1.3 and completes a handshake of another version has received all of it.
        if spoken == "accepted" or (spoken == "unknown" and isinstance(self.negotiated, Unknown)):
            return Unknown(
                f"no TLS 1.3 handshake was completed, which is required for this: {self.interrupted or self.unfinished}"
            )
        return None

    def _reach(self, client_certificate: Known[ClientCertificate]) -> tuple[Reach, Reply | None]:
        if self.versions.accepted or not isinstance(self.negotiated, Unknown):
            required = client_certificate == "required"
            return (Reach.CLIENT_CERTIFICATE_REQUIRED if required else Reach.TLS), None
        for ending, reach in REACHES:
            reply = self.failures.get(ending)
            if reply is not None:
                return _refined(reach, reply), reply
        return Reach.INTERRUPTED, None

    def _always_requested(self) -> bool:
        once = self.requested or True in self.certificate_requested
        return once and self.client_certificate != "none" and False not in self.certificate_requested

    def _client_certificate(self) -> Known[ClientCertificate]:
        found = self.client_certificate
        asked = self.certificate_requested | (set() if isinstance(found, Unknown) else {found != "none"})
        if len(asked) > 1:
            return Unknown("a client certificate is requested only with some versions or suites")
        if isinstance(found, Unknown) and asked:
            if asked == {False}:
                return "none"
            return Unknown("a client certificate is requested; whether it is required needs a full handshake")
        return found

    def _chains(self, hidden: Unknown | None) -> tuple[Known[Chain], tuple[Chain, ...]]:
        """The chain that a modern client gets, if all chains are known, and the others."""
        found = [tuple(self.facts.get(der) or parsed_once(der) for der in each) for each in self.chains]
        if hidden is None and self.dropped:
            hidden = Unknown("the listener serves too many different certificates")
        if hidden is not None:
            return hidden, tuple(found)
        if not found:
            return Unknown(self.interrupted or "no certificate was seen"), ()
        return found[-1], tuple(found[:-1])


def _may_ask(suite: int) -> bool:
    """True if a server may request a client certificate: it needs its own certificate (RFC 5246, section 7.4.4)."""
    return authentication(suite) != ANONYMOUS and not needs_credentials(suite)


def _length(chains: Iterable[tuple[bytes, ...]]) -> int:
    return sum(map(len, chain.from_iterable(chains)))


def _add(tally: Tally, code: int | None) -> None:
    if code is not None and code not in tally.accepted:
        tally.accepted.append(code)
        tally.refused.pop(code, None)


def _answers(tally: Tally, refusals: RefusalEvidence, unknown: str, dead_ends: Collection[int]) -> Answers:
    """The answers of a tally, without doubtful refusals and without refusals of suites that were once selected."""
    refused = frozenset[int]() if tally.provisional else frozenset(tally.refused).difference(tally.accepted)
    doubted = {code for code in refused if tally.refused[code] in refusals.doubtful}
    unasked = tally.unasked
    if doubted:
        unasked = "the listener ends accepted offers in the same way as refused ones"
    elif not refused.isdisjoint(dead_ends):
        unasked = "the listener selected it, but did not continue the handshake"
    elif (tally.provisional or not tally.complete) and unasked is None:
        unasked = unknown
    return Answers(accepted=tuple(tally.accepted), refused=refused.difference(doubted, dead_ends), unasked=unasked)


def _all_answers(
    tallies: Mapping[int, Tally], refusals: RefusalEvidence, unknown: str, dead_ends: Mapping[int, Collection[int]]
) -> dict[int, Answers]:
    return {
        version: _answers(tally, refusals, unknown, dead_ends.get(version, ()))
        for version, tally in sorted(tallies.items(), reverse=True)
    }


def _refined(reach: Reach, reply: Reply) -> Reach:
    if reach is Reach.REJECTED and reply.alert == UNRECOGNIZED_NAME:
        return Reach.NAME_REQUIRED
    if reach is Reach.PLAINTEXT and upgrades(reply.protocol or ""):
        return Reach.STARTTLS_NEEDED
    return reach


def _detail(reply: Reply | None, interrupted: str | None) -> str:
    if reply is None:
        return interrupted or ""
    if reply.ending == "alert" and reply.alert is not None:
        return f"alert {reply.alert} {alert_name(reply.alert)}"
    return reply.text
