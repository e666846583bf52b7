"""``adhere scan --publish``: which reports go to which cluster, and when earlier ones are removed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scanner.assessment import Assessment, surroundings
from scanner.cli import inputs
from scanner.cli.publishing import Destination, _gap, publish_all
from scanner.kube.kinds import ROUTE, SECRET
from scanner.kube.snapshot import Unreadable
from scanner.model.endpoint import Endpoint
from scanner.model.report import EndpointRow, Report
from scanner.model.scan_policy import ScanPolicy, Scope, Selector
from scanner.report.formats.policy_reports import place
from scanner.values import replace
from tests.assessed import looked_at
from tests.cli.calling import PATIENT, Call, assert_refused
from tests.cli.conftest import Place
from tests.cluster.api import Answer, Api, Asked, refused, running
from tests.cluster.report_api import ROOT, Reports
from tests.judge.cases import ENDPOINT
from tests.report import samples
from tests.report.sample_reports import row
from tests.report.samples import finding

BAD = finding("r", "high", "fail", "m")


def listener(cluster: str, name: str, *, verdict: str = "fail") -> EndpointRow:
    """A listener of Deployment/shop/NAME, with the name of its cluster."""
    found = row(f"{cluster}Deployment/shop/{name}:8443", replace(BAD, verdict=verdict), verdict=verdict)  # type: ignore[arg-type]
    return {**found, "owner": {"kind": "Deployment", "namespace": "shop", "name": name}}


async def published(
    report: Report, *clusters: Assessment, apis: list[Reports] | None = None
) -> tuple[bool, list[dict[str, Any]]]:
    """Write into an API for each cluster; the stored reports by the name of their object."""
    apis = apis or [Reports() for _ in clusters]
    found = []
    destinations: tuple[Destination, ...] = ()
    if len(clusters) == 1:
        async with running(Api(script=apis[0].answer)) as api:
            destinations = (Destination(cluster=clusters[0], access=api.access, api="openreports"),)
            done = await publish_all(report, destinations)
    else:
        first, second = clusters
        async with running(Api(script=apis[0].answer)) as one, running(Api(script=apis[1].answer)) as two:
            destinations = (
                Destination(cluster=first, access=one.access, api="openreports"),
                Destination(cluster=second, access=two.access, api="openreports"),
            )
            done = await publish_all(report, destinations)
    for each in apis:
        found.append({one.get("scope", {}).get("name", "the cluster"): one for one in each.stored.values()})
    return done, found


def ids(report: dict[str, Any]) -> list[str]:
    return [each["properties"]["resultID"] for each in report["results"]]


async def test_each_cluster_gets_the_reports_of_its_objects_as_if_it_were_alone() -> None:
    here, there = looked_at("gate-on", "prod"), looked_at("kubeadm", "prod/b")
    (own,) = surroundings([here]).findings
    assert own.about
    everywhere, shared = (
        finding("require-x", "high", "fail", "required"),
        replace(BAD, about="prod/b/Deployment/shop/a:1"),
    )
    rows = [listener("prod/", "a"), listener("prod/b/", "b"), listener("prod/b/", "a")]
    report = samples.report(rows, findings=(own, replace(everywhere, about="require"), shared))
    done, (first, second) = await published(report, here, there)
    assert done
    assert [set(first), set(second)] == [{"a", "the cluster"}, {"a", "b", "the cluster"}]
    alone = samples.report([listener("", "a")], findings=(own, replace(everywhere, about="require")))
    _, (single,) = await published(alone, here)
    assert ids(first["a"]) == ids(single["a"]) == ids(second["a"])
    rules = [[each["rule"] for each in found["the cluster"]["results"]] for found in (first, second)]
    assert own.rule in rules[0]
    assert own.rule not in rules[1]
    assert ["require-x" in each for each in rules] == [True, True]
    assert [BAD.rule in each for each in rules] == [False, True]
    (only,) = [each for each in second["the cluster"]["results"] if each["rule"] == BAD.rule]
    assert only["properties"]["about"] == "Deployment/shop/a:1"


async def test_what_one_cluster_could_not_read_is_not_said_of_the_other() -> None:
    gap = Unreadable(kind=ROUTE, gap="forbidden", reason="secret name of the first")
    here, there = looked_at("single-node", "here"), looked_at("kubeadm", "there")
    here = replace(here, snapshot=replace(here.snapshot, unreadable={ROUTE: gap}))
    report = samples.report([listener("here/", "a"), listener("there/", "a")])
    discovery: Any = {"unreadable": [], "left_out": [], "network_policies": []}
    report = replace(report, coverage={**report.coverage, "complete": False, "discovery": discovery})
    _, (first, second) = await published(report, here, there)
    assert gap.reason in json.dumps(first)
    assert gap.reason not in json.dumps(second)


async def test_a_failure_in_one_cluster_does_not_keep_the_other_from_its_reports(
    capsys: pytest.CaptureFixture[str],
) -> None:
    apis = [Reports(refusals={("GET", f"{ROOT}/reports"): refused(404, "NotFound", "no")}), Reports()]
    report = samples.report([listener("here/", "a"), listener("there/", "a")])
    done, (first, second) = await published(
        report, looked_at("kubeadm", "here"), looked_at("kubeadm", "there"), apis=apis
    )
    assert (done, first, "a" in second) == (False, {}, True)
    err = capsys.readouterr().err
    assert "adhere: here: no report was written: the API server has no reports.openreports.io v1alpha1" in err
    assert "adhere: wrote 1 report into there, removed 0" in err


async def test_many_failures_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    class Full(Reports):
        def answer(self, asked: Asked) -> Answer | None:
            return refused(413, "TooLarge", "no") if asked.method == "PATCH" else super().answer(asked)

    report = samples.report([listener("", f"web-{number}") for number in range(30)])
    done, _ = await published(report, looked_at("kubeadm", "here"), apis=[Full()])
    err = capsys.readouterr().err
    assert not done
    assert err.count("was not written: PATCH") == 10
    assert "adhere: and 20 more reports\n" in err
    assert "wrote 0 reports into here, removed 0" in err


# --- when nothing is removed ----------------------------------------------------------------------------------------


def gap_of(cluster: Assessment, report: Report | None = None) -> str:
    return _gap(cluster, report or samples.report([listener("", "a")]))


def test_a_scan_that_may_not_have_seen_all_of_the_cluster_has_a_gap() -> None:
    seen = looked_at("kubeadm", "here")
    seen = replace(seen, snapshot=replace(seen.snapshot, unreadable={}))
    assert gap_of(seen) == ""
    assert gap_of(seen, samples.report([listener("", "a")], interrupted="SIGTERM")) == "the scan was stopped"
    forbidden = Unreadable(kind=ROUTE, gap="forbidden", reason="no")
    unread = replace(seen, snapshot=replace(seen.snapshot, unreadable={ROUTE: forbidden}))
    assert gap_of(unread) == "routes.route.openshift.io could not be read"
    accepted = ScanPolicy(scope=Scope(accept_unreadable=(ROUTE.resource,)))
    assert gap_of(replace(unread, view=replace(seen.view, policy=accepted))), "accepted, but objects may be behind it"
    not_asked = {SECRET: Unreadable(kind=SECRET, gap="not-asked", reason="no")}
    assert gap_of(replace(seen, snapshot=replace(seen.snapshot, unreadable=not_asked))) == ""
    assert "more listeners" in gap_of(replace(seen, discovery=replace(seen.discovery, truncated=1)))
    assert gap_of(replace(seen, discovery=replace(seen.discovery, endpoints=()))) == "no listener was found"


@pytest.mark.parametrize("where", ["include", "exclude", "policy include", "policy exclude"])
def test_a_selection_that_leaves_something_out_is_a_gap(where: str) -> None:
    seen = looked_at("kubeadm", "here")
    name, selectors = where.rpartition(" ")[2], (Selector(namespaces=("shop",)),)
    more: dict[str, Any] = {name: selectors}
    if "policy" in where:
        more = {"policy": ScanPolicy(scope=Scope(**more))}
    view = replace(seen.view, **more)
    seen = replace(seen, view=view, snapshot=replace(seen.snapshot, unreadable={}))
    assert gap_of(seen) == "", "it leaves nothing out"
    assert "leaves out listeners" in gap_of(replace(seen, discovery=replace(seen.discovery, unasked=(ENDPOINT,))))


async def test_the_report_of_an_object_outside_of_the_dial_scope_is_kept() -> None:
    seen = looked_at("kubeadm", "here")
    outside: Endpoint = ENDPOINT
    owner = outside.owner
    namespace, name = place({"kind": owner.kind, "namespace": owner.namespace, "name": owner.name})
    api, metadata = Reports(), {"name": name, "labels": {"app.kubernetes.io/managed-by": "adhere"}}
    path = f"{ROOT}/namespaces/{namespace}/reports" if namespace else f"{ROOT}/clusterreports"
    api.put(f"{path}/{name}", {"metadata": metadata | ({"namespace": namespace} if namespace else {})})
    for unasked in ((outside,), ()):
        found = replace(seen, discovery=replace(seen.discovery, unasked=unasked))
        found = replace(found, snapshot=replace(seen.snapshot, unreadable={}))
        await published(samples.report([listener("", "a")]), found, apis=[api])
        assert (f"{path}/{name}" in api.stored) == bool(unasked)


# --- the command ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("127.0.0.1:1",), "--publish needs a cluster, and none is selected"),
        (("--snapshot", "."), "--publish needs the API, and --snapshot has none"),
        (("--publish", "json"), "'json' is not one of 'openreports', 'policyreport'"),
    ],
)
def test_what_has_no_api_is_refused(call: Call, arguments: tuple[str, ...], message: str) -> None:
    assert_refused(call("scan", "--publish", "openreports", *arguments), message)


@pytest.mark.parametrize(("fail_on", "code"), [("never", 3), ("low", 1)])
def test_a_report_that_was_not_written_makes_the_exit_code_three(
    call: Call, place: Place, tmp_path: Path, fail_on: str, code: int
) -> None:
    """The demo's API has no reports. The other formats are written before."""
    only = ("--namespace", "shop", "--include", "port=8443", "--fail-on", fail_on)
    written = tmp_path / "report.json"
    answer = call(
        "scan", "--kubeconfig", place.kubeconfig, "--publish", "policyreport", "--format", f"json={written}",
        *PATIENT, *only,
    )  # fmt: skip
    assert answer.code == code
    assert "no report was written: the API server has no policyreports.wgpolicyk8s.io v1alpha2" in answer.err
    assert "install the CustomResourceDefinitions of wgpolicyk8s.io" in answer.err
    assert answer.err.endswith(f"adhere: exit {code}: not all reports were published\n")
    assert json.loads(written.read_text())["endpoints"]


def test_several_contexts_each_have_their_own_api(
    call: Call, two: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "identity", lambda snapshot: snapshot.origin.name)
    path, first = two
    answer = call(
        "scan", "--kubeconfig", path, "--contexts", f"{first},{first}/second", "--publish", "openreports",
        "--include", "namespace=openshift-etcd,port=2379", *PATIENT,
    )  # fmt: skip
    assert answer.code == 3
    for name in (first, f"{first}/second"):
        assert f"adhere: {name}: no report was written" in answer.err


def test_a_dry_run_publishes_nothing(call: Call, place: Place) -> None:
    answer = call("scan", "--kubeconfig", place.kubeconfig, "--publish", "openreports", "--dry-run", *PATIENT)
    assert answer.code == 3, "a kind is forbidden"
    assert "report" not in answer.err
