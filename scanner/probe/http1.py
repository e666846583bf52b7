"""HTTP/1.1 requests over TLS (only with ``--active-http``) and without it, and the header of their answers."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Final

import trio
from OpenSSL import SSL

from scanner.kube.hostnames import asked_path
from scanner.kube.maybe import Known, Unknown
from scanner.model.observation import Attempt
from scanner.probe.converse import Peer
from scanner.probe.dial import Broken, Connection, connect, turn
from scanner.probe.engine import RECEIVE, Identity, Witness, engine_for, pump, reason, shake_hands
from scanner.probe.evidence import cut_off
from scanner.probe.offers import AGAIN, WORDLESS, Ending
from scanner.probe.plaintext import recognise

LIMIT: Final = 16384
"""Bytes of an answer that are looked at: as much header as most servers and clients take."""
HEADER_END: Final = b"\r\n\r\n"
_INTERIM: Final = re.compile(rb"HTTP/1\.[01] 1(?!01)\d\d[ \r\n]")
"""Not 101, after which another protocol is spoken: whoever says it says no more."""
_ALONE: Final = "informational answers, and no other"


async def header(receive: Callable[[], Awaitable[bytes]], seen: bytearray) -> bool:
    """Read into ``seen`` until the header is whole; False where it is longer than anybody looks at.

    Raises what ``receive`` raises, ``Broken`` with ``fin`` for its empty bytes, and ``Broken`` with ``malformed`` where
    only informational answers came.
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
    return HEADER_END in seen


class Session:
    """What goes to and fro inside of TLS. Every method raises ``Broken`` and nothing else."""

    __slots__ = ("_engine", "_line", "_witness", "alpn")

    def __init__(self, line: Connection, engine: SSL.Connection, witness: Witness) -> None:
        self._line, self._engine, self._witness = line, engine, witness
        self.alpn = engine.get_alpn_proto_negotiated().decode("ascii", "backslashreplace") or None
        """The protocol that the server selected."""

    async def send(self, data: bytes) -> None:
        """Send all of ``data``."""
        await _step(self._line, self._engine, self._witness, lambda: self._engine.sendall(data))

    async def receive(self) -> bytes:
        """At least one byte. An orderly end is ``Broken`` as well, with ``fin``."""
        said = bytearray()
        await _step(self._line, self._engine, self._witness, lambda: said.extend(self._engine.recv(RECEIVE)))
        return bytes(said)


@asynccontextmanager
async def session(peer: Peer, alpn: tuple[bytes, ...], identity: Identity | None = None) -> AsyncIterator[Session]:
    """Connect, and shake hands, with ``identity`` if the server asks; what the block asks of it may fail in the same
    words.

    Raises ``Broken``, whose text says it for a reader, and ``ResourceError`` when this machine cannot connect.
    """
    witness = Witness()
    engine = engine_for(peer, alpn, witness, identity)
    line = await connect(peer.where)
    try:
        with _in_words(witness):
            await shake_hands(line, engine, witness)
        yield Session(line, engine, witness)
    finally:
        line.abort()


async def _step(line: Connection, engine: SSL.Connection, witness: Witness, step: Callable[[], object]) -> None:
    with _in_words(witness):
        await pump(line, engine, witness, step)


@contextmanager
def _in_words(witness: Witness) -> Iterator[None]:
    """Whatever ends the connection, as ``Broken``."""
    try:
        yield
    except SSL.ZeroReturnError:
        raise Broken("fin", "the connection ended: fin") from None
    except SSL.Error as error:
        ending: Ending = "alert" if witness.alert is not None else "malformed"
        raise Broken(ending, reason(error, witness)) from None
    except Broken as broken:
        raise Broken(broken.ending, f"the connection ended: {broken.ending} {broken.text}".rstrip()) from None


_STATUS: Final = re.compile(rb"HTTP/1\.[01] (101|[2-5]\d\d)[ \r\n]")
_FIELD: Final = re.compile(rb"\r\n([!-9;-~]{1,40}):[ \t]*([^\r\n]{0,100})")
_MARKS: Final = frozenset(
    {b"etag", b"location", b"content-type", b"content-length", b"last-modified", b"server", b"set-cookie"}
)
"""Fields by which one content is told from another; of a cookie the name alone."""


CLOSED: Final = Unknown("the connection was closed without an answer")
"""After the handshake and the request."""


async def head(peer: Peer, authority: str, attempts: list[Attempt], identity: Identity | None = None) -> Known[str]:
    """The status and what tells the content from another. Never raises for anything that the peer does."""
    await turn(peer.where)
    started = trio.current_time()
    request = f"HEAD / HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: adhere\r\nConnection: close\r\n\r\n"
    offer = f"HEAD for {authority} as {peer.server_name}"
    with cut_off(offer, attempts):
        said = await _exchange(peer, request.encode("ascii", "replace"), identity)
    found = said if isinstance(said, Unknown) else _read(said)
    reply = found.reason if isinstance(found, Unknown) else found.partition(";")[0]
    attempts.append(Attempt(offer=offer, reply=reply, seconds=trio.current_time() - started))
    return found


