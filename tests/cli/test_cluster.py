"""The command line on a cluster: the demo's, through its API, to the exit code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from scanner.demo.cluster import DemoCluster, demo_cluster
from scanner.demo.surprises import surprises
from tests.cli.calling import Call, Called, called
from tests.serving import serving

PATIENT = ("--timeout", "3", "--allow-loopback", "--quiet")


@dataclass(frozen=True, slots=True)
class Place:
    """A cluster that is alive, the kubeconfig that leads there, and a scan of it that was kept."""

    cluster: DemoCluster
    kubeconfig: Path
    kept: Path
    answer: Called

    @property
    def document(self) -> dict[str, Any]:
        return self.answer.document


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    directory = tmp_path_factory.mktemp("cluster")
    with serving(demo_cluster) as cluster:
        kubeconfig = cluster.kubeconfig(directory / "kubeconfig")
        kept = directory / "kept"
        arguments = ("scan", "--cluster", "--kubeconfig", kubeconfig, "--save", kept, "--format", "json", *PATIENT)
        yield Place(cluster, kubeconfig, kept, called(*arguments))


def rows(document: dict[str, Any], owner: str) -> list[dict[str, Any]]:
    return [row for row in document["endpoints"] if row["owner"]["name"] == owner]


def test_it_finds_and_judges_what_listens(place: Place) -> None:
    assert place.answer.code == 1, place.answer.err
    document = place.document
    assert document["cluster"]["distribution"] == "openshift"
    assert document["cluster"]["version"].startswith("4.22.")
    (metrics,) = rows(document, "metrics-server")
    assert (metrics["component"], metrics["standing"], metrics["binding"]) == (
        "metrics-server", "platform", "must-follow",
    )  # fmt: skip
    assert metrics["expected"]["profile"] == "openshift/4.22/modern"
    (version,) = [finding for finding in metrics["findings"] if finding["rule"] == "tls-version"]
    assert version["verdict"] == "fail"
    assert "APIServer/cluster spec.tlsSecurityProfile" in version["fix"]


def test_etcd_requires_a_client_certificate_and_is_judged(place: Place) -> None:
    (client,) = [row for row in rows(place.document, "etcd") if row["port"] == 2379]
    assert (client["verdict"], client["reach"]) == ("pass", "client-certificate-required")


def test_every_listener_is_judged_as_its_story_says(place: Place) -> None:
    assert surprises(place.document["endpoints"], place.cluster.speakers) == []


def test_the_report_says_what_nobody_saw(place: Place) -> None:
    seen = place.document["coverage"]["discovery"]
    assert place.document["coverage"]["complete"] is False
    (gap,) = [each for each in seen["unreadable"] if each["resource"] == "networkpolicies.networking.k8s.io"]
    assert gap["gap"] == "forbidden"
    assert seen["discovered"] == seen["probed"] + seen["not_reached"] + sum(each["count"] for each in seen["left_out"])
    assert seen["probed"] == len(place.document["endpoints"])


def test_replicas_that_disagree_are_a_finding_of_their_own(place: Place) -> None:
    (finding,) = [each for each in place.document["findings"] if each["rule"] == "replicas-differ"]
    assert "Deployment/shop/checkout" in finding["about"]


def test_nothing_outside_of_the_cluster_is_dialled(place: Place) -> None:
    (row,) = [row for row in place.document["endpoints"] if row["address"] == "198.51.100.7"]
    assert (row["verdict"], row["observed"]["connections"]) == ("inconclusive", 0)
    assert "--allow-external" in row["detail"]


def test_ids_have_no_address_and_no_pod_hash(place: Place) -> None:
    for row in place.document["endpoints"]:
        if row["owner"]["kind"] in ("Deployment", "DaemonSet", "StaticPod", "Node"):
            assert row["address"] not in row["id"]
            assert row["pod"] is None or row["pod"]["name"] not in row["id"] or row["owner"]["kind"] == "StaticPod"


def test_loopback_is_not_dialled_unless_the_cluster_is_here(call: Call, place: Place) -> None:
    answer = call("scan", "--kubeconfig", place.kubeconfig, "--format", "json", "--quiet")
    assert answer.code == 3
    assert answer.document["summary"]["connections"] == 0
    assert answer.document["endpoints"]


def test_what_is_included_and_excluded(call: Call, place: Place) -> None:
    chosen = ("--include", "namespace=openshift-etcd", "--include", "component=kubelet", "--exclude", "port=2380")
    answer = call("scan", "--kubeconfig", place.kubeconfig, "--format", "json", *PATIENT, *chosen)
    assert {row["component"] for row in answer.document["endpoints"]} == {"etcd", "kubelet"}
    assert 2380 not in {row["port"] for row in answer.document["endpoints"]}
    assert {each["reason"] for each in answer.document["coverage"]["discovery"]["left_out"]} >= {
        "excluded",
        "not included",
    }


def test_what_a_route_passes_through_to_is_known_also_where_it_is_not_asked(call: Call, place: Place) -> None:
    only = ("--include", "kind=Route,name=checkout")
    answer = call("scan", "--kubeconfig", place.kubeconfig, "--format", "json", *PATIENT, *only)
    frontends = [row for row in answer.document["endpoints"] if row["segment"] == "Frontend"]
    assert frontends
    assert {row["expected"]["profile"] for row in frontends} == {"openshift/4.22/modern"}


def test_a_port_forward_reaches_what_listens_on_loopback(call: Call, place: Place) -> None:
    (hidden,) = [speaker for speaker in place.cluster.unasked if speaker.forwarded]
    namespace, pod = hidden.forwarded or ("", "")
    only = ("--include", f"namespace={namespace},port={hidden.port}")
    direct = call("scan", "--kubeconfig", place.kubeconfig, "--format", "json", *PATIENT, *only)
    assert direct.document["endpoints"] == []
    through = call(
        "scan", "--kubeconfig", place.kubeconfig, "--format", "json", "--via", "port-forward", *PATIENT, *only
    )
    (row,) = through.document["endpoints"]
    assert row["pod"]["name"] == pod
    assert (row["verdict"], row["reach"]) == (hidden.told.verdict, hidden.told.reach)


# --- several clusters -------------------------------------------------------------------------------------------------


def test_several_contexts_are_one_report(call: Call, place: Place, tmp_path: Path) -> None:
    config = yaml.safe_load(place.kubeconfig.read_text())
    config["contexts"].append({**config["contexts"][0], "name": "second"})
    path = tmp_path / "two"
    path.write_text(json.dumps(config))
    first = config["contexts"][0]["name"]
    only = ("--include", "namespace=openshift-etcd,port=2379")
    answer = call(
        "scan", "--kubeconfig", path, "--contexts", f"{first},second", "--save", tmp_path / "kept",
        "--format", "json", *PATIENT, *only,
    )  # fmt: skip
    assert answer.code in (0, 3), answer.err
    assert [each["name"] for each in answer.document["cluster"]["clusters"]] == [first, "second"]
    assert {row["id"].partition("/")[0] for row in answer.document["endpoints"]} == {first, "second"}
    assert {row["verdict"] for row in answer.document["endpoints"]} == {"pass"}
    again = call("whatif", tmp_path / "kept", "--adherence", "Legacy", "--format", "json")
    assert again.code == 0
    assert json.loads(again.out)["unchanged"] == 2


# --- judged again -----------------------------------------------------------------------------------------------------


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


def test_a_saved_snapshot_is_scanned_like_the_cluster(call: Call, place: Place) -> None:
    answer = call("scan", "--snapshot", place.kept / "snapshot", "--format", "json", *PATIENT)
    now = {row["instance"]: row["verdict"] for row in answer.document["endpoints"]}
    assert now == {row["instance"]: row["verdict"] for row in place.document["endpoints"]}


# --- explained --------------------------------------------------------------------------------------------------------


def test_pools_with_different_configurations_are_explained_apart(call: Call, place: Place) -> None:
    answer = call("explain", "kubelet", "--snapshot", place.kept / "snapshot")
    assert answer.code == 0
    modern, intermediate = answer.out.split("\n\nNode/kubelet:10250\n")
    assert "owes        openshift/4.22/modern" in modern
    assert "owes        openshift/4.22/intermediate" in intermediate
    assert "KubeletConfig/worker-intermediate spec.tlsSecurityProfile: Intermediate" in intermediate
    assert "over APIServer/cluster" in intermediate


@pytest.mark.parametrize("name", ["shop/checkout", "Route/shop/checkout", "checkout.apps.demo.example", "etcd"])
def test_a_listener_has_many_names(call: Call, place: Place, name: str) -> None:
    assert call("explain", name, "--snapshot", place.kept / "snapshot").code == 0


def test_a_name_that_nobody_has(call: Call, place: Place) -> None:
    answer = call("explain", "shop/chekout", "--snapshot", place.kept / "snapshot")
    assert (answer.code, answer.out) == (2, "")
    assert "no listener of the cluster is 'shop/chekout'" in answer.err


# --- mistakes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("a", "--cluster"), "targets and a cluster contradict each other"),
        (("a", "--include", "port=1"), "--include is about a cluster"),
        (("a", "--no-secrets"), "--no-secrets is about a cluster"),
        (("--cluster", "--snapshot", "x"), "--snapshot and a cluster contradict each other"),
        (("--snapshot", "/nonexistent"), "there is no such directory"),
        (("--kubeconfig", "/nonexistent"), "/nonexistent"),
        (("--cluster", "--exclude", "colour=red"), "is no selector"),
        (("--snapshot", "/tmp", "--via", "port-forward"), "--via port-forward needs the cluster"),
    ],
)
def test_a_mistake_is_told_and_nothing_is_dialled(call: Call, arguments: tuple[str, ...], complaint: str) -> None:
    answer = call("scan", *arguments)
    assert answer.code == 2
    assert complaint in answer.err
    assert "Traceback" not in answer.err


def test_an_api_server_that_is_not_there_is_one_clear_line(call: Call, place: Place, tmp_path: Path) -> None:
    config = yaml.safe_load(place.kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    path = tmp_path / "config"
    path.write_text(json.dumps(config))
    answer = call("scan", "--kubeconfig", path)
    assert answer.code == 2
    assert "127.0.0.1:1" in answer.err
