"""Connect the probe to pods through the API server's port-forward, if they cannot be dialled directly.

Each connection is a task, because one task must open and close the stream through the API server; bytes are passed in
memory.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from math import inf

import trio

from scanner.cluster import Access
from scanner.cluster.client import Client
from scanner.cluster.portforward import Forward, NotForwarded, PortForwards
from scanner.errors import ClusterError
from scanner.jobs import Job
from scanner.model.endpoint import Tunnel
from scanner.probe.dial import Broken, Connection, Dialer
from scanner.probe.offers import Ending

_ENDINGS: dict[str, Ending] = {"refused": "closed"}
"""Reason -> result for the listener; all other reasons are about the connection to it."""
_MEANS = {
    "forbidden": "the API server does not permit port-forward (adhere rbac --with port-forward)",
    "no-pod": "the pod is gone",
    "kubelet": "the kubelet could not forward the port",
    "unsupported": "the API server forwards no ports over WebSockets",
}
AT_ONCE = 20
"""Streams at once through one API server, to protect it and its kubelets."""


class Tunnels:
    """Connections through one API server, while its ``client`` and ``nursery`` are open."""

    def __init__(self, client: Client, nursery: trio.Nursery) -> None:
        self._forwards = PortForwards(client, nursery)
        self._nursery = nursery
        self._places = trio.Semaphore(AT_ONCE)

    def way(self, tunnel: Tunnel) -> Dialer:
        """Return the connector to a port of a pod."""
        return partial(self._open, tunnel)

    async def _open(self, tunnel: Tunnel) -> Connection:
        line = _Line()
        await self._nursery.start(self._carry, tunnel, line)
        if line.broken is not None:
            raise line.broken
        return line

    async def _carry(self, tunnel: Tunnel, line: _Line, *, task_status: trio.TaskStatus[None]) -> None:
        with line.scope:
            try:
                async with (
                    self._places,
                    self._forwards.connection(tunnel.namespace, tunnel.pod, tunnel.port) as stream,
                    trio.open_nursery() as both,
                ):
                    task_status.started()
                    both.start_soon(line.sends, stream)
                    await line.receives(stream)
                    both.cancel_scope.cancel()
            except* NotForwarded as group:
                line.end(_broken(_first(group)))
            except* ClusterError as group:
                line.end(Broken("unreachable", str(_first(group))))
        line.end(None)
        with suppress(RuntimeError):  # it had begun
            task_status.started()


@asynccontextmanager
async def tunnels(accesses: Mapping[str, Access]) -> AsyncGenerator[Callable[[Job], Dialer | None]]:
    """Provide a function from a job to its connector, or None for one that is dialled directly.

    ``accesses``: access to the API servers by cluster, for port-forward.
    """
    async with AsyncExitStack() as stack:
        nursery = await stack.enter_async_context(trio.open_nursery())
        opened: dict[str, Tunnels] = {}
        for name, access in accesses.items():
            opened[name] = Tunnels(await stack.enter_async_context(Client(access)), nursery)

        def way(job: Job) -> Dialer | None:
            tunnel = job.endpoint.tunnel
            return None if tunnel is None or job.cluster not in opened else opened[job.cluster].way(tunnel)

        yield way
        nursery.cancel_scope.cancel()


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    inner: BaseException = group
    while isinstance(inner, BaseExceptionGroup):
        inner = inner.exceptions[0]
    return inner


def _broken(why: BaseException) -> Broken:
    assert isinstance(why, NotForwarded)  # noqa: S101 - what was caught
    means = _MEANS.get(why.reason, "")
    return Broken(_ENDINGS.get(why.reason, "unreachable"), ": ".join(filter(None, (means, why.detail))))


class _Line:
    """The probe's end of a connection."""

    def __init__(self) -> None:
        self.scope = trio.CancelScope()
        self.broken: Broken | None = None
        self._out, self._outgoing = trio.open_memory_channel[bytes](inf)
        self._arrived, self._in = trio.open_memory_channel[bytes](1)

    async def send(self, data: bytes) -> None:
        """Send ``data`` without waiting; ``receive`` raises its errors."""
        try:
            await self._out.send(data)
        except trio.BrokenResourceError:
            raise self.broken or Broken("fin") from None

    async def receive(self) -> bytes:
        """Return received data, or b"" at the end."""
        try:
            return await self._in.receive()
        except trio.EndOfChannel:
            if self.broken is not None:
                raise self.broken from None
            return b""

    def close(self) -> None:
        """Close the connection; its task ends."""
        self.scope.cancel()

    abort = close

    async def sends(self, stream: Forward) -> None:
        async for data in self._outgoing:
            await stream.send(data)

    async def receives(self, stream: Forward) -> None:
        while data := await stream.receive():
            await self._arrived.send(data)

    def end(self, why: Broken | None) -> None:
        """End the connection with a reason; the first reason counts."""
        self.broken = self.broken or why
        self._arrived.close()
        self._outgoing.close()
