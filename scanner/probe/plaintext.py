"""What a peer speaks that does not answer with TLS, and how to print what it said."""

from __future__ import annotations

import re
from typing import Final

_SPOKEN: Final = tuple(
    (protocol, re.compile(pattern, re.DOTALL))
    for protocol, pattern in (
        ("http", rb"HTTP/\d|\s*<(?i:!doctype html|html)"),
        ("http", rb"\x00..\x04\x00\x00\x00\x00\x00"),  # HTTP/2 SETTINGS, RFC 9113 sections 3.4 and 6.5: gRPC in clear
        ("rtsp", rb"RTSP/\d"),
        ("sip", rb"SIP/\d"),
        ("ssh", rb"SSH-\d"),
        ("smtp", rb"[1-5]\d\d[ -][^\r\n]*(?i:smtp)"),
        ("ftp", rb"(?:[1-5]\d\d[ -])[^\r\n]*(?i:ftp|filezilla|USER and PASS)"),
        ("smtp", rb"(?:220|421|451|454|50\d|521|554)[ -]"),
        ("nntp", rb"20[01][ -]"),
        ("imap", rb"\* (?:OK|PREAUTH|BYE)\b"),
        ("pop3", rb"\+OK\b|-ERR (?:\[|[^\r\n]*(?i:pop))"),
        ("redis", rb"-(?:ERR|NOAUTH|DENIED|LOADING|MISCONF)\b"),
        ("mysql", rb"..\x00\x00(?:\x0a[\x20-\x7e]+\x00|\xff..)"),
        ("postgres", rb"E\x00\x00..S(?:ERROR|FATAL|PANIC)\x00"),
        ("xmpp", rb"\s*(?:<\?xml[^>]*>\s*)?<(?:stream:)?(?:stream|error)\b"),
        ("ldap", rb"0(?:[\x00-\x7f]|\x81.|\x82..|\x83...|\x84....)\x02\x01[\x00\x01]\x78"),
        ("amqp", rb"AMQP"),
        ("vnc", rb"RFB \d\d\d\."),
        ("nats", rb"INFO \{"),
        ("rsync", rb"@RSYNCD:"),
        ("memcached", rb"(?:CLIENT_|SERVER_)?ERROR\b"),
        ("telnet", rb"\xff[\xfb-\xfe]"),
    )
)
"""The first bytes that each protocol's servers greet with or answer nonsense with; the first that matches counts."""


def recognise(first_bytes: bytes) -> str | None:
    """The plaintext protocol that a greeting, or an answer to a ClientHello, belongs to; None where nothing fits.

    A guess for the reader and for ``upgrades``; nothing else rests on it. 220 without another mark is taken for SMTP.
    """
    return next((protocol for protocol, pattern in _SPOKEN if pattern.match(first_bytes)), None)


def shown(said: bytes) -> str:
    """The start of what a peer said, on one line, with everything that is not printable ASCII made visible."""
    text = b" ".join(said[:400].split()).decode("latin-1")[:120]
    return "".join(char if " " <= char <= "~" else f"\\x{ord(char):02x}" for char in text)
