"""HEAD requests for several names over one HTTP/2 connection (RFC 9113, section 9.1.1), which clients share between the
names of its certificate. Only with ``--active-http``.

h2 reads and writes the frames. This module limits how many a server may send, and finds out which requests it still
answers after GOAWAY: h2 considers the connection closed then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import trio
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import Event, InformationalResponseReceived, ResponseReceived, StreamEnded, StreamReset
from h2.exceptions import H2Error
from h2.settings import SettingCodes, Settings

from scanner.kube.maybe import Known, Unknown
from scanner.model.observation import Attempt
from scanner.probe.dial import Broken, wait_for_turn
from scanner.probe.evidence import cut_off
from scanner.probe.exchange import Peer
from scanner.probe.http1 import TlsSession, content, tls_session
from scanner.probe.starttls import shown

_ALPN: Final = (b"h2", b"http/1.1")
"""The same as in the full handshake, so that it negotiates the same protocol."""
_MOST_BYTES: Final = 64 * 1024
"""Limit of bytes from the server: four answers with the longest header that most servers and clients allow."""
_MOST_FRAMES: Final = 1000
"""Limit of frames from the server."""
_MOST_EARLY: Final = 10
"""Limit of informational answers: each byte of one may expand to a field, which costs time."""
_TYPE: Final = 3
"""Offset of a frame's type (RFC 9113, section 4.1)."""
_FRAME_HEADER: Final = 9
_LONGEST: Final = 16384
"""Size limit of a frame in bytes, without its header: the protocol's default."""
_GOAWAY: Final = 7
_ANY_STREAM: Final = 0x7FFF_FFFF
_SETTINGS_FRAME: Final = b"\x04"
"""Type of the server's first frame (section 3.4). h2 would wait for as many bytes as other data seem to announce."""
_ENDED: Final = "HTTP/2: the server ended the connection"
_TOO_MUCH: Final = "HTTP/2: too many frames or bytes"
_STATUS: Final = re.compile(rb"[1-5]\d\d")
_SETTINGS: Final = {
    SettingCodes.ENABLE_PUSH: 0,
    SettingCodes.MAX_HEADER_LIST_SIZE: 16384,
}


class _Unprocessed(Broken):
    """The server has not processed the request: it may be sent again (sections 6.8 and 8.7)."""


async def heads(peer: Peer, authorities: Sequence[str], attempts: list[Attempt], every: dict[str, Known[str]]) -> None:
    """Get the status of each authority, and the header fields that identify its content, into ``every``.

    Uses one connection as long as the server keeps it open, and a new one for the rest; once also if not even the first
    request was processed. Never raises for anything that the peer does.
    """
    retry = True
    while left := [each for each in authorities if each not in every]:
        retry = await _connection(peer, left, attempts, every, retry=retry)


async def _connection(
    peer: Peer, authorities: Sequence[str], attempts: list[Attempt], every: dict[str, Known[str]], *, retry: bool
) -> bool:
    """Add answers for at least one of ``authorities``; for all if there is no such connection; for none if ``retry``
    allows a retry. Returns whether a retry is still allowed."""
    await wait_for_turn(peer.where)
    started, why = trio.current_time(), "no answer in time"
    found: list[Known[str]] = []
    opened = unprocessed = False
    whole = f"HTTP/2 HEAD for {', '.join(authorities)} as {peer.server_name}"
    with cut_off(whole, attempts), trio.move_on_after(peer.where.timeout):
        try:
            async with tls_session(peer, _ALPN) as inside:
                if inside.alpn != "h2":
                    raise Broken("malformed", "HTTP/2 was not negotiated")
                shared = _Shared(inside)
                opened = True
                for each in authorities:
                    found.append(await shared.head(each))
                    every[each] = found[-1]
        except Broken as broken:
            why = broken.text or f"the connection ended: {broken.ending}"
            unprocessed = isinstance(broken, _Unprocessed) and not found
    asked = authorities[: len(found) + 1] if opened else authorities
    replies = [_reply(each) for each in found] + ([why] if len(found) < len(asked) else [])
    if not found and not (unprocessed and retry):
        every.update(dict.fromkeys(asked, Unknown(why)))
    offer, reply = f"HTTP/2 HEAD for {', '.join(asked)} as {peer.server_name}", ", ".join(replies)
    attempts.append(Attempt(offer=offer, reply=reply, seconds=trio.current_time() - started))
    return retry and not unprocessed


