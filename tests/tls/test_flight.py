"""A server's answer: captured, fragmented, damaged, hostile; and from OpenSSL, which parsed our ClientHello."""

from __future__ import annotations

import ssl
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.tls import codepoints as c
from scanner.tls import extensions as ext
from scanner.tls.certificate import CertificateMessage
from scanner.tls.client_hello import ClientHello
from scanner.tls.extensions import Extension
from scanner.tls.flight import (
    RETRY_RANDOM,
    Alert,
    CertificateRequest,
    ServerFlight,
    ServerHello,
    ServerKeyExchange,
    Ssl2ServerHello,
    looks_like_tls,
)
from scanner.tls.records import ALERT, CHANGE_CIPHER_SPEC, HANDSHAKE, encode_records
from scanner.tls.wire import Malformed, u16s, vec16
from tests.certs import Authority
from tests.tls.hello_codecs import push_retry_group, push_selected_version, push_server_share
from tests.tls.messages import ANONYMOUS_FLIGHT, COUNTED

pytestmark = pytest.mark.crypto

HELLO12 = ServerHello(version=c.TLS12, random=COUNTED, suite=0xC02F)
HELLO13 = ServerHello(
    version=c.TLS12,
    random=COUNTED,
    suite=0x1301,
    extensions=(push_selected_version(c.TLS13), push_server_share(0x001D, COUNTED)),
)
RETRY = ServerHello(
    version=c.TLS12,
    random=RETRY_RANDOM,
    suite=0x1301,
    extensions=(push_selected_version(c.TLS13), push_retry_group(0x0018)),
)
CERTIFICATE = CertificateMessage(chain=(b"leaf", b"issuer"))
EXCHANGE = ServerKeyExchange(kind="ecdhe", group=0x001D, public=b"point", signed=b"signature")
REQUEST = CertificateRequest(types=b"\x01", schemes=(0x0403,))
DONE = bytes.fromhex("0e000000")
WHOLE12 = b"".join((HELLO12.encode(), CERTIFICATE.encode(), EXCHANGE.encode(), REQUEST.encode(), DONE))

WARNING = encode_records(ALERT, c.TLS12, bytes(Alert(1, 112)))


def handshake(message: bytes) -> bytes:
    return encode_records(HANDSHAKE, c.TLS12, message)


class Seen(NamedTuple):
    """All fields of a flight, to compare two."""

    finished: bool
    malformed: bool
    hello: ServerHello | None
    ssl2: Ssl2ServerHello | None
    ssl2_error: int | None
    alert: Alert | None
    chain: tuple[bytes, ...] | None
    key_exchange: ServerKeyExchange | None
    certificate_request: CertificateRequest | None
    done: bool


def read(*pieces: bytes, limit: int = 65536) -> Seen:
    flight, malformed = ServerFlight(limit=limit), False
    try:
        for piece in pieces:
            if flight.feed(piece):
                break
    except Malformed:
        malformed = True
    return Seen(
        flight.finished,
        malformed,
        flight.hello,
        flight.ssl2,
        flight.ssl2_error,
        flight.alert,
        flight.chain,
        flight.key_exchange,
        flight.certificate_request,
        flight.done,
    )


def byte_by_byte(stream: bytes, *, limit: int = 65536) -> Seen:
    return read(*(stream[at : at + 1] for at in range(len(stream))), limit=limit)


