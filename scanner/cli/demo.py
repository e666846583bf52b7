"""``adhere demo``: scan a cluster on loopback that has common mistakes."""

from __future__ import annotations

import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path

import click

from scanner.assessment import READS, Viewpoint, assess, surroundings
from scanner.cli.output import Output
from scanner.cli.progress import Loudness, progress
from scanner.cli.running import Work, finish, run_trio, scan_until_signal
from scanner.cli.scan_cluster import gentle
from scanner.cli.streams import say
from scanner.demo.cluster import demo_cluster
from scanner.demo.cluster import unexpected as cluster_differences
from scanner.demo.outcomes import Listener, demo_listeners
from scanner.errors import ResourceError
from scanner.jobs import TargetRequirements, of_targets
from scanner.kube.profile_catalogue import load_profile
from scanner.model.endpoint import Target
from scanner.model.report import EXIT_INCOMPLETE, EXIT_OK, Report
from scanner.probe.limits import Limits
from scanner.report import FORMATS
from scanner.report.stream import RowFile
from scanner.scan import Progress, Settings

FILES = ("html", "json", "junit")

PROFILE = "intermediate"


@click.command(short_help="Scan a demo of an OpenShift cluster on this machine.")
@click.option(
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path),
    default=Path("adhere-demo"),
    show_default=True,
    help="Directory of the reports.",
)
@click.option("--outcomes", is_flag=True, help="Scan one listener for each outcome instead of a cluster.")
@click.option("-q", "--quiet", is_flag=True, help="Print only the report.")
def demo(output: Path, *, outcomes: bool, quiet: bool) -> int:
    """Start an OpenShift cluster on 127.0.0.0/8, with its API server and listeners, and scan it.

    Prints the findings and writes report.html, report.json and report.xml into DIR. Nothing leaves this machine. The
    exit code is 0 if every listener was judged as expected, even if listeners fail.
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResourceError(f"{output}: cannot create this directory: {error.strerror}", hint="set --output") from error
    outputs = (Output(format="text"), *(Output(format=name, path=output / FORMATS[name].file_name) for name in FILES))
    loudness: Loudness = "quiet" if quiet else "normal"
    scanned = _scan_outcomes if outcomes else _scan_cluster
    with RowFile(output / "report.jsonl") as rows:
        if not quiet:
            say(f"adhere: starting {'listeners' if outcomes else 'a cluster'} on 127.0.0.0/8 for the scan")
        with progress(loudness) as show_row:
            report, wrong = run_trio(partial(scanned, rows, show_row))
        finish(report, outputs, loudness)
    (output / "report.jsonl").unlink(missing_ok=True)
    for line in wrong:
        say(f"adhere: {line}")
    if not (quiet or wrong or report.coverage["interrupted"]):
        say("adhere: exit 0: every listener was judged as expected; the exit code in the report is that of a scan")
        program = "adhere" if shutil.which("adhere") else sys.argv[0]
        say(f"adhere: open {output / 'report.html'} in a browser; the demo has stopped")
        say(f"adhere: next, scan your own: {program} scan {'HOST:PORT' if outcomes else '--cluster'}")
    return EXIT_INCOMPLETE if wrong or report.coverage["interrupted"] else EXIT_OK


async def _scan_cluster(rows: RowFile, show_row: Progress) -> tuple[Report, list[str]]:
    """Scan the demo's cluster through its API. Returns the report, and the listeners that were not judged as
    expected."""
    from scanner.cluster import access, read  # noqa: PLC0415 - the other demo needs no HTTP client

    async with demo_cluster() as cluster:
        with tempfile.TemporaryDirectory(prefix="adhere-") as scratch:
            way_in = access(str(cluster.kubeconfig(Path(scratch) / "kubeconfig")), None)
            found = assess(await read(way_in, READS), Viewpoint(loopback=True, port_forward=False))
        limits = gentle(Limits(timeout=1.5))
        settings = Settings(profile="per listener, from the cluster", limits=limits, arguments=("demo",))
        work = Work(jobs=found.jobs(), settings=settings, surroundings=surroundings([found]))
        report = await scan_until_signal(work, rows, show_row)
        stopped = report.coverage["interrupted"] is not None
        return report, [] if stopped else cluster_differences(report.rows(), cluster.listeners)


async def _scan_outcomes(rows: RowFile, show_row: Progress) -> tuple[Report, list[str]]:
    """Scan the demo's listeners as a list of targets. Returns the same."""
    async with demo_listeners() as listeners:
        required = TargetRequirements(
            profile=load_profile(PROFILE),
            profile_source="adhere demo",
            anchors=(listeners[0].anchor,),
            anchor_source="the demo's CA",
        )
        settings = Settings(profile=required.profile.name, limits=Limits(timeout=1.5), arguments=("demo", "--outcomes"))
        jobs = of_targets((target_of(each) for each in listeners), required)
        report = await scan_until_signal(Work(jobs=jobs, settings=settings), rows, show_row)
        return report, unexpected(report, listeners)


def target_of(listener: Listener) -> Target:
    """Return the target for a listener of the demo."""
    return Target(
        host=listener.address,
        port=listener.port,
        transport=listener.spec.transport,
        server_name=listener.server_name,
        origin=f"{listener.name}: {listener.spec.description}",
    )


def unexpected(report: Report, listeners: tuple[Listener, ...]) -> list[str]:
    """Return the listeners with another verdict than expected, one line each; each is a bug of adhere.

    Empty if the scan was stopped.
    """
    if report.coverage["interrupted"]:
        return []
    expected = {target_of(each).canonical: each for each in listeners}
    wrong = []
    for row in report.rows():
        listener = expected[row["id"]]
        if row["verdict"] != listener.spec.verdict or row["reach"] != listener.spec.reach:
            wrong.append(
                f"{listener.name}: expected {listener.spec.verdict} ({listener.spec.reach}), "
                f"observed {row['verdict']} ({row['reach']}); this is a bug in adhere"
            )
    return wrong
