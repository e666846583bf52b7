"""Signals, and what is left of a scan that did not come to its end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import trio

from scanner.cli.running import _watch
from scanner.cli.trio_run import run_trio
from scanner.errors import InputError, UsageError
from scanner.probe.limits import Gate, Limits
from scanner.report.stream import read_rows
from tests.cli.calling import COMMAND, PATIENCE, Call, assert_refused, environment, valid
from tests.servers import closed_port, listening, silent
from tests.serving import serving


@dataclass(slots=True)
class Slow:
    """A scan of a closed port, a silent listener and more that it will not come to."""

    process: subprocess.Popen[str]
    report: Path
    told: list[str] = field(default_factory=list)
    """What it said on stderr before the silent listener kept it waiting."""

    @property
    def rows(self) -> Path:
        return self.report.with_suffix(".jsonl")

    def end(self, number: signal.Signals) -> str:
        """Send a signal to it and its workers, as a terminal does; what it says after that."""
        os.killpg(self.process.pid, number)
        _, said = self.process.communicate(timeout=PATIENCE)
        return said


@contextmanager
def slow_scan(directory: Path, *more: str) -> Iterator[Slow]:
    """Until the block is entered, one endpoint is finished and one has accepted a connection."""
    reached = threading.Event()

    async def part(stream: trio.SocketStream) -> None:
        reached.set()
        await silent(stream)

    with serving(lambda: listening(part)) as server, closed_port() as (address, closed):
        targets = [f"{address}:{closed}", *(f"127.0.0.1:{server.port}#{name}.example" for name in "abc")]
        report = directory / "report.json"
        options = ["--concurrency", "1", "--timeout", str(PATIENCE), "--deadline", str(PATIENCE), "--verbose", *more]
        for name in ("json", "text", "html", "junit"):
            options += ["--format", f"{name}={report if name == 'json' else directory / name}"]
        with subprocess.Popen(
            [*COMMAND, "scan", *targets, *options],
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
            start_new_session=True,
        ) as process:
            try:
                assert process.stderr is not None
                told = [process.stderr.readline()]
                assert reached.wait(PATIENCE)
                yield Slow(process, report, told)
            finally:
                process.kill()


@pytest.mark.parametrize(
    ("workers", "number"),
    [
        ("1", signal.SIGTERM),
        pytest.param("1", signal.SIGINT, marks=pytest.mark.slow),
        pytest.param("2", signal.SIGTERM, marks=pytest.mark.slow),
        ("2", signal.SIGINT),
    ],
)
def test_a_signal_leaves_what_was_finished(tmp_path: Path, workers: str, number: signal.Signals) -> None:
    with slow_scan(tmp_path, "--workers", workers) as scan:
        assert scan.rows.exists()
        said = scan.end(number)
        assert scan.process.returncode == 3
        assert f"adhere: stopped by {number.name}; the report has the endpoints that were finished" in said
        assert "Traceback" not in said
        assert not scan.rows.exists()
        document = valid(scan.report.read_text())
    assert document["coverage"]["interrupted"] == number.name
    assert document["coverage"]["complete"] is False
    assert [row["reach"] for row in document["endpoints"]] == ["closed", "interrupted"]
    assert {row["verdict"] for row in document["endpoints"]} == {"inconclusive"}
    assert [each["message"] for each in document["endpoints"][1]["findings"]] == [
        f"not finished: the scan was stopped ({number.name})"
    ]
    assert document["coverage"]["in_progress"] == 1
    assert document["coverage"]["not_started"]["total"] == 2
    counts = f"topped by {number.name}: 0 judged, 1 inconclusive, 1 in progress, 2 not started"
    assert all(counts in (tmp_path / name).read_text() for name in ("text", "html", "junit"))
    assert (tmp_path / "text").read_text().splitlines()[-1] == f"exit 3: not complete: s{counts}"


def test_a_killed_scan_leaves_its_rows(tmp_path: Path) -> None:
    with slow_scan(tmp_path) as scan:
        scan.end(signal.SIGKILL)
        assert scan.process.returncode == -signal.SIGKILL
        assert not scan.report.exists()
        assert [row["reach"] for row in read_rows(scan.rows)] == ["closed"]


def test_workers_end_with_a_killed_scan(tmp_path: Path) -> None:
    with slow_scan(tmp_path, "--workers", "3") as scan:
        pid = scan.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        assert len(children) == 3
        scan.process.kill()
        scan.process.communicate(timeout=PATIENCE)
        end = time.monotonic() + PATIENCE
        while any(Path(f"/proc/{each}").exists() for each in children) and time.monotonic() < end:
            time.sleep(0.02)
        assert [each for each in children if Path(f"/proc/{each}").exists()] == []


@pytest.mark.slow
def test_a_killed_worker_leaves_the_rest(tmp_path: Path) -> None:
    with slow_scan(tmp_path, "--workers", "2", "--timeout", "1") as scan:
        pid = scan.process.pid
        for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            os.kill(int(each), signal.SIGKILL)
        _, said = scan.process.communicate(timeout=PATIENCE)
        assert scan.process.returncode == 3
        assert "Traceback" not in said
        document = valid(scan.report.read_text())
    rows = document["endpoints"]
    assert [row["reach"] for row in rows] == ["closed", "interrupted", "silent", "silent"]
    assert [each["message"] for each in rows[1]["findings"]] == [
        "not finished: the scan was stopped (the process that probed it ended)"
    ]
    assert document["coverage"]["complete"] is False
    assert document["coverage"]["interrupted"] == "the end of a process that probes"


def test_an_earlier_report_survives_a_killed_scan(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text("the last one")
    with slow_scan(tmp_path) as scan:
        scan.end(signal.SIGKILL)
    assert (tmp_path / "report.json").read_text() == "the last one"


async def test_the_first_signal_stops_the_gate_and_the_second_everything() -> None:
    gate = Gate(Limits())

    async def signalled() -> None:
        async with trio.open_nursery() as nursery:
            await nursery.start(_watch, gate)
            with gate.deadline():
                os.kill(os.getpid(), signal.SIGTERM)
                await trio.sleep_forever()
            assert gate.stopped == "SIGTERM"
            os.kill(os.getpid(), signal.SIGINT)
            await trio.sleep_forever()

    with pytest.raises(BaseExceptionGroup) as ended:
        await signalled()
    assert ended.group_contains(KeyboardInterrupt)


KUBECONFIG = """
{apiVersion: v1, kind: Config, current-context: a, users: [], contexts: [{name: a, context: {cluster: a}}],
 clusters: [{name: a, cluster: {server: "https://127.0.0.1:PORT"}}]}
