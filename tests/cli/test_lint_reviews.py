"""``adhere lint --cluster`` and who may do what, where Roles may not be read: the router read a Route's Secret, and
somebody apply the Route."""

from __future__ import annotations

import json
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from scanner.kube.kinds import KINDS
from scanner.lint.authorization import READS as ROLES
from tests.cli.calling import Call
from tests.cluster.api import Answer, Api, Asked, authority, refused, running
from tests.serving import serving

REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
ROUTE = """
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: web, namespace: shop}
spec:
  host: web.example
  to: {kind: Service, name: web}
  tls: {termination: edge, externalCertificate: {name: web}}
"""
FORBIDDEN = refused(403, "Forbidden", "no")


def said(*, allowed: bool) -> Answer:
    return Answer(201, json.dumps({"status": {"allowed": allowed}}).encode())


@pytest.mark.parametrize(
    ("answer", "expected"),
    [(said(allowed=True), []), (said(allowed=False), ["fail"] * 3), (FORBIDDEN, ["inconclusive"])],
)
def test_the_api_server_is_asked(call: Call, tmp_path: Path, answer: Answer, expected: list[str]) -> None:
    findings, asked = linted(call, tmp_path, answer)
    assert [each["verdict"] for each in findings if each["rule"] == "route-router-access"] == expected
    assert {each["user"] for each in asked} == {"system:serviceaccount:openshift-ingress:router"}
    assert len(asked) == (1 if answer is FORBIDDEN else 3)


@pytest.mark.parametrize(
    ("answer", "expected"), [(said(allowed=True), []), (said(allowed=False), ["fail"]), (FORBIDDEN, ["inconclusive"])]
)
def test_the_api_server_is_asked_about_somebody(
    call: Call, tmp_path: Path, answer: Answer, expected: list[str]
) -> None:
    findings, asked = linted(call, tmp_path, answer, "--as", "eve", "--as-group", "dev")
    assert [each["verdict"] for each in findings if each["rule"] == "route-custom-host"] == expected
    about = [each for each in asked if each["user"] == "eve"]
    assert [each["groups"] for each in about] == ([] if answer is FORBIDDEN else [["dev", "system:authenticated"]] * 2)
    assert {(each["resourceAttributes"]["subresource"], each["resourceAttributes"]["namespace"]) for each in about} == (
        set() if answer is FORBIDDEN else {("custom-host", "shop")}
    )


def linted(
    call: Call, tmp_path: Path, answer: Answer, *arguments: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The findings, and what the API server was asked."""

    def script(asked: Asked) -> Answer | None:
        if asked.path == REVIEWS:
            return answer
        return FORBIDDEN if any(asked.path.endswith(f"/{kind.plural}") for kind in ROLES) else None

    api = Api(script=script)
    for kind in KINDS:
        api.add(kind)

    def start() -> AbstractAsyncContextManager[Api]:
        return running(api)

    (tmp_path / "route.yaml").write_text(ROUTE)
    (tmp_path / "ca.pem").write_bytes(authority().pem)
    with serving(start):
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(json.dumps({
            "clusters": [{"name": "c", "cluster": {
                "server": api.access.server, "certificate-authority": str(tmp_path / "ca.pem")
            }}],
            "users": [{"name": "u", "user": {"token": "sesame"}}],
            "contexts": [{"name": "it", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "it",
        }))  # fmt: skip
        found = call("lint", tmp_path / "route.yaml", "--kubeconfig", kubeconfig, "--format", "json", *arguments)
    findings = [each for one in json.loads(found.out)["objects"] for each in one["findings"]]
    return findings, [json.loads(each.body)["spec"] for each in api.asked if each.path == REVIEWS]
