"""One offer against sockets that answer in one stated way, whole and in pieces."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio
from trio.testing import MockClock

from scanner.demo.behaviours import after_hello
from scanner.demo.listening import Handler
from scanner.demo.tls_server import TlsSettings
from scanner.model.endpoint import Transport
from scanner.probe import candidates
from scanner.probe.dial import Where
from scanner.probe.exchange import BANNER, REPLY_LIMIT, Peer, cleaned, exchange
from scanner.probe.offers import Offer, Reply
from scanner.probe.refusal_evidence import Outcome, RefusalEvidence
from scanner.tls.certificate import CertificateMessage
from scanner.tls.codepoints import SSL2, SSL3, TLS10, TLS12, TLS13
from scanner.tls.flight import RETRY_RANDOM, CertificateRequest, ServerHello, ServerKeyExchange, Ssl2ServerHello
from scanner.tls.records import HANDSHAKE, encode_records
from scanner.values import replace
from tests.servers import (
    HTTP_400,
    MALFORMED,
    abort,
    alert,
    closed_port,
    drip,
    endless,
    filtered_port,
    flaky,
    say,
    scripted,
    silent,
    smtp,
    stall_after,
    tls_handler,
    tls_listener,
)
from tests.servers import ordinary as credential
from tests.tls.hello_codecs import push_retry_group, push_selected_version

pytestmark = pytest.mark.crypto

SUITE12, SUITE13, X25519, P256 = 0xC02F, 0x1301, 0x001D, 0x0017
OFFER12 = Offer("TLSv1.2", TLS12, candidates.suites(TLS12), candidates.groups(TLS12))
OFFER13 = Offer("TLSv1.3", TLS13, candidates.suites(TLS13), candidates.groups(TLS13))

HELLO12 = ServerHello(version=TLS12, random=bytes(32), suite=SUITE12).encode()
CHAIN = (b"leaf", b"issuer")
EXCHANGE = ServerKeyExchange(kind="ecdhe", group=P256, public=b"\x04" + bytes(64), signed=bytes(8)).encode()
DONE = b"\x0e\x00\x00\x00"
ASKING = CertificateRequest(types=b"\x01", schemes=(0x0403,)).encode()


def flight12(*extra: bytes, hello: bytes = HELLO12) -> bytes:
    """A server's first flight of TLS 1.2, ServerHello to ServerHelloDone, in one record."""
    messages = (hello, CertificateMessage(chain=CHAIN).encode(), EXCHANGE, *extra, DONE)
    return encode_records(HANDSHAKE, TLS12, b"".join(messages))


def retry(group: int = X25519) -> bytes:
    """A HelloRetryRequest."""
    extensions = (push_selected_version(TLS13), push_retry_group(group))
    hello = ServerHello(version=TLS12, random=RETRY_RANDOM, suite=SUITE13, extensions=extensions)
    return encode_records(HANDSHAKE, TLS12, hello.encode())


def selecting(version: int) -> bytes:
    """A ServerHello, and no more, of ``version``."""
    return encode_records(HANDSHAKE, TLS12, ServerHello(version=version, random=bytes(32), suite=SUITE12).encode())


def peer(sockaddr: tuple[str, int], seconds: float = 20.0, transport: Transport = "tls") -> Peer:
    where = Where(address=sockaddr[0], port=sockaddr[1], timeout=seconds)
    return Peer(where=where, server_name="localhost", transport=transport)


SHORT = 0.15
"""Seconds to wait for what never comes."""


async def asked(
    script: Handler,
    offer: Offer = OFFER12,
    seconds: float = 20.0,
    *,
    reads_hello: bool = True,
    transport: Transport = "tls",
) -> Reply:
    """The reply to an offer from ``script``."""
    async with scripted(script, reads_hello=reads_hello) as server:
        reply = await exchange(peer(server.sockaddr, seconds, transport), offer)
    return reply._replace(seconds=0.0)


PIECES = pytest.mark.parametrize("pieces", [say, drip], ids=["whole", "byte by byte"])
Pieces = Callable[[bytes], Handler]


# --- answers --------------------------------------------------------------------------------------------------------


@PIECES
async def test_tls12(pieces: Pieces) -> None:
    assert await asked(pieces(flight12())) == Reply(
        "hello", version=TLS12, suite=SUITE12, group=P256, done=True, chain=CHAIN, certificate_requested=False
    )


@PIECES
async def test_tls12_that_asks_for_a_certificate(pieces: Pieces) -> None:
    assert (await asked(pieces(flight12(ASKING)))).certificate_requested is True


@PIECES
async def test_hello_retry_request(pieces: Pieces) -> None:
    reply = await asked(pieces(retry()), OFFER13)
    assert reply == Reply("hello", version=TLS13, suite=SUITE13, group=X25519)
    assert reply.accepted


@PIECES
@pytest.mark.parametrize("number", [0, 40, 70, 80, 112])
async def test_alerts(pieces: Pieces, number: int) -> None:
    assert await asked(pieces(alert(number))) == Reply("alert", alert=number)


