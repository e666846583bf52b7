"""Requests for several names over one HTTP/2 connection, to servers that speak it, and to what only begins like one."""

from __future__ import annotations

import struct
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

import pytest
import trio
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import RequestReceived
from h2.exceptions import H2Error
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from scanner.demo.listening import Handler
from scanner.demo.tls_server import TlsSettings, TlsStream, tls_context, tls_handler
from scanner.kube.hostnames import NO_SUCH_NAME
from scanner.kube.maybe import Known, Unknown
from scanner.model.observation import Attempt
from scanner.probe.dial import Broken
from scanner.probe.evidence import Evidence
from scanner.probe.http1 import TlsSession
from scanner.probe.http2 import _Shared, heads
from scanner.probe.observe import run_extra_checks
from scanner.probe.session import Question
from tests.certs import Authority
from tests.probe.peers import peer
from tests.properties import at_most
from tests.servers import PATIENCE, closed_port, listening

pytestmark = pytest.mark.crypto

LEAF = Authority("Requests").leaf(names=("localhost",))
NAMES = ("localhost", "other.example", "third.example")
Script = Callable[[TlsStream], Awaitable[None]]
HEAD = b"\x88"
"""The header block of ``:status: 200`` (RFC 7541, appendix A, index 8)."""


def over_tls(script: Script, alpn: Sequence[bytes] = (b"h2",)) -> Handler:
    """``script`` inside of TLS, which it need not say goodbye to."""
    context = tls_context(TlsSettings(credential=LEAF, alpn=tuple(alpn)))

    async def part(transport: trio.SocketStream) -> None:
        stream = TlsStream(transport, context)
        try:
            await stream.do_handshake()
            await script(stream)
            await stream.finish()
        except (trio.BrokenResourceError, H2Error):
            await stream.aclose()

    return part


def answering(statuses: Mapping[str, str], *, each: int = 100) -> Handler:
    """Statuses by authority; after ``each`` answers the connection ends with GOAWAY."""

    async def script(stream: TlsStream) -> None:
        server = H2Connection(H2Configuration(client_side=False, header_encoding=None))
        server.initiate_connection()
        left = each
        while True:
            if pending := server.data_to_send():
                await stream.send_all(pending)
            if not left or not (data := await stream.receive_some()):
                return
            for event in server.receive_data(data):
                if isinstance(event, RequestReceived):
                    asked = dict(event.headers)
                    assert asked[b":method"] == b"HEAD"
                    name = asked[b":authority"].decode()
                    fields = [(":status", statuses[name]), ("etag", f'"{name}"')]
                    server.send_headers(event.stream_id, fields, end_stream=True)
                    left -= 1
            if not left:
                server.close_connection()

    return over_tls(script)


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """RFC 9113, section 4.1."""
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


SETTINGS = frame(4, 0, 0, b"")


def saying(*said: bytes, again: bytes = b"") -> Handler:
    """These bytes, then ``again`` for ever, or nothing."""

    async def script(stream: TlsStream) -> None:
        await stream.receive_some()
        for each in said:
            await stream.send_all(each)
        while again:
            await stream.send_all(again)
        while await stream.receive_some():
            pass

    return over_tls(script)


async def asked(part: Handler, names: Sequence[str] = NAMES, *, seconds: float = 20.0) -> dict[str, Known[str]]:
    attempts: list[Attempt] = []
    found: dict[str, Known[str]] = {}
    async with listening(part) as server:
        await heads(peer(server.sockaddr, seconds), names, attempts, found)
        assert server.connections == len(attempts)
    assert all(0 <= each.seconds < PATIENCE for each in attempts)
    return found


# --- servers that speak it --------------------------------------------------------------------------------------------


async def test_several_names_share_one_connection() -> None:
    attempts: list[Attempt] = []
    found: dict[str, Known[str]] = {}
    part = answering({"localhost": "200", "other.example": "421", "third.example": "404"})
    async with listening(part) as server:
        await heads(peer(server.sockaddr), NAMES, attempts, found)
    assert found == {
        "localhost": '200; etag: "localhost"',
        "other.example": '421; etag: "other.example"',
        "third.example": '404; etag: "third.example"',
    }
    (attempt,) = attempts
    assert attempt.offer == "HTTP/2 HEAD for localhost, other.example, third.example as localhost"
    assert attempt.reply == "200, 421, 404"


async def test_a_connection_that_ends_after_each_answer_is_made_anew() -> None:
    found = await asked(answering(dict.fromkeys(NAMES, "200"), each=1))
    assert found == {name: f'200; etag: "{name}"' for name in NAMES}


GOODBYE = frame(7, 0, 0, bytes(8))
"""GOAWAY: no request was looked at."""


def in_turn(*scripts: Script) -> Handler:
    """Another script for each connection; the last one for all that follow."""
    parts = iter([over_tls(each) for each in scripts[:-1]])
    last = over_tls(scripts[-1])

    async def part(transport: trio.SocketStream) -> None:
        await next(parts, last)(transport)

    return part