STREAMS = {
    "captured": ANONYMOUS_FLIGHT,
    "TLS 1.2, coalesced": handshake(WHOLE12),
    "TLS 1.2, fragmented": b"".join(handshake(WHOLE12[at : at + 7]) for at in range(0, len(WHOLE12), 7)),
    "TLS 1.3": handshake(HELLO13.encode()) + encode_records(CHANGE_CIPHER_SPEC, c.TLS12, b"\x01") + b"\x17\x03\x03",
    "retry": handshake(RETRY.encode()),
    "alert": encode_records(ALERT, c.TLS12, bytes(Alert(2, 40))),
    "alert in two records": encode_records(ALERT, c.TLS12, b"\x02") + encode_records(ALERT, c.TLS12, b"\x46"),
    "alert of version 0.0": bytes.fromhex("15 0000 0002 0246"),
    "warning first": WARNING + handshake(WHOLE12),
    "SSLv2": b"\x80\x12" + Ssl2ServerHello(version=2, certificate=b"1234", suites=(0x010080,)).encode(),
    "SSLv2, no cipher": bytes.fromhex("8003 00 0001"),
    "HelloRequest first": handshake(b"\x00\x00\x00\x00" + WHOLE12),
    "ServerHello, then an alert": handshake(HELLO12.encode()) + encode_records(ALERT, c.TLS12, bytes(Alert(2, 40))),
    "nothing after the hello": handshake(HELLO12.encode()),
    "an odd certificate": handshake(HELLO12.encode() + bytes.fromhex("0b000004 00000105")),
    "SSLv2, empty": bytes.fromhex("8000"),
    "plaintext": b"HTTP/1.1 400 Bad Request\r\n",
}
every_stream = pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)


@every_stream
def test_byte_by_byte_is_as_at_once(stream: bytes) -> None:
    assert byte_by_byte(stream) == read(stream)


@given(st.sampled_from(list(STREAMS.values())), st.data())
def test_damaged_byte_by_byte_is_as_at_once(stream: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(stream) - 1))
    damaged = stream[:at] + data.draw(st.binary(min_size=1, max_size=4)) + stream[at + 1 :]
    limit = data.draw(st.integers(1, 300) | st.just(65536))
    assert byte_by_byte(damaged, limit=limit) == read(damaged, limit=limit)


@given(st.binary(max_size=300))
def test_noise_is_malformed_or_waited_on(noise: bytes) -> None:
    for start in (b"", b"\x16\x03\x03\x00\x40\x02\x00\x00", b"\x15\x03\x01\x00\x02", b"\x80", b"\x80\x20\x04"):
        with suppress(Malformed):
            ServerFlight().feed(start + noise)


def test_a_whole_flight_of_tls12() -> None:
    seen = read(handshake(WHOLE12))
    assert seen == Seen(
        finished=True,
        malformed=False,
        hello=HELLO12,
        ssl2=None,
        ssl2_error=None,
        alert=None,
        chain=CERTIFICATE.chain,
        key_exchange=EXCHANGE,
        certificate_request=REQUEST,
        done=True,
    )


def test_the_captured_flight() -> None:
    seen = read(ANONYMOUS_FLIGHT)
    assert seen.hello is not None
    assert seen.key_exchange is not None
    assert (seen.hello.suite, seen.key_exchange.group, seen.chain, seen.done) == (0xC018, 0x001D, None, True)


@pytest.mark.parametrize("hello", [HELLO13, RETRY])
def test_what_ends_at_the_hello(hello: ServerHello) -> None:
    seen = read(handshake(hello.encode()) + b"not TLS at all")
    assert (seen.finished, seen.malformed, seen.hello, seen.done) == (True, False, hello, False)


def test_a_whole_flight_is_waited_for() -> None:
    flight = ServerFlight()
    assert [flight.feed(handshake(part)) for part in (HELLO12.encode(), CERTIFICATE.encode(), DONE)] == [
        False,
        False,
        True,
    ]
    assert flight.feed(b"more") is True


def test_nothing_is_nothing() -> None:
    assert ServerFlight().feed(b"") is False


@pytest.mark.parametrize("alert", [Alert(1, 112), Alert(1, 40), Alert(1, 70), Alert(1, 255)])
def test_a_warning_is_kept_and_does_not_end_the_flight(alert: Alert) -> None:
    seen = read(encode_records(ALERT, c.TLS12, bytes(alert)) + handshake(HELLO12.encode()))
    assert (seen.alert, seen.hello) == (alert, HELLO12)


