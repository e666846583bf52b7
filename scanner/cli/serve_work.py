"""``adhere serve``: from the options to cycles, watches and the HTTP server."""

from __future__ import annotations

import fcntl
import os
import signal
import stat
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from ipaddress import ip_address
from itertools import chain
from pathlib import Path
from shutil import rmtree
from typing import Any

import trio
from msgspec import Struct

from scanner.assessment import Assessment
from scanner.cli import scan_cluster
from scanner.cli.inputs import accesses, only_governing
from scanner.cli.output import FORMATS
from scanner.cli.running import scratch_directory, ways
from scanner.cli.scan_work import Asked, cluster_work, config_of, policy_of
from scanner.cli.shared_options import ClusterAsked, refuse_empty
from scanner.cli.streams import note, say
from scanner.cli.trio_run import run_trio
from scanner.cluster import Access
from scanner.cluster.token_review import TokenReviews
from scanner.cluster.watch import Watcher
from scanner.errors import ResourceError, ScannerError, UsageError
from scanner.expect.rollout import CHANGE_TAKES
from scanner.jobs import Job
from scanner.kube.kinds import API_SERVER, PKI, POD, SECRET, WATCHED, Kind
from scanner.kube.pod import Pod
from scanner.kube.profile_catalogue import load_profile
from scanner.kube.snapshot import Snapshot
from scanner.metrics import families
from scanner.model.report import EXIT_OK, FailOn, Report
from scanner.report.atomic import atomic_write
from scanner.report.escape import plain
from scanner.serve.cycles import Cycles, Pauses, Prepared
from scanner.serve.exposition import (
    EOF,
    OPEN_METRICS,
    TEXT,
    Rotations,
    encoded,
    own_families,
    wants_open_metrics,
)
from scanner.serve.http_server import HttpServer, Request, Response
from scanner.serve.serving_tls import ServingTls, required_profile
from scanner.values import replace

REPORT_PATH = "/adhere/report"
"""Non-resource URL that a reader of the report must be allowed to get. Not ``/``, which some clusters allow to all."""
_FIRST_LISTS = 5.0
"""Seconds that the first scan waits for the watches. A watch that begins later leads to a second scan."""
_MOST_EARLIER = 12
"""Earlier snapshots of a cluster that are kept: at most the first and the last one with each configuration."""
_SCRATCH = "adhere-serve-"
_MARK = "temporary-files-of-adhere-serve"
"""File in each directory for temporary files. Any other directory of this name stays: it can be a saved scan."""
_NOT_READY = b"the first scan is not finished\n"
_REPORTS = {"/": ("html", "text/html; charset=utf-8"), "/report.json": ("json", "application/json")}


class Server(Struct, frozen=True, kw_only=True):
    """The options of the server."""

    every: float
    listen: str
    tls_cert: str | None
    tls_key: str | None
    allow_plaintext: bool
    metrics_detail: bool = False

    def place(self) -> tuple[str | None, int]:
        """Return the address, None for all, and the port. Raises ``UsageError``."""
        host, colon, port = self.listen.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        try:
            address = str(ip_address(host)) if host else None
            if not colon or not port.isascii() or not port.isdecimal() or int(port) > 65535:
                raise ValueError
        except ValueError:
            what = f"--listen {plain(self.listen, 80)}: not an IP address and port"
            raise UsageError(what, hint="write 127.0.0.1:8080, [::1]:8080 or :8443") from None
        return address, int(port)

    @property
    def on_loopback(self) -> bool:
        """True if no other machine can connect."""
        address, _ = self.place()
        return address is not None and ip_address(address).is_loopback

    def check(self) -> None:
        """Raise ``UsageError`` for options that do not fit together."""
        if bool(self.tls_cert) != bool(self.tls_key):
            raise UsageError("--tls-cert and --tls-key belong together", hint="set both")
        if not self.on_loopback and not self.tls_cert and not self.allow_plaintext:
            raise UsageError(
                f"--listen {plain(self.listen, 80)} needs TLS: other machines can connect",
                hint="set --tls-cert and --tls-key, or --allow-plaintext for /metrics only",
            )


