"""The alerts and the dashboard of deploy/monitoring: promtool's cases, and a real Prometheus that scraped the demo."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest
import yaml

from scanner import metrics
from scanner.demo.cluster import demo_cluster
from scanner.kube.kinds import API_SERVER
from scanner.serve.cycles import Tally
from scanner.serve.exposition import Rotations, own_families
from scanner.values import replace
from tests.cli.calling import COMMAND, PATIENCE, PATIENT, environment
from tests.report import cluster_samples
from tests.serving import serving
from tests.zoo import prometheus
from tests.zoo.processes import free_address, program
from tests.zoo.prometheus import Prometheus

MONITORING = Path(__file__).parents[2] / "deploy" / "monitoring"
CASES = Path(__file__).with_name("alerts.yaml").read_text().split("\n---\n")
GROUPS = yaml.safe_load((MONITORING / "prometheusrule.yaml").read_text())["spec"]["groups"]
ALERTS = {rule["alert"]: rule for group in GROUPS for rule in group["rules"]}
DASHBOARD = json.loads((MONITORING / "dashboard.json").read_text())
PANELS = [each for each in DASHBOARD["panels"] if each["type"] != "row"]
EXPRESSIONS = {each["title"]: target["expr"] for each in PANELS for target in each["targets"]}
FAMILY = re.compile(r"\b(?:adhere|openshift)_[a-z_]+")

pytestmark = pytest.mark.zoo


def rules(path: Path, *, annotations: bool) -> Path:
    """Write the rules of the PrometheusRule for promtool or Prometheus."""
    groups = [
        {
            **group,
            "rules": [{k: v for k, v in rule.items() if annotations or k != "annotations"} for rule in group["rules"]],
        }
        for group in GROUPS
    ]
    path.write_text(yaml.safe_dump({"groups": groups}))
    return path


def promtool(*arguments: object) -> subprocess.CompletedProcess[str]:
    if why := prometheus.missing():
        pytest.skip(why)
    argv = [program("promtool") or "promtool", *map(str, arguments)]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=180)


# --- alerts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cases", [CASES[0], pytest.param(CASES[1], marks=pytest.mark.slow)], ids=["minutes", "days"])
def test_the_cases_of_the_alerts(tmp_path: Path, cases: str) -> None:
    file = rules(tmp_path / "rules.yml", annotations=False)
    (tmp_path / "cases.yaml").write_text(cases)
    assert promtool("check", "rules", file).returncode == 0
    run = promtool("test", "rules", tmp_path / "cases.yaml")
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.slow
def test_a_case_that_does_not_hold_is_reported(tmp_path: Path) -> None:
    rules(tmp_path / "rules.yml", annotations=False)
    cases = CASES[0].replace(
        "alertname: AdhereScanIncomplete, exp_alerts: []",
        "alertname: AdhereScanIncomplete, exp_alerts: [{exp_labels: {}}]",
    )
    (tmp_path / "wrong.yaml").write_text(cases)
    assert promtool("test", "rules", tmp_path / "wrong.yaml").returncode != 0


def test_each_alert_fires_in_one_case_and_is_silent_in_another() -> None:
    cases = [case for text in CASES for case in yaml.safe_load(text)["tests"]]
    fires = {(one["alertname"], bool(one["exp_alerts"])) for case in cases for one in case["alert_rule_test"]}
    assert fires == {(alert, fired) for alert in ALERTS for fired in (True, False)}


@pytest.mark.parametrize("alert", ALERTS)
def test_each_alert_says_what_to_do(alert: str) -> None:
    rule = ALERTS[alert]
    assert rule["annotations"].keys() == {"summary", "description", "action"}
    assert all(len(text) > 30 for text in rule["annotations"].values())
    assert rule["labels"].keys() == {"severity"}


def test_rules_and_panels_ask_for_families_that_exist() -> None:
    report = replace(cluster_samples.report(), cluster={"profile_changed": "2026-11-01T00:00:00Z"})
    tally, watches = Tally(error="ClusterError"), {API_SERVER: Counter({"watching": 1})}
    own = own_families(tally, 3600, watches, Rotations())
    known = {each.name for each in (*metrics.families(report), *own)}
    asked = [rule["expr"] for rule in ALERTS.values()] + list(EXPRESSIONS.values())
    assert {name for each in asked for name in FAMILY.findall(each)} <= known


# --- a real Prometheus ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scanned:
    """A Prometheus that scraped ``adhere serve`` on the demo and has the rules, and the report of its scan."""

    server: Prometheus
    report: dict[str, Any]

    def value(self, panel: str) -> float:
        """The value of a panel with one series."""
        (value,) = self.panel(panel).values()
        return value

    def panel(self, title: str) -> dict[frozenset[tuple[str, str]], float]:
        """The series of a panel, for all jobs."""
        return self.server.query(EXPRESSIONS[title].replace("$job", ".*"))

    def by(self, panel: str, label: str) -> dict[str, float]:
        """The series of a panel by one label."""
        return {dict(labels)[label]: value for labels, value in self.panel(panel).items()}


@pytest.fixture(scope="module")
def scanned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scanned]:
    if why := prometheus.missing():
        pytest.skip(why)
    directory = tmp_path_factory.mktemp("monitoring")
    with serving(demo_cluster) as cluster, exporter(cluster.kubeconfig(directory / "kubeconfig")) as address:
        with urlopen(f"http://{address}/report.json", timeout=PATIENCE) as answer:
            report = json.load(answer)
        with prometheus.scraping(address, directory, rules(directory / "rules.yml", annotations=True)) as server:
            yield Scanned(server, report)


@contextmanager
def exporter(kubeconfig: Path) -> Iterator[str]:
    """Run ``adhere serve`` until the block ends; the address, as soon as there is a report. SIGTERM ends it well."""
    address = "{}:{}".format(*free_address())
    argv = [*COMMAND, "serve", "--cluster", "--kubeconfig", str(kubeconfig), *PATIENT, "--listen", address]
    with subprocess.Popen(argv, env=environment(), stderr=subprocess.PIPE, text=True) as process:
        try:
            end = time.monotonic() + 2 * PATIENCE
            while not _ready(address):
                assert process.poll() is None
                assert time.monotonic() < end
                time.sleep(0.1)
            yield address
            process.terminate()
            _, said = process.communicate(timeout=PATIENCE)
            assert (process.returncode, said) == (0, "")
        finally:
            process.kill()


def _ready(address: str) -> bool:
    try:
        with urlopen(f"http://{address}/readyz", timeout=PATIENCE):
            return True
    except URLError:  # not listening, or 503
        return False


@pytest.mark.slow
def test_alerts_fire_for_what_the_scan_found(scanned: Scanned) -> None:
    """With the annotations filled in."""
    deadline = time.monotonic() + 60
    components = {each["component"] or f"namespace {each['namespace']}" for each in scanned.report["components"]
                  if each["honours"] == "no" and each["standing"] != "user"}  # fmt: skip
    assert components
    found: list[dict[str, Any]] = []
    while time.monotonic() < deadline:
        found = scanned.server.alerts()
        if {"ClusterTLSConfigurationNotApplied", "AdhereListenerNotCompliant", "AdhereScanIncomplete"} <= {
            each["labels"]["alertname"] for each in found
        }:
            break
        time.sleep(0.1)
    states = {(each["labels"]["alertname"], each["state"]) for each in found}
    assert states == {
        ("ClusterTLSConfigurationNotApplied", "firing"),
        ("AdhereListenerNotCompliant", "firing"),
        ("AdhereScanIncomplete", "pending"),  # for an hour
        ("AdhereCertificateExpiring", "firing"),
    }
    follows_not = {each["labels"]["component"] for each in found if each["labels"]["alertname"].startswith("Cluster")}
    assert follows_not == components
    texts = [text for each in found for text in each["annotations"].values()]
    assert not [text for text in texts if "{{" in text or "error expanding" in text or "<no value>" in text]


@pytest.mark.slow
def test_the_panels_have_the_numbers_of_the_report(scanned: Scanned) -> None:
    summary = scanned.report["summary"]
    assert scanned.value("Endpoints that fail") == summary["outcomes"]["fail"] > 0
    assert scanned.value("Endpoints that are inconclusive") == summary["outcomes"]["inconclusive"] > 0
    assert scanned.value("Exit code") == scanned.report["exit"]["code"]
    assert scanned.value("Complete") == 0
    assert 0 <= scanned.value("Age of the last scan") < 600
    assert scanned.value("Since the last change of the profile") > 86400
    assert scanned.value("Components that do not follow") == 2
    assert 0 < scanned.value("Ready") <= 1
    outcomes = {key: value for key, value in summary["outcomes"].items() if value}
    assert {key: value for key, value in scanned.by("Endpoints by outcome", "outcome").items() if value} == outcomes
    assert scanned.by("Coverage", "state")["discovered"] == scanned.report["coverage"]["discovery"]["discovered"]
    assert sum(scanned.by("Endpoints by reach", "reach").values()) == summary["endpoints"]
    assert len(scanned.panel("Served certificates that expire first")) == 20


@pytest.mark.slow
def test_each_panel_shows_something_of_the_demo(scanned: Scanned) -> None:
    assert not [title for title in EXPRESSIONS if not scanned.panel(title)]


@pytest.mark.slow
def test_without_metrics_no_panel_says_that_all_is_well(tmp_path: Path) -> None:
    """What is unknown is empty, and an alert says that there is no scan."""
    if why := prometheus.missing():
        pytest.skip(why)
    (tmp_path / "adhere.prom").write_text("")
    with prometheus.scraping(tmp_path / "adhere.prom", tmp_path, rules(tmp_path / "r.yml", annotations=True)) as server:
        assert not [title for title, each in EXPRESSIONS.items() if server.query(each.replace("$job", ".*"))]
        deadline = time.monotonic() + 30
        while not (found := server.alerts()) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert [each["labels"]["alertname"] for each in found] == ["AdhereScanStale"]


# --- dashboard --------------------------------------------------------------------------------------------------------


def test_the_structure_of_the_dashboard() -> None:
    """Grafana is not at hand: ids and titles are unique, nothing overlaps, and each panel uses the variables."""
    every = DASHBOARD["panels"]
    assert len({each["id"] for each in every}) == len(every)
    assert len(EXPRESSIONS) == len(PANELS)
    cells = set[tuple[int, int]]()
    for each in every:
        at = each["gridPos"]
        own = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not own & cells, each["title"]
        assert at["x"] + at["w"] <= 24
        cells |= own
    for each in PANELS:
        assert each["type"] in {"stat", "table", "timeseries", "bargauge"}
        assert each["fieldConfig"]["defaults"]["unit"] in {"none", "s", "percentunit"}
        for target in each["targets"]:
            assert target["datasource"] == each["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
            assert len(FAMILY.findall(target["expr"])) == target["expr"].count('job=~"$job"'), each["title"]
    assert [each["name"] for each in DASHBOARD["templating"]["list"]] == ["datasource", "job"]
