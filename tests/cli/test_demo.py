"""``adhere demo``: what a first-time reader gets, and that it judges its own listeners as it should."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from scanner.cli.commands.demo import target_of, unexpected
from scanner.demo.outcomes import LISTENERS, Listener, ListenerSpec
from scanner.model.report import EndpointRow, Report
from scanner.values import replace
from tests.cli.calling import Call, Called, called, valid
from tests.cli.conftest import Farm, called_once
from tests.report import samples
from tests.shared import Shared

pytestmark = pytest.mark.crypto


@pytest.fixture(scope="session")
def outcomes(shared: Shared) -> tuple[Called, Path]:
    """The demo of outcomes as a reader runs it, in an empty directory."""
    return called_once(shared, "outcomes", lambda here: called("demo", "--outcomes", cwd=here))


@pytest.fixture
def answer(outcomes: tuple[Called, Path]) -> Called:
    return outcomes[0]


@pytest.fixture
def place(outcomes: tuple[Called, Path]) -> Path:
    return outcomes[1]


@pytest.fixture(scope="module")
def document(outcomes: tuple[Called, Path]) -> dict[str, Any]:
    return valid((outcomes[1] / "adhere-demo" / "report.json").read_text())


def test_it_ends_well_and_leaves_three_files(answer: Called, place: Path) -> None:
    assert answer.code == 0, answer.err
    assert {path.name for path in place.iterdir()} == {"adhere-demo"}
    assert {path.name for path in (place / "adhere-demo").iterdir()} == {"report.html", "report.json", "report.xml"}
    assert "bug" not in answer.err
    assert answer.err.splitlines()[-2].startswith("adhere: open adhere-demo/report.html in a browser")
    assert answer.err.splitlines()[-3].startswith("adhere: exit 0: every listener was judged as expected")
    assert answer.out.splitlines()[-1].startswith("exit 1: ")


def _role(row: EndpointRow) -> ListenerSpec:
    name = row["origins"][0].partition(":")[0]
    return next(role for role in LISTENERS if role.name == name)


def test_every_listener_is_judged_as_its_role_says(document: dict[str, Any]) -> None:
    rows = document["endpoints"]
    assert len(rows) >= 14
    for row in rows:
        role = _role(row)
        failing = {finding["rule"] for finding in row["findings"] if finding["verdict"] == "fail"}
        assert (row["verdict"], row["reach"]) == (role.verdict, role.reach), role.name
        assert failing >= set(role.failing_rules), role.name
        assert role.verdict != "pass" or not failing, role.name


def test_rows_come_in_the_order_of_the_story(document: dict[str, Any]) -> None:
    told = [_role(row).name for row in document["endpoints"]]
    assert told == [role.name for role in LISTENERS if role.name in told]


def test_every_failure_says_what_to_do(document: dict[str, Any]) -> None:
    for row in document["endpoints"]:
        for finding in row["findings"]:
            if finding["verdict"] == "fail":
                assert finding["fix"] or finding["message"], row["id"]
                assert finding["observed"], row["id"]
                assert finding["reproduce"].startswith("adhere "), row["id"]


def test_the_table_tells_all_of_it(answer: Called, document: dict[str, Any], place: Path) -> None:
    page = (place / "adhere-demo" / "report.html").read_text()
    suites = ET.parse(place / "adhere-demo" / "report.xml").getroot().findall("testsuite")
    for row in document["endpoints"]:
        assert row["id"] in answer.out
        assert row["id"] in page
    assert {suite.get("name") for suite in suites} >= {row["id"] for row in document["endpoints"]}
    assert "\x1b" not in answer.out


def test_every_connection_was_on_loopback(document: dict[str, Any]) -> None:
    assert all(row["address"].startswith("127.") for row in document["endpoints"])
    assert document["summary"]["connections"] == sum(row["observed"]["connections"] for row in document["endpoints"])


@pytest.mark.parametrize(
    "which", [pytest.param((), marks=pytest.mark.slow), ("--outcomes",)], ids=["cluster", "outcomes"]
)
def test_a_signal_ends_it_with_what_it_has(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: tuple[str, ...]
) -> None:
    signals = iter([signal.SIGTERM])

    def tell(_: EndpointRow) -> None:
        if number := next(signals, None):
            os.kill(os.getpid(), number)

    monkeypatch.setattr("scanner.cli.commands.demo.progress", lambda *_: nullcontext(tell))
    answer = call("demo", *which, "--output", tmp_path)
    assert answer.code == 3
    assert (
        answer.err.splitlines().count("adhere: stopped by SIGTERM; the report has the endpoints that were finished")
        == 1
    )
    assert "bug" not in answer.err
    document = valid((tmp_path / "report.json").read_text())
    assert document["coverage"]["interrupted"] == "SIGTERM"
    assert not (tmp_path / "report.jsonl").exists()


def test_a_directory_that_cannot_be_made(call: Call, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    answer = call("demo", "--output", tmp_path / "file" / "below")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"adhere: {tmp_path / 'file' / 'below'}: cannot create this directory")


# --- the cluster ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def cluster(shared: Shared) -> tuple[Called, Path]:
    """The demo as a reader runs it, and where."""
    answer, place = called_once(shared, "cluster", lambda here: called("demo", cwd=here))
    return answer, place / "adhere-demo"


def test_the_cluster_is_found_scanned_and_judged_as_its_stories_say(cluster: tuple[Called, Path]) -> None:
    answer, place = cluster
    assert answer.code == 0, answer.err
    assert "bug" not in answer.err
    assert {path.name for path in place.iterdir()} == {"report.html", "report.json", "report.xml"}
    document = valid((place / "report.json").read_text())
    assert document["cluster"]["distribution"] == "openshift"
    assert len(document["endpoints"]) >= 40
    verdicts = {row["verdict"] for row in document["endpoints"]}
    assert verdicts == {"pass", "fail", "inconclusive", "not_applicable"}


def test_the_cluster_is_told_by_component_with_what_was_not_seen(cluster: tuple[Called, Path]) -> None:
    answer, _ = cluster
    for told in ("COMPONENT", "metrics-server", "StrictAllComponents", "COVERAGE", "networkpolicies"):
        assert told in answer.out
    assert "scan --cluster" in answer.err


def test_only_loopback_was_dialled(cluster: tuple[Called, Path]) -> None:
    document = valid((cluster[1] / "report.json").read_text())
    for row in document["endpoints"]:
        assert row["address"].startswith("127.") or row["observed"]["connections"] == 0


@pytest.mark.slow
def test_the_cluster_stays_until_a_signal_and_can_be_scanned(tmp_path: Path) -> None:
    """In a process of its own, because it waits for a signal."""
    command = [sys.executable, "-m", "scanner", "demo", "--stay", "--output", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as demo:
        assert demo.stderr is not None
        try:
            (export,) = islice((line for line in demo.stderr if "export KUBECONFIG=" in line), 1)
            kubeconfig = Path(export.strip().removeprefix("export KUBECONFIG="))
            assert kubeconfig.parent.stat().st_mode & 0o777 == 0o700
            commands = [
                re.split(r"^ *(?:\S*/)?adhere |-m scanner ", next(demo.stderr), maxsplit=1)[1] for _ in range(5)
            ]
            assert called(*shlex.split(commands[1])).code == 0
            explained = called("explain", "metrics-server", "--kubeconfig", kubeconfig)
            assert explained.code == 0, explained.err
            assert "APIServer/cluster" in explained.out
        finally:
            demo.send_signal(signal.SIGINT)
            rest = demo.stderr.read()
    assert demo.returncode == 0, rest
    assert not kubeconfig.parent.exists()
    assert "kubeconfig" not in {each.name for each in tmp_path.iterdir()}


def test_only_a_cluster_stays(call: Call) -> None:
    assert call("demo", "--stay", "--outcomes").code == 2
    assert call("demo", "--stay", "--quiet").code == 2


# --- unexpected -------------------------------------------------------------------------------------------------------


def _told(listener: Listener, verdict: str, reach: str) -> Report:
    report = samples.report()
    row = next(report.rows())
    row["id"], row["verdict"], row["reach"] = target_of(listener).canonical, verdict, reach
    return replace(report, rows=lambda: iter([row]))


def test_another_verdict_or_reach_is_a_surprise(farm: Farm) -> None:
    listener = farm["closed"]
    assert unexpected(_told(listener, "inconclusive", "closed"), (listener,)) == []
    (line,) = unexpected(_told(listener, "pass", "closed"), (listener,))
    assert line == "closed: expected inconclusive (closed), observed pass (closed); this is a bug in adhere"
    assert len(unexpected(_told(listener, "inconclusive", "silent"), (listener,))) == 1


def test_a_target_is_the_listener(farm: Farm) -> None:
    for listener in farm.listeners.values():
        assert target_of(listener).canonical == listener.target
        assert target_of(listener).origin.startswith(f"{listener.name}: ")
