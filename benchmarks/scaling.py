"""Cost over the number of endpoints, in three ways: ``python -m benchmarks.scaling [NUMBER...]`` (10 100 1000 10000).

One process, one worker for each core, and four shards on the same machine with their merge. The listeners answer at
once and compute nothing, each on an address of its own in 127/8; they share the cores with the scan.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.farm import farm, stubs
from benchmarks.measure import Command, Cost, run
from benchmarks.parts import LIMIT
from benchmarks.tools import TOOLS

SHARDS = 4
_FINE = frozenset({0, 1, 3})
_PROFILE = ("--mode", "verdict", "--profile", "intermediate", "--fail-on", "never", "--quiet")


def main() -> int:
    """Exit code 0: a benchmark informs, it does not judge."""
    sizes = [int(word) for word in sys.argv[1:]] or [10, 100, 1000, 10_000]
    program = TOOLS[0].path()
    assert program, "adhere is not installed beside this Python"
    cores = os.sched_getaffinity(0)
    ways: dict[str, Callable[[str, Path, Path], Cost]] = {
        "one process": lambda program, targets, place: _whole(program, targets, place, 1),
        f"{len(cores)} workers": lambda program, targets, place: _whole(program, targets, place, len(cores)),
        f"{SHARDS} shards and merge": _shards,
    }
    with tempfile.TemporaryDirectory(prefix="bench-") as name, farm(stubs(max(sizes)), Path(name), 0) as served:
        os.sched_setaffinity(served.process.pid, cores)
        targets = Path(name) / "targets.txt"
        for size in sizes:
            targets.write_text("".join(f"tls://{each}:{served.port}\n" for each in served.addresses[:size]))
            for way, scan in ways.items():
                with tempfile.TemporaryDirectory(prefix="bench-") as place:
                    before = served.counts()
                    cost = scan(program, targets, Path(place))
                    after = served.counts()
                print(
                    f"{size:>6} endpoints, {way}: {cost.wall:.2f} s, {size / cost.wall:.0f} endpoints/s, "
                    f"{cost.cpu:.2f} s of CPU ({cost.cpu / size * 1e3:.2f} ms each; listeners "
                    f"{after.cpu - before.cpu:.2f} s), peak {cost.peak:.0f} MiB, "
                    f"{after.connections - before.connections} connections"
                    + (f": {cost.failed}" if cost.failed else ""),
                    flush=True,
                )
    return 0


def _whole(program: str, targets: Path, place: Path, workers: int) -> Cost:
    words = ["--workers", str(workers), "--format", f"json={place / 'report.json'}"]
    return run([[program, "scan", "--targets", str(targets), *_PROFILE, *words]], at_once=1, limit=LIMIT, fine=_FINE)


def _shards(program: str, targets: Path, place: Path) -> Cost:
    """Prepare, probe in four processes at once, and merge: their costs together."""
    saved = str(place / "saved")
    prepare: Command = [program, "scan", "--targets", str(targets), *_PROFILE, "--dry-run", "--save", saved]
    shards: list[Command] = [
        [program, "scan", "--resume", saved, "--shard", f"{number}/{SHARDS}", "--workers", "1", "--quiet"]
        for number in range(SHARDS)
    ]
    merge: Command = [program, "merge", saved, "--quiet", "--format", f"json={place / 'report.json'}"]
    parts = [run(each, at_once=SHARDS, limit=LIMIT, fine=_FINE) for each in ([prepare], shards, [merge])]
    return Cost(
        wall=sum(each.wall for each in parts),
        cpu=sum(each.cpu for each in parts),
        peak=max(each.peak for each in parts),
        failed=next((each.failed for each in parts if each.failed), None),
    )


if __name__ == "__main__":
    sys.exit(main())
