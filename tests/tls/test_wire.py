"""The reader: never past its end, everything used up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.tls import wire
from scanner.tls.wire import Malformed, Reader


def test_numbers_are_big_endian() -> None:
    reader = Reader(bytes.fromhex("01 0203 040506"))
    assert (reader.u8(), reader.u16(), reader.u24()) == (0x01, 0x0203, 0x040506)
    reader.done()


@pytest.mark.parametrize("read", ["u8", "u16", "u24", "vec8", "vec16", "vec24", "opaque8", "opaque16", "opaque24"])
def test_the_end_is_the_end(read: str) -> None:
    with pytest.raises(Malformed, match=r"at offset 1, 0 left"):
        getattr(Reader(b"\x00", 1), read)()


def test_a_vector_does_not_see_what_follows_it() -> None:
    reader = Reader(bytes.fromhex("02 aabb cc"))
    inner = reader.vec8()
    assert inner.take(2) == b"\xaa\xbb"
    with pytest.raises(Malformed, match="1 bytes expected at offset 3, 0 left"):
        inner.u8()
    assert reader.rest() == b"\xcc"


def test_a_vector_longer_than_what_is_left_is_malformed() -> None:
    with pytest.raises(Malformed, match="5 bytes expected at offset 1, 1 left"):
        Reader(bytes.fromhex("05 aa")).vec8()


def test_what_was_not_used_up_is_malformed() -> None:
    reader = Reader(b"\x00\x01")
    reader.u8()
    with pytest.raises(Malformed, match="1 extra bytes at offset 1"):
        reader.done()


def test_half_a_two_byte_value_is_malformed() -> None:
    with pytest.raises(Malformed, match="odd number"):
        Reader(b"\x00\x01\x02").u16s()


@pytest.mark.parametrize("size", [8, 16, 24])
@given(content=st.binary(max_size=255))
def test_vectors_both_ways(size: int, content: bytes) -> None:
    written = getattr(wire, f"vec{size}")(content)
    for read in ("vec", "opaque"):
        reader = Reader(b"x" + written, 1)
        got = getattr(reader, f"{read}{size}")()
        assert (got if isinstance(got, bytes) else got.rest()) == content
        reader.done()


@given(st.lists(st.integers(0, 0xFFFF)).map(tuple))
def test_two_byte_values_both_ways(numbers: tuple[int, ...]) -> None:
    assert Reader(wire.u16s(numbers)).u16s() == numbers
    assert wire.u16s(numbers) == b"".join(wire.u16(number) for number in numbers)


@pytest.mark.parametrize("message", ["", "0b", "0b0000", "0b000001", "0b00000000", "0c000000"])
def test_a_handshake_message_of_another_kind_or_length_is_malformed(message: str) -> None:
    with pytest.raises(Malformed, match="Certificate"):
        wire.read_message(bytes.fromhex(message), 11, "Certificate")
