"""Full handshakes with real TLS servers, with servers that only begin like one, and with none."""

from __future__ import annotations

from contextlib import suppress
from threading import get_ident
from typing import Literal

import pytest
import trio
from OpenSSL import SSL
from trio.testing import MockClock

from scanner.demo.behaviours import smtp
from scanner.demo.listening import Handler
from scanner.demo.tls_server import TlsSettings, TlsStream, can_choose_groups, tls_context, tls_handler
from scanner.kube.maybe import Unknown
from scanner.probe.dial import Broken, Connection, Where, connect
from scanner.probe.engine import HandshakeEvents, reason, suites_for
from scanner.probe.exchange import Peer
from scanner.probe.handshake import MIN_CLOSE_WAIT, FullHandshake, handshake
from scanner.probe.offers import EngineSuites
from scanner.tls.certificate import CertificateMessage, parse_certificate
from scanner.tls.client_hello import ClientHello
from scanner.tls.codepoints import TLS12, TLS13
from scanner.tls.flight import ServerHello, ServerKeyExchange
from scanner.tls.records import HANDSHAKE, encode_records
from scanner.values import replace
from tests.certs import HOSTILE_NAMES, Authority, hostile, weakly_signed
from tests.probe.peers import Cut, NoMore, authority, first_flight_only, peer
from tests.servers import (
    HTTP_400,
    MALFORMED,
    abort,
    alert,
    balanced,
    closed_port,
    drip,
    endless,
    filtered_port,
    listening,
    ordinary,
    say,
    scripted,
    silent,
)

pytestmark = pytest.mark.crypto

VERSIONS = pytest.mark.parametrize("version", [TLS12, TLS13], ids=["TLSv1.2", "TLSv1.3"])
SHORT = 0.15
"""Seconds to wait for what never comes."""


async def with_settings(settings: TlsSettings) -> FullHandshake:
    async with listening(tls_handler(settings)) as server:
        return await handshake(peer(server.sockaddr))


async def with_script(script: Handler, *, seconds: float = 20.0, reads_hello: bool = True) -> FullHandshake:
    async with scripted(script, reads_hello=reads_hello) as server:
        return await handshake(peer(server.sockaddr, seconds))


# --- what a whole handshake shows -----------------------------------------------------------------------------------


@VERSIONS
async def test_version_suite_and_chain(version: int) -> None:
    issuer = Authority("Intermediate", issuer=authority())
    leaf = issuer.leaf(names=("localhost",))
    full = await with_settings(
        TlsSettings(
            credential=leaf,
            min_version=version,
            max_version=version,
            ciphers="ECDHE-ECDSA-AES256-GCM-SHA384",
            tls13_suites="TLS_CHACHA20_POLY1305_SHA256",
            groups="P-384",
        )
    )
    assert full.completed
    assert full.failure is None
    assert full.summary == "completed"
    assert full.negotiated is not None
    assert full.negotiated.version == version
    assert full.negotiated.suite == (0xC02C if version == TLS12 else 0x1303)
    assert full.negotiated.group in (0x0018, None)  # None: pyOpenSSL below cryptography 50 has no accessor
    assert full.chain == (leaf.der, issuer.der)
    assert full.client_certificate == "none"
    assert full.alpn is None
    assert not full.ocsp_stapled
    assert 0 < full.seconds < 20


async def test_the_chain_is_kept_as_sent_also_in_the_wrong_order() -> None:
    """All served certificates are judged, also roots and unrelated ones."""
    untrusted_identity = Authority("Stranger")
    leaf = authority().leaf(names=("localhost",))
    sent = type(leaf)(
        certificate=leaf.certificate, key=leaf.key, issuers=(untrusted_identity.certificate, authority().certificate)
    )
    for version in (TLS12, TLS13):
        full = await with_settings(TlsSettings(credential=sent, min_version=version, max_version=version))
        assert full.chain == (leaf.der, untrusted_identity.der, authority().der)


@pytest.mark.skipif(not can_choose_groups(), reason="this build of cryptography cannot choose groups")
@pytest.mark.parametrize(
    ("name", "code"),
    [("X25519MLKEM768", 0x11EC), ("SecP256r1MLKEM768", 0x11EB), ("MLKEM768", 0x0201), ("X448", 30), ("P-521", 25)],
)
async def test_every_group_is_offered_and_named(name: str, code: int) -> None:
    full = await with_settings(TlsSettings(credential=ordinary(), min_version=TLS13, groups=name))
    assert full.negotiated is not None, full.failure
    assert full.negotiated.group == code