def frames(*said: bytes) -> Script:
    async def script(stream: TlsStream) -> None:
        await stream.receive_some()
        await stream.send_all(b"".join(said))
        while await stream.receive_some():
            pass

    return script


@pytest.mark.parametrize("leaving", [GOODBYE, frame(3, 0, 1, struct.pack(">I", 7))], ids=["GOAWAY", "REFUSED_STREAM"])
async def test_a_request_that_nobody_looked_at_is_sent_once_more(leaving: bytes) -> None:
    """RFC 9113, sections 6.8 and 8.7: as of a proxy that is being replaced."""
    found = await asked(in_turn(frames(SETTINGS, leaving), frames(SETTINGS, frame(1, 5, 1, HEAD))), NAMES[:1])
    assert found == {"localhost": "200"}
    attempts: list[Attempt] = []
    found = {}
    async with listening(in_turn(frames(SETTINGS, leaving))) as server:
        await heads(peer(server.sockaddr), NAMES[:1], attempts, found)
        assert server.connections == len(attempts) == 2
    assert isinstance(found["localhost"], Unknown)


async def test_a_connection_that_ends_after_an_answer_takes_no_other_try_away() -> None:
    """The second connection is the first of which no request was looked at."""
    after_one = frame(7, 0, 0, struct.pack(">II", 1, 0))
    first, second = frames(SETTINGS, after_one, frame(1, 5, 1, HEAD)), frames(SETTINGS, GOODBYE)
    found = await asked(in_turn(first, second, frames(SETTINGS, frame(1, 5, 1, HEAD))), NAMES[:2])
    assert found == dict.fromkeys(NAMES[:2], "200")


@pytest.mark.parametrize("last", [1, 2**31 - 1])
async def test_a_server_that_is_leaving_still_answers_what_it_says_that_it_does(last: int) -> None:
    """RFC 9113, section 6.8: a GOAWAY before the answer, as Envoy sends while it is drained."""
    leaving = frame(7, 0, 0, struct.pack(">II", last, 0))
    part = in_turn(frames(SETTINGS, leaving, frame(1, 5, 1, HEAD)), frames(SETTINGS))
    assert await asked(part, NAMES[:1], seconds=0.5) == {"localhost": "200"}


async def test_what_is_informational_is_no_answer() -> None:
    early = frame(1, 4, 1, b"\x08\x03103")  # :status 103, literal with an indexed name
    found = await asked(saying(SETTINGS, early, frame(1, 5, 1, HEAD)), NAMES[:1])
    assert found == {"localhost": "200"}


async def test_one_request_that_is_reset_says_nothing_of_the_next() -> None:
    async def script(stream: TlsStream) -> None:
        await stream.receive_some()
        await stream.send_all(SETTINGS + frame(3, 0, 1, bytes(4)))
        await stream.receive_some()
        await stream.send_all(frame(1, 5, 3, HEAD))
        while await stream.receive_some():
            pass

    found = await asked(over_tls(script), NAMES[:2])
    assert isinstance(found["localhost"], Unknown)
    assert found["other.example"] == "200"


@pytest.mark.parametrize("alpn", [(b"http/1.1",), (), (b"http/1.1", b"h2")])
async def test_without_an_agreement_nothing_is_sent(alpn: tuple[bytes, ...]) -> None:
    attempts: list[Attempt] = []
    found: dict[str, Known[str]] = {}
    async with listening(tls_handler(TlsSettings(credential=LEAF, alpn=alpn))) as server:
        await heads(peer(server.sockaddr), NAMES, attempts, found)
        assert server.connections == 1
    assert found == dict.fromkeys(NAMES, Unknown("HTTP/2 was not negotiated"))


# --- and those that do not --------------------------------------------------------------------------------------------

