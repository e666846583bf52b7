"""Growth of lint's cost with odd shapes: ``python -m benchmarks.growth [NUMBER [WORD...]]`` (2,500).

Lints each of ``benchmarks/shapes.py`` at a size and at four times that, or those whose names have one of the words.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.shapes import SHAPES
from benchmarks.timing import timed
from scanner.cluster.lint_input import read_manifests
from scanner.linting import LINT_READS, declared, lint_report
from scanner.model.lint_report import LintReport

TIMES = 4


def main() -> int:
    """Exit code 0: a benchmark informs, it does not judge."""
    number, words = int(sys.argv[1]) if sys.argv[1:] else 2_500, sys.argv[2:]
    for name, made in SHAPES.items():
        if not words or any(word in name for word in words):
            few, many = (_spent(made, size) for size in (number, TIMES * number))
            print(f"{name}: {few:.1f} and {many:.1f} s of CPU for {TIMES} times as many, {many / few:.1f} times")
    return 0


def _spent(made: Callable[[int], str], number: int) -> float:
    with tempfile.TemporaryDirectory(prefix="adhere-") as directory:
        Path(directory, "shape.yaml").write_text(made(number), encoding="utf-8")
        return timed(lambda: linted(directory))[0]


def linted(directory: str) -> LintReport:
    """Lint the manifests there."""
    given = read_manifests([directory], LINT_READS)
    return lint_report(declared(given, None), given, started=datetime.now(UTC), sources=(), arguments=())


if __name__ == "__main__":
    sys.exit(main())
