"""The command line on a cluster: the demo's, through its API, to the exit code."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import trio
import yaml
from trio.testing import MockClock

from scanner.cli import inputs, scan_cluster
from scanner.cli.running import Work
from scanner.config.component_catalogue import load_catalogue
from scanner.demo.cluster import unexpected
from scanner.probe.limits import Gate, Limits
from scanner.values import replace
from tests.cli.calling import PATIENT, POLICY, Call, assert_refused
from tests.cli.conftest import Place
from tests.judge.cases import ENDPOINT

pytestmark = pytest.mark.crypto


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
    assert unexpected(place.document["endpoints"], place.cluster.listeners) == []


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


def test_namespaces_are_short_for_an_included_selector(call: Call, place: Place) -> None:
    command = ("scan", "--kubeconfig", place.kubeconfig, "--format", "json", "--quiet")
    answer = call(*command, "--namespace", "openshift-etcd,openshift-monitoring", "--include", "port=2379")
    assert {row["owner"]["namespace"] for row in answer.document["endpoints"]} == {"openshift-etcd"}
    assert {row["port"] for row in answer.document["endpoints"]} == {2379}
    wide = call(*command, "--namespace", "openshift-etcd", "--namespace", "openshift-monitoring")
    namespaces = {row["owner"]["namespace"] for row in wide.document["endpoints"]}
    assert namespaces == {"openshift-etcd", "openshift-monitoring"}


def test_what_a_route_passes_through_to_is_known_also_where_it_is_not_asked(call: Call, place: Place) -> None:
    only = ("--include", "kind=Route,name=checkout")
    answer = call("scan", "--kubeconfig", place.kubeconfig, "--format", "json", *PATIENT, *only)
    frontends = [row for row in answer.document["endpoints"] if row["segment"] == "Frontend"]
    assert frontends
    assert {row["expected"]["profile"] for row in frontends} == {"openshift/4.22/modern"}


def test_a_port_forward_reaches_what_listens_on_loopback(call: Call, place: Place) -> None:
    (hidden,) = [listener for listener in place.cluster.not_scanned if listener.forwarded]
    namespace, pod = hidden.forwarded or ("", "")
    only = ("--include", f"namespace={namespace},port={hidden.port}")
    direct = call("scan", "--kubeconfig", place.kubeconfig, "--format", "json", *PATIENT, *only)
    assert direct.document["endpoints"] == []
    through = call(
        "scan", "--kubeconfig", place.kubeconfig, "--format", "json", "--via", "port-forward", *PATIENT, *only
    )
    (row,) = through.document["endpoints"]
    assert row["pod"]["name"] == pod
    assert (row["verdict"], row["reach"]) == (hidden.outcome.verdict, hidden.outcome.reach)


# --- several clusters -------------------------------------------------------------------------------------------------


def test_several_contexts_are_one_report(
    call: Call, two: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The demo has one cluster: here each context is taken for one of its own, by its name."""
    monkeypatch.setattr(inputs, "identity", lambda snapshot: snapshot.origin.name)
    path, first = two
    only = ("--include", "namespace=openshift-etcd,port=2379")
    answer = call(
        "scan", "--kubeconfig", path, "--contexts", f"{first},{first}/second", "--save", tmp_path / "kept",
        "--format", "json", *PATIENT, *only,
    )  # fmt: skip
    assert answer.code in (0, 3), answer.err
    assert [each["name"] for each in answer.document["cluster"]["clusters"]] == [first, f"{first}/second"]
    ids = [row["id"] for row in answer.document["endpoints"]]
    assert len(ids) == len(set(ids)) == 2
    assert all(name.startswith(f"{first}/") for name in ids)
    assert {row["verdict"] for row in answer.document["endpoints"]} == {"pass"}
    again = call("whatif", tmp_path / "kept", "--adherence", "Legacy", "--format", "json")
    assert again.code == 0
    assert json.loads(again.out)["unchanged"] == 2
    nothing = tmp_path / "adhere.yaml"
    nothing.write_text(f"{POLICY}scope: {{exclude: [{{endpoints: ['Pod/openshift-etcd/*', 'StaticPod/*']}}]}}\n")
    left = json.loads(call("whatif", tmp_path / "kept", "--policy", nothing, "--format", "json").out)
    assert left["out_of_scope"] == left["only_before"] == 2  # by the id that it has in its own cluster


