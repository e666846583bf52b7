"""``adhere doctor`` and ``adhere explain --bug``: on the demo's cluster, what was saved of it, and a must-gather."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from scanner.cli import COMMANDS, adhere
from scanner.doctor import STEPS
from scanner.model.saved_scan import HEAD
from tests.cli.calling import PATIENT, ROOT, Call, assert_refused, context
from tests.expect.declared_objects import made
from tests.shared import LiveDemo, Shared

SUPPORT = (ROOT / "docs/support.md").read_text()


@dataclass(frozen=True, slots=True)
class Place:
    """A cluster that is alive, and two of its components as a scan saw them."""

    kubeconfig: Path
    directory: Path

    @property
    def kept(self) -> Path:
        return self.directory / "kept"

    @property
    def snapshot(self) -> Path:
        return self.directory / "snapshot"


@pytest.fixture
def place(shared: Shared, demo: LiveDemo, call: Call) -> Place:
    def make(directory: Path) -> None:
        found = Place(demo.kubeconfig, directory)
        only = "component=metrics-server,component=kubelet,component=gateway,kind=Deployment,kind=Node"
        scanned = call(
            "scan", "--cluster", "--kubeconfig", found.kubeconfig, "--save", found.kept, "--include", only, *PATIENT
        )
        assert scanned.code == 1, scanned.err
        saved = call("snapshot", "save", found.snapshot, "--all", "--kubeconfig", found.kubeconfig)
        assert saved.code == 0, saved.err

    return Place(demo.kubeconfig, shared.once("doctor", make))


def test_the_component_that_is_stuck_is_found(call: Call, place: Place) -> None:
    """The demo's story: metrics-server stayed at Intermediate although adherence is strict and the profile Modern."""
    answer = call("doctor", "--kubeconfig", place.kubeconfig, "--results", place.kept)
    assert answer.code == 1, answer.err
    assert "the configuration does not reach 1 of them" in answer.out
    assert re.search(r"^  metrics-server +stopped at step 8 \(served configuration\)$", answer.out, re.MULTILINE)
    assert "does not follow its profile at 1 of 1 address" in answer.out
    assert "next: check what is not known in step 6 and 7; without a fault there, this is a bug" in answer.out
    assert "adhere explain metrics-server --bug --results DIR" in answer.out
    assert "adhere scan --cluster --allow-loopback --include component=metrics-server" in answer.out
    assert "oc rollout status -n openshift-monitoring deployment/metrics-server" in answer.out
    assert "warnings about TLS, certificates or configuration in openshift-monitoring: 1" in answer.out
    assert "Service/metrics-server ProbeError (3 times): tls: server selected unsupported protocol" in answer.out


def test_a_step_that_could_not_be_checked_is_named_before_a_bug_is_claimed(call: Call, place: Place) -> None:
    answer = call("doctor", "metrics-server", "--snapshot", place.snapshot, "--results", place.kept)
    assert answer.code == 1, answer.err
    assert "next: check what is not known in step 6 and 7; without a fault there, this is a bug" in answer.out


def test_its_operators_have_seen_the_profile(call: Call, place: Place) -> None:
    answer = call("doctor", "kube-apiserver", "--kubeconfig", place.kubeconfig)
    assert answer.code == 0, answer.err
    assert "KubeAPIServer/cluster spec.observedConfig.servingInfo: VersionTLS13" in answer.out
    assert "not checked: " in answer.out
    assert "8 served configuration" in answer.out


def test_a_saved_scan_is_enough(call: Call, place: Place) -> None:
    """Without a cluster it is the one of the results. Operators' configurations are not in it; what is served is."""
    kubelet = call("doctor", "kubelet", "--results", place.kept)
    assert (kubelet.code, "follows its profile at 3 addresses" in kubelet.out) == (0, True)
    assert call("doctor", "metrics-server", "--results", place.kept).code == 1
    registry = call("doctor", "openshift-apiserver", "--results", place.kept)
    assert registry.code == 3, registry.out
    assert "was not read" in registry.out


def test_a_snapshot_has_all_objects(call: Call, place: Place) -> None:
    answer = call("doctor", "--snapshot", place.snapshot)
    assert answer.code == 0, answer.out
    assert "the configuration does not reach 0 of them" in answer.out


