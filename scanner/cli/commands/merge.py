"""``adhere merge``: one report of a scan that was made in parts, and of the scans of several clusters."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Literal, get_args

import click

from scanner.cli.output import FORMATS, parse_outputs
from scanner.cli.shared_options import BASELINE, PUSH, QUIET, SECONDS, formats_option, refuse_empty
from scanner.errors import UsageError
from scanner.model.report import SCHEMA, FailOn


@click.command()
@click.argument("results", metavar="DIR|URL...", nargs=-1, required=True)
@formats_option(FORMATS)
@click.option(
    "--fail-on",
    type=click.Choice(get_args(FailOn)),
    help="Lowest severity that makes the exit code 1.  [default: that of the scan]",
)
@BASELINE
@PUSH
@click.option("--save", metavar="DIR|URL", help="Save the whole scan for adhere whatif.")
@click.option("--wait", type=SECONDS, metavar="S", help="Wait until every shard is complete.")
@QUIET
@click.option("-v", "--verbose", is_flag=True, help="List every endpoint, on stderr and in the text.")
def merge(  # noqa: PLR0913 - the options
    results: tuple[str, ...],
    formats: tuple[str, ...],
    fail_on: FailOn | None,
    baseline: str | None,
    push: str | None,
    save: str | None,
    wait: float | None,
    *,
    quiet: bool,
    verbose: bool,
) -> int:
    """Judge the shards of the scan in DIR, or the scans of several clusters, and write one report.

    DIR was made by adhere scan --save; a URL such as s3://BUCKET/PREFIX is an object store. Nothing is dialled.

    A shard that is missing or did not end makes the scan incomplete, and the report names it. The exit codes are
    those of adhere scan.
    """
    from scanner.cli.resumed_scan import merged  # noqa: PLC0415 - a help text does not need these
    from scanner.cli.running import mirrored, run_and_report  # noqa: PLC0415
    from scanner.known_findings import load_baseline  # noqa: PLC0415
    from scanner.object_store import is_url  # noqa: PLC0415
    from scanner.values import replace  # noqa: PLC0415

    refuse_empty({"--baseline": baseline, "--save": save})
    if quiet and verbose:
        raise UsageError("--quiet and --verbose cannot be combined", hint="remove one of them")
    if baseline and len(results) > 1:  # cluster-wide findings do not name their cluster
        raise UsageError("--baseline needs one cluster", hint="merge each with a baseline of its own")
    for each in results if save else ():
        if is_url(each) != is_url(save or ""):
            continue
        one, other = Path(each).resolve(), Path(save or "").resolve()
        if one.is_relative_to(other) or other.is_relative_to(one):
            raise UsageError(f"--save {save} is inside {each}, or above it", hint="choose another directory")
    outputs = parse_outputs(formats)
    loudness: Literal["quiet", "normal", "verbose"] = "quiet" if quiet else "verbose" if verbose else "normal"
    with ExitStack() as stack:
        mirrors = [stack.enter_context(mirrored(each)) for each in results]
        directories = [mirror.directory if mirror else each for mirror, each in zip(mirrors, results, strict=True)]
        work = merged(directories, wait or 0, [each for each in mirrors if each])
        into = stack.enter_context(mirrored(save))
        work = replace(work, save=into.directory if into else save, mirror=into, push=push)
        work = replace(work, baseline=load_baseline(baseline, SCHEMA) if baseline else None)
        return run_and_report(work, outputs, fail_on or work.head.fail_on, loudness)
