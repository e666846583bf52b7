"""Limits of the probe: connections at once and per second, retries and timeouts."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

import trio

from scanner.model.endpoint import Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds and counts; the defaults are those of ``adhere scan``."""

    timeout: float = 5.0
    """For one connection."""
    deadline: float = 60.0
    """For one endpoint."""
    concurrency: int = 50
    """Endpoints at once."""
    per_host: int = 4
    """Connections at once to one address, or to one node where it is known which node that is."""
    gently: frozenset[str] = frozenset()
    """Components of which no more than one connection at once is made on a node: etcd and the API server are
    production systems."""
    rate: float | None = None
    """New connections per second over all; None: no limit (target lists)."""
    retries: int = 1
    """How often a connection attempt that got no answer is made again."""
    backoff: float = 0.2
    """Seconds before a retry, on average; jitter spreads it from half to one and a half."""


@dataclass(slots=True)
class _Host:
    places: trio.Semaphore
    users: int = 0


@dataclass(slots=True)
class Gate:
    """Lets connections pass: so many at once per host, so many per second over all."""

    limits: Limits
    stopped: str | None = None
    """Why everything ends early: ``SIGTERM``."""
    _scopes: set[trio.CancelScope] = field(default_factory=set)
    _hosts: dict[str, _Host] = field(default_factory=dict)
    _next: float = 0.0
    """When the next connection may start, on trio's clock."""

    def stop(self, reason: str) -> None:
        """End every observation that is under way; those to come end at once."""
        self.stopped = self.stopped or reason
        for scope in self._scopes:
            scope.cancel()

    @contextmanager
    def deadline(self, seconds: float | None = None) -> Generator[trio.CancelScope]:
        """The time that one endpoint has, or ``seconds``; ``stop`` ends it too. Its scope goes to ``pace``."""
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
        """Hold one of the places of the endpoint's host; a host that nobody asks any more is forgotten."""
        name = endpoint.runs_on or endpoint.node or endpoint.address
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
        """Wait for this connection's turn, where there is a rate. ``scope`` gets the time back: the wait is our own.

        After ``stop`` no turn comes any more.
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
