"""Connect the probe to pods through the API server's port-forward, where they cannot be dialled directly.

A connection is a task of its own, because the stream through the API server has to be opened and closed by one task;
bytes are handed over in memory.
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
"""What a reason means for the listener; every other one is about the way there."""
_MEANS = {
    "forbidden": "the API server does not permit port-forward (adhere rbac --with port-forward)",
    "no-pod": "the pod is gone",
    "kubelet": "the kubelet could not forward the port",
    "unsupported": "the API server forwards no ports over WebSockets",
}
AT_ONCE = 20
"""Streams through one API server: it is a production system, and so is every kubelet behind it."""


class Tunnels:
    """The connections through one API server. To be used while its ``client`` and ``nursery`` are open."""

    def __init__(self, client: Client, nursery: trio.Nursery) -> None:
        self._forwards = PortForwards(client, nursery)
        self._nursery = nursery
        self._places = trio.Semaphore(AT_ONCE)

    def way(self, tunnel: Tunnel) -> Dialer:
        """How the probe connects to that port of that pod."""
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
    """While this is open: how to connect to a job's endpoint, or None where it is dialled directly.

    ``accesses`` are those of the clusters by name, where port-forward is wanted.
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
        """Hand ``data`` over to be sent. What becomes of it, ``receive`` tells."""
        try:
            await self._out.send(data)
        except trio.BrokenResourceError:
            raise self.broken or Broken("fin") from None

    async def receive(self) -> bytes:
        """What has arrived, or b"" where no more will."""
        try:
            return await self._in.receive()
        except trio.EndOfChannel:
            if self.broken is not None:
                raise self.broken from None
            return b""

    def close(self) -> None:
        """Close; the task that carries the bytes ends."""
        self.scope.cancel()

    abort = close

    async def sends(self, stream: Forward) -> None:
        async for data in self._outgoing:
            await stream.send(data)

    async def receives(self, stream: Forward) -> None:
        while data := await stream.receive():
            await self._arrived.send(data)

    def end(self, why: Broken | None) -> None:
        """No more will come, and this is why. The first reason stands."""
        self.broken = self.broken or why
        self._arrived.close()
        self._outgoing.close()
