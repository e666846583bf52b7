"""Cost of lint: ``python -m benchmarks.linting [NUMBER]`` (10,000 objects).

Writes manifests as a platform team has them (``benchmarks/manifests.py``), and lints them: reading, the rules, each
format, and the whole command as its users start it. Beside it the floor: libyaml's events of the same files, without
building objects. Then the same for as many Routes of one namespace, each with a Secret and rights of its own, which are
four times as many objects and the worst that is known.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import yaml

from benchmarks.manifests import write, write_routes
from benchmarks.timing import timed
from scanner.cluster.lint_input import read_manifests
from scanner.cluster.manifest_documents import Manifests
from scanner.linting import LINT_READS, declared, lint_report
from scanner.model.lint_report import LintReport
from scanner.report import LINT_FORMATS

_BOUND = 20.0
"""Seconds of wall time for 10,000 objects."""


def main() -> int:
    """Exit code 0: a benchmark informs, it does not judge."""
    number = int(sys.argv[1]) if sys.argv[1:] else 10_000
    _case(f"{number} objects", lambda directory: write(directory, number))
    _case(f"{number} Routes with what belongs to them", lambda directory: write_routes(directory, number))
    return 0


def _case(name: str, written: Callable[[Path], int]) -> None:
    with tempfile.TemporaryDirectory(prefix="adhere-") as directory:
        print(f"{name}, {written(Path(directory)) / 1e6:.1f} MB")
        floor, _ = timed(lambda: _events(Path(directory)))
        print(f"libyaml's events alone: {floor:.1f} s of CPU")
        spent, found = timed(lambda: read_manifests([directory], LINT_READS))
        print(
            f"reading: {spent:.1f} s of CPU, {spent / floor:.1f} times the events; {len(found.objects)} objects to lint"
        )
        spent, report = timed(lambda: _report(found))
        told = ", ".join(f"{verdict} {count}" for verdict, count in report.counts().items())
        print(f"rules: {spent:.1f} s of CPU, {spent / floor:.1f} times the events; {told}")
        for each in LINT_FORMATS.values():
            out = StringIO()
            spent, _ = timed(lambda each=each, out=out: each.write(report, out))  # type: ignore[misc]
            print(f"{each.name}: {spent:.1f} s of CPU, {len(out.getvalue()) / 1e6:.1f} MB")
        _command(directory)


def _events(directory: Path) -> int:
    return sum(1 for path in directory.rglob("*.yaml") for _ in yaml.parse(path.read_bytes(), Loader=yaml.CSafeLoader))


def _report(manifests: Manifests) -> LintReport:
    return lint_report(declared(manifests, None), manifests, started=datetime.now(UTC), sources=(), arguments=())


def _command(directory: str) -> None:
    """The program as one starts it, interpreter and imports included."""
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    argv = [sys.executable, "-m", "scanner", "lint", directory, "--quiet"]
    ended = subprocess.run(argv, capture_output=True, check=False)
    wall, used = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"adhere lint: {wall:.1f} s, of the bound of {_BOUND:.0f} s {wall / _BOUND:.2f}; "
        f"{spent:.1f} s of CPU, peak {used.ru_maxrss / 1024:.0f} MiB, exit {ended.returncode}"
    )


if __name__ == "__main__":
    sys.exit(main())
