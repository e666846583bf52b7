"""HTTP/1.1 requests over TLS (only with ``--active-http``) and without it, and the header of their answers."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import trio
from OpenSSL import SSL

from scanner.kube.hostnames import request_path
from scanner.kube.maybe import Known, Unknown
from scanner.model.observation import Attempt
from scanner.probe.dial import Broken, Connection, connect, wait_for_turn
from scanner.probe.engine import RECEIVE, HandshakeEvents, Identity, client_engine, do_handshake, pump, reason
from scanner.probe.evidence import cut_off
from scanner.probe.exchange import Peer
from scanner.probe.offers import CLOSE_REPEATS, CLOSES, Ending
from scanner.probe.starttls import recognise
from scanner.values import replace

LIMIT: Final = 16384
"""Size limit of an answer's header in bytes, as in most servers and clients."""
HEADER_END: Final = b"\r\n\r\n"
_INTERIM: Final = re.compile(rb"HTTP/1\.[01] 1(?!01)\d\d[ \r\n]")
"""Informational answers. Not 101, after which the connection has another protocol."""
_ALONE: Final = "only informational HTTP answers"


async def header(receive: Callable[[], Awaitable[bytes]], seen: bytearray) -> None:
    """Read into ``seen`` until the header is complete, or longer than ``LIMIT``.

    Raises what ``receive`` raises, ``Broken`` with ``fin`` for its empty bytes, and ``Broken`` with ``malformed`` if
    only informational answers were received.
    """
    left, dropped = LIMIT, False
    try:
        while left > 0 and HEADER_END not in seen:
            data = await receive()
            if not data:
                raise Broken("fin")
            left -= len(data)
            seen += data
            while _INTERIM.match(seen) and (end := seen.find(HEADER_END)) >= 0:
                del seen[: end + len(HEADER_END)]
                dropped = True
    except Broken:
        if dropped and not seen:
            raise Broken("malformed", _ALONE) from None
        raise
    if HEADER_END not in seen and (not seen or _INTERIM.match(seen)):
        raise Broken("malformed", _ALONE)


class TlsSession:
    """A TLS connection for data. Its methods raise only ``Broken``."""

    def __init__(self, line: Connection, engine: SSL.Connection, events: HandshakeEvents) -> None:
        self._line, self._engine, self._events = line, engine, events
        self.alpn = engine.get_alpn_proto_negotiated().decode("ascii", "backslashreplace") or None
        """The protocol that the server selected."""

    async def send(self, data: bytes) -> None:
        await self._run(lambda: self._engine.sendall(data))

    async def receive(self) -> bytes:
        """At least one byte. An orderly close raises ``Broken`` with ``fin``, too."""
        received = bytearray()
        await self._run(lambda: received.extend(self._engine.recv(RECEIVE)))
        return bytes(received)

    async def _run(self, step: Callable[[], object]) -> None:
        with _as_broken(self._events):
            await pump(self._line, self._engine, self._events, step)


@asynccontextmanager
async def tls_session(
    peer: Peer, alpn: tuple[bytes, ...], identity: Identity | None = None
) -> AsyncIterator[TlsSession]:
    """Connect and do the handshake, with ``identity`` if the server requests a client certificate.

    Raises ``Broken``, whose text is for readers, and ``ResourceError`` when this machine cannot connect.
    """
    events = HandshakeEvents()
    engine = client_engine(peer, alpn, events, identity)
    line = await connect(peer.where)
    try:
        with _as_broken(events):
            await do_handshake(line, engine, events)
        yield TlsSession(line, engine, events)
    finally:
        line.abort()


@contextmanager
def _as_broken(events: HandshakeEvents) -> Iterator[None]:
    """Raise every end of the connection as ``Broken``."""
    try:
        yield
    except SSL.ZeroReturnError:
        raise Broken("fin", "the connection ended: fin") from None
    except SSL.Error as error:
        ending: Ending = "alert" if events.alert is not None else "malformed"
        raise Broken(ending, reason(error, events)) from None
    except Broken as broken:
        raise Broken(broken.ending, f"the connection ended: {broken.ending} {broken.text}".rstrip()) from None


_STATUS: Final = re.compile(rb"HTTP/1\.[01] (101|[2-5]\d\d)[ \r\n]")
_FIELD: Final = re.compile(rb"\r\n([!-9;-~]{1,40}):[ \t]*([^\r\n]{0,100})")
_LONGEST_MARK: Final = 100
_MARKS: Final = frozenset(
    {b"etag", b"location", b"content-type", b"content-length", b"last-modified", b"server", b"set-cookie"}
)
"""Header fields that distinguish one content from another; of a cookie only the name."""


CLOSED: Final = Unknown("the connection was closed without an answer")
"""Answer to a request that was sent after a completed handshake."""


async def head(peer: Peer, authority: str, attempts: list[Attempt], identity: Identity | None = None) -> Known[str]:
    """The status and the header fields that identify the content. Never raises for anything that the peer does."""
    await wait_for_turn(peer.where)
    started = trio.current_time()
    request = f"HEAD / HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: adhere\r\nConnection: close\r\n\r\n"
    offer = f"HEAD for {authority} as {peer.server_name}"
    with cut_off(offer, attempts):
        response = await _exchange(peer, request.encode("ascii", "replace"), identity)
    found = response if isinstance(response, Unknown) else _read(response)
    reply = found.reason if isinstance(found, Unknown) else found.partition(";")[0]
    attempts.append(Attempt(offer=offer, reply=reply, seconds=trio.current_time() - started))
    return found


