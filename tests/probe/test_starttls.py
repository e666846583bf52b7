"""STARTTLS dialogs against scripted peers: whole, byte by byte, refused, cut into, and with noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.model.endpoint import Transport
from scanner.probe.starttls import (
    DEFAULT_PORTS,
    LIMIT,
    LINE_LIMIT,
    Declined,
    Dialog,
    Refused,
    dialog,
    recognise,
    shown,
    upgrades,
)
from scanner.tls.wire import Malformed

Script = tuple[tuple[bytes, bytes], ...]
"""Bytes that the client must send (b"": none) and the peer's answer."""

EHLO = b"EHLO adhere.invalid\r\n"
LDAP_REQUEST = bytes.fromhex("301d 020101 7718 8016") + b"1.3.6.1.4.1.1466.20037"
XMPP_OPEN = (
    b"<?xml version='1.0'?><stream:stream to=\"chat.example\" version='1.0' xmlns='jabber:client'"
    b" xmlns:stream='http://etherx.jabber.org/streams'>"
)
XMPP_HEADER = b"<?xml version='1.0'?><stream:stream from='chat.example' id='1' version='1.0'>"
XMPP_TLS = b"<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"
MYSQL_GREETING = bytes.fromhex("000000000a") + b"8.0.36\x00" + bytes(4) + b"saltsalt\x00" + b"\xff\xff" + bytes(20)


def mysql_packet(payload: bytes, sequence: int = 0) -> bytes:
    return len(payload).to_bytes(3, "little") + bytes((sequence,)) + payload


MYSQL = mysql_packet(MYSQL_GREETING[4:])

HAPPY: dict[str, tuple[Transport, Script]] = {
    "postgres": ("postgres", ((bytes.fromhex("00000008 04d2162f"), b"S"),)),
    "mysql": ("mysql", ((b"", MYSQL),)),
    "smtp": (
        "smtp",
        (
            (b"", b"220-mail.example ESMTP\r\n220 ready\r\n"),
            (EHLO, b"250-mail.example\r\n250-SIZE 10240000\r\n250-StartTLS\r\n250 HELP\r\n"),
            (b"STARTTLS\r\n", b"220 2.0.0 go ahead\r\n"),
        ),
    ),
    "smtp with bare line feeds": (
        "smtp",
        ((b"", b"220\n"), (EHLO, b"250-m\n250 STARTTLS\n"), (b"STARTTLS\r\n", b"220 ok\n")),
    ),
    "imap": (
        "imap",
        ((b"", b"* OK [CAPABILITY IMAP4rev1] ready\r\n"), (b"a1 STARTTLS\r\n", b"* 1 EXISTS\r\na1 ok begin\r\n")),
    ),
    "pop3": ("pop3", ((b"", b"+OK <1.2@mail.example>\r\n"), (b"STLS\r\n", b"+OK\r\n"))),
    "ldap": ("ldap", ((LDAP_REQUEST, bytes.fromhex("300c 020101 7807 0a0100 0400 0400")),)),
    "ldap with long lengths and the OID repeated": (
        "ldap",
        ((LDAP_REQUEST, bytes.fromhex("308400000028 020101 78840000001f 0a0100 0400 0400 8a16") + LDAP_REQUEST[-22:]),),
    ),
    "ftp": ("ftp", ((b"", b"220-Welcome\r\n anything\r\n220 ftpd\r\n"), (b"AUTH TLS\r\n", b"234 go\r\n"))),
    "xmpp": (
        "xmpp",
        (
            (XMPP_OPEN, XMPP_HEADER + b"<stream:features>" + XMPP_TLS + b"</stream:features> \n"),
            (XMPP_TLS, b"<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"),
        ),
    ),
    "xmpp in another prefix": (
        "xmpp",
        (
            (
                XMPP_OPEN,
                XMPP_HEADER + b"<s:features>" + XMPP_TLS.replace(b"/>", b"><required/></starttls></s:features>"),
            ),
            (XMPP_TLS, b"<t:proceed xmlns:t='urn:ietf:params:xml:ns:xmpp-tls'></t:proceed>"),
        ),
    ),
}