def test_a_context_that_is_given_twice_is_a_mistake(call: Call, two: tuple[Path, str]) -> None:
    path, first = two
    for contexts in (("--contexts", f"{first},{first}"), ("--context", first, "--context", first)):
        assert_refused(
            call("scan", "--kubeconfig", path, *contexts, *PATIENT), f"the context '{first}' appears 2 times"
        )


def test_two_contexts_that_lead_to_one_cluster_are_a_mistake(call: Call, two: tuple[Path, str]) -> None:
    path, first = two
    assert_refused(
        call("scan", "--kubeconfig", path, "--contexts", f"{first},{first}/second", *PATIENT), "are the same cluster"
    )


# --- manners ----------------------------------------------------------------------------------------------------------


def _limits(monkeypatch: pytest.MonkeyPatch, call: Call, *arguments: object) -> Limits:
    """With which the command line would scan; nothing is dialled."""
    works: list[Work] = []

    def run_and_report(work: Work, *_: object) -> int:
        works.append(work)
        return 0

    monkeypatch.setattr("scanner.cli.scan_work.run_and_report", run_and_report)
    assert call("scan", *arguments).code == 0
    return works[0].settings.limits


def test_a_cluster_is_asked_gently(monkeypatch: pytest.MonkeyPatch, call: Call, place: Place) -> None:
    """200 connections a second, four at once to a node, one at a time to etcd and the API servers."""
    limits = _limits(monkeypatch, call, "--snapshot", place.kept / "snapshot")
    assert (limits.rate, limits.per_host) == (200, 4)
    assert limits.gently == {"etcd", "kube-apiserver", "openshift-apiserver", "oauth-apiserver"}


def test_the_names_of_what_is_asked_gently_are_those_of_the_catalogue(place: Place) -> None:
    found = {row["component"] for row in place.document["endpoints"]}
    shipped = {each.name for name in ("openshift", "kubernetes") for each in load_catalogue(name).components}
    assert shipped >= scan_cluster.GENTLY
    assert found >= {"etcd", "kube-apiserver", "openshift-apiserver"}


def test_whoever_names_a_rate_gets_it_and_is_gentle_all_the_same(
    monkeypatch: pytest.MonkeyPatch, call: Call, place: Place
) -> None:
    limits = _limits(monkeypatch, call, "--snapshot", place.kept / "snapshot", "--rate", "7", "--per-host", "2")
    assert (limits.rate, limits.per_host) == (7, 2)
    assert limits.gently == scan_cluster.GENTLY


def test_a_list_of_targets_has_no_rate(monkeypatch: pytest.MonkeyPatch, call: Call) -> None:
    limits = _limits(monkeypatch, call, "127.0.0.1:1")
    assert (limits.rate, limits.gently) == (None, frozenset())


async def test_etcd_is_asked_once_at_a_time_and_others_four_times(autojump_clock: MockClock) -> None:
    gate = Gate(scan_cluster.gentle(Limits()))
    busy, most = Counter[str | None](), Counter[str | None]()

    async def ask(component: str | None) -> None:
        async with gate.host(replace(ENDPOINT, component=component, node="master-0")):
            busy[component] += 1
            most[component] = max(most[component], busy[component])
            await trio.sleep(1)
            busy[component] -= 1

    async with trio.open_nursery() as nursery:
        for component in (*scan_cluster.GENTLY, None):
            for _ in range(9):
                nursery.start_soon(ask, component)
    assert {most[each] for each in scan_cluster.GENTLY} == {1}
    assert most[None] == 4


async def test_no_more_than_two_hundred_connections_a_second(autojump_clock: MockClock) -> None:
    gate, started = Gate(scan_cluster.gentle(Limits())), trio.current_time()
    for _ in range(401):
        await gate.pace()
    assert trio.current_time() - started == pytest.approx(2.0)


# --- saved ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_saved_snapshot_is_scanned_like_the_cluster(call: Call, place: Place) -> None:
    answer = call("scan", "--snapshot", place.kept / "snapshot", "--format", "json", *PATIENT)
    now = {row["instance"]: row["verdict"] for row in answer.document["endpoints"]}
    assert now == {row["instance"]: row["verdict"] for row in place.document["endpoints"]}


# --- explained --------------------------------------------------------------------------------------------------------


