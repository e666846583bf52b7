"""One HEAD request over TLS, whose ``Host`` need not be the connection's server name. Only with ``--active-http``."""

from __future__ import annotations

import re
from typing import Final

import trio

from scanner.model.known import Known, Unknown
from scanner.model.observation import Attempt
from scanner.probe.converse import Peer
from scanner.probe.handshake import exchange

_STATUS: Final = re.compile(rb"HTTP/1\.[01] ([1-5]\d\d)[ \r\n]")
_MARK: Final = re.compile(
    rb"\r\n(etag|location|content-type|content-length|last-modified|server|set-cookie):[ \t]*([^\r\n]{0,100})",
    re.IGNORECASE,
)
"""Fields by which one content is told from another; of a cookie the name alone."""


async def head(peer: Peer, authority: str, attempts: list[Attempt]) -> Known[str]:
    """The status and what tells the content from another. Never raises for anything that the peer does."""
    started = trio.current_time()
    request = f"HEAD / HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: adhere\r\nConnection: close\r\n\r\n"
    said = await exchange(peer, request.encode("ascii", "replace"))
    found = said if isinstance(said, Unknown) else _read(said)
    reply = found.reason if isinstance(found, Unknown) else found.partition(";")[0]
    offer = f"HEAD for {authority} as {peer.server_name}"
    attempts.append(Attempt(offer=offer, reply=reply, seconds=trio.current_time() - started))
    return found


def _read(answer: bytes) -> Known[str]:
    status = _STATUS.match(answer)
    if status is None:
        return Unknown("it gave no answer in HTTP/1.1")
    marks = sorted({_mark(name.lower(), value) for name, value in _MARK.findall(answer)})
    return "; ".join([status[1].decode(), *marks])


def _mark(name: bytes, value: bytes) -> str:
    kept = value.partition(b"=")[0] if name == b"set-cookie" else value
    return f"{name.decode()}: {kept.decode('ascii', 'backslashreplace')}"
