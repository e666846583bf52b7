"""Observations of real sockets: every outcome of the taxonomy, the limits, and what survives an interruption.

The clock is trio's and jumps when nothing has happened for a while, so that timeouts cost no time. Everything else is
real: sockets on loopback, and OpenSSL behind those that speak TLS.
"""

from __future__ import annotations

import socket
from datetime import UTC, datetime
from itertools import count
from typing import Literal

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from scanner.demo.behaviours import after_hello
from scanner.demo.listening import Handler, background, open_listening
from scanner.demo.tls_server import TlsSettings
from scanner.errors import ResourceError
from scanner.kube.maybe import Unknown
from scanner.model.endpoint import Endpoint, Owner, Transport
from scanner.model.observation import Negotiated, Observation, Reach
from scanner.probe import observe as observe_module
from scanner.probe.evidence import Evidence
from scanner.probe.exchange import Peer, Timer, exchange
from scanner.probe.handshake import FullHandshake
from scanner.probe.limits import Gate, Limits
from scanner.probe.observe import add_handshake, observe, summary
from scanner.probe.offers import Offer, Reply
from scanner.probe.session import Question
from scanner.tls.codepoints import SSL2, SSL3, TLS10, TLS11, TLS12, TLS13
from scanner.values import replace
from tests.certs import Authority
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

NOW = datetime(2026, 3, 1, tzinfo=UTC)
INVENTORY = Question(mode="inventory")
OLD = (SSL2, SSL3, TLS10, TLS11)


def endpoint(
    sockaddr: tuple[str, int], *, transport: Transport = "tls", server_name: str | None = "localhost"
) -> Endpoint:
    address, port = sockaddr
    name = f"{address}:{port}"
    return Endpoint(
        id=name,
        instance=f"{name} @ {name}",
        address=address,
        port=port,
        server_name=server_name,
        transport=transport,
        host="localhost",
        owner=Owner(kind="Target", name=name),
    )


async def seen(what: Endpoint, limits: Limits = Limits(), question: Question = INVENTORY) -> Observation:
    """``what``, observed; nothing may be called accepted and refused at once."""
    observation = await observe(what, question, Gate(limits), NOW)
    assert observation.instance == what.instance
    assert observation.at == NOW
    for answers in (observation.versions, *observation.suites.values(), *observation.groups.values()):
        assert not answers.refused & set(answers.accepted)
    return observation


def certificate_settings(version: int, wanted: Literal["requested", "required"]) -> TlsSettings:
    return replace(
        TlsSettings(credential=ordinary(), client_ca=Authority("Clients").certificate),
        client_certificate=wanted,
        min_version=version,
        max_version=version,
    )


def is_unknown(observation: Observation) -> bool:
    """True if nothing is concluded about versions, suites, groups and the certificate."""
    silent_on = (observation.chain, observation.negotiated, observation.client_certificate, observation.alpn)
    answers = (observation.versions, *observation.suites.values(), *observation.groups.values())
    return all(isinstance(each, Unknown) for each in silent_on) and not any(a.accepted or a.refused for a in answers)


# --- the taxonomy ---------------------------------------------------------------------------------------------------


async def test_closed(clock: MockClock) -> None:
    with closed_port() as sockaddr:
        observation = await seen(endpoint(sockaddr))
    assert observation.reach is Reach.CLOSED
    assert observation.connections == 1
    assert is_unknown(observation)


async def test_filtered(clock: MockClock) -> None:
    with filtered_port() as sockaddr:
        observation = await seen(endpoint(sockaddr), Limits(retries=0))
    assert observation.reach is Reach.FILTERED
    assert observation.connections == 1
    assert is_unknown(observation)


async def test_unreachable(clock: MockClock) -> None:
    """TCP to the broadcast address: the kernel itself says that there is no way, and sends nothing."""
    observation = await seen(endpoint(("255.255.255.255", 443)))
    assert observation.reach is Reach.UNREACHABLE
    assert observation.detail
    assert is_unknown(observation)


