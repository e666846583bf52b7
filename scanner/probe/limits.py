"""Limits of the probe: connections at once and per second, retries and timeouts."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager

import trio
from msgspec import Struct, field

from scanner.model.endpoint import Endpoint


class Limits(Struct, frozen=True, kw_only=True):
    """Seconds and counts; the defaults are those of ``adhere scan``."""

    timeout: float = 5.0
    """Timeout of one connection."""
    deadline: float = 60.0
    """Deadline of one endpoint."""
    concurrency: int = 50
    """Endpoints probed at the same time."""
    per_host: int = 4
    """Concurrent connections to one address, or to one node if the node is known."""
    gently: frozenset[str] = frozenset()
    """Components with at most one connection at a time per node: etcd and the API server are production systems."""
    rate: float | None = None
    """New connections per second in total; None: no limit (target lists)."""
    retries: int = 1
    """Retries of a connection attempt without an answer."""
    backoff: float = 0.2
    """Seconds before a retry, on average; jitter spreads it from half to one and a half."""


def host_of(endpoint: Endpoint) -> str:
    """Return the node, else the address, else the name, whose connections are limited together."""
    return endpoint.runs_on or endpoint.node or endpoint.address or endpoint.host


class _Host(Struct):
    places: trio.Semaphore
    users: int = 0


class Gate(Struct):
    """Limits connections per host at the same time, and per second in total."""

    limits: Limits
    stopped: str | None = None
    """Reason to end all probes early: ``SIGTERM``."""
    on_stop: Callable[[str], None] | None = None
    """Called with the reason, for probes in other processes."""
    _scopes: set[trio.CancelScope] = field(default_factory=set)
    _hosts: dict[str, _Host] = field(default_factory=dict)
    _next: float = 0.0
    """Start time of the next connection, on trio's clock."""

    def stop(self, reason: str) -> None:
        """End all probes, also those that start later."""
        self.stopped = self.stopped or reason
        if self.on_stop is not None:
            self.on_stop(self.stopped)
        for scope in self._scopes:
            scope.cancel()

    @contextmanager
    def deadline(self, seconds: float | None = None) -> Generator[trio.CancelScope]:
        """Limit one endpoint to its deadline, or to ``seconds``; ``stop`` ends it too. Its scope goes to ``pace``."""
        with trio.move_on_after(self.limits.deadline if seconds is None else seconds) as scope:
            self._scopes.add(scope)
            try:
                if self.stopped is not None:
                    scope.cancel()
                yield scope
            finally:
                self._scopes.discard(scope)

    @asynccontextmanager
    async def host(self, endpoint: Endpoint) -> AsyncGenerator[None]:
        """Take one of the connections of the endpoint's host; forget a host without users."""
        name = host_of(endpoint)
        gently = endpoint.component in self.limits.gently
        address = f"{name} {endpoint.component}" if gently else name
        host = self._hosts.get(address)
        if host is None:
            host = self._hosts[address] = _Host(trio.Semaphore(1 if gently else self.limits.per_host))
        host.users += 1
        try:
            async with host.places:
                yield
        finally:
            host.users -= 1
            if not host.users:
                del self._hosts[address]

    async def pace(self, scope: trio.CancelScope | None = None) -> None:
        """Wait until a connection may start, if there is a rate. ``scope`` gets the time back: the wait is our own.

        After ``stop`` it waits forever.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        if not self.limits.rate:
            return
        now = trio.current_time()
        turn = max(now, self._next)
        self._next = turn + 1 / self.limits.rate
        if turn > now:
            if scope is not None:
                scope.deadline += turn - now
            await trio.sleep_until(turn)
