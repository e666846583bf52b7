"""What the ingress operator takes of a Custom profile (cluster-ingress-operator ``ingress/controller.go``,
``validateTLSSecurityProfile``), of an IngressController's own or of the one that it inherits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from scanner.files.source_positions import shown
from scanner.kube.objects import Fields
from scanner.model.custom_profile import VERSIONS, suite_named

TLS13_NAMES: Final = frozenset(
    {
        "TLS_AES_128_GCM_SHA256",
        "TLS_AES_256_GCM_SHA384",
        "TLS_CHACHA20_POLY1305_SHA256",
        "TLS_AES_128_CCM_SHA256",
        "TLS_AES_128_CCM_8_SHA256",
    }
)
"""What it knows of TLS 1.3 (``tlsVersion13Ciphers``); it hands all other names to OpenSSL as those of TLS 1.2."""
_LIKE_A_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+-]+", re.ASCII)
_TLS13: Final = "VersionTLS13"
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


class Refusal(NamedTuple):
    """One reason for which it does not admit an IngressController."""

    field: str
    """Of ``custom``: ``ciphers`` or ``minTLSVersion``."""
    message: str
    fix: str


def refusals(custom: Fields) -> Iterator[Refusal]:
    """Every reason, of what stands in ``custom``."""
    names, minimum = custom.texts("ciphers"), custom.text("minTLSVersion")
    if not names:
        yield Refusal("ciphers", "the list of ciphers is empty", "list suites, those of TLS 1.3 among them")
    elif odd := [name for name in names if not _LIKE_A_NAME.fullmatch(name.removeprefix("!"))]:
        message = f"the list of ciphers has {shown(odd[0])}, which does not look like the name of one"
        yield Refusal("ciphers", message, "remove it")
    if not names or minimum not in VERSIONS:
        pass
    elif minimum == _TLS13 and TLS13_NAMES.isdisjoint(names):
        message = "no TLS 1.3 cipher suite is listed with VersionTLS13"
        yield Refusal("ciphers", message, "add TLS_AES_128_GCM_SHA256")
    elif minimum != _TLS13 and TLS13_NAMES.issuperset(names):
        fix = "add one of TLS 1.2, or write 'minTLSVersion: VersionTLS13'"
        yield Refusal("ciphers", "only TLS 1.3 cipher suites are listed, below VersionTLS13", fix)
    if not minimum:
        yield Refusal("minTLSVersion", "minTLSVersion is not set", "write 'minTLSVersion: VersionTLS12'")


def is_a_set(name: str) -> bool:
    """Whether OpenSSL takes it for a set of suites, and no suite has that name: ``HIGH``, ``ECDHE+AESGCM``."""
    parts = name.split("+")
    return suite_named(name) is None and all(part in _WORDS for part in parts)


def is_open(name: str) -> bool:
    """Whether such a set has suites that do not encrypt, authenticate nobody or are broken."""
    return not _OPEN.isdisjoint(name.split("+"))
