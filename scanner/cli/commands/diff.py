"""``adhere diff``: compare the results of two runs, without a connection."""

from __future__ import annotations

from typing import get_args

import click

from scanner.cli.output import parse_outputs, write_reports
from scanner.cli.results_directory import read_results
from scanner.cli.shared_options import either
from scanner.cli.streams import width
from scanner.errors import UsageError
from scanner.model.finding import SEVERITIES
from scanner.model.report import FailOn
from scanner.report import DIFF_FORMATS
from scanner.report.comparison import compare, exit_code


@click.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option(
    "--fail-on-new",
    type=click.Choice([each for each in get_args(FailOn) if each in SEVERITIES]),
    is_flag=False,
    flag_value="medium",
    metavar="[SEVERITY]",
    help="Exit 1 for new or worse findings at or above SEVERITY, or medium without one; write it after OLD and NEW.",
)
@click.option(
    "--format", "formats", metavar="FMT[=PATH]", multiple=True, help=f"{either(DIFF_FORMATS)}.  [default: text]"
)
def diff(old: str, new: str, fail_on_new: FailOn | None, formats: tuple[str, ...]) -> int:
    """Compare two results: JSON reports of scan or lint, or directories of adhere scan --save.

    Endpoints are compared by id, so replaced pods and other addresses make no difference. A finding is fixed only if
    its rule passes now. An endpoint that is gone has fixed nothing.

    Exit codes: 0 compared, or nothing new with --fail-on-new · 1 new findings · 2 usage error · 3 nothing new, but
    something is newly inconclusive. 1 and 3 need --fail-on-new.
    """
    outputs = parse_outputs(formats, DIFF_FORMATS)
    before, after = read_results(old), read_results(new)
    if before.of != after.of:
        hint = "compare two scans, or two runs of lint"
        raise UsageError(f"{old} is of {before.of}, but {new} is of {after.of}", hint=hint)
    found = compare(before, after, fail_on_new or "never")
    write_reports(found, outputs, DIFF_FORMATS, width=width())
    return exit_code(found)
