"""Names of code points, both ways: what reports print, and what configurations write."""

from __future__ import annotations

from functools import cache, lru_cache

from scanner.tls.codepoints import (
    ALERTS,
    EXTRA_SUITES,
    GROUPS,
    SSL2,
    SSL3,
    SUITE_ALIASES,
    SUITES,
    TLS10,
    TLS11,
    TLS12,
    TLS13,
)

_SUITES = {suite.code: suite for suite in (*SUITES, *EXTRA_SUITES)}
_SUITE_CODES = {
    **SUITE_ALIASES,
    **{suite.openssl: suite.code for suite in _SUITES.values() if suite.openssl},
    **{suite.iana: suite.code for suite in _SUITES.values()},
}
_GROUPS = {group.code: group for group in GROUPS}
_GROUP_CODES = {
    name.lower(): group.code for group in GROUPS for name in (group.iana, group.nist, *group.aliases) if name
}

_VERSIONS = {SSL2: "SSLv2", SSL3: "SSLv3", TLS10: "TLSv1", TLS11: "TLSv1.1", TLS12: "TLSv1.2", TLS13: "TLSv1.3"}
_VERSION_CODES = {
    **{name.lower(): code for code, name in _VERSIONS.items()},
    "ssl2": SSL2,
    "ssl3": SSL3,
    "versionssl30": SSL3,
    "tls1": TLS10,
    "tlsv1.0": TLS10,
    **{
        spelling.format(minor): version
        for minor, version in enumerate((TLS10, TLS11, TLS12, TLS13))
        for spelling in ("1.{}", "tls1.{}", "tls 1.{}", "tlsv1_{}", "tls1_{}", "versiontls1{}")
    },
}

_TLS13_ONLY = frozenset({0x00C6, 0x00C7, *range(0x006E, 0x0072), 0xC0B4, 0xC0B5, *range(0xC103, 0xC107)})
"""TLS 1.3 suites outside 0x13xx: ShangMi (RFC 8998), Ascon, integrity-only (RFC 9150), GOST (RFC 9367)."""

ANONYMOUS = "anon"
"""The authentication of suites without a certificate."""
_EXCHANGES: dict[str, tuple[str, str]] = {
    "NULL": ("NULL", "NULL"),
    "RSA": ("RSA", "RSA"),
    "RSA_FIPS": ("RSA", "RSA"),
    "RSA_OLDFIPS": ("RSA", "RSA"),
    "DH_DSS": ("DH", "DSS"),
    "DH_RSA": ("DH", "RSA"),
    "DHE_DSS": ("DHE", "DSS"),
    "DHE_RSA": ("DHE", "RSA"),
    "DH_anon": ("DH_anon", ANONYMOUS),
    "ECDH_ECDSA": ("ECDH", "ECDSA"),
    "ECDH_RSA": ("ECDH", "RSA"),
    "ECDHE_ECDSA": ("ECDHE", "ECDSA"),
    "ECDHE_RSA": ("ECDHE", "RSA"),
    "ECDH_anon": ("ECDH_anon", ANONYMOUS),
    "KRB5": ("KRB5", "KRB5"),
    "PSK": ("PSK", "PSK"),
    "DHE_PSK": ("DHE_PSK", "PSK"),
    "PSK_DHE": ("DHE_PSK", "PSK"),
    "RSA_PSK": ("RSA_PSK", "RSA"),
    "ECDHE_PSK": ("ECDHE_PSK", "PSK"),
    "SRP_SHA": ("SRP", "SRP"),
    "SRP_SHA_RSA": ("SRP", "RSA"),
    "SRP_SHA_DSS": ("SRP", "DSS"),
    "ECCPWD": ("ECCPWD", "ECCPWD"),
    "FORTEZZA_KEA": ("KEA", "KEA"),
    "GOSTR341094": ("GOST", "GOST"),
    "GOSTR341001": ("GOST", "GOST"),
    "GOSTR341112_256": ("GOST", "GOST"),
}
"""What a suite's name says before ``_WITH_``: key exchange and authentication (RFC 5246 appendix C and later)."""

_WITH_CREDENTIALS = frozenset({"KRB5", "PSK", "DHE_PSK", "RSA_PSK", "ECDHE_PSK", "SRP", "ECCPWD", "KEA"})


def _hexadecimal(code: int) -> str:
    return f"0x{code:04X}"


