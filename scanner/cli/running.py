"""Run a scan; Ctrl-C and SIGTERM end it with a report of the results so far."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager, nullcontext
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import trio
from msgspec import Struct, field

from scanner.cli.output import WRITERS, Output, rows_path, write_reports
from scanner.cli.progress import Loudness, progress
from scanner.cli.streams import note, say, width
from scanner.cli.trio_run import run_trio
from scanner.errors import ResourceError, ScannerError
from scanner.jobs import Job, Surroundings, fair_shares
from scanner.model.endpoint import Target
from scanner.model.fingerprint import Baseline
from scanner.model.report import EXIT_FINDINGS, EXIT_INCOMPLETE, EXIT_OK, FailOn, Posture, Report, exit_code
from scanner.model.saved_scan import SHARDS, Head, Seen
from scanner.probe.dial import Dialer
from scanner.probe.limits import Gate
from scanner.probe.workers import LEAST, NONE, Workers, cores, workers
from scanner.report.escape import plain
from scanner.report.page import counted, exit_text
from scanner.report.stream import RowFile
from scanner.scan import NOTHING_RECORDED, Probing, Progress, Record, Recording, Settings, scan
from scanner.values import replace

# What few scans need is imported where it is used: the start of a scan of one target counts.
if TYPE_CHECKING:
    from scanner.cli.publishing import Destination
    from scanner.cluster import Access
    from scanner.kube.snapshot import Snapshot
    from scanner.node.node_listeners import NodeListeners
    from scanner.object_store import Mirror
    from scanner.saved_scan import SavedScanWriter
    from scanner.sharding import Shard

T = TypeVar("T")


class Work(Struct, frozen=True, kw_only=True):
    """A scan to run."""

    jobs: Iterable[Job]
    settings: Settings
    total: int | None = None
    """Number of jobs, for the progress; None if it is not known before the end."""
    surroundings: Surroundings = Surroundings()
    snapshots: tuple[Snapshot, ...] = ()
    """Scanned clusters, for ``--save``."""
    earlier: tuple[Snapshot, ...] = ()
    """Earlier snapshots of them, for ``--save``."""
    save: str | None = None
    """Directory of ``--save`` or ``--resume``, or None."""
    mirror: Mirror | None = None
    """The object store that this directory mirrors, if the option is a URL."""
    workers: int | None = None
    """Processes that probe; None: one for each core if there are many endpoints."""
    accesses: Mapping[str, Access] = field(default_factory=dict)
    """Access to the API servers by cluster name, if pods are dialled through port-forwards."""
    destinations: tuple[Destination, ...] = ()
    """Clusters that get the reports of their objects."""
    push: str | None = None
    """URL of the Pushgateway that gets the metrics."""
    head: Head = Head()
    """Description of the scan, for ``--save``."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Files to save too, by their names there."""
    history: tuple[Posture, ...] = ()
    """Earlier scans, for the HTML report."""
    baseline: Baseline | None = None
    """Known findings. They are not saved: a saved scan is compared as it was."""
    targets: Iterable[Target] = ()
    """Targets of the list, for ``--save``."""
    nodes: tuple[NodeListeners, ...] = ()
    """Nodes whose listening sockets are the jobs, for ``--save``."""
    way: Callable[[Job], Dialer | None] | None = None
    """Connects to jobs that this machine cannot dial, if not through ``accesses``."""
    resumed: bool = False
    """True if the directory has the input of this scan."""
    shard: Shard | None = None
    """The part of the scan that this process probes; None: all of it."""
    recording: Recording = NOTHING_RECORDED
    """Observations of an earlier part of the scan."""
    kept: Callable[[int], Mapping[str, Seen]] = lambda _: {}
    """Those among them that the directory of ``--resume`` has; those of shards are copied."""
    started: str | None = None
    """Start of an earlier part of the scan, RFC 3339; None: now."""
    finished: str | None = None
    """End of the last part of the scan; None: now."""


