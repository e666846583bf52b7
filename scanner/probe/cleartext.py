"""One HTTP request without TLS, to a listener that speaks TLS or to the port beside it that objects have for those who
do not: what is served there? Only with ``--active-http``."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

import trio

from scanner.kube.maybe import Known, Unknown
from scanner.model.names import asked_path
from scanner.model.observation import Attempt
from scanner.probe.converse import Peer
from scanner.probe.dial import Broken, Connection, connect, turn
from scanner.probe.evidence import cut_off
from scanner.probe.interim import HEADER_END, header
from scanner.probe.offers import AGAIN, WORDLESS
from scanner.probe.plaintext import recognise

_STATUS: Final = re.compile(rb"(HTTP/1\.[01]) (101|[2-5]\d\d)[ \r\n]")
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
    status = _STATUS.match(answer)
    if status is None:
        return None, ""
    said = f"{status[1].decode()} {status[2].decode()}"
    header = answer.partition(HEADER_END)[0]
    location = _LOCATION.search(header) if status[2].startswith(b"3") else None
    return (f"{said} to {location[1].decode().lower()}", location[2].decode().lower()) if location else (said, "")