def _label(code: int, *names: str | None) -> str:
    """``first (others, code)``; just the code when it has no name."""
    first, *others = (*dict.fromkeys(name for name in names if name),)
    number = _hexadecimal(code)
    return first if first == number else f"{first} ({', '.join((*others, number))})"


def suite_name(code: int) -> str:
    """The IANA name, ``0x5A5A`` for a suite that nobody named."""
    suite = _SUITES.get(code)
    return suite.iana if suite else _hexadecimal(code)


def openssl_name(code: int) -> str | None:
    """OpenSSL's name, None where it never had the suite."""
    suite = _SUITES.get(code)
    return suite.openssl if suite else None


@lru_cache(maxsize=4096)
def suite_label(code: int) -> str:
    """All names and the code point: ``TLS_RSA_WITH_AES_128_CBC_SHA (AES128-SHA, 0x002F)``."""
    return _label(code, suite_name(code), openssl_name(code))


def suite_code(name: str) -> int:
    """The suite of an IANA or OpenSSL name (exact case) or of ``0x002F``. Raises ``KeyError``."""
    code = _SUITE_CODES.get(name)
    return _number(name) if code is None else code


def _number(text: str) -> int:
    """The code point in ``0x002F``. Raises ``KeyError`` of the whole text."""
    digits = text[2:] if text[:2] in ("0x", "0X") else ""
    if 1 <= len(digits) <= 4 and all(digit in "0123456789abcdefABCDEF" for digit in digits):
        return int(digits, 16)
    raise KeyError(text)


def group_name(code: int) -> str:
    """The IANA name, ``0x5A5A`` for a group that nobody named."""
    group = _GROUPS.get(code)
    return group.iana if group else _hexadecimal(code)


@lru_cache(maxsize=4096)
def group_label(code: int) -> str:
    """The names and the code point: ``secp256r1 (P-256, 0x0017)``, ``X25519MLKEM768 (0x11EC)``."""
    group = _GROUPS.get(code)
    return _label(code, group_name(code), group.nist if group else None)


def group_code(name: str) -> int:
    """The group of ``secp256r1``, ``P-256``, ``prime256v1`` (any case) or of ``0x0017``. Raises ``KeyError``."""
    code = _GROUP_CODES.get(name.lower())
    return _number(name) if code is None else code


def version_label(code: int) -> str:
    """Both names and the code point: ``TLSv1.1 (VersionTLS11, 0x0302)``; Go and OpenShift have none for SSL."""
    digits = {TLS10: "10", TLS11: "11", TLS12: "12", TLS13: "13"}.get(code)
    return _label(code, version_name(code), f"VersionTLS{digits}" if digits else None)


def version_name(code: int) -> str:
    """``TLSv1.2``; ``0x0305`` for a version that does not exist."""
    return _VERSIONS.get(code) or _hexadecimal(code)


def version_code(name: str) -> int:
    """The version of ``TLSv1.2``, ``1.2``, ``TLS1.2`` or ``VersionTLS12`` (any case). Raises ``KeyError``."""
    code = _VERSION_CODES.get(name.lower())
    if code is None:
        raise KeyError(name)
    return code


def alert_name(code: int) -> str:
    """``handshake_failure``; ``alert_99`` for a description that is not registered."""
    return ALERTS.get(code) or f"alert_{code}"


def is_tls13(code: int) -> bool:
    """Whether the suite belongs to TLS 1.3, and to no other version."""
    return code >> 8 == 0x13 or code in _TLS13_ONLY


@cache
def _exchange(code: int) -> tuple[str, str]:
    """Key exchange and authentication of a suite."""
    if is_tls13(code):
        return "any", "any"
    exchange = suite_name(code).split("_", 1)[1].split("_WITH_")[0] if code in _SUITES else ""
    return _EXCHANGES.get(exchange.removesuffix("1024").removesuffix("_EXPORT"), ("unknown", "unknown"))


def key_exchange(code: int) -> str:
    """``ECDHE``, ``DHE``, ``RSA``, ``DH_anon`` ...; ``any`` in TLS 1.3, ``unknown`` for an unknown suite."""
    return _exchange(code)[0]


def authentication(code: int) -> str:
    """``RSA``, ``ECDSA``, ``DSS``, ``anon`` ...; ``any`` in TLS 1.3, ``unknown`` for an unknown suite."""
    return _exchange(code)[1]


def needs_credentials(code: int) -> bool:
    """Whether the suite needs what we do not send: a pre-shared key, a password or a ticket of its own."""
    return key_exchange(code) in _WITH_CREDENTIALS
