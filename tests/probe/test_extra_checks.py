"""Other server names and untrusted clients, against real TLS servers and scripted endings."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Literal

import pytest
import trio
from cryptography.x509.oid import ExtendedKeyUsageOID
from OpenSSL import SSL
from trio.testing import MockClock

from scanner.demo.listening import Handler
from scanner.demo.tls_server import TlsSettings, TlsStream, tls_context, tls_handler
from scanner.kube.maybe import Unknown
from scanner.probe.engine import untrusted_identity
from scanner.probe.evidence import NO_REQUEST, Evidence
from scanner.probe.observe import explain_unchecked, recheck_client_certificate, run_extra_checks
from scanner.probe.session import Question
from scanner.tls.codepoints import TLS12, TLS13
from tests.certs import Authority
from tests.probe.peers import authority, first_flight_only, peer
from tests.servers import alert, finish, say, scripted, silent

pytestmark = pytest.mark.crypto

VERSIONS = pytest.mark.parametrize("version", [TLS12, TLS13], ids=["TLSv1.2", "TLSv1.3"])
OTHER = "other.example"


async def asked(part: Handler, *, reads_hello: bool = False, seconds: float = 20.0, **question: object) -> Evidence:
    evidence = Evidence()
    async with scripted(part, reads_hello=reads_hello) as server:
        target = peer(server.sockaddr, seconds)
        wanted = Question(mode="inventory", **question)  # type: ignore[arg-type] # fields of a question
        await run_extra_checks(target, wanted, evidence)
        assert len(evidence.attempts) == server.connections
    return evidence


def serving(version: int, asks: Literal["none", "requested", "required"], *, known: bool = True) -> Handler:
    leaf = authority().leaf(names=("localhost",))
    ca = (authority() if known else Authority("Clients")).certificate
    settings = TlsSettings(
        credential=leaf, min_version=version, max_version=version, client_certificate=asks, client_ca=ca
    )
    return tls_handler(settings)


@VERSIONS
@pytest.mark.parametrize("asks", ["requested", "required"])
async def test_openssl_refuses_a_certificate_of_nobodys(version: int, asks: Literal["requested", "required"]) -> None:
    evidence = await asked(serving(version, asks, known=False), untrusted_client=True)
    assert evidence.untrusted_client == "refused"
    assert evidence.attempts[0].offer == "untrusted client certificate"
    assert "alert" in evidence.attempts[0].reply


def test_the_certificate_of_nobodys_is_refused_for_nothing_but_its_signer() -> None:
    certificate, day = untrusted_identity().certificate, timedelta(days=1)
    now = datetime.now(UTC)
    assert day / 2 < now - certificate.not_valid_before_utc < 2 * day
    assert 20 * day < certificate.not_valid_after_utc - now < 40 * day
    assert certificate.subject == certificate.issuer
    assert certificate.subject.rfc4514_string() == "CN=adhere: not trusted"
    (usage,) = certificate.extensions
    assert (list(usage.value), usage.critical) == ([ExtendedKeyUsageOID.CLIENT_AUTH], False)


@VERSIONS
async def test_who_asks_for_none_has_accepted_none(version: int) -> None:
    evidence = await asked(serving(version, "none"), untrusted_client=True)
    assert isinstance(evidence.untrusted_client, Unknown)


def trusting(version: int, *, said: bytes = b"") -> Handler:
    """A server that requests a certificate, accepts any or none, and answers the first request with ``said``."""
    leaf = authority().leaf(names=("localhost",))
    context = tls_context(TlsSettings(credential=leaf, min_version=version, max_version=version))
    context.set_verify(SSL.VERIFY_PEER, lambda *_: True)

    async def part(transport: trio.SocketStream) -> None:
        stream = TlsStream(transport, context)
        with suppress(trio.BrokenResourceError):
            await stream.do_handshake()
            if await stream.receive_some() and said:
                await stream.send_all(said)
            await stream.finish()

    return part


@VERSIONS
async def test_who_goes_on_with_a_certificate_of_nobodys_accepts_it(version: int) -> None:
    evidence = await asked(trusting(version), untrusted_client=True)
    assert evidence.untrusted_client == "accepted"
    assert len(evidence.attempts) == 1


async def test_whom_tls_lets_in_is_asked_for_the_status_of_a_request() -> None:
    """Only the status is kept: the content proves nothing about clients."""
    said = b"HTTP/1.1 400 Bad Request\r\nServer: nginx\r\n\r\n"
    evidence = await asked(trusting(TLS12, said=said), untrusted_client=True, client_requests=True)
    assert (evidence.untrusted_client, evidence.request_untrusted) == ("accepted", "400")
    assert evidence.request_without_certificate is NO_REQUEST


async def test_silence_is_no_refusal(clock: MockClock) -> None:
    evidence = await asked(silent, reads_hello=True, untrusted_client=True)
    assert isinstance(evidence.untrusted_client, Unknown)


async def test_a_hello_that_is_refused_says_nothing_of_the_client() -> None:
    evidence = await asked(_alerting, reads_hello=True, untrusted_client=True)
    assert isinstance(evidence.untrusted_client, Unknown)


async def _alerting(stream: trio.SocketStream) -> None:
    await stream.send_all(alert(40))
    await finish(stream)


def ending_after(version: int, *, known: bool) -> Handler:
    """Asks for a certificate, completes the handshake if it can, and ends without another word, as gRPC does."""
    context = tls_context(
        TlsSettings(
            credential=authority().leaf(names=("localhost",)),
            min_version=version,
            max_version=version,
            client_certificate="required",
            client_ca=(authority() if known else Authority("Clients")).certificate,
        )
    )

    async def part(stream: trio.SocketStream) -> None:
        connection = SSL.Connection(context, None)
        connection.set_accept_state()
        with suppress(SSL.Error):
            while True:
                try:
                    connection.do_handshake()
                    break
                except SSL.WantReadError:
                    with suppress(SSL.WantReadError):
                        await stream.send_all(connection.bio_read(65536))
                    connection.bio_write(await stream.receive_some(65536) or b"\x00")
        await finish(stream)

    return part


@VERSIONS
async def test_a_refusal_without_a_word_counts_when_it_comes_again_and_again(version: int) -> None:
    evidence = await asked(ending_after(version, known=False), untrusted_client=True)
    assert evidence.untrusted_client == "refused"
    assert len(evidence.attempts) == 6


async def insisted(part: Handler, *, seconds: float = 20.0) -> tuple[object, int]:
    evidence = Evidence()
    async with scripted(part, reads_hello=False) as server:
        found = await recheck_client_certificate(peer(server.sockaddr, seconds), evidence)
        return found, server.connections


@VERSIONS
async def test_who_always_ends_without_a_word_requires_a_certificate(version: int) -> None:
    assert await insisted(ending_after(version, known=True)) == ("required", 5)


@VERSIONS
async def test_who_goes_on_merely_asks(version: int, clock: MockClock) -> None:
    assert await insisted(serving(version, "requested")) == ("requested", 1)


async def test_who_says_nothing_at_all_then_is_not_known_to_require_one(clock: MockClock) -> None:
    found, connections = await insisted(first_flight_only(await_more=True))
    assert isinstance(found, Unknown)
    assert connections == 1


async def test_an_alert_settles_it_at_once() -> None:
    assert await insisted(serving(TLS13, "required")) == ("required", 1)


async def test_who_does_not_ask_any_more_is_not_known() -> None:
    found, connections = await insisted(serving(TLS13, "none"))
    assert isinstance(found, Unknown)
    assert connections == 1


# --- other names ------------------------------------------------------------------------------------------------------


async def test_a_name_that_is_served_shows_its_certificate_and_what_is_asked_of_clients() -> None:
    evidence = await asked(serving(TLS13, "required"), strays=(OTHER, None))
    assert [(each.name, each.answer) for each in evidence.strays] == [(OTHER, "served"), (None, "served")]
    assert {each.client_certificate for each in evidence.strays} == {"required"}
    assert all(each.leaf is not None and each.leaf.dns_names == ("localhost",) for each in evidence.strays)


async def test_an_alert_refuses_at_once() -> None:
    leaf = authority().leaf(names=("localhost",))
    evidence = await asked(tls_handler(TlsSettings(credential=leaf, server_name="localhost")), strays=(OTHER, None))
    assert [each.answer for each in evidence.strays] == ["refused", "refused"]
    assert len(evidence.attempts) == 2


@pytest.mark.parametrize("code", [40, 70, 71, 112])
async def test_these_alerts_refuse_a_name_by_themselves(code: int) -> None:
    evidence = await asked(say(alert(code)), reads_hello=True, strays=(OTHER,))
    assert ([each.answer for each in evidence.strays], len(evidence.attempts)) == (["refused"], 1)


async def _failing(stream: trio.SocketStream) -> None:
    """internal_error, as of a process without memory, and of Go's where it finds no certificate."""
    await stream.send_all(alert(80))
    await finish(stream)


