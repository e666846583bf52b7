"""Configuration of a server of the zoo, and the results that a probe of it must have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

ClientCertificate = Literal["none", "requested", "required"]
Preference = Literal["server", "client"]
Key = Literal["rsa", "p256", "p384"]

SSL30, TLS10, TLS11, TLS12, TLS13 = 0x0300, 0x0301, 0x0302, 0x0303, 0x0304

GROUPS: Mapping[str, int] = {
    "secp256k1": 0x0016,
    "P-256": 0x0017,
    "P-384": 0x0018,
    "P-521": 0x0019,
    "brainpoolP256r1": 0x001A,
    "brainpoolP384r1": 0x001B,
    "brainpoolP512r1": 0x001C,
    "X25519": 0x001D,
    "X448": 0x001E,
    "ffdhe2048": 0x0100,
    "ffdhe3072": 0x0101,
    "ffdhe4096": 0x0102,
    "ffdhe6144": 0x0103,
    "ffdhe8192": 0x0104,
    "SecP256r1MLKEM768": 0x11EB,
    "X25519MLKEM768": 0x11EC,
    "SecP384r1MLKEM1024": 0x11ED,
}
"""IANA "TLS Supported Groups" by the names that OpenSSL takes."""

OBSOLETE = frozenset(GROUPS[name] for name in ("secp256k1", "brainpoolP256r1", "brainpoolP384r1", "brainpoolP512r1"))
"""Groups that TLS 1.3 has not (RFC 8446, section 4.2.7)."""
ELLIPTIC = OBSOLETE | {GROUPS[name] for name in ("P-256", "P-384", "P-521", "X25519", "X448")}
"""Groups that an ECDHE suite of TLS 1.2 can use."""


FINITE = frozenset(code for name, code in GROUPS.items() if name.startswith("ffdhe"))
"""Groups of RFC 7919."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Configuration of one server. Suites are written in the syntax of the program that reads them."""

    versions: tuple[int, ...] = (TLS12, TLS13)
    suites: str = ""
    """Up to TLS 1.2: an OpenSSL cipher string, a GnuTLS priority string, or IANA names with colons."""
    tls13: str = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
    groups: tuple[str, ...] = ("X25519", "P-256", "P-384")
    key: Key = "rsa"
    also: tuple[Key, ...] = ()
    """Further certificates that are served beside the first."""
    preference: Preference = "server"
    client_certificate: ClientCertificate = "none"
    server_name: str | None = None
    """The name to ask for, where the answer depends on it."""
    scoped: Settings | None = None
    """Behaviour for all other names, if ``server_name`` has separate settings."""
    handshake: bool = True
    """True if a client like OpenSSL can complete a handshake; else the facts that need one are unknown."""
    own_field: bool = False
    """DH parameters that are no group of RFC 7919."""
    srp: bool = False
    """Give the server accounts for SRP (RFC 5054): its suites refuse clients without a user name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """Configured and built-in capabilities, by the program itself or computed from its lists."""

    suites: Mapping[int, frozenset[int]]
    """By version, with the kind of certificate taken into account. A version with no usable suite is no key."""
    groups: Mapping[int, frozenset[int]] = field(default_factory=dict)
    """By version; only where a suite of that version uses a group."""
    preference: Preference | None = None
    """None: the program's order depends on more than one side, so nothing is claimed."""
    client_certificate: ClientCertificate = "none"
    credentialed: frozenset[int] = frozenset()
    """Suites that only serve clients with an account, so a scanner cannot find out if they are enabled."""

    @property
    def versions(self) -> frozenset[int]:
        """Every version that is spoken."""
        return frozenset(self.suites)

    def violations(self, minimum: int, allowed: Iterable[int]) -> frozenset[tuple[int, int]]:
        """Every (version, suite) that a profile with this minimum and these suites forbids."""
        permitted = frozenset(allowed)
        return frozenset(
            (version, suite)
            for version, suites in self.suites.items()
            for suite in suites
            if version < minimum or suite not in permitted
        )