async def _exchange(peer: Peer, request: bytes, identity: Identity | None) -> Known[bytes]:
    """The received bytes, up to the end of the answer's header."""
    seen, why, sent = bytearray(), Unknown("no answer in time"), False
    with trio.move_on_after(peer.where.timeout):
        try:
            async with tls_session(peer, (b"http/1.1",), identity) as opened:
                await opened.send(request)
                sent = True
                await header(opened.receive, seen)
        except Broken as broken:
            closed = sent and broken.ending in CLOSES
            why = CLOSED if closed else Unknown(broken.text or f"the connection ended: {broken.ending}")
    return bytes(seen) or why


def _read(answer: bytes) -> Known[str]:
    status = _STATUS.match(answer)
    if status is None:
        return Unknown("the answer is not HTTP/1.1")
    if HEADER_END not in answer:
        return Unknown(f"incomplete HTTP answer, status {status[1].decode()}")  # fields may be missing
    return content(status[1], _FIELD.findall(answer.partition(HEADER_END)[0]))


def content(status: bytes, fields: list[tuple[bytes, bytes]]) -> str:
    """One line that distinguishes an answer's content from another's: ``200; etag: "x"``."""
    known = ((name.lower(), value) for name, value in fields)
    marks = sorted({_mark(name, value[:_LONGEST_MARK]) for name, value in known if name in _MARKS})
    return "; ".join([status.decode("ascii", "backslashreplace"), *marks])


def _mark(name: bytes, value: bytes) -> str:
    kept = value.partition(b"=")[0] if name == b"set-cookie" else value
    return f"{name.decode()}: {kept.decode('ascii', 'backslashreplace')}"


_CLEAR_STATUS: Final = re.compile(rb"(HTTP/1\.[01]) (101|[2-5]\d\d)[ \r\n]")
_LOCATION: Final = re.compile(rb"\r\nlocation:[ \t]*(https?)://([a-z0-9_.:\[\]-]{0,300})", re.IGNORECASE)
_NO_HTTP: Final = "not HTTP"
_ANSWERS: Final = frozenset({"fin", "rst", _NO_HTTP})
"""Endings of an established connection whose request is not served."""
_OFFER: Final = "HEAD without TLS"
_PORT_FORWARDED: Final = Unknown("the plaintext port is not probed through port-forward")


async def cleartext(peer: Peer, attempts: list[Attempt]) -> Known[str | None]:
    """The status line, ``HTTP/1.1 200``, with the target scheme of a redirect after it; None if the answer is not HTTP.

    A close without an answer counts as None only if it is repeated. Never raises for anything that the peer does.
    """
    found, _ = await _answers(peer, "/", _OFFER, _ANSWERS, attempts)
    return found


async def plain_port(peer: Peer, port: int, path: str, attempts: list[Attempt]) -> Known[str | None]:
    """The same for another port of the peer, with the target host of a redirect; None if the port is closed or not
    HTTP.

    Never raises for anything that the peer does.
    """
    if peer.where.dialer is not None:
        return _PORT_FORWARDED
    offer = f"{_OFFER} to port {port} for {peer.server_name}"
    beside = replace(peer, where=replace(peer.where, port=port))
    found, host = await _answers(beside, request_path(path), offer, _ANSWERS | {"closed"}, attempts)
    return f"{found}://{host}" if isinstance(found, str) and host else found


async def _answers(
    peer: Peer, path: str, offer: str, answers: frozenset[str], attempts: list[Attempt]
) -> tuple[Known[str | None], str]:
    """The status line, and the target host of a redirect."""
    found: tuple[Known[str | None], str]
    for _ in range(CLOSE_REPEATS):
        found = await _answer(peer, path, offer, answers, attempts)
        if found[0] is not None or attempts[-1].reply not in CLOSES:
            break
    return found


async def _answer(
    peer: Peer, path: str, offer: str, answers: frozenset[str], attempts: list[Attempt]
) -> tuple[Known[str | None], str]:
    await wait_for_turn(peer.where)
    started = trio.current_time()
    seen = bytearray()
    ended: str | None = None
    with cut_off(offer, attempts), trio.move_on_after(peer.where.timeout):
        ended = await _ask(peer, path, seen)
    found, host = _line(bytes(seen))
    reply = found or (_NO_HTTP if seen and ended in CLOSES else ended) or "no answer in time"
    attempts.append(Attempt(offer=offer, reply=reply, seconds=trio.current_time() - started))
    if found is not None and _leads_nowhere_yet(found, bytes(seen)):
        return Unknown(f"incomplete redirect to a request without TLS: {found}"), ""
    if found is None and (ended not in answers or recognise(bytes(seen)) == "http"):
        return Unknown(f"no answer to a request without TLS: {reply}"), ""
    return found, host


async def _ask(peer: Peer, path: str, seen: bytearray) -> str:
    """Send the request and read the header; returns how the connection ended."""
    line: Connection | None = None
    try:
        line = await connect(peer.where)
        name = peer.server_name or peer.host or peer.where.address
        host = f"[{name}]" if ":" in name else name
        request = f"HEAD {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: adhere\r\nConnection: close\r\n\r\n"
        await line.send(request.encode())
        await header(line.receive, seen)
    except Broken as broken:
        return broken.text or broken.ending
    finally:
        if line is not None:
            line.abort()
    return _NO_HTTP


def _leads_nowhere_yet(found: str, answer: bytes) -> bool:
    """True for a redirect that broke off before its Location field."""
    return found.partition(" ")[2].startswith("3") and " to " not in found and HEADER_END not in answer


def _line(answer: bytes) -> tuple[str | None, str]:
    status = _CLEAR_STATUS.match(answer)
    if status is None:
        return None, ""
    line = f"{status[1].decode()} {status[2].decode()}"
    header = answer.partition(HEADER_END)[0]
    location = _LOCATION.search(header) if status[2].startswith(b"3") else None
    return (f"{line} to {location[1].decode().lower()}", location[2].decode().lower()) if location else (line, "")
