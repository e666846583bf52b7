"""Every scripted server does what its name says, seen by the standard library's blocking sockets in a thread."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from typing import TypeVar

import pytest
import trio

from scanner.demo.listening import Handler
from scanner.demo.tls_server import TlsSettings
from tests.servers import (
    HTTP_400,
    MALFORMED,
    PATIENCE,
    abort,
    alert,
    balanced,
    closed_port,
    drip,
    endless,
    filtered_port,
    flaky,
    ordinary,
    say,
    scripted,
    silent,
    smtp,
    stall_after,
    tls_handler,
    tls_listener,
)

pytestmark = pytest.mark.crypto

HELLO = b"\x16\x03\x01\x00\x04\x01\x00\x00\x00"
T = TypeVar("T")


async def in_thread(work: Callable[[], T]) -> T:
    return await trio.to_thread.run_sync(work)


def all_that_comes(sockaddr: tuple[str, int], hello: bytes = HELLO) -> bytes:
    """Connect, send, read to the FIN. Raises ``ConnectionResetError`` on RST, ``TimeoutError`` on silence."""
    received = b""
    with socket.create_connection(sockaddr, timeout=PATIENCE) as client:
        client.sendall(hello)
        while more := client.recv(65536):
            received += more
    return received


def first_bytes(sockaddr: tuple[str, int], limit: int, *, patience: float = PATIENCE) -> bytes:
    """Up to ``limit`` bytes, then the client turns away."""
    received = b""
    with socket.create_connection(sockaddr, timeout=patience) as client:
        client.sendall(HELLO)
        while len(received) < limit and (more := client.recv(limit - len(received))):
            received += more
    return received


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (say(b""), b""),
        (say(HTTP_400), HTTP_400),
        (say(MALFORMED), MALFORMED),
        (say(alert(70)), bytes.fromhex("15030300020246")),
        (say(alert(0, level=1)), bytes.fromhex("15030300020100")),
        (drip(b"byte by byte"), b"byte by byte"),
    ],
    ids=["hang up", "plaintext", "malformed", "alert", "warning", "drip"],
)
async def test_answers_then_ends_with_fin(script: Handler, expected: bytes) -> None:
    async with scripted(script) as server:
        assert await in_thread(lambda: all_that_comes(server.sockaddr)) == expected
    assert (server.connections, server.hellos) == (1, [HELLO])


async def test_the_hello_is_recorded_whole_when_it_comes_in_pieces() -> None:
    def two_pieces() -> None:
        with socket.create_connection(server.sockaddr, timeout=PATIENCE) as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client.sendall(HELLO[:3])
            client.sendall(HELLO[3:])
            assert client.recv(1) == b""

    async with scripted(say(b"")) as server:
        await in_thread(two_pieces)
    assert server.hellos == [HELLO]


async def test_abort_is_an_rst() -> None:
    async with scripted(abort) as server:
        with pytest.raises(ConnectionResetError):
            await in_thread(lambda: all_that_comes(server.sockaddr))


@pytest.mark.parametrize(("script", "said"), [(silent, b""), (stall_after(b"\x16\x03"), b"\x16\x03")])
async def test_says_no_more(script: Handler, said: bytes) -> None:
    async with scripted(script) as server:
        assert await in_thread(lambda: first_bytes(server.sockaddr, len(said))) == said
        with pytest.raises(TimeoutError):
            await in_thread(lambda: first_bytes(server.sockaddr, len(said) + 1, patience=0.05))


async def test_endless_never_ends_by_itself() -> None:
    async with scripted(endless(b"start", b"again")) as server:
        seen = await in_thread(lambda: first_bytes(server.sockaddr, 2**16))
    assert len(seen) == 2**16
    assert seen.startswith(b"startagainagain")


async def test_flaky_recovers() -> None:
    def visit() -> str:
        try:
            return all_that_comes(server.sockaddr).decode()
        except ConnectionResetError:
            return "reset"

    async with scripted(flaky(2, say(b"ok")), reads_hello=False) as server:
        assert [await in_thread(visit) for _ in range(4)] == ["reset", "reset", "ok", "ok"]


async def test_balanced_takes_turns() -> None:
    async with scripted(balanced(say(b"a"), say(b"b"))) as server:
        seen = [await in_thread(lambda: all_that_comes(server.sockaddr)) for _ in range(3)]
    assert seen == [b"a", b"b", b"a"]
    assert server.connections == 3


async def test_smtp_upgrades_by_starttls_and_only_then() -> None:
    def by_the_book() -> str | None:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with socket.create_connection(server.sockaddr, timeout=PATIENCE) as client:
            assert client.recv(100).startswith(b"220 ")
            client.sendall(b"EHLO test\r\n")
            assert b"STARTTLS" in client.recv(1000)
            client.sendall(b"STARTTLS\r\n")
            assert client.recv(100).startswith(b"220 ")
            with context.wrap_socket(client) as secure:
                return secure.version()

    async with scripted(smtp(tls_handler(TlsSettings(credential=ordinary()))), reads_hello=False) as server:
        assert await in_thread(by_the_book) == "TLSv1.3"
        told = await in_thread(lambda: all_that_comes(server.sockaddr, HELLO + b"\nSTARTTLS\r\ninjected\r\nQUIT\r\n"))
        assert [line[:3] for line in told.splitlines()] == [b"220", b"500", b"500", b"500", b"221"]


async def test_tls_listener_shakes_hands() -> None:
    def version() -> str | None:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with socket.create_connection(server.sockaddr, timeout=PATIENCE) as plain, context.wrap_socket(plain) as client:
            return client.version()

    async with tls_listener() as server:
        assert await in_thread(version) == "TLSv1.3"
    assert server.connections == 1


def test_closed_port_refuses() -> None:
    with closed_port() as sockaddr, pytest.raises(ConnectionRefusedError):
        socket.create_connection(sockaddr, timeout=PATIENCE)


def test_filtered_port_never_answers() -> None:
    with filtered_port() as sockaddr, pytest.raises(TimeoutError):
        socket.create_connection(sockaddr, timeout=0.1)
