"""A server's answer to one ClientHello, read as far as it is in clear. Sans-IO: bytes in, attributes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from scanner.tls import records
from scanner.tls.certificate import CERTIFICATE, CertificateMessage
from scanner.tls.codepoints import SSL3, TLS12
from scanner.tls.exchange import CERTIFICATE_REQUEST, SERVER_KEY_EXCHANGE, CertificateRequest, ServerKeyExchange
from scanner.tls.names import key_exchange
from scanner.tls.server_hello import SERVER_HELLO, Alert, ServerHello, Ssl2ServerHello
from scanner.tls.wire import Malformed

SERVER_HELLO_DONE: Final = 14
_HELLO_REQUEST, _CERTIFICATE_STATUS = 0, 22
_FATAL: Final = 2
_CLOSE_NOTIFY = 0

_ALWAYS_FATAL = frozenset({10, 20, 21, 22, 30, 40, 47, 48, 49, 50, 51, 60, 70, 71, 80, 86, 109, 110, 116, 120})
"""Alerts that end a connection whatever level they claim (RFC 5246 section 7.2.2, RFC 8446 section 6.2)."""


def looks_like_tls(start: bytes) -> bool:
    """Whether an answer that starts so can be TLS or SSLv2. Empty can; three bytes make it sure."""
    return records.starts_record(start) or records.starts_ssl2(start)


class ServerFlight:
    """Reads what comes back until nothing more is wanted.

    That is a ServerHello or HelloRetryRequest, or with ``whole`` and up to TLS 1.2 the ServerHelloDone; or an alert
    that ends the connection. What was read stays readable after ``Malformed``.
    """

    __slots__ = (
        "_alert_bytes",
        "_fed",
        "_limit",
        "_messages",
        "_records",
        "_ssl2",
        "_whole",
        "alert",
        "certificate_request",
        "chain",
        "done",
        "finished",
        "hello",
        "key_exchange",
        "ssl2",
        "ssl2_error",
        "version",
    )

    def __init__(self, *, whole: bool = False, limit: int = 65536) -> None:
        self.hello: ServerHello | None = None
        """A ServerHello or HelloRetryRequest."""
        self.version = 0
        """The version that it selected; 0 before it came."""
        self.ssl2: Ssl2ServerHello | None = None
        self.ssl2_error: int | None = None
        """Code of an SSLv2 ERROR message: 1 is "no cipher"."""
        self.alert: Alert | None = None
        """The last alert; a warning does not end the flight."""
        self.chain: tuple[bytes, ...] | None = None
        """Certificates as served, up to TLS 1.2."""
        self.key_exchange: ServerKeyExchange | None = None
        self.certificate_request: CertificateRequest | None = None
        self.done = False
        """ServerHelloDone came: the server would go on with what it chose."""
        self.finished = False
        """Nothing more is wanted."""
        self._whole = whole
        self._limit = limit
        self._fed = 0
        self._records = records.RecordReader()
        self._messages = b""
        self._alert_bytes = b""
        self._ssl2: bytes | None = None

    def feed(self, data: bytes) -> bool:
        """Take what came; True once nothing more is wanted.

        Raises ``Malformed`` at what no TLS server sends, or when ``limit`` bytes did not suffice.
        """
        if self.finished or not data:
            return self.finished
        if not self._fed and not records.starts_record(data[:1]):
            self._ssl2 = b""
        allowed = data[: self._limit - self._fed]
        self._fed += len(data)
        if self._ssl2 is None:
            self._read_records(allowed)
        else:
            self._read_ssl2(allowed)
        if self._fed > self._limit and not self.finished:
            raise Malformed(f"no end of the answer within {self._limit} bytes")
        return self.finished

    def _read_ssl2(self, data: bytes) -> None:
        self._ssl2 = (self._ssl2 or b"") + data
        message = records.ssl2_message(self._ssl2)
        if message is None:
            return
        if message[0]:
            self.ssl2 = Ssl2ServerHello.decode(message)
        else:
            self.ssl2_error = int.from_bytes(message[1:], "big")
        self.finished = True

    def _read_records(self, data: bytes) -> None:
        for content_type, _, fragment in self._records.feed(data):
            if content_type == records.HANDSHAKE:
                self._read_messages(fragment)
            elif content_type == records.ALERT:
                self._read_alerts(fragment)
            elif content_type != records.CHANGE_CIPHER_SPEC:
                raise Malformed(f"record of content type {content_type} before the end of the handshake")
            if self.finished:
                return

    def _read_alerts(self, fragment: bytes) -> None:
        pending = self._alert_bytes + fragment
        while len(pending) >= 2 and not self.finished:
            level, description = pending[:2]
            self.alert = Alert(level, description)
            self.finished = level == _FATAL or description == _CLOSE_NOTIFY or description in _ALWAYS_FATAL
            pending = pending[2:]
        self._alert_bytes = pending

    def _read_messages(self, fragment: bytes) -> None:
        """Cut handshake messages out of the fragments (RFC 8446 section 5.1) and take each."""
        pending, at = self._messages + fragment, 0
        while len(pending) >= at + 4 and not self.finished:
            size = 4 + int.from_bytes(pending[at + 1 : at + 4], "big")
            if size > self._limit:
                raise Malformed(f"handshake message of {size} bytes, {self._limit} allowed")
            if len(pending) < at + size:
                break
            self._take(pending[at : at + size])
            at += size
        self._messages = pending[at:]

    def _take(self, message: bytes) -> None:
        kind = message[0]
        if self.hello is None:
            if kind == SERVER_HELLO:
                self.hello = ServerHello.decode(message)
                self.version = self.hello.selected_version
                self.finished = not self._whole or not SSL3 <= self.version <= TLS12
            elif kind != _HELLO_REQUEST:
                raise Malformed(f"handshake message {kind} before the ServerHello")
        else:
            take = _AFTER_HELLO.get(kind)
            if take is None:
                raise Malformed(f"handshake message {kind} after the ServerHello")
            take(self, self.hello, message)


def _take_certificate(flight: ServerFlight, _: ServerHello, message: bytes) -> None:
    flight.chain = CertificateMessage.decode(message).chain


def _take_key_exchange(flight: ServerFlight, hello: ServerHello, message: bytes) -> None:
    flight.key_exchange = ServerKeyExchange.decode(message, key_exchange(hello.suite))


def _take_certificate_request(flight: ServerFlight, _: ServerHello, message: bytes) -> None:
    flight.certificate_request = CertificateRequest.decode(message, flight.version)


def _take_done(flight: ServerFlight, _: ServerHello, message: bytes) -> None:
    if len(message) != 4:
        raise Malformed(f"ServerHelloDone of {len(message) - 4} bytes")
    flight.done = flight.finished = True


def _ignore(_: ServerFlight, __: ServerHello, ___: bytes) -> None:
    """Known, and of no interest."""


_AFTER_HELLO: dict[int, Callable[[ServerFlight, ServerHello, bytes], None]] = {
    _HELLO_REQUEST: _ignore,
    CERTIFICATE: _take_certificate,
    SERVER_KEY_EXCHANGE: _take_key_exchange,
    CERTIFICATE_REQUEST: _take_certificate_request,
    SERVER_HELLO_DONE: _take_done,
    _CERTIFICATE_STATUS: _ignore,
}
