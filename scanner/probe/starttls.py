"""Plaintext protocols: recognise them, and the dialogs that lead to TLS (STARTTLS). No I/O.

A dialog is a generator. It yields bytes to send (b"" to only read), is sent received bytes, at least one, and returns
bytes to send without waiting for an answer: TLS follows at once. It raises ``Refused`` if the peer refuses TLS,
``Declined`` if the peer ends the dialog before that, and ``Malformed`` for bytes that are not the protocol's.

Bytes after the go-ahead came from an attacker who could write to the connection before it was protected (CVE-2011-0411
and others), so they are malformed, never skipped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from typing import Final, TypeAlias

from scanner.model.endpoint import Transport
from scanner.tls.wire import Malformed, Reader

__all__ = ["DEFAULT_PORTS", "LIMIT", "LINE_LIMIT", "Dialog", "Refused", "dialog", "recognise", "upgrades"]

Dialog: TypeAlias = Generator[bytes, bytes, bytes]
"""Yields bytes to send, is sent bytes received, returns the last bytes to send before the ClientHello."""

LIMIT: Final = 65536
"""Limit of bytes from the peer before TLS."""
LINE_LIMIT: Final = 8192
"""Length limit of a line; RFC 5321 section 4.5.3.1 allows 512, IMAP servers list their extensions in more."""
OUR_NAME: Final = "adhere.invalid"
"""The client's name in EHLO (RFC 5321 section 4.1.1.1); RFC 2606 reserves the domain."""

DEFAULT_PORTS: Final[Mapping[Transport, int]] = {
    "tls": 443,
    "smtp": 25,
    "imap": 143,
    "pop3": 110,
    "ldap": 389,
    "ftp": 21,
    "xmpp": 5222,
    "postgres": 5432,
    "mysql": 3306,
}
"""Default ports as registered by IANA (submission, 587, is SMTP too)."""


class Refused(Exception):
    """The peer supports the protocol and refuses TLS. The text is its reason, safe to print."""


class Declined(Exception):
    """The peer supports the protocol, but not for us or not now, so its TLS support is unknown. The text is its reason,
    safe to print."""

    def __init__(self, reason: str, *, name: bool = False) -> None:
        super().__init__(reason)
        self.name = name
        """The peer may accept another name."""


def dialog(transport: Transport, name: str) -> Dialog:
    """The dialog of ``transport`` up to the start of TLS; ``tls`` has none.

    ``name`` is the server's name for protocols that need it (XMPP). Raises ``Refused``, ``Declined`` and ``Malformed``.
    """
    inbox = _Inbox()
    last = b""
    if transport != "tls":
        last = yield from _DIALOGS[transport](inbox, name)
    inbox.must_be_empty("between the go-ahead and TLS")
    return last


def upgrades(protocol: str) -> bool:
    """True if ``protocol``, as ``recognise`` names it, can upgrade to TLS."""
    return protocol in _DIALOGS


