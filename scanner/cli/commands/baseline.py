"""``adhere baseline``: write the failures of a run to a file, for ``--baseline`` of scan and lint."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import click

from scanner.cli.results_directory import read_results
from scanner.cli.streams import note
from scanner.known_findings import write_baseline
from scanner.model.report import EXIT_OK
from scanner.report.atomic import atomic_write


@click.command()
@click.argument("results", metavar="RESULTS")
@click.argument("file", metavar="FILE")
@click.option("--accept-undecided", is_flag=True, help="Write it even if lint left something undecided.")
def baseline(results: str, file: str, *, accept_undecided: bool) -> int:
    """Write the failures of RESULTS to FILE; - is standard output.

    RESULTS is a JSON report of scan or lint, or a directory of adhere scan --save. It must be of a complete run: a
    baseline of a partial one is refused. Inconclusive findings are never in a baseline.

    Then: adhere scan --baseline FILE, which exits with 1 only for findings that are not in FILE.
    """
    write = partial(write_baseline, read_results(results), accept_undecided=accept_undecided)
    if file == "-":
        write(sys.stdout)
    else:
        atomic_write(Path(file), write)
        note(f"adhere: wrote {file}")
    return EXIT_OK
