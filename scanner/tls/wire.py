"""The presentation language of TLS: big-endian integers and length-prefixed vectors (RFC 8446 section 3).

``Reader`` never reads past its end and returns a separate reader for every vector. The caller reads all of it and calls
``done``, so that a wrong length is detected.
"""

from __future__ import annotations

from struct import Struct
from typing import Any

_U16 = Struct(">H").unpack_from
_PACK_U16 = Struct(">H").pack


class Malformed(Exception):
    """Bytes that violate the protocol: the only exception for anything that a peer may send."""


class Reader:
    """Reads values from ``data[at:end]``; offsets in messages count from the start of ``data``."""

    __slots__ = ("_at", "_data", "_end")

    def __init__(self, data: bytes, at: int = 0, end: int | None = None) -> None:
        self._data = data
        self._at = at
        self._end = len(data) if end is None else end

    def _advance(self, size: int) -> int:
        """Move past the next ``size`` bytes and return their offset."""
        at = self._at
        after = at + size
        if after > self._end:
            raise Malformed(f"{size} bytes expected at offset {at}, {self._end - at} left")
        self._at = after
        return at

    def u8(self) -> int:
        return self._data[self._advance(1)]

    def u16(self) -> int:
        return int(_U16(self._data, self._advance(2))[0])

    def u24(self) -> int:
        at = self._advance(3)
        return int.from_bytes(self._data[at : at + 3], "big")

    def take(self, size: int) -> bytes:
        at = self._advance(size)
        return self._data[at : at + size]

    def unpack(self, layout: Struct) -> tuple[Any, ...]:
        """Read several values in one call, which is faster."""
        return layout.unpack_from(self._data, self._advance(layout.size))

    def vec8(self) -> Reader:
        """A reader of a vector with a one-byte length."""
        size = self._data[self._advance(1)]
        at = self._advance(size)
        return Reader(self._data, at, at + size)

    def vec16(self) -> Reader:
        """A reader of a vector with a two-byte length."""
        size = self.u16()
        at = self._advance(size)
        return Reader(self._data, at, at + size)

    def vec24(self) -> Reader:
        """A reader of a vector with a three-byte length."""
        size = self.u24()
        at = self._advance(size)
        return Reader(self._data, at, at + size)

    def opaque8(self) -> bytes:
        """The bytes of a vector with a one-byte length."""
        return self.take(self.u8())

    def opaque16(self) -> bytes:
        """The bytes of a vector with a two-byte length."""
        return self.take(self.u16())

    def opaque24(self) -> bytes:
        """The bytes of a vector with a three-byte length."""
        return self.take(self.u24())

    def u16s(self) -> tuple[int, ...]:
        """All remaining bytes as two-byte numbers."""
        if self.left % 2:
            raise Malformed(f"odd number of bytes ({self.left}) for two-byte values at offset {self._at}")
        return Struct(f">{self.left // 2}H").unpack(self.rest())

    def rest(self) -> bytes:
        """All remaining bytes."""
        return self.take(self._end - self._at)

    @property
    def left(self) -> int:
        """Number of remaining bytes."""
        return self._end - self._at

    def done(self) -> None:
        """Raise ``Malformed`` unless everything was read."""
        if self._at != self._end:
            raise Malformed(f"{self._end - self._at} extra bytes at offset {self._at}")


def read_message(message: bytes, kind: int, name: str) -> Reader:
    """A reader of the body of a handshake message (RFC 8446 section 4). Raises ``Malformed`` at another type."""
    if not message or message[0] != kind:
        raise Malformed(f"handshake message {message[:1].hex() or 'without a byte'} is not a {name}")
    body = Reader(message, 4)
    if body.left != int.from_bytes(message[1:4], "big"):
        raise Malformed(f"{name} of {body.left} bytes with a length field of {int.from_bytes(message[1:4], 'big')}")
    return body


def u16(number: int) -> bytes:
    return _PACK_U16(number)


def u24(number: int) -> bytes:
    return number.to_bytes(3, "big")


def u16s(numbers: tuple[int, ...]) -> bytes:
    return Struct(f">{len(numbers)}H").pack(*numbers)


def vec8(content: bytes) -> bytes:
    return len(content).to_bytes(1, "big") + content


def vec16(content: bytes) -> bytes:
    return len(content).to_bytes(2, "big") + content


def vec24(content: bytes) -> bytes:
    return len(content).to_bytes(3, "big") + content
