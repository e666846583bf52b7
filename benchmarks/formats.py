"""Cost of every format of a scan: ``python -m benchmarks.formats [FORMAT ...]``.

Scans the demo's cluster, and multiplies its endpoints until they have 100,000 findings, in a file of rows, as a scan
has them. Then writes each format in a process of its own. Last, it writes the JSON of 5,000 endpoints with
and without ``--brief``.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TextIO

from benchmarks.html_page import report, rows, scanned
from scanner.report import FORMATS
from scanner.report.stream import RowFile

_FINDINGS = 100_000


def main() -> int:
    """Exit code 0: a benchmark informs, it does not judge."""
    with tempfile.TemporaryDirectory(prefix="adhere-") as temporary:
        directory = Path(temporary)
        document, kept, number = scanned(directory), RowFile(directory / "rows.jsonl"), 0
        for row in rows(document, _FINDINGS):
            kept.append(row)
            number += len(row["findings"])
            if number >= _FINDINGS:
                break
        made = report(document, kept.rows)
        print(f"{number} findings on {made.summary.endpoints} endpoints")
        for name in sys.argv[1:] or FORMATS:
            measured(name, directory, partial(FORMATS[name].write, made))
        few = report(document, lambda: islice(kept.rows(), 5000))
        for brief in (False, True):
            name = f"json of 5,000 endpoints{' with --brief' if brief else ''}"
            measured(name, directory, partial(FORMATS["json"].write, few, brief=brief))
    return 0


def measured(name: str, directory: Path, write: Callable[[TextIO], None]) -> None:
    """Write in a child process, and print time, size and peak of memory."""
    path, start = directory / name, time.monotonic()
    child = os.fork()
    if not child:
        with path.open("w") as out:
            write(out)
        os._exit(0)
    _, status, usage = os.wait4(child, 0)
    failed = "" if status == 0 else "FAILED, "
    print(
        f"{name}: {failed}{time.monotonic() - start:.1f} s, {usage.ru_utime + usage.ru_stime:.1f} s of CPU, "
        f"{path.stat().st_size / 1e6:.1f} MB, peak {usage.ru_maxrss / 1024:.0f} MiB",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
