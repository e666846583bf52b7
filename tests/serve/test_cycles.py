"""Cycles: what is asked again, errors that pass, and no growth in memory, descriptors or tasks."""

from __future__ import annotations

import gc
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, nullcontext
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Self

import pytest
import trio

from scanner.cli.serve_work import Exporter, Server
from scanner.cli.shared_options import ClusterAsked
from scanner.demo.listening import Listening
from scanner.errors import ClusterError, ScannerError
from scanner.jobs import Job, Surroundings, TargetRequirements, of_targets
from scanner.kube.objects import Reference
from scanner.kube.profile_catalogue import load_profile
from scanner.model.endpoint import Endpoint, Origin, Target
from scanner.model.expectation import Binding, Expectation
from scanner.model.report import EndpointRow, Report
from scanner.probe.limits import Limits
from scanner.scan import Settings
from scanner.serve.cycles import Cycles, Pauses, Prepared
from scanner.values import replace
from tests.servers import filtered_port, tls_listener

AT_ONCE = Pauses(every=0.001, settle=0, converging=0, failed=0.001, rest=0.001, longest_rest=0.001)
ON_CHANGE = replace(AT_ONCE, every=1000)
PATIENCE = 600
SERVER = Server(every=1, listen="127.0.0.1:0", tls_cert=None, tls_key=None, allow_plaintext=False)


def route(name: str) -> Reference:
    return Reference(kind="Route", name=name, namespace="shop")


class Cluster:
    """Three listeners, each with a Route, and the profile that they must follow."""

    def __init__(self, listeners: list[Listening], ports: list[int] | None = None) -> None:
        self.listeners = listeners
        self.before = [0] * len(listeners)
        self.ports = ports or [each.port for each in listeners]
        self.notices: list[str] = []
        self.keeps = 1000
        self.pods = [Reference(kind="Pod", name=f"web-{number}", namespace="shop") for number in range(3)]
        self.ready = [True] * 3
        self.profile = load_profile("intermediate")
        self.failures: list[ScannerError] = []
        self.reports: list[dict[str, EndpointRow]] = []
        self.published: Callable[[Report], None] = lambda _: None
        self.restarts = [0] * 3
        self.settles: datetime | None = None
        self.binding: Binding = "must-follow"
        self.limits = Limits(timeout=1, retries=0)

    def prepare(self) -> Prepared:
        if self.failures:
            raise self.failures.pop()
        return Prepared(
            jobs=self.jobs(),
            settings=Settings(mode="verdict", limits=self.limits),
            surroundings=Surroundings(),
            ways=lambda: nullcontext(lambda _: None),
            settles=self.settles,
            process=lambda job: self.restarts[job.place or 0],
        )

    def jobs(self) -> Iterator[Job]:
        targets = [Target(host="127.0.0.1", port=port) for port in self.ports]
        requirements, binding = TargetRequirements(profile=self.profile), self.binding
        before = (load_profile("intermediate"),) if binding == "settling" else ()

        def owed(endpoint: Endpoint) -> Expectation:
            return replace(requirements(endpoint), binding=binding, alternatives=before)

        for number, job in enumerate(of_targets(targets, owed)):
            origin = Origin(role="frontend", reference=route(f"web-{number}"))
            pod, ready = self.pods[number], self.ready[number]
            endpoint = replace(job.endpoint, origins=(origin,), pod=pod, ready=ready)
            yield replace(job, endpoint=endpoint, place=number)

    def publish(self, report: Report) -> None:
        self.published(report)
        self.reports.append({row["id"]: row for row in report.rows()})
        del self.reports[: -self.keeps]

    async def asked(self) -> list[int]:
        """Numbers of the listeners that were connected to since the last call."""
        now = [each.connections for each in self.listeners]
        found = [number for number, count in enumerate(now) if count > self.before[number]]
        self.before = now
        return found


@asynccontextmanager
async def repeated(scratch: Path, pauses: Pauses) -> AsyncIterator[tuple[Cluster, Cycles]]:
    """Cycles over a cluster of three listeners, until the block is left."""
    async with tls_listener() as one, tls_listener() as two, tls_listener() as three:
        made = Cluster([one, two, three])
        cycles = Cycles(made.prepare, made.publish, scratch, made.notices.append, pauses)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(cycles.run)
            yield made, cycles
            cycles.stop("the end of the test")


async def until(cycles: Cycles, count: int) -> None:
    with trio.fail_after(PATIENCE):
        while sum(cycles.tally.results.values()) < count:  # noqa: ASYNC110 - a counter
            await trio.sleep(0.01)