LAST_WORDS = {"mysql": "20000001 008a0000 00000001 21" + "00" * 23}
"""Bytes sent without waiting for an answer: only MySQL's SSLRequest (sequence 1, after the greeting)."""


def whole(reply: bytes) -> Iterable[bytes]:
    return (reply,)


def byte_by_byte(reply: bytes) -> Iterable[bytes]:
    return (reply[at : at + 1] for at in range(len(reply)))


def play(conversation: Dialog, script: Script, cut: Callable[[bytes], Iterable[bytes]] = whole) -> bytes:
    """Be the peer. Returns the dialog's last words; fails where it ends too early or says anything else."""
    sent = next(conversation)
    for said, reply in script:
        assert sent == said
        for piece in cut(reply):
            try:
                sent = conversation.send(piece)
            except StopIteration as end:
                assert (said, reply) == script[-1]
                return bytes(end.value)
    raise AssertionError(f"the dialog goes on: {sent!r}")


@pytest.mark.parametrize("cut", [whole, byte_by_byte])
@pytest.mark.parametrize("name", HAPPY)
def test_every_dialog_ends_where_tls_begins(name: str, cut: Callable[[bytes], Iterable[bytes]]) -> None:
    transport, script = HAPPY[name]
    if name == "xmpp" and cut is byte_by_byte:
        # Singly, the question goes out at the last ">", and this peer would miss it while it still sends spaces.
        script = tuple((said, reply.rstrip()) for said, reply in script)
    assert play(dialog(transport, "chat.example"), script, cut).hex() == LAST_WORDS.get(name, "").replace(" ", "")


def test_tls_from_the_first_byte_has_nothing_to_say() -> None:
    with pytest.raises(StopIteration) as end:
        next(dialog("tls", "any"))
    assert end.value.value == b""


def test_every_transport_has_a_port_and_all_but_tls_a_dialog() -> None:
    transports = get_args(Transport)
    assert set(DEFAULT_PORTS) == set(transports)
    assert [DEFAULT_PORTS[each] for each in ("tls", "smtp", "imap", "pop3", "ldap")] == [443, 25, 143, 110, 389]
    assert [DEFAULT_PORTS[each] for each in ("ftp", "xmpp", "postgres", "mysql")] == [21, 5222, 5432, 3306]
    assert {t for t in transports if upgrades(t)} == set(transports) - {"tls"} == {t for t, _ in HAPPY.values()}
    assert not upgrades("ssh")


EXTENDED_RESPONSE = "30{:02x} 0201{:02x} 78{:02x} 0a01{:02x} 0400 04{:02x}"


def ldap_response(result: int, text: bytes = b"", number: int = 1) -> bytes:
    return bytes.fromhex(EXTENDED_RESPONSE.format(12 + len(text), number, 7 + len(text), result, len(text))) + text


RESULTS = (
    *((1, "operationsError"), (2, "protocolError"), (8, "strongerAuthRequired"), (10, "referral")),
    *((50, "insufficientAccessRights"), (52, "unavailable"), (53, "unwillingToPerform"), (80, "other"), (99, "")),
)
"""RFC 4511, appendix A.2."""
SSL_REQUEST = HAPPY["postgres"][1][0][0]
XMPP_OFFER = (XMPP_OPEN, XMPP_HEADER + b"<stream:features>" + XMPP_TLS + b"</stream:features>")
REFUSALS: list[tuple[Transport, Script, str]] = [
    ("postgres", ((SSL_REQUEST, b"N"),), "SSLRequest: N"),
    ("mysql", ((b"", MYSQL.replace(b"\xff\xff", b"\xff\xf7")),), "CLIENT_SSL"),
    ("smtp", ((b"", b"220 x\r\n"), (EHLO, b"250-x\r\n250 SIZE\r\n")), "not offered"),
    ("smtp", ((b"", b"220 x\r\n"), (EHLO, b"250 STARTTLS\r\n")), "not offered"),
    (
        "smtp",
        ((b"", b"220 x\r\n"), (EHLO, b"250-x\r\n250 STARTTLS\r\n"), (b"STARTTLS\r\n", b"454 later\x1b[2J\r\n")),
        r"STARTTLS: 454 later\\x1b\[2J$",
    ),
    ("imap", ((b"", b"* PREAUTH hello\r\n"),), "PREAUTH"),
    ("imap", ((b"", b"* OK\r\n"), (b"a1 STARTTLS\r\n", b"a1 BAD unknown\r\n")), "a1 BAD unknown"),
    ("pop3", ((b"", b"+OK\r\n"), (b"STLS\r\n", b"-ERR what?\r\n")), "what"),
    ("ldap", ((LDAP_REQUEST, ldap_response(2, b"unsupported")),), "result 2 protocolError: unsupported"),
    ("ldap", ((LDAP_REQUEST, ldap_response(52, b"bye", number=0)),), "unavailable: bye"),
    *(("ldap", ((LDAP_REQUEST, ldap_response(n, b"x")),), f"StartTLS: result {n} {name}: x$") for n, name in RESULTS),
    ("ftp", ((b"", b"220 x\r\n"), (b"AUTH TLS\r\n", b"530 login first\r\n")), "530 login first"),
    ("xmpp", ((XMPP_OPEN, XMPP_HEADER + b"<stream:features><bind/></stream:features>"),), "without STARTTLS"),
    ("xmpp", (XMPP_OFFER, (XMPP_TLS, b"<failure xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>")), "failure"),
]


