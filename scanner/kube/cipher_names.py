"""Cipher suites and groups as configurations name them, and which of them the servers of a platform have."""

from __future__ import annotations

from typing import Final

from scanner.tls.codepoints import EMPTY_RENEGOTIATION_INFO_SCSV, FALLBACK_SCSV
from scanner.tls.names import suite_code

TLS13_SUITES: Final = (0x1301, 0x1302, 0x1303)
"""What Go's crypto/tls speaks in TLS 1.3, whatever is configured (golang/go issue 29349)."""
GO_SUITES: Final = frozenset(
    {
        *TLS13_SUITES,
        *(0xC02B, 0xC02F, 0xC02C, 0xC030, 0xCCA9, 0xCCA8),  # ECDHE with AEAD
        *(0xC023, 0xC027, 0xC009, 0xC013, 0xC00A, 0xC014, 0xC012),  # ECDHE with CBC
        *(0x009C, 0x009D, 0x003C, 0x002F, 0x0035, 0x000A),  # RSA key exchange
    }
)
"""What library-go maps to a suite of Go's (``pkg/crypto/crypto.go``, ``OpenSSLToIANACipherSuites``). It drops all
others without an error."""
HYPERSHIFT_SUITES: Final = frozenset(
    {*(0xC02B, 0xC02F, 0xC02C, 0xC030, 0xCCA9, 0xCCA8), *(0xC009, 0xC013, 0xC00A, 0xC014)}
)
"""What HyperShift maps, without TLS 1.3 (openshift/hypershift ``support/config/cipher.go``)."""
HTTP2: Final = (0xC02F, 0xC02B)
"""One of them must be there (RFC 9113, section 9.2.2, and golang.org/x/net/http2), or no HTTP/2 server starts."""
TLS13_NAMES: Final = frozenset(
    {
        "TLS_AES_128_GCM_SHA256",
        "TLS_AES_256_GCM_SHA384",
        "TLS_CHACHA20_POLY1305_SHA256",
        "TLS_AES_128_CCM_SHA256",
        "TLS_AES_128_CCM_8_SHA256",
    }
)
"""What the ingress operator knows of TLS 1.3 (``tlsVersion13Ciphers``); it hands all other names to OpenSSL as those
of TLS 1.2."""
CHACHA20: Final = frozenset({0x1303, *(0xCCA8 + offset for offset in range(7))})
"""RFC 8446 and RFC 7905: not approved by FIPS 140."""
NOT_FIPS_GROUPS: Final = frozenset({0x001D, 0x001E, 0x11EB, 0x11EC, 0x11ED, 0x6399})
"""X25519, X448, and the hybrids with ML-KEM, which the modules of these releases are not validated for."""
FIPS_TLS13: Final = frozenset({0x1301, 0x1302})
"""What the ingress operator keeps of TLS 1.3 (its ``fipsApprovedTLS13Ciphers``)."""

_NO_SUITES: Final = (0x0000, EMPTY_RENEGOTIATION_INFO_SCSV, FALLBACK_SCSV)
"""They have names in the registry and select nothing."""
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
"""OpenSSL's words for sets of suites (openssl-ciphers(1), CIPHER STRINGS)."""
_OPEN: Final = frozenset(
    {
        *("ALL", "COMPLEMENTOFALL", "COMPLEMENTOFDEFAULT", "LOW", "RC4", "DES"),
        *("NULL", "eNULL", "aNULL", "ADH", "AECDH", "EXPORT", "EXP", "EXPORT40", "EXPORT56"),
    }
)


def suite_named(name: str) -> int | None:
    """The suite that a configuration names, None where this names none; a number is no name."""
    try:
        code = suite_code(name)
    except KeyError:
        return None
    return None if name[:2].lower() == "0x" or code in _NO_SUITES else code


def is_a_set(name: str) -> bool:
    """Whether OpenSSL takes it for a set of suites, and no suite has that name: ``HIGH``, ``ECDHE+AESGCM``."""
    parts = name.split("+")
    return suite_named(name) is None and all(part in _WORDS for part in parts)


def is_open(name: str) -> bool:
    """Whether such a set has suites that do not encrypt, do not authenticate or are broken."""
    return not _OPEN.isdisjoint(name.split("+"))