@pytest.mark.parametrize(
    ("served", "selected"),
    [((b"h2", b"http/1.1"), "h2"), ((b"http/1.1",), "http/1.1"), ((b"acme-tls/1",), None), ((), None)],
)
@VERSIONS
async def test_alpn(version: int, served: tuple[bytes, ...], selected: str | None) -> None:
    full = await with_settings(
        TlsSettings(credential=ordinary(), alpn=served, min_version=version, max_version=version)
    )
    assert full.completed
    assert full.alpn == selected


async def test_a_server_that_insists_on_another_protocol_is_asked_without_alpn() -> None:
    """RFC 7301, section 3.2: no_application_protocol."""
    async with scripted(say(alert(120))) as server:
        full = await handshake(peer(server.sockaddr))
        assert server.connections == 2
    assert full.alert == 120
    assert b"\x02h2\x08http/1.1" in server.hellos[0]
    assert b"http/1.1" not in server.hellos[1]
    good = tls_handler(TlsSettings(credential=ordinary()))

    async def refuse(stream: trio.SocketStream) -> None:
        await stream.receive_some(65536)
        await say(alert(120))(stream)

    assert (await with_script(balanced(refuse, good), reads_hello=False)).completed


@VERSIONS
async def test_an_ocsp_staple(version: int) -> None:
    settings = TlsSettings(
        credential=ordinary(), ocsp_response=b"\x30\x03\x0a\x01\x01", min_version=version, max_version=version
    )
    assert (await with_settings(settings)).ocsp_stapled


# --- client certificates --------------------------------------------------------------------------------------------


@VERSIONS
@pytest.mark.parametrize("wanted", ["none", "requested", "required"])
async def test_client_certificates(version: int, wanted: Literal["none", "requested", "required"]) -> None:
    full = await with_settings(
        TlsSettings(
            credential=ordinary(),
            min_version=version,
            max_version=version,
            client_certificate=wanted,
            client_ca=authority().certificate if wanted != "none" else None,
            alpn=(b"h2",),
        )
    )
    assert full.client_certificate == wanted
    assert full.negotiated is not None
    assert full.negotiated.version == version
    assert full.chain == (ordinary().der,)
    assert full.completed == (wanted != "required" or version == TLS13)
    assert full.alert == ({TLS12: 40, TLS13: 116}[version] if wanted == "required" else None)


async def test_a_server_that_asks_and_then_says_nothing(clock: MockClock) -> None:
    """TLS 1.3 without an answer to our Finished: whether the server requires a certificate is unknown, however long one
    waits."""
    full = await with_script(first_flight_only(await_more=True), reads_hello=False)
    assert full.completed
    assert full.seconds < 2 * MIN_CLOSE_WAIT
    assert full.summary == "completed"
    assert isinstance(full.client_certificate, Unknown)
    assert full.chain == (ordinary().der,)


async def test_a_server_that_asks_and_then_hangs_up() -> None:
    full = await with_script(first_flight_only(await_more=False), reads_hello=False)
    assert full.completed
    assert isinstance(full.client_certificate, Unknown)


async def test_a_complete_handshake_ends_in_good_order() -> None:
    """By FIN: a server may log a reset as a failure."""
    received, ended = [], trio.Event()
    context = tls_context(TlsSettings(credential=ordinary(), max_version=TLS12))

    async def part(transport: trio.SocketStream) -> None:
        await TlsStream(transport, context).do_handshake()
        with suppress(trio.BrokenResourceError):
            received.append(await transport.receive_some(1))
        ended.set()

    async with scripted(part, reads_hello=False) as server:
        assert (await handshake(peer(server.sockaddr))).completed
        await ended.wait()
    assert received == [b""]


