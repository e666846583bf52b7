"""ClientHello, of SSLv3 to TLS 1.3 (RFC 8446 section 4.1.2, RFC 5246 section 7.4.1.2) and of SSLv2."""

from __future__ import annotations

import struct
from typing import Final

from msgspec import Struct

from scanner.tls.codepoints import SSL2
from scanner.tls.extensions import Extension, encode_extensions, read_extensions
from scanner.tls.wire import Malformed, Reader, read_message, u16, u16s, u24, vec8, vec16, vec24

CLIENT_HELLO: Final = 1

_HEAD = struct.Struct(">IH").pack
_MAX_SESSION_ID = 32
_SSL2_CLIENT_HELLO = 1


def assemble(version: int, random: bytes, session_id: bytes, suites: bytes, extensions: bytes) -> bytes:
    """Build a ClientHello message from parts that are encoded already; a probe sends thousands that differ in one part.

    ``suites`` are two bytes each and ``extensions`` one after another, both without a length prefix. Without extensions
    the block is omitted, as before TLS 1.0. ``random`` has 32 bytes, compression is null.
    """
    block = len(extensions).to_bytes(2, "big") + extensions if extensions else b""
    size = 39 + len(session_id) + len(suites) + len(block)
    return b"".join(
        (
            _HEAD(CLIENT_HELLO << 24 | size, version),
            random,
            len(session_id).to_bytes(1, "big"),
            session_id,
            len(suites).to_bytes(2, "big"),
            suites,
            b"\x01\x00",
            block,
        )
    )


class ClientHello(Struct, frozen=True, kw_only=True):
    """A ClientHello of SSLv3 to TLS 1.3."""

    version: int
    """legacy_version; at most TLS 1.2 on the wire."""
    random: bytes
    session_id: bytes = b""
    suites: tuple[int, ...]
    compression: bytes = b"\x00"
    extensions: tuple[Extension, ...] | None = None
    """None: no extensions block, as in SSLv3."""

    def encode(self) -> bytes:
        """The handshake message with its four-byte header, without a record."""
        block = b"" if self.extensions is None else vec16(encode_extensions(self.extensions))
        body = u16(self.version) + self.random + vec8(self.session_id) + vec16(u16s(self.suites))
        return bytes((CLIENT_HELLO,)) + vec24(body + vec8(self.compression) + block)

    @classmethod
    def decode(cls, message: bytes) -> ClientHello:
        """Parse a handshake message. Raises ``Malformed``."""
        body = read_message(message, CLIENT_HELLO, "ClientHello")
        version, random, session_id = body.u16(), body.take(32), body.opaque8()
        if len(session_id) > _MAX_SESSION_ID:
            raise Malformed(f"session id of {len(session_id)} bytes, {_MAX_SESSION_ID} allowed")
        suites, compression = body.vec16().u16s(), body.opaque8()
        extensions = read_extensions(body.opaque16()) if body.left else None
        body.done()
        return cls(
            version=version,
            random=random,
            session_id=session_id,
            suites=suites,
            compression=compression,
            extensions=extensions,
        )


class Ssl2ClientHello(Struct, frozen=True, kw_only=True):
    """CLIENT-HELLO of SSLv2 (draft-hickman-netscape-ssl-00 section 5.2.1; RFC 5246 appendix E.2 for newer versions)."""

    suites: tuple[int, ...]
    """Cipher kinds, three bytes each; ``0x00002F`` is the TLS suite 0x002F."""
    challenge: bytes
    """16 to 32 bytes."""
    version: int = SSL2
    """The highest version offered; if that is a TLS version, a server may answer in TLS."""
    session_id: bytes = b""

    def encode(self) -> bytes:
        """The message in its record, with the two-byte header."""
        kinds = b"".join(u24(suite) for suite in self.suites)
        sizes = u16(len(kinds)) + u16(len(self.session_id)) + u16(len(self.challenge))
        body = bytes((_SSL2_CLIENT_HELLO,)) + u16(self.version) + sizes + kinds + self.session_id + self.challenge
        return u16(0x8000 | len(body)) + body

    @classmethod
    def decode(cls, record: bytes) -> Ssl2ClientHello:
        """Parse a record. Raises ``Malformed``."""
        reader = Reader(record)
        if reader.u16() != 0x8000 | reader.left or reader.u8() != _SSL2_CLIENT_HELLO:
            raise Malformed("no SSLv2 CLIENT-HELLO")
        version, kinds, ids, challenge = reader.u16(), reader.u16(), reader.u16(), reader.u16()
        if kinds % 3:
            raise Malformed(f"{kinds} bytes of three-byte cipher kinds")
        hello = cls(
            version=version,
            suites=tuple(reader.u24() for _ in range(kinds // 3)),
            session_id=reader.take(ids),
            challenge=reader.take(challenge),
        )
        reader.done()
        return hello
