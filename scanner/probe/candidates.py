"""What can be offered, and in which order.

The unlikely stand first and the likely last. A server that chooses by its own preference then picks from the end,
which shows that it has read everything before (the minimal pair, design rule 2), and shows at once that the order of
the client does not decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

from scanner.tls import codepoints
from scanner.tls.names import authentication, is_tls13, needs_credentials

LIKELY = (
    *(0x000A, 0x002F, 0x0035, 0x003C, 0x003D, 0x009C, 0x009D),
    *(0x0033, 0x0039, 0x0067, 0x006B, 0x009E, 0x009F, 0xCCAA),
    *(0xC009, 0xC00A, 0xC023, 0xC024, 0xC013, 0xC014, 0xC027, 0xC028),
    *(0xCCA9, 0xC02C, 0xC02B, 0xCCA8, 0xC030, 0xC02F),
    *(0x1303, 0x1302, 0x1301),
)
"""Suites that today's servers accept, from the least to the most likely to be chosen."""

LEAN_SUITES = (0x000A, 0x002F, 0x0035, 0xC009, 0xC013, 0xC014, 0x009E, 0x009C, 0xC02C, 0xC02B, 0xC030, 0xC02F)
"""Enough to get an answer from nearly every server of TLS 1.2 and below, in a short ClientHello."""

LIKELY_GROUPS = (
    *(0x0100, 0x0104, 0x0103, 0x0102, 0x0101),
    *(0x11ED, 0x11EB, 0x0202, 0x0201, 0x001E, 0x0019, 0x0018, 0x0017, 0x001D, 0x11EC),
)


@cache
def suites(version: int) -> tuple[int, ...]:
    """Every suite that belongs into a hello of ``version`` and needs nothing that we do not send."""
    return tuple(_ordered((s for s in _all(version) if not needs_credentials(s)), LIKELY))


@cache
def credential_suites(version: int) -> tuple[int, ...]:
    """Suites for SRP, PSK, Kerberos and the like: they travel apart (design rule 4). None in TLS 1.3."""
    return tuple(s for s in _all(version) if needs_credentials(s))


@lru_cache(maxsize=64)
def others(version: int, offered: tuple[int, ...]) -> frozenset[int]:
    """What of ``suites(version)`` is not in an offer."""
    return frozenset(suites(version)).difference(offered)


@cache
def groups(version: int) -> tuple[int, ...]:
    """Every key-exchange group for ``version``, the likely ones last.

    Up to TLS 1.2 only elliptic curves: finite-field and ML-KEM groups would change nothing there, because servers
    choose DHE whether or not its group is listed (RFC 7919 is followed by few), and hybrids need TLS 1.3.
    """
    known = (g.code for g in codepoints.GROUPS)
    fitting = known if version >= codepoints.TLS13 else (g for g in known if g < 0x0100)
    return tuple(_ordered(fitting, LIKELY_GROUPS))


def by_likelihood(codes: Iterable[int]) -> list[int]:
    """The suites in the order in which they are offered."""
    return _ordered(codes, LIKELY)


def fitting_last(codes: Sequence[int], chosen: int) -> list[int]:
    """The same suites, those with the authentication of ``chosen`` last: the certificate's kind is known now."""
    kind = authentication(chosen)
    return sorted(codes, key=lambda code: authentication(code) == kind)


def _all(version: int) -> Iterable[int]:
    wanted = version >= codepoints.TLS13
    return (s.code for s in codepoints.ALL_SUITES if is_tls13(s.code) == wanted)


def _ordered(codes: Iterable[int], likely: Sequence[int]) -> list[int]:
    rank = {code: place for place, code in enumerate(likely, start=1)}
    return sorted(codes, key=lambda code: (rank.get(code, 0), code))
