"""Reports of scans, applied to a real API server with the definitions of OpenReports and of Policy Reports."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from io import StringIO
from pathlib import Path

import pytest

from scanner.cluster.rbac import OPTIONS
from scanner.kube.kinds import OPEN_REPORTS, POLICY_REPORTS
from scanner.model.report import Report
from scanner.report.formats import policy_reports
from scanner.values import replace
from tests.cli.calling import Call, Called
from tests.e2e.accounts import Account, settle
from tests.e2e.conftest import definitions_of
from tests.e2e.control_plane import ControlPlane
from tests.e2e.definitions import REPORTS
from tests.e2e.test_permissions import role_of
from tests.e2e.writing import Object, Writer
from tests.report import cluster_samples

APPLY = {"fieldManager": "adhere", "fieldValidation": "Strict", "force": "true"}


def items(report: Report) -> list[Object]:
    out = StringIO()
    policy_reports.write(report, out)
    return list(json.loads(out.getvalue())["items"])


@pytest.fixture(scope="module")
def served(cluster: ControlPlane, writer: Writer) -> Iterator[Writer]:
    """The definitions, and the namespaces of the samples beside the objects of the cluster."""
    definitions = definitions_of(REPORTS)
    writer.define(definitions)
    made = []
    for name in sorted(
        {each["metadata"]["namespace"] for each in items(cluster_samples.report()) if _namespaced(each)}
    ):
        path = f"/api/v1/namespaces/{name}"
        if not cluster.admin.get(path).is_success:
            made.append(writer.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
    yield writer
    for each in [*made, *definitions]:
        writer.delete(each)


def _namespaced(item: Object) -> bool:
    return "namespace" in item["metadata"]


def applied(writer: Writer, item: Object) -> Object:
    """Apply on the server, as ``kubectl apply --server-side`` does."""
    answer = writer.client.patch(
        f"{writer.path(item)}/{item['metadata']['name']}",
        params=APPLY,
        content=json.dumps(item),
        headers={"Content-Type": "application/apply-patch+yaml"},
    )
    assert answer.is_success, answer.text
    return dict(answer.json())


def timeless(item: Object) -> Object:
    """Without what the server adds, and without times."""
    kept = {key: value for key, value in item.items() if key != "metadata"}
    return {**kept, "results": [{**each, "timestamp": 0} for each in item["results"]]}


def test_a_second_scan_changes_nothing_but_times(served: Writer) -> None:
    first, later = cluster_samples.report(), replace(cluster_samples.report(), finished="2027-01-01T00:00:00Z")
    before = [applied(served, each) for each in items(first)]
    assert {each["kind"] for each in before} == {"Report", "ClusterReport"}
    assert [timeless(each) for each in before] == [timeless(each) for each in items(first)], "nothing was pruned"
    again = [applied(served, each) for each in items(first)]
    assert [each["metadata"]["resourceVersion"] for each in again] == [
        each["metadata"]["resourceVersion"] for each in before
    ]
    after = [applied(served, each) for each in items(later)]
    assert [timeless(each) for each in after] == [timeless(each) for each in before]
    assert [each["metadata"]["uid"] for each in after] == [each["metadata"]["uid"] for each in before]
    assert after[0]["results"][0]["timestamp"] != before[0]["results"][0]["timestamp"]


# --- adhere scan --publish -------------------------------------------------------------------------------------------

KINDS = {"openreports": OPEN_REPORTS, "policyreport": POLICY_REPORTS}
EXTRA = {"name": "extra", "namespace": "shop"}


def listed(cluster: ControlPlane, api: str) -> dict[str, Object]:
    """All reports of both kinds, by namespace and name."""
    found = {}
    for kind in KINDS[api]:
        path = f"/apis/{kind.group}/{policy_reports.APIS[api].version}/{kind.plural}"
        for each in cluster.admin.get(path).json()["items"]:
            found[f"{each['metadata'].get('namespace', '')}/{each['metadata']['name']}"] = each
    return found


def about(found: dict[str, Object], kind: str, name: str) -> list[Object]:
    """The reports of an object."""
    named = [each for each in found.values() if "scope" in each]
    return [each for each in named if (each["scope"]["kind"], each["scope"]["name"]) == (kind, name)]


def other_reports(api: str) -> list[Object]:
    """Of another tool, and one with our label that we do not write."""
    kind, version = KINDS[api][0], policy_reports.APIS[api].version
    head: Object = {"apiVersion": f"{kind.group}/{version}", "kind": kind.name}
    label = policy_reports.MANAGED_BY[0]
    names = (("adhere-0123456789abcdef0123", "kyverno"), ("ours-in-name-only", "adhere"))
    return [{**head, "metadata": {"name": n, "namespace": "shop", "labels": {label: by}}} for n, by in names]


@pytest.fixture
def extra_pod(cluster: ControlPlane, writer: Writer) -> Iterator[None]:
    """A pod whose port is closed."""
    port = {"name": "https", "containerPort": 9443}
    pod: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": EXTRA}
    pod["spec"] = {"containers": [{"name": "extra", "image": "registry.example/extra", "ports": [port]}]}
    pod["status"] = {"phase": "Running", "podIP": cluster.api.address, "podIPs": [{"ip": cluster.api.address}]}
    writer.create(pod)
    yield
    delete_extra_pod(cluster)


def delete_extra_pod(cluster: ControlPlane) -> None:
    """At once, because no kubelet confirms that it has stopped; it may be deleted already."""
    cluster.admin.delete("/api/v1/namespaces/shop/pods/extra", params={"gracePeriodSeconds": 0})


Publishing = Callable[..., Called]


def publishing(plane: ControlPlane, token: str, directory: Path, call: Call) -> Publishing:
    """``adhere scan --publish`` with a token."""
    kubeconfig = plane.kubeconfig(directory / "publishing", {"token": token})
    fixed = ("scan", "--cluster", "--kubeconfig", kubeconfig, "--allow-loopback", "--mode", "verdict")
    return partial(call, *fixed, "--publish")


@pytest.fixture
def published(
    served: Writer, cluster: ControlPlane, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Iterator[Publishing]:
    """The command with exactly the role that ``adhere rbac --with reports`` prints; reports are removed after."""
    yield publishing(cluster, role_of(cluster, served, "--with", "reports").token().value, tmp_path, Call(capsys))
    for api in KINDS:
        for each in listed(cluster, api).values():
            served.delete(each)


def verbs(events: list[dict[str, object]]) -> set[str]:
    """Of the requests for reports."""
    return {str(each["verb"]) for each in events if "report" in str(each["requestURI"])}


@pytest.mark.usefixtures("extra_pod")
@pytest.mark.parametrize("api", KINDS)
def test_each_object_has_a_report_until_it_is_gone(
    cluster: ControlPlane, served: Writer, published: Publishing, api: str
) -> None:
    published(api)  # removes what the samples left
    others = [served.create(each) for each in other_reports(api)]
    before = len(cluster.audited())
    ended = published(api)
    assert ended.code in (1, 3), ended.err
    assert verbs(cluster.audited()[before:]) == {"list", "patch"}
    first = listed(cluster, api)
    assert f"adhere: wrote {len(first) - len(others)} reports into e2e, removed 0\n" in ended.err
    assert len(about(first, "StaticPod", "etcd")) == 1
    (extra,) = about(first, "Pod", "extra")
    assert {each["result"] for each in extra["results"]} <= {"error", "skip"}
    assert [each["manager"] for each in extra["metadata"]["managedFields"]] == ["adhere"]

    published(api)
    second = listed(cluster, api)
    assert identities(second) == identities(first)

    delete_extra_pod(cluster)
    before = len(cluster.audited())
    part = published(api, "--namespace", "openshift-etcd")
    assert "adhere: kept all earlier reports in e2e: the scan leaves out listeners" in part.err
    assert listed(cluster, api).keys() == first.keys()
    assert verbs(cluster.audited()[before:]) == {"list", "get", "patch"}

    before = len(cluster.audited())
    complete = published(api)
    assert "removed 1\n" in complete.err
    assert verbs(cluster.audited()[before:]) == {"list", "patch", "delete"}
    last = listed(cluster, api)
    assert about(last, "Pod", "extra") == []
    assert len(last) == len(first) - 1
    kept = {name: each["metadata"]["resourceVersion"] for name, each in last.items()}
    assert {f"shop/{each['metadata']['name']}": each["metadata"]["resourceVersion"] for each in others}.items() <= (
        kept.items()
    )


def identities(found: dict[str, Object]) -> dict[str, object]:
    """Of the reports and of their results."""
    return {name: (each["metadata"]["uid"], timeless(each)) for name, each in found.items() if "results" in each}


def test_the_role_has_only_what_is_needed(
    cluster: ControlPlane, served: Writer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The test before uses get, list, patch and delete; the API server requires ``create`` for new objects."""
    (rule, *_) = OPTIONS["reports"].rules
    assert set(rule["verbs"]) == {"get", "list", "patch", "delete", "create"}  # type: ignore[call-overload]
    reading = role_of(cluster, served)
    publish = publishing(cluster, reading.token().value, tmp_path, Call(capsys))
    refused = publish("openreports", "--namespace", "openshift-etcd", "--fail-on", "never")
    assert refused.code == 3
    assert "adhere: e2e: no report was written: GET /apis/openreports.io/v1alpha1/reports: 403 Forbidden" in refused.err
    assert "adhere rbac --with reports prints the role" in refused.err
    assert refused.err.endswith("adhere: exit 3: not all reports were published\n")
    allow(served, reading, [verb for verb in rule["verbs"] if verb != "create"])  # type: ignore[attr-defined]
    refused = publish("openreports", "--namespace", "openshift-etcd", "--fail-on", "never")
    assert refused.code == 3
    assert "adhere: e2e: the report of StaticPod/openshift-etcd/etcd was not written: PATCH /apis/" in refused.err
    assert "403 Forbidden" in refused.err