async def test_who_answers_the_goodbye_goes_on_without_a_certificate() -> None:
    """Without a session ticket, which would show the same."""
    context = tls_context(TlsSettings(credential=ordinary(), max_version=TLS12))
    context.set_options(SSL.OP_NO_TICKET)
    context.set_verify(SSL.VERIFY_PEER, lambda *_: True)

    async def part(transport: trio.SocketStream) -> None:
        stream = TlsStream(transport, context)
        await stream.do_handshake()
        await stream.receive_some()
        await stream.finish()

    full = await with_script(part, reads_hello=False)
    assert (full.completed, full.settled, full.client_certificate) == (True, True, "requested")


async def test_an_alert_that_came_before_our_goodbye_is_read() -> None:
    """The server sent it and reset the connection: sending fails from then on, and what it said can still be read."""
    settings = TlsSettings(
        credential=ordinary(),
        min_version=TLS13,
        client_certificate="required",
        client_ca=authority().certificate,
    )
    async with listening(tls_handler(settings)) as server:
        where = peer(server.sockaddr).where
        lines: list[NoGoodbye] = []

        async def dialer() -> NoGoodbye:
            lines.append(NoGoodbye(await connect(where)))
            return lines[-1]

        full = await handshake(Peer(where=replace(where, dialer=dialer), server_name="localhost"))
    assert [line.sent for line in lines] == [3], "ClientHello, Finished and the goodbye"
    assert full.completed
    assert full.client_certificate == "required"
    assert full.alert == 116


class NoGoodbye:
    """A connection that takes the ClientHello and the Finished, and is broken for whatever is sent after them."""

    def __init__(self, line: Connection) -> None:
        self.line = line
        self.sent = 0

    async def send(self, data: bytes) -> None:
        self.sent += 1
        if self.sent > 2:
            raise Broken("rst")
        await self.line.send(data)

    async def receive(self) -> bytes:
        return await self.line.receive()

    def close(self) -> None:
        self.line.close()

    def abort(self) -> None:
        self.line.abort()


async def test_a_server_hello_alone_negotiates_nothing() -> None:
    """It says which suite was chosen; whether the handshake goes on with it nothing shows."""
    whole = tls_handler(TlsSettings(credential=ordinary(), max_version=TLS12))

    async def part(stream: trio.SocketStream) -> None:
        flight = Flight(stream)
        with pytest.raises(NoMore):
            await whole(flight)  # type: ignore[arg-type]
        size = 9 + int.from_bytes(flight.sent[6:9])  # one record's header, one handshake message's, and its content
        await stream.send_all(flight.sent[:3] + (size - 5).to_bytes(2) + flight.sent[5:size])

    full = await with_script(part, reads_hello=False)
    assert full.negotiated is None
    assert full.ending == "fin"


class Flight(Cut):
    """A stream that keeps what is sent."""

    sent = b""

    async def send_all(self, data: bytes) -> None:
        self.sent += data


# --- what goes wrong ------------------------------------------------------------------------------------------------


async def test_a_refusal() -> None:
    full = await with_script(say(alert(40)))
    assert (full.alert, full.failure, full.completed) == (40, "alert 40 handshake_failure", False)
    assert full.negotiated is None
    assert full.chain == ()
    assert isinstance(full.client_certificate, Unknown)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (say(b""), "the connection ended: fin"),
        (abort, "the connection ended: rst"),
        (say(MALFORMED), ""),
        (drip(MALFORMED), ""),
        (say(HTTP_400), "wrong version number"),
        (say(b"\x16\x03\x03\x40\x00" + bytes(2**14)), ""),
        (say(b"\x80" * 100), ""),
        (endless(), ""),
    ],
)
async def test_garbage(script: Handler, reason: str) -> None:
    full = await with_script(script)
    assert not full.completed
    assert full.failure
    assert reason in full.failure
    assert full.negotiated is None


async def test_who_sends_garbage_gets_an_alert() -> None:
    received, ended = bytearray(), trio.Event()

    async def part(stream: trio.SocketStream) -> None:
        await stream.send_all(MALFORMED)
        with suppress(trio.BrokenResourceError):
            received.extend(await stream.receive_some(100))
        ended.set()

    async with scripted(part) as server:
        await handshake(peer(server.sockaddr))
        await ended.wait()
    assert received[:1] == b"\x15"


