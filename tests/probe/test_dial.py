"""Connections against real sockets, and the operating system's errors as reasons."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import Mock

import pytest
import trio

from scanner.errors import ResourceError
from scanner.probe.dial import Broken, Connection, TcpConnection, Where, connect
from tests.servers import PATIENCE, closed_port, filtered_port, listening, say, scripted, stall_after

pytestmark = pytest.mark.crypto

HELLO = b"\x16\x03\x01\x00\x01\x01"
"""As much of a record as ``scripted`` needs to see one."""


@contextmanager
def accepting(backlog: int = 5, address: str = "127.0.0.1") -> Iterator[socket.socket]:
    """A listening socket that the test itself plays, with blocking calls that never block for long."""
    with socket.create_server((address, 0), backlog=backlog) as listener:
        listener.settimeout(PATIENCE)
        yield listener


def at(sockaddr: tuple[str, int]) -> Where:
    return Where(address=sockaddr[0], port=sockaddr[1])


async def read_to_end(line: Connection) -> bytes:
    received = b""
    while more := await line.receive():
        received += more
    return received


async def connected(where: Where, first: bytes = b"") -> TcpConnection:
    """With a socket of this machine."""
    line = await connect(where, first)
    assert isinstance(line, TcpConnection)
    return line


# --- connect, send, receive -----------------------------------------------------------------------------------------


async def test_a_question_and_its_answer() -> None:
    async with scripted(say(b"well")) as server:
        line = await connect(at(server.sockaddr))
        await line.send(HELLO)
        assert await read_to_end(line) == b"well"
        line.close()
    assert server.hellos == [HELLO]


SIZES = pytest.mark.parametrize("size", [0, 1, 500, 8 * 2**20], ids=["nothing", "a byte", "a hello", "8 MiB"])
"""The last is more than the kernel takes at once."""


@SIZES
async def test_what_is_sent_arrives_whole(size: int) -> None:
    """With the connection, and after it."""
    data = bytes(size)
    received: list[int] = []

    async def measure(stream: trio.SocketStream) -> None:
        received.append(0)
        while more := await stream.receive_some(65536):
            received[-1] += len(more)
        await stream.send_all(b"thanks")

    async with listening(measure) as server:
        for first, later in ((data, b""), (b"", data)):
            with trio.fail_after(PATIENCE):
                line = await connected(at(server.sockaddr), first)
                await line.send(later)
                line._socket.shutdown(socket.SHUT_WR)
                assert await read_to_end(line) == b"thanks"
            line.close()
    assert received == [size, size]


async def test_closed_and_filtered_are_told_apart_also_with_something_to_send() -> None:
    with closed_port() as sockaddr, pytest.raises(Broken) as broken:
        await connect(at(sockaddr), HELLO)
    assert broken.value.ending == "closed"
    with filtered_port() as sockaddr, trio.move_on_after(0.05) as scope:
        await connect(at(sockaddr), HELLO)
    assert scope.cancelled_caught


async def test_ipv6() -> None:
    try:
        listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError as error:
        pytest.skip(f"no IPv6 on loopback: {error}")
    with listener:
        line = await connect(Where(address="::1", port=listener.getsockname()[1]))
        accepted, _ = listener.accept()
        accepted.close()
        assert await line.receive() == b""
        line.close()


async def test_a_zone_is_part_of_the_address() -> None:
    """An unused address on the loopback interface; without its zone it is EINVAL."""
    index, name = next(each for each in socket.if_nameindex() if each[1].startswith("lo"))
    words = set()
    for zone in (name, str(index)):
        with pytest.raises(Broken) as broken, trio.fail_after(PATIENCE):
            await connect(Where(address=f"fe80::dead%{zone}", port=1))
        assert broken.value.ending == "unreachable"
        assert broken.value.text != os.strerror(errno.EINVAL)
        words.add(broken.value.text)
    assert len(words) == 1, "the name and the number say the same interface"


@pytest.mark.parametrize(
    ("address", "port"),
    [
        ("fe80::1%nosuchzone0", 443),
        ("fe80::1%99999999999999999999", 443),
        ("fe80::1%²", 443),
        ("fe80::1%a\x00b", 443),
        ("300.1.1.1.", 443),
        ("127.0.0.1", 65536),
        ("127.0.0.1", -1),
    ],
)
async def test_what_is_no_address_is_unreachable(address: str, port: int) -> None:
    with pytest.raises(Broken) as broken, trio.fail_after(PATIENCE):
        await connect(Where(address=address, port=port))
    assert broken.value.ending == "unreachable"
    assert broken.value.text


# --- endings --------------------------------------------------------------------------------------------------------


async def test_nobody_listens() -> None:
    with closed_port() as sockaddr, pytest.raises(Broken) as broken:
        await connect(at(sockaddr))
    assert broken.value.ending == "closed"


async def test_an_unanswered_syn_is_waited_for_as_long_as_the_caller_likes() -> None:
    before = descriptors()
    with filtered_port() as sockaddr:
        with trio.move_on_after(0.05) as scope:
            await connect(at(sockaddr))
        assert scope.cancelled_caught
    assert descriptors() == before


async def test_rst_in_the_middle() -> None:
    with accepting() as listener:
        line = await connect(at(listener.getsockname()))
        accepted, _ = listener.accept()
        TcpConnection(accepted).abort()
        with pytest.raises(Broken) as broken:
            await line.receive()
        assert broken.value.ending == "rst"
        with pytest.raises(Broken) as broken:
            await line.send(b"anybody there?")
        assert broken.value.ending == "rst"
        line.close()


async def test_abort_sends_rst_and_close_sends_fin() -> None:
    with accepting() as listener:
        for close, outcome in ((TcpConnection.abort, ConnectionResetError), (TcpConnection.close, None)):
            line = await connected(at(listener.getsockname()))
            accepted, _ = listener.accept()
            with accepted:
                close(line)
                accepted.settimeout(PATIENCE)
                if outcome is None:
                    assert accepted.recv(1) == b""
                else:
                    with pytest.raises(outcome):
                        accepted.recv(1)


def test_closing_twice_harms_nobody() -> None:
    mine, other = socket.socketpair()
    line = TcpConnection(mine)
    for close in (TcpConnection.abort, TcpConnection.close, TcpConnection.abort):
        close(line)
    other.close()


TABLE = [
    (errno.ECONNREFUSED, "closed", "closed"),
    (errno.ECONNRESET, "rst", "rst"),
    (errno.ECONNABORTED, "rst", "rst"),
    (errno.EPIPE, "rst", "rst"),
    (errno.ETIMEDOUT, "filtered", "silence"),
    (errno.ENETUNREACH, "unreachable", "unreachable"),
    (errno.EHOSTUNREACH, "unreachable", "unreachable"),
    (errno.EADDRNOTAVAIL, "unreachable", "unreachable"),
    (errno.EACCES, "unreachable", "unreachable"),
    (errno.EPERM, "unreachable", "unreachable"),
    (errno.EINVAL, "unreachable", "unreachable"),
    (errno.EAFNOSUPPORT, "unreachable", "unreachable"),
    (errno.EPROTO, "unreachable", "unreachable"),
]
"""The meaning of an error while connecting, and afterwards."""


class Failing:
    """As a socket whose every call fails. Only the errors that loopback cannot be made to give need it."""

    def __init__(self, code: int) -> None:
        self.code = code
        self.closed = False

    def connect_ex(self, _: object) -> int:
        return self.code

    def recv(self, _: int) -> bytes:
        raise OSError(self.code, "")

    def send(self, _: object) -> int:
        raise OSError(self.code, "")

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize(("code", "connecting", "later"), TABLE, ids=[errno.errorcode[row[0]] for row in TABLE])
async def test_every_error_has_its_reason(
    code: int, connecting: str, later: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = Failing(code)
    monkeypatch.setattr(socket, "socket", lambda *_: failing)
    with pytest.raises(Broken) as broken:
        await connect(Where(address="192.0.2.1", port=443))
    assert broken.value.ending == connecting
    assert failing.closed
    line = TcpConnection(failing)  # type: ignore[arg-type]
    for failure in (line.receive(), line.send(b"hello")):
        with pytest.raises(Broken) as broken:
            await failure
        assert broken.value.ending == later
    assert (broken.value.text == os.strerror(code)) == (later == "unreachable")


class Late(Failing):
    """As a socket that is not connected at the first ``send``, which loopback never is."""

    def __init__(self, code: int, connected: socket.socket) -> None:
        super().__init__(code)
        self.connected = connected
        self.tries = 0

    def connect_ex(self, _: object) -> int:
        return errno.EINPROGRESS

    def send(self, data: object) -> int:
        self.tries += 1
        return super().send(data) if self.tries == 1 else self.connected.send(data)  # type: ignore[arg-type] # bytes

    def getsockopt(self, *_: object) -> int:
        return 0

    def fileno(self) -> int:
        return self.connected.fileno()


@pytest.mark.parametrize("code", [errno.EAGAIN, errno.ENOTCONN])
async def test_what_cannot_be_sent_with_the_connection_is_sent_after_it(
    code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        monkeypatch.setattr(socket, "socket", lambda *_: Late(code, ours))
        await connect(Where(address="192.0.2.1", port=443), HELLO)
        assert theirs.recv(100) == HELLO


@pytest.mark.parametrize(
    ("error", "text"), [(OSError("odd"), "odd"), (socket.gaierror(socket.EAI_NONAME, "no such name"), "no such name")]
)
async def test_an_error_without_a_number_of_the_systems_says_what_it_says(error: OSError, text: str) -> None:
    failing = Failing(0)
    failing.recv = failing.send = Mock(side_effect=error)  # type: ignore[method-assign] # in this one only
    line = TcpConnection(failing)  # type: ignore[arg-type]
    for failure in (line.receive(), line.send(b"hello")):
        with pytest.raises(Broken) as broken:
            await failure
        assert (broken.value.ending, broken.value.text) == ("unreachable", text)


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM])
async def test_what_this_machine_lacks_is_no_ones_fault(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(*_: object) -> socket.socket:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(socket, "socket", none_left)
    with pytest.raises(ResourceError) as error:
        await connect(Where(address="192.0.2.1", port=443))
    assert os.strerror(code) in error.value.message
    assert "ulimit" in error.value.hint


# --- descriptors ----------------------------------------------------------------------------------------------------


def descriptors() -> int:
    try:
        return len(list(Path("/proc/self/fd").iterdir()))
    except FileNotFoundError:
        pytest.skip("no /proc to count descriptors in")


async def test_no_descriptor_is_left_behind() -> None:
    """500 connections that end in every way there is."""
    before = descriptors()
    with closed_port() as closed, filtered_port() as filtered:
        async with listening(stall_after(b"x")) as server:
            for _ in range(100):
                await in_every_way(at(server.sockaddr), at(closed), at(filtered))
        assert server.connections == 300
    assert descriptors() == before


async def in_every_way(listens: Where, closed: Where, filtered: Where) -> None:
    with pytest.raises(Broken):
        await connect(closed)
    with trio.CancelScope() as scope:
        scope.cancel()
        await connect(filtered)
    for close in (TcpConnection.abort, TcpConnection.close):
        line = await connected(listens)
        assert await line.receive() == b"x"
        close(line)
    line = await connected(listens)
    assert await line.receive() == b"x"
    with trio.CancelScope() as scope:
        scope.cancel()
        await line.receive()
    assert scope.cancelled_caught
    line.close()


async def test_another_way_is_taken_instead_of_a_socket() -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)

    async def dialer() -> Connection:
        return TcpConnection(ours)

    line = await connect(Where(address="192.0.2.1", port=443, dialer=dialer), HELLO)
    assert theirs.recv(100) == HELLO
    line.close()
    assert theirs.recv(100) == b""
    theirs.close()


OUT_OF_DESCRIPTORS = """
import resource, socket, trio
from scanner.errors import ResourceError
from scanner.probe.dial import Where, connect

async def main():
    with socket.create_server(("127.0.0.1", 0)) as server:
        where = Where(address="127.0.0.1", port=server.getsockname()[1])
        lines = []
        try:
            while len(lines) < 100:
                lines.append(await connect(where))
        except ResourceError as error:
            print(len(lines) > 3, error.message, "|", error.hint)

resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
trio.run(main)
"""


def test_no_descriptor_left() -> None:
    child = subprocess.run(
        [sys.executable, "-c", OUT_OF_DESCRIPTORS], capture_output=True, text=True, timeout=60, check=False
    )
    assert child.returncode == 0, child.stderr
    assert child.stdout.startswith("True this machine cannot open another connection: Too many open files |")
