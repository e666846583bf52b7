"""Cipher suites that are weak under any profile: parts of their registered names, with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from scanner.model.finding import Severity
from scanner.tls.names import key_exchange, suite_name


class Weakness(Struct, frozen=True):
    """One weakness of suites."""

    severity: Severity
    why: str
    """The reason, for people."""
    has: Callable[[int], bool]
    """Test of a suite."""


def _named(*marks: str) -> Callable[[int], bool]:
    return lambda code: any(mark in suite_name(code) for mark in marks)


def _exchanged(*ways: str) -> Callable[[int], bool]:
    return lambda code: key_exchange(code) in ways


WEAKNESSES: Final = (
    Weakness("high", "does not encrypt", _named("_NULL_", "_SHA256_SHA256", "_SHA384_SHA384")),  # RFC 9150: TLS 1.3
    # Anyone in the middle can be the server.
    Weakness("high", "does not authenticate the server", _named("_anon_")),
    Weakness("high", "has an export key of 40 or 56 bits (FREAK, Logjam)", _named("_EXPORT")),
    Weakness("high", "has RC4, which RFC 7465 prohibits", _named("_RC4_")),
    Weakness("high", "has DES with 56 bits", _named("_WITH_DES_")),
    Weakness(
        "medium", "has blocks of 64 bits, from which cookies can be read (Sweet32)", _named("_3DES_", "_IDEA_", "_RC2_")
    ),
    Weakness("low", "has no forward secrecy (RFC 9325, section 4.1)", _exchanged("RSA", "DH", "ECDH")),
    Weakness("low", "has CBC, which padding oracles come back to (RFC 9325, section 4.2.1)", _named("_CBC_")),
)
"""The worst first: RFC 9325, section 4.1. With high ones, an attacker on the network can read or change data today."""


def weakness(code: int) -> Weakness | None:
    """The worst weakness of a suite, or None."""
    return next((each for each in WEAKNESSES if each.has(code)), None)