@pytest.mark.parametrize(("transport", "script", "reason"), REFUSALS)
def test_a_no_is_refused_with_the_peers_words(transport: Transport, script: Script, reason: str) -> None:
    with pytest.raises(Refused, match=reason) as refused:
        play(dialog(transport, "chat.example"), script)
    assert str(refused.value).isprintable()


# Not with us, or not now: whether TLS would have begun is not known.
DECLINED: list[tuple[Transport, Script, str]] = [
    ("postgres", ((SSL_REQUEST, b"EFATAL: too many\x00"),), r"error FATAL: too many\\x00"),
    ("mysql", ((b"", mysql_packet(b"\xff\x6a\x04Host is blocked")),), "error 1130 Host is blocked"),
    ("smtp", ((b"", b"554 no service\r\n"),), "greeting: 554 no service"),
    ("imap", ((b"", b"* BYE\r\n"),), "BYE"),
    ("pop3", ((b"", b"-ERR busy\r\n"),), "busy"),
    ("xmpp", ((XMPP_OPEN, XMPP_HEADER + b"<stream:error><host-unknown/></stream:error>"),), "host-unknown"),
    *(
        ("xmpp", ((XMPP_OPEN, XMPP_HEADER + b"<stream:error><%s/></stream:error>" % each.encode()),), each)
        for each in ("host-gone", "improper-addressing")
    ),
    ("ftp", ((b"", b"421 too many connections\r\n"),), "greeting: 421"),
    ("ldap", ((LDAP_REQUEST, ldap_response(51, b"later")),), "result 51 busy"),
    ("xmpp", ((XMPP_OPEN, XMPP_HEADER + b"<stream:error><policy-violation/></stream:error>"),), "policy-violation"),
    ("xmpp", (XMPP_OFFER, (XMPP_TLS, b"<stream:error><system-shutdown/></stream:error>")), "system-shutdown"),
]


@pytest.mark.parametrize(("transport", "script", "reason"), DECLINED)
def test_who_ends_the_conversation_says_nothing_of_tls(transport: Transport, script: Script, reason: str) -> None:
    with pytest.raises(Declined, match=reason) as declined:
        play(dialog(transport, "chat.example"), script)
    assert str(declined.value).isprintable()
    assert declined.value.name is (reason in ("host-unknown", "host-gone", "improper-addressing"))