OUTCOMES: list[tuple[str, Handler, Reach, str | None, str]] = [
    ("fin", say(b""), Reach.HUNG_UP, None, ""),
    ("rst", abort, Reach.RESET, None, ""),
    ("nothing", silent, Reach.SILENT, None, ""),
    ("half a record", stall_after(MALFORMED[:20]), Reach.SILENT, None, ""),
    ("http", say(HTTP_400), Reach.PLAINTEXT, "http", "HTTP/1.1 400"),
    ("http byte by byte", drip(HTTP_400), Reach.PLAINTEXT, "http", "HTTP/1"),
    ("redis", say(b"-ERR unknown command\r\n"), Reach.PLAINTEXT, "redis", "-ERR"),
    ("ssh", say(b"SSH-2.0-OpenSSH_9.2p1\r\n"), Reach.PLAINTEXT, "ssh", "SSH-2.0"),
    ("some words", say(b"who is there?\n"), Reach.PLAINTEXT, None, "who is there?"),
    ("smtp", say(b"220 mail.example ESMTP\r\n"), Reach.STARTTLS_NEEDED, "smtp", "220 mail"),
    ("imap", say(b"* OK IMAP4rev1 ready\r\n"), Reach.STARTTLS_NEEDED, "imap", "* OK"),
    ("pop3", say(b"+OK ready\r\n"), Reach.STARTTLS_NEEDED, "pop3", "+OK"),
    ("handshake_failure", say(alert(40)), Reach.REJECTED, None, "alert 40 handshake_failure"),
    ("protocol_version", say(alert(70)), Reach.REJECTED, None, "alert 70 protocol_version"),
    ("an alert byte by byte", drip(alert(80)), Reach.REJECTED, None, "alert 80 internal_error"),
    ("unrecognized_name", say(alert(112)), Reach.NAME_REQUIRED, None, "alert 112 unrecognized_name"),
    ("no ServerHello", say(MALFORMED), Reach.MALFORMED, None, ""),
    ("no ServerHello, byte by byte", drip(MALFORMED), Reach.MALFORMED, None, ""),
    ("noise", say(bytes(range(200, 256))), Reach.MALFORMED, None, ""),
    ("endless", endless(), Reach.MALFORMED, None, "handshake message"),
]


@pytest.mark.parametrize(
    ("script", "reach", "protocol", "detail"), [row[1:] for row in OUTCOMES], ids=[row[0] for row in OUTCOMES]
)
async def test_no_tls(script: Handler, reach: Reach, protocol: str | None, detail: str, clock: MockClock) -> None:
    async with scripted(script) as server:
        observation = await seen(endpoint(server.sockaddr))
        assert observation.connections == server.connections
    assert observation.reach is reach
    assert observation.protocol == protocol
    assert observation.detail.startswith(detail)
    assert observation.detail.isprintable() or not observation.detail
    assert is_unknown(observation)
    assert all(attempt.offer and attempt.reply for attempt in observation.attempts)


async def test_who_speaks_first_is_heard(clock: MockClock) -> None:
    async with scripted(stall_after(b"220 mail.example ESMTP\r\n"), reads_hello=False) as server:
        observation = await seen(endpoint(server.sockaddr))
    assert (observation.reach, observation.protocol) == (Reach.STARTTLS_NEEDED, "smtp")


async def test_name_required(clock: MockClock) -> None:
    async with tls_listener(TlsSettings(credential=ordinary(), server_name="localhost")) as server:
        assert (await seen(endpoint(server.sockaddr))).reach is Reach.TLS
        for name in ("other.example", None):
            assert (await seen(endpoint(server.sockaddr, server_name=name))).reach is Reach.NAME_REQUIRED


