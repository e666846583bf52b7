"""SPDY/3.1 streams, the client's side, as values: no I/O. Just what a port-forward needs of it.

Source: draft-mbelshe-httpbis-spdy-00 (SPDY/3), section 2. Kubernetes has no flow control in it (moby/spdystream), and
nothing that a server says in compressed headers is of interest here, so they are never decompressed.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from scanner.errors import ClusterError

_CONTROL, _VERSION = 0x8000, 3
_SYN_STREAM, _RST_STREAM, _PING, _GOAWAY = 1, 3, 6, 7
"""Types of control frames, section 2.6. All others change nothing for us."""
_FIN = 0x01
_CANCEL = 5
"""Status of a RST_STREAM, section 2.6.3."""
MAX_FRAME = 1 << 20
"""Bytes. The kubelet sends what it reads from the pod, 32 KiB at once."""

Event = tuple[Literal["data", "end", "ping", "gone"], int, bytes]
"""What happened, to which stream, with which bytes. ``ping``: the bytes are the answer to it."""


@dataclass(slots=True)
class Streams:
    """The streams of one connection. Ours have odd numbers (section 2.3.2)."""

    _next: int = 1
    _headers: zlib._Compress = field(default_factory=zlib.compressobj)
    """One for all headers of a connection; a stream that names no dictionary is read without one (RFC 1950, 2.2)."""
    _buffer: bytearray = field(default_factory=bytearray)

    def open(self, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """A new stream: its number, and the SYN_STREAM (section 2.6.1). Names of headers are lower case."""
        stream, self._next = self._next, self._next + 2
        block = struct.pack(">I", len(headers)) + b"".join(
            struct.pack(">I", len(text)) + text for pair in headers.items() for text in map(str.encode, pair)
        )
        packed = self._headers.compress(block) + self._headers.flush(zlib.Z_SYNC_FLUSH)
        return stream, _control(_SYN_STREAM, struct.pack(">IIBB", stream, 0, 0, 0) + packed)

    def feed(self, data: bytes) -> Iterator[Event]:
        """What the complete frames say. Raises ``ClusterError``."""
        self._buffer += data
        while len(self._buffer) >= 8:
            first, second, size = struct.unpack(">HHI", self._buffer[:8])
            flags, size = size >> 24, size & 0xFFFFFF
            if size > MAX_FRAME:
                raise ClusterError("the API server breaks the SPDY protocol: a frame of more than 1 MiB")
            if len(self._buffer) < 8 + size:
                return
            payload = bytes(self._buffer[8 : 8 + size])
            del self._buffer[: 8 + size]
            if not first & _CONTROL:
                stream = first << 16 | second
                if payload:
                    yield "data", stream, payload
                if flags & _FIN:
                    yield "end", stream, b""
            else:
                yield from _said(second, flags, payload)


def _said(kind: int, flags: int, payload: bytes) -> Iterator[Event]:
    if kind == _PING:
        yield "ping", 0, _control(_PING, payload)
    elif kind == _GOAWAY:
        yield "gone", 0, b""
    elif len(payload) >= 4 and (kind == _RST_STREAM or flags & _FIN):
        yield "end", int.from_bytes(payload[:4]) & 0x7FFFFFFF, b""


def data(stream: int, payload: bytes, *, end: bool = False) -> bytes:
    """A data frame (section 2.2.2)."""
    return struct.pack(">II", stream, (_FIN if end else 0) << 24 | len(payload)) + payload


def reset(stream: int) -> bytes:
    """The end of a stream of which no more is wanted (section 2.6.3)."""
    return _control(_RST_STREAM, struct.pack(">II", stream, _CANCEL))


def _control(kind: int, payload: bytes) -> bytes:
    return struct.pack(">HHI", _CONTROL | _VERSION, kind, len(payload)) + payload
