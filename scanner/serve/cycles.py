"""Repeated scans: everything once in a period, and in between what a change concerns. HTTP is elsewhere."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from math import inf
from pathlib import Path
from typing import Literal

import trio
from msgspec import Struct, field

from scanner.errors import ResourceError, ScannerError
from scanner.jobs import Job, Owes, Surroundings, at
from scanner.judge import RULES, check
from scanner.kube.objects import Reference
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Expectation
from scanner.model.report import EndpointRow, FindingRow, Report
from scanner.model.rule import Case
from scanner.model.saved_scan import Seen, decode, encode
from scanner.model.scan_policy import Policy
from scanner.probe.dial import Dialer
from scanner.probe.limits import Gate
from scanner.report.stream import RowFile
from scanner.scan import Probing, Recording, Settings, scan
from scanner.values import replace

Scope = Literal["all", "changed", "converging"]
"""Endpoints to ask: all; what a change concerns and what was not judged; what was converging."""
Result = Literal["complete", "incomplete", "failed"]
RESULTS: tuple[Result, ...] = ("complete", "incomplete", "failed")
_MOST_CHANGES = 10_000
"""Changed objects that are kept by name; with more, everything is asked."""
_AFTER = 1.0
"""Seconds after the end of a rollout's time in which the next cycle begins."""


class Pauses(Struct, frozen=True, kw_only=True):
    """Seconds between cycles."""

    every: float = 3600.0
    """From one complete scan to the next."""
    settle: float = 5.0
    """After a change, because others usually follow it."""
    converging: float = 60.0
    """While a rollout is in progress."""
    failed: float = 30.0
    """After a cycle that failed."""
    rest: float = 10.0
    """From one cycle to the next, at least; a cycle that took longer is followed by a rest of its length, up to
    ``longest_rest``."""
    longest_rest: float = 300.0


class Prepared(Struct, frozen=True, kw_only=True):
    """The input of one cycle: read from the cluster, and assessed."""

    jobs: Iterable[Job]
    settings: Settings
    surroundings: Surroundings
    ways: Callable[[], AbstractAsyncContextManager[Callable[[Job], Dialer | None]]]
    partly_read: bool = False
    """True if a kind could not be read because of an error that may pass."""
    settles: datetime | None = None
    """Time after which a changed profile is enforced."""
    process: Callable[[Job], object] = lambda _: None
    """Returns what is known of the process that listens: another value is another process."""


class Tally(Struct):
    """Counts for the metrics."""

    results: dict[Result, int] = field(default_factory=lambda: dict.fromkeys(RESULTS, 0))
    error: str = ""
    """Class of the last cycle's error; empty if it succeeded."""
    asked: int = 0
    """Endpoints of the last report that were probed for it."""
    reused: int = 0
    """Endpoints of the last report with an observation of an earlier cycle."""
    oldest: datetime | None = None
    """Time of the oldest observation in the last report."""


