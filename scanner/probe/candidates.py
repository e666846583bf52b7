"""Suites and groups to offer, and their order.

Within one kind of certificate the unlikely suites come first and the likely last. A server that chooses by its own
preference then picks from the end. That shows that it has read all suites before (the minimal pair, design rule 2), and
that the client's order does not decide. Key exchanges that no current server uses come last: some servers choose their
certificate by the first suite that they know by name, usable or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache

from scanner.tls import codepoints
from scanner.tls.names import authentication, is_tls13, key_exchange, needs_credentials, suite_name

LIKELY = (
    *(0x000A, 0x002F, 0x0035, 0x003C, 0x003D, 0x009C, 0x009D),
    *(0x0033, 0x0039, 0x0067, 0x006B, 0x009E, 0x009F, 0xCCAA),
    *(0xC009, 0xC00A, 0xC023, 0xC024, 0xC013, 0xC014, 0xC027, 0xC028),
    *(0xCCA9, 0xC02C, 0xC02B, 0xCCA8, 0xC030, 0xC02F),
    *(0x1303, 0x1302, 0x1301),
)
"""Suites that current servers accept, from the least to the most likely to be chosen."""

OBSOLETE = frozenset({"DH", "ECDH", "DH_anon", "ECDH_anon", "NULL", "GOST", "unknown"})
"""Key exchanges offered after all others, as are export suites and suites that need credentials."""

LEAN_SUITES = (0xC02C, 0xC02B, 0xC009, 0xC030, 0xC02F, 0xC014, 0xC013, 0x009E, 0x009C, 0x0035, 0x002F, 0x000A)
"""Suites that get an answer from nearly every server of TLS 1.2 and below, in a short ClientHello."""

LEAN_TLS13 = (0x1303, 0x1302, 0x1301)
"""The same for TLS 1.3. RFC 8446, section 9.1, requires the last one of every server."""

LIKELY_CURVES = (0x001D, 0x0017, 0x0018, 0x0019, 0x001E, 0x001A, 0x001B, 0x001C, 0x0016, 0x0015, 0x0013)
"""Curves from the most to the least likely, up to TLS 1.2: mbedTLS 2.28 reads the first eleven that it knows."""

FINITE_FIELDS = (0x0100, 0x0101, 0x0102, 0x0103, 0x0104)
"""Groups of RFC 7919. GnuTLS does DHE in TLS 1.2 and below only if one that it supports is offered."""

LIKELY_GROUPS = (
    *(0x0104, 0x0103, 0x0102, 0x0101, 0x0100),
    *(0x11ED, 0x11EB, 0x0202, 0x0201, 0x001E, 0x0019, 0x0018, 0x0017, 0x001D, 0x11EC),
)
"""Groups of TLS 1.3 from the least to the most likely."""

LEAN_GROUPS = (*LIKELY_CURVES[:4], *FINITE_FIELDS)
"""Groups for a listener that refuses an offer with all of them; every current library accepts these."""

LEAN_GROUPS_TLS13 = (0x0019, 0x0018, 0x0017, 0x001D)


@cache
def suites(version: int) -> tuple[int, ...]:
    """All suites for a hello of ``version``, except those that need credentials."""
    return tuple(by_likelihood(s for s in _all(version) if not needs_credentials(s)))


@cache
def credential_suites(version: int) -> tuple[int, ...]:
    """Suites for SRP, PSK, Kerberos and the like, which are offered separately (design rule 4). None in TLS 1.3."""
    return tuple(s for s in _all(version) if needs_credentials(s))


@lru_cache(maxsize=64)
def others(version: int, offered: tuple[int, ...]) -> frozenset[int]:
    """The suites of ``version`` that are not in an offer."""
    return frozenset(suites(version)).difference(offered)


@cache
def groups(version: int) -> tuple[int, ...]:
    """All key-exchange groups for a hello of ``version``.

    In TLS 1.3 the likely ones come last. Up to TLS 1.2 the likely ones come first, curves before finite fields, without
    hybrids: s2n-tls closes the connection when a hello without TLS 1.3 names one.
    """
    known = [group.code for group in codepoints.GROUPS]
    if version >= codepoints.TLS13:
        return tuple(_ordered((code for code in known if code not in codepoints.OBSOLETE_GROUPS), LIKELY_GROUPS))
    curves = (code for code in known if code < FINITE_FIELDS[0] and code not in LIKELY_CURVES)
    return (*LIKELY_CURVES, *curves, *FINITE_FIELDS)


@lru_cache(maxsize=4096)
def is_obsolete(code: int) -> bool:
    """True if the suite is offered after all others."""
    return key_exchange(code) in OBSOLETE or needs_credentials(code) or "_EXPORT" in suite_name(code)


def by_likelihood(codes: Iterable[int], last: str = "RSA") -> list[int]:
    """Sort suites as they are offered: by the type of certificate, ``last`` after the others, and obsolete ones at the
    end."""
    return list(_by_likelihood(frozenset(codes), last))


@lru_cache(maxsize=1024)
def _by_likelihood(codes: frozenset[int], last: str) -> tuple[int, ...]:
    """Cached, because most listeners of a scan accept the same suites; so are the other orders."""
    rank = {code: place for place, code in enumerate(LIKELY, start=1)}
    key = {
        code: (is_obsolete(code), authentication(code) == last, authentication(code), rank.get(code, 0), code)
        for code in codes
    }
    return tuple(sorted(codes, key=key.__getitem__))


def in_other_order(codes: Sequence[int]) -> list[int]:
    """The suites that are not obsolete, with the certificate types in reverse order."""
    return list(_in_other_order(tuple(codes)))


@lru_cache(maxsize=1024)
def _in_other_order(codes: tuple[int, ...]) -> tuple[int, ...]:
    current = [code for code in codes if not is_obsolete(code)]
    kinds = list(dict.fromkeys(map(authentication, current)))
    return tuple(sorted(current, key=lambda code: -kinds.index(authentication(code))))


def by_certificate(codes: Iterable[int]) -> list[list[int]]:
    """Group suites by certificate type; RSA and ECDSA separately, because many servers have both."""
    return _parted(codes, lambda code: authentication(code) if authentication(code) in ("RSA", "ECDSA") else None)


def by_exchange(codes: Iterable[int]) -> list[list[int]]:
    """Group suites by key exchange and authentication."""
    return _parted(codes, lambda code: (key_exchange(code), authentication(code)))


def _parted(codes: Iterable[int], kind: Callable[[int], object]) -> list[list[int]]:
    parts: dict[object, list[int]] = {}
    for code in codes:
        parts.setdefault(kind(code), []).append(code)
    return list(parts.values())


def _all(version: int) -> Iterable[int]:
    in_tls13 = version >= codepoints.TLS13
    return (s.code for s in codepoints.ALL_SUITES if is_tls13(s.code) == in_tls13)


def _ordered(codes: Iterable[int], likely: Sequence[int]) -> list[int]:
    rank = {code: place for place, code in enumerate(likely, start=1)}
    return sorted(codes, key=lambda code: (rank.get(code, 0), code))
