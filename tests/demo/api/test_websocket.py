"""RFC 6455: the section 5.7 examples, whole and byte by byte, and what breaks the protocol."""

from __future__ import annotations

import pytest

from scanner.demo.api.websocket import (
    BINARY,
    PING,
    PROTOCOL_ERROR,
    TEXT,
    TOO_BIG,
    Broken,
    Message,
    Messages,
    accept,
    frame,
)

HELLO = bytes.fromhex("818537fa213d7f9f4d5158")


def read(data: bytes, step: int) -> list[Message]:
    messages = Messages()
    return [each for start in range(0, len(data), step) for each in messages.feed(data[start : start + step])]


def masked(data: bytes, *, first: int, mask: bytes = b"\1\2\3\4") -> bytes:
    length = bytes((0x80 | len(data),)) if len(data) < 126 else bytes((0xFE,)) + len(data).to_bytes(2, "big")
    return bytes((first,)) + length + mask + bytes(each ^ mask[at % 4] for at, each in enumerate(data))


def test_the_key_of_section_1_3() -> None:
    assert accept("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="


def test_frames_of_section_5_7() -> None:
    assert frame(TEXT, b"Hello") == bytes.fromhex("810548656c6c6f")
    assert frame(BINARY, bytes(256))[:4] == bytes.fromhex("827e0100")
    assert frame(BINARY, bytes(65536))[:10] == bytes.fromhex("827f0000000000010000")


@pytest.mark.parametrize("step", [1, 3, 1000])
def test_messages_come_whole_however_they_travel(step: int) -> None:
    fragments = masked(b"Hel", first=TEXT) + masked(b"p", first=0x80 | PING) + masked(b"lo", first=0x80)
    long = bytes(range(256)) * 4
    data = HELLO + fragments + masked(long, first=0x80 | BINARY) + masked(b"", first=0x80 | BINARY)
    assert read(data, step) == [
        Message(TEXT, b"Hello"),
        Message(PING, b"p"),
        Message(TEXT, b"Hello"),
        Message(BINARY, long),
        Message(BINARY, b""),
    ]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (frame(TEXT, b"not masked"), PROTOCOL_ERROR),
        (masked(b"reserved", first=0xC1), PROTOCOL_ERROR),
        (masked(b"goes on with nothing", first=0x80), PROTOCOL_ERROR),
        (masked(b"a", first=TEXT) + masked(b"b", first=TEXT), PROTOCOL_ERROR),
        (bytes((0x82, 0xFF)) + (2**40).to_bytes(8, "big"), TOO_BIG),
    ],
)
def test_what_breaks_the_protocol(data: bytes, code: int) -> None:
    with pytest.raises(Broken) as broken:
        read(data, 1000)
    assert broken.value.code == code
