"""The listening socket: counts, tolerance of peers, an orderly end; closed and filtered ports.

On Linux ``tests/test_servers.py`` has more.
"""

from __future__ import annotations

import errno
import socket
from contextlib import suppress

import pytest
import trio

from scanner.demo import listening as module
from scanner.demo.behaviours import say, silent
from scanner.demo.listening import background, bind, closed_port, filtered_port, listening, open_listening
from tests.servers import PATIENCE


class OwnError(Exception):
    """A handler for the block under test."""


async def test_an_exception_of_the_block_arrives_as_it_is() -> None:
    with pytest.raises(OwnError):
        async with listening(silent):
            raise OwnError


async def test_cancelling_from_outside_passes_through() -> None:
    with trio.CancelScope() as outer:
        async with listening(silent):
            outer.cancel()
            await trio.lowlevel.checkpoint()
    assert outer.cancelled_caught


async def test_a_bug_in_a_part_is_not_hidden() -> None:
    async def broken(_stream: trio.SocketStream) -> None:
        raise OwnError

    with pytest.raises((OwnError, ExceptionGroup)) as caught, trio.fail_after(PATIENCE):
        async with listening(broken) as server, await trio.open_tcp_stream(*server.sockaddr):
            await trio.sleep_forever()
    error: BaseException = caught.value
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, OwnError)


async def test_a_peer_that_leaves_a_part_with_tasks_ends_nobody() -> None:
    """Errors of tasks come in a group, however many there are."""

    async def reading(stream: trio.SocketStream) -> None:
        async with trio.open_nursery() as tasks:
            tasks.start_soon(stream.receive_some)
            await trio.lowlevel.checkpoint()
            raise ConnectionResetError

    with trio.fail_after(PATIENCE):
        async with listening(reading) as server:
            for _ in range(2):
                async with await trio.open_tcp_stream(*server.sockaddr) as client:
                    with suppress(trio.BrokenResourceError):
                        assert await client.receive_some() == b""
            assert (server.connections, server.open) == (2, 0)


async def test_one_nursery_carries_many_and_each_counts_its_own() -> None:
    async with background() as nursery:
        servers = [await open_listening(nursery, say(b"x"), address=f"127.0.0.{host}") for host in (2, 3)]
        for visits, server in enumerate(servers, 1):
            for _ in range(visits):
                async with await trio.open_tcp_stream(*server.sockaddr) as stream:
                    assert await stream.receive_some() == b"x"
        assert [server.connections for server in servers] == [1, 2]
        assert len({server.sockaddr for server in servers}) == 2


async def test_a_peer_who_outstays_is_sent_away(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    monkeypatch.setattr(module, "_LONGEST", 0.01)
    async with listening(silent) as server, await trio.open_tcp_stream(*server.sockaddr) as stream:
        assert await stream.receive_some() == b""


async def test_only_127_0_0_1_where_the_system_has_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    real = trio.open_tcp_listeners

    async def like_macos(port: int, *, host: str, backlog: int) -> list[trio.SocketListener]:
        if host != "127.0.0.1":
            raise OSError(errno.EADDRNOTAVAIL, "Can't assign requested address")
        return await real(port, host=host, backlog=backlog)

    monkeypatch.setattr(trio, "open_tcp_listeners", like_macos)
    listener = await bind("127.0.0.9")
    assert listener.socket.getsockname()[0] == "127.0.0.1"
    await listener.aclose()


async def test_another_failure_to_bind_is_raised() -> None:
    with pytest.raises(OSError, match=r"not known|resolution|No address"):
        await bind("not an address")


def test_a_closed_port_stays_ours() -> None:
    with closed_port("127.0.0.7") as sockaddr, socket.socket() as other:
        assert sockaddr[0] == "127.0.0.7"
        with pytest.raises(OSError, match="in use"):
            other.bind(sockaddr)


def test_nothing_is_filtered_where_a_full_queue_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    class Answering(socket.socket):
        """As on a system that answers every SYN."""

        def listen(self, backlog: int = 0, /) -> None:
            super().listen(64)

    monkeypatch.setattr(socket, "socket", Answering)
    with filtered_port() as sockaddr:
        assert sockaddr is None


def test_nothing_is_filtered_where_a_connect_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket.socket, "connect_ex", lambda _self, _address: errno.ECONNREFUSED, raising=False)
    with filtered_port() as sockaddr:
        assert sockaddr is None


def test_closed_ports_only_on_127_0_0_1_where_the_system_has_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    class LikeMacos(socket.socket):
        """Has one loopback address."""

        def bind(self, address: tuple[str, int], /) -> None:  # type: ignore[override]
            if address[0] != "127.0.0.1":
                raise OSError(errno.EADDRNOTAVAIL, "Can't assign requested address")
            super().bind(address)

    monkeypatch.setattr(socket, "socket", LikeMacos)
    with closed_port("127.0.0.7") as sockaddr:
        assert sockaddr[0] == "127.0.0.1"