PING = frame(6, 0, 0, bytes(8))
HOSTILE = {
    "another protocol": saying(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    "noise": saying(bytes(range(256)) * 16),
    "half a goodbye": saying(SETTINGS, frame(7, 0, 0, b"")),
    "goodbyes without end": saying(SETTINGS, again=frame(7, 0, 0, struct.pack(">II", 1, 0)) * 500),
    "informational answers without end": saying(SETTINGS, again=frame(1, 4, 1, b"\x08\x03103") * 500),
    "data without end": saying(SETTINGS, again=frame(0, 0, 1, bytes(1000)) * 20),
    "empty data without end": saying(SETTINGS, frame(1, 4, 1, b"\x08\x03103"), again=frame(0, 0, 1, b"") * 500),
    "resets of others": saying(SETTINGS, again=frame(3, 0, 2, bytes(4)) * 500),
    "windows that overflow": saying(SETTINGS, again=frame(8, 0, 0, struct.pack(">I", 2**31 - 1)) * 10),
    "pings without end": saying(SETTINGS, again=PING * 500),
    "settings without end": saying(again=SETTINGS * 500),
    "settings that grow": saying(again=frame(4, 0, 0, struct.pack(">HI", 4, 2**31 - 1) * 100)),
    "a header without end": saying(SETTINGS, frame(1, 0, 1, b""), again=frame(9, 0, 1, b"")),
    "a large header without end": saying(
        SETTINGS, frame(1, 0, 1, HEAD), again=frame(9, 0, 1, b"\x00\x01a\x01b" * 3000)
    ),
    "an overlong frame": saying(SETTINGS, frame(1, 4, 1, bytes(2**20))),
    "a table that is too large": saying(SETTINGS, frame(1, 5, 1, b"\x3f\xff\xff\xff\xff\x0f")),
    "a header that unfolds": saying(
        SETTINGS, frame(1, 5, 1, HEAD + b"\x40\x01a\x7f\x81\x1e" + b"a" * 4000 + b"\xbe" * 5000)
    ),
    "no status": saying(SETTINGS, frame(1, 5, 1, b"\x00\x01a\x01b")),
    "a status of letters": saying(SETTINGS, frame(1, 5, 1, b"\x08\x02ok")),
    "an answer to nobody": saying(SETTINGS, frame(1, 5, 7, HEAD)),
    "a push": saying(SETTINGS, frame(5, 4, 1, struct.pack(">I", 2) + HEAD)),
    "unknown frames": saying(SETTINGS, again=frame(0x42, 0, 1, b"x") * 500),
    "no streams": saying(frame(4, 0, 0, struct.pack(">HI", 3, 0)), frame(3, 0, 1, struct.pack(">I", 7))),
    "an end at once": over_tls(TlsStream.finish),
}


@pytest.mark.parametrize("how", HOSTILE)
async def test_a_hostile_server_is_not_known_and_no_trouble(how: str) -> None:
    with trio.fail_after(20):
        found = await asked(HOSTILE[how], NAMES[:1])
    assert isinstance(found["localhost"], Unknown), found


async def test_silence_ends_with_the_patience(clock: MockClock) -> None:
    found = await asked(saying(SETTINGS), NAMES[:2])
    assert found == dict.fromkeys(NAMES[:2], Unknown("no answer in time"))
    found = {}
    with closed_port() as closed:
        await heads(peer(closed), NAMES, [], found)
    assert list(found) == list(NAMES)
    assert all(isinstance(each, Unknown) for each in found.values())


async def test_what_was_answered_before_somebody_else_ended_it_is_kept(clock: MockClock) -> None:
    """The second request hangs."""
    attempts: list[Attempt] = []
    found: dict[str, Known[str]] = {}
    async with listening(saying(SETTINGS, frame(1, 5, 1, HEAD))) as server:
        with trio.move_on_after(1):
            await heads(peer(server.sockaddr), NAMES[:2], attempts, found)
    assert found == {"localhost": "200"}
    assert [each.reply for each in attempts] == ["cut off"]


class Wire(TlsSession):
    """Decrypted data in pieces; sent data is dropped."""

    __slots__ = ("pieces",)

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces

    async def send(self, data: bytes) -> None:
        assert data

    async def receive(self) -> bytes:
        if not self.pieces:
            raise Broken("fin")
        return self.pieces.pop(0)


FRAMES = st.builds(frame, st.integers(0, 10), st.integers(0, 255), st.integers(0, 5), st.binary(max_size=40))


def test_informational_answers_that_unfold_are_no_work() -> None:
    """One byte each of 1,400 fields, in 40 answers: a second of this machine's time, for 60 KiB of theirs."""
    pieces = [SETTINGS, *[frame(1, 4, 1, b"\x08\x03103" + b"\x82" * 1400)] * 40]
    wire = Wire(pieces)

    async def run() -> None:
        await _Shared(wire).head("localhost")

    with pytest.raises(Broken) as ended:
        trio.run(run)
    assert ended.value.text == "HTTP/2: too many frames or bytes"
    assert len(wire.pieces) == 40 - 11


@given(st.lists(st.one_of(FRAMES, st.binary(max_size=60)), max_size=12))
@at_most(300)
def test_whatever_comes_is_an_answer_or_broken(pieces: list[bytes]) -> None:
    async def run() -> None:
        shared = _Shared(Wire([SETTINGS, *pieces]))
        with suppress(Broken):
            assert isinstance(await shared.head("localhost"), str | Unknown)

    trio.run(run)


# --- beside the rest --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("alpn", "connections"), [("h2", 6), ("http/1.1", 4), (None, 4)])
async def test_it_is_asked_where_it_is_spoken(alpn: str | None, connections: int) -> None:
    """Over HTTP/1.1 one connection a request; over HTTP/2 one for this name and one for the neighbour."""
    evidence = Evidence(alpn=alpn)
    async with listening(answering(dict.fromkeys((*NAMES, NO_SUCH_NAME), "200"))) as server:
        question = Question(mode="inventory", authorities=("other.example",))
        await run_extra_checks(peer(server.sockaddr), question, evidence)
        assert server.connections == len(evidence.attempts) == connections
    shared = [(each.server_name, each.authority, each.answer) for each in evidence.answered if each.protocol == "h2"]
    pairs = [
        ("localhost", "localhost"),
        ("localhost", NO_SUCH_NAME),
        ("localhost", "other.example"),
        ("other.example",) * 2,
    ]
    assert shared == ([(*pair, f'200; etag: "{pair[1]}"') for pair in pairs] if alpn == "h2" else [])
