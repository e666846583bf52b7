"""Reading and writing the presentation language of TLS: big-endian integers and length-prefixed vectors (RFC 8446 3).

``Reader`` never reads past its end and hands out a reader of its own for every vector; whoever asks for one must use
it up and say so with ``done``. That is how a length that lies is noticed where it lies.
"""

from __future__ import annotations

from struct import Struct
from typing import Any

_U16 = Struct(">H").unpack_from
_PACK_U16 = Struct(">H").pack


class Malformed(Exception):
    """Bytes that are not what the protocol says. The one exception for everything that a peer may send."""


class Reader:
    """Reads one value after another from ``data[at:end]``; offsets in messages count from the start of ``data``."""

    __slots__ = ("_at", "_data", "_end")

    def __init__(self, data: bytes, at: int = 0, end: int | None = None) -> None:
        self._data = data
        self._at = at
        self._end = len(data) if end is None else end

    def _advance(self, size: int) -> int:
        """Where the next ``size`` bytes start, having moved past them."""
        at = self._at
        after = at + size
        if after > self._end:
            raise Malformed(f"{size} bytes expected at offset {at}, {self._end - at} left")
        self._at = after
        return at

    def u8(self) -> int:
        """One byte as a number."""
        return self._data[self._advance(1)]

    def u16(self) -> int:
        """Two bytes as a number."""
        return int(_U16(self._data, self._advance(2))[0])

    def u24(self) -> int:
        """Three bytes as a number."""
        at = self._advance(3)
        return int.from_bytes(self._data[at : at + 3], "big")

    def take(self, size: int) -> bytes:
        """The next ``size`` bytes."""
        at = self._advance(size)
        return self._data[at : at + size]

    def unpack(self, layout: Struct) -> tuple[Any, ...]:
        """Several values at once; one call instead of one for each, where thousands of hellos are read."""
        return layout.unpack_from(self._data, self._advance(layout.size))

    def vec8(self) -> Reader:
        """A reader of the vector that a one-byte length announces."""
        size = self._data[self._advance(1)]
        at = self._advance(size)
        return Reader(self._data, at, at + size)

    def vec16(self) -> Reader:
        """A reader of the vector that a two-byte length announces."""
        size = self.u16()
        at = self._advance(size)
        return Reader(self._data, at, at + size)

    def vec24(self) -> Reader:
        """A reader of the vector that a three-byte length announces."""
        size = self.u24()
        at = self._advance(size)
        return Reader(self._data, at, at + size)

    def opaque8(self) -> bytes:
        """The bytes that a one-byte length announces."""
        return self.take(self.u8())

    def opaque16(self) -> bytes:
        """The bytes that a two-byte length announces."""
        return self.take(self.u16())

    def opaque24(self) -> bytes:
        """The bytes that a three-byte length announces."""
        return self.take(self.u24())

    def u16s(self) -> tuple[int, ...]:
        """All that is left, as two-byte numbers."""
        if self.left % 2:
            raise Malformed(f"odd number of bytes ({self.left}) for two-byte values at offset {self._at}")
        return Struct(f">{self.left // 2}H").unpack(self.rest())

    def rest(self) -> bytes:
        """All that is left."""
        return self.take(self._end - self._at)

    @property
    def left(self) -> int:
        """How many bytes are left."""
        return self._end - self._at

    def done(self) -> None:
        """Raise ``Malformed`` unless everything was read."""
        if self._at != self._end:
            raise Malformed(f"{self._end - self._at} bytes too many at offset {self._at}")


def read_message(message: bytes, kind: int, name: str) -> Reader:
    """A reader of the body of a whole handshake message (RFC 8446 section 4). Raises ``Malformed`` at another kind."""
    if not message or message[0] != kind:
        raise Malformed(f"handshake message {message[:1].hex() or 'without a byte'} is no {name}")
    body = Reader(message, 4)
    if body.left != int.from_bytes(message[1:4], "big"):
        raise Malformed(f"{name} of {body.left} bytes whose length says {int.from_bytes(message[1:4], 'big')}")
    return body


def u16(number: int) -> bytes:
    """Two bytes."""
    return _PACK_U16(number)


def u24(number: int) -> bytes:
    """Three bytes."""
    return number.to_bytes(3, "big")


def u16s(numbers: tuple[int, ...]) -> bytes:
    """Two bytes for each number."""
    return Struct(f">{len(numbers)}H").pack(*numbers)


def vec8(content: bytes) -> bytes:
    """``content`` behind its one-byte length."""
    return len(content).to_bytes(1, "big") + content


def vec16(content: bytes) -> bytes:
    """``content`` behind its two-byte length."""
    return len(content).to_bytes(2, "big") + content


def vec24(content: bytes) -> bytes:
    """``content`` behind its three-byte length."""
    return len(content).to_bytes(3, "big") + content
