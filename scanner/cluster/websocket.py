"""WebSocket messages (RFC 6455) of a connection after its upgrade: no extensions, no I/O."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from wsproto.frame_protocol import CloseReason, FrameProtocol, Opcode, ParseFailed
from wsproto.utilities import generate_accept_token, generate_nonce

from scanner.errors import ClusterError

BINARY, CLOSE, PING, PONG = Opcode.BINARY, Opcode.CLOSE, Opcode.PING, Opcode.PONG
NORMAL: Final = CloseReason.NORMAL_CLOSURE
MAX_MESSAGE = 1 << 20
"""Bytes. The kubelet sends what it reads from the pod, 32 KiB at once."""


class BrokenWebSocket(ClusterError):
    """The peer breaks the protocol; ``code`` is the status to close with (section 7.4.1)."""

    def __init__(self, why: str, code: int) -> None:
        super().__init__(f"the API server breaks the WebSocket protocol: {why}")
        self.code = code


class Message(NamedTuple):
    """A binary message or a control frame. A text message counts as binary."""

    opcode: Opcode
    data: bytes


def handshake_headers(key: str, subprotocol: str) -> dict[str, str]:
    """Return the headers that ask for the upgrade (section 4.1)."""
    return {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": key,
        "Sec-WebSocket-Protocol": subprotocol,
    }


def new_key() -> str:
    """Return sixteen random bytes in base64."""
    return generate_nonce().decode()


def accept_of(key: str) -> str:
    """Return the ``Sec-WebSocket-Accept`` that answers ``key``."""
    return generate_accept_token(key.encode("latin-1")).decode()


class Frames:
    """One side of a WebSocket, the client's or the server's. The peer's bytes come in pieces of any size."""

    def __init__(self, *, client: bool) -> None:
        self._protocol = FrameProtocol(client, extensions=[])
        self._message = bytearray()

    def frame(self, opcode: Opcode, payload: bytes) -> bytes:
        """Return a BINARY message or a PONG as one frame; a client's is masked (section 5.3)."""
        if opcode is PONG:
            return bytes(self._protocol.pong(payload))
        return bytes(self._protocol.send_data(payload))

    def close(self, code: int) -> bytes:
        """Return the frame that ends the connection with a status."""
        return bytes(self._protocol.close(code))

    def feed(self, data: bytes) -> Iterator[Message]:
        """Yield the messages and control frames that ``data`` completes. Raises ``BrokenWebSocket``."""
        self._protocol.receive_bytes(data)
        try:
            for opcode, payload, _, finished in self._protocol.received_frames():
                if opcode is CLOSE:
                    yield Message(CLOSE, b"")
                    continue
                piece = payload.encode() if isinstance(payload, str) else bytes(payload)  # type: ignore[arg-type]
                if opcode in (PING, PONG):
                    yield Message(opcode, piece)
                    continue
                self._message += piece
                if len(self._message) > MAX_MESSAGE:
                    raise BrokenWebSocket("a message of more than 1 MiB", CloseReason.MESSAGE_TOO_BIG)
                if finished:
                    message = bytes(self._message)
                    self._message.clear()
                    yield Message(BINARY, message)
        except ParseFailed as error:
            raise BrokenWebSocket(str(error), error.code) from None
