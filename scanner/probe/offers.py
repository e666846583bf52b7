"""Offers and replies: what a plan yields and what it is sent back. Values, no bytes, no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


Shares = Literal["absent", "empty", "classical"]
"""The key_share extension: none, an empty one (the server names its group in a HelloRetryRequest), or X25519 and
P-256 shares for the rare server that does not answer an empty one."""


@dataclass(frozen=True, slots=True)
class Offer:
    """One ClientHello, described. ``version`` is the highest offered and, for TLS 1.3, the only one."""

    name: str
    """For the evidence: ``tls1.2 forbidden+1``."""
    version: int
    suites: tuple[int, ...]
    groups: tuple[int, ...]
    shares: Shares = "absent"
    size: int = 0
    """Pad the ClientHello to this many bytes (RFC 7685); 0 for no padding."""
    flight: bool = False
    """Read the whole plaintext flight up to ServerHelloDone (TLS 1.2 and below), for certificate and group."""


Ending = Literal["hello", "alert", "fin", "rst", "silence", "plaintext", "malformed", "closed", "filtered",
                 "unreachable", "interrupted"]
"""``hello``: a ServerHello or HelloRetryRequest came. The others: what came instead of one."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What one offer was answered with."""

    ending: Ending
    version: int | None = None
    """Selected version."""
    suite: int | None = None
    group: int | None = None
    """From a HelloRetryRequest's key_share, a ServerHello's key_share, or a ServerKeyExchange."""
    done: bool = False
    """ServerHelloDone came: the server would go on with this suite (TLS 1.2 and below)."""
    alert: int | None = None
    chain: tuple[bytes, ...] | None = None
    certificate_requested: bool | None = None
    text: str = ""
    """Cleaned start of a plaintext banner, or what was malformed."""
    size: int = 0
    """Bytes of the ClientHello that was sent."""
    seconds: float = 0.0
    dh_bits: int | None = None

    @property
    def accepted(self) -> bool:
        """Whether the server selected from the offer."""
        return self.ending == "hello"


