"""Listeners in a thread with an event loop of its own, for tests of what calls ``trio.run`` itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from queue import SimpleQueue
from threading import Thread
from typing import TypeVar

import trio

T = TypeVar("T")


@contextmanager
def serving(manager: Callable[[], AbstractAsyncContextManager[T]]) -> Iterator[T]:
    """Enter what ``manager`` makes, in another thread, and leave it at the end. What it raises is raised here."""
    entered: SimpleQueue[tuple[T, trio.lowlevel.TrioToken, trio.Event] | BaseException] = SimpleQueue()

    async def hold() -> None:
        done = trio.Event()
        async with manager() as value:
            entered.put((value, trio.lowlevel.current_trio_token(), done))
            await done.wait()

    def work() -> None:
        try:
            trio.run(hold)
        except BaseException as error:  # noqa: BLE001 - raised again in the test's thread
            entered.put(error)

    thread = Thread(target=work, name="listeners")
    thread.start()
    first = entered.get()
    if isinstance(first, BaseException):
        thread.join()
        raise first
    value, token, done = first
    try:
        yield value
    finally:
        with suppress(trio.RunFinishedError):  # it ended by itself, by what is raised below
            token.run_sync_soon(done.set)
        thread.join()
    if not entered.empty():
        late = entered.get()
        assert isinstance(late, BaseException)
        raise late