NONSENSE: list[tuple[Transport, Script, str]] = [
    ("postgres", ((SSL_REQUEST, b"H"),), "neither S, N nor E"),
    ("mysql", ((b"", mysql_packet(b"\x09old")),), "protocol version 9"),
    ("mysql", ((b"", mysql_packet(b"\x0a8.0")),), "expected"),
    ("mysql", ((b"", b"\xff\xff\xff\x00"),), "16777215"),
    ("smtp", ((b"", b"HTTP/1.1 400 Bad Request\r\n"),), "invalid reply"),
    ("smtp", ((b"", b"220 x\r\n250 answer before the question\r\n"),), "before they were asked"),
    ("imap", ((b"", b"220 mail\r\n"),), "not an IMAP greeting"),
    ("imap", ((b"", b"* OK\r\n"), (b"a1 STARTTLS\r\n", b"a2 OK\r\n")), "invalid response"),
    ("pop3", ((b"", b"* OK\r\n"),), "invalid status"),
    ("ldap", ((LDAP_REQUEST, b"HTTP/1.1 400"),), "instead of an LDAPMessage"),
    ("ldap", ((LDAP_REQUEST, ldap_response(0, number=7)),), "message 7"),
    ("ldap", ((LDAP_REQUEST, b"\x30\x80"),), "a length of 0 octets"),
    ("ldap", ((LDAP_REQUEST, b"\x30\x84\xff\xff\xff\xff"),), "4294967295"),
    ("ldap", ((LDAP_REQUEST, bytes.fromhex("3003 020101")),), "expected"),
    ("ldap", ((LDAP_REQUEST, bytes.fromhex("3005 020101 6100")),), "instead of 0x78"),
    ("xmpp", ((XMPP_OPEN, b"HTTP/1.1 400"),), "not XML"),
]


@pytest.mark.parametrize(("transport", "script", "reason"), NONSENSE)
def test_what_is_not_the_protocol_is_malformed(transport: Transport, script: Script, reason: str) -> None:
    with pytest.raises(Malformed, match=reason):
        play(dialog(transport, "chat.example"), script)


@pytest.mark.parametrize("name", HAPPY)
def test_bytes_behind_the_go_ahead_are_malformed(name: str) -> None:
    transport, script = HAPPY[name]
    injected = (*script[:-1], (script[-1][0], script[-1][1] + b"\x16injected"))
    with pytest.raises(Malformed, match=r"between the go-ahead and TLS: \\x16injected"):
        play(dialog(transport, "chat.example"), injected)


@pytest.mark.parametrize("transport", ["smtp", "imap", "pop3", "ftp"])
def test_a_line_without_end_is_cut_off(transport: Transport) -> None:
    with pytest.raises(Malformed, match=f"more than {LINE_LIMIT} bytes"):
        play(dialog(transport, "any"), ((b"", b"2" * LINE_LIMIT),))


@pytest.mark.parametrize(
    ("transport", "drivel"),
    [("smtp", b"220-" + b"x" * 1000 + b"\r\n"), ("imap", b"* " + b"x" * 1000 + b"\r\n"), ("xmpp", b"<a>" * 500)],
)
def test_a_peer_that_never_comes_to_the_point_is_cut_off(transport: Transport, drivel: bytes) -> None:
    conversation = dialog(transport, "any")
    next(conversation)
    if transport == "imap":
        conversation.send(b"* OK\r\n")
    for _ in range(LIMIT // len(drivel) - 1):
        assert conversation.send(drivel) == b""
    with pytest.raises(Malformed, match=f"more than {LIMIT} bytes"):
        [conversation.send(drivel) for _ in range(3)]


def test_a_name_cannot_break_out_of_the_stream_header() -> None:
    opening = next(dialog("xmpp", "a'\"><evil/>\x00\n&"))
    assert b"to='a&apos;" in opening or b'to="a\'&quot;&gt;&lt;evil/&gt;&amp;"' in opening
    assert b"\x00" not in opening
    assert b"<evil" not in opening


TRANSPORTS = st.sampled_from([t for t in get_args(Transport) if t != "tls"])


def feed(transport: Transport, pieces: Iterable[bytes]) -> None:
    """For any input a dialog ends, waits, or raises one of its exceptions."""
    conversation = dialog(transport, "chat.example")
    next(conversation)
    try:
        for piece in pieces:
            conversation.send(piece)
    except StopIteration:
        return
    except (Refused, Declined, Malformed) as end:
        reason = str(end)
    else:
        return
    assert reason.isprintable()


@given(TRANSPORTS, st.lists(st.binary(min_size=1, max_size=60)))
def test_noise_raises_nothing_else(transport: Transport, pieces: list[bytes]) -> None:
    feed(transport, pieces)


@given(st.sampled_from(sorted(HAPPY)), st.data())
def test_damaged_dialogs_raise_nothing_else(name: str, data: st.DataObject) -> None:
    transport, script = HAPPY[name]
    replies = [bytearray(reply) for _, reply in script]
    for _ in range(data.draw(st.integers(1, 4))):
        reply = data.draw(st.sampled_from(replies))
        at = data.draw(st.integers(0, len(reply) - 1))
        reply[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3)) or b"?"
    feed(transport, map(bytes, replies))


