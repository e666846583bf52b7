"""``adhere serve`` on the demo's cluster: the first report, changes, an API server that goes away, and the end."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from scanner.assessment import Viewpoint, assess
from scanner.cli.serve_work import Before, Exporter, _process, exporter_of
from scanner.cli.shared_options import ClusterAsked
from scanner.cluster.retention import Pruner
from scanner.cluster.snapshot_objects import kept
from scanner.cluster.watch import Watcher
from scanner.demo.cluster import DemoCluster, demo_cluster
from scanner.demo.listening import background, bind, bind_exactly
from scanner.jobs import Job
from scanner.kube.kinds import API_SERVER, POD
from scanner.kube.objects import KubeObject, Reference
from scanner.model.endpoint import Endpoint, Owner
from scanner.serve.cycles import Pauses
from scanner.values import replace
from tests.cluster.api import named
from tests.expect import stories
from tests.report import cluster_samples
from tests.serve.test_cycles import PATIENCE, SERVER, used

QUICK = Pauses(every=3600, settle=0.2, converging=3600, failed=0.5, rest=0.2, longest_rest=1)


@dataclass(slots=True)
class Running:
    """An exporter, and a client without TLS."""

    exporter: Exporter
    scope: trio.CancelScope

    async def get(self, path: str, **headers: str) -> tuple[int, bytes]:
        lines = "".join(
            f"{name.replace('_', '-')}: {value}\r\n" for name, value in {"Host": "localhost", **headers}.items()
        )
        async with await trio.open_tcp_stream("127.0.0.1", self.exporter.port) as stream:
            await stream.send_all(f"GET {path} HTTP/1.1\r\n{lines}Connection: close\r\n\r\n".encode())
            data = b"".join([bytes(part) async for part in stream])
        head, _, body = data.partition(b"\r\n\r\n")
        return int(head.split()[1]), body

    @property
    def cycles(self) -> int:
        """Number of cycles that have ended."""
        return sum(self.exporter.cycles.tally.results.values())

    async def report(self) -> dict[str, Any]:
        return dict(json.loads((await self.get("/report.json"))[1]))

    async def until(self, true: Callable[[], bool]) -> None:
        with trio.fail_after(PATIENCE):
            while not true():  # noqa: ASYNC110 - a counter
                await trio.sleep(0.05)


@asynccontextmanager
async def exporting(cluster: DemoCluster, directory: Path, *more: str) -> AsyncIterator[Running]:
    from scanner.cli.commands.serve import serve

    kubeconfig = cluster.kubeconfig(directory / "kubeconfig")
    arguments = ["--cluster", "--kubeconfig", str(kubeconfig), "--allow-loopback", "--timeout", "3", "--quiet", *more]
    if "--listen" not in more:
        arguments += ["--listen", "127.0.0.1:0"]
    options = serve.make_context("serve", arguments).params
    (directory / "scratch").mkdir()
    exporter, prepare = exporter_of(options, directory / "scratch")
    exporter.pauses = QUICK
    async with trio.open_nursery() as nursery:
        started = trio.Event()
        nursery.start_soon(partial(exporter.run, prepare, started=started))
        await started.wait()
        yield Running(exporter, nursery.cancel_scope)
        exporter.cycles.stop("the end of the test")


def changed(cluster: DemoCluster, **spec: object) -> None:
    before = cluster.store.get(API_SERVER, "cluster")
    assert before is not None
    cluster.store.put(API_SERVER, {**before, "spec": {**before["spec"], **spec}})


@pytest.mark.slow
async def test_a_change_before_the_watches_begin_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cluster is read, then its profile is changed, then the watches begin."""
    begin, run = trio.Event(), Watcher.run

    async def late(self: Watcher) -> None:
        self.started.set()
        await begin.wait()
        await run(self)

    monkeypatch.setattr(Watcher, "run", late)
    async with demo_cluster() as cluster, exporting(cluster, tmp_path) as there:
        await there.until(lambda: there.exporter.cycles.ready)
        changed(cluster, tlsSecurityProfile={"type": "Intermediate", "intermediate": {}})
        begin.set()
        await there.until(lambda: there.cycles == 2)
        of_metrics_server = next(
            row for row in (await there.report())["endpoints"] if row["owner"]["name"] == "metrics-server"
        )
        assert of_metrics_server["expected"]["profile"] == "openshift/4.22/intermediate"


