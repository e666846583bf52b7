"""Names of versions, suites, groups and alerts as reports print them and configurations write them, and the suites that
Go, HyperShift and the ingress operator support."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Final

from scanner.tls.codepoints import (
    ALERTS,
    EMPTY_RENEGOTIATION_INFO_SCSV,
    EXTRA_SUITES,
    FALLBACK_SCSV,
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
"""Key exchange and authentication by the part of a suite's name before ``_WITH_`` (RFC 5246 appendix C and later)."""

_WITH_CREDENTIALS = frozenset({"KRB5", "PSK", "DHE_PSK", "RSA_PSK", "ECDHE_PSK", "SRP", "ECCPWD", "KEA"})


def _hexadecimal(code: int) -> str:
    return f"0x{code:04X}"


def _label(code: int, *names: str | None) -> str:
    """``first (others, code)``; only the code when it has no name."""
    first, *others = (*dict.fromkeys(name for name in names if name),)
    number = _hexadecimal(code)
    return first if first == number else f"{first} ({', '.join((*others, number))})"


def suite_name(code: int) -> str:
    """The IANA name; ``0x5A5A`` for an unknown suite."""
    suite = _SUITES.get(code)
    return suite.iana if suite else _hexadecimal(code)


def openssl_name(code: int) -> str | None:
    """OpenSSL's name; None for a suite that it never supported."""
    suite = _SUITES.get(code)
    return suite.openssl if suite else None


@lru_cache(maxsize=4096)
def suite_label(code: int) -> str:
    """All names and the code point: ``TLS_RSA_WITH_AES_128_CBC_SHA (AES128-SHA, 0x002F)``."""
    return _label(code, suite_name(code), openssl_name(code))


def suite_code(name: str) -> int:
    """Find the suite by its IANA or OpenSSL name (case-sensitive) or ``0x002F``. Raises ``KeyError``."""
    code = _SUITE_CODES.get(name)
    return _number(name) if code is None else code


def _number(text: str) -> int:
    """Parse ``0x002F``. Raises ``KeyError`` with the text."""
    digits = text[2:] if text[:2] in ("0x", "0X") else ""
    if 1 <= len(digits) <= 4 and all(digit in "0123456789abcdefABCDEF" for digit in digits):
        return int(digits, 16)
    raise KeyError(text)


def group_name(code: int) -> str:
    """The IANA name; ``0x5A5A`` for an unknown group."""
    group = _GROUPS.get(code)
    return group.iana if group else _hexadecimal(code)


@lru_cache(maxsize=4096)
def group_label(code: int) -> str:
    """The names and the code point: ``secp256r1 (P-256, 0x0017)``, ``X25519MLKEM768 (0x11EC)``."""
    group = _GROUPS.get(code)
    return _label(code, group_name(code), group.nist if group else None)


def group_code(name: str) -> int:
    """Find the group by ``secp256r1``, ``P-256``, ``prime256v1`` (any case) or ``0x0017``. Raises ``KeyError``."""
    code = _GROUP_CODES.get(name.lower())
    return _number(name) if code is None else code


def version_label(code: int) -> str:
    """Both names and the code point: ``TLSv1.1 (VersionTLS11, 0x0302)``; Go and OpenShift have no name for SSL."""
    digits = {TLS10: "10", TLS11: "11", TLS12: "12", TLS13: "13"}.get(code)
    return _label(code, version_name(code), f"VersionTLS{digits}" if digits else None)


def version_name(code: int) -> str:
    """``TLSv1.2``; ``0x0305`` for an unknown version."""
    return _VERSIONS.get(code) or _hexadecimal(code)


def version_code(name: str) -> int:
    """Find the version by ``TLSv1.2``, ``1.2``, ``TLS1.2`` or ``VersionTLS12`` (any case). Raises ``KeyError``."""
    code = _VERSION_CODES.get(name.lower())
    if code is None:
        raise KeyError(name)
    return code


def alert_name(code: int) -> str:
    """``handshake_failure``; ``alert_99`` for an unregistered description."""
    return ALERTS.get(code) or f"alert_{code}"


def is_tls13(code: int) -> bool:
    """True if the suite belongs to TLS 1.3 and to no other version."""
    return code >> 8 == 0x13 or code in _TLS13_ONLY


@cache
def _exchange(code: int) -> tuple[str, str]:
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


def since_tls12(code: int) -> bool:
    """True if TLS 1.1 and below cannot select the suite: an AEAD, or one that names its hash (RFC 5246, section 5)."""
    name = suite_name(code)
    return name.endswith(("_SHA256", "_SHA384", "_SM3", "_CCM", "_CCM_8")) or "_GCM_" in name


def needs_credentials(code: int) -> bool:
    """True if the suite needs something that the scanner does not send: a pre-shared key, a password or a Kerberos
    ticket."""
    return key_exchange(code) in _WITH_CREDENTIALS


