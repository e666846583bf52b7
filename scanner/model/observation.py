"""An observation: the results of probing one endpoint, with the evidence, and those of sslyze."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Literal

from msgspec import Struct, field

from scanner.kube.maybe import Known, Unknown
from scanner.tls.certificate import CertificateFacts


class Reach(StrEnum):
    """The result of connecting. Only ``TLS`` and ``CLIENT_CERTIFICATE_REQUIRED`` can lead to a pass."""

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
    """Accepts the connection, sends nothing."""
    PLAINTEXT = "plaintext"
    """Answers in another protocol, without TLS."""
    STARTTLS_NEEDED = "starttls-needed"
    """Answers in a protocol that upgrades to TLS by a command."""
    REJECTED = "rejected"
    """Refused every offer with an alert, or closed before the upgrade to TLS."""
    NAME_REQUIRED = "name-required"
    """Supports TLS and requires another server_name, or one at all."""
    MALFORMED = "malformed"
    """Bytes that are neither TLS nor a known plaintext protocol."""
    INTERRUPTED = "interrupted"
    """The deadline or a signal came first."""


JUDGEABLE = frozenset({Reach.TLS, Reach.CLIENT_CERTIFICATE_REQUIRED})


ENOUGH = "a verdict names 16 accepted forbidden suites of a version, and asks for no more"
"""``Answers.unasked`` after that limit."""


class Answers(Struct, frozen=True, kw_only=True):
    """Three-valued knowledge about a set of code points: accepted, refused, and the rest, unasked."""

    accepted: tuple[int, ...] = ()
    """In the order of selection by the listener."""
    refused: frozenset[int] = frozenset()
    """Refused, as a minimal pair shows (design, the ten rules of probing)."""
    unasked: str | None = None
    """The reason why other code points are unknown; None if all known ones were offered."""

    def state(self, code: int) -> Literal["accepted", "refused", "unknown"]:
        """The state of one code point."""
        if code in self.accepted:
            return "accepted"
        return "refused" if code in self.refused else "unknown"


ALPN = ("h2", "http/1.1")
"""Protocols that are offered."""
OTHER_EXTENSIONS, WITH_ALPN = ", other extensions", ", ALPN"
"""Ends of the names of offers that are not of the usual shape."""


class Attempt(Struct, frozen=True, kw_only=True):
    """One connection: the offer, the reply, the duration. No bytes."""

    offer: str
    reply: str
    seconds: float


class Negotiated(Struct, frozen=True, kw_only=True, tag=True):
    """The result of the one full handshake, as code points."""

    version: int
    suite: int
    group: int | None


ClientCertificate = Literal["none", "requested", "required"]

_NOT_TESTED = Unknown("not tested")


class Stray(Struct, frozen=True, kw_only=True):
    """The answer of a listener to another server name, or to none."""

    name: str | None
    answer: Known[Literal["served", "refused"]]
    """``refused``: it closed the connection before its certificate."""
    leaf: CertificateFacts | None = None
    client_certificate: Known[ClientCertificate] = _NOT_TESTED
    """Its request for a client certificate."""


HttpVersion = Literal["http/1.1", "h2"]
"""ALPN protocol names."""


class Answered(Struct, frozen=True, kw_only=True):
    """The answer to one HEAD request."""

    server_name: str
    """Server name of the connection; empty: none."""
    authority: str
    """Authority of the request (``Host``, ``:authority``)."""
    answer: Known[str]
    """The status, and fields that identify the content: ``200; etag: "x"``."""
    protocol: HttpVersion = "http/1.1"


class Observation(Struct, frozen=True, kw_only=True):
    """The results of probing an endpoint. Versions in ``suites`` are supported; ``versions`` has all that were
    offered."""

    instance: str
    at: datetime
    reach: Reach
    detail: str = ""
    """Evidence of ``reach`` in a few words, without control characters: ``alert 40 handshake_failure``."""
    protocol: str | None = None
    """For ``plaintext`` and ``starttls-needed``: the protocol (``http``, ``smtp`` ...)."""
    versions: Answers = Answers(unasked="not tested")
    suites: Mapping[int, Answers] = field(default_factory=dict)
    """By version."""
    groups: Mapping[int, Answers] = field(default_factory=dict)
    """Groups by version: TLS 1.3, and TLS 1.2 if the certificate allows a conclusion."""
    preference: Mapping[int, Known[Literal["server", "client"]]] = field(default_factory=dict)
    """The side whose order of suites decides, by version."""
    client_certificate: Known[ClientCertificate] = _NOT_TESTED
    certificate_requested: bool = False
    """True if one was requested each time, also if it is unknown whether it is required."""
    alpn: Known[str | None] = _NOT_TESTED
    """The selected protocol; None: none was selected."""
    ocsp_stapled: Known[bool] = _NOT_TESTED
    negotiated: Known[Negotiated] = _NOT_TESTED
    chain: Known[tuple[CertificateFacts, ...]] = _NOT_TESTED
    """The chain of the full handshake, leaf first, or else the last unencrypted one. Unknown if the listener may
    have other certificates: it supports TLS 1.3, but no such handshake completed."""
    other_chains: tuple[tuple[CertificateFacts, ...], ...] = ()
    """Other chains of this listener, for other suites or versions (RSA and ECDSA); all observed ones if ``chain`` is
    unknown."""
    untrusted_client: Known[Literal["refused", "accepted"]] = _NOT_TESTED
    """The answer to a self-signed client certificate."""
    request_without_certificate: Known[str] = Unknown("not tested (--active-http)")
    """The answer to an HTTP request without a client certificate, if it is only requested: a status, or ``closed``."""
    request_untrusted: Known[str] = Unknown("not tested (--active-http)")
    """The same with a self-signed client certificate that TLS accepted."""
    cleartext: Known[str | None] = Unknown("not tested (--active-http)")
    """The first line of its answer to a plaintext request; None: no HTTP answer."""
    plain_port: Known[str | None] = Unknown("not tested (--active-http)")
    """The answer of the plaintext port for this name, with the target of a redirect: ``HTTP/1.1 302 to
    https://a.example``. None: closed, or no HTTP answer."""
    answered: tuple[Answered, ...] = ()
    """Requests with this name and others; none without ``--active-http``."""
    strays: tuple[Stray, ...] = ()
    """Results for other server names; none without a requirement for them."""
    attempts: tuple[Attempt, ...] = ()
    stopped: str | None = None
    """The reason why the scan was stopped during this endpoint: ``SIGINT``; None: it was not."""
    dialled: bool = True
    """False: not probed because of its address; ``detail`` has the reason and the option that allows it."""

    @property
    def connections(self) -> int:
        """Number of TCP connections."""
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
"""A fault of an implementation, not of its configuration."""

