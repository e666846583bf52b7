"""Port-forwards over WebSockets, against a scripted API server that speaks RFC 6455 by hand."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from scanner.cluster import portforward
from scanner.cluster.client import Client
from scanner.cluster.portforward import (
    SPDY,
    SUBPROTOCOL,
    WRITE_TIMEOUT,
    NotForwarded,
    PortForwards,
    _Session,
    _WebSocket,
)
from scanner.cluster.websocket import BINARY, CLOSE, PING, PONG
from scanner.errors import ClusterError
from tests.cluster.api import LIMITS, Api, Asked, Upgrade, refused, running
from tests.forwarding import forward

pytestmark = pytest.mark.crypto

PORT = (8443).to_bytes(2, "little")


def unmasked(opcode: int, payload: bytes, *, final: bool = True) -> bytes:
    """A server's frame."""
    size = len(payload)
    length = bytes([size]) if size < 126 else b"\x7e" + size.to_bytes(2) if size < 65536 else b"\x7f" + size.to_bytes(8)
    return bytes([(0x80 if final else 0) | opcode]) + length + payload


def masked(data: bytes, mask: bytes) -> bytes:
    """A client's bytes, or what they were (section 5.3)."""
    return bytes(each ^ mask[at % 4] for at, each in enumerate(data))


class Peer:
    """The server's side of one WebSocket."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self.stream = stream
        self.buffer = b""

    async def exactly(self, count: int) -> bytes:
        while len(self.buffer) < count:
            data = bytes(await self.stream.receive_some())
            if not data:
                raise trio.EndOfChannel
            self.buffer += data
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    async def receive(self) -> tuple[int, bytes]:
        head = await self.exactly(2)
        assert head[1] & 0x80, "clients mask"
        size = head[1] & 0x7F
        if size > 125:
            size = int.from_bytes(await self.exactly(2 if size == 126 else 8))
        mask = await self.exactly(4)
        return head[0] & 0x0F, masked(await self.exactly(size), mask)

    async def greet(self) -> None:
        """Both channels begin with the port."""
        await self.stream.send_all(unmasked(BINARY, b"\x00" + PORT) + unmasked(BINARY, b"\x01" + PORT))


def upgrading(
    then: Callable[[Peer], Awaitable[None]], *, accept: str | None = None, subprotocol: str = SUBPROTOCOL
) -> Upgrade:
    async def upgrade(stream: trio.abc.Stream, asked: Asked) -> None:
        key = asked.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        right = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        await stream.send_all(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Accept: {accept or right}\r\nSec-WebSocket-Protocol: {subprotocol}\r\n\r\n".encode()
        )
        await then(Peer(stream))

    return upgrade


async def echo(peer: Peer) -> None:
    await peer.greet()
    while True:
        opcode, payload = await peer.receive()
        if opcode != BINARY or payload == b"\x00bye":
            await peer.stream.send_all(unmasked(CLOSE, b"\x03\xe8"))
            return
        assert payload[0] == 0
        await peer.stream.send_all(unmasked(BINARY, payload))


async def test_bytes_go_there_and_back_until_the_port_closes() -> None:
    api = Api(upgrade=upgrading(echo))
    async with running(api), Client(api.access, LIMITS) as client, forward(client, "shop", "web-1", 8443) as tunnel:
        await tunnel.send(b"hello")
        assert await tunnel.receive() == b"hello"
        large = bytes(range(256)) * 300
        await tunnel.send(large)
        back = b""
        while len(back) < len(large):
            back += await tunnel.receive()
        assert back == large
        await tunnel.send(b"bye")
        assert await tunnel.receive() == b""
        assert await tunnel.receive() == b""
    (asked,) = api.asked
    assert asked.path == "/api/v1/namespaces/shop/pods/web-1/portforward"
    assert asked.query == {"ports": "8443"}
    assert asked.headers["authorization"] == "Bearer sesame"
    assert asked.headers["sec-websocket-protocol"] == f"{SPDY}, {SUBPROTOCOL}"


class Tunnelled:
    """A kubelet behind an API server that tunnels SPDY: each connection echoes; port 1 is refused."""

    def __init__(self) -> None:
        self.sockets = 0
        self.connections: list[int] = []
        self.ended: list[int] = []

    async def serve(self, peer: Peer) -> None:
        self.sockets += 1
        inflate, buffer, ports = zlib.decompressobj(), b"", dict[int, int]()
        with suppress(trio.EndOfChannel):
            while True:
                opcode, payload = await peer.receive()
                if opcode == CLOSE:
                    return
                buffer += payload
                while len(buffer) >= 8 and len(buffer) >= (size := 8 + int.from_bytes(buffer[5:8])):
                    content, first, buffer = buffer[8:size], buffer[:8], buffer[size:]
                    stream = int.from_bytes(first[:4])
                    if first[:4] == b"\x80\x03\x00\x01":
                        stream = int.from_bytes(content[:4])
                        port = headers(inflate.decompress(content[10:]))
                        if port["streamtype"] == "data":
                            self.connections.append(int(port["port"]))
                            ports[stream] = int(port["port"])
                            if ports[stream] == 1:
                                await self.refuse(peer, stream)
                    elif first[:4] == b"\x80\x03\x00\x03":
                        self.ended.append(int.from_bytes(content[:4]))
                    elif content:
                        await peer.stream.send_all(unmasked(BINARY, portforward.data_frame(stream, content)))

    async def refuse(self, peer: Peer, stream: int) -> None:
        text = b"error forwarding port 1 to pod x, uid : dial tcp4 127.0.0.1:1: connect: connection refused"
        said = (
            portforward.data_frame(stream - 2, text)
            + portforward.reset_frame(stream)
            + portforward.reset_frame(stream - 2)
        )
        for piece in (said[:5], said[5:]):  # messages end anywhere
            await peer.stream.send_all(unmasked(BINARY, piece))


def headers(block: bytes) -> dict[str, str]:
    """The pairs of a SYN_STREAM's name/value block."""
    words, at = [], 4
    while at < len(block):
        size = int.from_bytes(block[at : at + 4])
        words.append(block[at + 4 : at + 4 + size].decode())
        at += 4 + size
    return dict(zip(words[::2], words[1::2], strict=True))


