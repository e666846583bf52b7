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
from scanner.jobs import Owed, of_targets
from scanner.kube.profile_catalogue import load_profile
from scanner.model.endpoint import Target
from scanner.model.report import EXIT_INCOMPLETE, EXIT_OK, Report
from scanner.probe.limits import Limits
from scanner.report import FORMATS
from scanner.report.stream import RowFile
from scanner.scan import Progress, Settings

FILES = ("html", "json", "junit")

PROFILE = "intermediate"


@click.command(short_help="Scan an OpenShift cluster that runs on loopback.")
@click.option(
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path),
    default=Path("adhere-demo"),
    show_default=True,
    help="Where the reports go.",
)
@click.option("--outcomes", is_flag=True, help="Instead of a cluster, one listener for each outcome, as a target list.")
@click.option("-q", "--quiet", is_flag=True, help="Only the table.")
def demo(output: Path, *, outcomes: bool, quiet: bool) -> int:
    """Start an OpenShift cluster on 127.0.0.0/8, with its API server and listeners, and scan it.

    Prints the findings and writes report.html, report.json and report.xml into DIR. Nothing leaves this machine. Exits
    with 0 when every listener was judged as expected, whatever the verdicts.
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResourceError(f"{output}: cannot make this directory: {error.strerror}") from error
    outputs = (Output(format="text"), *(Output(format=name, path=output / FORMATS[name].file_name) for name in FILES))
    loudness: Loudness = "quiet" if quiet else "normal"
    scanned = _scan_outcomes if outcomes else _scan_cluster
    with RowFile(output / "report.jsonl") as rows:
        if not quiet:
            say(f"adhere: starting {'listeners' if outcomes else 'a cluster'} on 127.0.0.0/8 and scanning it all")
        with progress(loudness) as tell:
            report, wrong = run_trio(partial(scanned, rows, tell))
        finish(report, outputs, loudness)
    (output / "report.jsonl").unlink(missing_ok=True)
    for line in wrong:
        say(f"adhere: {line}")
    if not (quiet or wrong or report.coverage["interrupted"]):
        say("adhere: exit 0, for every listener was judged as it should be; the report's exit code is that of a scan")
        program = "adhere" if shutil.which("adhere") else sys.argv[0]
        say(f"adhere: open {output / 'report.html'} in a browser; the listeners are gone now")
        say(f"adhere: next, your own: {program} scan {'HOST:PORT' if outcomes else '--cluster'}")
    return EXIT_INCOMPLETE if wrong or report.coverage["interrupted"] else EXIT_OK


async def _scan_cluster(rows: RowFile, tell: Progress) -> tuple[Report, list[str]]:
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
        report = await scan_until_signal(work, rows, tell)
        stopped = report.coverage["interrupted"] is not None
        return report, [] if stopped else cluster_differences(report.rows(), cluster.listeners)


async def _scan_outcomes(rows: RowFile, tell: Progress) -> tuple[Report, list[str]]:
    """Scan the demo's listeners as a list of targets. Returns the same."""
    async with demo_listeners() as listeners:
        owed = Owed(
            profile=load_profile(PROFILE),
            profile_source="adhere demo",
            anchors=(listeners[0].anchor,),
            anchor_source="the demo's CA",
        )
        settings = Settings(profile=owed.profile.name, limits=Limits(timeout=1.5), arguments=("demo", "--outcomes"))
        jobs = of_targets((target_of(each) for each in listeners), owed)
        report = await scan_until_signal(Work(jobs=jobs, settings=settings), rows, tell)
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
    """The listeners with another verdict than expected, one line each; each is a bug of adhere.

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