def test_an_empty_line_is_a_line() -> None:
    """A greeting that is none: what follows it does not belong to the same line."""
    with pytest.raises((Malformed, Refused, Declined)) as one:
        play(dialog("imap", "any"), ((b"", b"\n* OK ready\r\n"),))
    assert "OK ready" not in str(one.value)


SAID = [
    (b"HTTP/1.1 400 Bad Request\r\n", "http"),
    (b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent a TLS hello to an HTTP server.\n", "http"),
    (b"<!DOCTYPE HTML PUBLIC>", "http"),
    (b"\n<html><head><title>400", "http"),
    (bytes.fromhex("000018 04 00 00000000 000400400000"), "http"),
    (b"220 mail.example ESMTP Postfix\r\n", "smtp"),
    (b"220 ftp.example ESMTP\r\n", "smtp"),
    (b"220-mx.example ready\r\n220 go\r\n", "smtp"),
    (b"554 5.7.1 no\r\n", "smtp"),
    (b"220 (vsFTPd 3.0.5)\r\n", "ftp"),
    (b"530 Please login with USER and PASS.\r\n", "ftp"),
    (b"* OK [CAPABILITY IMAP4rev1 STARTTLS] Dovecot ready.\r\n", "imap"),
    (b"+OK Dovecot ready.\r\n", "pop3"),
    (b"-ERR [SYS/TEMP] try again\r\n", "pop3"),
    (b"-ERR Protocol error: invalid multibulk length\r\n", "redis"),
    (b"-DENIED Redis is running in protected mode", "redis"),
    (b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", "ssh"),
    (bytes.fromhex("4a000000 0a") + b"8.0.36\x00" + bytes(30), "mysql"),
    (bytes.fromhex("45000000 ff6a04") + b"Host '10.0.0.1' is not allowed", "mysql"),
    (b"E\x00\x00\x00\x88SFATAL\x00VFATAL\x00C0A000\x00", "postgres"),
    (b"<?xml version='1.0'?><stream:stream xmlns='jabber:client'>", "xmpp"),
    (bytes.fromhex("3024 020100 781f 0a0102 0400"), "ldap"),
    (b"AMQP\x00\x00\x09\x01", "amqp"),
    (b"RFB 003.008\n", "vnc"),
    (b'INFO {"server_id":"x"}', "nats"),
    (b"ERROR\r\n", "memcached"),
    (b"\xff\xfd\x18\xff\xfd\x20", "telnet"),
    (b"200 news.example ready\r\n", "nntp"),
    (b"RTSP/1.0 400 Bad Request\r\n", "rtsp"),
    (b"SIP/2.0 400 Bad Request\r\n", "sip"),
    (b"@RSYNCD: 31.0\n", "rsync"),
    (b"", None),
    (b"hello, who are you?\n", None),
    (b"\x15\x03\x01\x00\x02\x02\x28", None),
    (b"\x16\x03\x03\x00\x7a\x02\x00\x00\x76\x03\x03", None),
    (bytes(64), None),
]


@pytest.mark.parametrize(("said", "protocol"), SAID)
def test_a_greeting_gives_its_protocol_away(said: bytes, protocol: str | None) -> None:
    assert recognise(said) == protocol


def test_what_was_said_is_shown_on_one_printable_line() -> None:
    assert shown(b"220 a\r\n\t250  b\x1b[2J\x00\xe2\x80\xae") == r"220 a 250 b\x1b[2J\x00\xe2\x80\xae"


@given(st.binary(max_size=1200))
def test_whatever_is_said_can_be_shown(said: bytes) -> None:
    recognise(said)
    assert shown(said).isascii()
    assert shown(said).isprintable()
    assert len(shown(said)) <= 480