def run_and_report(work: Work, outputs: tuple[Output, ...], fail_on: FailOn, loudness: Loudness) -> int:
    """Scan, write every report, and return the exit code. Raises ``ScannerError``."""
    with scratch_directory() as scratch:
        rows_file = rows_path(outputs, Path(scratch))
        with RowFile(rows_file) as rows:
            with saved_scan_writer(work) as writer:
                work, count = _workers(work)
                with workers(count, work.settings.limits) as probing, progress(loudness, work.total) as show_row:
                    keep = _record(work, writer)
                    report = run_trio(partial(scan_until_signal, work, rows, show_row, keep, probing))
                report = _dated(replace(report, fail_on=fail_on), work)
                rows.close()
                with _unstopped():
                    unsaved = _saved(writer, rows_file, report) if writer else None
            if work.shard and not unsaved:
                return _shard_ended(work, report)
            report = replace(report, history=work.history)
            if work.baseline:
                from scanner.known_findings import scan_with_baseline  # noqa: PLC0415

                report = scan_with_baseline(report, work.baseline)
            with _unstopped():
                finish(report, outputs, loudness)
            code = _pushed(report, work.push, _published(report, work.destinations))
            if unsaved:
                raise unsaved
        if rows_file.parent != Path(scratch):
            rows_file.unlink(missing_ok=True)  # the complete document is written
    return code


@contextmanager
def _unstopped() -> Iterator[None]:
    """Let SIGTERM not end what writes the results of a scan that is over."""
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


def _workers(work: Work) -> tuple[Work, int]:
    """Return the number of processes that probe. It looks at the first jobs, and returns the scan with them."""
    if not work.recording.dials or work.accesses:  # the connections to the API servers are this process's
        return work, 1
    if work.workers is not None or cores() == 1:
        return work, work.workers or 1
    jobs = iter(work.jobs)
    first = list(islice(jobs, LEAST + 1))
    return replace(work, jobs=chain(first, jobs)), cores() if len(first) > LEAST else 1


def _published(report: Report, destinations: tuple[Destination, ...]) -> int:
    """Write the reports into the clusters, and return the exit code. The other reports were written before."""
    code = exit_code(report, report.fail_on)
    if not destinations:
        return code
    from scanner.cli.publishing import publish_all  # noqa: PLC0415 - few scans need it, and the HTTP client behind it

    if run_trio(partial(publish_all, report, destinations)):
        return code
    return _incomplete(code, "not all reports were published")


def _pushed(report: Report, gateway: str | None, code: int) -> int:
    """Push the metrics, and return the exit code. ``code``: the exit code without it."""
    if gateway is None:
        return code
    from scanner.cli.push_gateway import push  # noqa: PLC0415 - few scans need it

    try:
        run_trio(partial(push, report, gateway))
    except ResourceError as error:
        say(f"adhere: {error.message}")
        say(f"        {error.hint}")
        return _incomplete(code, "the metrics were not pushed")
    note("adhere: pushed the metrics")
    return code


def _incomplete(code: int, reason: str) -> int:
    """Print the exit line for results that were not delivered; findings count more."""
    code = EXIT_FINDINGS if code == EXIT_FINDINGS else EXIT_INCOMPLETE
    say(f"adhere: {exit_text(code, [reason])}")
    return code


def saved_scan_writer(work: Work) -> AbstractContextManager[SavedScanWriter | None]:
    """Return the writer of ``work.save``, which has the input of the scan at once. Raises ``ScannerError``."""
    if work.save is None:
        return nullcontext()
    from scanner.saved_scan import SavedScanWriter  # noqa: PLC0415 - most scans keep nothing

    if work.resumed:
        part = f"{SHARDS}/{work.head.scan}/{work.shard.name}" if work.shard else ""
        return SavedScanWriter(work.save, work.head, part=part, resumed=True, mirror=work.mirror)
    inputs = work.snapshots, work.inputs, work.earlier, work.targets, work.nodes
    return SavedScanWriter(work.save, work.head, *inputs, mirror=work.mirror)


@contextmanager
def mirrored(place: str | None) -> Iterator[Mirror | None]:
    """Provide a directory for ``place`` if it is the URL of an object store, else None. Raises ``ScannerError``; a
    message about the directory names the URL."""
    if not place or "://" not in place:
        yield None
        return
    from scanner.object_store import Mirror  # noqa: PLC0415

    with scratch_directory() as scratch:
        mirror = Mirror(place, f"{scratch}/saved")
        try:
            yield mirror
        except ScannerError as error:
            error.message, error.hint = (
                each.replace(mirror.directory, mirror.url) for each in (error.message, error.hint)
            )
            raise