TLS13_SUITES: Final = (0x1301, 0x1302, 0x1303)
"""Suites that Go's crypto/tls enables in TLS 1.3, independent of its configuration (golang/go issue 29349)."""
GO_SUITES: Final = frozenset(
    {
        *TLS13_SUITES,
        *(0xC02B, 0xC02F, 0xC02C, 0xC030, 0xCCA9, 0xCCA8),  # ECDHE with AEAD
        *(0xC023, 0xC027, 0xC009, 0xC013, 0xC00A, 0xC014, 0xC012),  # ECDHE with CBC
        *(0x009C, 0x009D, 0x003C, 0x002F, 0x0035, 0x000A),  # RSA key exchange
    }
)
"""Suites that library-go maps to Go's (``pkg/crypto/crypto.go``, ``OpenSSLToIANACipherSuites``). It drops all others
without an error."""
GO_GROUPS: Final = frozenset({0x0017, 0x0018, 0x0019, 0x001D, 0x11EB, 0x11EC, 0x11ED})
"""Groups of Go 1.26 (``crypto/tls``), with which Kubernetes 1.36 is built."""
HYPERSHIFT_SUITES: Final = frozenset(
    {*(0xC02B, 0xC02F, 0xC02C, 0xC030, 0xCCA9, 0xCCA8), *(0xC009, 0xC013, 0xC00A, 0xC014)}
)
"""Suites that HyperShift maps, without TLS 1.3 (openshift/hypershift ``support/config/cipher.go``)."""
HTTP2_SUITES: Final = (0xC02F, 0xC02B)
"""Suites that HTTP/2 requires: a server in Go starts only with one of them (RFC 9113 section 9.2.2,
golang.org/x/net/http2)."""
TLS13_NAMES: Final = frozenset(
    {
        "TLS_AES_128_GCM_SHA256",
        "TLS_AES_256_GCM_SHA384",
        "TLS_CHACHA20_POLY1305_SHA256",
        "TLS_AES_128_CCM_SHA256",
        "TLS_AES_128_CCM_8_SHA256",
    }
)
"""TLS 1.3 suites that the ingress operator knows (``tlsVersion13Ciphers``); it passes all other names to OpenSSL as
those of TLS 1.2."""
CHACHA20: Final = frozenset({0x1303, *(0xCCA8 + offset for offset in range(7))})
"""Suites with ChaCha20 (RFC 8446, RFC 7905): not approved by FIPS 140."""
NOT_FIPS_GROUPS: Final = frozenset({0x001D, 0x001E, 0x11EB, 0x11EC, 0x11ED, 0x6399})
"""X25519, X448, and the hybrids with ML-KEM: the FIPS modules of these releases are not validated for them."""
FIPS_TLS13: Final = frozenset({0x1301, 0x1302})
"""TLS 1.3 suites that the ingress operator keeps in FIPS mode (``fipsApprovedTLS13Ciphers``)."""

_NO_SUITES: Final = (0x0000, EMPTY_RENEGOTIATION_INFO_SCSV, FALLBACK_SCSV)
"""Names in the registry that select no suite."""
_WORDS: Final = frozenset(
    {
        *("ALL", "COMPLEMENTOFALL", "DEFAULT", "COMPLEMENTOFDEFAULT", "HIGH", "MEDIUM", "LOW", "FIPS"),
        *("EXPORT", "EXP", "EXPORT40", "EXPORT56", "NULL", "eNULL", "aNULL", "SUITEB128", "SUITEB128ONLY", "SUITEB192"),
        *("kRSA", "aRSA", "RSA", "kDHE", "kEDH", "DH", "DHE", "EDH", "ADH", "aDSS", "DSS", "aECDSA", "ECDSA"),
        *("kEECDH", "kECDHE", "ECDH", "ECDHE", "EECDH", "AECDH", "SSLv3", "TLSv1", "GOST", "kGOST", "aGOST"),
        *("AES128", "AES256", "AES", "AESGCM", "AESCCM", "AESCCM8", "ARIA", "ARIA128", "ARIA256", "CHACHA20"),
        *("CAMELLIA", "CAMELLIA128", "CAMELLIA256", "3DES", "DES", "RC4", "RC2", "IDEA", "SEED", "CBC"),
        *("MD5", "SHA1", "SHA", "SHA256", "SHA384", "PSK", "kPSK", "kECDHEPSK", "kDHEPSK", "kRSAPSK", "aPSK", "SRP"),
    }
)
"""OpenSSL's keywords for sets of suites (openssl-ciphers(1), CIPHER STRINGS)."""
_OPEN: Final = frozenset(
    {
        *("ALL", "COMPLEMENTOFALL", "COMPLEMENTOFDEFAULT", "LOW", "RC4", "DES"),
        *("NULL", "eNULL", "aNULL", "ADH", "AECDH", "EXPORT", "EXP", "EXPORT40", "EXPORT56"),
    }
)


def suite_named(name: str) -> int | None:
    """The suite with this name in a configuration; None if there is none. A number is not a name."""
    try:
        code = suite_code(name)
    except KeyError:
        return None
    return None if name[:2].lower() == "0x" or code in _NO_SUITES else code


def is_a_set(name: str) -> bool:
    """True for an OpenSSL keyword for a set of suites, such as ``HIGH`` or ``ECDHE+AESGCM``, that is no suite's
    name."""
    parts = name.split("+")
    return suite_named(name) is None and all(part in _WORDS for part in parts)


def is_open(name: str) -> bool:
    """True if such a set has suites that do not encrypt, do not authenticate or are broken."""
    return not _OPEN.isdisjoint(name.split("+"))