async def test_tls(clock: MockClock) -> None:
    async with tls_listener() as server:
        observation = await seen(endpoint(server.sockaddr))
        assert observation.connections == server.connections
    assert observation.reach is Reach.TLS
    assert observation.detail == ""
    assert set(observation.versions.accepted) == {TLS12, TLS13}
    assert observation.versions.refused == set(OLD)
    assert observation.versions.unasked is None
    assert set(observation.suites[TLS13].accepted) == {0x1301, 0x1302, 0x1303}
    assert set(observation.suites[TLS12].accepted) == {0xC02B, 0xC02C, 0xCCA9}
    assert observation.suites[TLS12].state(0x002F) == "refused"
    assert not isinstance(observation.chain, Unknown)
    assert [certificate.der for certificate in observation.chain] == [ordinary().der]
    assert observation.client_certificate == "none"
    assert observation.alpn is None
    assert not isinstance(observation.negotiated, Unknown)
    assert observation.negotiated.version == TLS13
    assert observation.attempts[-1].offer == "full handshake"
    assert observation.attempts[-1].reply == "completed"


async def test_what_is_asked_beside_the_rest_is_in_the_observation(clock: MockClock) -> None:
    async with tls_listener() as server:
        observation = await seen(endpoint(server.sockaddr), question=replace(INVENTORY, strays=("other.example",)))
    assert [(stray.name, stray.answer) for stray in observation.strays] == [("other.example", "served")]


@pytest.mark.parametrize("version", [TLS12, TLS13])
async def test_client_certificate_required(version: int, clock: MockClock) -> None:
    """Still judged: version, suites and chain are seen without one."""
    async with tls_listener(certificate_settings(version, "required")) as server:
        observation = await seen(endpoint(server.sockaddr))
    assert observation.reach is Reach.CLIENT_CERTIFICATE_REQUIRED
    assert observation.client_certificate == "required"
    assert observation.versions.accepted == (version,)
    assert {TLS12, TLS13} - {version} < observation.versions.refused
    assert observation.suites[version].accepted
    assert observation.suites[version].unasked is None
    assert not isinstance(observation.chain, Unknown)
    assert observation.chain[0].der == ordinary().der
    assert not isinstance(observation.negotiated, Unknown)
    assert observation.negotiated.version == version


@pytest.mark.parametrize("version", [TLS12, TLS13])
async def test_client_certificate_requested(version: int, clock: MockClock) -> None:
    async with tls_listener(certificate_settings(version, "requested")) as server:
        observation = await seen(endpoint(server.sockaddr))
    assert (observation.reach, observation.client_certificate) == (Reach.TLS, "requested")


async def test_starttls_end_to_end(clock: MockClock) -> None:
    async with scripted(smtp(tls_handler(TlsSettings(credential=ordinary()))), reads_hello=False) as server:
        observation = await seen(endpoint(server.sockaddr, transport="smtp"))
        assert observation.connections == server.connections
    assert observation.reach is Reach.TLS
    assert set(observation.versions.accepted) == {TLS12, TLS13}
    assert observation.versions.refused >= {TLS10, TLS11}
    assert not isinstance(observation.chain, Unknown)
    assert observation.chain[0].der == ordinary().der
    assert observation.alpn is None


async def no_starttls(stream: trio.SocketStream) -> None:
    await stream.send_all(b"220 mail.example ESMTP\r\n")
    await stream.receive_some(4096)
    await stream.send_all(b"250-mail.example\r\n250 SIZE\r\n")


async def test_starttls_refused_is_plaintext(clock: MockClock) -> None:
    """STARTTLS is not recommended to a client that used it."""
    async with scripted(no_starttls, reads_hello=False) as server:
        observation = await seen(endpoint(server.sockaddr, transport="smtp"))
    assert (observation.reach, observation.protocol) == (Reach.PLAINTEXT, "smtp")
    assert observation.detail == "EHLO: STARTTLS is not offered"


async def test_a_greeting_that_sends_us_away_says_nothing_of_tls(clock: MockClock) -> None:
    async with scripted(say(b"421 too many connections\r\n"), reads_hello=False) as server:
        observation = await seen(endpoint(server.sockaddr, transport="smtp"))
    assert (observation.reach, observation.connections) == (Reach.REJECTED, 1)
    assert observation.detail == "greeting: 421 too many connections"


