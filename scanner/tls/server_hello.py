"""ServerHello, HelloRetryRequest and Alert, of SSLv3 to TLS 1.3 (RFC 8446 sections 4.1.3 and 6), and SSLv2's."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import Final, NamedTuple

from scanner.tls.codepoints import KEY_SHARE, SUPPORTED_VERSIONS
from scanner.tls.extensions import (
    Extension,
    encode_extensions,
    find,
    pull_retry_group,
    pull_selected_version,
    pull_server_share,
    read_extensions,
)
from scanner.tls.wire import Malformed, Reader, read_message, u16, u24, vec8, vec16, vec24

SERVER_HELLO: Final = 2

RETRY_RANDOM: Final = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
"""SHA-256 of "HelloRetryRequest": what tells one from a ServerHello (RFC 8446 section 4.1.3)."""

_HEAD, _CHOICE = Struct(">H32sB"), Struct(">HB")
_SHORTEST = 4 + _HEAD.size + _CHOICE.size
"""Bytes of a ServerHello without session id and extensions, its header included."""
_MAX_SESSION_ID = 32
_SSL2_SERVER_HELLO = 4


class Alert(NamedTuple):
    """An alert: level 1 warns, 2 is fatal (RFC 8446 section 6)."""

    level: int
    description: int

    def encode(self) -> bytes:
        """Two bytes."""
        return bytes((self.level, self.description))

    @classmethod
    def decode(cls, data: bytes) -> Alert:
        """Of two bytes. Raises ``Malformed``."""
        reader = Reader(data)
        alert = cls(reader.u8(), reader.u8())
        reader.done()
        return alert


class ServerHello(NamedTuple):
    """What a server chose; also a HelloRetryRequest, which has the same shape. A tuple: a scan makes thousands."""

    version: int
    """legacy_version: for the version that was chosen see ``selected_version``."""
    random: bytes
    suite: int
    session_id: bytes = b""
    compression: int = 0
    extensions: tuple[Extension, ...] | None = None
    """None: no block at all."""

    @property
    def is_hello_retry_request(self) -> bool:
        """Whether it asks for another ClientHello."""
        return self.random == RETRY_RANDOM

    @property
    def selected_version(self) -> int:
        """The version that was chosen: supported_versions, else the legacy field (RFC 8446 section 4.2.1)."""
        data = find(self.extensions, SUPPORTED_VERSIONS)
        return self.version if data is None else pull_selected_version(data)

    @property
    def selected_group(self) -> int | None:
        """The group of key_share: chosen, or wanted by a HelloRetryRequest. None without one, as up to TLS 1.2."""
        data = find(self.extensions, KEY_SHARE)
        if data is None:
            return None
        return pull_retry_group(data) if self.is_hello_retry_request else pull_server_share(data)[0]

    def encode(self) -> bytes:
        """The handshake message with its four-byte header, not in a record."""
        block = b"" if self.extensions is None else vec16(encode_extensions(self.extensions))
        body = u16(self.version) + self.random + vec8(self.session_id) + u16(self.suite)
        return bytes((SERVER_HELLO,)) + vec24(body + bytes((self.compression,)) + block)

    @classmethod
    def decode(cls, message: bytes) -> ServerHello:
        """Of a whole handshake message; supported_versions and key_share are checked too. Raises ``Malformed``."""
        size = len(message)
        if size < _SHORTEST or message[0] != SERVER_HELLO or int.from_bytes(message[1:4], "big") != size - 4:
            read_message(message, SERVER_HELLO, "ServerHello")
            raise Malformed(f"ServerHello of {size - 4} bytes")
        version, random, ids = _HEAD.unpack_from(message, 4)
        at = _SHORTEST + ids
        if version >> 8 != 3:
            raise Malformed(f"ServerHello of version 0x{version:04X}")
        if ids > _MAX_SESSION_ID or at > size:
            raise Malformed(f"session id of {ids} bytes, {min(_MAX_SESSION_ID, size - _SHORTEST)} allowed")
        suite, compression = _CHOICE.unpack_from(message, at - _CHOICE.size)
        extensions = None
        if at < size:
            if at + 2 > size or int.from_bytes(message[at : at + 2], "big") != size - at - 2:
                raise Malformed(f"extensions that do not fill the {size - at} bytes that are left")
            extensions = read_extensions(message[at + 2 :])
        session_id = message[_SHORTEST - _CHOICE.size : at - _CHOICE.size]
        hello = cls(version, random, suite, session_id, compression, extensions)
        _ = hello.selected_version, hello.selected_group  # so that nobody who reads them later meets Malformed
        return hello


@dataclass(frozen=True, slots=True, kw_only=True)
class Ssl2ServerHello:
    """SERVER-HELLO of SSLv2 (draft-hickman-netscape-ssl-00 section 5.2.2)."""

    session_id_hit: int = 0
    certificate_type: int = 1
    version: int
    certificate: bytes
    """DER; empty when a session is resumed."""
    suites: tuple[int, ...]
    """Cipher kinds that both sides have, three bytes each. Empty: the server speaks SSLv2 and shares none."""
    connection_id: bytes = b""

    def encode(self) -> bytes:
        """The message, without its record header."""
        kinds = b"".join(u24(suite) for suite in self.suites)
        head = bytes((_SSL2_SERVER_HELLO, self.session_id_hit, self.certificate_type)) + u16(self.version)
        sizes = u16(len(self.certificate)) + u16(len(kinds)) + u16(len(self.connection_id))
        return head + sizes + self.certificate + kinds + self.connection_id

    @classmethod
    def decode(cls, message: bytes) -> Ssl2ServerHello:
        """Of a whole message. Raises ``Malformed``."""
        reader = Reader(message)
        if reader.u8() != _SSL2_SERVER_HELLO:
            raise Malformed(f"SSLv2 message {message[0]} is no SERVER-HELLO")
        hit, kind, version = reader.u8(), reader.u8(), reader.u16()
        certificate, kinds, connection = reader.u16(), reader.u16(), reader.u16()
        if kinds % 3:
            raise Malformed(f"{kinds} bytes of three-byte cipher kinds")
        hello = cls(
            session_id_hit=hit,
            certificate_type=kind,
            version=version,
            certificate=reader.take(certificate),
            suites=tuple(reader.u24() for _ in range(kinds // 3)),
            connection_id=reader.take(connection),
        )
        reader.done()
        return hello