async def test_one_websocket_carries_all_connections_to_a_pod() -> None:
    kubelet = Tunnelled()
    api = Api(upgrade=upgrading(kubelet.serve, subprotocol=SPDY))
    async with running(api), Client(api.access, LIMITS) as client, trio.open_nursery() as nursery:
        forwards = PortForwards(client, nursery)
        async with forwards.connection("shop", "web-1", 8443) as one, forwards.connection("shop", "web-1", 9443) as two:
            await one.send(b"one")
            await two.send(b"two" * 30_000)
            assert await one.receive() == b"one"
            back = b""
            while len(back) < 90_000:
                back += await two.receive()
            assert back == b"two" * 30_000
        for _ in range(5):
            async with forwards.connection("shop", "web-1", 8443) as further:
                await further.send(b"x")
                assert await further.receive() == b"x"
        with pytest.raises(NotForwarded) as caught:
            async with forwards.connection("shop", "web-1", 1) as stream:
                await stream.receive()
        assert caught.value.reason == "refused"
        async with forwards.connection("shop", "web-2", 8443):
            pass
        nursery.cancel_scope.cancel()
    assert kubelet.sockets == 2
    assert sorted(kubelet.connections) == [1, *(7 * [8443]), 9443]
    assert len(kubelet.ended) >= 7


async def test_a_websocket_that_breaks_breaks_its_connections_and_the_next_one_opens_another() -> None:
    async def breaking(peer: Peer) -> None:
        await peer.receive()

    api = Api(upgrade=upgrading(breaking, subprotocol=SPDY))
    async with running(api), Client(api.access, LIMITS) as client, trio.open_nursery() as nursery:
        forwards = PortForwards(client, nursery)
        for _ in range(2):
            with pytest.raises(NotForwarded) as caught:
                async with forwards.connection("shop", "web-1", 8443) as stream:
                    await stream.receive()
            assert caught.value.reason == "kubelet"
        nursery.cancel_scope.cancel()
    assert len(api.asked) == 2


