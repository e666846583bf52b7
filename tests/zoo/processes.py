"""Real server programs as child processes: started on a free loopback port, waited for, stopped and reaped."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import trio

START_WITHIN = 60.0
"""Seconds; a JVM that compiles its source on a busy machine needs many."""


SERVER_PORTS = (19_000, 30_000)
"""Ports below Linux's usual ip_local_port_range and above those in the test clusters."""
_TAKEN: set[int] = set()
"""Ports that ``free_address`` has returned: no two of one run are the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Command to start. ``argv[0]`` is a path."""

    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)


class DidNotStartError(Exception):
    """The program ended, or never listened; carries what it wrote."""


def program(name: str) -> str | None:
    """Path of a program, looked for also where Debian puts servers, which is not on everyone's PATH."""
    return shutil.which(
        name, path=os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin"])
    )


def free_address() -> tuple[str, int]:
    """A loopback address and a port that was free a moment ago.

    Most of these programs cannot bind port 0. The address is drawn from all of 127.0.0.0/8, so that two servers
    started at once by two test runs do not take the same one in between; the port from below those that the system
    gives to clients, because gnutls-serv takes its port on every address.
    """
    draw = random.SystemRandom()
    address = f"127.{draw.randrange(1, 255)}.{draw.randrange(256)}.{draw.randrange(1, 255)}"
    while True:
        port = draw.randrange(*SERVER_PORTS)
        with socket.socket() as everywhere, suppress(OSError):
            everywhere.bind(("", port))  # only to check that it is free: nothing listens
            if port not in _TAKEN:
                _TAKEN.add(port)
                return address, port


@asynccontextmanager
async def serving(launch: Launch, address: str, port: int, log: Path) -> AsyncIterator[subprocess.Popen[bytes]]:
    """Run ``launch`` until the block ends. Raises ``DidNotStartError`` with the log when it does not listen."""
    process = _start(launch, log)
    try:
        await _listening(process, address, port, log)
        yield process
    finally:
        with trio.CancelScope(shield=True):
            await _stop(process)


def _start(launch: Launch, log: Path) -> subprocess.Popen[bytes]:
    """In a session of its own, so that its workers can be ended with it; with an input that ends when we do."""
    with log.open("wb") as output:
        return subprocess.Popen(
            launch.argv,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **launch.env},
            cwd=log.parent,
            start_new_session=True,
        )


async def _listening(process: subprocess.Popen[bytes], address: str, port: int, log: Path) -> None:
    with trio.move_on_after(START_WITHIN):
        while process.poll() is None:
            try:
                stream = await trio.open_tcp_stream(address, port)
            except OSError:
                await trio.sleep(0.02)
                continue
            await stream.aclose()
            return
    raise DidNotStartError(f"{_name(process)} is not listening on {address}:{port}; it wrote:\n{tail(log)}")


def tail(log: Path) -> str:
    """The last of what a program wrote, for messages."""
    return log.read_text(errors="replace")[-2000:]


def _name(process: subprocess.Popen[bytes]) -> str:
    return " ".join(map(str, process.args)) if isinstance(process.args, Sequence) else str(process.args)


async def _stop(process: subprocess.Popen[bytes]) -> None:
    """Kill the whole group that we started (nginx and HAProxy have workers) and reap its leader."""
    if process.stdin:
        process.stdin.close()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await trio.to_thread.run_sync(process.wait)
