"""Several IngressControllers beside one another: one line a case."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lint.openshift.router_objects import WHOLE, configuration, controller
from tests.lint.openshift.saying import route, said

A, B = "domain: a.example", "domain: b.example"
CLUSTER = configuration("domain: a.example")
INTERNAL = "routeSelector: {matchLabels: {type: internal}}"
EXTERNAL = "routeSelector: {matchExpressions: [{key: type, operator: NotIn, values: [internal]}]}"
TEAM = "namespaceSelector: {matchLabels: {team: shop}}"
STRICT = "clientTLS: {clientCertificatePolicy: Required, clientCA: {name: clients}}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (controller(A), []),
        (controller("replicas: 2"), []),
        (controller(A) + controller(B, "b"), []),
        (controller(A) + controller(A, "b"), ["high: has the same domain (a.example)"] * 2),
        (controller(A) + controller("domain: A.example", "b"), ["high: the same domain (a.example)"] * 2),
        (controller("replicas: 2") + controller("replicas: 1", "b"), ["high: the same domain (the cluster's)"] * 2),
        (controller("replicas: 2") + controller(A, "b"), ["inconclusive: Ingress/cluster was not read"] * 2),
        (controller("replicas: 2") + controller(A, "b") + CLUSTER, ["high: the same domain (a.example)"] * 2),
        (controller("replicas: 2") + controller(B, "b") + CLUSTER, []),
        (controller(A).replace("openshift-ingress-operator", "shop"), ["medium: the operator ignores it"]),
        (
            controller(A) + controller(A, "b").replace("openshift-ingress-operator", "shop"),
            ["medium: the operator ignores it"],
        ),
    ],
)
def test_domains(tmp_path: Path, text: str, expected: list[str]) -> None:
    told(tmp_path, "ingress-controller-domain", text, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (controller(A), []),
        (controller(A) + controller(B, "b"), ["low: serves every Route"] * 2),
        (controller(A) + controller(f"{B}, {STRICT}", "b"), ["medium: Route too, with a different spec.clientTLS"] * 2),
        (controller(A) + controller(f"{B}, {INTERNAL}", "b"), ["low: serves some of its Routes"] * 2),
        (controller(f"{A}, {EXTERNAL}") + controller(f"{B}, {INTERNAL}", "b"), []),
        (controller(f"{A}, {INTERNAL}") + controller(f"{B}, {INTERNAL}", "b"), ["low: serves"] * 2),
        (controller(f"{A}, {TEAM}") + controller(f"{B}, {INTERNAL}", "b"), ["low: serves"] * 2),
        (
            controller(f"{A}, {INTERNAL}") + controller(f"{B}, {INTERNAL.replace('type', 'kind')}", "b"),
            ["inconclusive: selects the same Routes"] * 2,
        ),
        (
            controller(f"{A}, {INTERNAL}")
            + controller(f"{B}, {INTERNAL.replace('type', 'kind')}", "b")
            + route(more=", labels: {type: internal, kind: internal}"),
            ["low: serves Route/shop/web"] * 2,
        ),
        (
            WHOLE
            + controller(f"{A}, {INTERNAL}")
            + controller(f"{B}, {INTERNAL.replace('type', 'kind')}", "b")
            + route(more=", labels: {type: internal}"),
            [],
        ),
        (
            WHOLE
            + controller(f"{A}, {TEAM}")
            + controller(f"{B}, {TEAM.replace('team', 'tier')}", "b")
            + route()
            + "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {team: shop, tier: shop}}\n",
            ["low: serves Route/shop/web"] * 2,
        ),
        (controller(A) + controller(B, "b").replace("openshift-ingress-operator", "shop"), []),
    ],
)
def test_shards(tmp_path: Path, text: str, expected: list[str]) -> None:
    told(tmp_path, "ingress-controller-shards", text, expected)


def test_of_very_many_it_is_said_that_not_all_were_looked_at(tmp_path: Path) -> None:
    text = "".join(
        controller(f"domain: a{number}.example, routeSelector: {{matchLabels: {{shard: s{number}}}}}", f"i{number}")
        for number in range(51)
    )
    found = said(tmp_path, "ingress-controller-shards", text)
    assert [each[0] for each in found] == ["inconclusive"] * 51
    assert said(tmp_path, "ingress-controller-domain", text) == []


def told(directory: Path, rule: str, text: str, expected: list[str]) -> None:
    found = said(directory, rule, text)
    assert len(found) == len(expected), found
    for (severity, _, message), wanted in zip(found, expected, strict=True):
        assert severity == wanted.partition(": ")[0], found
        assert wanted.partition(": ")[2] in message, found
