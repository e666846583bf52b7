"""The mail server of the demo among clients who do not keep to the protocol. The rest: ``tests/test_servers.py``."""

from __future__ import annotations

import pytest
import trio

from scanner.demo.behaviours import alert, read_hello, smtp
from scanner.demo.listening import listening
from tests.servers import PATIENCE


async def upgraded(stream: trio.SocketStream) -> None:
    await stream.send_all(b"UPGRADED")


async def told(sent: bytes) -> bytes:
    """Everything that the mail server says to somebody who says ``sent`` and no more."""
    received = b""
    async with listening(smtp(upgraded)) as server, await trio.open_tcp_stream(*server.sockaddr) as stream:
        await stream.send_all(sent)
        await stream.send_eof()
        with trio.fail_after(PATIENCE):
            while more := await stream.receive_some():
                received += more
    return received


@pytest.mark.parametrize(
    ("sent", "codes"),
    [
        (b"EHLO me\r\nSTARTTLS\r\n", ["220", "250", "250", "250", "220", "UPG"]),
        (b"ehlo me\nstarttls\n", ["220", "250", "250", "250", "220", "UPG"]),
        (b"HELO me\r\nNOOP\r\nQUIT\r\n", ["220", "250", "250", "221"]),
        (b"STARTTLS\r\nMAIL FROM:<injected>\r\n", ["220", "500", "500", "500"]),
        (b"", ["220", "500"]),
        (b"\x16\x03\x01" + bytes(5000), ["220", "500"]),
        (b"NOOP\r\n" * 100, ["220", *["250"] * 64]),
    ],
    ids=["upgrade", "lower case", "no upgrade", "injected after STARTTLS", "nothing", "TLS", "too many"],
)
async def test_smtp(sent: bytes, codes: list[str]) -> None:
    assert [line[:3].decode() for line in (await told(sent)).splitlines()] == codes


async def test_a_hello_without_end_is_cut_at_the_longest_record() -> None:
    seen: list[int] = []

    async def part(stream: trio.SocketStream) -> None:
        seen.append(len(await read_hello(stream)))

    async with listening(part) as server, await trio.open_tcp_stream(*server.sockaddr) as stream:
        with trio.fail_after(PATIENCE):
            try:
                await stream.send_all(b"\x16\x03\x01\xff\xff" + bytes(2**20))
                await stream.receive_some()
            except trio.BrokenResourceError:
                pass  # closed on us with our bytes unread
    assert 2**14 <= seen[0] < 2**16


def test_alert() -> None:
    assert alert(40) == bytes.fromhex("15 0303 0002 02 28")
