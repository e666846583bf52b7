"""A TLS connection that has shaken hands, and the bytes that an application says on it. Only with ``--active-http``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from OpenSSL import SSL

from scanner.probe.converse import Peer
from scanner.probe.dial import Broken, Connection, connect
from scanner.probe.engine import RECEIVE, Witness, engine_for, pump, reason, shake_hands
from scanner.probe.identity import Identity
from scanner.probe.offers import Ending


class Session:
    """What goes to and fro inside of TLS. Every method raises ``Broken`` and nothing else."""

    __slots__ = ("_engine", "_line", "_witness", "alpn")

    def __init__(self, line: Connection, engine: SSL.Connection, witness: Witness) -> None:
        self._line, self._engine, self._witness = line, engine, witness
        self.alpn = engine.get_alpn_proto_negotiated().decode("ascii", "backslashreplace") or None
        """The protocol that the server selected."""

    async def send(self, data: bytes) -> None:
        """Send all of ``data``."""
        await _step(self._line, self._engine, self._witness, lambda: self._engine.sendall(data))

    async def receive(self) -> bytes:
        """At least one byte. An orderly end is ``Broken`` as well, with ``fin``."""
        said = bytearray()
        await _step(self._line, self._engine, self._witness, lambda: said.extend(self._engine.recv(RECEIVE)))
        return bytes(said)


@asynccontextmanager
async def session(peer: Peer, alpn: tuple[bytes, ...], identity: Identity | None = None) -> AsyncIterator[Session]:
    """Connect, and shake hands, with ``identity`` if the server asks; what the block asks of it may fail in the same
    words.

    Raises ``Broken``, whose text says it for a reader, and ``ResourceError`` when this machine cannot connect.
    """
    witness = Witness()
    engine = engine_for(peer, alpn, witness, identity)
    line = await connect(peer.where)
    try:
        with _in_words(witness):
            await shake_hands(line, engine, witness)
        yield Session(line, engine, witness)
    finally:
        line.abort()


async def _step(line: Connection, engine: SSL.Connection, witness: Witness, step: Callable[[], object]) -> None:
    with _in_words(witness):
        await pump(line, engine, witness, step)


@contextmanager
def _in_words(witness: Witness) -> Iterator[None]:
    """Whatever ends the connection, as ``Broken``."""
    try:
        yield
    except SSL.ZeroReturnError:
        raise Broken("fin", "the connection ended: fin") from None
    except SSL.Error as error:
        ending: Ending = "alert" if witness.alert is not None else "malformed"
        raise Broken(ending, reason(error, witness)) from None
    except Broken as broken:
        raise Broken(broken.ending, f"the connection ended: {broken.ending} {broken.text}".rstrip()) from None
