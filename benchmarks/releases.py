"""Compare installed versions of adhere in one run: ``python -m benchmarks.releases PROGRAM [PROGRAM...]``.

Each PROGRAM is the path of an installed ``adhere``; without one, the program beside this Python. They take turns,
because another run on the same machine can differ by half. Printed are medians:

* **start**: the CPU of a scan of one closed port, start and end included, over the CPU of importing trio, click and
  cryptography.x509; and the time of the imports alone (``-X importtime``), over theirs
* **connection**: the client's CPU for a connection, everything included, over the bare loop (``benchmarks.floor``)
* **workers**: endpoints per second with a worker for each core, over one process. The listeners need a share of the
  same cores, so each process of the scan is limited to a share of one (control groups); the listeners have the rest.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Self

from benchmarks.farm import Farm, farm, stubs
from benchmarks.measure import Cost, run
from benchmarks.parts import LIMIT, alone
from benchmarks.tools import TOOLS

ROUNDS = 5
FEW, MANY = 50, 1050
"""Targets whose difference is the cost of 1,000 endpoints."""
SCALED = 10_000
"""Endpoints of the comparison of workers: the start, which has one process, must not count much."""
_FINE = frozenset({0, 1, 3})
_BASE = "import trio, click, cryptography.x509"
_SCAN = ("--mode", "verdict", "--profile", "intermediate", "--fail-on", "never", "--quiet")
SHARE = 0.4
"""Share of a core that a process of the scan has: three of them and the listeners need less than two cores."""
_PERIOD = 100_000
"""Microseconds of a quota's period: the kernel's default. It gives out quotas in slices of 5 ms, so that a short
period loses a tenth of what several processes should have."""


def main() -> int:
    """Exit code 0: a benchmark informs, it does not judge."""
    programs = sys.argv[1:] or [TOOLS[0].path() or ""]
    cores = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(prefix="bench-") as name, farm(stubs(50), Path(name), cores[-1]) as served:
        os.sched_setaffinity(0, {cores[0]})
        _table("start", programs, [[_start(each) for each in programs] for _ in range(ROUNDS)])
        _table("connection", programs, [_connections(programs, served, Path(name)) for _ in range(ROUNDS)])
        os.sched_setaffinity(0, cores)
        os.sched_setaffinity(served.process.pid, cores)
        for program in filter(_has_workers, programs):
            ratios = [_workers(program, served, Path(name), len(cores)) for _ in range(ROUNDS)]
            print(f"workers: {program}: {_spread(ratios)} times one process, with {len(cores)} workers")
    return 0


def _table(title: str, programs: Sequence[str], rounds: Sequence[Sequence[tuple[float, ...]]]) -> None:
    """Print the median of each number of each program."""
    for program, measured in zip(programs, zip(*rounds, strict=True), strict=True):
        print(f"{title}: {program}: {', '.join(map(_spread, zip(*measured, strict=True)))}", flush=True)


def _spread(numbers: Sequence[float]) -> str:
    return f"{statistics.median(numbers):.2f} ({min(numbers):.2f} to {max(numbers):.2f})"


def _start(program: str) -> tuple[float, float]:
    python = str(Path(program).with_name("python"))
    scan = [program, "scan", "tls://127.0.0.1:1", "--profile", "intermediate", "--quiet"]
    cpu = _cost(scan).cpu / _cost([python, "-c", _BASE]).cpu
    return cpu, _imports([python, "-X", "importtime", *scan]) / _imports([python, "-X", "importtime", "-c", _BASE])


def _imports(command: Sequence[str]) -> float:
    """Return the sum of the times of all imports, in microseconds."""
    text = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    return sum(float(found) for found in re.findall(r"^import time:\s+(\d+) \|", text, re.MULTILINE))


def _cost(command: Sequence[str]) -> Cost:
    cost = run([command], at_once=1, limit=LIMIT, fine=_FINE)
    if cost.failed:
        raise SystemExit(cost.failed)
    return cost


def _connections(programs: Sequence[str], served: Farm, directory: Path) -> list[tuple[float]]:
    floor = alone("floor", served, 20_000)[0]
    return [(_connection(each, served, directory) / floor,) for each in programs]


def _connection(program: str, served: Farm, directory: Path) -> float:
    """Return the microseconds of CPU for a connection, without the start."""
    measured = []
    for targets in (FEW, MANY):
        before = served.counts().connections
        cost = _cost([*_scan(program, served, directory, targets), *_one(program)])
        measured.append((cost.cpu, served.counts().connections - before))
    (few, made_few), (many, made_many) = measured
    return (many - few) / (made_many - made_few) * 1e6


def _scan(program: str, served: Farm, directory: Path, targets: int, form: str = "json") -> list[str]:
    listed = directory / f"{targets}.txt"
    size = len(served.addresses)
    lines = (f"tls://{served.addresses[n % size]}:{served.port}#n{n}.example\n" for n in range(targets))
    listed.write_text("".join(lines))
    return [program, "scan", "--targets", str(listed), *_SCAN, "--format", f"{form}={directory / 'report'}"]


def _has_workers(program: str) -> bool:
    return "--workers" in subprocess.run([program, "scan", "--help"], capture_output=True, text=True, check=True).stdout


def _one(program: str) -> list[str]:
    return ["--workers", "1"] if _has_workers(program) else []


def _workers(program: str, served: Farm, directory: Path, cores: int) -> float:
    """Return the speed of ``cores`` workers over that of one process.

    Both scan at the same time, because the speed of a shared machine changes within a minute.
    """
    command = _scan(program, served, directory, SCALED, "text")
    with ThreadPoolExecutor() as pool:
        one = pool.submit(_limited, [*command[:-1], f"text={directory / 'one'}", "--workers", "1"], 1)
        many = pool.submit(_limited, [*command, "--workers", str(cores)], cores)
        return one.result() / many.result()


def _limited(command: Sequence[str], processes: int) -> float:
    """Return the seconds of a scan whose processes have at most ``SHARE`` of a core each."""
    with _Quotas(processes) as quotas:
        watch = threading.Thread(target=quotas.move_workers, args=(command[0], processes if processes > 1 else 0))
        watch.start()
        try:
            seconds = _cost(quotas.inside(command)).wall
        finally:
            quotas.over.set()
            watch.join()
    if quotas.missing:
        raise SystemExit(f"workers: not measured, because {quotas.missing} of them had no quota of their own")
    return seconds


class _Quotas:
    """Control groups (``cpu``, v1 or v2): ``SHARE`` of a core for each process, and for all of them ``processes`` times
    as much."""

    def __init__(self, processes: int) -> None:
        root = Path("/sys/fs/cgroup")
        self._v2 = (root / "cgroup.controllers").exists()
        self._all = (root if self._v2 else root / "cpu") / f"adhere-bench-{os.getpid()}-{processes}"
        self._processes = processes
        self._groups: list[Path] = []
        self.missing = 0
        """Workers that ``move_workers`` has not found."""
        self.over = threading.Event()
        """The scan has ended."""

    def __enter__(self) -> Self:
        try:
            self._limit(self._all, self._processes * SHARE)
            if self._v2:
                (self._all / "cgroup.subtree_control").write_text("+cpu")
            self._new_group()
        except OSError as error:
            self.__exit__()
            raise SystemExit(f"workers: not measured without control groups: {error}") from None
        return self

    def __exit__(self, *_: object) -> None:
        for group in (*self._groups, self._all):
            with suppress(FileNotFoundError):
                group.rmdir()

    def inside(self, command: Sequence[str]) -> list[str]:
        """Return the command that runs ``command`` in the first group."""
        return ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(self._groups[0] / "cgroup.procs"), *command]

    def move_workers(self, program: str, count: int) -> None:
        """Give each of ``count`` workers a group of its own: forks of ``program``, which has the same command line."""
        self.missing = count
        while self.missing and not self.over.wait(0.01):
            for pid in map(int, (self._groups[0] / "cgroup.procs").read_text().split()):
                if program in _words(pid) and _words(pid) == _words(_parent(pid)):
                    (self._new_group() / "cgroup.procs").write_text(str(pid))
                    self.missing -= 1

    def _new_group(self) -> Path:
        group = self._all / str(len(self._groups))
        self._limit(group, SHARE)
        self._groups.append(group)
        return group

    def _limit(self, group: Path, cores: float) -> None:
        group.mkdir()
        if self._v2:
            (group / "cpu.max").write_text(f"{int(cores * _PERIOD)} {_PERIOD}")
        else:
            (group / "cpu.cfs_period_us").write_text(str(_PERIOD))
            (group / "cpu.cfs_quota_us").write_text(str(int(cores * _PERIOD)))


def _words(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:  # the process is gone
        return []


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


if __name__ == "__main__":
    sys.exit(main())
