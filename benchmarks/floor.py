"""The least that a connection can cost under trio: connect, send a hello, receive the answer, close.

Run as a program of its own, so that nothing else is in the process: ``python -m benchmarks.floor ADDRESS PORT COUNT``
prints microseconds of CPU a connection. The answer comes from the stub server, which computes nothing.
"""

from __future__ import annotations

import errno
import socket
import sys
import time

import trio

AT_ONCE = 50


def hello() -> bytes:
    """A TLS 1.2 ClientHello (RFC 5246, section 7.4.1.2) with one suite, that the stub accepts, padded to 512 bytes."""
    padding = (0x15).to_bytes(2, "big") + (453).to_bytes(2, "big") + bytes(453)  # RFC 7685
    suites = (2).to_bytes(2, "big") + (0xC02F).to_bytes(2, "big")
    body = b"\x03\x03" + bytes(32) + b"\0" + suites + b"\x01\0" + len(padding).to_bytes(2, "big") + padding
    message = b"\x01" + len(body).to_bytes(3, "big") + body
    return b"\x16\x03\x01" + len(message).to_bytes(2, "big") + message


async def _once(address: tuple[str, int], sent: bytes) -> None:
    with socket.socket() as conn:
        conn.setblocking(False)  # noqa: FBT003 - the socket module's own signature
        if conn.connect_ex(address) == errno.EINPROGRESS:
            await trio.lowlevel.wait_writable(conn)
        conn.send(sent)
        try:
            received = conn.recv(65536)
        except BlockingIOError:
            await trio.lowlevel.wait_readable(conn)
            received = conn.recv(65536)
        if not received:
            raise ConnectionError("the stub server closed without an answer")


async def _worker(address: tuple[str, int], count: int) -> None:
    sent = hello()
    for _ in range(count):
        await _once(address, sent)


async def floor(address: tuple[str, int], count: int) -> float:
    """Microseconds of CPU that one connection costs, over ``count`` of them."""
    started = time.process_time()
    async with trio.open_nursery() as nursery:
        for _ in range(AT_ONCE):
            nursery.start_soon(_worker, address, count // AT_ONCE)
    return (time.process_time() - started) / (count // AT_ONCE * AT_ONCE) * 1e6


if __name__ == "__main__":
    print(trio.run(floor, (sys.argv[1], int(sys.argv[2])), int(sys.argv[3])))
