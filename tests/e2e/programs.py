"""Child processes that live as long as a test session: started, waited for, ended by their process handle."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.zoo.processes import DidNotStartError, tail

READY_WITHIN = 90.0
"""Seconds; an API server needs some ten alone, more where every core is busy."""


@contextmanager
def running(argv: Sequence[str], log: Path, ready: Callable[[], bool]) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program until the block ends. Raises ``DidNotStartError`` with its last words when it never gets ready."""
    command = [*_ended_with_us(), *argv]
    with log.open("wb") as said:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd=log.parent)
    try:
        _await(process, log, ready)
        yield process
    finally:
        process.kill()
        process.wait()


def _ended_with_us() -> tuple[str, ...]:
    """A session that is killed must not leave its servers behind; util-linux can ask the kernel for that."""
    setpriv = shutil.which("setpriv")
    return (setpriv, "--pdeathsig", "KILL", "--") if setpriv else ()


def _await(process: subprocess.Popen[bytes], log: Path, ready: Callable[[], bool]) -> None:
    until = time.monotonic() + READY_WITHIN
    while not ready():
        if process.poll() is not None:
            raise DidNotStartError(f"{log.stem} ended with {process.returncode}; it wrote:\n{tail(log)}")
        if time.monotonic() > until:
            raise DidNotStartError(f"{log.stem} is not ready after {READY_WITHIN:.0f} s; it wrote:\n{tail(log)}")
        time.sleep(0.1)