async def test_a_change_asks_again_what_it_concerns(tmp_path: Path) -> None:
    async with repeated(tmp_path, ON_CHANGE) as (made, cycles):
        await until(cycles, 1)
        assert await made.asked() == [0, 1, 2]
        cycles.note(route("web-1"))
        await until(cycles, 2)
        assert await made.asked() == [1]
        assert (cycles.tally.asked, cycles.tally.reused) == (1, 2)
        cycles.note(route("elsewhere"))
        await until(cycles, 3)
        assert await made.asked() == []
        made.profile = load_profile("modern")
        cycles.note(Reference(kind="APIServer", name="cluster"))
        await until(cycles, 4)
        assert await made.asked() == [0, 1, 2]
        verdicts = [{row["verdict"] for row in report.values()} for report in made.reports]
        assert verdicts == [*[{"pass"}] * 3, {"fail"}]


async def test_another_pod_at_the_same_address_is_asked_again(tmp_path: Path) -> None:
    async with repeated(tmp_path, ON_CHANGE) as (made, cycles):
        await until(cycles, 1)
        await made.asked()
        made.pods[1] = replace(made.pods[1], name="web-of-the-next-rollout")
        made.ready[2] = False
        cycles.note(route("elsewhere"))
        await until(cycles, 2)
        assert await made.asked() == [1, 2]
        made.ready[2] = True
        cycles.note(route("elsewhere"))
        await until(cycles, 3)
        assert await made.asked() == [2]


async def test_a_pod_that_was_restarted_is_asked_again(tmp_path: Path) -> None:
    async with repeated(tmp_path, ON_CHANGE) as (made, cycles):
        await until(cycles, 1)
        await made.asked()
        made.restarts[1] += 1
        cycles.note(route("elsewhere"))
        await until(cycles, 2)
        assert await made.asked() == [1]
        cycles.note(route("elsewhere"))
        await until(cycles, 3)
        assert await made.asked() == []


async def test_unknown_changes_while_a_cycle_runs_ask_again_everything(tmp_path: Path) -> None:
    async with repeated(tmp_path, ON_CHANGE) as (made, cycles):
        with trio.fail_after(PATIENCE):
            while not await made.asked():  # noqa: ASYNC110 - a counter
                await trio.sleep(0.001)
        cycles.note_unknown()
        await until(cycles, 1)
        await made.asked()
        await until(cycles, 2)
        assert await made.asked() == [0, 1, 2]


