"""WebSocket frames (RFC 6455), the client's side, as values: no I/O.

The HTTP client's own WebSockets need a further library; a port-forward needs two dozen lines of it.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from scanner.errors import ClusterError

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""RFC 6455, section 1.3."""
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
"""Opcodes, section 11.8."""
MAX_MESSAGE = 1 << 20
"""Bytes. The kubelet sends what it reads from the pod, 32 KiB at once."""
_MAX_CONTROL = 125
"""Section 5.5."""


def handshake_headers(key: str, subprotocol: str) -> dict[str, str]:
    """What asks for the upgrade (section 4.1)."""
    return {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": key,
        "Sec-WebSocket-Protocol": subprotocol,
    }


def new_key() -> str:
    """Sixteen random bytes in base64."""
    return base64.b64encode(os.urandom(16)).decode()


def accept_of(key: str) -> str:
    """The ``Sec-WebSocket-Accept`` that answers ``key``."""
    return base64.b64encode(hashlib.sha1(key.encode() + _GUID, usedforsecurity=False).digest()).decode()


def frame(opcode: int, payload: bytes, mask: bytes) -> bytes:
    """One final, masked frame (section 5.2); clients must mask (section 5.3)."""
    size = len(payload)
    if size < 126:
        length = bytes([0x80 | size])
    elif size < 1 << 16:
        length = bytes([0x80 | 126]) + size.to_bytes(2)
    else:
        length = bytes([0x80 | 127]) + size.to_bytes(8)
    return bytes([0x80 | opcode]) + length + mask + masked(payload, mask)


def masked(payload: bytes, mask: bytes) -> bytes:
    """``payload`` with each byte exclusive-or'ed with the mask's (section 5.3); twice gives it back."""
    size = len(payload)
    whole = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload) ^ int.from_bytes(whole)).to_bytes(size)


@dataclass(slots=True)
class Frames:
    """The peer's frames, fed in pieces of any size."""

    random: Callable[[int], bytes] = os.urandom
    _buffer: bytearray = field(default_factory=bytearray)
    _message: bytearray = field(default_factory=bytearray)
    _begun: bool = False

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """The messages and control frames that are complete now, as (opcode, payload). Raises ``ClusterError``."""
        self._buffer += data
        while (taken := self._take()) is not None:
            final, opcode, payload = taken
            if opcode >= CLOSE:
                yield opcode, payload
                continue
            if (opcode == CONTINUATION) != self._begun or len(self._message) + len(payload) > MAX_MESSAGE:
                raise ClusterError("the API server breaks the WebSocket protocol: a message out of order or too long")
            self._message += payload
            self._begun = not final
            if final:
                message = bytes(self._message)
                self._message.clear()
                yield BINARY, message

    def _take(self) -> tuple[bool, int, bytes] | None:
        """The next frame, or None until more has come (section 5.2)."""
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        final, opcode, size, start = bool(buffer[0] & 0x80), buffer[0] & 0x0F, buffer[1] & 0x7F, 2
        if buffer[0] & 0x70 or buffer[1] & 0x80 or (opcode >= CLOSE and (size > _MAX_CONTROL or not final)):
            raise ClusterError("the API server breaks the WebSocket protocol: reserved bits, or a mask from a server")
        if size > 125:
            start += 2 if size == 126 else 8
            if len(buffer) < start:
                return None
            size = int.from_bytes(buffer[2:start])
        if size > MAX_MESSAGE:
            raise ClusterError("the API server breaks the WebSocket protocol: a frame of more than 1 MiB")
        if len(buffer) < start + size:
            return None
        payload = bytes(buffer[start : start + size])
        del buffer[: start + size]
        return final, opcode, payload