def allow(writer: Writer, to: Account, verbs: list[str]) -> None:
    """Allow an account these verbs on all reports of OpenReports."""
    name, group = {"name": f"reports-{to.name}"}, "rbac.authorization.k8s.io"
    kinds = KINDS["openreports"]
    rule = {"apiGroups": [kinds[0].group], "resources": [each.plural for each in kinds], "verbs": verbs}
    subject = {"kind": "ServiceAccount", "name": to.name, "namespace": to.namespace}
    role = {"apiGroup": group, "kind": "ClusterRole", **name}
    head = {"apiVersion": f"{group}/v1", "metadata": name}
    writer.create({**head, "kind": "ClusterRole", "rules": [rule]})
    writer.create({**head, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": [subject]})
    settle(writer)


def test_without_the_definitions_the_error_names_them(
    cluster: ControlPlane, tmp_path: Path, capsys: pytest.CaptureFixture[str], served: Writer
) -> None:
    definitions = [each for each in definitions_of(REPORTS) if each["spec"]["group"] == "openreports.io"]
    for each in definitions:
        served.delete(each)
    publish = publishing(cluster, cluster.tokens["admin"], tmp_path, Call(capsys))
    ended = publish("openreports", "--namespace", "openshift-etcd", "--fail-on", "never")
    served.define(definitions)
    assert ended.code == 3
    assert "no report was written: the API server has no reports.openreports.io v1alpha1" in ended.err
    assert "install the CustomResourceDefinitions of openreports.io" in ended.err
