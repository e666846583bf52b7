"""The server's side of the extensions: parsers of what the scanner sends, and encoders of what it parses."""

from __future__ import annotations

from scanner.tls import codepoints as c
from scanner.tls.extensions import Extension
from scanner.tls.wire import Reader, u16, vec16


def pull_supported_groups(data: bytes) -> tuple[int, ...]:
    return _u16_vector(data)


def _u16_vector(data: bytes) -> tuple[int, ...]:
    reader = Reader(data)
    values = reader.vec16().u16s()
    reader.done()
    return values


def pull_ec_point_formats(data: bytes) -> bytes:
    return _one_opaque8(data)


def _one_opaque8(data: bytes) -> bytes:
    reader = Reader(data)
    content = reader.opaque8()
    reader.done()
    return content


def pull_signature_algorithms(data: bytes) -> tuple[int, ...]:
    return _u16_vector(data)


def pull_supported_versions(data: bytes) -> tuple[int, ...]:
    reader = Reader(data)
    versions = reader.vec8().u16s()
    reader.done()
    return versions


def push_selected_version(version: int) -> Extension:
    """supported_versions of a ServerHello or HelloRetryRequest (RFC 8446 section 4.2.1)."""
    return Extension(c.SUPPORTED_VERSIONS, u16(version))


def pull_psk_key_exchange_modes(data: bytes) -> bytes:
    return _one_opaque8(data)


def pull_key_share(data: bytes) -> tuple[tuple[int, bytes], ...]:
    reader = Reader(data)
    entries = reader.vec16()
    reader.done()
    shares = []
    while entries.left:
        shares.append((entries.u16(), entries.opaque16()))
    return tuple(shares)


def push_server_share(group: int, key: bytes) -> Extension:
    """key_share of a ServerHello."""
    return Extension(c.KEY_SHARE, u16(group) + vec16(key))


def push_retry_group(group: int) -> Extension:
    """key_share of a HelloRetryRequest: the requested group."""
    return Extension(c.KEY_SHARE, u16(group))


def pull_renegotiation_info(data: bytes) -> bytes:
    """The verify data of the previous handshake; empty in the first one."""
    return _one_opaque8(data)