def _saved(writer: SavedScanWriter, rows: Path, report: Report) -> ResourceError | None:
    """Save the results. Returns the error if that is not possible: the reports are written first."""
    try:
        writer.finish(rows, report.findings, report.coverage, report.started, report.summary.outcomes, report.finished)
    except ResourceError as error:
        return error
    return None


def _record(work: Work, writer: SavedScanWriter | None) -> Record:
    """Return the function that saves the observations; a resumed scan has saved some of them."""
    if writer is None:
        return _forget
    if not work.resumed:
        return writer.record
    return lambda seen: None if _known(work, seen) else writer.record(seen)


def _known(work: Work, seen: Seen) -> bool:
    return seen.place is not None and seen.endpoint.instance in work.kept(seen.place)


def _dated(report: Report, work: Work) -> Report:
    """Set the times of a scan that was made in parts."""
    return replace(report, started=work.started or report.started, finished=work.finished or report.finished)


def _shard_ended(work: Work, report: Report) -> int:
    """Say how the shard ended; the findings count when the shards are merged."""
    assert work.shard  # noqa: S101 - the caller has looked
    stopped = report.coverage["interrupted"]
    code = EXIT_INCOMPLETE if stopped else EXIT_OK
    done = counted(report.coverage["endpoints"] - report.coverage.get("in_progress", 0), "endpoint")
    place = work.mirror.url if work.mirror else work.save
    reasons = [f"{done} of shard {work.shard.index} of {work.shard.count} recorded in {place}"]
    note(exit_text(code, [*reasons, f"stopped by {stopped}" if stopped else ""]))
    return code


def _forget(_: Seen) -> None:
    """Do not save the observation."""


def scratch_directory(prefix: str = "adhere-") -> tempfile.TemporaryDirectory[str]:
    """Return a directory for temporary files. Raises ``ResourceError`` if none is writable, as in a container with a
    read-only root."""
    try:
        return tempfile.TemporaryDirectory(prefix=prefix)
    except FileNotFoundError as error:
        raise ResourceError(
            f"no directory for temporary files: {error.strerror or error}",
            hint="set TMPDIR to a writable directory",
        ) from error


def finish(report: Report, outputs: tuple[Output, ...], loudness: Loudness) -> None:
    """Write the reports. A scan that was stopped has a notice before, because the last line is the exit line."""
    if report.coverage["interrupted"]:
        reason = plain(report.coverage["interrupted"], 300)
        say(f"adhere: stopped by {reason}; the report has the endpoints that were finished")
    write_reports(report, outputs, WRITERS, width=width(), verbose=loudness == "verbose")


async def scan_until_signal(
    work: Work, rows: RowFile, show_row: Progress, record: Record = _forget, others: Workers = NONE
) -> Report:
    """Scan. The first SIGINT or SIGTERM ends it early, the second at once (``KeyboardInterrupt``)."""
    limits = work.settings.limits
    if others.links and limits.rate:  # for the hosts of a worker that is gone
        limits = replace(limits, rate=limits.rate / len(others.links))
    gate = Gate(limits)
    async with trio.open_nursery() as nursery:
        await nursery.start(_watch, gate)
        nursery.start_soon(gate.expire)
        async with ways(work) as way:
            keeping = replace(work.recording, record=record)
            probing = Probing(way=way, workers=others)
            jobs = fair_shares(work.jobs, gate) if work.way else work.jobs
            report = await scan(jobs, work.settings, rows, show_row, gate, work.surroundings, keeping, probing)
        nursery.cancel_scope.cancel()
    return report


def ways(work: Work) -> AbstractAsyncContextManager[Callable[[Job], Dialer | None]]:
    """Return the routes to listeners that cannot be dialled directly."""
    if not work.accesses:
        return nullcontext(work.way or (lambda _: None))
    from scanner.port_forward_route import tunnels  # noqa: PLC0415 - few scans need it, and the HTTP client behind it

    return tunnels(work.accesses)


async def _watch(gate: Gate, *, task_status: trio.TaskStatus[None]) -> None:
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as arrived:
        task_status.started()
        async for number in arrived:
            if gate.stopped is not None:
                raise KeyboardInterrupt(signal.Signals(number).name)
            gate.stop(signal.Signals(number).name)