def only_known(refusing: Handler, *, times: int = 100) -> Handler:
    """Ends so ``times`` times, and then serves every name."""
    seen: list[int] = []
    whole = serving(TLS13, "none")

    async def part(stream: trio.SocketStream) -> None:
        seen.append(1)
        await (refusing if len(seen) <= times else whole)(stream)

    return part


REFUSING = pytest.mark.parametrize("refusing", [finish, _failing], ids=["FIN", "internal_error"])


@REFUSING
async def test_an_end_that_may_be_an_accident_refuses_when_it_comes_again_and_again(refusing: Handler) -> None:
    evidence = await asked(only_known(refusing, times=5), strays=(OTHER,))
    assert [each.answer for each in evidence.strays] == ["refused"]
    assert [each.offer for each in evidence.attempts] == [*["server name other.example"] * 5, "control"]
    one = await asked(only_known(refusing, times=1), strays=(OTHER,))
    assert [each.answer for each in one.strays] == ["served"]


@REFUSING
async def test_who_refuses_every_name_by_now_has_refused_none(refusing: Handler) -> None:
    """As of a balancer whose backends are gone in the middle of a scan."""
    evidence = await asked(only_known(refusing), strays=(OTHER,))
    assert isinstance(evidence.strays[0].answer, Unknown)
    assert len(evidence.attempts) == 6


async def test_a_silence_leaves_a_name_open(clock: MockClock) -> None:
    evidence = await asked(silent, reads_hello=True, strays=(OTHER,))
    assert isinstance(evidence.strays[0].answer, Unknown)


def test_a_deadline_leaves_an_answer_as_it_is() -> None:
    """Only what was not asked becomes unknown; an answer without TLS that came is a finding."""
    question = Question(mode="verdict", cleartext=True, plain_port=(80, "/"))
    evidence = Evidence(cleartext="HTTP/1.1 200", interrupted="the deadline was reached")
    evidence.versions.accepted.append(TLS13)
    explain_unchecked(peer(("127.0.0.1", 443)), question, evidence)
    assert evidence.cleartext == "HTTP/1.1 200"
    assert evidence.plain_port == Unknown("the deadline was reached")