class Cycles(Struct):
    """Scans again and again until ``stop``. The first error before any report is raised; later ones are counted."""

    prepare: Callable[[], Prepared]
    """Called in a thread. Raises ``ScannerError``."""
    publish: Callable[[Report], None]
    """Called in a thread with each finished report; its rows exist until it returns. Raises ``ScannerError``."""
    scratch: Path
    """Directory for temporary files."""
    notice: Callable[[str], None] = lambda _: None
    """Gets a line for each error."""
    pauses: Pauses = Pauses()
    tally: Tally = field(default_factory=Tally)
    stopped: str | None = None
    _waiting: trio.CancelScope = field(default_factory=trio.CancelScope)
    _changed: set[Reference] = field(default_factory=set)
    _change: trio.Event = field(default_factory=trio.Event)
    _observations: _Observations | None = None
    _number: int = 0
    _unknown: bool = False
    """True if objects have changed that are not known by name."""
    _due: float = -inf
    """Time of the next complete scan, on trio's clock."""

    @property
    def ready(self) -> bool:
        """True if there is a report."""
        return self._observations is not None

    def note(self, changed: Reference) -> None:
        """Scan again what an object concerns that has changed."""
        if len(self._changed) < _MOST_CHANGES:
            self._changed.add(changed)
            self._change.set()
        else:
            self.note_unknown()

    def note_unknown(self) -> None:
        """Scan everything again: it is not known what has changed."""
        self._unknown = True
        self._change.set()

    def stop(self, reason: str) -> None:
        """End the running cycle without a report, and do not start another."""
        self.stopped = reason
        self._waiting.cancel()

    async def run(self) -> None:
        """Run cycles until ``stop``. Raises the error of the first one."""
        try:
            while self.stopped is None:
                scope: Scope = "changed" if self._changed else "converging"
                scope = "all" if self._unknown or trio.current_time() >= self._due else scope
                self._unknown = False
                begin = trio.current_time()
                changed, self._changed, self._change = frozenset(map(str, self._changed)), set(), trio.Event()
                with trio.CancelScope() as self._waiting:
                    await self._pause(begin, await self._cycle(scope, changed, begin))
        finally:
            if self._observations is not None:
                self._observations.close()

    async def _cycle(self, scope: Scope, changed: frozenset[str], begin: float) -> float:
        """Run one cycle. Returns the time of the next one, if nothing changes before."""
        try:
            prepared = await trio.to_thread.run_sync(self.prepare, abandon_on_cancel=True)
            report, converging = await self._scan(prepared, scope, changed)
        except ScannerError as error:
            if not self.ready:
                raise
            self.tally.results["failed"] += 1
            self.tally.error = type(error).__name__
            self.notice(f"{error.message} ({error.hint})" if error.hint else error.message)
            self._due = -inf  # what it should have asked is not known any more
            return trio.current_time() + self.pauses.failed
        self.tally.error = ""
        self.tally.results["complete" if report.coverage["complete"] else "incomplete"] += 1
        if scope == "all":
            self._due = begin + self.pauses.every
        soon = self.pauses.failed if prepared.partly_read else self.pauses.converging if converging else inf
        if prepared.settles is not None:
            soon = min(soon, (prepared.settles - datetime.now(UTC)).total_seconds() + _AFTER)
        return min(self._due, trio.current_time() + soon)

    async def _scan(self, prepared: Prepared, scope: Scope, changed: frozenset[str]) -> tuple[Report, bool]:
        """Scan and publish. Returns the report, and True if a rollout is in progress. Raises ``ScannerError``."""
        self._number += 1
        rows_file = self.scratch / f"rows-{self._number}.jsonl"
        jobs = _by_place(prepared.jobs)
        digest = partial(_digest, prepared.process)
        now = _Observations(self.scratch, digest)
        policy = prepared.settings.policy.thresholds
        reuse = _Reuse(jobs, scope, changed, self.pauses.every, self._observations, policy, digest)
        gate = Gate(prepared.settings.limits)
        try:
            with RowFile(rows_file) as rows:
                recording = Recording(record=partial(now.record, jobs), recorded=reuse.of)
                async with prepared.ways() as way:
                    report = await scan(
                        jobs.values(),
                        prepared.settings,
                        rows,
                        now.judged,
                        gate,
                        prepared.surroundings,
                        recording,
                        Probing(way=way),
                    )
                if report.coverage["interrupted"]:  # temporary files could not be written
                    raise ResourceError(report.coverage["interrupted"])
                await trio.to_thread.run_sync(self.publish, report)
            now.compared(report.findings)
        except BaseException:
            now.close()
            raise
        finally:
            rows_file.unlink(missing_ok=True)
        before, self._observations = self._observations, now
        if before is not None:
            before.close()
        self.tally.asked, self.tally.reused = len(now.kept) - reuse.count, reuse.count
        self.tally.oldest = min((each.at for each in now.kept.values()), default=None)
        return report, any(each.converging for each in now.kept.values())

    async def _pause(self, begin: float, latest: float) -> None:
        """Wait until the next cycle: at ``latest``, or after a change."""
        now = trio.current_time()
        earliest = now + max(self.pauses.rest, min(now - begin, self.pauses.longest_rest))
        with trio.move_on_at(max(latest, now + min(self.pauses.rest, self.pauses.every))):
            await self._change.wait()
            await trio.sleep(self.pauses.settle)
            await trio.sleep_until(earliest)


def _by_place(jobs: Iterable[Job]) -> dict[int, Job]:
    """Return the jobs by their place. The expectation of each endpoint is determined once."""
    return {
        number if job.place is None else job.place: replace(job, owes=_once(job.owes))
        for number, job in enumerate(jobs)
    }


def _once(owes: Owes) -> Owes:
    known = dict[str, Expectation]()

    def owed(endpoint: Endpoint) -> Expectation:
        if endpoint.instance not in known:
            known[endpoint.instance] = owes(endpoint)
        return known[endpoint.instance]

    return owed


class _Kept(Struct):
    """An observation in the file, and what decides if it can be used again."""

    start: int
    size: int
    at: datetime
    owed: bytes
    """Digest of the expectation and the process."""
    verdict: str = ""
    converging: bool = False
    """True if a finding is excused by a rollout."""


