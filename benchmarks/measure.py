"""Run command lines and measure their cost, with all child processes that they waited for.

The running is done by a lean Python of its own (this file as a program): Linux counts the memory of the parent as
the child's first peak, and the benchmark's own 40 MiB would hide what a small scanner needs.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

Command = Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Cost of one or several processes."""

    wall: float
    """Seconds from the first start to the last end."""
    cpu: float
    """Seconds, user and system, of all of them."""
    peak: float
    """MiB of resident memory, of the largest single process."""
    failed: str | None
    """Exit of the first failed process, with its last output."""


def run(commands: Sequence[Command], *, at_once: int, limit: float, fine: frozenset[int] = frozenset({0})) -> Cost:
    """Run all ``commands``, some at once, each killed after ``limit`` seconds. ``fine``: exit codes of success."""
    request = json.dumps([[list(map(str, command)) for command in commands], at_once, limit, sorted(fine)])
    lean = [sys.executable, "-I", "-S", __file__]
    answer = subprocess.run(
        lean, input=request, stdout=subprocess.PIPE, text=True, check=True, env=_environment()
    ).stdout
    return Cost(**json.loads(answer))


def _environment() -> dict[str, str]:
    """Scanners in Python find their bytecode compiled, as an installed program does, whatever is set here. Settings
    that a scanner saves are not the user's."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    ours = str(Path(tempfile.gettempdir()) / f"adhere-bench-{os.getuid()}")
    return {**environment, "PYTHONPYCACHEPREFIX": ours, "XDG_CONFIG_HOME": ours}


def _run_all(commands: Sequence[Command], at_once: int, limit: float, fine: frozenset[int]) -> Cost:
    started = time.monotonic()
    with ThreadPoolExecutor(at_once) as pool:
        costs = list(pool.map(lambda command: _run(command, limit, fine), commands))
    return Cost(
        wall=time.monotonic() - started,
        cpu=sum(cost.cpu for cost in costs),
        peak=max(cost.peak for cost in costs),
        failed=next((cost.failed for cost in costs if cost.failed), None),
    )


def _run(command: Command, limit: float, fine: frozenset[int]) -> Cost:
    started = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        timer = threading.Timer(limit, os.killpg, (process.pid, signal.SIGKILL))
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        words = output.read().decode(errors="replace").strip()[-300:]
    name = Path(command[0]).name
    return Cost(
        wall=time.monotonic() - started,
        cpu=usage.ru_utime + usage.ru_stime,
        peak=usage.ru_maxrss / 1024,
        failed=None if process.returncode in fine else f"{name} ended with {process.returncode}: {words}",
    )


if __name__ == "__main__":
    wanted, at_once, limit, fine = json.load(sys.stdin)
    print(json.dumps(asdict(_run_all(wanted, at_once, limit, frozenset(fine)))))
