"""``adhere baseline`` and ``--baseline`` of scan and lint, on the demo's cluster and on manifests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.calling import PATIENT, POLICY, Call, assert_refused
from tests.cli.conftest import Place
from tests.cli.test_diff import GATEWAY

COMPLETE = f"""{POLICY}scope:
  include: [{{components: [metrics-server, kubelet]}}]
  acceptUnreadable: [networkpolicies.networking.k8s.io]
"""


def test_a_gate_on_what_is_new(call: Call, place: Place, tmp_path: Path) -> None:
    policy, report, baseline = tmp_path / "adhere.yaml", tmp_path / "report.json", tmp_path / "baseline.json"
    policy.write_text(COMPLETE)
    scanned = ("scan", "--cluster", "--kubeconfig", place.kubeconfig, "--policy", policy, *PATIENT)
    assert call(*scanned, "--format", f"json={report}").code == 1
    assert call("baseline", report, baseline).code == 0
    kept = tmp_path / "kept"
    again = call(*scanned, "--baseline", baseline, "--save", kept, "--format", "json")
    assert again.code == 0
    told = again.document["summary"]["baseline"]
    assert told == {"known": len(json.loads(baseline.read_text())["findings"]), "new": 0, "absent": 0}
    assert call("diff", report, kept, "--fail-on-new=low").code == 0  # a saved scan is as without a baseline
    document = json.loads(baseline.read_text())
    removed = document["findings"].pop()
    baseline.write_text(json.dumps(document))
    answer = call(*scanned, "--baseline", baseline)
    assert answer.code == 1
    assert answer.out.splitlines()[-1].endswith("known and 1 new")
    assert removed["rule"] in answer.out


def test_no_baseline_of_a_scan_that_is_not_complete(call: Call, place: Place, tmp_path: Path) -> None:
    baseline = tmp_path / "baseline.json"
    baseline.write_text("before")
    assert_refused(call("baseline", place.kept, baseline), "could not be judged")
    assert baseline.read_text() == "before"


def test_a_gate_for_manifests(call: Call, tmp_path: Path) -> None:
    manifest, report, known = tmp_path / "a.yaml", tmp_path / "lint.json", tmp_path / "known.json"
    manifest.write_text(GATEWAY)
    linted = ("lint", manifest, "--accept-undecided", "--fail-on", "low")
    assert call(*linted, "--format", f"json={report}").code == 1
    known.write_text(call("baseline", report, "-", "--accept-undecided").out)
    manifest.write_text(f"# another line\n{GATEWAY}")
    answer = call(*linted, "--baseline", known)
    assert answer.code == 0, answer.out
    assert "known and 0 new" in answer.out.splitlines()[-1]
    manifest.write_text(f"{GATEWAY}---\n{GATEWAY.replace('edge', 'other')}")
    assert call(*linted, "--baseline", known).code == 1


@pytest.mark.parametrize("command", ["scan", "lint"])
def test_a_file_that_is_no_baseline_is_refused_before_the_run(call: Call, tmp_path: Path, command: str) -> None:
    known = tmp_path / "known.json"
    known.write_text("{}")
    assert_refused(call(command, "127.0.0.1:1", "--baseline", known), "not an adhere.baseline/v1")


def test_a_baseline_is_of_one_cluster(call: Call, tmp_path: Path) -> None:
    known = tmp_path / "known.json"
    known.write_text('{"schema": "adhere.baseline/v1", "of": "adhere.scan/v1", "findings": []}')
    assert_refused(call("scan", "--contexts", "one,two", "--baseline", known), "--baseline needs one cluster")