@pytest.mark.parametrize(
    ("error", "alert_seen", "words"),
    [
        (SSL.Error([("", "", "one"), ("", "", "two")]), None, "one; two"),
        (SSL.Error([("", "", "one"), ()]), 40, "alert 40 handshake_failure"),
        (SSL.Error(), None, "Error"),
        (SSL.Error("no list"), None, "Error"),
        (SSL.SysCallError(-1, "Unexpected EOF"), None, "SysCallError"),
    ],
)
def test_the_reason_of_a_failed_handshake(error: SSL.Error, alert_seen: int | None, words: str) -> None:
    assert reason(error, HandshakeEvents(alert=alert_seen)) == words


async def test_no_more_is_read_than_a_handshake_has() -> None:
    """HelloRequests without end, which OpenSSL skips for as long as they come."""
    async with scripted(endless(b"", b"\x16\x03\x03\x00\x04\x00\x00\x00\x00" * 2000)) as server:
        full = await handshake(peer(server.sockaddr))
        with trio.fail_after(20):
            while server.listening.open:  # until our RST
                await trio.lowlevel.checkpoint()
    assert full.failure == "the connection ended: malformed more than 524288 bytes in a handshake"


async def test_silence() -> None:
    full = await with_script(silent, seconds=SHORT)
    assert full.failure == "no answer in time"
    assert full.seconds >= SHORT


async def test_no_connection() -> None:
    with closed_port() as closed:
        assert (await handshake(peer(closed))).failure == "the connection ended: closed"
    with filtered_port() as filtered:
        assert (await handshake(peer(filtered, SHORT))).failure == "no answer in time"


async def test_one_bad_handshake_leaves_no_trace_in_the_next() -> None:
    """OpenSSL keeps its errors per thread, not per connection."""
    async with scripted(say(MALFORMED)) as bad, listening(tls_handler(TlsSettings(credential=ordinary()))) as good:
        for _ in range(5):
            assert not (await handshake(peer(bad.sockaddr))).completed
            assert (await handshake(peer(good.sockaddr))).completed


async def test_many_at_once() -> None:
    settings = TlsSettings(
        credential=ordinary(), client_certificate="requested", client_ca=authority().certificate, alpn=(b"h2",)
    )
    found: list[FullHandshake] = []
    async with listening(tls_handler(settings)) as asking, scripted(say(alert(40))) as refusing:

        async def one(sockaddr: tuple[str, int]) -> None:
            found.append(await handshake(peer(sockaddr)))

        async with trio.open_nursery() as nursery:
            for _ in range(10):
                nursery.start_soon(one, asking.sockaddr)
                nursery.start_soon(one, refusing.sockaddr)
    assert sorted(str(full.client_certificate) for full in found if full.completed) == ["requested"] * 10
    assert [full.alert for full in found if not full.completed] == [40] * 10


# --- certificates that are not nice ---------------------------------------------------------------------------------


@VERSIONS
async def test_a_certificate_with_hostile_names(version: int) -> None:
    leaf = hostile(authority())
    full = await with_settings(TlsSettings(credential=leaf, min_version=version, max_version=version))
    assert full.completed
    assert full.chain == (leaf.der,)
    assert HOSTILE_NAMES[0] in (parse_certificate(full.chain[0]).dns_names or ())


@VERSIONS
@pytest.mark.parametrize("key", ["rsa1024", "ed25519", "p521"])
async def test_keys_of_every_kind(version: int, key: Literal["rsa1024", "ed25519", "p521"]) -> None:
    leaf = authority().leaf(names=("localhost",), key=key)
    settings = TlsSettings(credential=leaf, min_version=version, max_version=version, ciphers="ALL:@SECLEVEL=0")
    full = await with_settings(settings)
    assert full.completed, full.failure
    assert full.chain == (leaf.der,)


async def test_a_weak_signature_is_for_others_to_judge() -> None:
    leaf = weakly_signed(authority("rsa2048"), names=("localhost",), hash_name="md5")
    full = await with_settings(TlsSettings(credential=leaf, ciphers="ALL:@SECLEVEL=0"))
    assert full.completed, full.failure
    assert full.chain == (leaf.der,)


# --- names and STARTTLS ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["other.example", "other.example.", None])
async def test_the_server_name_is_sent_as_in_the_hellos(name: str | None) -> None:
    async with scripted(say(b"")) as server:
        where = Where(address=server.address, port=server.port)
        await handshake(Peer(where=where, server_name=name))
    assert (b"\x00\x0dother.example\x00" in server.hellos[0]) == (name is not None)


