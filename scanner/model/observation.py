"""An observation: what one endpoint did when it was asked, with the evidence, and what sslyze saw of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Literal

from scanner.kube.maybe import Known, Unknown
from scanner.tls.certificate import CertificateFacts


class Reach(StrEnum):
    """How far a conversation got. Only ``TLS`` and ``CLIENT_CERTIFICATE_REQUIRED`` can lead to a pass."""

    TLS = "tls"
    CLIENT_CERTIFICATE_REQUIRED = "client-certificate-required"
    """Completes only with a client certificate; version, suite and certificate are visible before that."""
    CLOSED = "closed"
    """The SYN was answered by RST."""
    FILTERED = "filtered"
    """No answer to the SYN."""
    UNREACHABLE = "unreachable"
    """No route, or the name does not resolve."""
    HUNG_UP = "hung-up"
    """Accepted, then FIN without a byte, also to the control offer."""
    RESET = "reset"
    """Accepted, then RST on the ClientHello."""
    SILENT = "silent"
    """Accepts, says nothing."""
    PLAINTEXT = "plaintext"
    """Answers in another protocol, without TLS."""
    STARTTLS_NEEDED = "starttls-needed"
    """Answers in a protocol that upgrades to TLS by a command."""
    REJECTED = "rejected"
    """Refused every offer with an alert, or ended the conversation of a protocol that upgrades to TLS before that."""
    NAME_REQUIRED = "name-required"
    """Speaks TLS and wants another server_name, or one at all."""
    MALFORMED = "malformed"
    """Bytes that are neither TLS nor a known plaintext protocol."""
    INTERRUPTED = "interrupted"
    """The deadline, or a signal to us, came first."""


JUDGEABLE = frozenset({Reach.TLS, Reach.CLIENT_CERTIFICATE_REQUIRED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Three-valued knowledge about a set of code points: accepted, refused, and the rest, unasked."""

    accepted: tuple[int, ...] = ()
    """In the order in which the listener chose them."""
    refused: frozenset[int] = frozenset()
    """Refused soundly: by a minimal pair (design, the ten rules of probing)."""
    unasked: str | None = None
    """Why everything else is not known; None when all that we know of was asked."""

    def state(self, code: int) -> Literal["accepted", "refused", "unknown"]:
        """What is known of one code point."""
        if code in self.accepted:
            return "accepted"
        return "refused" if code in self.refused else "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One connection: which offer, what came back, how long it took. No bytes."""

    offer: str
    reply: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Negotiated:
    """What the one full handshake ended in. Code points."""

    version: int
    suite: int
    group: int | None


ClientCertificate = Literal["none", "requested", "required"]

_NOT_TESTED = Unknown("not tested")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stray:
    """What a listener did with a server name that is not its own, or with none."""

    name: str | None
    answer: Known[Literal["served", "refused"]]
    """``refused``: it ended the connection before it showed a certificate."""
    leaf: CertificateFacts | None = None
    client_certificate: Known[ClientCertificate] = _NOT_TESTED
    """What it asked of the client there."""


