"""The server's side of a WebSocket: RFC 6455, bytes in and bytes out. No extensions."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # section 1.3
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
"""Opcodes, section 5.2."""

NORMAL, PROTOCOL_ERROR, TOO_BIG = 1000, 1002, 1009
"""Status codes, section 7.4.1."""
_LIMIT = 2**20
"""Longest message taken."""


class Broken(Exception):
    """The client broke the protocol; ``code`` is what to close with."""

    def __init__(self, code: int) -> None:
        super().__init__(f"WebSocket status {code}")
        self.code = code


@dataclass(frozen=True, slots=True)
class Message:
    """One message, or one control frame."""

    opcode: int
    data: bytes


def accept(key: str) -> str:
    """``Sec-WebSocket-Accept`` for a ``Sec-WebSocket-Key``: section 4.2.2."""
    return base64.b64encode(hashlib.sha1(key.encode("latin-1") + _GUID, usedforsecurity=False).digest()).decode()


def frame(opcode: int, data: bytes) -> bytes:
    """One unmasked frame, whole: section 5.2."""
    size = len(data)
    if size < 126:
        length = bytes((size,))
    elif size < 2**16:
        length = bytes((126,)) + size.to_bytes(2, "big")
    else:
        length = bytes((127,)) + size.to_bytes(8, "big")
    return bytes((0x80 | opcode,)) + length + data


def close(code: int) -> bytes:
    """A close frame: section 5.5.1."""
    return frame(CLOSE, code.to_bytes(2, "big"))


class Messages:
    """What a client sends, put together from its frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._opcode = 0
        self._parts = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        """Messages that ``data`` completes. Raises ``Broken``."""
        self._buffer += data
        while (found := self._frame()) is not None:
            final, opcode, payload = found
            if opcode >= CLOSE:
                yield Message(opcode, payload)
                continue
            if (opcode == CONTINUATION) is not bool(self._opcode):
                raise Broken(PROTOCOL_ERROR)
            self._opcode = self._opcode or opcode
            self._parts += payload
            if len(self._parts) > _LIMIT:
                raise Broken(TOO_BIG)
            if final:
                whole = Message(self._opcode, bytes(self._parts))
                self._opcode = 0
                self._parts.clear()
                yield whole

    def _frame(self) -> tuple[bool, int, bytes] | None:
        """(FIN, opcode, payload) of the next whole frame, taken off the buffer."""
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        if buffer[0] & 0x70 or not buffer[1] & 0x80:  # reserved bits; a client must mask (section 5.1)
            raise Broken(PROTOCOL_ERROR)
        start, size = 2, buffer[1] & 0x7F
        if size > 125:
            start += 2 if size == 126 else 8
            size = int.from_bytes(buffer[2:start], "big")
        if size > _LIMIT:
            raise Broken(TOO_BIG)
        if len(buffer) < start + 4 + size:
            return None
        mask = bytes(buffer[start : start + 4])
        payload = _unmasked(bytes(buffer[start + 4 : start + 4 + size]), mask)
        final, opcode = bool(buffer[0] & 0x80), buffer[0] & 0x0F
        del buffer[: start + 4 + size]
        return final, opcode, payload


def _unmasked(data: bytes, mask: bytes) -> bytes:
    """Section 5.3, as one number: Python is slow byte by byte."""
    key = (mask * (len(data) // 4 + 1))[: len(data)]
    return (int.from_bytes(data, "big") ^ int.from_bytes(key, "big")).to_bytes(len(data), "big")
