"""Listeners for one test, and their credentials."""

from __future__ import annotations

from functools import cache
from typing import Literal

import pytest
import trio

from scanner.demo.listening import Handler
from scanner.demo.tls_server import TlsSettings, tls_handler
from scanner.model.endpoint import Transport
from scanner.probe.dial import Where
from scanner.probe.exchange import Peer
from scanner.tls.codepoints import TLS13
from tests.certs import Authority
from tests.servers import ordinary, say, silent


@cache
def authority(key: Literal["p256", "rsa2048"] = "p256") -> Authority:
    return Authority("Handshake test CA", key=key)


def peer(sockaddr: tuple[str, int], seconds: float = 20.0, transport: Transport = "tls") -> Peer:
    where = Where(address=sockaddr[0], port=sockaddr[1], timeout=seconds)
    return Peer(where=where, server_name="localhost", transport=transport)


def first_flight_only(*, await_more: bool) -> Handler:
    """A real server's answer to the first hello, with a CertificateRequest in it; then silence, or a close."""
    whole = tls_handler(
        TlsSettings(
            credential=ordinary(),
            min_version=TLS13,
            client_certificate="requested",
            client_ca=authority().certificate,
        )
    )

    async def part(stream: trio.SocketStream) -> None:
        cut = Cut(stream)
        with pytest.raises(NoMore):
            await whole(cut)  # type: ignore[arg-type]
        await stream.receive_some(65536)
        await (silent if await_more else say(b""))(stream)

    return part


class NoMore(Exception):
    """The server was to read a second time."""


class Cut:
    """A stream that gives the first hello and then nothing."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream
        self.hello_read = False

    async def receive_some(self, most: int) -> bytes:
        if self.hello_read:
            raise NoMore
        self.hello_read = True
        return bytes(await self.stream.receive_some(most))

    async def send_all(self, data: bytes) -> None:
        await self.stream.send_all(data)
