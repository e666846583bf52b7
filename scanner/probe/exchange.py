"""Send one offer as a ClientHello, and read the answer as a ``Reply``."""

from __future__ import annotations

import os
import struct
from collections.abc import Coroutine
from functools import lru_cache
from math import inf
from types import TracebackType
from typing import Any, Self

import trio
from msgspec import Struct

from scanner.model.endpoint import Transport
from scanner.probe import starttls
from scanner.probe.dial import Broken, Connection, Where, connect
from scanner.probe.offers import Ending, EngineSuites, Offer, Reply, Shape, Shares
from scanner.tls import codepoints
from scanner.tls import extensions as ext
from scanner.tls.client_hello import Ssl2ClientHello, assemble
from scanner.tls.codepoints import SSL2, SSL3, TLS10, TLS11, TLS12, TLS13
from scanner.tls.flight import ServerFlight, looks_like_tls
from scanner.tls.names import version_name
from scanner.tls.records import HANDSHAKE, encode_records
from scanner.tls.wire import Malformed

SECP256R1 = 0x0017
X25519 = 0x001D

_COMMON_SHARES = {
    # Any 32 bytes are an X25519 public key, and the generator (SEC 2, section 2.4.2) is one of P-256; neither is used.
    X25519: b"\x09" + bytes(31),
    SECP256R1: bytes.fromhex(
        "04"
        "6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296"
        "4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5"
    ),
}

BAD_LENGTHS = range(256, 512)
"""Lengths of a ClientHello on which some old load balancers hang (the reason for RFC 7685)."""

LEAN_SCHEMES = (0x0403, 0x0804, 0x0401, 0x0503, 0x0501, 0x0603, 0x0807, 0x0203, 0x0201, 0x0202)
"""One or two signature algorithms for each certificate type."""

_LIKELY_SCHEMES = (*LEAN_SCHEMES, 0x0805, 0x0806, 0x0601, 0x0809, 0x0808)
"""Likely signature algorithms: wolfSSL 5.7 stops reading between the 16th and the 21st."""

ALL_SCHEMES = tuple(dict.fromkeys((*_LIKELY_SCHEMES, *codepoints.SIGNATURE_SCHEMES)))

_FRAME = 4 + 2 + 32 + 1 + 2 + 2 + 2 + 4 + 1
"""Size in bytes of a ClientHello without session id, suites, extensions and padding: header, version, random, three
vectors' lengths, null compression, and the padding extension's header and first byte."""


def client_hello(offer: Offer, name: str | None, random: bytes) -> bytes:
    """Encode ``offer`` as record(s) with server_name ``name``; ``random`` is 32 bytes, also used as TLS 1.3 session id.

    Raises ``ValueError`` for a name that is not allowed in server_name (RFC 6066, section 3).
    """
    if offer.version == SSL2:
        return Ssl2ClientHello(suites=tuple(s.code for s in codepoints.SSL2_CIPHERS), challenge=random[:16]).encode()
    suites = _packed(offer.suites)
    if offer.version == SSL3 or (offer.shape == "other" and offer.version < TLS13):
        # The suite says that renegotiation is secure (RFC 5746, 3.3): some servers only know this form.
        suites += struct.pack("!H", codepoints.EMPTY_RENEGOTIATION_INFO_SCSV)
    if offer.version == SSL3:  # no extensions (RFC 6101)
        return encode_records(HANDSHAKE, SSL3, assemble(SSL3, random, b"", suites, b""))
    extensions = _name(name)
    extensions += _fixed(offer.version, offer.groups, offer.shares, offer.shape, offer.alpn, lean=offer.lean)
    session = random if offer.version >= TLS13 else b""
    length = _FRAME + len(session) + len(suites) + len(extensions) + offer.padding
    extra = BAD_LENGTHS.stop - length if length in BAD_LENGTHS else 0
    extensions += _padding(offer.padding + extra)
    body = assemble(min(offer.version, TLS12), random, session, suites, extensions)
    return encode_records(HANDSHAKE, min(offer.version, TLS10), body)


@lru_cache(maxsize=512)
def _packed(suites: tuple[int, ...]) -> bytes:
    return struct.pack(f"!{len(suites)}H", *suites)


@lru_cache(maxsize=64)
def _name(name: str | None) -> bytes:
    return ext.encode_extensions((ext.push_server_name(name),)) if name else b""