HttpVersion = Literal["http/1.1", "h2"]
"""As ALPN calls them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What one HEAD request was answered with."""

    server_name: str
    """For which the connection was made; empty: for none."""
    authority: str
    """Which the request named (``Host``, ``:authority``)."""
    answer: Known[str]
    """The status, and the fields that tell one content from another: ``200; etag: "x"``."""
    protocol: HttpVersion = "http/1.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What an endpoint did. A version that is a key of ``suites`` was spoken; ``versions`` has all that were asked."""

    instance: str
    at: datetime
    reach: Reach
    detail: str = ""
    """Evidence of ``reach`` in a few words, already cleaned of control characters: ``alert 40 handshake_failure``."""
    protocol: str | None = None
    """For ``plaintext`` and ``starttls-needed``: which one (``http``, ``smtp`` ...)."""
    versions: Answers = Answers(unasked="not tested")
    suites: Mapping[int, Answers] = field(default_factory=dict)
    """By version."""
    groups: Mapping[int, Answers] = field(default_factory=dict)
    """By version: TLS 1.3, and TLS 1.2 where the certificate allows a conclusion."""
    preference: Mapping[int, Known[Literal["server", "client"]]] = field(default_factory=dict)
    """By version: whose order of suites decides."""
    client_certificate: Known[ClientCertificate] = _NOT_TESTED
    certificate_requested: bool = False
    """One was asked for each time, also where it is not known whether it is required."""
    alpn: Known[str | None] = _NOT_TESTED
    """The protocol that was selected; None: the server selected none."""
    ocsp_stapled: Known[bool] = _NOT_TESTED
    negotiated: Known[Negotiated] = _NOT_TESTED
    chain: Known[tuple[CertificateFacts, ...]] = _NOT_TESTED
    """Leaf first, as served in the full handshake, or else last seen in clear. Unknown where the listener may serve
    certificates that were not seen: it speaks TLS 1.3, and no handshake of that was completed."""
    other_chains: tuple[tuple[CertificateFacts, ...], ...] = ()
    """Other chains that this listener served, for other suites or versions (RSA beside ECDSA); all that were seen,
    where ``chain`` is unknown."""
    untrusted_client: Known[Literal["refused", "accepted"]] = _NOT_TESTED
    """What became of a client certificate that nobody has signed but itself."""
    request_without_certificate: Known[str] = Unknown("not tested (--active-http)")
    """What a listener that merely requests a client certificate answers to a request without one: a status, or
    ``closed``."""
    request_untrusted: Known[str] = Unknown("not tested (--active-http)")
    """The same for a client that showed a certificate that nobody has signed but itself, and was let in by TLS."""
    cleartext: Known[str | None] = Unknown("not tested (--active-http)")
    """The first line of its answer to a request without TLS; None: it answered none in HTTP."""
    plain_port: Known[str | None] = Unknown("not tested (--active-http)")
    """What the port beside it that objects have for requests without TLS answers for this name, with where a redirect
    leads: ``HTTP/1.1 302 to https://a.example``. None: nobody is there, or answers in HTTP."""
    answered: tuple[Answered, ...] = ()
    """Requests under this name and others; none without ``--active-http``."""
    strays: tuple[Stray, ...] = ()
    """Server names beside its own that it was asked for; none where nothing says what it owes them."""
    attempts: tuple[Attempt, ...] = ()
    stopped: str | None = None
    """Why the scan was stopped while this endpoint was in progress: ``SIGINT``; None: it was not."""
    dialled: bool = True
    """False: nobody was asked, because of where it is; ``detail`` says why, and which option would allow it."""

    @property
    def connections(self) -> int:
        """How many TCP connections it cost."""
        return len(self.attempts)


Flaw = Literal[
    "heartbleed",
    "robot",
    "ccs-injection",
    "insecure-renegotiation",
    "client-renegotiation",
    "compression",
    "no-fallback-scsv",
]
"""What can be wrong with an implementation, rather than with its configuration."""

_NOT_ASKED = Unknown("not asked")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """What the witness is asked. It always sees as well whether a client certificate is asked for."""

    versions: frozenset[int] = frozenset()
    """In which each suite is tried: up to 160 connections a version, so only where there is something to ask."""
    groups: bool = False
    certificate: bool = False
    flaws: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """What the witness saw. It asks by full handshakes of its own, one for each suite, and knows fewer code points."""

    witness: str
    """Who it was: ``sslyze 6.3.1``."""
    highest: int | None = None
    """The highest version in which it was accepted; None where it never was."""
    suites: Mapping[int, Answers] = field(default_factory=dict)
    """By version. A version without an entry was not told; one with nothing accepted was refused."""
    groups: Answers = Answers(unasked="not asked")
    """In the ``highest`` version, and only there."""
    client_certificate: Known[ClientCertificate] = _NOT_ASKED
    certificates: Known[frozenset[str]] = _NOT_ASKED
    """SHA-256 (lower-case hex) of every leaf certificate that it was served."""
    flaws: Mapping[Flaw, Known[bool]] = field(default_factory=dict)
    """Whether each is there; one without an entry was not asked."""
    failure: str | None = None
    """Why it saw nothing at all. That says nothing of the endpoint: the witness may be blind or broken."""
