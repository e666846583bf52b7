"""tlslite-ng as a server: address, port, settings as JSON (``HandshakeSettings``), certificate, key."""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import threading
from pathlib import Path

from tlslite.api import HandshakeSettings, TLSConnection, X509CertChain, parsePEMKey

WAIT = 5.0
"""Seconds that one client may take."""


def main(address: str, port: str, settings: str, certificate: str, key: str) -> None:
    """Serve until the standard input ends."""
    chain = X509CertChain()
    chain.parsePemList(Path(certificate).read_text())
    private = parsePEMKey(Path(key).read_text(), private=True)
    chosen = HandshakeSettings()
    for name, value in json.loads(settings).items():
        setattr(chosen, name, tuple(value) if name.endswith("Version") else value)
    listener = socket.create_server((address, int(port)), backlog=100)

    def serve(connection: socket.socket) -> None:
        connection.settimeout(WAIT)
        # Whatever a client does ends its own connection and nothing else.
        with connection, contextlib.suppress(Exception):
            tls = TLSConnection(connection)
            tls.handshakeServer(certChain=chain, privateKey=private, settings=chosen)
            tls.read(1)

    def accept() -> None:
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
