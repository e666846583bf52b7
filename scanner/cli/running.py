"""Run a scan; Ctrl-C and SIGTERM end it with a report of the results so far."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import trio

from scanner.cli.output import WRITERS, Output, rows_path, write_reports
from scanner.cli.progress import Loudness, progress
from scanner.cli.streams import say, width
from scanner.errors import ResourceError, ScannerError
from scanner.jobs import Job, Surroundings
from scanner.known_findings import scan_with_baseline
from scanner.kube.snapshot import Snapshot
from scanner.model.fingerprint import Baseline
from scanner.model.report import EXIT_FINDINGS, EXIT_INCOMPLETE, FailOn, Posture, Report, exit_code
from scanner.model.saved_scan import Head, Seen
from scanner.probe.dial import Dialer
from scanner.probe.limits import Gate
from scanner.report.page import exit_text
from scanner.report.stream import RowFile
from scanner.scan import Progress, Record, Settings, scan

if TYPE_CHECKING:
    from scanner.cli.publishing import Destination
    from scanner.cluster import Access
    from scanner.saved_scan import SavedScanWriter

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
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
    """Directory of ``--save``, or None."""
    accesses: Mapping[str, Access] = field(default_factory=dict)
    """Access to the API servers by cluster name, if pods are dialled through port-forwards."""
    destinations: tuple[Destination, ...] = ()
    """Clusters that get the reports of their objects."""
    head: Head = Head()
    """Description of the scan, for ``--save``."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Files to save too, by their names there."""
    history: tuple[Posture, ...] = ()
    """Earlier scans, for the HTML report."""
    baseline: Baseline | None = None
    """Known findings. They are not saved: a saved scan is compared as it was."""


def run_and_report(work: Work, outputs: tuple[Output, ...], fail_on: FailOn, loudness: Loudness) -> int:
    """Scan, write every report, and return the exit code. Raises ``ScannerError``."""
    with _scratch() as scratch:
        rows_file = rows_path(outputs, Path(scratch))
        with RowFile(rows_file) as rows:
            with progress(loudness, work.total) as show_row, _writer(work) as writer:
                record = writer.record if writer else _forget
                report = run_trio(partial(scan_until_signal, work, rows, show_row, record))
                report = replace(report, fail_on=fail_on)
                rows.close()
                if writer:
                    writer.finish(rows_file, report.findings, report.coverage, report.started, report.summary.outcomes)
            report = replace(report, history=work.history)
            if work.baseline:
                report = scan_with_baseline(report, work.baseline)
            finish(report, outputs, loudness)
            code = _published(report, work.destinations)
        if rows_file.parent != Path(scratch):
            rows_file.unlink(missing_ok=True)  # the complete document is written
    return code


def _published(report: Report, destinations: tuple[Destination, ...]) -> int:
    """Write the reports into the clusters, and return the exit code. The other reports were written before."""
    code = exit_code(report, report.fail_on)
    if not destinations:
        return code
    from scanner.cli.publishing import publish_all  # noqa: PLC0415 - few scans need it, and the HTTP client behind it

    if run_trio(partial(publish_all, report, destinations)):
        return code
    code = EXIT_FINDINGS if code == EXIT_FINDINGS else EXIT_INCOMPLETE
    say(f"adhere: {exit_text(code, ['not all reports were published'])}")
    return code


def _writer(work: Work) -> AbstractContextManager[SavedScanWriter | None]:
    if work.save is None:
        return nullcontext()
    from scanner.saved_scan import SavedScanWriter  # noqa: PLC0415 - most scans keep nothing

    return SavedScanWriter(work.save, work.head, work.snapshots, work.inputs, work.earlier)


def _forget(_: Seen) -> None:
    """Do not save the observation."""


def _scratch() -> tempfile.TemporaryDirectory[str]:
    """Raise ``ResourceError`` if no directory is writable, as in a container with a read-only root."""
    try:
        return tempfile.TemporaryDirectory(prefix="adhere-")
    except FileNotFoundError as error:
        raise ResourceError(
            f"no directory for temporary files: {error.strerror or error}",
            hint="set TMPDIR to a writable directory",
        ) from error


def run_trio(main: Callable[[], Awaitable[T]]) -> T:
    """Run ``trio.run``, and raise the exception in its exception groups by itself."""
    try:
        return trio.run(main)
    except BaseExceptionGroup as group:
        raise _sole(group) from group


def _sole(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first exception of the most important kind: ours before others."""
    for kind in (KeyboardInterrupt, ScannerError, Exception):
        matching = group.subgroup(kind)
        while matching is not None:
            inner = matching.exceptions[0]
            if not isinstance(inner, BaseExceptionGroup):
                return inner
            matching = inner
    return group  # of things that are no errors, such as SystemExit


def finish(report: Report, outputs: tuple[Output, ...], loudness: Loudness) -> None:
    """Write the reports. A scan that was stopped has a notice before, because the last line is the exit line."""
    if report.coverage["interrupted"]:
        say(f"adhere: stopped by {report.coverage['interrupted']}; the report has the endpoints that were finished")
    write_reports(report, outputs, WRITERS, width=width(), verbose=loudness == "verbose")


async def scan_until_signal(work: Work, rows: RowFile, show_row: Progress, record: Record = _forget) -> Report:
    """Scan. The first SIGINT or SIGTERM ends it early, the second at once (``KeyboardInterrupt``)."""
    gate = Gate(work.settings.limits)
    async with trio.open_nursery() as nursery:
        await nursery.start(_watch, gate)
        async with _ways(work) as way:
            report = await scan(work.jobs, work.settings, rows, show_row, gate, work.surroundings, record, way)
        nursery.cancel_scope.cancel()
    return report


def _ways(work: Work) -> AbstractAsyncContextManager[Callable[[Job], Dialer | None]]:
    if not work.accesses:
        return nullcontext(lambda _: None)
    from scanner.port_forward_route import tunnels  # noqa: PLC0415 - few scans need it, and the HTTP client behind it

    return tunnels(work.accesses)


async def _watch(gate: Gate, *, task_status: trio.TaskStatus[None]) -> None:
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as arrived:
        task_status.started()
        async for number in arrived:
            if gate.stopped is not None:
                raise KeyboardInterrupt
            gate.stop(signal.Signals(number).name)
