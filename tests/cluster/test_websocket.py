"""RFC 6455: the examples of section 5.7, in pieces of any size, and what breaks the protocol."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.cluster.websocket import (
    BINARY,
    CLOSE,
    MAX_MESSAGE,
    PING,
    PONG,
    BrokenWebSocket,
    Frames,
    Message,
    accept_of,
)
from scanner.errors import ClusterError

PROTOCOL_ERROR, NOT_UTF8, TOO_BIG = 1002, 1007, 1009
"""Status codes, section 7.4.1."""
TEXT = 1
HELLO = bytes.fromhex("818537fa213d7f9f4d5158")


def read(data: bytes, step: int, *, client: bool = False) -> list[Message]:
    frames = Frames(client=client)
    return [each for start in range(0, len(data), step) for each in frames.feed(data[start : start + step])]


def from_client(data: bytes, *, first: int, mask: bytes = b"\1\2\3\4") -> bytes:
    return from_server(data, first=first, masked=0x80, mask=mask)


def from_server(data: bytes, *, first: int, masked: int = 0, mask: bytes = b"") -> bytes:
    size = len(data)
    length = bytes([masked | size]) if size < 126 else bytes([masked | 126]) + size.to_bytes(2)
    if size > 65535:
        length = bytes([masked | 127]) + size.to_bytes(8)
    key = mask or bytes(4)
    return bytes([first]) + length + mask + bytes(each ^ key[at % 4] for at, each in enumerate(data))


def test_the_key_of_section_1_3() -> None:
    assert accept_of("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="


def test_frames_of_section_5_7() -> None:
    server = Frames(client=False)
    assert server.frame(PONG, b"Hello") == bytes.fromhex("8a0548656c6c6f")
    assert server.frame(BINARY, bytes(256))[:4] == bytes.fromhex("827e0100")
    assert server.frame(BINARY, bytes(65536))[:10] == bytes.fromhex("827f0000000000010000")
    assert server.close(1000) == bytes.fromhex("880203e8")
    assert read(bytes.fromhex("010348656c 80026c6f"), 1, client=True) == [Message(BINARY, b"Hello")]


def test_a_client_masks() -> None:
    sent = Frames(client=True).frame(BINARY, b"Hello")
    assert sent[:2] == bytes.fromhex("8285")
    assert read(sent, 1) == [Message(BINARY, b"Hello")]


@pytest.mark.parametrize("step", [1, 3, 1000])
def test_messages_come_whole_however_they_travel(step: int) -> None:
    fragments = from_client(b"Hel", first=TEXT) + from_client(b"p", first=0x89) + from_client(b"lo", first=0x80)
    long = bytes(range(256)) * 4
    data = HELLO + fragments + from_client(long, first=0x82) + from_client(b"", first=0x82)
    assert read(data, step) == [
        Message(BINARY, b"Hello"),
        Message(PING, b"p"),
        Message(BINARY, b"Hello"),
        Message(BINARY, long),
        Message(BINARY, b""),
    ]


@given(st.lists(st.binary(max_size=70_000), max_size=4), st.integers(1, 5000))
def test_frames_come_in_pieces_of_any_size(messages: list[bytes], piece: int) -> None:
    sent = b"".join(from_server(each, first=0x82) for each in messages)
    assert read(sent, piece, client=True) == [Message(BINARY, each) for each in messages]


@pytest.mark.parametrize(
    "data",
    [
        bytes.fromhex("c200"),  # a reserved bit
        bytes.fromhex("8280"),  # masked by a server
        bytes.fromhex("897e0000"),  # a ping of more than 125 bytes
        bytes.fromhex("0900"),  # a ping in fragments
        bytes.fromhex("8000"),  # a continuation of nothing
        bytes.fromhex("02000200"),  # a new message inside of one
        bytes.fromhex("8300"),  # a reserved opcode
        bytes.fromhex("827fffffffffffffffff"),  # more than 63 bits
    ],
)
def test_frames_that_break_the_protocol_are_refused(data: bytes) -> None:
    with pytest.raises(ClusterError, match="breaks the WebSocket protocol"):
        read(data, 1000, client=True)


def test_a_message_is_not_read_beyond_its_limit() -> None:
    frames = Frames(client=True)
    assert not list(frames.feed(bytes.fromhex("827f00000000ffffffff") + bytes(MAX_MESSAGE)))  # 4 GiB
    with pytest.raises(BrokenWebSocket, match="1 MiB") as broken:
        list(frames.feed(b"x"))
    assert broken.value.code == TOO_BIG


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (from_server(b"not masked", first=0x81), PROTOCOL_ERROR),
        (from_client(b"reserved", first=0xC1), PROTOCOL_ERROR),
        (from_client(b"goes on with nothing", first=0x80), PROTOCOL_ERROR),
        (from_client(b"a", first=TEXT) + from_client(b"b", first=TEXT), PROTOCOL_ERROR),
        (from_client(b"\xff", first=0x81), NOT_UTF8),
    ],
)
def test_the_status_to_close_with(data: bytes, code: int) -> None:
    with pytest.raises(BrokenWebSocket) as broken:
        read(data, 1000)
    assert broken.value.code == code


@given(st.binary(max_size=200))
def test_nothing_else_ever_comes_out_of_frames(data: bytes) -> None:
    frames, found = Frames(client=True), list[Message]()
    with suppress(ClusterError):
        found.extend(frames.feed(data))
    assert all(each.opcode in (BINARY, CLOSE, PING, PONG) and len(each.data) <= len(data) for each in found)
