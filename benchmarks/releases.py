"""Compare installed versions of adhere in one run: ``python -m benchmarks.releases PROGRAM [PROGRAM...]``.

Each PROGRAM is the path of an installed ``adhere``; without one, the program beside this Python. They take turns,
because another run on the same machine can differ by half. Printed are medians:

* **start**: the CPU of a scan of one closed port, start and end included, over the CPU of importing trio, click and
  cryptography.x509; and the time of the imports alone (``-X importtime``), over theirs
* **connection**: the client's CPU for a connection, everything included, over the bare loop (``benchmarks.floor``)
* **workers**: endpoints per second with a worker for each core, over one process. The listeners need a share of the
  same cores, so the scan is limited to half of each (a CPU quota of cgroups), and the listeners have the rest.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.farm import Farm, farm, stubs
from benchmarks.measure import Cost, run
from benchmarks.parts import LIMIT, alone
from benchmarks.tools import TOOLS

ROUNDS = 5
FEW, MANY = 50, 1050
"""Targets whose difference is the cost of 1,000 endpoints."""
SCALED = 4000
"""Endpoints of the comparison of workers: the start, which has one process, must not count much."""
_FINE = frozenset({0, 1, 3})
_BASE = "import trio, click, cryptography.x509"
_SCAN = ("--mode", "verdict", "--profile", "intermediate", "--fail-on", "never", "--quiet")
_PERIOD = 20_000
"""Microseconds of a quota's period: short, so that no connection waits long."""


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


def _scan(program: str, served: Farm, directory: Path, targets: int) -> list[str]:
    listed = directory / f"{targets}.txt"
    size = len(served.addresses)
    lines = (f"tls://{served.addresses[n % size]}:{served.port}#n{n}.example\n" for n in range(targets))
    listed.write_text("".join(lines))
    return [program, "scan", "--targets", str(listed), *_SCAN, "--format", f"json={directory / 'report.json'}"]


def _has_workers(program: str) -> bool:
    return "--workers" in subprocess.run([program, "scan", "--help"], capture_output=True, text=True, check=True).stdout


def _one(program: str) -> list[str]:
    return ["--workers", "1"] if _has_workers(program) else []


def _workers(program: str, served: Farm, directory: Path, cores: int) -> float:
    """Return the speed of ``cores`` workers with half of a core each, over that of one process with half of one."""
    seconds = []
    for count in (1, cores):
        with _quota(count / 2):
            command = [*_scan(program, served, directory, SCALED), "--workers", str(count)]
            seconds.append(_cost(command).wall)
    return seconds[0] / seconds[1]


@contextmanager
def _quota(cores: float) -> Generator[None]:
    """Limit this process and those that it starts to so many cores in sum. Raises ``SystemExit`` without cgroups."""
    root = Path("/sys/fs/cgroup")
    second = (root / "cgroup.controllers").exists()
    parent = root if second else root / "cpu"
    group = parent / f"adhere-bench-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        raise SystemExit(f"workers: not measured, because {group} cannot be made: {error.strerror}") from None
    try:
        if second:
            (group / "cpu.max").write_text(f"{int(cores * _PERIOD)} {_PERIOD}")
        else:
            (group / "cpu.cfs_period_us").write_text(str(_PERIOD))
            (group / "cpu.cfs_quota_us").write_text(str(int(cores * _PERIOD)))
        (group / "cgroup.procs").write_text(str(os.getpid()))
        yield
    finally:
        (parent / "cgroup.procs").write_text(str(os.getpid()))
        group.rmdir()


if __name__ == "__main__":
    sys.exit(main())