class _Inbox:
    """Received bytes that are not yet used. Its methods are generators that read more when needed."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._total = 0

    def must_be_empty(self, when: str) -> None:
        if self._data:
            raise Malformed(f"{len(self._data)} bytes {when}: {shown(bytes(self._data))}")

    def ask(self, question: bytes) -> Generator[bytes, bytes, None]:
        """Send ``question`` and wait for the start of its answer; earlier bytes are malformed."""
        self.must_be_empty("before they were asked for")
        yield from self._more(question)

    def _more(self, sending: bytes = b"") -> Generator[bytes, bytes, None]:
        received = yield sending
        self._total += len(received)
        if self._total > LIMIT:
            raise Malformed(f"more than {LIMIT} bytes before TLS")
        self._data += received

    def exactly(self, size: int) -> Generator[bytes, bytes, bytes]:
        if size > LIMIT:
            raise Malformed(f"a length of {size} bytes before TLS")
        while len(self._data) < size:
            yield from self._more()
        return self._cut(size)

    def line(self) -> Generator[bytes, bytes, bytes]:
        """The next line without its line ending."""
        while (end := self._data.find(b"\n", 0, LINE_LIMIT)) < 0:
            if len(self._data) >= LINE_LIMIT:
                raise Malformed(f"a line of more than {LINE_LIMIT} bytes: {shown(bytes(self._data[:LINE_LIMIT]))}")
            yield from self._more()
        return self._cut(end + 1).removesuffix(b"\n").removesuffix(b"\r")

    def element(self, *names: str) -> Generator[bytes, bytes, tuple[str, bytes]]:
        """The next XML element with one of ``names``, in any namespace prefix, and its text."""
        found = None
        while found is None:
            if not self._data.lstrip().startswith(b"<") and self._data.strip():
                raise Malformed(f"not XML: {shown(bytes(self._data))}")
            found = _find_element(bytes(self._data), names)
            if found is None:
                yield from self._more()
        name, start, end = found
        return name, self._cut(end)[start:]

    def skip_space(self) -> None:
        """Remove white space, which XML ignores."""
        self._data = self._data.lstrip()

    def rest(self) -> bytes:
        """All received bytes."""
        return self._cut(len(self._data))

    def _cut(self, size: int) -> bytes:
        taken = bytes(self._data[:size])
        del self._data[:size]
        return taken


# --- SMTP (RFC 3207) and FTP (RFC 4217): replies of three digits -----------------------------------------------------


def _smtp(inbox: _Inbox, _: str) -> Dialog:
    yield from _reply(inbox, 220, _GREETING)
    yield from inbox.ask(f"EHLO {OUR_NAME}\r\n".encode())
    offered = yield from _reply(inbox, 250, "EHLO")
    if not any(line[4:].strip().upper() == b"STARTTLS" for line in offered[1:]):
        raise Refused("EHLO: STARTTLS is not offered")
    yield from inbox.ask(b"STARTTLS\r\n")
    yield from _reply(inbox, 220, "STARTTLS")
    return b""


def _ftp(inbox: _Inbox, _: str) -> Dialog:
    yield from _reply(inbox, 220, _GREETING)
    yield from inbox.ask(b"AUTH TLS\r\n")
    yield from _reply(inbox, 234, "AUTH TLS")
    return b""


_GREETING: Final = "greeting"
_REPLY_LINE = re.compile(rb"([1-5]\d\d)(?:([ -]).*)?", re.DOTALL)


def _reply(inbox: _Inbox, expected: int, to: str) -> Generator[bytes, bytes, list[bytes]]:
    """One reply of one or more lines (RFC 959 section 4.2, RFC 5321 section 4.2.1), which must have the expected
    code."""
    lines = [(yield from inbox.line())]
    first = _REPLY_LINE.fullmatch(lines[0])
    if first is None:
        raise Malformed(f"{to}: invalid reply: {shown(lines[0])}")
    code, separator = first.groups()
    while separator == b"-":
        lines.append((yield from inbox.line()))
        # In FTP lines between the first and the last may be anything, so only "code, space" ends the reply.
        if lines[-1].startswith(code) and lines[-1][3:4] in (b" ", b""):
            break
    if int(code) != expected:
        # A greeting may say that there is no service now or for us (RFC 5321 section 3.1, RFC 959 section 5.4).
        raise (Declined if to == _GREETING else Refused)(f"{to}: {shown(lines[-1])}")
    return lines


# --- IMAP (RFC 9051 section 6.2.1) and POP3 (RFC 2595 section 4) -----------------------------------------------------


def _imap(inbox: _Inbox, _: str) -> Dialog:
    greeting = yield from inbox.line()
    if not _starts(greeting, b"* OK", b"* PREAUTH", b"* BYE"):
        raise Malformed(f"not an IMAP greeting: {shown(greeting)}")
    if _starts(greeting, b"* BYE"):
        raise Declined(f"greeting: {shown(greeting)}")
    if not _starts(greeting, b"* OK"):
        raise Refused(f"greeting: {shown(greeting)}")
    yield from inbox.ask(b"a1 STARTTLS\r\n")
    while (answer := (yield from inbox.line())).startswith(b"* "):
        pass  # untagged responses may come at any time
    if _starts(answer, b"a1 OK"):
        return b""
    if _starts(answer, b"a1 NO", b"a1 BAD"):
        raise Refused(f"STARTTLS: {shown(answer)}")
    raise Malformed(f"STARTTLS: invalid response: {shown(answer)}")


def _pop3(inbox: _Inbox, _: str) -> Dialog:
    yield from _status(inbox, _GREETING)
    yield from inbox.ask(b"STLS\r\n")
    yield from _status(inbox, "STLS")
    return b""


def _status(inbox: _Inbox, to: str) -> Generator[bytes, bytes, None]:
    """Read a POP3 status indicator (RFC 1939 section 3), which must be positive."""
    answer = yield from inbox.line()
    if _starts(answer, b"-ERR"):
        raise (Declined if to == _GREETING else Refused)(f"{to}: {shown(answer)}")
    if not _starts(answer, b"+OK"):
        raise Malformed(f"{to}: invalid status: {shown(answer)}")


def _starts(line: bytes, *words: bytes) -> bool:
    """True if ``line`` is one of ``words`` or starts with it and a space, case-insensitive."""
    return any(line[: len(w)].upper() == w.upper() and line[len(w) : len(w) + 1] in (b"", b" ") for w in words)


# --- LDAP (RFC 4511 section 4.14) -----------------------------------------------------------------------------------

_START_TLS_OID: Final = b"1.3.6.1.4.1.1466.20037"
_START_TLS: Final = b"\x02\x01\x01\x77" + bytes((len(_START_TLS_OID) + 2,)) + b"\x80\x16" + _START_TLS_OID
_SEQUENCE, _INTEGER, _OCTET_STRING, _ENUMERATED, _EXTENDED_RESPONSE = 0x30, 0x02, 0x04, 0x0A, 0x78

_BUSY: Final = 51
_RESULTS: Final = {
    1: "operationsError",
    2: "protocolError",
    8: "strongerAuthRequired",
    10: "referral",
    50: "insufficientAccessRights",
    _BUSY: "busy",
    52: "unavailable",
    53: "unwillingToPerform",
    80: "other",
}
"""Result codes of RFC 4511 appendix A.2 that an answer to StartTLS may have."""


def _ldap(inbox: _Inbox, _: str) -> Dialog:
    yield from inbox.ask(bytes((_SEQUENCE, len(_START_TLS))) + _START_TLS)
    message = Reader((yield from _ber_message(inbox)))
    number = int.from_bytes(_ber(message, _INTEGER).rest(), "big")
    response = _ber(message, _EXTENDED_RESPONSE)
    result = int.from_bytes(_ber(response, _ENUMERATED).rest(), "big")
    _ber(response, _OCTET_STRING)  # matchedDN
    diagnostic = _ber(response, _OCTET_STRING).rest()
    if result:
        raise (Declined if result == _BUSY else Refused)(
            f"StartTLS: result {result} {_RESULTS.get(result, '')}: {shown(diagnostic)}"
        )
    if number != 1:
        raise Malformed(f"StartTLS: an answer to message {number}, which was not sent")
    return b""


def _ber_message(inbox: _Inbox) -> Generator[bytes, bytes, bytes]:
    """The content of the next LDAPMessage. Lengths are definite (RFC 4511 section 5.1)."""
    tag, size = yield from inbox.exactly(2)
    if tag != _SEQUENCE:
        raise Malformed(f"StartTLS: tag 0x{tag:02x} instead of an LDAPMessage")
    if size & 0x80:
        size = int.from_bytes((yield from inbox.exactly(_ber_octets(size))), "big")
    return (yield from inbox.exactly(size))


def _ber(reader: Reader, expected: int) -> Reader:
    """A reader of the next element, which must have the tag."""
    tag, size = reader.u8(), reader.u8()
    if tag != expected:
        raise Malformed(f"tag 0x{tag:02x} instead of 0x{expected:02x}")
    if size & 0x80:
        size = int.from_bytes(reader.take(_ber_octets(size)), "big")
    return Reader(reader.take(size))


def _ber_octets(first: int) -> int:
    """Number of length octets that follow (X.690 section 8.1.3.5)."""
    count = first & 0x7F
    if not 1 <= count <= 4:
        raise Malformed(f"a length of {count} octets")
    return count


# --- XMPP (RFC 6120 section 5) --------------------------------------------------------------------------------------

_XMPP_TLS: Final = "urn:ietf:params:xml:ns:xmpp-tls"
_XMPP_NAMES: Final = (b"host-unknown", b"host-gone", b"improper-addressing")
"""Stream errors of a server that does not have this name (RFC 6120 section 4.9.3)."""


def _xmpp(inbox: _Inbox, name: str) -> Dialog:
    """The client dialog (``jabber:client``); port 5269, between servers, has another namespace and is not supported."""
    from xml.sax.saxutils import quoteattr  # noqa: PLC0415 - it imports urllib and email

    yield from inbox.ask(
        f"<?xml version='1.0'?><stream:stream to={quoteattr(_xml_safe(name))} version='1.0' xmlns='jabber:client'"
        " xmlns:stream='http://etherx.jabber.org/streams'>".encode()
    )
    kind, element = yield from inbox.element("features", "error")
    if kind == "error":
        raise Declined(f"stream error: {shown(element)}", name=any(each in element for each in _XMPP_NAMES))
    if _XMPP_TLS.encode() not in element:
        raise Refused(f"stream features without STARTTLS: {shown(element)}")
    inbox.skip_space()
    yield from inbox.ask(f"<starttls xmlns='{_XMPP_TLS}'/>".encode())
    kind, element = yield from inbox.element("proceed", "failure", "error")
    if kind != "proceed":
        raise (Declined if kind == "error" else Refused)(f"starttls: {shown(element)}")
    return b""


def _xml_safe(name: str) -> str:
    """Remove characters that XML 1.0 does not allow (section 2.2); no host name has them."""
    return "".join(char for char in name if char.isprintable())


def _find_element(data: bytes, names: tuple[str, ...]) -> tuple[str, int, int] | None:
    """Name, start and end of the first complete element with one of ``names``; None if there is none yet."""
    expected = "|".join(names).encode()
    opening = re.search(rb"<(?:[\w.-]+:)?(" + expected + rb")(?=[\s/>])[^<>]*>", data)
    if opening is None:
        return None
    name = opening[1]
    if opening[0].endswith(b"/>"):
        return name.decode(), opening.start(), opening.end()
    closing = re.compile(rb"</(?:[\w.-]+:)?" + name + rb"\s*>").search(data, opening.end())
    return (name.decode(), opening.start(), closing.end()) if closing else None


# --- PostgreSQL ("Frontend/Backend Protocol", SSL Session Encryption) and MySQL ("Protocol::SSLRequest") --------------

_POSTGRES_SSL_REQUEST: Final = bytes.fromhex("00000008 04d2162f")
"""Length, and 80877103, a version number that no protocol has."""

_MYSQL_PROTOCOL, _MYSQL_ERROR = 10, 0xFF
_CLIENT_PROTOCOL_41, _CLIENT_SSL, _CLIENT_SECURE_CONNECTION = 0x0200, 0x0800, 0x8000
_MYSQL_SSL_REQUEST: Final = (
    (_CLIENT_PROTOCOL_41 | _CLIENT_SSL | _CLIENT_SECURE_CONNECTION).to_bytes(4, "little")
    + (1 << 24).to_bytes(4, "little")  # largest packet
    + b"\x21"  # utf8_general_ci
    + bytes(23)
)


def _postgres(inbox: _Inbox, _: str) -> Dialog:
    yield from inbox.ask(_POSTGRES_SSL_REQUEST)
    answer = yield from inbox.exactly(1)
    if answer == b"S":
        return b""
    if answer == b"N":
        raise Refused("SSLRequest: N, the server has TLS disabled")
    if answer == b"E":
        raise Declined(f"SSLRequest: error {shown(inbox.rest())}".rstrip())
    raise Malformed(f"SSLRequest: neither S, N nor E: {shown(answer)}")


def _mysql(inbox: _Inbox, _: str) -> Dialog:
    """The server sends a greeting; SSLRequest has no answer, the ClientHello follows it."""
    header = yield from inbox.exactly(4)
    greeting = Reader((yield from inbox.exactly(int.from_bytes(header[:3], "little"))))
    kind = greeting.u8()
    if kind == _MYSQL_ERROR:
        code = int.from_bytes(greeting.take(2), "little")
        raise Declined(f"greeting: error {code} {shown(greeting.rest())}")
    if kind != _MYSQL_PROTOCOL:
        raise Malformed(f"greeting: protocol version {kind} instead of {_MYSQL_PROTOCOL}")
    while greeting.u8():
        pass  # the server's version, up to NUL
    greeting.take(13)  # connection id, 8 bytes of challenge, a filler
    if not int.from_bytes(greeting.take(2), "little") & _CLIENT_SSL:
        raise Refused("greeting: the server has no CLIENT_SSL capability")
    sequence = (header[3] + 1) & 0xFF
    return len(_MYSQL_SSL_REQUEST).to_bytes(3, "little") + bytes((sequence,)) + _MYSQL_SSL_REQUEST


_DIALOGS: Final[Mapping[str, Callable[[_Inbox, str], Dialog]]] = {
    "postgres": _postgres,
    "mysql": _mysql,
    "smtp": _smtp,
    "imap": _imap,
    "pop3": _pop3,
    "ldap": _ldap,
    "ftp": _ftp,
    "xmpp": _xmpp,
}


_SPOKEN: Final = (
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
"""First bytes of each protocol's greetings and error replies; the first match counts."""


def recognise(first_bytes: bytes) -> str | None:
    """Recognise the plaintext protocol of a greeting, or of an answer to a ClientHello; None if nothing matches.

    A hint for readers and for ``upgrades``; no verdict depends on it. 220 without another hint counts as SMTP.
    """
    return next(
        # re caches the patterns, which most scans do not need
        (protocol for protocol, pattern in _SPOKEN if re.compile(pattern, re.DOTALL).match(first_bytes)),
        None,
    )


_LOOKED_AT: Final = 400
_SHOWN: Final = 120


def shown(data: bytes) -> str:
    """The start of received bytes on one line, with everything that is not printable ASCII escaped."""
    text = b" ".join(data[:_LOOKED_AT].split()).decode("latin-1")[:_SHOWN]
    return "".join(char if " " <= char <= "~" else f"\\x{ord(char):02x}" for char in text)