def test_an_operator_that_is_behind_is_named(call: Call, place: Place, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(place.snapshot, copy)
    file = copy / "objects/kubeschedulers.operator.openshift.io.json"
    file.write_text(file.read_text().replace("VersionTLS13", "VersionTLS12"))
    answer = call("doctor", "--snapshot", copy)
    assert answer.code == 1
    assert re.search(
        r"^  kube-scheduler +stopped at step 3 \(observed configuration of the operator\)$", answer.out, re.MULTILINE
    )
    assert "APIServer/cluster requires TLSv1.3" in answer.out


def test_a_must_gather_has_the_config_maps(call: Call, tmp_path: Path) -> None:
    namespace, name = "openshift-kube-apiserver-operator", "kube-apiserver-operator"
    config = "config.openshift.io/v1"
    labels = {"pod-template-hash": "7d9f"}
    owners = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{name}-7d9f", "controller": True}]
    injected = {"annotations": {"config.openshift.io/inject-tls": "true"}}
    held = {"config.yaml": "kind: GenericOperatorConfig\nservingInfo:\n  minTLSVersion: VersionTLS12\n"}
    operator = made(
        "Pod", namespace, f"{name}-7d9f-x2x", metadata={"labels": labels, "ownerReferences": owners},
        spec={"containers": [{"name": "operator", "ports": [{"containerPort": 8443}]}]},
        status={"phase": "Running", "podIP": "10.128.0.7", "podIPs": [{"ip": "10.128.0.7"}]},
    )  # fmt: skip
    event = made(
        "Event", namespace, "a", involvedObject={"kind": "Pod", "name": "operator\x1b[31m"},
        type="Warning", reason="Failed", message="x509: bad\n::error::",
    )  # fmt: skip
    modern = {"tlsSecurityProfile": {"type": "Modern", "modern": {}}}
    release = {"desired": {"version": "4.22.3"}}
    gathered: dict[str, Any] = {
        "cluster-scoped-resources/config.openshift.io/apiservers/cluster.yaml": made(
            "APIServer", None, "cluster", config, spec=modern
        ),
        "cluster-scoped-resources/config.openshift.io/clusterversions/version.yaml": made(
            "ClusterVersion", None, "version", config, status=release
        ),
        f"namespaces/{namespace}/core/configmaps/config.yaml": made(
            "ConfigMap", namespace, "config", metadata=injected, data=held
        ),
        f"namespaces/{namespace}/pods/operator/operator.yaml": operator,
        f"namespaces/{namespace}/core/events.yaml": {"apiVersion": "v1", "kind": "EventList", "items": [event]},
    }
    for file, each in gathered.items():
        path = tmp_path / "must-gather" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(each))
    answer = call("doctor", "kube-apiserver-operator", "--snapshot", tmp_path / "must-gather")
    assert answer.code == 1, answer.err
    assert "stopped at step 4 (ConfigMaps with the injected profile)" in answer.out
    assert "data[config.yaml] servingInfo: VersionTLS12" in answer.out
    assert "Failed: x509: bad" in answer.out
    assert "\x1b" not in answer.out
    assert not re.search(r"^::", answer.out, re.MULTILINE)


def test_an_unknown_component_is_said(call: Call, place: Place) -> None:
    assert_refused(call("doctor", "kube-apisever", "--snapshot", place.snapshot), "kube-apiserver")
    assert "components here: " in call("doctor", "xyz", "--snapshot", place.snapshot).err