def test_pools_with_different_configurations_are_explained_apart(call: Call, place: Place) -> None:
    answer = call("explain", "kubelet", "--snapshot", place.kept / "snapshot")
    assert answer.code == 0
    modern, intermediate = answer.out.split("\n\nNode/kubelet:10250\n")
    assert "required    openshift/4.22/modern" in modern
    assert "required    openshift/4.22/intermediate" in intermediate
    tree = (
        "  KubeletConfig/worker-intermediate\n    spec.tlsSecurityProfile: Intermediate\n      over APIServer/cluster"
    )
    assert tree in intermediate


def test_a_users_workload_behind_passthrough_follows_no_adherence(call: Call, place: Place) -> None:
    answer = call("explain", "Route/shop/checkout", "--snapshot", place.kept / "snapshot")
    assert "is          a user's workload\n" in answer.out
    assert "      over the profile of router-default itself: openshift/4.22/modern, must-follow" in answer.out
    assert "adherence" not in answer.out


@pytest.mark.parametrize(
    ("listener", "options", "why"),
    [
        ("openshift-kube-controller-manager/kube-controller-manager:10357", (), "--via port-forward"),
        (
            "openshift-kube-apiserver/kube-apiserver:6080",
            (),
            "ports that use no TLS according to the component catalogue",
        ),
        ("shop/web", ("--exclude", "namespace=shop"), "excluded"),
        ("shop/web", ("--include", "namespace=mainframe"), "not included"),
    ],
)
def test_what_is_left_out_is_explained_too(
    call: Call, place: Place, listener: str, options: tuple[str, ...], why: str
) -> None:
    answer = call("explain", listener, "--snapshot", place.kept / "snapshot", *options)
    assert answer.code == 0, answer.err
    assert any(line.startswith("  not asked   ") and why in line for line in answer.out.splitlines())
    assert "because" in answer.out


def test_the_cluster_may_be_named_as_for_a_scan(call: Call, place: Place) -> None:
    answer = call("explain", "kubelet", "--cluster", "--snapshot", place.kept / "snapshot")
    assert "--snapshot cannot be combined with --cluster or --context" in answer.err
    plain = call("explain", "kubelet", "--cluster", "--kubeconfig", "/nonexistent")
    assert plain.code == 2
    assert "no such option" not in plain.err.lower()


@pytest.mark.parametrize("name", ["shop/checkout", "Route/shop/checkout", "checkout.apps.demo.example", "etcd"])
def test_a_listener_has_many_names(call: Call, place: Place, name: str) -> None:
    assert call("explain", name, "--snapshot", place.kept / "snapshot").code == 0


def test_a_name_that_nobody_has(call: Call, place: Place) -> None:
    assert_refused(
        call("explain", "shop/chekout", "--snapshot", place.kept / "snapshot"),
        "no listener of the cluster matches 'shop/chekout'",
    )


# --- mistakes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("a", "--cluster"), "targets and a cluster cannot be combined"),
        (("a", "--include", "port=1"), "--include needs a cluster"),
        (("a", "--namespace", "shop"), "--namespace needs a cluster"),
        (("--cluster", "--namespace", "a", "--include", "namespace=b"), "--namespace and namespaces in --include"),
        (("a", "--no-secrets"), "--no-secrets needs a cluster"),
        (("--cluster", "--snapshot", "x"), "--snapshot cannot be combined with --cluster or --context"),
        (("--snapshot", "/nonexistent"), "there is no such directory"),
        (("--kubeconfig", "/nonexistent"), "/nonexistent"),
        (("--cluster", "--exclude", "colour=red"), "invalid selector"),
        (("--snapshot", "/tmp", "--via", "port-forward"), "--via port-forward needs the API"),
    ],
)
def test_a_mistake_is_told_and_nothing_is_dialled(call: Call, arguments: tuple[str, ...], complaint: str) -> None:
    answer = call("scan", *arguments)
    assert_refused(answer, complaint)
    assert "Traceback" not in answer.err


def test_an_api_server_that_is_not_there_is_one_clear_line(call: Call, place: Place, tmp_path: Path) -> None:
    config = yaml.safe_load(place.kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    path = tmp_path / "config"
    path.write_text(json.dumps(config))
    assert_refused(call("scan", "--kubeconfig", path), "127.0.0.1:1")