async def test_a_warning_does_not_hide_the_answer_behind_it() -> None:
    reply = await asked(say(alert(112, level=1) + flight12()))
    assert reply.accepted
    assert reply.alert == 112


async def test_a_warning_alone_is_the_answer() -> None:
    assert await asked(say(alert(112, level=1))) == Reply("alert", alert=112)


@PIECES
async def test_sslv2(pieces: Pieces) -> None:
    hello = Ssl2ServerHello(version=SSL2, certificate=b"x", suites=(0x010080,)).encode()
    record = (0x8000 | len(hello)).to_bytes(2, "big") + hello
    assert await asked(pieces(record), Offer("SSLv2", SSL2, (), ()), reads_hello=False) == Reply(
        "hello", version=SSL2, done=True
    )


async def test_an_sslv2_error_is_named() -> None:
    reply = await asked(say(b"\x80\x03\x00\x00\x01"), Offer("SSLv2", SSL2, (), ()), reads_hello=False)
    assert reply == Reply("malformed", text="SSLv2 error 1")


@pytest.mark.parametrize("version", [SSL3, TLS10])
async def test_an_older_version_than_offered(version: int) -> None:
    assert (await asked(say(selecting(version)))).version == version


@pytest.mark.parametrize("version", [TLS13, 0x03FF])
async def test_a_version_that_was_not_offered_is_no_answer(version: int) -> None:
    reply = await asked(say(selecting(version)))
    assert reply.ending == "malformed"
    assert "not offered" in reply.text


@pytest.mark.parametrize("version", [TLS10, TLS12])
async def test_a_later_version_than_offered_says_that_the_older_one_is_not_spoken(version: int) -> None:
    """node-forge answers a hello of SSLv3 with TLS 1.0."""
    reply = await asked(say(selecting(version)), Offer("SSLv3", SSL3, (0x002F,), ()))
    assert (reply.ending, reply.accepted) == ("unoffered", False)
    assert RefusalEvidence().outcome(reply) is Outcome.REFUSED


async def test_only_what_is_needed_is_sent() -> None:
    async with scripted(say(flight12())) as server:
        await exchange(peer(server.sockaddr), OFFER12)
        assert server.connections == 1
    assert len(server.hellos) == 1
    assert server.hellos[0][0] == HANDSHAKE


# --- what is broken off ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("then", "ending", "text"),
    [
        (say(selecting(TLS12)), "hello", "ServerHello, then fin"),
        (drip(selecting(TLS12) + flight12()[:-1]), "hello", "ServerHello, then fin"),
        (say(selecting(TLS12) + b"\x16\x03\x03\x00\x04\x7f\x00\x00\x00"), "hello", "handshake message 127"),
        (say(selecting(TLS12)[:-1]), "fin", ""),
        (say(b""), "fin", ""),
        (abort, "rst", ""),
    ],
)
async def test_a_server_that_dies_midway(then: Handler, ending: str, text: str) -> None:
    reply = await asked(then)
    assert reply.ending == ending
    assert text in reply.text
    assert not reply.accepted


async def test_an_alert_behind_the_hello_is_kept() -> None:
    """Go chooses before it finds out that it cannot sign."""
    reply = await asked(say(selecting(TLS12) + alert(40)))
    assert (reply.ending, reply.alert, reply.accepted) == ("hello", 40, False)


async def test_silence_after_half_an_answer(clock: MockClock) -> None:
    reply = await asked(stall_after(selecting(TLS12)))
    assert (reply.ending, reply.accepted, reply.text) == ("hello", False, "ServerHello, then silence")
    assert await asked(stall_after(selecting(TLS12)[:20])) == Reply("silence")


async def test_silence() -> None:
    async with scripted(silent) as server:
        reply = await exchange(peer(server.sockaddr, SHORT), OFFER12)
    assert reply.ending == "silence"
    assert reply.seconds >= SHORT


async def test_no_connection() -> None:
    with closed_port() as closed:
        assert (await exchange(peer(closed), OFFER12)).ending == "closed"
    with filtered_port() as filtered:
        assert (await exchange(peer(filtered, SHORT), OFFER12)).ending == "filtered"


async def test_reset_is_no_close() -> None:
    async with scripted(flaky(1, after_hello(say(b""))), reads_hello=False) as server:
        endings = [(await exchange(peer(server.sockaddr), OFFER12)).ending for _ in range(2)]
    assert endings == ["rst", "fin"]


# --- hostile ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "server",
    [
        endless(),
        endless(selecting(TLS12), alert(112, level=1) * 1000),
        endless(b"", b"\x14\x03\x03\x00\x01\x01" * 1000),
        endless(selecting(TLS12), b"\x16\x03\x03\x00\x04\x00\x00\x00\x00" * 1000),
    ],
    ids=["a certificate of 16 MiB", "warnings", "ChangeCipherSpec", "HelloRequests"],
)
async def test_an_answer_without_end_is_cut(server: Handler) -> None:
    async with scripted(server) as listener:
        reply = await exchange(peer(listener.sockaddr), OFFER12)
        with trio.fail_after(20):
            while listener.listening.open:  # until the RST has come that ends such a server
                await trio.lowlevel.checkpoint()
    assert not reply.accepted
    assert str(REPLY_LIMIT) in reply.text or reply.ending == "alert"


