"""``adhere lint --as``: whether somebody may apply the Routes that were given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.calling import Call, assert_refused

MANIFEST = """\
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: web, namespace: shop}
spec:
  host: web.shop.example
  to: {kind: Service, name: web}
  tls: {termination: passthrough}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: routes, namespace: shop}
rules:
- {apiGroups: [route.openshift.io], resources: [routes/custom-host], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: routes, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: routes}
subjects:
- {kind: Group, apiGroup: rbac.authorization.k8s.io, name: developers}
"""


@pytest.fixture
def manifest(tmp_path: Path) -> str:
    file = tmp_path / "route.yaml"
    file.write_text(MANIFEST)
    return str(file)


@pytest.mark.parametrize(
    ("arguments", "verdict"),
    [
        (("--as", "eve", "--as-group", "developers"), "pass"),
        (("--as", "eve"), "inconclusive"),
        ((), None),
    ],
)
def test_who_may(call: Call, manifest: str, arguments: tuple[str, ...], verdict: str | None) -> None:
    answer = call("lint", manifest, "--format", "json", *arguments)
    document = json.loads(answer.out)
    route = next(each for each in document["objects"] if each["object"]["kind"] == "Route")
    found = [each["verdict"] for each in route["findings"] if each["rule"] == "route-custom-host"]
    passed = "route-custom-host" in route["passed"]
    assert (found, passed) == ([] if verdict in ("pass", None) else [verdict], verdict == "pass")
    assert any(each["id"] == "route-custom-host" for each in document["rules"]) is (verdict is not None)


def test_a_group_is_somebodys(call: Call, manifest: str) -> None:
    assert_refused(call("lint", manifest, "--as-group", "developers"), "--as-group without --as")