_NOT_ASKED = Unknown("not asked")


class Inquiry(Struct, frozen=True, kw_only=True):
    """The requests to sslyze, which also reports requests for client certificates."""

    versions: frozenset[int] = frozenset()
    """In which each suite is tried: up to 160 connections a version, so only where there is something to ask."""
    groups: bool = False
    certificate: bool = False
    flaws: bool = False


class Opinion(Struct, frozen=True, kw_only=True):
    """The result of sslyze. It uses a full handshake for each suite, and knows fewer code points."""

    witness: str
    """Version: ``sslyze 6.3.1``."""
    highest: int | None = None
    """The highest version in which it was accepted; None where it never was."""
    suites: Mapping[int, Answers] = field(default_factory=dict)
    """Suites by version. Without an entry: unknown; with none accepted: refused."""
    groups: Answers = Answers(unasked="not asked")
    """In the ``highest`` version, and only there."""
    client_certificate: Known[ClientCertificate] = _NOT_ASKED
    certificates: Known[frozenset[str]] = _NOT_ASKED
    """SHA-256 (lower-case hex) of every leaf certificate that it was served."""
    flaws: Mapping[Flaw, Known[bool]] = field(default_factory=dict)
    """Result of each check; without an entry: not checked."""
    failure: str | None = None
    """The reason of a failure of sslyze, which is no result about the endpoint."""