async def _exchange(peer: Peer, request: bytes, identity: Identity | None) -> Known[bytes]:
    """What came back, to the end of the answer's header."""
    seen, why, sent = bytearray(), Unknown("no answer in time"), False
    with trio.move_on_after(peer.where.timeout):
        try:
            async with session(peer, (b"http/1.1",), identity) as opened:
                await opened.send(request)
                sent = True
                await header(opened.receive, seen)
        except Broken as broken:
            closed = sent and broken.ending in WORDLESS
            why = CLOSED if closed else Unknown(broken.text or f"the connection ended: {broken.ending}")
    return bytes(seen) or why


def _read(answer: bytes) -> Known[str]:
    status = _STATUS.match(answer)
    if status is None:
        return Unknown("it gave no answer in HTTP/1.1")
    if HEADER_END not in answer:
        return Unknown(f"it gave half of an answer, {status[1].decode()}")  # with half of what tells whose it is
    return content(status[1], _FIELD.findall(answer.partition(HEADER_END)[0]))


def content(status: bytes, fields: list[tuple[bytes, bytes]]) -> str:
    """One line by which an answer's content is told from another's: ``200; etag: "x"``."""
    known = ((name.lower(), value) for name, value in fields)
    marks = sorted({_mark(name, value[:100]) for name, value in known if name in _MARKS})
    return "; ".join([status.decode("ascii", "backslashreplace"), *marks])


def _mark(name: bytes, value: bytes) -> str:
    kept = value.partition(b"=")[0] if name == b"set-cookie" else value
    return f"{name.decode()}: {kept.decode('ascii', 'backslashreplace')}"


_CLEAR_STATUS: Final = re.compile(rb"(HTTP/1\.[01]) (101|[2-5]\d\d)[ \r\n]")
_LOCATION: Final = re.compile(rb"\r\nlocation:[ \t]*(https?)://([a-z0-9_.:\[\]-]{0,300})", re.IGNORECASE)
_NO_HTTP: Final = "an answer that is no HTTP"
_ANSWERS: Final = frozenset({"fin", "rst", _NO_HTTP})
"""How a connection ends that came about, and whose request is not served."""
_OFFER: Final = "HEAD without TLS"
_TUNNELLED: Final = Unknown("the port without TLS is not asked through port-forward")


async def cleartext(peer: Peer, attempts: list[Attempt]) -> Known[str | None]:
    """The status line, ``HTTP/1.1 200``, with where a redirect leads behind it; None: no answer in HTTP, which an end
    without a word is only where it comes again and again.

    Never raises for anything that the peer does.
    """
    found, _ = await _answers(peer, "/", _OFFER, _ANSWERS, attempts)
    return found


async def plain_port(peer: Peer, port: int, path: str, attempts: list[Attempt]) -> Known[str | None]:
    """The same of another port of the peer, and with the host that a redirect leads to; None: nobody is there, or the
    answer is none in HTTP.

    Never raises for anything that the peer does.
    """
    if peer.where.way is not None:
        return _TUNNELLED
    offer = f"{_OFFER} to port {port} for {peer.server_name}"
    beside = replace(peer, where=replace(peer.where, port=port))
    found, host = await _answers(beside, asked_path(path), offer, _ANSWERS | {"closed"}, attempts)
    return f"{found}://{host}" if isinstance(found, str) and host else found


async def _answers(
    peer: Peer, path: str, offer: str, answers: frozenset[str], attempts: list[Attempt]
) -> tuple[Known[str | None], str]:
    """With the host behind it that a redirect leads to."""
    found: tuple[Known[str | None], str] = (None, "")
    for _ in range(AGAIN):
        found = await _answer(peer, path, offer, answers, attempts)
        if found[0] is not None or attempts[-1].reply not in WORDLESS:
            break
    return found


async def _answer(
    peer: Peer, path: str, offer: str, answers: frozenset[str], attempts: list[Attempt]
) -> tuple[Known[str | None], str]:
    await turn(peer.where)
    started = trio.current_time()
    seen = bytearray()
    ended: str | None = None
    with cut_off(offer, attempts), trio.move_on_after(peer.where.timeout):
        ended = await _ask(peer, path, seen)
    found, host = _line(bytes(seen))
    reply = found or (_NO_HTTP if seen and ended in WORDLESS else ended) or "no answer in time"
    attempts.append(Attempt(offer=offer, reply=reply, seconds=trio.current_time() - started))
    if found is not None and _leads_nowhere_yet(found, bytes(seen)):
        return Unknown(f"a request without TLS got half of a redirect: {found}"), ""
    if found is None and (ended not in answers or recognise(bytes(seen)) == "http"):
        return Unknown(f"a request without TLS got no answer: {reply}"), ""
    return found, host


async def _ask(peer: Peer, path: str, seen: bytearray) -> str:
    """How the connection ended, or that the answer is whole."""
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
    """Whether it is a redirect that broke off before it said where to."""
    return found.partition(" ")[2].startswith("3") and " to " not in found and HEADER_END not in answer


def _line(answer: bytes) -> tuple[str | None, str]:
    status = _CLEAR_STATUS.match(answer)
    if status is None:
        return None, ""
    said = f"{status[1].decode()} {status[2].decode()}"
    header = answer.partition(HEADER_END)[0]
    location = _LOCATION.search(header) if status[2].startswith(b"3") else None
    return (f"{said} to {location[1].decode().lower()}", location[2].decode().lower()) if location else (said, "")
