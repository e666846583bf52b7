"""Requests over TLS under one name for another."""

from __future__ import annotations

import pytest
import trio

from scanner.demo.listening import Handler
from scanner.demo.tls_server import TlsSettings, TlsStream, tls_context, tls_handler
from scanner.kube.maybe import Known, Unknown
from scanner.model.observation import Attempt
from scanner.probe.evidence import Evidence
from scanner.probe.http1 import content, head
from scanner.probe.observe import run_extra_checks
from scanner.probe.session import Question
from scanner.values import replace
from tests.certs import Authority
from tests.probe.peers import peer
from tests.servers import PATIENCE, closed_port, say, scripted, silent

pytestmark = pytest.mark.crypto

LEAF = Authority("Requests").leaf(names=("localhost",))


async def asked(part: Handler, *, reads: bool = False, seconds: float = 20.0) -> tuple[Known[str], list[Attempt]]:
    attempts: list[Attempt] = []
    async with scripted(part, reads_hello=reads) as server:
        found = await head(peer(server.sockaddr, seconds), "other.example", attempts)
    assert all(0 < each.seconds < PATIENCE for each in attempts)
    return found, attempts


def answering(said: bytes, *, again: bytes = b"") -> Handler:
    """These bytes inside of TLS, then ``again`` for ever, or an end."""
    context = tls_context(TlsSettings(credential=LEAF))

    async def part(transport: trio.SocketStream) -> None:
        stream = TlsStream(transport, context)
        try:
            await stream.do_handshake()
            await stream.receive_some()
            await stream.send_all(said)
            while again:
                await stream.send_all(again)
            await stream.finish()
        except trio.BrokenResourceError:
            await stream.aclose()

    return part


async def test_the_status_and_what_marks_the_content() -> None:
    """The demo's server answers every request alike."""
    found, (attempt,) = await asked(tls_handler(TlsSettings(credential=LEAF)))
    assert isinstance(found, str)
    assert found.startswith("200")
    assert attempt.offer == "HEAD for other.example as localhost"


def test_what_marks_a_content_is_kept_once_and_in_order() -> None:
    marks = (b"ETag", b"Location", b"Content-Type", b"Content-Length", b"Last-Modified", b"Server")
    fields = [(name, b"v") for name in (*marks, *marks, b"Date", b"Via")]
    cookie = [(b"Set-Cookie", b"id=7; Path=/"), (b"Set-Cookie", b"id=8")]
    assert content(b"200", fields + cookie) == (
        "200; content-length: v; content-type: v; etag: v; last-modified: v; location: v; server: v; set-cookie: id"
    )


async def test_what_is_no_answer_is_not_known() -> None:
    parts = [(say(b"\x15\x03\x03\x00\x02\x02\x28"), True), (silent, True)]
    for part, reads in parts:
        found, attempts = await asked(part, reads=reads, seconds=0.3)
        assert isinstance(found, Unknown)
        assert len(attempts) == 1
    with closed_port() as closed:
        assert isinstance(await head(peer(closed), "other.example", []), Unknown)


async def test_informational_answers_are_none() -> None:
    """RFC 9110, section 15.2: any number of them may come before the final one."""
    early = b"HTTP/1.1 103 Early Hints\r\nServer: x\r\n\r\n"
    assert (await asked(answering(early * 2 + b"HTTP/1.1 404 Not Found\r\nServer: y\r\n\r\n")))[0] == "404; server: y"
    assert isinstance((await asked(answering(early)))[0], Unknown)
    with trio.fail_after(20):
        found, _ = await asked(answering(early, again=early * 100))
    assert found == Unknown("only informational HTTP answers")


@pytest.mark.parametrize("more", [b"", b"Server: y\r\n" * 3000], ids=["cut off", "too long"])
async def test_half_an_answer_does_not_say_whose_it_is(more: bytes) -> None:
    found, _ = await asked(answering(b"HTTP/1.1 404 Not Found\r\nServer: y\r\n" + more))
    assert found == Unknown("incomplete HTTP answer, status 404")


async def test_who_requires_a_certificate_answers_nobody() -> None:
    settings = TlsSettings(credential=LEAF, client_certificate="required", client_ca=Authority("Clients").certificate)
    found, _ = await asked(tls_handler(settings))
    assert isinstance(found, Unknown)


async def test_each_neighbour_is_asked_here_and_at_home() -> None:
    evidence = Evidence()
    async with scripted(tls_handler(TlsSettings(credential=LEAF)), reads_hello=False) as server:
        question = Question(mode="inventory", authorities=("other.example",))
        await run_extra_checks(peer(server.sockaddr), question, evidence)
        assert server.connections == len(evidence.attempts) == 4
    assert [(each.server_name, each.authority) for each in evidence.answered] == [
        ("localhost", "localhost"),
        ("localhost", "no-such-name.adhere.invalid"),
        ("localhost", "other.example"),
        ("other.example", "other.example"),
    ]


async def test_without_a_name_there_is_none_of_its_own() -> None:
    evidence = Evidence()
    async with scripted(tls_handler(TlsSettings(credential=LEAF)), reads_hello=False) as server:
        question = Question(mode="inventory", authorities=("other.example",))
        nameless = replace(peer(server.sockaddr), server_name=None)
        await run_extra_checks(nameless, question, evidence)
    assert [(each.server_name, each.authority) for each in evidence.answered] == [
        ("", "no-such-name.adhere.invalid"),
        ("", "other.example"),
        ("other.example", "other.example"),
    ]