async def test_ipv6(clock: MockClock) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError as error:
        pytest.skip(f"no IPv6 on loopback: {error}")
    async with tls_listener(address="::1") as server:
        assert ":" in server.address
        assert (await seen(endpoint(server.sockaddr))).reach is Reach.TLS


# --- interruptions --------------------------------------------------------------------------------------------------


async def test_a_deadline_before_anything_was_seen(clock: MockClock) -> None:
    async with scripted(silent) as server:
        observation = await seen(endpoint(server.sockaddr), Limits(timeout=5, deadline=2))
    assert observation.reach is Reach.INTERRUPTED
    assert observation.detail == "the deadline (2 s) was reached"
    assert is_unknown(observation)
    assert [attempt.reply for attempt in observation.attempts] == ["cut off"]
    assert observation.attempts[0].seconds == pytest.approx(2)
    assert trio.current_time() == pytest.approx(2)


async def test_a_stop_before_anything_was_seen(clock: MockClock) -> None:
    gate = Gate(Limits())

    async def stop(_: trio.SocketStream) -> None:
        gate.stop("SIGTERM")
        await trio.sleep_forever()

    async with scripted(stop) as server:
        observation = await observe(endpoint(server.sockaddr), INVENTORY, gate, NOW)
        assert (observation.reach, observation.detail) == (Reach.INTERRUPTED, "SIGTERM")
        assert is_unknown(observation)
        observation = await observe(endpoint(server.sockaddr), INVENTORY, gate, NOW)
        assert (observation.reach, observation.connections) == (Reach.INTERRUPTED, 0)
        assert server.connections == 1
    assert trio.current_time() == 0


def after(visits: int, first: Handler, then: Handler) -> Handler:
    """The first ``visits`` connections get ``first``, those to come ``then``."""
    visit = count()

    async def part(stream: trio.SocketStream) -> None:
        await (first if next(visit) < visits else then)(stream)

    return part


WEAK = TlsSettings(credential=ordinary(), min_version=TLS10, ciphers="ALL:@SECLEVEL=0")


@pytest.mark.parametrize("visits", range(1, 12))
async def test_what_was_seen_before_a_deadline_stays(visits: int, clock: MockClock) -> None:
    """A listener that stops answering: what it accepted is kept, the rest is unknown and nothing is called refused."""
    async with scripted(after(visits, tls_handler(WEAK), silent), reads_hello=False) as server:
        observation = await seen(endpoint(server.sockaddr), Limits(timeout=50, deadline=10))
    assert observation.reach is Reach.TLS
    assert observation.versions.accepted[0] == TLS13
    assert not observation.versions.refused
    assert observation.versions.unasked == "the deadline (10 s) was reached"
    assert not any(answers.refused & {0x1301, 0x1302, 0x1303} for answers in observation.suites.values())
    assert observation.attempts[-1].reply == "cut off"
    assert len(observation.attempts) == visits + 1
    assert trio.current_time() == pytest.approx(10)


async def test_a_violation_that_was_seen_before_a_deadline_stays(clock: MockClock) -> None:
    question = Question(mode="verdict", allowed=frozenset({0x1301, 0x1302, 0x1303}), min_version=TLS13)
    async with tls_listener(WEAK) as whole:
        needed = (await seen(endpoint(whole.sockaddr), question=question)).connections
    for visits in range(1, needed):
        async with scripted(after(visits, tls_handler(WEAK), silent), reads_hello=False) as server:
            observation = await seen(endpoint(server.sockaddr), Limits(timeout=50, deadline=10), question)
        old = {TLS12, TLS11, TLS10} & set(observation.versions.accepted)
        assert len(observation.versions.accepted) >= min(visits - 2, 4) or old
        assert not observation.versions.refused & {TLS10, TLS11, TLS12, TLS13}