class _Shared:
    """One connection, one request at a time. Its methods raise only ``Broken``."""

    def __init__(self, inside: TlsSession) -> None:
        self._inside = inside
        self._bytes = self._frames = self._early = 0
        self._preface = b""
        self._unread = bytearray()
        self._leaving = False
        """The server accepts no more requests."""
        self._last = _ANY_STREAM
        """The last request that it still answers."""
        # Answers with fields that HTTP/2 forbids are read, too.
        configuration = H2Configuration(client_side=True, header_encoding=None, validate_inbound_headers=False)
        self._h2 = H2Connection(configuration)
        self._h2.local_settings = Settings(client=True, initial_values=_SETTINGS)
        self._h2.initiate_connection()  # the preface and our settings are sent with the first request

    async def head(self, authority: str) -> Known[str]:
        """The answer of ``authority``; unknown if the server ends only this request."""
        stream = self._request(authority)
        await self._flush()
        while stream <= self._last:
            for event in await self._events():
                answer = _answer(event, stream)
                if answer is not None:
                    return answer
        raise _Unprocessed("fin", _ENDED)

    def _request(self, authority: str) -> int:
        if self._leaving:
            raise _Unprocessed("fin", _ENDED)
        fields = [(":method", "HEAD"), (":authority", authority), (":scheme", "https"), (":path", "/")]
        try:
            stream = self._h2.get_next_available_stream_id()
            self._h2.send_headers(stream, [*fields, ("user-agent", "adhere")], end_stream=True)
        except H2Error as error:  # the connection is closed or accepts no more streams
            raise Broken("malformed", f"HTTP/2: {_shown(error)}") from None
        return stream

    async def _events(self) -> list[Event]:
        data = await self._inside.receive()
        self._bytes += len(data)
        self._preface += data[: _TYPE + 1 - len(self._preface)]
        if self._preface[_TYPE:] not in (b"", _SETTINGS_FRAME):
            raise Broken("plaintext", f"not HTTP/2: {shown(self._preface)}")
        self._unread += data
        events = [event for each in self._whole() for event in self._event(each)]
        if self._bytes > _MOST_BYTES:
            raise Broken("malformed", _TOO_MUCH)
        await self._flush()
        return events

    def _whole(self) -> Iterator[bytes]:
        """Iterate over the complete frames (section 4.1)."""
        while len(self._unread) >= _FRAME_HEADER:
            end = _FRAME_HEADER + int.from_bytes(self._unread[:_TYPE], "big")
            if end > _FRAME_HEADER + _LONGEST:
                raise Broken("malformed", "HTTP/2: frame longer than allowed")
            if len(self._unread) < end:
                return
            self._frames += 1
            if self._frames > _MOST_FRAMES:
                raise Broken("malformed", _TOO_MUCH)
            yield bytes(self._unread[:end])
            del self._unread[:end]

    def _event(self, frame: bytes) -> list[Event]:
        if frame[_TYPE] == _GOAWAY:
            self._leaving = True
            self._last = min(self._last, int.from_bytes(frame[_FRAME_HEADER:][:4], "big") & _ANY_STREAM)
            return []
        try:
            events = self._h2.receive_data(frame)
        except Exception as error:  # noqa: BLE001 - its parsers may raise anything for hostile bytes
            raise Broken("malformed", f"HTTP/2: {_shown(error)}") from None
        self._early += sum(isinstance(each, InformationalResponseReceived) for each in events)
        if self._early > _MOST_EARLY:
            raise Broken("malformed", _TOO_MUCH)
        return events

    async def _flush(self) -> None:
        data = self._h2.data_to_send()
        if data:
            await self._inside.send(data)


def _answer(event: Event, stream: int) -> Known[str] | None:
    """The answer in ``event``; None if it has none yet."""
    match event:
        case ResponseReceived() if event.stream_id == stream:
            fields = [(_bytes(name), _bytes(value)) for name, value in event.headers]
            status = next((value for name, value in fields if name == b":status"), b"")
            known = _STATUS.fullmatch(status) is not None
            return content(status, fields) if known else Unknown("HTTP/2: an answer without a status")
        case StreamReset(error_code=ErrorCodes.REFUSED_STREAM) if event.stream_id == stream:
            raise _Unprocessed("fin", "HTTP/2: the server refused the request")
        case StreamReset() | StreamEnded() if event.stream_id == stream:
            return Unknown("HTTP/2: the server ended the request without an answer")
    return None


def _bytes(text: bytes | str) -> bytes:
    """h2 is configured not to decode; its types do not show it."""
    return text if isinstance(text, bytes) else text.encode()


def _reply(found: Known[str]) -> str:
    return found.reason if isinstance(found, Unknown) else found.partition(";")[0]


def _shown(error: Exception) -> str:
    return shown(str(error).encode()) or type(error).__name__