class Slow:
    """A connection that takes half of what is written, and the rest when it is let go on."""

    def __init__(self) -> None:
        self.taken = b""
        self.on = trio.Event()

    async def read(self, max_bytes: int) -> bytes:
        await trio.sleep_forever()
        raise AssertionError

    async def write(self, buffer: bytes) -> None:
        self.taken += buffer[: len(buffer) // 2]
        await self.on.wait()
        self.taken += buffer[len(buffer) // 2 :]


def opened(sent: bytes) -> list[dict[str, str]]:
    """The headers of each stream that a client's frames open."""
    inflate, data, found = zlib.decompressobj(), b"", list[dict[str, str]]()
    while sent:
        size, at = (sent[1] & 0x7F, 2) if sent[1] & 0x7F < 126 else (int.from_bytes(sent[2:4]), 4)
        data += masked(sent[at + 4 : at + 4 + size], sent[at : at + 4])
        sent = sent[at + 4 + size :]
    while data:
        size = 8 + int.from_bytes(data[5:8])
        if data[:4] == b"\x80\x03\x00\x01":
            found.append(headers(inflate.decompress(data[18:size])))
        data = data[size:]
    return found


async def test_a_connection_that_is_given_up_breaks_no_other_one() -> None:
    """Neither the one whose bytes are on their way, nor the one that waits for its turn."""
    wire = Slow()
    session = _Session(_WebSocket(wire))
    async with trio.open_nursery() as nursery:
        for port in (1, 2):
            nursery.start_soon(session.connect, port)
            await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
        with trio.CancelScope(shield=True):
            await wait_all_tasks_blocked()
            wire.on.set()
    kept = await session.connect(3)
    assert session.pairs.keys() >= {kept.data, kept.error}
    asked = [each["port"] for each in opened(wire.taken)]
    assert asked[-2:] == ["3", "3"]
    assert "2" not in asked


async def test_a_websocket_that_takes_no_bytes_is_left(autojump_clock: MockClock) -> None:
    session = _Session(_WebSocket(Slow()))
    for _ in range(2):
        with pytest.raises(NotForwarded, match=r"accepted no bytes|accepts no more bytes"):
            await session.connect(1)
        assert not session.pairs
    assert not session.usable
    assert autojump_clock.current_time() < 2 * WRITE_TIMEOUT


@given(st.binary(max_size=400))
def test_nothing_else_ever_comes_out_of_streams(data: bytes) -> None:
    streams = portforward.Streams()
    with suppress(ClusterError):
        for what, stream, _ in streams.feed(data):
            assert what in ("data", "end", "ping", "gone")
            assert 0 <= stream < 1 << 31


async def test_pings_are_answered_and_fragments_put_together() -> None:
    async def odd(peer: Peer) -> None:
        await peer.greet()
        await peer.stream.send_all(
            unmasked(BINARY, b"\x00he", final=False) + unmasked(PING, b"there?") + unmasked(0, b"llo")
        )
        assert await peer.receive() == (PONG, b"there?")
        await peer.stream.send_all(unmasked(BINARY, b"\x00!") + unmasked(CLOSE, b""))

    api = Api(upgrade=upgrading(odd))
    async with running(api), Client(api.access, LIMITS) as client, forward(client, "shop", "web-1", 8443) as tunnel:
        assert await tunnel.receive() == b"hello"
        assert await tunnel.receive() == b"!"
        assert await tunnel.receive() == b""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "error forwarding port 8443 to pod abc, uid : IPv4: dial tcp4 127.0.0.1:8443: connect: connection refused",
            "refused",
        ),
        ("error forwarding port 8443 to pod abc, uid : container not running (abc)", "no-pod"),
        ("error forwarding port 8443 to pod abc, uid : sandbox \x1b[31m is broken", "kubelet"),
    ],
)
async def test_what_the_kubelet_says_becomes_a_reason(text: str, reason: str) -> None:
    async def fail(peer: Peer) -> None:
        await peer.greet()
        await peer.stream.send_all(unmasked(BINARY, b"\x01" + text.encode()) + unmasked(CLOSE, b""))

    api = Api(upgrade=upgrading(fail))
    async with running(api), Client(api.access, LIMITS) as client, forward(client, "shop", "web-1", 8443) as tunnel:
        with pytest.raises(NotForwarded) as caught:
            await tunnel.receive()
    assert caught.value.reason == reason
    assert caught.value.detail.isprintable()


async def refusal_of(api: Api, pod: str = "web-1") -> NotForwarded:
    async with running(api), Client(api.access, LIMITS) as client:
        with pytest.raises(NotForwarded) as caught:
            async with forward(client, "shop", pod, 8443):
                pytest.fail("there is a connection")
    return caught.value


@pytest.mark.parametrize(
    ("status", "message", "reason"),
    [
        (401, "Unauthorized", "forbidden"),
        (403, 'pods "web-1" is forbidden: cannot create resource "pods/portforward"', "forbidden"),
        (404, 'pods "web-1" not found', "no-pod"),
        (400, "unable to upgrade: unsupported subprotocol", "unsupported"),
        (200, "hello", "unsupported"),
        (500, "error dialing backend: dial tcp 10.0.0.5:10250: i/o timeout", "kubelet"),
        (500, "pod does not exist", "no-pod"),
    ],
)
async def test_what_the_api_server_says_becomes_a_reason(status: int, message: str, reason: str) -> None:
    refusal = await refusal_of(Api(script=lambda _: refused(status, "", message)))
    assert refusal.reason == reason
    assert message in refusal.detail


async def test_a_name_that_leads_elsewhere_is_not_asked_for() -> None:
    api = Api()
    assert (await refusal_of(api, "../../secrets/x")).reason == "no-pod"
    assert api.asked == []


async def nothing(_: Peer) -> None:
    await trio.lowlevel.checkpoint()


@pytest.mark.parametrize("wrong", [{"accept": "bm9wZQ=="}, {"subprotocol": "v1.other"}])
async def test_an_upgrade_to_something_else_is_none(wrong: dict[str, str]) -> None:
    assert (await refusal_of(Api(upgrade=upgrading(nothing, **wrong)))).reason == "unsupported"


async def test_a_connection_that_breaks_is_no_ending_of_the_port() -> None:
    async def cut(peer: Peer) -> None:
        await peer.greet()
        assert isinstance(peer.stream, trio.SSLStream)
        await trio.aclose_forcefully(peer.stream)

    api = Api(upgrade=upgrading(cut))
    async with running(api), Client(api.access, LIMITS) as client, forward(client, "shop", "web-1", 8443) as tunnel:
        with pytest.raises(NotForwarded, match="broke") as caught:
            await tunnel.receive()
    assert caught.value.reason == "kubelet"