def test_the_first_and_last_snapshot_with_each_configuration_are_kept() -> None:
    now = stories.load("modern-strict").snapshot
    server = now.every(API_SERVER)[0]
    old = KubeObject({**server.raw, "spec": {"tlsSecurityProfile": {"type": "Old", "old": {}}}}, server.kind)
    before = Before()
    for minute in range(9):
        objects = now.objects if minute >= 5 else {**now.objects, API_SERVER: (old,)}
        before.keep([replace(now, taken_at=now.taken_at + timedelta(minutes=minute), objects=objects)])
    minutes = [(each.taken_at - now.taken_at).total_seconds() / 60 for each in before.snapshots()]
    assert minutes == [0, 4, 5, 8]
    snapshot = replace(now, taken_at=now.taken_at + timedelta(minutes=9))
    (listed,) = (assess(snapshot, Viewpoint(earlier=each)).expectations.changed for each in [before.snapshots()])
    assert listed == now.taken_at + timedelta(minutes=5), "the time of the first snapshot that shows the change"
    for minute in range(100):
        spec = {"tlsSecurityProfile": {"type": "Old" if minute % 2 else "Modern"}}
        other = KubeObject({**server.raw, "spec": spec}, server.kind)
        before.keep([replace(now, objects={API_SERVER: (other,)})])
    assert len(before.snapshots()) == 12


def test_the_process_of_an_endpoint() -> None:
    pod = Reference(kind="Pod", name="web-0", namespace="shop")
    endpoint = Endpoint(id="x", instance="x", address="10.0.0.1", port=1, owner=Owner(kind="Pod", name="x"), pod=pod)
    job = Job(endpoint=endpoint, owes=lambda _: pytest.fail("not asked"), cluster="c")

    def process(uid: str, restarts: int) -> object:
        statuses = [{"name": "web", "restartCount": restarts, "containerID": "cri-o://1"}]
        raw = named("web-0", "shop", status={"containerStatuses": statuses})
        kept_pod = kept(POD, {**raw, "metadata": {"name": "web-0", "namespace": "shop", "uid": uid}}, Pruner())
        assert kept_pod is not None
        now = stories.load("modern-strict").snapshot
        return _process({"c": replace(now, objects={POD: (kept_pod,)})}, job)

    assert process("1", 0) == process("1", 0)
    assert process("1", 0) != process("1", 1)
    assert process("1", 0) != process("2", 0), "a pod of a StatefulSet that was replaced"
    assert _process({}, job) is None


def test_the_detail_of_the_metrics_is_optional(tmp_path: Path) -> None:
    for detail in (False, True):
        made = Exporter(replace(SERVER, metrics_detail=detail), ClusterAsked(cluster=True), tmp_path)
        made.publish(cluster_samples.report())
        for body in made.metrics.values():
            assert (b"\nadhere_endpoint_outcome{" in body) == detail


@pytest.mark.slow
async def test_cycles_that_read_the_cluster_do_not_grow(tmp_path: Path) -> None:
    """With watches and requests; tests/serve/test_cycles.py has 200 cycles without them."""
    async with demo_cluster() as cluster, exporting(cluster, tmp_path) as there:
        found = list[tuple[int, int, int, int]]()
        for count in (8, 24):
            while there.cycles < count:
                ended = there.cycles
                there.exporter.cycles.note(Reference(kind="Route", name="elsewhere", namespace="shop"))
                await there.until(lambda ended=ended: there.cycles > ended)  # type: ignore[misc]
                for path in ("/", "/report.json", "/metrics"):
                    assert (await there.get(path))[0] == 200
            found.append(await used(there.exporter.cycles, count))
        descriptors, tasks, objects, mebibytes = (now - before for before, now in zip(*found, strict=True))
        assert (descriptors <= 10, tasks <= 10, objects <= 2_000, mebibytes <= 20) == (True,) * 4, found