@lru_cache(maxsize=256)
def _fixed(
    version: int, groups: tuple[int, ...], shares: Shares, shape: Shape, alpn: tuple[str, ...], *, lean: bool
) -> bytes:
    other = shape == "other" and version < TLS13
    extensions = [
        ext.push_extended_master_secret(),
        *(() if other else (ext.push_renegotiation_info(),)),
        ext.push_supported_groups(groups),
        ext.push_ec_point_formats(b"\x00" if other or lean or version >= TLS13 else b"\x00\x01\x02"),
        *(() if lean else (ext.push_session_ticket(),)),
        ext.push_signature_algorithms(LEAN_SCHEMES if lean else ALL_SCHEMES),
    ]
    if alpn:
        extensions.append(ext.push_alpn(alpn))
    if version >= TLS13:
        extensions += _tls13(groups, shares)
    elif not other:
        extensions.append(ext.push_encrypt_then_mac())
    elif not lean:
        extensions += [
            ext.push_status_request(),
            ext.push_status_request_v2(),
            ext.push_signed_certificate_timestamp(),
            ext.push_record_size_limit(),
            ext.push_signature_algorithms_cert(LEAN_SCHEMES),
        ]
    return ext.encode_extensions(tuple(extensions))


def _tls13(groups: tuple[int, ...], shares: Shares) -> list[ext.Extension]:
    # In the order of the groups, and only for offered groups (RFC 8446, section 4.2.8).
    key_share = tuple((group, _COMMON_SHARES[group]) for group in groups if group in _COMMON_SHARES)
    return [
        ext.push_supported_versions((TLS13,)),
        ext.push_key_share(key_share if shares == "common" else ()),
        ext.push_psk_key_exchange_modes(),
    ]


@lru_cache(maxsize=1024)
def _padding(size: int) -> bytes:
    # One byte more: some old servers refuse a hello whose last extension is empty.
    return ext.encode_extensions((ext.push_padding(size + 1),))


REPLY_LIMIT = 256 * 1024
"""Size limit of one reply in bytes; a chain of ten RSA-4096 certificates is a tenth of that."""

BANNER = 200
"""Characters of a plaintext answer that are kept."""

BANNER_READ = 1024
"""Bytes of a plaintext answer that are matched against known protocols."""

TELLING = 32
"""Bytes of a plaintext answer that are enough to recognise its protocol."""


class Peer(Struct, frozen=True, kw_only=True):
    """The server to connect to, and how the connection begins."""

    where: Where
    server_name: str | None
    transport: Transport = "tls"
    host: str = ""
    """Name for protocols that need one before TLS starts (XMPP), if there is no ``server_name``."""
    suites: EngineSuites = "usual"
    """Suites of a full handshake."""
    lean: bool = False
    """Omit ALPN and status_request in full handshakes, because the listener closes connections with them."""


class Answer(Struct):
    """The answer received so far; available after a timeout."""

    flight: ServerFlight
    ending: Ending | None = None
    """The ending of the connection, if the answer is incomplete."""
    text: str = ""
    protocol: str | None = None
    connected: bool = False

    def end(self, ending: Ending, text: str = "", protocol: str | None = None) -> None:
        """Set the reason for an incomplete answer. The first reason stays."""
        if self.ending is None:
            self.ending, self.text, self.protocol = ending, text, protocol


class Timer:
    """A timeout for successive connections.

    Like ``trio.move_on_after`` for each, but the scope is entered once and its deadline moved, which costs a fifth. A
    new scope is needed only after a timeout. To be used in a ``with``, by one task.
    """

    __slots__ = ("_scope",)

    def __init__(self) -> None:
        self._scope = trio.CancelScope()

    def __enter__(self) -> Self:
        self._scope.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._scope.__exit__(kind, error, trace)  # never swallows an exception: its timeout only runs in ``until``

    async def until(self, deadline: float, work: Coroutine[Any, Any, None]) -> bool:
        """Await ``work``; False if it was not done at ``deadline``, on trio's clock."""
        if self._scope.cancel_called:  # it ran out when the last work was done already
            self._renew(None)
        self._scope.deadline = deadline
        try:
            await work
        except trio.Cancelled as cancelled:
            if not self._renew(cancelled):
                raise
            return False
        return True

    def stop(self) -> None:
        """Stop the timeout until ``until`` is called again. Call it before awaiting anything else."""
        if self._scope.cancel_called:
            self._renew(None)
        self._scope.deadline = inf

    def _renew(self, cancelled: trio.Cancelled | None) -> bool:
        """Replace the expired scope; True if ``cancelled`` was raised by that scope."""
        trace = None if cancelled is None else cancelled.__traceback__
        caught = self._scope.__exit__(None if cancelled is None else type(cancelled), cancelled, trace)
        self._scope = trio.CancelScope()
        self._scope.__enter__()
        return bool(caught)


