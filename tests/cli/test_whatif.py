"""``adhere whatif`` on the demo's cluster: what a change would break, and the exit code that says so."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree

import pytest

from scanner.probe.sslyze_pool import available
from tests.cli.calling import PATIENT, POLICY, Call, assert_refused
from tests.cli.conftest import Farm, Place


def test_what_if_nothing_changed(call: Call, place: Place) -> None:
    answer = call("whatif", place.kept, "--format", "json")
    told = json.loads(answer.out)
    assert (answer.code, told["changes"]) == (0, [])
    assert told["unchanged"] == len(place.document["endpoints"])


def test_what_would_newly_pass(call: Call, place: Place) -> None:
    answer = call("whatif", place.kept, "--profile", "intermediate")
    assert answer.code == 0
    assert "WOULD NEWLY PASS" in answer.out
    assert "metrics-server" in answer.out
    assert "openshift/4.22/intermediate" in answer.out  # the cluster's own release


def test_what_would_newly_fail(call: Call, place: Place, tmp_path: Path) -> None:
    policy = tmp_path / "adhere.yaml"
    policy.write_text("apiVersion: adhere/v1\nkind: ScanPolicy\nuserWorkloads: enforced\n")
    answer = call("whatif", place.kept, "--policy", policy, "--format", "json")
    assert answer.code == 1
    failing = {change["owner"]["name"] for change in json.loads(answer.out)["changes"] if change["after"] == "fails"}
    assert "web" in failing


def test_what_is_out_of_scope_then_is_counted_and_decides_nothing(call: Call, place: Place, tmp_path: Path) -> None:
    policy = tmp_path / "adhere.yaml"
    policy.write_text(f"{POLICY}scope: {{exclude: [{{components: [metrics-server, kubelet]}}]}}\n")
    answer = call("whatif", place.kept, "--policy", policy)
    assert answer.code == 0, answer.out
    assert "would no longer be scanned: 4" in answer.out
    assert "WOULD NEWLY" not in answer.out
    assert "nothing would newly fail or pass" in answer.out


def test_what_only_the_new_policy_would_let_a_scan_ask_is_counted(call: Call, place: Place, tmp_path: Path) -> None:
    narrow = tmp_path / "narrow.yaml"
    narrow.write_text(f"{POLICY}scope: {{include: [{{components: [etcd]}}]}}\n")
    kept, scanned = tmp_path / "kept", ("--kubeconfig", place.kubeconfig, "--policy", narrow, *PATIENT)
    assert call("scan", *scanned, "--save", kept).code == 3
    wide = tmp_path / "wide.yaml"
    wide.write_text(f"{POLICY}scope: {{include: [{{components: [etcd, kubelet]}}]}}\n")
    answer = call("whatif", kept, "--policy", wide)
    assert answer.code == 0
    assert "would be scanned too, and have not been probed yet: 3" in answer.out


@pytest.mark.parametrize(
    ("lines", "rule"),
    [
        ("userWorkloads: enforced\nscope: {include: [{names: [checkout]}]}", "replicas-differ"),
        *(
            pytest.param(lines, rule, marks=pytest.mark.slow)
            for lines, rule in (
                ("require: {minEndpoints: 1000}", "require-endpoints"),
                ("require: {maxInconclusive: 0}", "require-determined"),
                (
                    "waivers: [{rule: tls-version, select: {names: [x]}, reason: r, owner: o, expires: 2999-12-31}]",
                    "waiver-unused",
                ),
            )
        ),
    ],
)
def test_a_rule_on_the_whole_scan_that_would_newly_fail_decides(
    call: Call, place: Place, tmp_path: Path, lines: str, rule: str
) -> None:
    policy = tmp_path / "adhere.yaml"
    policy.write_text(f"{POLICY}{lines}\n")
    answer = call("whatif", place.kept, "--policy", policy, "--format", "json")
    assert answer.code == 1
    assert rule in {each["rule"] for each in json.loads(answer.out)["findings"]["failing"]}


def test_what_is_required_is_judged_by_the_adherence_that_is_assumed(call: Call, place: Place, tmp_path: Path) -> None:
    policy = tmp_path / "adhere.yaml"
    policy.write_text(f"{POLICY}require: {{adherence: Strict}}\n")
    assert call("whatif", place.kept, "--policy", policy).code == 0
    answer = call("whatif", place.kept, "--policy", policy, "--adherence", "Legacy")
    assert answer.code == 1
    assert "require-adherence" in answer.out


def test_a_custom_profile_that_a_reader_refuses_is_found_again(call: Call, place: Place, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    copytree(place.kept, kept)
    findings = kept / "findings.jsonl"
    lines = findings.read_text().splitlines(keepends=True)
    findings.write_text("".join(line for line in lines if "replicas-differ" not in line))
    answer = call("whatif", kept, "--format", "json")
    assert answer.code == 0  # readiness breaks nothing, said or not
    findings.write_text("{}\n")
    assert_refused(call("whatif", kept), "findings.jsonl:1")


def test_verdicts_that_would_be_lost(call: Call, farm: Farm, tmp_path: Path) -> None:
    """A scan for a verdict asks only what its profile forbids: by a stricter one nobody can tell what was allowed."""
    kept, old = tmp_path / "kept", ("--profile", "old", "--mode", "verdict")
    assert call("scan", farm["intermediate-rsa"].target, "--ca", farm.ca, *old, "--save", kept, "--quiet").code == 0
    answer = call("whatif", kept, "--profile", "intermediate")
    assert answer.code == 3, answer.out
    assert "COULD NO LONGER BE DETERMINED" in answer.out
    assert "nothing would newly fail or pass" in answer.out


@pytest.mark.parametrize(
    ("arguments", "complaint", "hint"),
    [
        (("--release", "zz"), "--release: unknown OpenShift release 'zz'", "known: 4.3 to 4.23"),
        (("--release", ""), "--release: unknown OpenShift release ''", "known: 4.3 to 4.23"),
        (("--adherence", "Bogus"), "--adherence: unknown value", "StrictAllComponents"),
        (("--adherence", "strictallcomponent"), "--adherence: unknown value", "did you mean 'StrictAllComponents'"),
        (("--adherence", ""), "--adherence: unknown value", "StrictAllComponents"),
    ],
)
def test_what_nobody_can_have_assumed(
    call: Call, place: Place, arguments: tuple[str, ...], complaint: str, hint: str
) -> None:
    assert_refused(call("whatif", place.kept, *arguments), complaint, hint)


@pytest.mark.slow
@pytest.mark.parametrize("value", ["StrictAllComponents", "Strict", "LegacyExternalAPIServerComponentsOnly"])
def test_spellings_of_adherence_that_were_ever_used(call: Call, place: Place, value: str) -> None:
    assert call("whatif", place.kept, "--adherence", value).code == 0


def test_a_waiver_is_kept_with_the_scan(call: Call, place: Place, tmp_path: Path) -> None:
    policy = tmp_path / "adhere.yaml"
    policy.write_text(
        "apiVersion: adhere/v1\nkind: ScanPolicy\nwaivers:\n"
        "  - rule: tls-*\n    select: {components: [metrics-server]}\n    reason: next release\n"
        "    owner: monitoring\n    expires: 2999-12-31\n"
    )
    only = ("--include", "component=metrics-server")
    answer = call(
        "scan", "--kubeconfig", place.kubeconfig, "--policy", policy, "--save", tmp_path / "kept",
        "--format", "json", *PATIENT, *only,
    )  # fmt: skip
    (row,) = answer.document["endpoints"]
    assert (row["verdict"], row["status"]) == ("fail", "waived")
    assert answer.code == 3  # nothing counts, and NetworkPolicies could not be read
    policy.unlink()
    assert json.loads(call("whatif", tmp_path / "kept", "--format", "json").out)["changes"] == []


@pytest.mark.slow
def test_what_sslyze_said_is_judged_again(call: Call, farm: Farm, tmp_path: Path) -> None:
    if available() is None:
        pytest.skip("sslyze is not installed")
    kept, asked = tmp_path / "kept", ("--profile", "modern", "--ca", farm.ca, "--confirm", "--deep")
    scanned = call("scan", farm["intermediate-rsa"].target, *asked, "--save", kept, "--format", "json", "--quiet")
    (row,) = scanned.document["endpoints"]
    assert {each["second_opinion"] for each in row["findings"]} >= {"confirmed"}
    assert any(each["rule"] == "vuln-robot" for each in row["findings"])
    same = call("whatif", kept, "--format", "json")
    told = json.loads(same.out)
    assert (same.code, told["changes"], told["unchanged"]) == (0, [], 1)
    (note,) = told["not_judged"]
    assert "sslyze" in note
    text = call("whatif", kept)
    assert "not judged" in text.out
