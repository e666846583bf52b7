"""Offers and replies: what a plan yields and what it is sent back. Values, no bytes, no I/O."""

from __future__ import annotations

from collections.abc import Generator
from typing import Final, Literal, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct

from scanner.tls.codepoints import TLS13

CLOSE_REPEATS: Final = 5
"""Number of times that a connection must be closed without an alert to count as refused (design rule 6)."""
CLOSES: Final = frozenset({"fin", "rst"})
"""Endings without an alert, which can happen to any connection. Even if an endpoint is known to refuse so, a single one
does not count: the same offer has to end so twice in a row."""

Shares = Literal["empty", "common"]
"""The key_share extension of TLS 1.3: empty (the server names its group in a HelloRetryRequest, RFC 8446, section
4.2.8), or shares of X25519 and P-256 for the rare server that does not answer an empty one. P-256 is mandatory (RFC
8446, section 9.1), so that a server that cannot retry at all is reached too."""

Shape = Literal["usual", "other"]
"""The extensions of a hello of TLS 1.0 to 1.2. Some decide which suites a server accepts, and no one suits all servers
(docs/decisions/0055-two-shapes-of-hello.md). ``usual``: with encrypt_then_mac, all point formats and the groups of RFC
7919, as OpenSSL and GnuTLS send them. ``other``: without these, and with what only Go, NSS or Java send."""

EngineSuites = Literal["usual", "with DHE", "all"]
"""Suites that a full handshake offers. ``usual``: suites with a certificate, without finite-field Diffie-Hellman, whose
arithmetic the server can make expensive. ``with DHE``: these too. ``all``: also the anonymous ones, which show neither
a certificate nor whether a client needs one."""


class Offer(Struct, frozen=True):
    """The description of one ClientHello. Every offer of a version has the same extensions."""

    name: str
    """Name in the evidence: ``TLSv1.2 forbidden``."""
    version: int
    """The highest version offered; for TLS 1.3 the only one."""
    suites: tuple[int, ...]
    groups: tuple[int, ...]
    padding: int = 0
    """Bytes of padding (RFC 7685), so that the two hellos of a minimal pair have the same length."""
    shares: Shares = "empty"
    lean: bool = False
    """Fewer signature algorithms, for listeners that do not take a long ClientHello."""
    shape: Shape = "usual"
    alpn: tuple[str, ...] = ()
    """Protocols of ALPN; none: no such extension."""


Ending = Literal[
    "hello",
    "alert",
    "fin",
    "rst",
    "silence",
    "plaintext",
    "declined",
    "unnamed",
    "unoffered",
    "malformed",
    "closed",
    "filtered",
    "unreachable",
]
"""Endings of a connection. ``hello``: with a ServerHello or HelloRetryRequest. ``declined``: a protocol that upgrades
to TLS ended before the upgrade; ``unnamed``: because it does not know the name. ``unoffered``: a ServerHello of TLS 1.0
to 1.2 that selects a later version than offered, sent by servers without the older version."""


class Reply(NamedTuple):
    """The answer to one offer. A tuple, because a scan makes thousands."""

    ending: Ending
    version: int | None = None
    """Selected version."""
    suite: int | None = None
    group: int | None = None
    """From the key_share of a HelloRetryRequest or ServerHello, or from a ServerKeyExchange."""
    done: bool = False
    """ServerHelloDone was received: the server continues with this suite (TLS 1.2 and below)."""
    alert: int | None = None
    chain: tuple[bytes, ...] | None = None
    """DER, leaf first, if the certificate is not encrypted."""
    certificate_requested: bool | None = None
    text: str = ""
    """The start of a plaintext banner, or the malformed part; control characters already replaced."""
    protocol: str | None = None
    """The plaintext protocol, if recognised."""
    seconds: float = 0.0

    @property
    def accepted(self) -> bool:
        """True if the server selected from the offer and continued.

        Up to TLS 1.2 a ServerHello alone is not enough: Go sends one before it finds out that it cannot sign.
        """
        return self.ending == "hello" and (self.done or (self.version or 0) >= TLS13)

    @property
    def ending_kind(self) -> str:
        """The ending as a comparable word: ``fin``, ``alert 40``."""
        return f"alert {self.alert}" if self.ending == "alert" else self.ending


T = TypeVar("T")
Plan: TypeAlias = Generator[Offer, Reply, T]
"""A plan yields an offer, is sent its reply, and returns its result."""
