"""One connection through a port-forward, for tests that need no more."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import trio

from scanner.cluster.client import Client
from scanner.cluster.portforward import Forward, NotForwarded, PortForwards


@asynccontextmanager
async def forward(client: Client, namespace: str, pod: str, port: int) -> AsyncGenerator[Forward]:
    """A connection to that port of the pod. Raises ``NotForwarded``, by itself."""
    refused: NotForwarded | None = None
    async with trio.open_nursery() as nursery:
        try:
            async with PortForwards(client, nursery).connection(namespace, pod, port) as stream:
                yield stream
        except NotForwarded as error:
            refused = error
        nursery.cancel_scope.cancel()
    if refused is not None:
        raise refused
