"""The manifests and the chart, rendered and applied to a real API server by dry run under Pod Security "restricted"."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.e2e import assets
from tests.e2e.writing import Object, RefusedError, Writer
from tests.test_deploy import CHART, MONITORING, Rendered, kustomized, needs_kubectl, pod_templates

CHOICES = {
    "base": ({}, ()),
    "options": (
        {"publish": "openreports", "portForward": True, "openshift": True, "monitoring": True},
        ("reports", "port-forward", "openshift", "monitoring"),
    ),
    "exporter": ({"exporter": True, "openshift": True}, ("exporter", "openshift")),
    "parts": ({"shards": 4}, ("indexed-job",)),
    "parts with options": (
        {"shards": 4, "portForward": True, "openshift": True},
        ("indexed-job", "port-forward", "openshift"),
    ),
    "parts in a store": (
        {"shards": 4, "results": {"store": "s3://BUCKET/adhere"}},
        ("indexed-job", "object-store"),
    ),
}
"""Values of the chart, and the components with the same meaning."""
PRIVILEGED = {"nodes": ({"nodes": True}, ("node-discovery",))}
"""The same of what a restricted namespace refuses."""
NAMESPACE = "adhere-deploy"
OWN_LABELS = {"app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "helm.sh/chart"}
"""Labels that only a chart has."""


def helm(values: object, release: str = "adhere", namespace: str = "adhere") -> subprocess.CompletedProcess[str]:
    """Render and lint the chart; skips where the program is not at hand."""
    try:
        program = assets.helm()
    except assets.Missing as missing:
        pytest.skip(str(missing))
    return subprocess.run(
        [program, CHART, release, namespace],
        input=json.dumps(values), capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def chart(values: object, release: str = "adhere", namespace: str = "adhere") -> Rendered:
    done = helm(values, release, namespace)
    assert done.returncode == 0, done.stderr
    return {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(done.stdout) if each}


def without_own_labels(item: Object) -> Object:
    labels = {name: value for name, value in item["metadata"].get("labels", {}).items() if name not in OWN_LABELS}
    return {**item, "metadata": {**item["metadata"], "labels": labels}}


@needs_kubectl
@pytest.mark.parametrize("choice", [*CHOICES, *PRIVILEGED])
def test_the_chart_and_kustomize_render_the_same_objects(choice: str, tmp_path: Path) -> None:
    values, components = {**CHOICES, **PRIVILEGED}[choice]
    ours = {name: without_own_labels(each) for name, each in chart(values).items()}
    test = ours.pop(("Pod", "adhere-read"))
    theirs = kustomized(tmp_path, *components)
    del theirs["Namespace", "adhere"]  # helm install --create-namespace
    assert ours == theirs
    pod = next(iter(pod_templates(ours).values()))["spec"]
    (container,) = test["spec"]["containers"]
    assert container["args"] == ["scan", "--cluster", "--no-secrets", "--dry-run"]
    assert container["securityContext"] == pod["containers"][0]["securityContext"]
    assert test["spec"]["serviceAccountName"] == pod["serviceAccountName"]


def test_the_names_follow_the_release() -> None:
    rendered = chart(
        {"args": ["--fail-on=never"], "image": {"repository": "r.example/a", "tag": "sha256:12"}}, "t", "n"
    )
    assert {name.removeprefix("t-") for _, name in rendered} == {"t", "scan", "scan-n-t", "read"}
    assert {each["metadata"].get("namespace") for each in rendered.values()} == {"n", None}
    (container,) = pod_templates(rendered)["t-scan"]["spec"]["containers"]
    assert container["args"][-1] == "--fail-on=never"
    assert container["image"] == "r.example/a@sha256:12"


def test_the_service_account_has_the_identity_of_the_pods() -> None:
    role = {"eks.amazonaws.com/role-arn": "arn:aws:iam::123456789012:role/adhere"}
    rendered = chart({"shards": 2, "results": {"store": "s3://b/p"}, "serviceAccountAnnotations": role})
    assert rendered["ServiceAccount", "adhere"]["metadata"]["annotations"] == role
    assert "annotations" not in chart({})["ServiceAccount", "adhere"]["metadata"]


def test_wrong_values_are_refused() -> None:
    done = helm({"publish": "yes", "shedule": "1 2 * * *"})
    assert done.returncode == 1
    assert "'/publish'" in done.stderr
    assert "'shedule' not allowed" in done.stderr


@pytest.fixture(scope="module")
def namespace(writer: Writer) -> Iterator[None]:
    """The namespace of the manifests, by another name because other tests have one of theirs, and the account in it,
    which the API server requires for pods."""
    made = yaml.safe_load((CHART.parents[1] / "kustomize/namespace.yaml").read_text())
    made["metadata"]["name"] = NAMESPACE
    writer.create(made)
    account: Object = {"apiVersion": "v1", "kind": "ServiceAccount"}
    writer.create({**account, "metadata": {"name": "adhere", "namespace": NAMESPACE}})
    yield
    writer.delete({**account, "metadata": {"name": "adhere", "namespace": NAMESPACE}})
    writer.delete(made)


def _apart(item: Object) -> Object:
    """The object where no other test has one of the same name."""
    named = item["metadata"]
    place = {"namespace": NAMESPACE} if "namespace" in named else {"name": f"{NAMESPACE}-{named['name']}"}
    return {**item, "metadata": {**named, **place}}


@needs_kubectl
@pytest.mark.usefixtures("cluster", "namespace")
@pytest.mark.parametrize("made_by", ["kustomize", "chart"])
def test_a_restricted_namespace_takes_every_object(made_by: str, writer: Writer, tmp_path: Path) -> None:
    """Pod Security is enforced for pods only, so the pods of the workloads are created too."""
    for number, (values, components) in enumerate(CHOICES.values()):
        directory = tmp_path / str(number)
        rendered = chart(values) if made_by == "chart" else kustomized(directory, *components)
        pods: list[Object] = [
            {"apiVersion": "v1", "kind": "Pod", **each, "metadata": {"name": name, "namespace": NAMESPACE}}
            for name, each in pod_templates(rendered).items()
        ]
        for each in [*rendered.values(), *pods]:
            if each["metadata"]["name"] != "adhere" or each["kind"] not in {"Namespace", "ServiceAccount"}:
                writer.create(_apart(each), dry_run=True)
        for each in pods:
            del each["spec"]["containers"][0]["securityContext"]
            with pytest.raises(RefusedError, match="violates PodSecurity"):
                writer.create(each, dry_run=True)


@pytest.mark.usefixtures("cluster", "namespace")
@pytest.mark.parametrize(
    ("file", "right", "wrong", "refusal"),
    [
        ("prometheusrule", "for: 30m", "after: 30m", 'unknown field "spec.groups[0].rules[2].after"'),
        ("prometheusrule", "for: 30m", "for: 30 minutes", "spec.groups[0].rules[2].for: Invalid value"),
        ("prometheusrule", "expr: adhere_scan_complete == 0", "", "spec.groups[0].rules[4].expr: Required value"),
        ("servicemonitor", "serverName:", "serverNames:", 'unknown field "spec.endpoints[0].tlsConfig.serverNames"'),
        ("servicemonitor", "scheme: https", "scheme: tls", "spec.endpoints[0].scheme: Unsupported value"),
    ],
)
def test_a_wrong_monitoring_object_is_refused(file: str, right: str, wrong: str, refusal: str, writer: Writer) -> None:
    text = (MONITORING / f"{file}.yaml").read_text()
    assert right in text
    item = yaml.safe_load(text.replace(right, wrong, 1))
    item["metadata"]["namespace"] = NAMESPACE
    with pytest.raises(RefusedError) as refused:
        writer.create(item, dry_run=True)
    assert refusal in refused.value.response.json()["message"]
