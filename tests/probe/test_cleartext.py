"""One request without TLS, to listeners that serve it, refuse it, and do neither."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from scanner.demo.listening import Handler
from scanner.demo.tls_server import TlsSettings, tls_handler
from scanner.kube.maybe import Known, Unknown
from scanner.model.observation import Attempt
from scanner.probe.dial import Connection
from scanner.probe.http1 import cleartext, plain_port
from scanner.values import replace
from tests.certs import Authority
from tests.probe.peers import peer
from tests.servers import (
    HTTP_400,
    PATIENCE,
    abort,
    closed_port,
    drip,
    endless,
    finish,
    say,
    scripted,
    silent,
    stall_after,
)

pytestmark = pytest.mark.crypto

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
EARLY = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
REDIRECT = b"HTTP/1.1 301 Moved\r\nServer: x\r\nLocation: %s\r\n\r\n"


async def asked(
    part: Handler, *, reads: bool = True, seconds: float = 20.0, times: int = 1
) -> tuple[Known[str | None], list[Attempt]]:
    attempts: list[Attempt] = []
    async with scripted(part, reads_hello=reads) as server:
        found = await cleartext(peer(server.sockaddr, seconds), attempts)
        assert (server.connections, len(attempts)) == (times, times)
        if reads:
            request = server.hellos[0]
            assert request.startswith(b"HEAD / HTTP/1.1\r\nHost: localhost\r\n")
            assert b"cookie" not in request.lower()
    assert all(0 <= each.seconds < PATIENCE for each in attempts)
    return found, attempts


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (OK, "HTTP/1.1 200"),
        (HTTP_400, "HTTP/1.1 400"),
        (REDIRECT % b"https://localhost/", "HTTP/1.1 301 to https"),
        (REDIRECT % b"http://localhost/", "HTTP/1.1 301 to http"),
        (REDIRECT % b"/elsewhere", "HTTP/1.1 301"),
        (b"HTTP/1.0 503 \r\n", "HTTP/1.0 503"),
        (b"HTTP/1.1 301 Moved\r\n\r\n\r\nLocation: https://localhost/\r\n\r\n", "HTTP/1.1 301"),
        (b"HTTP/1.1 301 Moved\r\n" + b"X: y\r\n" * 1000 + b"Location: https://x/\r\n\r\n", "HTTP/1.1 301 to https"),
        (EARLY + OK, "HTTP/1.1 200"),
        (EARLY * 3 + REDIRECT % b"https://localhost/", "HTTP/1.1 301 to https"),
        (EARLY * 200 + REDIRECT % b"http://localhost/", "HTTP/1.1 301 to http"),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "HTTP/1.1 101"),
        (b"\x15\x03\x03\x00\x02\x02\x0a", None),
        (b"SSH-2.0-x\r\n", None),
    ],
)
async def test_the_first_line_and_where_a_redirect_leads(answer: bytes, found: str | None) -> None:
    assert (await asked(say(answer)))[0] == found


async def test_an_answer_in_pieces_is_read_whole() -> None:
    assert (await asked(drip(OK)))[0] == "HTTP/1.1 200"


@pytest.mark.parametrize("half", [b"HTTP/1.1 301 Moved\r\n", b"HTTP/1.1 302 \r\nServer: x\r\nLocation: htt"])
async def test_half_of_a_redirect_does_not_say_where_it_leads(half: bytes, clock: MockClock) -> None:
    """Neither that it stays without TLS nor that it does not."""
    assert isinstance((await asked(say(half)))[0], Unknown)
    assert isinstance((await asked(stall_after(half)))[0], Unknown)
    assert (await asked(say(half.replace(b" 30", b" 20"))))[0] in ("HTTP/1.1 201", "HTTP/1.1 202")


async def test_what_is_cut_off_from_outside_is_an_attempt_too(clock: MockClock) -> None:
    attempts: list[Attempt] = []
    async with scripted(silent) as server:
        with trio.move_on_after(1):
            await cleartext(peer(server.sockaddr), attempts)
        assert server.connections == 1
    assert [each.reply for each in attempts] == ["cut off"]


@pytest.mark.parametrize(("part", "times"), [(finish, 5), (abort, 5), (endless(b"\x00" * 100, b"\x00" * 4096), 1)])
async def test_other_ends_are_no_answer_in_http(part: Handler, times: int) -> None:
    assert (await asked(part, times=times))[0] is None


@pytest.mark.parametrize("first", [finish, abort])
async def test_one_end_without_a_word_is_no_answer(first: Handler) -> None:
    """Servers that have no room end one connection and serve the next."""
    seen: list[int] = []

    async def flaky(stream: trio.SocketStream) -> None:
        seen.append(1)
        await (first if len(seen) == 1 else say(OK))(stream)

    assert (await asked(flaky, times=2))[0] == "HTTP/1.1 200"


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 20",
        b"<html>Hello</html>",
        b"\x00\x00\x00\x04\x00\x00\x00\x00\x00",
        EARLY,
        EARLY * 2 + b"HTTP/1.1 2",
    ],
    ids=["a wrong status", "half a status", "no status", "HTTP/2", "informational only", "half behind informational"],
)
async def test_what_begins_like_http_is_not_known_and_no_refusal(answer: bytes) -> None:
    assert isinstance((await asked(say(answer)))[0], Unknown)


async def test_informational_answers_without_end_are_not_known() -> None:
    found, (attempt,) = await asked(endless(EARLY, EARLY * 100))
    assert isinstance(found, Unknown)
    assert attempt.reply == "only informational HTTP answers"


async def test_silence_is_not_known(clock: MockClock) -> None:
    found, (attempt,) = await asked(silent)
    assert isinstance(found, Unknown)
    assert attempt.reply == "no answer in time"


async def test_a_tls_server_does_not_serve_it() -> None:
    leaf = Authority("Cleartext").leaf(names=("localhost",))
    assert (await asked(tls_handler(TlsSettings(credential=leaf)), reads=False, times=5))[0] is None


# --- the port beside it -----------------------------------------------------------------------------------------------


async def beside(part: Handler, path: str = "/", *, seconds: float = 20.0) -> tuple[Known[str | None], bytes]:
    """The port beside the TLS port is closed."""
    attempts: list[Attempt] = []
    with closed_port() as closed:
        async with scripted(part, address=closed[0]) as server:
            found = await plain_port(peer(closed, seconds), server.port, path, attempts)
            assert (server.connections, len(attempts)) == (1, 1)
            assert attempts[0].offer == f"HEAD without TLS to port {server.port} for localhost"
    return found, server.hellos[0]


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (OK, "HTTP/1.1 200"),
        (REDIRECT % b"HTTPS://Localhost:8443/x", "HTTP/1.1 301 to https://localhost:8443"),
        (REDIRECT % b"https://\x1b[2J", "HTTP/1.1 301 to https"),
        (REDIRECT % b"http://localhost/", "HTTP/1.1 301 to http://localhost"),
        (b"HTTP/1.1 200 OK\r\nLocation: https://localhost/\r\n\r\n", "HTTP/1.1 200"),
        (b"SSH-2.0-x\r\n", None),
    ],
)
async def test_the_port_beside_it_says_where_a_redirect_leads(answer: bytes, found: str | None) -> None:
    assert (await beside(say(answer)))[0] == found


@pytest.mark.parametrize(
    ("path", "asked_for"),
    [("/blog?x=1", b"/blog?x=1"), ("/a b", b"/"), ("/\r\nX: y", b"/"), ("blog", b"/"), ("", b"/")],
)
async def test_a_path_is_asked_for_that_is_one(path: str, asked_for: bytes) -> None:
    _, request = await beside(say(OK), path)
    assert request.startswith(b"HEAD " + asked_for + b" HTTP/1.1\r\nHost: localhost\r\n")
    assert request.count(b"\r\n") == 5


async def test_nobody_at_the_port_beside_it_serves_nothing(clock: MockClock) -> None:
    with closed_port() as tls, closed_port() as plain:
        assert await plain_port(peer(tls), plain[1], "/", []) is None
    assert isinstance((await beside(silent))[0], Unknown)


async def test_through_a_tunnel_no_other_port_is_asked() -> None:
    async def dialer() -> Connection:
        raise AssertionError

    through = peer(("127.0.0.1", 443))
    attempts: list[Attempt] = []
    tunnelled = replace(through, where=replace(through.where, dialer=dialer))
    found = await plain_port(tunnelled, 80, "/", attempts)
    assert isinstance(found, Unknown)
    assert attempts == []


async def test_nobody_there() -> None:
    attempts: list[Attempt] = []
    with closed_port() as closed:
        assert isinstance(await cleartext(peer(closed), attempts), Unknown)
    assert attempts[0].reply == "closed"
