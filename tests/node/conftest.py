"""Network namespaces that the tests make, each with a TLS server of its own on loopback."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from scanner.demo.certificates import Authority
from tests.cli.calling import PATIENCE

PORT = 8443
_SERVER = """
import socket, ssl, sys, threading
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1])
plain = socket.create_server(("127.0.0.1", 8080))
listening = socket.create_server(("127.0.0.1", int(sys.argv[2])), backlog=50)
print("ready", flush=True)
def answer(one):
    try:
        with context.wrap_socket(one, server_side=True) as line:
            line.recv(1)
    except OSError:
        pass
def http():
    while True:
        with plain.accept()[0] as one:
            one.recv(1000)
            one.sendall(b"HTTP/1.0 400 Bad Request\\r\\n\\r\\n")
threading.Thread(target=http, daemon=True).start()
while True:
    threading.Thread(target=answer, args=(listening.accept()[0],), daemon=True).start()
"""


@dataclass(frozen=True, kw_only=True)
class Network:
    """A namespace with a server on its loopback."""

    name: str
    inode: int
    pid: int
    certificate: bytes
    """The server's, as DER."""


def _run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode:
        pytest.skip(f"network namespaces are not allowed here: {' '.join(words)}: {done.stderr.strip()}")


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Network]]:
    """Two namespaces whose servers have the same address and port, and different certificates."""
    if os.geteuid():
        pytest.skip("network namespaces need root")
    if shutil.which("ip") is None:
        pytest.skip("network namespaces need ip of iproute2")
    place = tmp_path_factory.mktemp("networks")
    with ExitStack() as stack:
        yield [_network(f"adhere-{os.getpid()}-{number}", place, stack) for number in (1, 2)]


def _network(name: str, place: Path, stack: ExitStack) -> Network:
    _run("ip", "netns", "add", name)
    stack.callback(_run, "ip", "netns", "delete", name)
    _run("ip", "-n", name, "link", "set", "lo", "up")
    credential = Authority(f"CA of {name}").leaf(names=("localhost", "127.0.0.1"))
    files = place / f"{name}.pem"
    files.write_bytes(credential.key_pem + credential.pem)
    server = subprocess.Popen(
        ["ip", "netns", "exec", name, sys.executable, "-c", _SERVER, str(files), str(PORT)],
        stdout=subprocess.PIPE,
        text=True,
    )
    stack.callback(server.wait, PATIENCE)
    stack.callback(server.kill)
    assert server.stdout
    stack.callback(server.stdout.close)
    assert server.stdout.readline() == "ready\n"
    inode = Path(f"/proc/{server.pid}/ns/net").stat().st_ino
    return Network(name=name, inode=inode, pid=server.pid, certificate=credential.der)