@pytest.mark.parametrize("alert", [Alert(2, 112), Alert(2, 40), Alert(1, 0), Alert(0, 40), Alert(3, 70)])
def test_an_alert_that_ends(alert: Alert) -> None:
    seen = read(encode_records(ALERT, c.TLS12, bytes(alert)) + b"whatever")
    assert (seen.finished, seen.malformed, seen.alert, seen.hello) == (True, False, alert, None)


def test_two_alerts_in_one_record() -> None:
    assert read(encode_records(ALERT, c.TLS12, bytes.fromhex("0170 0228"))).alert == Alert(2, 40)


def test_what_was_read_survives_what_cannot_be() -> None:
    seen = read(STREAMS["an odd certificate"])
    assert (seen.malformed, seen.hello, seen.chain) == (True, HELLO12, None)
    seen = read(handshake(HELLO12.encode() + CERTIFICATE.encode()) + b"garbage")
    assert (seen.malformed, seen.hello, seen.chain) == (True, HELLO12, CERTIFICATE.chain)


def test_ssl2() -> None:
    assert read(STREAMS["SSLv2"]).ssl2 == Ssl2ServerHello(version=2, certificate=b"1234", suites=(0x010080,))
    assert read(STREAMS["SSLv2, no cipher"]).ssl2_error == 1


@pytest.mark.parametrize(
    ("stream", "why"),
    [
        (b"HTTP/1.1", "no SSLv2 record: 48 54"),
        (handshake(DONE), "handshake message 14 before the ServerHello"),
        (handshake(HELLO12.encode() * 2), "handshake message 2 after the ServerHello"),
        (handshake(HELLO12.encode() + b"\x0e\x00\x00\x01\x00"), "ServerHelloDone of 1 bytes"),
        (encode_records(23, c.TLS12, b"x"), "content type 23 before the end"),
        (handshake(b"\x02\xff\xff\xff"), "handshake message of 16777219 bytes, 65536 allowed"),
        (handshake(HELLO13.encode()[:-1]) + WARNING * 9400, "answer not complete after 65536 bytes"),
    ],
)
def test_what_no_server_sends(stream: bytes, why: str) -> None:
    with pytest.raises(Malformed, match=why):
        ServerFlight().feed(stream)


@pytest.mark.parametrize("room", [0, 1])
def test_the_limit_counts_bytes_up_to_the_end(room: int) -> None:
    stream = handshake(WHOLE12)
    assert read(stream + b"trailing", limit=len(stream)).finished
    seen = read(stream, limit=len(stream) - 1 + room)
    assert (seen.finished, seen.malformed) == (bool(room), not room)


@pytest.mark.parametrize("start", [b"", b"\x16", b"\x15\x03", b"\x16\x03\x03", b"\x80", b"\x80\x03\x00"])
def test_what_looks_like_tls(start: bytes) -> None:
    assert looks_like_tls(start)


@pytest.mark.parametrize("start", [b"H", b"HTTP", b"220 ", b"\x00\x00\x12\x04", b"\xff\xfd\x18", b"\x16\x02", b"\x4a"])
def test_what_does_not(start: bytes) -> None:
    assert not looks_like_tls(start)


# From here on a real library answers: the standard library's ssl (OpenSSL), in memory.