async def test_a_stop_midway_keeps_what_was_seen(clock: MockClock) -> None:
    gate = Gate(Limits())

    async def stop(_: trio.SocketStream) -> None:
        gate.stop("SIGINT")
        await trio.sleep_forever()

    async with scripted(after(3, tls_handler(WEAK), stop), reads_hello=False) as server:
        observation = await observe(endpoint(server.sockaddr), INVENTORY, gate, NOW)
    assert observation.reach is Reach.TLS
    assert observation.versions.unasked == "SIGINT"
    assert observation.suites[TLS13].accepted
    assert isinstance(observation.negotiated, Unknown)


async def test_a_deadline_in_the_full_handshake(clock: MockClock) -> None:
    """It comes last; everything else is known then, but for what TLS 1.3 hides. TLS 1.2 shows its own in clear."""
    async with tls_listener() as whole:
        needed = (await seen(endpoint(whole.sockaddr))).connections
    script = after(needed - 1, tls_handler(TlsSettings(credential=ordinary())), silent)
    async with scripted(script, reads_hello=False) as server:
        question = Question(mode="inventory", cleartext=True, plain_port=(80, "/"), authorities=("other.example",))
        observation = await seen(endpoint(server.sockaddr), Limits(timeout=50, deadline=10), question)
    assert observation.reach is Reach.TLS
    (request,) = observation.answered
    late = Unknown("the deadline (10 s) was reached")  # and not "not tested", as without --active-http
    assert [observation.cleartext, observation.plain_port, request.answer] == [late] * 3
    assert observation.versions.unasked is None
    assert observation.versions.refused == set(OLD)
    hidden = [observation.chain, observation.client_certificate, observation.alpn, observation.ocsp_stapled]
    assert all(isinstance(each, Unknown) and "the deadline (10 s) was reached" in each.reason for each in hidden)
    assert len(observation.other_chains) == 1
    assert isinstance(observation.negotiated, Unknown)
    assert (observation.attempts[-1].offer, observation.attempts[-1].reply) == ("full handshake", "cut off")


@pytest.mark.parametrize("then", [abort, say(b""), silent, say(HTTP_400), say(MALFORMED)])
@pytest.mark.parametrize("visits", [1, 2, 5, 8])
async def test_a_server_that_turns_bad_midway(visits: int, then: Handler, clock: MockClock) -> None:
    """A listener that changes its behaviour: nothing that it accepts counts as refused."""
    async with scripted(after(visits, tls_handler(WEAK), after_hello(then)), reads_hello=False) as server:
        observation = await seen(endpoint(server.sockaddr), Limits(deadline=300))
    assert observation.reach is Reach.TLS
    assert not observation.versions.refused & {TLS10, TLS11, TLS12, TLS13}
    assert not any(answers.refused & {0x1301, 0x1302, 0x1303} for answers in observation.suites.values())


async def test_a_server_that_is_gone_midway(clock: MockClock) -> None:
    """The listener closes after three connections: what follows is refused by the kernel, which proves nothing."""
    async with background() as listeners:

        async def leave(_: trio.SocketStream) -> None:
            listeners.cancel_scope.cancel()
            await trio.lowlevel.checkpoint()

        server = await open_listening(listeners, after(3, tls_handler(WEAK), leave))
        with trio.CancelScope(shield=True):
            observation = await seen(endpoint(server.sockaddr))
    assert observation.reach is Reach.TLS
    assert not observation.versions.refused & {TLS10, TLS11, TLS12, TLS13}
    assert "closed" in {attempt.reply for attempt in observation.attempts}


# --- limits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [1, 3])
async def test_so_many_connections_at_once_to_one_host(most: int, clock: MockClock) -> None:
    """Counted at the server between hello and answer: then the client is certainly waiting for it."""
    waiting, seen_waiting = 0, 0

    async def count_waiting(stream: trio.SocketStream) -> None:
        nonlocal waiting, seen_waiting
        waiting += 1
        seen_waiting = max(seen_waiting, waiting)
        await wait_all_tasks_blocked(0.001)  # at the limit
        waiting -= 1
        await say(alert(40))(stream)

    gate = Gate(Limits(per_host=most))
    async with scripted(count_waiting) as first, scripted(count_waiting) as second, trio.open_nursery() as nursery:
        for number in range(6):
            server = first if number % 2 else second
            nursery.start_soon(observe, endpoint(server.sockaddr), INVENTORY, gate, NOW)
    assert seen_waiting == most


