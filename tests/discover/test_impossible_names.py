"""Names that no API server accepts: an edited snapshot must not put them into endpoints, ids and reports."""

from __future__ import annotations

import re

import pytest

from tests.discover.gateways import HTTPS, gateway
from tests.discover.gateways import SERVICE as BEHIND_GATEWAY
from tests.discover.objects import found, left_out, origins
from tests.discover.probes import static
from tests.discover.samples import BACKEND, ENVOY, NODE, ROUTER, SHOP, TARGET, ingress, proxy, route, webhook

OWNED = """
---
{kind: Pod, metadata: {name: web, namespace: shop, ownerReferences: [{kind: StatefulSet, name: "owner"}]},
 spec: {containers: [{name: c, ports: [{containerPort: 8443}]}]}, status: {podIP: 10.128.0.7}}
"""
SERVED = """
---
{kind: Service, metadata: {name: web, namespace: shop}, spec: {selector: {a: b}, clusterIP: 172.30.0.7,
 ports: [{name: https, port: 443}]}}
"""
CASES = {
    "IngressController": (ROUTER, "name: default, namespace: openshift-ingress-operator", "name"),
    "Route": (ROUTER + SHOP + route("edge"), "name: shop, namespace: shop, labels: {team", "both"),
    "Ingress": (ENVOY + ingress("{ip: 198.51.100.8}"), "name: shop, namespace: shop", "both"),
    "HTTPProxy": (ENVOY + proxy("secretName: a"), "name: shop, namespace: shop", "both"),
    "Gateway": (BEHIND_GATEWAY + gateway(HTTPS), "name: edge, namespace: infra}, spec: {listeners", "both"),
    "Probe": (TARGET + static("https://db.shop.svc:9000"), "name: site, namespace: shop", "both"),
    "webhook": (BACKEND + webhook("service: {namespace: guard, name: lost}"), "namespace: guard, name: lost", "both"),
    "Service": (SERVED, "name: web, namespace: shop", "both"),
    "Pod": (
        OWNED.replace('ownerReferences: [{kind: StatefulSet, name: "owner"}]', ""),
        "name: web, namespace: shop",
        "both",
    ),
    "owner": (OWNED, 'kind: StatefulSet, name: "owner"', "name"),
    "kind of the owner": (OWNED, "kind: StatefulSet", "kind"),
    "Node": (NODE, "name: worker-0, labels", "name"),
}
BAD = '"im\\tpossible"'
NAMED_BY_LABELS = {
    "IngressController": "deployment-ingresscontroller: default",
    "Gateway": "gateway.networking.k8s.io/gateway-name: edge",
}
"""Labels through which the places of an object are found: an edited snapshot may have changed them, too."""


def shown(text: str) -> list[str]:
    """Everything that reports have of the endpoints."""
    return [
        part for each in found(text).endpoints for part in (each.id, each.instance, str(each.owner), *origins(each))
    ]


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        (kind, field)
        for kind, (_, _, fields) in CASES.items()
        for field in (("name", "namespace") if fields == "both" else (fields,))
    ],
)
def test_an_impossible_name_is_in_no_endpoint(kind: str, field: str) -> None:
    text, where, _ = CASES[kind]
    assert text.count(where) == 1, "the test replaces nothing, or too much"
    before, _, after = where.rpartition(f"{field}: ")
    value = re.split("[,}]", after)[0]
    spoilt = text.replace(where, f"{before}{field}: {BAD}{after.removeprefix(value)}")
    if kind in NAMED_BY_LABELS and field == "name":
        label = NAMED_BY_LABELS[kind]
        assert spoilt.count(label) == 1
        spoilt = spoilt.replace(label, f"{label.partition(': ')[0]}: {BAD}")
    assert not [part for part in shown(spoilt) if "possible" in part]
    assert ("pods with an invalid name" in left_out(found(spoilt))) is (kind == "Pod")
    assert shown(spoilt) != shown(text)


@pytest.mark.parametrize("kind", [kind for kind, (_, where, _) in CASES.items() if ", namespace: " in where])
def test_an_object_without_a_namespace_stops_nothing(kind: str) -> None:
    """The API has none, but an edited snapshot may: the other listeners must be found all the same."""
    text, where, _ = CASES[kind]
    spoilt = text.replace(where, re.sub(r", namespace: [a-z-]+", "", where)) + OWNED
    assert "StatefulSet/shop/owner:8443" in [each.id for each in found(spoilt).endpoints]