SCHEMES = c.SIGNATURE_SCHEMES
GROUPS = tuple(group.code for group in c.GROUPS)
BASE = (
    ext.push_server_name("a.example"),
    ext.push_supported_groups(GROUPS),
    ext.push_signature_algorithms(SCHEMES),
    Extension(50, vec16(u16s(SCHEMES))),  # signature_algorithms_cert
    ext.push_ec_point_formats(),
    ext.push_extended_master_secret(),
    ext.push_renegotiation_info(),
    ext.push_session_ticket(),
    Extension(5, bytes.fromhex("01 0000 0000")),  # status_request
    Extension(22, b""),  # encrypt_then_mac
    Extension(0x2A2A, b""),
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    folder: Path = tmp_path_factory.mktemp("server")
    credential = Authority("Flight CA").leaf(names=("a.example",), key="rsa2048")
    context.load_cert_chain(*credential.write(folder, "leaf"))
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


def answer(server: ssl.SSLContext, version: int, suites: tuple[int, ...], *extensions: Extension) -> Seen:
    """The answer of ``server`` to one ClientHello."""
    received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
    hello = ClientHello(
        version=min(version, c.TLS12),
        random=COUNTED,
        session_id=COUNTED,
        suites=suites,
        extensions=(*BASE, *extensions),
    )
    received.write(encode_records(HANDSHAKE, c.TLS10, hello.encode()))
    with suppress(ssl.SSLError):
        server.wrap_bio(received, sent, server_side=True).do_handshake()
    stream = sent.read()
    assert looks_like_tls(stream)
    assert byte_by_byte(stream) == read(stream)
    return read(stream)


def test_openssl_answers_in_tls12(server: ssl.SSLContext) -> None:
    every = tuple(suite.code for suite in c.SUITES)
    seen = answer(server, c.TLS12, (*every, *(suite.code for suite in c.EXTRA_SUITES)), ext.push_padding(100))
    assert seen.hello is not None
    assert seen.hello.selected_version == c.TLS12
    assert seen.done


def test_openssl_shows_certificate_group_and_request_in_tls12(server: ssl.SSLContext) -> None:
    seen = answer(server, c.TLS12, (0xC02F,))
    assert seen.hello is not None
    assert seen.key_exchange is not None
    assert seen.certificate_request is not None
    assert (seen.hello.suite, seen.key_exchange.group in GROUPS, len(seen.chain or ())) == (0xC02F, True, 1)
    assert set(seen.certificate_request.schemes or ()) <= set(SCHEMES)


def test_openssl_refuses_with_an_alert(server: ssl.SSLContext) -> None:
    assert answer(server, c.TLS12, (0x5A5A,)).alert == Alert(2, 40)


def test_openssl_names_its_group_when_no_share_is_sent(server: ssl.SSLContext) -> None:
    seen = answer(
        server,
        c.TLS13,
        (0x1302,),
        ext.push_supported_versions((c.TLS13,)),
        ext.push_key_share(),
        ext.push_psk_key_exchange_modes(),
    )
    assert seen.hello is not None
    assert seen.hello.is_hello_retry_request
    assert (seen.hello.selected_version, seen.hello.suite) == (c.TLS13, 0x1302)
    assert seen.hello.selected_group in GROUPS


def dhe(prime: bytes) -> ServerKeyExchange:
    return ServerKeyExchange(kind="dhe", prime=prime, generator=b"\x02", public=b"\x03")


def test_sizes() -> None:
    assert dhe(b"\x00\x17").bits == 5
    assert dhe(b"").bits == 0
    assert ServerKeyExchange(kind="rsa", prime=b"\xff\xff", generator=b"\x03").bits == 16
    assert ServerKeyExchange(kind="ecdhe", group=29).bits is None


@pytest.mark.parametrize("exchange", ["PSK", "ECDHE_PSK", "SRP", "unknown", "any"])
def test_what_we_do_not_read_is_none(exchange: str) -> None:
    assert ServerKeyExchange.decode(bytes.fromhex("0c 000001 ff"), exchange) is None


def test_an_unknown_curve_type_is_malformed() -> None:
    with pytest.raises(Malformed, match="elliptic curve type 4"):
        ServerKeyExchange.decode(bytes.fromhex("0c 000003 040001"), "ECDHE")


def test_an_alert_of_no_version_is_one() -> None:
    """BearSSL refuses an SSLv3 hello so."""
    seen = read(bytes.fromhex("15 0000 0002 0246"))
    assert (seen.finished, seen.malformed, seen.alert) == (True, False, Alert(2, 70))
    assert read(bytes.fromhex("16 0000 0002 0246")).malformed