async def test_so_many_connections_a_second(clock: MockClock) -> None:
    at: list[float] = []

    async def note(stream: trio.SocketStream) -> None:
        at.append(trio.current_time())
        await say(HTTP_400)(stream)

    gate = Gate(Limits(rate=2, deadline=1, per_host=8))
    async with scripted(note) as server, trio.open_nursery() as nursery:
        for _ in range(8):
            nursery.start_soon(observe, endpoint(server.sockaddr), INVENTORY, gate, NOW)
    assert at == pytest.approx([number / 2 for number in range(len(at))], abs=0.01)
    assert len(at) == 8  # the deadline did not count the waiting


async def test_an_unanswered_syn_is_tried_again(clock: MockClock) -> None:
    with filtered_port() as sockaddr:
        observation = await seen(endpoint(sockaddr), Limits(timeout=3, retries=2, backoff=10))
    assert observation.reach is Reach.FILTERED
    assert [attempt.reply for attempt in observation.attempts] == ["filtered"] * 3
    assert [attempt.seconds for attempt in observation.attempts] == pytest.approx([3] * 3)
    assert 2 * 5 <= trio.current_time() - 3 * 3 <= 2 * 15


async def test_a_listener_that_comes_up_late_is_seen(monkeypatch: pytest.MonkeyPatch, clock: MockClock) -> None:
    replies = iter([Reply("filtered"), Reply("filtered")])

    async def unanswered_at_first(peer: Peer, offer: Offer, timer: Timer) -> Reply:
        return next(replies, None) or await exchange(peer, offer, timer)

    monkeypatch.setattr(observe_module, "exchange", unanswered_at_first)
    async with tls_listener() as server:
        assert (await seen(endpoint(server.sockaddr), Limits(retries=2))).reach is Reach.TLS


async def test_no_other_ending_is_retried_here(clock: MockClock) -> None:
    """The plans repeat what needs repeating; a closed port is closed."""
    with closed_port() as sockaddr:
        assert (await seen(endpoint(sockaddr), Limits(retries=5))).connections == 1


async def test_what_this_machine_cannot_do_is_raised(monkeypatch: pytest.MonkeyPatch, clock: MockClock) -> None:
    async def none_left(*_: object) -> Reply:
        raise ResourceError("no descriptors")

    monkeypatch.setattr(observe_module, "exchange", none_left)
    gate = Gate(Limits())
    with pytest.raises(ResourceError):
        await observe(endpoint(("127.0.0.1", 1)), INVENTORY, gate, NOW)
    assert not gate._hosts
    assert not gate._scopes


# --- servers that are not reliable ----------------------------------------------------------------------------------


async def test_the_first_connection_is_reset(clock: MockClock) -> None:
    async with scripted(flaky(1, tls_handler(WEAK)), reads_hello=False) as server:
        observation = await seen(endpoint(server.sockaddr))
    assert observation.reach is Reach.TLS
    assert {TLS12, TLS11, TLS10} <= set(observation.versions.accepted)
    assert TLS13 not in observation.versions.refused


async def test_one_of_two_replicas_is_bad(clock: MockClock) -> None:
    """A balancer in front of a strict and a weak one: what the weak one accepted is never called refused."""
    strict = tls_handler(TlsSettings(credential=ordinary()))
    async with scripted(balanced(tls_handler(WEAK), strict), reads_hello=False) as server:
        observation = await seen(endpoint(server.sockaddr))
    assert observation.reach is Reach.TLS
    assert observation.versions.accepted