async def exchange(peer: Peer, offer: Offer, timer: Timer | None = None) -> Reply:
    """Connect, send ``offer``, and read the answer; ``timer`` is for successive connections.

    Never raises for anything that the peer does. Raises ``ResourceError`` when this machine cannot open another
    connection.
    """
    if timer is None:
        with Timer() as own:
            return await exchange(peer, offer, own)
    started = trio.current_time()
    answer = Answer(ServerFlight(limit=REPLY_LIMIT))
    hello = client_hello(offer, peer.server_name, os.urandom(32))
    if not await timer.until(started + peer.where.timeout, _exchange(peer, hello, answer)):
        answer.end("silence" if answer.connected else "filtered")
    return _reply(offer, answer, trio.current_time() - started)


async def _exchange(peer: Peer, hello: bytes, answer: Answer) -> None:
    line: Connection | None = None
    done = False
    try:
        direct = peer.transport == "tls"
        line = await connect(peer.where, hello if direct else b"")
        answer.connected = True
        if not direct:
            await upgrade(line, peer)
            await line.send(hello)
        await _read_answer(line, answer)
        done = True
    except Broken as broken:
        answer.end(broken.ending, broken.text)
    except starttls.Refused as refused:
        answer.end("plaintext", str(refused), peer.transport)
    except starttls.Declined as declined:
        answer.end("unnamed" if declined.name else "declined", str(declined), peer.transport)
    except Malformed as malformed:
        answer.end("malformed", str(malformed))
    finally:
        if line is not None and done:
            line.close()
        elif line is not None:
            line.abort()


async def upgrade(line: Connection, peer: Peer) -> None:
    """Run the STARTTLS dialog of the peer's transport.

    Raises ``starttls.Refused``, ``starttls.Declined``, ``Malformed`` or ``Broken``.
    """
    dialog = starttls.dialog(peer.transport, peer.server_name or peer.host or peer.where.address)
    sending = next(dialog)
    while True:
        if sending:
            await line.send(sending)
        received = await line.receive()
        if not received:
            raise Broken("fin")
        try:
            sending = dialog.send(received)
        except StopIteration as through:
            await line.send(through.value)
            return


async def _read_answer(line: Connection, answer: Answer) -> None:
    """Read until the answer is complete, the peer closes, or the bytes are not TLS."""
    data = await line.receive()
    if not looks_like_tls(data):
        await _read_plaintext(line, data, answer)
        return
    while data:
        if answer.flight.feed(data):
            return
        data = await line.receive()
    answer.end("fin")


async def _read_plaintext(line: Connection, data: bytes, answer: Answer) -> None:
    """Read plaintext until its protocol is recognised or no more is received."""
    try:
        while not _is_enough(data) and (more := await line.receive()):
            data += more
    finally:
        protocol = starttls.recognise(data[:BANNER_READ])
        ending: Ending = "plaintext" if protocol or _printable(data[:BANNER]) else "malformed"
        answer.end(ending, data[:BANNER].decode("utf-8", "replace"), protocol)


def _is_enough(data: bytes) -> bool:
    return len(data) >= TELLING or b"\n" in data or starttls.recognise(data) is not None


def _printable(data: bytes) -> bool:
    """True if these bytes are text."""
    return all(byte in b"\t\r\n" or 0x20 <= byte < 0x7F for byte in data)


def _reply(offer: Offer, answer: Answer, seconds: float) -> Reply:
    """Convert the answer. A ServerHello counts even if the bytes after it are truncated or malformed."""
    flight = answer.flight
    if flight.ssl2 is not None:
        return Reply("hello", version=SSL2, done=True, seconds=seconds)
    if flight.hello is None:
        if flight.alert is not None and answer.ending != "silence":  # after a warning it may have gone on
            return Reply("alert", alert=flight.alert.description, seconds=seconds)
        text = cleaned(answer.text) if flight.ssl2_error is None else f"SSLv2 error {flight.ssl2_error}"
        return Reply(answer.ending or "malformed", text=text, protocol=answer.protocol, seconds=seconds)
    hello = flight.hello
    version = flight.version
    if version > offer.version:
        ending: Ending = "unoffered" if version in (TLS10, TLS11, TLS12) else "malformed"
        return Reply(ending, text=f"selected {version_name(version)}, which was not offered", seconds=seconds)
    group = hello.selected_group
    if group is None and flight.key_exchange is not None:
        group = flight.key_exchange.group
    return Reply(
        "hello",
        version=version,
        suite=hello.suite,
        group=group,
        done=flight.done,
        alert=flight.alert.description if flight.alert is not None else None,
        chain=flight.chain,
        certificate_requested=flight.certificate_request is not None if flight.done else None,
        text=cleaned(f"ServerHello, then {answer.ending} {answer.text}") if answer.ending is not None else "",
        seconds=seconds,
    )


def cleaned(text: str) -> str:
    """Received text on one line, control characters escaped, at most ``BANNER`` characters."""
    line = " ".join(text.split())[:BANNER]
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in line)
