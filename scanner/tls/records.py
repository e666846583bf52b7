"""Records in clear: SSLv3 to TLS 1.3 (RFC 8446 section 5.1, RFC 5246 section 6.2.1), and SSLv2 (two-byte header)."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from scanner.tls.wire import Malformed

CHANGE_CIPHER_SPEC: Final = 20
ALERT: Final = 21
HANDSHAKE: Final = 22
APPLICATION_DATA: Final = 23
HEARTBEAT: Final = 24

CONTENT_TYPES: Final = range(CHANGE_CIPHER_SPEC, HEARTBEAT + 1)

MAX_FRAGMENT: Final = 2**14
"""Bytes of one record in clear."""
_MAX_LENGTH = MAX_FRAGMENT + 2048
"""Length limit of a protected record; a server may send one before it notices that we cannot decrypt it."""

_HEADER = Struct(">BHH")
HEADER_SIZE: Final = _HEADER.size
_SSL2_MESSAGES = {4: range(11, 2**15), 0: range(3, 4)}
"""SSLv2 SERVER-HELLO and ERROR by type, with their possible lengths (draft-hickman-netscape-ssl-00 section 5)."""


class Record(NamedTuple):
    """One record."""

    content_type: int
    version: int
    fragment: bytes


def encode_records(content_type: int, version: int, payload: bytes) -> bytes:
    """Split ``payload`` into records and encode them."""
    if len(payload) <= MAX_FRAGMENT:
        return _HEADER.pack(content_type, version, len(payload)) + payload
    pieces = (payload[at : at + MAX_FRAGMENT] for at in range(0, len(payload), MAX_FRAGMENT))
    return b"".join(_HEADER.pack(content_type, version, len(piece)) + piece for piece in pieces)


class RecordReader:
    """Splits a stream into records."""

    __slots__ = ("_at", "_buffer")

    def __init__(self) -> None:
        self._buffer = b""
        self._at = 0

    def feed(self, data: bytes) -> Iterator[Record]:
        """Iterate over the records that ``data`` completes. Records that are not consumed stay for the next call.

        Raises ``Malformed``, while iterating, at a header that no TLS peer sends.
        """
        self._buffer = self._buffer[self._at :] + data
        self._at = 0
        return iter(self)

    def __iter__(self) -> Iterator[Record]:
        while (record := self._next()) is not None:
            yield record

    def _next(self) -> Record | None:
        buffer, at = self._buffer, self._at
        start = at + HEADER_SIZE
        if len(buffer) < start:
            _check_start(buffer[at:])
            return None
        content_type, version, length = _HEADER.unpack_from(buffer, at)
        if content_type not in CONTENT_TYPES or version >> 8 != 3:
            _check_start(buffer[at:])
        if length > _MAX_LENGTH or not length:
            _check_length(content_type, length)
        end = start + length
        if len(buffer) < end:
            return None
        self._at = end
        return Record(content_type, version, buffer[start:end])


def _check_start(buffer: bytes) -> None:
    if not starts_record(buffer[:2]):
        raise Malformed(f"no TLS record: {buffer[:8].hex(' ')}")


def _check_length(content_type: int, length: int) -> None:
    if length > _MAX_LENGTH:
        raise Malformed(f"record of {length} bytes, {_MAX_LENGTH} allowed")
    if not length and content_type != APPLICATION_DATA:
        raise Malformed(f"empty record of content type {content_type}")


def starts_record(start: bytes) -> bool:
    """True if a record of SSLv3 to TLS 1.3 can start with these bytes. Two bytes are enough to be sure.

    BearSSL's alert before it has chosen a version is of version 0.0. The version has no meaning (RFC 8446, section
    5.1), but it distinguishes TLS from other protocols.
    """
    majors = (0, 3) if start[:1] == bytes((ALERT,)) else (3,)
    return (not start or start[0] in CONTENT_TYPES) and (len(start) < 2 or start[1] in majors)


def starts_ssl2(start: bytes) -> bool:
    """True if an SSLv2 SERVER-HELLO or ERROR can start with these bytes. Three bytes are enough to be sure."""
    if start and not start[0] & 0x80:
        return False
    if len(start) < 3:
        return True
    return (start[0] & 0x7F) << 8 | start[1] in _SSL2_MESSAGES.get(start[2], ())


def ssl2_message(buffer: bytes) -> bytes | None:
    """The message in the first SSLv2 record of ``buffer``; None while it is incomplete. Raises ``Malformed``."""
    if not starts_ssl2(buffer[:3]):
        raise Malformed(f"no SSLv2 record: {buffer[:8].hex(' ')}")
    if len(buffer) < 3:  # three, because no message is empty
        return None
    end = 2 + ((buffer[0] & 0x7F) << 8 | buffer[1])
    return buffer[2:end] if len(buffer) >= end else None
