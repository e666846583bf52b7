"""A watch, and waiting for what it sees."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from scanner.cluster.api_connection import Access
from scanner.cluster.watch import State, Watcher
from scanner.kube.kinds import Kind
from scanner.kube.objects import Reference
from scanner.values import replace
from tests.cluster.api import LIMITS

PATIENCE = 20
LARGEST = 1 << 20


class Changes:
    """The changes that a watcher reports."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self.listed = 0
        self._send, self._receive = trio.open_memory_channel[str](1000)

    def add(self, changed: Reference) -> None:
        self.all.append(str(changed))
        self._send.send_nowait(str(changed))

    def first_list(self) -> None:
        self.listed += 1

    async def next(self) -> str:
        with trio.fail_after(PATIENCE):
            return await self._receive.receive()


@asynccontextmanager
async def watching(access: Access, *kinds: Kind, silence: float = PATIENCE) -> AsyncIterator[tuple[Watcher, Changes]]:
    changes = Changes()
    limits = replace(LIMITS, timeout=silence, page=5, largest=LARGEST)
    watcher = Watcher(access, kinds, changes.add, changes.first_list, retry=0.05, backoff=0.01, limits=limits)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watcher.run)
        yield watcher, changes
        nursery.cancel_scope.cancel()


async def until(watcher: Watcher, kind: Kind, state: State) -> None:
    with trio.fail_after(PATIENCE):
        while watcher.states.get(kind) != state:  # noqa: ASYNC110 - the watcher has no event for its metric
            await trio.sleep(0.01)