# --- summaries ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (Reply("alert", alert=40), "alert 40 handshake_failure"),
        (Reply("fin"), "fin"),
        (Reply("plaintext", text="HTTP/1.1 400"), "plaintext HTTP/1.1 400"),
        (Reply("hello", version=TLS13, suite=0x1301, group=0x001D), "TLSv1.3 TLS_AES_128_GCM_SHA256 x25519"),
        (Reply("hello", version=TLS12, suite=0x002F, done=True), "TLSv1.2 TLS_RSA_WITH_AES_128_CBC_SHA"),
        (Reply("hello", version=TLS12), "TLSv1.2, then not continued"),
    ],
)
def test_a_reply_in_a_few_words(reply: Reply, text: str) -> None:
    assert summary(reply) == text


def test_a_handshake_of_tls13_that_breaks_off_behind_the_certificate_shows_nothing() -> None:
    """Only with Finished it is the server's: until then anything may have been put in its place."""
    evidence = Evidence()
    evidence.add_reply(Reply("hello", version=TLS13, suite=0x1301))
    ended = Negotiated(version=TLS13, suite=0x1301, group=None)
    add_handshake(
        evidence, FullHandshake(negotiated=ended, chain=(ordinary().der,), failure="the connection ended: fin")
    )
    observed = evidence.conclude("instance", NOW)
    assert isinstance(observed.chain, Unknown)
    assert "the connection ended: fin" in observed.chain.reason
    assert isinstance(observed.client_certificate, Unknown)
    assert len(observed.other_chains) == 1


def test_what_the_full_handshake_ended_in_is_accepted_like_anything_else() -> None:
    """Its hello carries ALPN, by which a front may lead it to another backend."""
    evidence = Evidence()
    evidence.add_reply(Reply("hello", version=TLS13, suite=0x1301))
    add_handshake(
        evidence, FullHandshake(negotiated=Negotiated(version=TLS10, suite=0xC014, group=None), completed=True)
    )
    observed = evidence.conclude("instance", NOW)
    assert set(observed.versions.accepted) == {TLS13, TLS10}
    assert observed.suites[TLS10].accepted == (0xC014,)


@pytest.mark.parametrize("ending", [silent, say(b""), say(alert(40)), abort], ids=["stall", "FIN", "alert", "RST"])
async def test_a_certificate_that_nobody_saw_is_no_certificate_that_is_in_order(
    ending: Handler, clock: MockClock
) -> None:
    """TLS 1.2 shows a good one. The only hello with ALPN is the full handshake's, and it ends before TLS 1.3 shows its
    own, which has expired."""
    good = tls_handler(TlsSettings(credential=ordinary(), max_version=TLS12))
    weak = tls_handler(TlsSettings(credential=ordinary()))

    async def by_alpn(stream: trio.SocketStream) -> None:
        """The first hello decides: with ALPN it goes no further."""
        hello = stream.socket.recv
        start = await hello(65536, socket.MSG_PEEK)
        if b"\x02h2\x08http/1.1" in start:
            await stream.receive_some(65536)
            await ending(stream)
        elif b"\x00\x2b\x00\x03\x02\x03\x04" in start:  # supported_versions with TLS 1.3 alone
            await weak(stream)
        else:
            await good(stream)

    async with scripted(by_alpn, reads_hello=False) as server:
        observation = await seen(endpoint(server.sockaddr), Limits(deadline=300))
    assert TLS13 in observation.versions.accepted
    hidden = [observation.chain, observation.client_certificate, observation.alpn, observation.ocsp_stapled]
    assert all(isinstance(each, Unknown) for each in hidden), hidden
    assert len(observation.other_chains) == 1