def run(options: dict[str, Any]) -> int:
    """Run ``adhere serve`` until SIGTERM or Ctrl-C; returns the exit code. Raises ``ScannerError``."""
    with _scratch() as scratch:
        exporter, prepare = exporter_of(options, scratch)
        run_trio(partial(exporter.run, prepare))
    return EXIT_OK


@contextmanager
def _scratch() -> Iterator[Path]:
    """Lock and mark a directory for temporary files. Marked ones of processes that were killed are removed: they have
    a report."""
    with scratch_directory(_SCRATCH) as name:
        scratch = Path(name)
        lock = _locked(scratch)
        try:
            (scratch / _MARK).touch(exist_ok=False)  # after the lock: a marked directory without one has no process
            for each in scratch.parent.glob(f"{_SCRATCH}*"):
                if each != scratch and (found := _locked(each)) is not None:
                    if _is_marked(found):
                        rmtree(each, ignore_errors=True)
                    os.close(found)
            yield scratch
        finally:
            if lock is not None:
                os.close(lock)


def _is_marked(directory: int) -> bool:
    try:
        mark = os.stat(_MARK, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return False
    return stat.S_ISREG(mark.st_mode) and not mark.st_size


def _locked(directory: Path) -> int | None:
    """Return a locked descriptor of a directory of this user; None if another process has locked it."""
    try:
        found = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        if os.fstat(found).st_uid == os.getuid():
            fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return found
    except OSError:
        pass
    os.close(found)
    return None


def exporter_of(options: dict[str, Any], scratch: Path) -> tuple[Exporter, Callable[[], Prepared]]:
    """Return the exporter for the options as click passes them, and what prepares each cycle. Raises
    ``ScannerError``."""
    server = Server(**{each: options.pop(each) for each in Server.__struct_fields__})
    of_clusters = [each for each in ClusterAsked.__struct_fields__ if each in options]
    cluster = ClusterAsked(**{name: options.pop(name) for name in of_clusters})
    unset: dict[str, Any] = dict.fromkeys(Asked.__struct_fields__)
    lists: dict[str, Any] = {"targets": (), "formats": (), "brief": False, "verbose": False}
    asked = Asked(**{**unset, **lists, **options})
    refuse_empty(
        {
            "--profile": asked.profile,
            "--policy": asked.policy_file,
            "--tls-cert": server.tls_cert,
            "--tls-key": server.tls_key,
        }
    )
    server.check()
    if not cluster.meant:
        raise UsageError("adhere serve scans a cluster, and none is selected", hint="add --cluster")
    config = config_of(asked)
    policy = policy_of(asked, config)
    fail_on: FailOn = asked.fail_on or config.fail_on or "medium"
    exporter = Exporter(server, cluster, scratch, fail_on)
    name = asked.profile or config.profile
    default = load_profile(name) if name else None

    before = Before()

    def prepare() -> Prepared:
        clusters = scan_cluster.assessments(cluster, policy, default, before.snapshots())
        before.keep([each.snapshot for each in clusters])
        if exporter.tls is not None:
            exporter.tls.profile = required_profile(clusters[0].expectations)
        work = cluster_work(asked, cluster, config, policy, clusters)
        gaps = [gap.gap for each in clusters for gap in each.snapshot.unreadable.values()]
        return Prepared(
            jobs=work.jobs,
            settings=work.settings,
            surroundings=work.surroundings,
            ways=partial(ways, work),
            partly_read="failed" in gaps,
            settles=_settles(clusters),
            process=partial(_process, {each.facts.name: each.snapshot for each in clusters}),
        )

    return exporter, prepare


@dataclass(slots=True)
class Before:
    """Earlier snapshots of the clusters, with the objects that decide which profile and keys were required: the API
    does not say what these were before a change, and not always the time of the change."""

    kept: dict[str, list[Snapshot]] = field(default_factory=dict)
    """By the name of the cluster, the oldest first."""

    def snapshots(self) -> tuple[Snapshot, ...]:
        """Return all of them."""
        return tuple(chain.from_iterable(self.kept.values()))

    def keep(self, found: Iterable[Snapshot]) -> None:
        """Keep the first and the last snapshot with each configuration."""
        for snapshot in found:
            kept = self.kept.setdefault(snapshot.origin.name, [])
            kept.append(only_governing(snapshot))
            if len(kept) > 2 and _governing(kept[-3]) == _governing(kept[-2]) == _governing(kept[-1]):
                del kept[-2]
            del kept[:-_MOST_EARLIER]


def _governing(snapshot: Snapshot) -> list[object]:
    return [snapshot.objects.get(kind) for kind in (API_SERVER, PKI)]


def _settles(clusters: Iterable[Assessment]) -> datetime | None:
    """Return the next time at which a changed profile is enforced."""
    times = [each.expectations.changed + CHANGE_TAKES for each in clusters if each.expectations.changed]
    return min((each for each in times if each > datetime.now(UTC)), default=None)


def _process(snapshots: Mapping[str, Snapshot], job: Job) -> object:
    """Return what another pod of the same name, and the same pod after a restart, have changed."""
    pod, snapshot = job.endpoint.pod, snapshots.get(job.cluster)
    found = snapshot.get(POD, pod.name, pod.namespace) if pod and snapshot else None
    return (Pod.of(found).uids, Pod.of(found).restarts) if found else None


def _complain(text: str) -> None:
    say(f"adhere: {plain(text, 1000)}")


@dataclass(slots=True)
class Exporter:
    """The cycles, the watches and the server, and the newest report in files."""

    server: Server
    cluster: ClusterAsked
    scratch: Path
    fail_on: FailOn = "medium"
    pauses: Pauses | None = None
    """Other pauses, for tests."""
    tls: ServingTls | None = None
    metrics: dict[bool, bytes] = field(default_factory=dict)
    """Families of the newest report, encoded, by whether they are OpenMetrics."""
    rotations: Rotations = field(default_factory=Rotations)
    watchers: list[Watcher] = field(default_factory=list)
    reviews: TokenReviews | None = None
    cycles: Cycles = field(init=False)
    port: int = 0
    """The port that is open."""

    def __post_init__(self) -> None:
        """Raise ``InputError`` for an unusable certificate."""
        if self.server.tls_cert and self.server.tls_key:
            self.tls = ServingTls(Path(self.server.tls_cert), Path(self.server.tls_key), _complain)
            self.tls.context()

    async def run(self, prepare: Callable[[], Prepared], *, started: trio.Event | None = None) -> None:
        """Run until a signal. Raises ``ScannerError``."""
        pauses = self.pauses or Pauses(every=self.server.every)
        self.cycles = Cycles(prepare, self.publish, self.scratch, _complain, pauses)
        found = accesses(self.cluster)
        self.reviews = self.reviews_of(found)
        kinds = (*WATCHED, SECRET) if self.cluster.secrets else WATCHED
        self.watchers = [Watcher(each, kinds, self.cycles.note, self.cycles.note_unknown) for each in found]
        http = HttpServer(self.answer, self.tls.context if self.tls else None)
        listeners = await self._listeners()
        async with trio.open_nursery() as nursery:
            await nursery.start(self._signals)
            for watcher in self.watchers:
                nursery.start_soon(watcher.run)
            nursery.start_soon(partial(trio.serve_listeners, http.serve, listeners))
            note(f"adhere: listening on {plain(self.server.listen)}")
            if started is not None:
                started.set()
            with trio.move_on_after(_FIRST_LISTS):  # so that no change after the first reading is missed
                for watcher in self.watchers:
                    await watcher.started.wait()
            await self.cycles.run()
            nursery.cancel_scope.cancel()

    def reviews_of(self, found: Sequence[Access]) -> TokenReviews | None:
        """Return what decides who may read the report from other machines; None if no user may. The report of several
        clusters is not for a user of one of them, whose token must not be sent to the others."""
        if self.server.on_loopback or self.tls is None or len(found) > 1:
            return None
        return TokenReviews(found[0], REPORT_PATH)

    async def _listeners(self) -> list[trio.SocketListener]:
        address, port = self.server.place()
        try:
            found = await trio.open_tcp_listeners(port, host=address, backlog=128)
        except OSError as error:
            said = error.strerror or str(error.__cause__ or error)
            hint = "choose another port, or end the program that has it"
            raise ResourceError(f"--listen {plain(self.server.listen, 80)}: {said}", hint=hint) from None
        self.port = found[0].socket.getsockname()[1]
        return found

    async def _signals(self, *, task_status: trio.TaskStatus[None]) -> None:
        with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as arrived:
            task_status.started()
            async for number in arrived:
                if self.cycles.stopped is not None:
                    raise KeyboardInterrupt(signal.Signals(number).name)
                self.cycles.stop(signal.Signals(number).name)

    def publish(self, report: Report) -> None:
        """Write the report into files, and keep its metrics. Raises ``ResourceError``."""
        report = replace(report, fail_on=self.fail_on)
        for name, _ in _REPORTS.values():
            atomic_write(self.scratch / FORMATS[name].file_name, partial(FORMATS[name].write, report), mode=0o600)
        found = list(families(report, detail=self.server.metrics_detail))
        self.metrics = {each: encoded(found, open_metrics=each) for each in (True, False)}
        if report.certificates is not None:
            self.rotations.see(report.certificates.rows(), datetime.now(UTC))

    async def answer(self, request: Request) -> Response:
        """Answer a request."""
        match request.path:
            case "/healthz":
                return Response(body=b"ok\n")
            case "/readyz":
                ready = self.cycles.ready
                return Response(
                    status=200 if ready else 503, body=b"ok\n" if ready else b"the first scan is not finished\n"
                )
            case "/metrics":
                return self._metrics(wants_open_metrics(request.headers.get("accept", "")))
            case path if path in _REPORTS:
                return await self._refusal(request) or self._report(path)
        return Response(status=404, body=b"not found\n")

    def _metrics(self, open_metrics: bool) -> Response:  # noqa: FBT001 - a key of a table
        watches = defaultdict[Kind, Counter[str]](Counter)
        for kind, state in chain.from_iterable(each.states.items() for each in self.watchers):
            watches[kind][state] += 1
        found = own_families(self.cycles.tally, self.cycles.pauses.every, watches, self.rotations)
        own = encoded(found, open_metrics=open_metrics)
        body = self.metrics.get(open_metrics, b"") + own + (EOF if open_metrics else b"")
        return Response(content_type=OPEN_METRICS if open_metrics else TEXT, body=body)

    def _report(self, path: str) -> Response:
        if not self.cycles.ready:
            return Response(status=503, body=_NOT_READY, headers=(("Retry-After", "10"),))
        name, content_type = _REPORTS[path]
        return Response(content_type=content_type, body=self.scratch / FORMATS[name].file_name)

    async def _refusal(self, request: Request) -> Response | None:
        """Return the answer to a request that may not read the report; None if it may."""
        if self.server.on_loopback:
            return None if _is_local(request.headers.get("host", "")) else _forbidden("use the address 127.0.0.1")
        if self.reviews is None:
            why = "with TLS only" if self.tls is None else "on a loopback address only: it has several clusters"
            return _forbidden(f"the report is served {why}")
        try:
            answer = await self.reviews.answer(request.headers.get("authorization", ""))
        except ScannerError as error:
            _complain(error.message)
            return Response(status=503, body=b"the API server could not check the token\n")
        if answer == "unauthenticated":
            challenge = (("WWW-Authenticate", 'Bearer realm="adhere"'),)
            return Response(status=401, body=b"a bearer token of the cluster is required\n", headers=challenge)
        return None if answer == "allowed" else _forbidden(f"the user may not get {REPORT_PATH}")


def _forbidden(why: str) -> Response:
    return Response(status=403, body=f"{why}\n".encode())


def _is_local(host: str) -> bool:
    """True for the names of loopback. Another name is one that a web page has let resolve to it (DNS rebinding)."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    try:
        return name == "localhost" or ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False
