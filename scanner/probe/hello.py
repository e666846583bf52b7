"""An offer as bytes: one ClientHello in its record.

Every hello of a version carries the same extensions (design rule 5): all groups and signature algorithms that may stand
there, never only a profile's; extended_master_secret and renegotiation_info, which some servers insist on; no ALPN and
no FALLBACK_SCSV, which some refuse. What does not change from hello to hello is encoded once: a scan sends thousands.
"""

from __future__ import annotations

import struct
from functools import lru_cache

from scanner.probe.offers import Offer, Shares
from scanner.tls import codepoints
from scanner.tls import extensions as ext
from scanner.tls.client_hello import Ssl2ClientHello, assemble
from scanner.tls.codepoints import SSL2, SSL3, TLS10, TLS12, TLS13
from scanner.tls.records import HANDSHAKE, encode_records

SECP256R1 = 0x0017
X25519 = 0x001D

_COMMON_SHARES = {
    # Any 32 bytes are an X25519 public key, and the generator (SEC 2, section 2.4.2) is one of P-256; this conversation
    # never gets to use either.
    X25519: b"\x09" + bytes(31),
    SECP256R1: bytes.fromhex(
        "04"
        "6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296"
        "4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5"
    ),
}

BAD_LENGTHS = range(256, 512)
"""Lengths of a ClientHello on which some old load balancers hang (the reason for RFC 7685)."""

LEAN_SCHEMES = (0x0403, 0x0804, 0x0401, 0x0503, 0x0501, 0x0603, 0x0807, 0x0203, 0x0201, 0x0202)
"""One or two signature algorithms for each kind of certificate."""

_LIKELY_SCHEMES = (*LEAN_SCHEMES, 0x0805, 0x0806, 0x0601, 0x0809, 0x0808)
"""wolfSSL 5.7 stops reading between the 16th and the 21st."""

ALL_SCHEMES = tuple(dict.fromkeys((*_LIKELY_SCHEMES, *(scheme.code for scheme in codepoints.SIGNATURE_SCHEMES))))

_FRAME = 4 + 2 + 32 + 1 + 2 + 2 + 2 + 4 + 1
"""A ClientHello's bytes beside session id, suites, extensions and padding: header, version, random, three vectors'
lengths, null compression, the header of the padding extension and its one byte that is always there."""


def client_hello(offer: Offer, name: str | None, random: bytes) -> bytes:
    """The record(s) of ``offer`` with server_name ``name``; ``random`` is 32 bytes, also used as TLS 1.3 session id.

    Raises ``ValueError`` for a name that cannot stand in server_name (RFC 6066, section 3).
    """
    if offer.version == SSL2:
        return Ssl2ClientHello(suites=tuple(s.code for s in codepoints.SSL2_CIPHERS), challenge=random[:16]).encode()
    suites = _packed(offer.suites)
    if offer.version == SSL3:
        # No extensions in SSLv3 (RFC 6101); the signalling suite says that renegotiation is secure (RFC 5746, 3.3).
        body = assemble(SSL3, random, b"", suites + struct.pack("!H", codepoints.EMPTY_RENEGOTIATION_INFO_SCSV), b"")
        return encode_records(HANDSHAKE, SSL3, body)
    schemes = LEAN_SCHEMES if offer.lean else ALL_SCHEMES
    extensions = _name(name) + _fixed(offer.version, offer.groups, offer.shares, schemes)
    session = random if offer.version >= TLS13 else b""
    length = _FRAME + len(session) + len(suites) + len(extensions) + offer.padding
    extra = BAD_LENGTHS.stop - length if length in BAD_LENGTHS else 0
    extensions += _padding(offer.padding + extra)
    body = assemble(min(offer.version, TLS12), random, session, suites, extensions)
    return encode_records(HANDSHAKE, min(offer.version, TLS10), body)


@lru_cache(maxsize=512)
def _packed(suites: tuple[int, ...]) -> bytes:
    return struct.pack(f"!{len(suites)}H", *suites)


@lru_cache(maxsize=64)
def _name(name: str | None) -> bytes:
    return ext.encode_extensions((ext.push_server_name(name),)) if name else b""


@lru_cache(maxsize=256)
def _fixed(version: int, groups: tuple[int, ...], shares: Shares, schemes: tuple[int, ...]) -> bytes:
    extensions = [
        ext.push_extended_master_secret(),
        ext.push_renegotiation_info(),
        ext.push_supported_groups(groups),
        ext.push_ec_point_formats(),
        ext.push_session_ticket(),
        ext.push_signature_algorithms(schemes),
    ]
    if version >= TLS13:
        extensions += _tls13(groups, shares)
    return ext.encode_extensions(tuple(extensions))


def _tls13(groups: tuple[int, ...], shares: Shares) -> list[ext.Extension]:
    # In the order of the groups, and for none that is not among them (RFC 8446, section 4.2.8).
    key_share = tuple((group, _COMMON_SHARES[group]) for group in groups if group in _COMMON_SHARES)
    return [
        ext.push_supported_versions((TLS13,)),
        ext.push_key_share(key_share if shares == "common" else ()),
        ext.push_psk_key_exchange_modes(),
    ]


@lru_cache(maxsize=1024)
def _padding(size: int) -> bytes:
    # One byte more: some old servers refuse a hello whose last extension is empty.
    return ext.encode_extensions((ext.push_padding(size + 1),))
