"""``adhere diff`` on saved scans and reports of the demo's cluster."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree

import pytest

from tests.cli.calling import Call, assert_refused
from tests.cli.conftest import Place

GATEWAY = """apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec:
  gatewayClassName: any
  tls: {frontend: {default: {validation: {mode: AllowInsecureFallback, caCertificateRefs: []}}}}
  listeners: [{name: https, port: 443, protocol: HTTP}]
"""


@pytest.fixture
def report(place: Place, tmp_path: Path) -> Path:
    path = tmp_path / "report.json"
    path.write_text(place.answer.out)
    return path


def test_a_saved_scan_and_its_report_are_the_same(call: Call, place: Place, report: Path) -> None:
    answer = call("diff", report, place.kept, "--format", "json", "--fail-on-new=low")
    told = json.loads(answer.out)
    assert (answer.code, told["findings"], told["endpoints"], told["gaps"]) == (0, [], [], [])
    assert told["summary"]["findings"]["unchanged"] > 5
    assert told["old"]["started"] == told["new"]["started"]


def test_a_new_failure_decides_only_with_the_option(call: Call, place: Place, report: Path, tmp_path: Path) -> None:
    document = json.loads(report.read_text())
    before = tmp_path / "before.json"
    for row in document["endpoints"]:
        for one in row["findings"]:
            if one["rule"] == "cert-expired" and one["verdict"] == "fail":
                one["verdict"], one["status"] = "pass", "ok"
    before.write_text(json.dumps(document))
    assert call("diff", before, place.kept).code == 0
    answer = call("diff", before, place.kept, "--fail-on-new")
    assert answer.code == 1
    assert "NEW FINDINGS  (1)" in answer.out
    assert answer.out.splitlines()[-1].startswith("exit 1: 1 new or worse finding at or above medium")
    assert call("diff", place.kept, before, "--fail-on-new").code == 0


def test_what_lint_found(call: Call, tmp_path: Path) -> None:
    manifest, old, new = tmp_path / "a.yaml", tmp_path / "old.json", tmp_path / "new.json"
    manifest.write_text(GATEWAY)
    call("lint", manifest, "--format", f"json={old}")
    manifest.write_text(f"# one line more\n\n{GATEWAY}")
    call("lint", manifest, "--format", f"json={new}")
    answer = call("diff", old, new, "--fail-on-new=low")
    assert (answer.code, "1 unchanged" in answer.out or "0 new" in answer.out) == (0, True), answer.out
    manifest.write_text(GATEWAY.replace("AllowInsecureFallback", "AllowValidOnly"))
    call("lint", manifest, "--format", f"json={new}")
    assert call("diff", new, old, "--fail-on-new=low").code == 1


def test_a_scan_and_a_lint_are_not_compared(call: Call, place: Place, tmp_path: Path) -> None:
    manifest, linted = tmp_path / "a.yaml", tmp_path / "lint.json"
    manifest.write_text(GATEWAY)
    call("lint", manifest, "--format", f"json={linted}")
    assert_refused(call("diff", place.kept, linted), "adhere.lint/v1")


def test_a_scan_without_its_coverage_is_refused(call: Call, place: Place, tmp_path: Path) -> None:
    kept = copytree(place.kept, tmp_path / "kept")
    head = json.loads((kept / "scan.json").read_text())
    del head["coverage"]
    (kept / "scan.json").write_text(json.dumps(head))
    assert_refused(call("diff", place.kept, kept), "an earlier release saved it")


def test_new_results_that_judged_nothing_do_not_pass_the_gate(call: Call, report: Path, tmp_path: Path) -> None:
    nothing = tmp_path / "nothing.json"
    document = json.loads(report.read_text())
    document["endpoints"], document["findings"] = [], []
    document["coverage"] |= {"endpoints": 0, "judged": 0, "not_judged": 0}
    nothing.write_text(json.dumps(document))
    answer = call("diff", report, nothing, "--fail-on-new")
    assert answer.code == 3
    assert "nothing was judged" in answer.out


def test_objects_whose_rules_are_all_off_are_not_judged(call: Call, tmp_path: Path) -> None:
    manifest, policy, out = tmp_path / "a.yaml", tmp_path / "policy.yaml", tmp_path / "lint.json"
    manifest.write_text(GATEWAY)
    policy.write_text('apiVersion: adhere/v1\nkind: ScanPolicy\nrules: {"*": off}\n')
    assert call("lint", manifest, "--policy", policy, "--format", f"json={out}").code == 4
    assert json.loads(out.read_text())["objects"] == []
    before = tmp_path / "before.json"
    call("lint", manifest, "--format", f"json={before}")
    assert call("diff", before, out, "--fail-on-new").code == 3
    assert call("baseline", out, "-").code == 2
