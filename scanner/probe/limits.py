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
    """Concurrent connections to one address, to one node if the node is known, or inside of one network namespace."""
    gently: frozenset[str] = frozenset()
    """Components with at most one connection at a time per node: etcd and the API server are production systems."""
    rate: float | None = None
    """New connections per second in total; None: no limit (target lists)."""
    total: float | None = None
    """Time limit of the scan; None: no limit."""
    retries: int = 1
    """Retries of a connection attempt without an answer."""
    backoff: float = 0.2
    """Seconds before a retry, on average; jitter spreads it from half to one and a half."""


def host_of(endpoint: Endpoint) -> str:
    """Return the network namespace, else the node, the address or the name, whose connections are limited together."""
    return endpoint.network or endpoint.runs_on or endpoint.node or endpoint.address or endpoint.host


class _Host(Struct):
    places: trio.Semaphore
    users: int = 0


class Gate(Struct):
    """Limits connections per host at the same time, and per second in total."""

    limits: Limits
    stopped: str | None = None
    """Reason to end all probes early: ``SIGTERM``."""
    expired: str | None = None
    """Reason why endpoints are not probed any more although the scan goes on: its time limit."""
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
        self._cancel()

    async def expire(self) -> None:
        """Wait for the time limit, and end all probes, also those that start later: each has a result at once."""
        if self.limits.total is not None:
            await trio.sleep(self.limits.total)
            self.expired = f"the time limit of the scan ({self.limits.total:g} s) was reached; raise --time-limit"
            self._cancel()

    def _cancel(self) -> None:
        for scope in self._scopes:
            scope.cancel()

    @contextmanager
    def deadline(self, seconds: float | None = None) -> Generator[trio.CancelScope]:
        """Limit one endpoint to its deadline, or to ``seconds``; ``stop`` ends it too. Its scope goes to ``pace``."""
        with trio.move_on_after(self.limits.deadline if seconds is None else seconds) as scope:
            self._scopes.add(scope)
            try:
                if self.stopped is not None or self.expired is not None:
                    scope.cancel()
                yield scope
            finally:
                self._scopes.discard(scope)

    @asynccontextmanager
    async def host(self, endpoint: Endpoint) -> AsyncGenerator[None]:
        """Take one of the connections of the endpoint's host; forget a host without users."""
        address, most = self._places(endpoint)
        host = self._hosts.get(address)
        if host is None:
            host = self._hosts[address] = _Host(trio.Semaphore(most))
        host.users += 1
        try:
            async with host.places:
                yield
        finally:
            host.users -= 1
            if not host.users:
                del self._hosts[address]

    def is_full(self, endpoint: Endpoint) -> bool:
        """True if a probe of the endpoint would wait for a place."""
        address, most = self._places(endpoint)
        return address in self._hosts and self._hosts[address].users >= most

    def _places(self, endpoint: Endpoint) -> tuple[str, int]:
        """Return the name of the endpoint's host, and the number of its places."""
        if endpoint.component in self.limits.gently:
            return f"{host_of(endpoint)} {endpoint.component}", 1
        return host_of(endpoint), self.limits.per_host

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
