"""One request without TLS, to listeners that serve it, refuse it, and do neither."""

from __future__ import annotations

import pytest

from scanner.demo.listening import Part
from scanner.demo.tls_server import TlsSettings, tls_part
from scanner.model.known import Known, Unknown
from scanner.model.observation import Attempt
from scanner.probe.cleartext import cleartext
from tests.certs import Authority
from tests.probe.test_handshake import peer
from tests.servers import HTTP_400, abort, closed_port, drip, endless, finish, say, scripted, silent

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
REDIRECT = b"HTTP/1.1 301 Moved\r\nServer: x\r\nLocation: %s\r\n\r\n"


async def asked(part: Part, *, reads: bool = True, patience: float = 20.0) -> tuple[Known[str | None], list[Attempt]]:
    attempts: list[Attempt] = []
    async with scripted(part, reads_hello=reads) as server:
        found = await cleartext(peer(server.sockaddr, patience), attempts)
        assert (server.connections, len(attempts)) == (1, 1)
        if reads:
            (request,) = server.hellos
            assert request.startswith(b"HEAD / HTTP/1.1\r\nHost: localhost\r\n")
            assert b"cookie" not in request.lower()
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
        (b"HTTP/1.1 2000 OK\r\n\r\n", None),
        (b"\x15\x03\x03\x00\x02\x02\x0a", None),
        (b"", None),
    ],
)
async def test_the_first_line_and_where_a_redirect_leads(answer: bytes, found: str | None) -> None:
    assert (await asked(say(answer)))[0] == found


async def test_an_answer_in_pieces_is_read_whole() -> None:
    assert (await asked(drip(OK)))[0] == "HTTP/1.1 200"


@pytest.mark.parametrize("part", [finish, abort, endless(b"\x00" * 100, b"\x00" * 4096)])
async def test_other_ends_are_no_answer_in_http(part: Part) -> None:
    assert (await asked(part))[0] is None


async def test_silence_is_not_known() -> None:
    found, (attempt,) = await asked(silent, patience=0.1)
    assert isinstance(found, Unknown)
    assert attempt.reply == "no answer in time"


async def test_a_tls_server_does_not_serve_it() -> None:
    leaf = Authority("Cleartext").leaf(names=("localhost",))
    assert (await asked(tls_part(TlsSettings(credential=leaf)), reads=False))[0] is None


async def test_nobody_there() -> None:
    attempts: list[Attempt] = []
    with closed_port() as closed:
        assert isinstance(await cleartext(peer(closed), attempts), Unknown)
    assert attempts[0].reply == "closed"