@PIECES
async def test_garbage(pieces: Pieces) -> None:
    for garbage in (
        MALFORMED,
        b"\x16\x03\x03\x00\x00",
        b"\x16\x04",
        b"\x00" * 64,
        b"\xff" * 64,
        b"\x17\x03\x03\x00\x01x",
    ):
        assert (await asked(pieces(garbage))).ending == "malformed", garbage


# --- plaintext ------------------------------------------------------------------------------------------------------

SPOKEN = [
    (HTTP_400, "http", "HTTP/"),
    (b"SSH-2.0-OpenSSH_9.2p1\r\n", "ssh", "SSH-2"),
    (b"-ERR unknown command\r\n", "redis", "-ERR"),
    (b"RFB 003.008\n", "vnc", "RFB"),
    (b"Who are you?\n", None, "Who are you?"),
    (b"no newline", None, "no newline"),
]


@PIECES
@pytest.mark.parametrize(("said", "protocol", "text"), SPOKEN, ids=[str(row[1]) for row in SPOKEN])
async def test_plaintext_is_recognised(pieces: Pieces, said: bytes, protocol: str | None, text: str) -> None:
    reply = await asked(pieces(said))
    assert (reply.ending, reply.protocol) == ("plaintext", protocol)
    assert reply.text.startswith(text)


async def test_who_greets_and_waits_is_not_waited_for() -> None:
    async with scripted(stall_after(b"220 mail.example ESMTP\r\n"), reads_hello=False) as server:
        reply = await exchange(peer(server.sockaddr), OFFER12)
    assert (reply.ending, reply.protocol) == ("plaintext", "smtp")
    assert reply.seconds < 10


@pytest.mark.parametrize("then", [silent, abort])
async def test_what_was_said_counts_whatever_comes_then(then: Handler, clock: MockClock) -> None:
    async def part(stream: trio.SocketStream) -> None:
        await stream.send_all(b"login: ")
        await then(stream)

    reply = await asked(part)
    assert (reply.ending, reply.text) in [("plaintext", "login:"), ("rst", "")]
    assert reply.ending == "plaintext" or then is abort  # an RST may overtake what was said


async def test_a_banner_is_short_and_cannot_be_obeyed() -> None:
    reply = await asked(say(b"220 \x1b[2J\x00 smtp\r\n" + b"x" * 5000))
    assert reply.text.startswith("220 \\x1b[2J\\x00 smtp xxx")
    assert reply.text.isprintable()
    assert len(reply.text) <= BANNER * 4


def test_cleaned() -> None:
    assert cleaned(" a\r\n\tb \x07\u202e\x7f") == "a b \\x07\\x202e\\x7f"


# --- STARTTLS -------------------------------------------------------------------------------------------------------


async def test_starttls_comes_first() -> None:
    async with scripted(smtp(tls_part_of_ordinary()), reads_hello=False) as server:
        reply = await exchange(peer(server.sockaddr, transport="smtp"), OFFER12)
    assert (reply.ending, reply.version, reply.done) == ("hello", TLS12, True)
    assert reply.chain == (credential().der,)


def tls_part_of_ordinary() -> Handler:
    return tls_handler(TlsSettings(credential=credential()))


@pytest.mark.parametrize(
    ("script", "ending", "text"),
    [
        (say(b"554 no service\r\n"), "declined", "greeting: 554 no service"),
        (say(b""), "fin", ""),
        (abort, "rst", ""),
        (say(b"HTTP/1.1 400 Bad Request\r\n"), "malformed", "invalid reply"),
        (endless(b"220-x\r\n", b"220-x\r\n" * 1000), "malformed", "more than"),
        (say(b"220 ready\r\n250 too early\r\n"), "malformed", "before they were asked for"),
    ],
)
async def test_starttls_that_does_not_come_about(script: Handler, ending: str, text: str) -> None:
    reply = await asked(script, reads_hello=False, transport="smtp")
    assert reply.ending == ending
    assert text in reply.text
    assert reply.protocol == ("smtp" if ending == "declined" else None)


# --- real TLS -------------------------------------------------------------------------------------------------------


async def test_a_real_server() -> None:
    async with tls_listener() as server:
        for offer, done in ((OFFER12, True), (OFFER13, False), (replace(OFFER13, shares="common"), False)):
            reply = await exchange(peer(server.sockaddr), offer)
            assert (reply.ending, reply.version, reply.done) == ("hello", offer.version, done)
            assert reply.suite in offer.suites
            assert reply.group in candidates.groups(TLS13)
        assert server.connections == 3
