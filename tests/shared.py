"""What is made once for a run of the tests, for all of its processes: files, and the demo's cluster.

    python -m tests.shared DIRECTORY PID

runs the cluster until the process PID ends.
"""

from __future__ import annotations

import fcntl
import os
import select
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import msgspec

from scanner.demo.cluster import ClusterListener, demo_cluster
from tests.serving import serving


@dataclass(frozen=True, slots=True)
class Shared:
    """The directory of a run of the tests."""

    directory: Path
    process: int
    """Runs as long as the tests: pytest itself, and not one of its workers."""

    def once(self, name: str, make: Callable[[Path], object]) -> Path:
        """The directory that ``make`` fills in the first process that needs it; the others wait for that."""
        made = self.directory / name
        with (self.directory / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not made.exists():
                # Each time another one: what a worker started that was killed may still write into the last.
                tries = (self.directory / f"{name}.{number}" for number in count())
                directory = next(each for each in tries if not each.exists())
                directory.mkdir()
                make(directory)
                made.symlink_to(directory.name)
        return self.directory / made.readlink()


@dataclass(frozen=True, slots=True)
class LiveDemo:
    """The demo's cluster, in a process of its own: all tests of a run use it, and none changes it."""

    kubeconfig: Path
    listeners: tuple[ClusterListener, ...]
    not_scanned: tuple[ClusterListener, ...]


def live_demo(shared: Shared) -> LiveDemo:
    """Start the cluster unless it runs."""

    def start(directory: Path) -> None:
        command = [sys.executable, "-m", "tests.shared", str(directory), str(shared.process)]
        with (directory / "log").open("w") as log:
            started = subprocess.run(command, cwd=Path(__file__).parents[1], stdout=log, stderr=log, check=False)
        assert started.returncode == 0, (directory / "log").read_text()

    directory = shared.once("demo", start)
    kinds = tuple[tuple[ClusterListener, ...], tuple[ClusterListener, ...]]
    return LiveDemo(
        directory / "kubeconfig", *msgspec.json.decode((directory / "listeners.json").read_bytes(), type=kinds)
    )


def _run(directory: Path, process: int) -> None:
    """Return, or fail, when the cluster is ready. A child keeps it: no worker takes it away from the others."""
    ready, started = os.pipe()
    if os.fork():
        os.close(started)
        sys.exit(os.read(ready, 1) != b"1")
    os.setsid()
    ends = os.pidfd_open(process)
    with serving(demo_cluster) as cluster:
        cluster.kubeconfig(directory / "kubeconfig")
        (directory / "listeners.json").write_bytes(msgspec.json.encode((cluster.listeners, cluster.not_scanned)))
        os.write(started, b"1")
        os.close(started)
        select.select([ends], [], [])


if __name__ == "__main__":
    _run(Path(sys.argv[1]), int(sys.argv[2]))