async def test_starttls_comes_first_and_alpn_is_left_out() -> None:
    settings = TlsSettings(credential=ordinary(), alpn=(b"h2",))
    async with scripted(smtp(tls_handler(settings)), reads_hello=False) as server:
        full = await handshake(peer(server.sockaddr, transport="smtp"))
    assert full.completed, full.failure
    assert full.alpn is None
    assert full.chain == (ordinary().der,)


async def test_starttls_refused() -> None:
    async with scripted(say(b"554 no service\r\n"), reads_hello=False) as server:
        full = await handshake(peer(server.sockaddr, transport="smtp"))
    assert full.failure == "greeting: 554 no service"


# --- what a server may make expensive -------------------------------------------------------------------------------


def dhe_only(bits: int) -> Handler:
    """TLS 1.2 with finite-field Diffie-Hellman alone, as far as the client goes along with a modulus of ``bits``."""
    hello = ServerHello(version=TLS12, random=bytes(32), suite=0x009E).encode()
    modulus = ((1 << bits) - 1).to_bytes(bits // 8, "big")
    exchange = ServerKeyExchange(
        kind="dhe", prime=modulus, generator=b"\x02", public=modulus[:-1] + b"\x05", signed=b"\x08\x04\0\x08" + bytes(8)
    )
    chain = CertificateMessage(chain=(ordinary().der,))
    flight = hello + chain.encode() + exchange.encode() + b"\x0e\0\0\0"
    return say(encode_records(HANDSHAKE, TLS12, flight))


async def test_a_modulus_of_any_length_is_not_computed_with() -> None:
    """OpenSSL itself would, up to 10,000 bits, and take a second and more."""
    async with scripted(dhe_only(10_000)) as server:
        full = await handshake(replace(peer(server.sockaddr), suites="with DHE"))
    assert full.failure == "the connection ended: malformed a Diffie-Hellman modulus of 10000 bits, 4096 allowed"


async def test_finite_field_diffie_hellman_is_offered_only_where_nothing_else_is_accepted() -> None:
    async with scripted(say(alert(40))) as server:
        await handshake(replace(peer(server.sockaddr), suites=suites_for([0x009E, 0xC02F])))
        await handshake(replace(peer(server.sockaddr), suites=suites_for([0x009E, 0x0034])))
        await handshake(replace(peer(server.sockaddr), suites=suites_for([0x0034])))
        offered = [set(ClientHello.decode(hello[5:]).suites) for hello in server.hellos]
    assert [{0x009E, 0x0034, 0xC02F} & each for each in offered] == [
        {0xC02F},
        {0x009E, 0xC02F},
        {0x009E, 0x0034, 0xC02F},
    ]


async def test_an_anonymous_handshake_does_not_say_whether_a_client_certificate_is_asked_for() -> None:
    settings = TlsSettings(credential=ordinary(), max_version=TLS12, ciphers="AECDH-AES128-SHA:@SECLEVEL=0")
    async with listening(tls_handler(settings)) as server:
        full = await handshake(replace(peer(server.sockaddr), suites="all"))
    assert full.completed, full.failure
    assert isinstance(full.client_certificate, Unknown)


async def test_only_costly_arithmetic_of_a_handshake_leaves_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = set()
    shake = SSL.Connection.do_handshake

    def step(engine: SSL.Connection) -> None:
        if engine.get_app_data() is not None:  # ours, and not the server's
            threads.add(get_ident())
        shake(engine)

    async def threads_of(settings: TlsSettings, suites: EngineSuites = "usual") -> set[int]:
        threads.clear()
        async with listening(tls_handler(settings)) as server:
            full = await handshake(replace(peer(server.sockaddr), suites=suites))
        assert full.completed
        return threads - {get_ident()}

    monkeypatch.setattr(SSL.Connection, "do_handshake", step)
    usual = ordinary()
    assert not await threads_of(TlsSettings(credential=usual))
    assert await threads_of(TlsSettings(credential=usual), "with DHE")
    assert await threads_of(TlsSettings(credential=replace(usual, issuers=(usual.certificate,) * 60)))