def test_results_of_another_cluster_prove_nothing(call: Call, place: Place, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(place.snapshot, other)
    file = other / "objects/clusterversions.config.openshift.io.json"
    file.write_text(re.sub(r'"clusterID": "[^"]*"', '"clusterID": "another"', file.read_text()))
    assert_refused(call("doctor", "--snapshot", other, "--results", place.kept), "the saved scan is of")


def test_results_of_targets_have_no_components(call: Call, tmp_path: Path) -> None:
    (tmp_path / HEAD).write_text(json.dumps({"schema": "adhere.saved/v1"}))
    assert_refused(call("doctor", "--results", tmp_path), "no components")


@pytest.mark.parametrize(
    ("command", "end"),
    [
        ("doctor --results KEPT", "exit 1: the configuration does not reach 1 component (metrics-server); not"),
        ("doctor --results KEPT metrics-server", "exit 1: the configuration does not reach 1 component (metri"),
        (
            "doctor --results KEPT kube-apiserver",
            "exit 3: not complete: the result is unknown for 1 component (kube-apiserver)",
        ),
        ("doctor --results KEPT kubelet", "exit 0: no problem found in 1 component"),
        ("whatif KEPT --profile old", "exit 0: nothing would newly fail or become inconclusive"),
        ("whatif KEPT --adherence Legacy", "exit 0: nothing would newly fail or become inconclusive"),
        ("explain kubelet --snapshot SNAPSHOT", "exit 0: 2 listeners explained, nothing judged"),
        ("certs --snapshot SNAPSHOT", "exit 0: no finding at or above medium"),
        ("certs --snapshot SNAPSHOT --fail-on never", "exit 0: findings are not counted (--fail-on never)"),
        ("lint SNAPSHOT", "exit 1: 10 findings ("),
    ],
)
def test_every_text_ends_with_the_exit_code_and_its_reasons(call: Call, place: Place, command: str, end: str) -> None:
    paths = {"KEPT": place.kept, "SNAPSHOT": place.snapshot}
    answer = call(*(paths.get(word, word) for word in command.split()))
    last = answer.out.splitlines()[-1]
    assert last.startswith(end)
    assert last.startswith(f"exit {answer.code}: ")


# --- explain --bug ---------------------------------------------------------------------------------------------------


def test_the_bug_report_of_the_component_that_is_stuck(call: Call, place: Place) -> None:
    answer = call(
        "explain", "openshift-monitoring/metrics-server", "--bug",
        "--kubeconfig", place.kubeconfig, "--results", place.kept,
    )  # fmt: skip
    assert answer.code == 0, answer.err
    for part in (
        "# `metrics-server` does not follow the required TLS profile",
        "`openshift 4.22.3`",
        "`StrictAllComponents`",
        "`APIServer/cluster spec.tlsSecurityProfile: Modern`",
        "**tls-version**",
        "adhere ask tls://",
        "It stopped at step 8 (served configuration).",
    ):
        assert part in answer.out
    offline = call("explain", "openshift-monitoring/metrics-server", "--bug", "--results", place.kept)
    assert offline.code == 0
    assert offline.out.partition("## Where")[0] == answer.out.partition("## Where")[0]


@pytest.mark.parametrize(
    ("listener", "reason"),
    [
        ("kubelet", "follows its profile in the saved scan"),
        ("etcd", "did not probe it"),
        ("shop/checkout", "no component of the platform"),
        ("nobody/nothing", "no listener of the cluster matches"),
    ],
)
def test_where_there_is_no_bug_it_says_why(call: Call, place: Place, listener: str, reason: str) -> None:
    assert_refused(call("explain", listener, "--bug", "--results", place.kept), reason)


def test_what_is_missing_is_said(call: Call, place: Place) -> None:
    assert_refused(
        call("explain", "kubelet", "--bug", "--snapshot", place.snapshot), "--results is missing", "--save DIR"
    )
    assert call("explain", "kubelet", "--snapshot", place.snapshot, "--results", place.kept).code == 2


# --- rbac, documents -------------------------------------------------------------------------------------------------


def test_the_role_of_the_doctor_is_apart(call: Call) -> None:
    base, both = call("rbac").out, call("rbac", "--with", "doctor").out
    assert "openshiftapiservers" not in base
    assert "events" not in base
    assert both.startswith(base)
    (role,) = yaml.safe_load_all(both.removeprefix(base))
    allowed = {name for rule in role["rules"] for name in rule["resources"]}
    assert {"openshiftapiservers", "events"} <= allowed
    assert "kubeapiservers" not in allowed
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"get", "list"}


@pytest.mark.parametrize("line", re.findall(r"^\$ (adhere .*)$", SUPPORT, re.MULTILINE))
def test_every_command_of_the_document_is_one(line: str) -> None:
    _, name, *arguments = shlex.split(line, comments=True)
    command = adhere.get_command(click.Context(adhere), name)
    assert name in COMMANDS
    assert command is not None
    command.make_context(name, arguments, parent=context())


def test_the_document_has_every_step_and_code() -> None:
    told = re.findall(r"^\| (\d) \| ([^|]+?) \|", SUPPORT, re.MULTILINE)
    assert told == [(str(number), each.name) for number, each in enumerate(STEPS, start=1)]
