"""``adhere demo``: scan a cluster on loopback that has common mistakes."""

from __future__ import annotations

import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import click
import trio

from scanner.assessment import READS, Viewpoint, assess, surroundings
from scanner.cli.output import Output
from scanner.cli.progress import Loudness, progress
from scanner.cli.running import Work, finish, scan_until_signal
from scanner.cli.scan_cluster import gentle
from scanner.cli.shared_options import QUIET
from scanner.cli.streams import note, say
from scanner.cli.trio_run import run_trio
from scanner.demo.cluster import DemoCluster, demo_cluster
from scanner.demo.cluster import unexpected as cluster_differences
from scanner.demo.outcomes import Listener, demo_listeners
from scanner.errors import ResourceError, UsageError
from scanner.jobs import TargetRequirements, of_targets
from scanner.kube.profile_catalogue import load_profile
from scanner.model.endpoint import Target, host_port
from scanner.model.report import EXIT_INCOMPLETE, EXIT_OK, Report
from scanner.probe.limits import Limits
from scanner.report import FORMATS
from scanner.report.stream import RowFile
from scanner.scan import Progress, Settings

FILES = ("html", "json", "junit")

PROFILE = "intermediate"


@click.command()
@click.option(
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path),
    default=Path("adhere-demo"),
    show_default=True,
    help="Directory of the reports.",
)
@click.option("--outcomes", is_flag=True, help="Scan one listener for each outcome instead of a cluster.")
@click.option("--stay", is_flag=True, help="Keep the cluster until Ctrl-C, and print how to use it.")
@QUIET
@click.option("-v", "--verbose", is_flag=True, help="List every endpoint, on stderr and in the text.")
def demo(output: Path, *, outcomes: bool, stay: bool, quiet: bool, verbose: bool) -> int:
    """Start an OpenShift cluster on 127.0.0.0/8, with its API server and listeners, and scan it.

    Prints the findings and writes report.html, report.json and report.xml into DIR. Nothing leaves this machine. The
    exit code is 0 if every listener was judged as expected, even if listeners fail.
    """
    if stay and (outcomes or quiet):
        why = "--outcomes has no cluster to keep" if outcomes else "--quiet prints no kubeconfig"
        raise UsageError(f"{why}, as --stay promises", hint="use one of the two options")
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResourceError(f"{output}: cannot create this directory: {error.strerror}", hint="set --output") from error
    outputs = (Output(format="text"), *(Output(format=name, path=output / FORMATS[name].file_name) for name in FILES))
    loudness: Loudness = "quiet" if quiet else "verbose" if verbose else "normal"
    program = "adhere" if shutil.which("adhere") else f"{shlex.quote(sys.executable)} -m scanner"
    if program != "adhere" and (beside := Path(sys.executable).with_name("adhere")).exists():
        program = shlex.quote(str(beside))

    def finished(report: Report, wrong: list[str]) -> None:
        finish(report, outputs, loudness)
        for line in wrong:
            say(f"adhere: {line}")
        if not (wrong or report.coverage["interrupted"]):
            note("adhere: exit 0: every listener was judged as expected; the exit code in the report is that of a scan")
            note(f"adhere: open {output / 'report.html'} in a browser{'' if stay else '; the demo has stopped'}")

    with RowFile(output / "report.jsonl") as rows:
        note(f"adhere: starting {'listeners' if outcomes else 'a cluster'} on 127.0.0.0/8 for the scan")
        show = partial(progress, loudness)
        scanned = partial(_scan_outcomes, rows, show, finished)
        if not outcomes:
            scanned = partial(_scan_cluster, rows, show, finished, program if stay else None)
        report, wrong = run_trio(scanned)
    (output / "report.jsonl").unlink(missing_ok=True)
    if not (wrong or report.coverage["interrupted"]):
        note(f"adhere: next, scan your own: {program} scan {'HOST:PORT' if outcomes else '--cluster'}")
    return EXIT_INCOMPLETE if wrong or report.coverage["interrupted"] else EXIT_OK


async def _scan_cluster(
    rows: RowFile,
    show: Callable[[int], AbstractContextManager[Progress]],
    finished: Callable[[Report, list[str]], None],
    stay: str | None,
) -> tuple[Report, list[str]]:
    """Scan the demo's cluster through its API, and call ``finished`` with the report and the listeners that were not
    judged as expected. With ``stay``, the name of this program, keep the cluster until a signal. Returns the same."""
    from scanner.cluster import access, read  # noqa: PLC0415 - the other demo needs no HTTP client

    # The kubeconfig has the cluster's token: only this user can read this directory, which is removed at the end.
    with tempfile.TemporaryDirectory(prefix="adhere-demo-") as private:
        async with demo_cluster() as cluster:
            kubeconfig = cluster.kubeconfig(Path(private) / "kubeconfig")
            found = assess(
                await read(access(str(kubeconfig), None), READS), Viewpoint(loopback=True, port_forward=False)
            )
            limits = gentle(Limits(timeout=1.5))
            settings = Settings(profile="per listener, from the cluster", limits=limits, arguments=("demo",))
            jobs = list(found.jobs())
            work = Work(jobs=jobs, settings=settings, surroundings=surroundings([found]))
            with show(len(jobs)) as show_row:
                report = await scan_until_signal(work, rows, show_row)
            stopped = report.coverage["interrupted"] is not None
            wrong = [] if stopped else cluster_differences(report.rows(), cluster.listeners)
            finished(report, wrong)
            if stay is not None and not stopped:
                await _stay(cluster, kubeconfig, stay)
            return report, wrong


async def _stay(cluster: DemoCluster, kubeconfig: Path, program: str) -> None:
    """Keep the cluster until SIGINT, SIGTERM or SIGHUP."""
    first = cluster.listeners[0]
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as arrived:
        say("adhere: the cluster runs until Ctrl-C. Try it in another terminal:")
        say(f"  export KUBECONFIG={shlex.quote(str(kubeconfig))}")
        for command in (
            "scan --cluster --allow-loopback --save saved",
            f"ask tls://{host_port(first.address, first.port)}",
            "explain metrics-server",
            "doctor metrics-server --results saved",
            "whatif saved --adherence LegacyAdheringComponentsOnly",
        ):
            say(f"  {program} {command}")
        async for _ in arrived:
            return


async def _scan_outcomes(
    rows: RowFile,
    show: Callable[[int], AbstractContextManager[Progress]],
    finished: Callable[[Report, list[str]], None],
) -> tuple[Report, list[str]]:
    """Scan the demo's listeners as a list of targets. Calls and returns the same."""
    async with demo_listeners() as listeners:
        required = TargetRequirements(
            profile=load_profile(PROFILE),
            profile_source="adhere demo",
            anchors=(listeners[0].anchor,),
            anchor_source="the demo's CA",
        )
        settings = Settings(profile=required.profile.name, limits=Limits(timeout=1.5), arguments=("demo", "--outcomes"))
        jobs = of_targets((target_of(each) for each in listeners), required)
        with show(len(listeners)) as show_row:
            report = await scan_until_signal(Work(jobs=jobs, settings=settings), rows, show_row)
        wrong = unexpected(report, listeners)
        finished(report, wrong)
        return report, wrong


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