class _Observations:
    """The observations of one cycle: in a file without a name, because a cluster may have a million."""

    def __init__(self, scratch: Path, digest: Callable[[Job, Expectation], bytes]) -> None:
        self._digest = digest
        self.kept: dict[str, _Kept] = {}
        """By instance."""
        self.instances: dict[str, list[str]] = {}
        """Instances by the id of their endpoint."""
        self._size = 0
        try:
            self._file = tempfile.TemporaryFile(dir=scratch)  # noqa: SIM115 - ``close`` closes it
        except OSError as error:
            raise _unwritable(error) from error

    def record(self, jobs: Mapping[int, Job], seen: Seen) -> None:
        """Keep an observation. Raises ``ResourceError``."""
        line, instance = encode(seen).encode(), seen.endpoint.instance
        try:
            self._file.seek(self._size)
            self._file.write(line)
        except OSError as error:
            raise _unwritable(error) from error
        job = jobs[seen.place or 0]
        owed = self._digest(job, job.owes(seen.endpoint))
        if instance not in self.kept:
            self.instances.setdefault(seen.endpoint.id, []).append(instance)
        self.kept[instance] = _Kept(self._size, len(line), seen.observation.at, owed)
        self._size += len(line)

    def judged(self, row: EndpointRow) -> None:
        """Keep the result of an observation."""
        if kept := self.kept.get(row["instance"]):
            kept.verdict, kept.converging = row["verdict"], any(map(_is_converging, row["findings"]))

    def compared(self, findings: Iterable[FindingRow]) -> None:
        """Keep the results of comparisons of replicas."""
        for finding in filter(_is_converging, findings):
            for instance in self.instances.get(finding["about"] or "", ()):
                self.kept[instance].converging = True

    def read(self, kept: _Kept) -> Seen:
        """Return an observation. Raises ``ScannerError``."""
        try:
            self._file.seek(kept.start)
            return decode(self._file.read(kept.size), "temporary file")
        except OSError as error:
            raise _unwritable(error) from error

    def close(self) -> None:
        """Remove the file."""
        with suppress(OSError):
            self._file.close()


def _unwritable(error: OSError) -> ResourceError:
    return ResourceError(f"temporary files: {error.strerror or error}", hint="free space, or set TMPDIR")


def _digest(process: Callable[[Job], object], job: Job, expectation: Expectation) -> bytes:
    return sha256(repr((expectation, process(job))).encode("utf-8", "backslashreplace")).digest()


def _is_converging(finding: FindingRow) -> bool:
    return finding["status"] == "converging"


class _Reuse(Struct):
    """Chooses the observations of the cycle before that are still valid."""

    jobs: Mapping[int, Job]
    scope: Scope
    changed: frozenset[str]
    longest: float
    """Seconds after which an observation is too old."""
    before: _Observations | None
    policy: Policy
    digest: Callable[[Job, Expectation], bytes]
    count: int = 0

    def of(self, place: int) -> Mapping[str, Seen]:
        """Return the observations of a job that are still valid, by instance."""
        if self.scope == "all" or self.before is None:
            return {}
        job, now, found = self.jobs[place], datetime.now(UTC), dict[str, Seen]()
        for instance in self._instances(job.endpoint):
            kept = self.before.kept.get(instance)
            if kept is None or now - kept.at > timedelta(seconds=self.longest) or self._unsettled(kept):
                continue
            seen = self.before.read(kept)
            endpoint = replace(job.endpoint, address=seen.endpoint.address, instance=instance)
            answered = seen.observation.dialled and seen.observation.stopped is None and endpoint.ready
            same = answered and _listener(seen.endpoint) == _listener(endpoint)
            expectation = job.owes(endpoint)
            same = same and self.digest(job, expectation) == kept.owed and not self._names(endpoint, expectation)
            if same and not self._has_aged(seen, expectation, now):
                found[instance] = seen
        self.count += len(found)
        return found

    def _instances(self, endpoint: Endpoint) -> Iterable[str]:
        if self.before is None:
            return ()
        if endpoint.address:
            return dict.fromkeys((endpoint.instance, at(endpoint, endpoint.address).instance))
        return self.before.instances.get(endpoint.id, ())

    def _unsettled(self, kept: _Kept) -> bool:
        """True if the result may be another one now, although nothing has changed."""
        return kept.converging or kept.verdict in ("", "inconclusive")

    def _has_aged(self, seen: Seen, expectation: Expectation, now: datetime) -> bool:
        """True if the result is another one now than at the time of the observation: a certificate has expired, or the
        time to load a renewed one is over."""
        case = Case(
            endpoint=seen.endpoint,
            expectation=expectation,
            observation=seen.observation,
            policy=self.policy,
            now=seen.observation.at,
        )
        return _results(case) != _results(replace(case, now=now))

    def _names(self, endpoint: Endpoint, expectation: Expectation) -> bool:
        """True if a changed object led to the endpoint, or has its certificate."""
        if not self.changed:
            return False
        origins = (each for origin in endpoint.origins for each in (origin.reference, origin.through))
        objects = {str(each) for each in (endpoint.subject, *origins) if each}
        secrets = {each.source for each in expectation.because if each.source.startswith("Secret/")}
        return not self.changed.isdisjoint(objects | secrets)


def _results(case: Case) -> list[tuple[str, str, str, str]]:
    """Judge the certificates: no other rule depends on the time."""
    found = (each for rule in RULES if rule.id.startswith("cert-") for each in check(rule, case))
    return [(each.rule, each.severity, each.verdict, each.status) for each in found]


def _listener(endpoint: Endpoint) -> tuple[object, ...]:
    """The parts of an endpoint that decide which process answers."""
    address = endpoint.id, endpoint.host, endpoint.port, endpoint.transport, endpoint.server_name
    return *address, endpoint.pod, endpoint.owner, endpoint.runs_on, endpoint.tunnel, endpoint.ready
