"""A server's answer to one ClientHello: its unencrypted messages, and a parser of the flight.

ServerHello, HelloRetryRequest and Alert of SSLv3 to TLS 1.3 (RFC 8446 sections 4.1.3 and 6), SSLv2's SERVER-HELLO, and
up to TLS 1.2 ServerKeyExchange and CertificateRequest (RFC 5246 sections 7.4.3 and 7.4.4). No I/O.
"""

from __future__ import annotations

import struct
from typing import Final, Literal, NamedTuple

from msgspec import Struct, field

from scanner.tls import records
from scanner.tls.certificate import CERTIFICATE, CertificateMessage
from scanner.tls.codepoints import KEY_SHARE, SSL3, SUPPORTED_VERSIONS, TLS12
from scanner.tls.extensions import (
    Extension,
    encode_extensions,
    find,
    pull_retry_group,
    pull_selected_version,
    pull_server_share,
    read_extensions,
)
from scanner.tls.names import key_exchange
from scanner.tls.wire import Malformed, Reader, read_message, u16, u16s, u24, vec8, vec16, vec24

SERVER_HELLO: Final = 2

RETRY_RANDOM: Final = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
"""Random of a HelloRetryRequest: SHA-256 of "HelloRetryRequest" (RFC 8446 section 4.1.3)."""

_HEAD, _CHOICE = struct.Struct(">H32sB"), struct.Struct(">HB")
_SHORTEST = 4 + _HEAD.size + _CHOICE.size
"""Size in bytes of a ServerHello with its header, without session id and extensions."""
_MAX_SESSION_ID = 32
_SSL2_SERVER_HELLO = 4


class Alert(NamedTuple):
    """An alert: level 1 warns, 2 is fatal (RFC 8446 section 6)."""

    level: int
    description: int


class ServerHello(NamedTuple):
    """A ServerHello or HelloRetryRequest, which have the same format. A tuple, because a scan makes thousands."""

    version: int
    """legacy_version; see ``selected_version`` for the selected one."""
    random: bytes
    suite: int
    session_id: bytes = b""
    compression: int = 0
    extensions: tuple[Extension, ...] | None = None
    """None: no extensions block."""

    @property
    def is_hello_retry_request(self) -> bool:
        """True for a HelloRetryRequest."""
        return self.random == RETRY_RANDOM

    @property
    def selected_version(self) -> int:
        """The selected version: supported_versions, else legacy_version (RFC 8446 section 4.2.1)."""
        data = find(self.extensions, SUPPORTED_VERSIONS)
        return self.version if data is None else pull_selected_version(data)

    @property
    def selected_group(self) -> int | None:
        """The group of key_share; None without one, as up to TLS 1.2."""
        data = find(self.extensions, KEY_SHARE)
        if data is None:
            return None
        return pull_retry_group(data) if self.is_hello_retry_request else pull_server_share(data)[0]

    def encode(self) -> bytes:
        block = b"" if self.extensions is None else vec16(encode_extensions(self.extensions))
        body = u16(self.version) + self.random + vec8(self.session_id) + u16(self.suite)
        return bytes((SERVER_HELLO,)) + vec24(body + bytes((self.compression,)) + block)

    @classmethod
    def decode(cls, message: bytes) -> ServerHello:
        """Parse a handshake message, with supported_versions and key_share. Raises ``Malformed``."""
        size = len(message)
        if size < _SHORTEST or message[0] != SERVER_HELLO or int.from_bytes(message[1:4], "big") != size - 4:
            read_message(message, SERVER_HELLO, "ServerHello")
            raise Malformed(f"ServerHello of {size - 4} bytes")
        version, random, ids = _HEAD.unpack_from(message, 4)
        at = _SHORTEST + ids
        if version >> 8 != 3:
            raise Malformed(f"ServerHello of version 0x{version:04X}")
        if ids > _MAX_SESSION_ID or at > size:
            raise Malformed(f"session id of {ids} bytes, {min(_MAX_SESSION_ID, size - _SHORTEST)} allowed")
        suite, compression = _CHOICE.unpack_from(message, at - _CHOICE.size)
        extensions = None
        if at < size:
            if at + 2 > size or int.from_bytes(message[at : at + 2], "big") != size - at - 2:
                raise Malformed(f"extensions do not fill the remaining {size - at} bytes")
            extensions = read_extensions(message[at + 2 :])
        session_id = message[_SHORTEST - _CHOICE.size : at - _CHOICE.size]
        hello = cls(version, random, suite, session_id, compression, extensions)
        _ = hello.selected_version, hello.selected_group  # so that they never raise later
        return hello