"""
PID_1 = ("unshare", "--pid", "--fork", "--kill-child")


@pytest.mark.parametrize(
    ("command", "within"),
    [
        (("scan",), PID_1),
        pytest.param(("scan",), (), marks=pytest.mark.slow),
        pytest.param(("certs",), PID_1, marks=pytest.mark.slow),
        (("snapshot", "save", "objects"), ()),
    ],
)
def test_sigterm_ends_the_reading_of_a_cluster(
    tmp_path: Path, command: tuple[str, ...], within: tuple[str, ...]
) -> None:
    """Also of the first process of a container, which has no default action for a signal."""
    if within and (os.geteuid() or shutil.which(within[0]) is None):
        pytest.skip("a process can be the first of a namespace with root and unshare only")
    reached = threading.Event()

    async def part(stream: trio.SocketStream) -> None:
        reached.set()
        await silent(stream)

    with serving(lambda: listening(part)) as server:
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(KUBECONFIG.replace("PORT", str(server.port)))
        with subprocess.Popen(
            [*within, *COMMAND, *command, "--kubeconfig", str(kubeconfig)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(), cwd=tmp_path,
        ) as process:  # fmt: skip
            try:
                assert reached.wait(PATIENCE)
                child = Path(f"/proc/{process.pid}/task/{process.pid}/children")
                os.kill(int(child.read_text()) if within else process.pid, signal.SIGTERM)
                out, said = process.communicate(timeout=PATIENCE)
            finally:
                process.kill()
    ended = "adhere: stopped by SIGTERM; there is no report\nexit 3: not complete: stopped by SIGTERM\n"
    assert (process.returncode, out, said.lstrip()) == (3, "", ended)


def _raising(*errors: BaseException) -> BaseException:
    async def main() -> None:
        async with trio.open_nursery() as outer, trio.open_nursery() as inner:
            for place, error in enumerate(errors):
                (outer if place % 2 else inner).start_soon(_raise, error)

    try:
        run_trio(main)
    except BaseException as error:  # noqa: BLE001 - whatever it is
        return error
    raise AssertionError("it ended well")


async def _raise(error: BaseException) -> None:
    raise error


def test_what_ended_it_comes_out_as_itself() -> None:
    wrong = UsageError("wrong")
    assert _raising(wrong) is wrong
    assert _raising(ValueError("a bug"), wrong) is wrong
    assert _raising(InputError("other"), ValueError("a bug")).args == ("other",)
    assert isinstance(_raising(wrong, KeyboardInterrupt()), KeyboardInterrupt)


def test_a_bug_comes_out_too() -> None:
    bug = ValueError("a bug")
    assert _raising(bug) is bug
    assert isinstance(bug.__cause__, ExceptionGroup)


def test_an_exception_outside_of_nurseries_passes() -> None:
    async def main() -> None:
        raise UsageError("plain")

    with pytest.raises(UsageError, match="plain"):
        run_trio(main)


def test_a_machine_on_which_nothing_is_writable(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container with a read-only root and no volume at /tmp."""
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("tempfile._candidate_tempdir_list", lambda: ["/proc/nowhere"])
    with closed_port() as closed:
        answer = call("scan", f"{closed[0]}:{closed[1]}")
    assert_refused(answer, "TMPDIR")
