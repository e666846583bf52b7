"""One Go process with many TLS listeners, each on a loopback address of its own, that counts what reaches it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.zoo import golang
from tests.zoo.cases import GO, pki
from tests.zoo.truth import Settings

# A cluster in small: of every twenty listeners, so many are of each kind.
_MIX = (
    ["intermediate"] * 12
    + ["intermediate-ecdsa"] * 3
    + ["mtls12-required", "mtls13-required", "modern", "modern", "old"]
)


@dataclass(frozen=True, slots=True)
class Counts:
    """Since the farm started."""

    connections: int
    signatures: int
    cpu: float
    """Seconds of the server's own."""


@dataclass(frozen=True, slots=True)
class Farm:
    """The running farm."""

    process: subprocess.Popen[str]
    addresses: tuple[str, ...]
    port: int

    def counts(self) -> Counts:
        """Ask it for the connections that all listeners have accepted, and their cost."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write("counts\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        return Counts(sum(answer["counts"]), answer["signatures"], answer["cpu"])


def mixed(size: int) -> list[Settings]:
    """Settings of the kinds in ``_MIX``; the first is Intermediate with an RSA certificate."""
    return [GO[_MIX[index % len(_MIX)]] for index in range(size)]


def listeners(settings: list[Settings]) -> list[golang.Listener]:
    """The server's configuration for them."""
    return [golang.listener(one, pki(), "") for one in settings]


def stubs(size: int) -> list[golang.Listener]:
    """Listeners that answer at once and compute nothing (goserver/stub.go)."""
    return [{"stub": True} for _ in range(size)]


@contextmanager
def farm(listeners: list[golang.Listener], directory: Path, core: int) -> Iterator[Farm]:
    """Serve ``listeners`` from ``core`` until the block ends."""
    addresses = tuple(f"127.77.{1 + index // 250}.{1 + index % 250}" for index in range(len(listeners)))
    port = _free_port(addresses)
    for listener, address in zip(listeners, addresses, strict=True):
        listener["address"] = f"{address}:{port}"
    configuration = directory / "farm.json"
    configuration.write_text(json.dumps(listeners))
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})  # inherited: Go counts its processors when it starts
    try:
        process = subprocess.Popen(
            [golang.binary(), "-listeners", str(configuration)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
    finally:
        os.sched_setaffinity(0, before)
    with process:
        assert process.stdout
        json.loads(process.stdout.readline())  # the addresses: it listens
        yield Farm(process, addresses, port)
        process.communicate()  # its input ends, and so does it


def _free_port(addresses: tuple[str, ...]) -> int:
    """A port that was free on all addresses a moment ago: nmap wants the same one everywhere."""
    while True:
        held: list[socket.socket] = []
        try:
            port = 0
            for address in addresses:
                held.append(socket.socket())
                held[-1].bind((address, port))
                port = held[-1].getsockname()[1]
        except OSError:
            continue
        else:
            return port
        finally:
            for one in held:
                one.close()