class Ssl2ServerHello(Struct, frozen=True, kw_only=True):
    """SERVER-HELLO of SSLv2 (draft-hickman-netscape-ssl-00 section 5.2.2)."""

    session_id_hit: int = 0
    certificate_type: int = 1
    version: int
    certificate: bytes
    """DER; empty when a session is resumed."""
    suites: tuple[int, ...]
    """Cipher kinds that both sides have, three bytes each. Empty: the server speaks SSLv2 and shares none."""
    connection_id: bytes = b""

    def encode(self) -> bytes:
        """The message, without its record header."""
        kinds = b"".join(u24(suite) for suite in self.suites)
        head = bytes((_SSL2_SERVER_HELLO, self.session_id_hit, self.certificate_type)) + u16(self.version)
        sizes = u16(len(self.certificate)) + u16(len(kinds)) + u16(len(self.connection_id))
        return head + sizes + self.certificate + kinds + self.connection_id

    @classmethod
    def decode(cls, message: bytes) -> Ssl2ServerHello:
        """Parse a message. Raises ``Malformed``."""
        reader = Reader(message)
        if reader.u8() != _SSL2_SERVER_HELLO:
            raise Malformed(f"SSLv2 message {message[0]} is no SERVER-HELLO")
        hit, kind, version = reader.u8(), reader.u8(), reader.u16()
        certificate, kinds, connection = reader.u16(), reader.u16(), reader.u16()
        if kinds % 3:
            raise Malformed(f"{kinds} bytes of three-byte cipher kinds")
        hello = cls(
            session_id_hit=hit,
            certificate_type=kind,
            version=version,
            certificate=reader.take(certificate),
            suites=tuple(reader.u24() for _ in range(kinds // 3)),
            connection_id=reader.take(connection),
        )
        reader.done()
        return hello


SERVER_KEY_EXCHANGE: Final = 12
CERTIFICATE_REQUEST: Final = 13

Kind = Literal["ecdhe", "dhe", "rsa"]
_KINDS: dict[str, Kind] = {
    "ECDHE": "ecdhe",
    "ECDH_anon": "ecdhe",
    "DHE": "dhe",
    "DH_anon": "dhe",
    "RSA": "rsa",  # only the export suites send one (RFC 2246 section 7.4.3)
}
"""Key exchanges whose message is parsed, by their name in ``names.key_exchange``."""

_EXPLICIT_CURVES, _NAMED_CURVE = (1, 2), 3


class ServerKeyExchange(Struct, frozen=True, kw_only=True):
    """A ServerKeyExchange message. The signature is not checked."""

    kind: Kind
    group: int | None = None
    """ECDHE on a named curve."""
    explicit: bytes = b""
    """ECDHE on an explicit curve: all bytes from the curve type on, not parsed (RFC 4492 section 5.4)."""
    public: bytes = b""
    """The server's public point or number."""
    prime: bytes = b""
    """DHE: p. RSA: the modulus."""
    generator: bytes = b""
    """DHE: g. RSA: the exponent."""
    signed: bytes = b""
    """Signature scheme (TLS 1.2) and signature; empty from an anonymous server."""

    @property
    def bits(self) -> int | None:
        """Size of the DHE prime or RSA modulus, None for ECDHE."""
        return None if self.kind == "ecdhe" else int.from_bytes(self.prime, "big").bit_length()

    def encode(self) -> bytes:
        """The handshake message with its four-byte header."""
        if self.kind == "ecdhe":
            named = b"" if self.group is None else bytes((_NAMED_CURVE,)) + u16(self.group) + vec8(self.public)
            params = named or self.explicit
        else:
            params = vec16(self.prime) + vec16(self.generator)
            params += vec16(self.public) if self.kind == "dhe" else b""
        return bytes((SERVER_KEY_EXCHANGE,)) + vec24(params + self.signed)

    @classmethod
    def decode(cls, message: bytes, key_exchange: str) -> ServerKeyExchange | None:
        """Parse a handshake message; ``key_exchange`` as in ``names``. None for one that is not supported (PSK, SRP).

        Raises ``Malformed``.
        """
        body = read_message(message, SERVER_KEY_EXCHANGE, "ServerKeyExchange")
        kind = _KINDS.get(key_exchange)
        if kind is None:
            return None
        if kind == "ecdhe":
            curve = body.u8()
            if curve == _NAMED_CURVE:
                return cls(kind=kind, group=body.u16(), public=body.opaque8(), signed=body.rest())
            if curve not in _EXPLICIT_CURVES:
                raise Malformed(f"elliptic curve type {curve}")
            return cls(kind=kind, explicit=bytes((curve,)) + body.rest())
        prime, generator = body.opaque16(), body.opaque16()
        public = body.opaque16() if kind == "dhe" else b""
        return cls(kind=kind, prime=prime, generator=generator, public=public, signed=body.rest())


class CertificateRequest(Struct, frozen=True, kw_only=True):
    """A CertificateRequest: the server requests a client certificate (RFC 5246 section 7.4.4; no schemes before TLS
    1.2)."""

    types: bytes
    """ClientCertificateType values, one byte each."""
    schemes: tuple[int, ...] | None = None
    """TLS 1.2: signature schemes."""
    authorities: tuple[bytes, ...] = ()
    """Distinguished names in DER."""

    def encode(self) -> bytes:
        """The handshake message with its four-byte header."""
        schemes = b"" if self.schemes is None else vec16(u16s(self.schemes))
        names = vec16(b"".join(vec16(name) for name in self.authorities))
        return bytes((CERTIFICATE_REQUEST,)) + vec24(vec8(self.types) + schemes + names)

    @classmethod
    def decode(cls, message: bytes, version: int) -> CertificateRequest:
        """Parse a handshake message of SSLv3 to TLS 1.2. Raises ``Malformed``."""
        body = read_message(message, CERTIFICATE_REQUEST, "CertificateRequest")
        types = body.opaque8()
        schemes = body.vec16().u16s() if version >= TLS12 else None
        names = body.vec16()
        body.done()
        authorities = []
        while names.left:
            authorities.append(names.opaque16())
        return cls(types=types, schemes=schemes, authorities=tuple(authorities))


SERVER_HELLO_DONE: Final = 14
_HELLO_REQUEST, _CERTIFICATE_STATUS = 0, 22
_WARNING: Final = 1
_CLOSE_NOTIFY = 0


def looks_like_tls(start: bytes) -> bool:
    """True if an answer that starts with these bytes can be TLS or SSLv2. Three bytes are enough to be sure."""
    return records.starts_record(start) or records.starts_ssl2(start)


class ServerFlight(Struct, eq=False):
    """Parser of a server's answer.

    The answer is complete after a ServerHello or HelloRetryRequest, or up to TLS 1.2 after the ServerHelloDone; or
    after an alert that closes the connection. Parsed messages stay available after ``Malformed``.
    """

    limit: int = 65536
    """Longest answer in bytes."""
    hello: ServerHello | None = None
    """A ServerHello or HelloRetryRequest."""
    version: int = 0
    """The selected version; 0 before the ServerHello."""
    ssl2: Ssl2ServerHello | None = None
    ssl2_error: int | None = None
    """Code of an SSLv2 ERROR message: 1 is "no cipher"."""
    alert: Alert | None = None
    """The last alert; a warning does not end the flight."""
    chain: tuple[bytes, ...] | None = None
    """Certificates as served, up to TLS 1.2."""
    key_exchange: ServerKeyExchange | None = None
    certificate_request: CertificateRequest | None = None
    done: bool = False
    """ServerHelloDone was received: the server continues with what it selected."""
    finished: bool = False
    """The answer is complete."""
    _fed: int = 0
    _records: records.RecordReader = field(default_factory=records.RecordReader)
    _messages: bytes = b""
    _alert_bytes: bytes = b""
    _ssl2: bytes | None = None

    def feed(self, data: bytes) -> bool:
        """Parse received bytes; True once the answer is complete.

        Raises ``Malformed`` at bytes that no TLS server sends, or if the answer is longer than ``limit`` bytes.
        """
        if self.finished or not data:
            return self.finished
        if not self._fed and not records.starts_record(data[:1]):
            self._ssl2 = b""
        allowed = data[: self.limit - self._fed]
        self._fed += len(data)
        if self._ssl2 is None:
            self._read_records(allowed)
        else:
            self._read_ssl2(allowed)
        if self._fed > self.limit and not self.finished:
            raise Malformed(f"answer not complete after {self.limit} bytes")
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
            # After a warning a server may go on with its ServerHello, whatever the warning says (RFC 5246, 7.2.2).
            self.finished = level != _WARNING or description == _CLOSE_NOTIFY
            pending = pending[2:]
        self._alert_bytes = pending

    def _read_messages(self, fragment: bytes) -> None:
        """Parse handshake messages, which may span fragments (RFC 8446 section 5.1)."""
        pending, at = self._messages + fragment, 0
        while len(pending) >= at + 4 and not self.finished:
            size = 4 + int.from_bytes(pending[at + 1 : at + 4], "big")
            if size > self.limit:
                raise Malformed(f"handshake message of {size} bytes, {self.limit} allowed")
            if len(pending) < at + size:
                break
            self._take(pending[at : at + size])
            at += size
        self._messages = pending[at:]

    def _take(self, message: bytes) -> None:
        kind, hello = message[0], self.hello
        if hello is None:
            self._take_first(message)
        elif kind == CERTIFICATE:
            self.chain = CertificateMessage.decode(message).chain
        elif kind == SERVER_KEY_EXCHANGE:
            self.key_exchange = ServerKeyExchange.decode(message, key_exchange(hello.suite))
        elif kind == CERTIFICATE_REQUEST:
            self.certificate_request = CertificateRequest.decode(message, self.version)
        elif kind == SERVER_HELLO_DONE:
            if len(message) != 4:
                raise Malformed(f"ServerHelloDone of {len(message) - 4} bytes")
            self.done = self.finished = True
        elif kind not in (_HELLO_REQUEST, _CERTIFICATE_STATUS):
            raise Malformed(f"handshake message {kind} after the ServerHello")

    def _take_first(self, message: bytes) -> None:
        if message[0] == SERVER_HELLO:
            self.hello = ServerHello.decode(message)
            self.version = self.hello.selected_version
            self.finished = not SSL3 <= self.version <= TLS12
        elif message[0] != _HELLO_REQUEST:
            raise Malformed(f"handshake message {message[0]} before the ServerHello")
