"""One HTTP request without TLS to a listener that speaks TLS: does it serve that, too? Only with ``--active-http``."""

from __future__ import annotations

import re
from typing import Final

import trio

from scanner.model.known import Known, Unknown
from scanner.model.observation import Attempt
from scanner.probe.converse import Peer
from scanner.probe.dial import Broken, Connection, connect

_LIMIT: Final = 2048
"""Bytes of an answer that are looked at."""
_STATUS: Final = re.compile(rb"(HTTP/1\.[01]) ([1-5]\d\d)[ \r\n]")
_LOCATION: Final = re.compile(rb"\r\nlocation:[ \t]*(https?)://", re.IGNORECASE)
_NO_HTTP: Final = "an answer that is no HTTP"
_ANSWERS: Final = frozenset({"fin", "rst", _NO_HTTP})
"""How a connection ends that came about, and whose request is not served."""
_OFFER: Final = "HEAD without TLS"


async def cleartext(peer: Peer, attempts: list[Attempt]) -> Known[str | None]:
    """The status line, ``HTTP/1.1 200``, with where a redirect leads behind it; None: no answer in HTTP.

    Never raises for anything that the peer does.
    """
    started = trio.current_time()
    seen = bytearray()
    ended: str | None = None
    with trio.move_on_after(peer.where.timeout):
        ended = await _ask(peer, seen)
    found = _line(bytes(seen))
    reply = found or ended or "no answer in time"
    attempts.append(Attempt(offer=_OFFER, reply=reply, seconds=trio.current_time() - started))
    if found is None and ended not in _ANSWERS:
        return Unknown(f"a request without TLS got no answer: {reply}")
    return found


async def _ask(peer: Peer, seen: bytearray) -> str:
    """How the connection ended, or that the answer is whole."""
    line: Connection | None = None
    try:
        line = await connect(peer.where)
        name = peer.server_name or peer.host or peer.where.address
        host = f"[{name}]" if ":" in name else name
        await line.send(f"HEAD / HTTP/1.1\r\nHost: {host}\r\nUser-Agent: adhere\r\nConnection: close\r\n\r\n".encode())
        while len(seen) < _LIMIT and b"\r\n\r\n" not in seen:
            data = await line.receive()
            if not data:
                return "fin"
            seen += data
    except Broken as broken:
        return broken.ending
    finally:
        if line is not None:
            line.abort()
    return _NO_HTTP


def _line(answer: bytes) -> str | None:
    status = _STATUS.match(answer)
    if status is None:
        return None
    location = _LOCATION.search(answer)
    leads = f" to {location[1].decode().lower()}" if location and status[2].startswith(b"3") else ""
    return f"{status[1].decode()} {status[2].decode()}{leads}"