@pytest.mark.parametrize("answer", [b"", bytes.fromhex("15 0303 0002 022f"), bytes.fromhex("16 0303 0004 02000001")])
async def test_a_listener_that_ends_a_hello_with_alpn_is_asked_once_more_without(answer: bytes) -> None:
    """tlslite-ng without protocols of its own, and wolfSSL where a response by OCSP is asked for, just close; Botan
    answers with an extension that OpenSSL does not take."""
    whole = tls_handler(TlsSettings(credential=ordinary()))

    async def choosy(stream: trio.SocketStream) -> None:
        start = await stream.socket.recv(65536, socket.MSG_PEEK)
        if b"\x02h2\x08http/1.1" not in start:
            await whole(stream)
        elif answer:
            await stream.receive_some(65536)
            await stream.send_all(answer)

    async with scripted(choosy, reads_hello=False) as server:
        observation = await seen(endpoint(server.sockaddr))
    assert not isinstance(observation.chain, Unknown)
    assert observation.client_certificate == "none"
    assert isinstance(observation.alpn, Unknown)
    assert isinstance(observation.ocsp_stapled, Unknown)
    first, second = (each.reply for each in observation.attempts if each.offer == "full handshake")
    assert first != "completed"
    assert second == "completed"


def test_what_is_asked_for_is_kept_where_it_is_not_known_whether_it_is_required() -> None:
    evidence = Evidence()
    ended = Negotiated(version=TLS13, suite=0x1301, group=29)
    add_handshake(
        evidence, FullHandshake(negotiated=ended, completed=True, requested=True, client_certificate=Unknown("silence"))
    )
    found = evidence.conclude("there", NOW)
    assert (found.client_certificate, found.certificate_requested) == (Unknown("silence"), True)


async def test_every_connection_waits_for_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the second try of a full handshake, and whatever is asked beside the rest."""
    asks = TlsSettings(
        credential=ordinary(), client_ca=Authority("Clients").certificate, client_certificate="requested"
    )
    whole, turns, pace = tls_handler(asks), count(), Gate.pace

    async def counted(gate: Gate, scope: trio.CancelScope | None = None) -> None:
        next(turns)
        await pace(gate, scope)

    async def choosy(stream: trio.SocketStream) -> None:
        start = await stream.socket.recv(65536, socket.MSG_PEEK)
        if b"\x02h2\x08http/1.1" not in start:
            await whole(stream)

    monkeypatch.setattr(Gate, "pace", counted)
    question = replace(
        INVENTORY, untrusted_client=True, client_requests=True, cleartext=True, authorities=("b.test",), strays=(None,)
    )
    async with scripted(choosy, reads_hello=False) as server:
        observation = await seen(endpoint(server.sockaddr), Limits(rate=10_000), question)
        offers = [each.offer for each in observation.attempts]
        assert offers.count("full handshake") == 2
        assert {"untrusted client certificate", "no server name", "HEAD without TLS"} < set(offers)
        assert server.connections == next(turns) == observation.connections


XMPP_STREAM = b"<?xml version='1.0'?><stream:stream id='1' version='1.0'>"
XMPP_TLS = b"<%s xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"


async def xmpp(stream: trio.SocketStream) -> None:
    """A server for one name, which ends a stream to any other (RFC 6120, section 4.9.3.6)."""
    opened = await stream.receive_some(4096)
    if b'to="zoo.test"' not in opened:
        await stream.send_all(XMPP_STREAM + b"<stream:error><host-unknown/></stream:error></stream:stream>")
        return
    await stream.send_all(XMPP_STREAM + b"<stream:features>" + XMPP_TLS % b"starttls" + b"</stream:features>")
    await stream.receive_some(4096)
    await stream.send_all(XMPP_TLS % b"proceed")
    await tls_handler(TlsSettings(credential=ordinary()))(stream)


async def test_xmpp_is_asked_for_the_name_that_was_given() -> None:
    async with scripted(xmpp, reads_hello=False) as server:
        observation = await seen(endpoint(server.sockaddr, transport="xmpp", server_name="zoo.test"))
        assert observation.reach is Reach.TLS
        assert not isinstance(observation.chain, Unknown)
        other = await seen(endpoint(server.sockaddr, transport="xmpp", server_name="other.test"))
    assert (other.reach, other.connections) == (Reach.NAME_REQUIRED, 1)
    assert "host-unknown" in other.detail
