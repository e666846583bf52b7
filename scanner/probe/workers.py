"""Probe endpoints in several processes, because one process of Python computes on one core only.

A worker is a fork that observes, and nothing else: the parent keeps the list, judges and writes. All endpoints of one
host go to the same worker, so the limits per host hold; the rate is divided among the workers. Messages
(``worker_messages``) pass through a pair of sockets that only a process and its own fork have.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
import traceback
import warnings
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NoReturn
from zlib import crc32

import trio
from msgspec import Struct, field

from scanner.model.endpoint import Endpoint
from scanner.model.observation import Answers, Observation, Reach
from scanner.probe.limits import Gate, Limits, host_of
from scanner.probe.observe import observe
from scanner.probe.session import Question
from scanner.probe.worker_messages import Failed, Job, Message, Seen, Stop, decode, encode
from scanner.values import replace

LEAST = 50
"""Endpoints up to which a scan is as fast in one process."""

_CHUNK = 1 << 16
_LENGTH = 4
"""Bytes of the length before each message."""
_TOGETHER = 0.002
"""Seconds in which a worker collects its answers: sent one by one, they cost a sixth of the CPU of a scan."""

MOST = 8
"""Workers by default. The parent computes a fifth to a third of the work, so that more are seldom faster."""


def cores() -> int:
    """Return the cores that this process may use, at most ``MOST``: its CPU affinity and the container's quota (cgroup
    v2, ``cpu.max``)."""
    if not sys.platform.startswith("linux"):
        return 1  # elsewhere a fork is not safe
    own = min(MOST, len(os.sched_getaffinity(0)))
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return min(own, max(1, -(-int(quota) // int(period))))
    except (OSError, ValueError):  # no limit is "max"
        return own


class Workers(Struct, frozen=True, eq=False):
    """Running workers; none: the caller observes by itself."""

    links: tuple[_Link, ...] = ()

    @property
    def lost(self) -> str | None:
        """The reason why not all endpoints were probed to the end: a worker ended. None: all are running."""
        return "the end of a process that probes" if any(each.ended for each in self.links) else None

    def of(self, endpoint: Endpoint) -> _Link | None:
        """Return the worker that probes this endpoint's host; None if it ended, or if there are none."""
        if not self.links:
            return None
        link = self.links[crc32(host_of(endpoint).encode("utf-8", "replace")) % len(self.links)]
        return None if link.ended else link

    async def run(self, gate: Gate, *, task_status: trio.TaskStatus[None]) -> None:
        """Receive observations until cancelled. ``gate.stop`` stops the workers too."""
        gate.on_stop = self._stop
        async with trio.open_nursery() as nursery:
            for link in self.links:
                nursery.start_soon(link.receive)
                nursery.start_soon(link.channel.send)
            task_status.started()

    def _stop(self, reason: str) -> None:
        for link in self.links:
            link.channel.post(Stop.of(reason))


NONE = Workers()


class _Waiting(Struct, eq=False):
    """A question that has no answer yet."""

    arrived: trio.Event = field(default_factory=trio.Event)
    answer: Seen | Failed | None = None


class _Channel(Struct, eq=False):
    """One end of a pair of sockets. Posting never waits; ``send`` runs beside ``receive``."""

    line: socket.socket
    pause: float = 0.0
    """Seconds in which posted messages are collected before they are sent."""
    unsent: bytearray = field(default_factory=bytearray)
    posted: trio.Event = field(default_factory=trio.Event)
    received: bytearray = field(default_factory=bytearray)

    def post(self, message: Message) -> None:
        """Leave a message to be sent."""
        data = encode(message)
        self.unsent += len(data).to_bytes(_LENGTH, "big") + data
        self.posted.set()

    async def send(self) -> None:
        """Send the posted messages, until cancelled."""
        with suppress(BrokenPipeError, ConnectionResetError):  # ``receive`` sees the end
            while True:
                await self.posted.wait()
                await trio.sleep(self.pause)
                self.posted = trio.Event()
                while self.unsent:
                    await trio.lowlevel.wait_writable(self.line)
                    with suppress(BlockingIOError):
                        del self.unsent[: self.line.send(self.unsent)]

    async def receive(self) -> list[Message]:
        """Return the messages that have arrived, at least one; none at the end."""
        while True:
            await trio.lowlevel.wait_readable(self.line)
            try:
                data = self.line.recv(_CHUNK)
            except BlockingIOError:
                continue
            except ConnectionResetError:
                return []
            if not data:
                return []
            self.received += data
            if messages := list(self._messages()):
                return messages

    def _messages(self) -> Iterable[Message]:
        start = 0
        while len(self.received) - start >= _LENGTH:
            end = start + _LENGTH + int.from_bytes(self.received[start : start + _LENGTH], "big")
            if len(self.received) < end:
                break
            yield decode(memoryview(self.received)[start + _LENGTH : end])
            start = end
        del self.received[:start]


