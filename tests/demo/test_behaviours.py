"""The demo's mail server with clients that break the protocol, and parts that choose by the first bytes.

The other parts are in ``tests/test_servers.py``.
"""

from __future__ import annotations

import pytest
import trio

from scanner.demo.behaviours import (
    alert,
    by_server_name,
    passing_to,
    plaintext_http,
    read_hello,
    say,
    server_name,
    smtp,
    tls_or_plaintext,
)
from scanner.demo.certificates import Authority
from scanner.demo.listening import Handler, listening
from scanner.demo.tls_server import TlsSettings, tls_handler
from tests.demo.client import shake_hands
from tests.servers import PATIENCE

pytestmark = pytest.mark.crypto


async def upgraded(stream: trio.SocketStream) -> None:
    await stream.send_all(b"UPGRADED")


async def answered(sent: bytes) -> bytes:
    """All answers of the mail server to a client that sends ``sent`` and no more."""
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
    assert [line[:3].decode() for line in (await answered(sent)).splitlines()] == codes


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


AUTHORITY = Authority("Any CA")


def tls(name: str) -> Handler:
    return tls_handler(TlsSettings(credential=AUTHORITY.leaf(names=(name,))))


async def subject(sockaddr: tuple[str, int], name: str | None) -> bytes:
    return (await shake_hands(sockaddr, server_name=name)).chain[0]


async def test_each_name_has_its_own_certificate_and_all_others_the_default_one() -> None:
    async with listening(by_server_name({"a.example": tls("a.example")}, tls("default.example"))) as router:
        served = {name: await subject(router.sockaddr, name) for name in ("a.example", "A.Example", "b.example", None)}
    assert b"a.example" in served["a.example"]
    assert served["A.Example"] == served["a.example"]
    assert b"default.example" in served["b.example"]
    assert served[None] == served["b.example"]


async def test_passthrough_shows_the_backend_itself() -> None:
    async with listening(tls("backend.example")) as backend:
        parts = {"a.example": passing_to(*backend.sockaddr)}
        async with listening(by_server_name(parts, tls("default.example"))) as router:
            seen = await shake_hands(router.sockaddr, server_name="a.example")
            assert seen.said.startswith(b"HTTP/1.1 200")
            assert b"backend.example" in seen.chain[0]
        assert backend.connections == 1


async def test_passthrough_to_nobody_ends_the_connection_and_not_the_router() -> None:
    async with listening(say(b"")) as gone:
        nobody = gone.sockaddr
    async with listening(passing_to(*nobody)) as router:
        for _ in range(2):
            async with await trio.open_tcp_stream(*router.sockaddr) as stream:
                assert await stream.receive_some() == b""


async def test_a_hello_in_pieces_is_waited_for() -> None:
    async with (
        listening(by_server_name({}, say(b"whole"))) as router,
        await trio.open_tcp_stream(*router.sockaddr) as stream,
    ):
        for piece in (b"\x16", b"\x03\x01\x00", b"\x04\x01\x00", b"\x00\x00"):
            await stream.send_all(piece)
            await trio.sleep(0.001)
        assert await stream.receive_some() == b"whole"


async def test_tls_and_plaintext_on_one_port() -> None:
    async with listening(tls_or_plaintext(tls("a.example"), plaintext_http)) as server:
        assert (await shake_hands(server.sockaddr)).completed
        async with await trio.open_tcp_stream(*server.sockaddr) as stream:
            await stream.send_all(b"GET / HTTP/1.0\r\n\r\n")
            assert (await stream.receive_some()).startswith(b"HTTP/1.1 400")


def test_what_has_no_name() -> None:
    assert server_name(b"") is None
    assert server_name(b"GET / HTTP/1.1") is None
    assert server_name(b"\x16\x03\x01\x00\x04\x01\x00\x00\x00") is None
