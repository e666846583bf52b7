"""One HEAD request over TLS, whose ``Host`` need not be the connection's server name. Only with ``--active-http``."""

from __future__ import annotations

import re
from typing import Final

import trio

from scanner.kube.maybe import Known, Unknown
from scanner.model.observation import Attempt
from scanner.probe.converse import Peer
from scanner.probe.dial import Broken, turn
from scanner.probe.evidence import cut_off
from scanner.probe.identity import Identity
from scanner.probe.interim import HEADER_END, header
from scanner.probe.offers import WORDLESS
from scanner.probe.session import session

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