class Passage:
    """Another port of the API server's address, which can be closed: then its connections end too."""

    def __init__(self, cluster: DemoCluster) -> None:
        self.host, _, behind = cluster.server.removeprefix("https://").rpartition(":")
        self.behind, self.port, self.scope = int(behind), 0, trio.CancelScope()

    async def open(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        listener = await (bind_exactly(self.host, self.port) if self.port else bind(self.host))
        self.port = listener.socket.getsockname()[1]
        task_status.started()
        async with listener:
            with trio.CancelScope() as self.scope:
                await trio.serve_listeners(self.serve, [listener])

    async def serve(self, client: trio.SocketStream) -> None:
        async with await trio.open_tcp_stream(self.host, self.behind) as server, trio.open_nursery() as nursery:
            nursery.start_soon(self.copy, server, client)
            await self.copy(client, server)
            nursery.cancel_scope.cancel()

    async def copy(self, source: trio.SocketStream, sink: trio.SocketStream) -> None:
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            async for part in source:
                await sink.send_all(part)


@pytest.mark.slow
async def test_it_survives_an_api_server_that_goes_away_and_comes_back(tmp_path: Path) -> None:
    async with demo_cluster() as cluster, background() as nursery:
        passage = Passage(cluster)
        await nursery.start(passage.open)
        behind = replace(cluster, server=f"https://{passage.host}:{passage.port}")
        async with exporting(behind, tmp_path) as there:
            cycles, (watcher,) = there.exporter.cycles, there.exporter.watchers
            await there.until(lambda: cycles.ready)
            passage.scope.cancel()
            await there.until(lambda: watcher.states[API_SERVER] == "failed")
            changed(cluster, tlsSecurityProfile={"type": "Intermediate", "intermediate": {}})
            cycles.note(Reference(kind="Route", name="elsewhere", namespace="shop"))
            await there.until(lambda: cycles.tally.results["failed"] > 0)
            assert (await there.get("/readyz"))[0] == 200
            assert await profiles(there) == {"openshift/4.22/modern"}, "the last report is kept"
            assert b'adhere_serve_last_error{error="ClusterError"} 1.0' in (await there.get("/metrics"))[1]
            await nursery.start(passage.open)
            await there.until(lambda: not cycles.tally.error)
            assert await profiles(there) == {"openshift/4.22/intermediate"}
            await there.until(lambda: watcher.states[API_SERVER] == "watching")


async def profiles(there: Running) -> set[str]:
    rows = (await there.report())["endpoints"]
    return {row["expected"]["profile"] for row in rows if row["owner"]["name"] == "metrics-server"}


async def test_it_reports_follows_changes_and_ends(tmp_path: Path) -> None:
    some = ("--namespace", "openshift-monitoring,shop")
    async with demo_cluster() as cluster, exporting(cluster, tmp_path, *some) as there:
        tally = there.exporter.cycles.tally
        assert (await there.get("/healthz"))[0] == 200
        assert (await there.get("/readyz"))[0] == 503
        assert (await there.get("/"))[0] == 503
        await there.until(lambda: there.exporter.cycles.ready)
        assert (await there.get("/readyz"))[0] == 200
        assert (await there.get("/"))[1].startswith(b"<!doctype html>")
        assert (await there.get("/../report.json"))[0] == 404
        first = await there.report()
        assert tally.reused == 0
        assert tally.asked == len(first["endpoints"])

        changed(cluster, tlsSecurityProfile={"type": "Intermediate", "intermediate": {}})
        await there.until(lambda: there.cycles == 2)
        second = await there.report()
        of_metrics_server = next(row for row in second["endpoints"] if row["owner"]["name"] == "metrics-server")
        assert of_metrics_server["expected"]["profile"] == "openshift/4.22/intermediate"
        assert tally.reused == 0, "the requirement of every listener changed"

        route = next(row for row in second["endpoints"] if any(each.startswith("Route/") for each in row["origins"]))
        named = next(each for each in route["origins"] if each.startswith("Route/"))
        _, namespace, name = named.split()[0].split("/")[:3]
        there.exporter.cycles.note(Reference(kind="Route", name=name, namespace=namespace))
        await there.until(lambda: there.cycles == 3)
        assert 0 < tally.asked < tally.reused
        metrics = (await there.get("/metrics"))[1].decode()
        assert 'adhere_serve_watches{resource="apiservers.config.openshift.io",state="watching"} 1.0' in metrics
    assert not list((tmp_path / "scratch").glob("rows*"))
