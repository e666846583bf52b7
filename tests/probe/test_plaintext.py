"""Greetings and answers of real servers, by the protocol that they give away."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.probe.plaintext import recognise, shown

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