@pytest.mark.parametrize(("days", "asked"), [(1, []), (400, [0, 1, 2])])
async def test_a_certificate_that_has_expired_since_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: int, asked: list[int]
) -> None:
    async with repeated(tmp_path, replace(ON_CHANGE, every=1e9)) as (made, cycles):
        await until(cycles, 1)
        assert await made.asked() == [0, 1, 2]

        class Later(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> Self:
                return super().now(tz) + timedelta(days=days)

        monkeypatch.setattr("scanner.serve.cycles.datetime", Later)
        cycles.note(route("elsewhere"))
        await until(cycles, 2)
        assert await made.asked() == asked


async def test_a_cycle_begins_when_a_changed_profile_is_enforced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The listeners are asked again then, whatever the last result was."""
    settles = datetime.now(UTC)

    class Before(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return settles - timedelta(seconds=0.4)

    monkeypatch.setattr("scanner.serve.cycles.datetime", Before)
    monkeypatch.setattr("scanner.serve.cycles._AFTER", 0.1)
    begin = trio.current_time()
    async with repeated(tmp_path, replace(ON_CHANGE, converging=1000)) as (made, cycles):
        made.profile, made.binding, made.settles = load_profile("modern"), "settling", settles
        await until(cycles, 1)
        assert await made.asked() == [0, 1, 2]
        made.settles, made.binding = None, "must-follow"
        await until(cycles, 2)
        assert trio.current_time() - begin > 0.5
        assert await made.asked() == [0, 1, 2]
        statuses = [{row["status"] for row in report.values()} for report in made.reports]
        assert statuses == [{"converging"}, {"violation"}]


async def test_a_rollout_beside_a_violation_is_followed(tmp_path: Path) -> None:
    """A replica of another state has a finding of its own; the worst one is the endpoint's status."""
    async with repeated(tmp_path, replace(ON_CHANGE, converging=0.01)) as (made, cycles):
        made.profile, made.binding = load_profile("modern"), "settling"
        await until(cycles, 1)
        row = next(iter(made.reports[0].values()))
        assert row["status"] == "converging"
        worse = {**row, "status": "violation", "verdict": "fail"}
        observations = cycles._observations
        assert observations is not None
        observations.judged(worse)  # type: ignore[arg-type]
        assert observations.kept[row["instance"]].converging
        passed = {**worse, "findings": []}
        observations.judged(passed)  # type: ignore[arg-type]
        assert not observations.kept[row["instance"]].converging
        finding = {**row["findings"][0], "status": "converging", "about": row["id"]}
        observations.compared([finding])  # type: ignore[list-item]
        assert observations.kept[row["instance"]].converging
        await until(cycles, 3)


async def test_more_changes_than_are_kept_ask_again_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scanner.serve.cycles._MOST_CHANGES", 2)
    async with repeated(tmp_path, ON_CHANGE) as (made, cycles):
        await until(cycles, 1)
        await made.asked()
        for number in range(3):
            cycles.note(route(f"elsewhere-{number}"))
        await until(cycles, 2)
        assert await made.asked() == [0, 1, 2]


async def test_an_inconclusive_listener_is_asked_again_and_a_new_one(tmp_path: Path) -> None:
    async with repeated(tmp_path, ON_CHANGE) as (made, cycles):
        await until(cycles, 1)
        await made.asked()
        with filtered_port() as (_, port):
            made.ports[2] = port
            cycles.note(route("elsewhere"))
            await until(cycles, 2)
            assert cycles.tally.asked == 1
            cycles.note(route("elsewhere"))
            await until(cycles, 3)
            assert (cycles.tally.asked, cycles.tally.reused) == (1, 2)


async def test_an_old_observation_is_not_used_again(tmp_path: Path) -> None:
    async with repeated(tmp_path, replace(ON_CHANGE, every=0.5)) as (made, cycles):
        await until(cycles, 3)
        oldest = cycles.tally.oldest
        assert oldest is not None
        assert (datetime.now(UTC) - oldest).total_seconds() < PATIENCE
        assert cycles.tally.reused == 0
        assert await made.asked() == [0, 1, 2]


async def test_an_error_keeps_the_report_and_passes(tmp_path: Path) -> None:
    async with repeated(tmp_path, AT_ONCE) as (made, cycles):
        await until(cycles, 1)
        made.failures += [ClusterError("the API server is away", hint="wait")] * 3
        with trio.fail_after(PATIENCE):
            while cycles.tally.results["failed"] < 3 or cycles.tally.error:
                assert cycles.ready
                await trio.sleep(0.01)
        assert made.notices == ["the API server is away (wait)"] * 3
        count = len(made.reports)
        await until(cycles, count + 4)
        assert len(made.reports) > count


async def test_the_first_error_is_raised(tmp_path: Path) -> None:
    made = Cluster([])
    made.failures.append(ClusterError("forbidden"))
    with pytest.raises(ClusterError, match="forbidden"):
        await Cycles(made.prepare, made.publish, tmp_path).run()


async def test_a_stop_ends_a_cycle_at_once(tmp_path: Path) -> None:
    with filtered_port() as (_, port), trio.fail_after(30):
        made = Cluster([], ports=[port])
        made.limits = Limits(timeout=PATIENCE, deadline=PATIENCE)
        cycles = Cycles(made.prepare, made.publish, tmp_path)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(cycles.run)
            await trio.sleep(0.5)
            cycles.stop("SIGTERM")
    assert not made.reports
    assert not any(tmp_path.glob("*"))  # noqa: ASYNC240 - it is small


@pytest.mark.slow
async def test_200_cycles_do_not_grow(tmp_path: Path) -> None:
    exporter = Exporter(SERVER, ClusterAsked(cluster=True), tmp_path)
    async with repeated(tmp_path, AT_ONCE) as (made, cycles):
        made.published, made.keeps = exporter.publish, 1
        first = await used(cycles, 20)  # caches are filled
        last = await used(cycles, 200)
    growth = [now - before for before, now in zip(first, last, strict=True)]
    assert growth[0] <= 30, "descriptors: both ends of the connections of a cycle, which is running"
    assert growth[1] <= 30, "tasks"
    assert growth[2] <= 5_000, "objects"
    assert growth[3] <= 20, "MiB"
    assert (cycles.tally.results["failed"], made.notices) == (0, [])


async def used(cycles: Cycles, count: int) -> tuple[int, int, int, int]:
    """Descriptors, tasks, objects of Python and MiB, after so many cycles."""
    await until(cycles, count)
    gc.collect()
    descriptors = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - no paths are needed
    pages = int(Path("/proc/self/statm").read_text().split()[1])  # noqa: ASYNC240 - it is no disk
    tasks = trio.lowlevel.current_statistics().tasks_living
    return descriptors, tasks, len(gc.get_objects()), pages * os.sysconf("SC_PAGE_SIZE") >> 20
