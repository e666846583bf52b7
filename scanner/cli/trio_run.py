"""Run trio, so that SIGTERM ends it as Ctrl-C does.

A handler that raises is safe in ordinary code, but not within trio's own.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

import trio

from scanner.errors import ScannerError

T = TypeVar("T")


def run_trio(main: Callable[[], Awaitable[T]]) -> T:
    """Run ``trio.run``, and raise the exception in its exception groups by itself. SIGTERM raises
    ``KeyboardInterrupt`` with its name, unless ``main`` receives it."""
    receives = threading.current_thread() is threading.main_thread()
    try:
        return trio.run(_until_sigterm, main) if receives else trio.run(main)
    except BaseExceptionGroup as group:
        raise _sole(group) from group


async def _until_sigterm(main: Callable[[], Awaitable[T]]) -> T:
    async with trio.open_nursery() as nursery:
        await nursery.start(_receive)
        found = await main()
        nursery.cancel_scope.cancel()
    return found


async def _receive(*, task_status: trio.TaskStatus[None]) -> None:
    with trio.open_signal_receiver(signal.SIGTERM) as arrived:
        task_status.started()
        async for number in arrived:
            raise KeyboardInterrupt(signal.Signals(number).name)


def _sole(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first exception of the most important kind: ours before others."""
    for kind in (KeyboardInterrupt, ScannerError, Exception):
        matching = group.subgroup(kind)
        while matching is not None:
            inner = matching.exceptions[0]
            if not isinstance(inner, BaseExceptionGroup):
                return inner
            matching = inner
    return group  # of things that are no errors, such as SystemExit