class _Link(Struct, eq=False):
    """The parent's end of one worker."""

    pid: int
    channel: _Channel
    waiting: dict[int, _Waiting] = field(default_factory=dict)
    asked: int = 0
    ended: bool = False

    async def observe(self, endpoint: Endpoint, question: Question) -> Observation:
        """Return the worker's observation. If the worker ends before, one that says so and decides nothing.

        Raises what ``observe`` raises there.
        """
        number, mine = self.asked, _Waiting()
        self.asked += 1
        self.waiting[number] = mine
        self.channel.post(Job.of(number, endpoint, question))
        await mine.arrived.wait()
        if isinstance(mine.answer, Failed):
            raise mine.answer.error
        if mine.answer is not None:
            return mine.answer.observation
        why = "the process that probed it ended"
        return Observation(
            instance=endpoint.instance,
            at=datetime.now(UTC),
            reach=Reach.INTERRUPTED,
            detail=why,
            versions=Answers(unasked=why),
            stopped=why,
        )

    async def receive(self) -> None:
        """Hand out the answers."""
        while messages := await self.channel.receive():
            for message in messages:
                assert isinstance(message, Seen | Failed)  # noqa: S101 - a worker sends nothing else
                mine = self.waiting.pop(message.number)
                mine.answer = message
                mine.arrived.set()
        self.ended = True
        for mine in self.waiting.values():
            mine.arrived.set()


@contextmanager
def workers(count: int, limits: Limits) -> Generator[Workers]:
    """Fork ``count`` workers; less than two: none. Do it before ``trio.run``: a running loop cannot be forked.

    They end with the block, or with this process however it ends.
    """
    links: list[_Link] = []
    share = replace(limits, rate=limits.rate and limits.rate / count) if count > 1 else limits
    try:
        with suppress(OSError):  # no more processes or descriptors: those that run share the work
            for _ in range(count if count > 1 else 0):
                links.append(_fork(share, [each.channel.line for each in links]))
        yield Workers(tuple(links))
    finally:
        for each in links:
            each.channel.line.close()
        for each in links:
            with suppress(ChildProcessError):
                os.waitpid(each.pid, 0)


def _fork(limits: Limits, others: list[socket.socket]) -> _Link:
    ours, theirs = socket.socketpair()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about threads: trio's idle ones, which it forgets here
        pid = os.fork()
    if pid == 0:
        _be_worker(theirs, limits, [ours, *others])
    theirs.close()
    ours.setblocking(False)  # noqa: FBT003 - the module's own signature
    return _Link(pid, _Channel(ours))


def _be_worker(line: socket.socket, limits: Limits, others: list[socket.socket]) -> NoReturn:
    """The life of a worker: it leaves nothing to the parent's exit handlers, buffers and temporary files."""
    try:
        for each in others:
            each.close()
        for number in (signal.SIGINT, signal.SIGTERM):  # the parent decides what they mean
            signal.signal(number, signal.SIG_IGN)
        gc.freeze()
        line.setblocking(False)  # noqa: FBT003 - as above
        trio.run(_work, _Channel(line, pause=_TOGETHER), Gate(limits))
    except BaseException:  # noqa: BLE001 - a fork must not return into the code of its parent
        traceback.print_exc()
    finally:
        os._exit(0)  # the parent looks at messages only


async def _work(channel: _Channel, gate: Gate) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(channel.send)
        while messages := await channel.receive():
            for message in messages:
                if isinstance(message, Stop):
                    gate.stop(message.reason)
                elif isinstance(message, Job):
                    nursery.start_soon(partial(_answer, channel, gate, message))
        nursery.cancel_scope.cancel()


async def _answer(channel: _Channel, gate: Gate, job: Job) -> None:
    try:
        seen = await observe(job.endpoint, job.question, gate, datetime.now(UTC))
        channel.post(Seen.of(job.number, seen))
    except Exception as error:  # noqa: BLE001 - the parent raises it
        channel.post(Failed.of(job.number, error))
