"""Offers and replies: what a plan yields and what it is sent back. Values, no bytes, no I/O."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias, TypeVar

from scanner.tls.codepoints import TLS13

AGAIN: Final = 5
"""How often a connection has to end without a word to be refused (the ten rules of probing, 6)."""
WORDLESS: Final = frozenset({"fin", "rst"})
"""Ends of connections that say nothing by themselves."""

Shares = Literal["empty", "common"]
"""The key_share extension of TLS 1.3: empty (the server names its group in a HelloRetryRequest, RFC 8446, section
4.2.8), or shares of X25519 and P-256 for the rare server that does not answer an empty one. P-256 is mandatory (RFC
8446, section 9.1), so that a server that cannot retry at all is reached too."""

EngineSuites = Literal["usual", "with DHE", "all"]
"""What a full handshake offers: suites with a certificate and without finite-field Diffie-Hellman, whose arithmetic
the server can make as expensive as it likes; these too; and the anonymous ones, which show neither a certificate nor
whether a client needs one."""


@dataclass(frozen=True, slots=True)
class Offer:
    """One ClientHello, described. Every offer of a version carries the same extensions."""

    name: str
    """For the evidence: ``TLSv1.2 forbidden``."""
    version: int
    """The highest offered; for TLS 1.3 the only one."""
    suites: tuple[int, ...]
    groups: tuple[int, ...]
    padding: int = 0
    """Bytes of padding (RFC 7685), so that the two hellos of a minimal pair have the same length."""
    shares: Shares = "empty"
    lean: bool = False
    """Fewer signature algorithms, for listeners that do not take a long ClientHello."""


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
"""``hello``: a ServerHello or HelloRetryRequest came. The others: what came instead of one. ``declined``: a protocol
that upgrades to TLS ended before it was asked to; ``unnamed``: because it does not know the name. ``unoffered``: a
ServerHello of TLS 1.0 to 1.2 that selects a later version than was offered, as of a server without so old a one."""


class Reply(NamedTuple):
    """What one offer was answered with. A tuple: a scan makes thousands."""

    ending: Ending
    version: int | None = None
    """Selected version."""
    suite: int | None = None
    group: int | None = None
    """From the key_share of a HelloRetryRequest or ServerHello, or from a ServerKeyExchange."""
    done: bool = False
    """ServerHelloDone came: the server would go on with this suite (TLS 1.2 and below)."""
    alert: int | None = None
    chain: tuple[bytes, ...] | None = None
    """DER, leaf first, where the certificate travels in the clear."""
    certificate_requested: bool | None = None
    text: str = ""
    """The start of a plaintext banner, or what was malformed; control characters already replaced."""
    protocol: str | None = None
    """Which plaintext protocol it was, where it was recognised."""
    seconds: float = 0.0

    @property
    def accepted(self) -> bool:
        """Whether the server selected from the offer and meant it.

        Up to TLS 1.2 a ServerHello alone is not enough: Go sends one before it finds out that it cannot sign.
        """
        return self.ending == "hello" and (self.done or (self.version or 0) >= TLS13)

    @property
    def how(self) -> str:
        """The ending as one word to compare by: ``fin``, ``alert 40``."""
        return f"alert {self.alert}" if self.ending == "alert" else self.ending


T = TypeVar("T")
Plan: TypeAlias = Generator[Offer, Reply, T]
"""A plan yields an offer, is sent its reply, and returns what it found out."""
