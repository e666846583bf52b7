"""Routers and Routes."""

from __future__ import annotations

import pytest

from scanner.kube.kinds import POD
from tests.discover.objects import by_id, found, instances, left_out, origins
from tests.discover.samples import ROUTER, SHOP, route

FRONT = "Deployment/openshift-ingress/router-default:443"
NAMED = f"{FRONT}#shop.apps.ex.com"


def test_a_router_shows_its_default_certificate_to_whoever_gives_no_name() -> None:
    default = by_id(found(ROUTER))[FRONT]
    assert (default.component, default.certainty, default.segment) == ("router", "declared", "Frontend")
    assert (default.server_name, default.expects) == (None, "requested")
    assert by_id(found(ROUTER))["Deployment/openshift-ingress/router-default:1936"].component == "router"


def test_the_service_ca_of_a_router_s_metrics_is_no_name_for_its_default_certificate() -> None:
    service = """
---
{kind: Service, metadata: {name: router-internal-default, namespace: openshift-ingress,
                           annotations: {service.beta.openshift.io/serving-cert-secret-name: metrics}},
 spec: {clusterIP: 172.30.0.77, ports: [{name: https, port: 443}, {name: metrics, port: 1936}]}}
---
{kind: EndpointSlice, metadata: {name: r-1, namespace: openshift-ingress,
                                 labels: {kubernetes.io/service-name: router-internal-default}},
 ports: [{name: https, port: 443}, {name: metrics, port: 1936}], endpoints: [{addresses: [10.128.0.20]}]}
"""
    endpoints = by_id(found(ROUTER + service))
    assert endpoints[FRONT].server_name is None
    metrics = endpoints[
        "Deployment/openshift-ingress/router-default:1936#router-internal-default.openshift-ingress.svc"
    ]
    assert (metrics.component, metrics.certainty) == ("router", "declared")


@pytest.mark.parametrize("termination", ["edge", "Reencrypt", "passthrough", '""'])
def test_each_route_is_asked_by_its_name_at_one_address_of_each_router_pod(termination: str) -> None:
    discovery = found(ROUTER + SHOP + route(termination))
    assert [each for each in instances(discovery) if "#shop.apps" in each and "router" in each] == [
        f"{NAMED} @ 10.128.0.20:443"
    ]
    one = by_id(discovery)[NAMED]
    assert (str(one.subject), one.segment, one.sampled) == ("Route/shop/shop", "Frontend", False)
    assert ("team", "a") in one.labels
    assert one.expects == (None if termination == "passthrough" else "requested")


@pytest.mark.parametrize(
    ("termination", "backend"),
    [
        ("reencrypt", "StatefulSet/shop/shop:8443#shop.shop.svc"),
        ("passthrough", "StatefulSet/shop/shop:8443#shop.apps.ex.com"),
    ],
)
def test_the_backend_behind_tls_is_declared(termination: str, backend: str) -> None:
    one = by_id(found(ROUTER + SHOP + route(termination)))[backend]
    assert (one.certainty, one.segment, one.subject) == ("declared", "Backend", None)
    assert f"Route/shop/shop {termination} backend" in origins(one)


def test_with_a_ca_of_its_own_the_router_verifies_no_name() -> None:
    text = route("reencrypt").replace("termination: reencrypt", "termination: reencrypt, destinationCACertificate: x")
    assert by_id(found(ROUTER + SHOP + text))["StatefulSet/shop/shop:8443"].certainty == "declared"


def test_the_backend_behind_edge_is_not_declared() -> None:
    one = by_id(found(ROUTER + SHOP + route("edge")))["StatefulSet/shop/shop:8443"]
    assert (one.certainty, one.segment) == ("hinted", None)


def test_passthrough_without_known_backends_is_a_sample() -> None:
    assert by_id(found(ROUTER + route("passthrough")))[NAMED].sampled


OTHERS = "{name: a, port: 1}, {port: 8443, protocol: UDP}"


@pytest.mark.parametrize(
    ("target", "port", "led"),
    [
        ("https", "port: 443, targetPort: 8443", True),
        ("8443", "port: 443, targetPort: 8443", True),
        ('"8443"', "port: 443, targetPort: 8443", True),
        ("8443", 'port: 443, targetPort: "8443"', True),
        ("8443", "port: 8443", True),  # a Service's port leads to the same number where it says nothing else
        ("443", "port: 443, targetPort: 8443", False),
        ("other", "port: 443, targetPort: 8443", False),
    ],
)
def test_the_target_port_of_a_route_chooses_the_service_port(target: str, port: str, led: bool) -> None:
    shop = SHOP.replace("{name: https, port: 443, targetPort: 8443}", f"{OTHERS}, {{name: https, {port}}}")
    text = route("passthrough", f", port: {{targetPort: {target}}}")
    assert ("StatefulSet/shop/shop:8443#shop.apps.ex.com" in by_id(found(ROUTER + shop + text))) == led


@pytest.mark.parametrize(("others", "declared"), [("", True), (", {name: b, port: 2}", False)])
def test_without_a_target_port_a_route_leads_to_the_only_port_or_to_what_looks_like_tls(
    others: str, declared: bool
) -> None:
    shop = SHOP.replace("{name: https, port: 443, targetPort: 8443}", f"{{name: a, port: 1, targetPort: 8443}}{others}")
    endpoints = by_id(found(ROUTER + shop.replace("name: https", "name: a") + route("passthrough")))
    assert ("StatefulSet/shop/shop:8443#shop.apps.ex.com" in endpoints) == declared


def test_routes_that_are_not_admitted_or_have_no_tls_are_counted() -> None:
    plain = "---\n{kind: Route, metadata: {name: p, namespace: s}}"
    discovery = found(ROUTER + route("edge", admitted="False") + plain)
    assert NAMED not in by_id(discovery)
    assert left_out(discovery) == {"Routes that no router has admitted": 1, "Routes without TLS": 1}


def test_a_route_of_another_router_is_looked_up_where_that_says() -> None:
    one = by_id(found(ROUTER + route("edge", router="f5")))["Router/f5:443#shop.apps.ex.com"]
    assert (one.address, one.host, one.sampled) == ("", "r.ex.com", True)


def test_without_pods_the_router_s_service_is_a_sample_or_leads_to_nothing_ready() -> None:
    service = """
---
{kind: Service, metadata: {name: router-internal-default, namespace: openshift-ingress},
 spec: {clusterIP: 172.30.0.77, selector: {a: b}, ports: [{name: https, port: 443}]}}
"""
    one = by_id(found(ROUTER + service + route("edge"), gaps={POD: "forbidden"}))
    assert NAMED in one
    without = ROUTER.split("---", 2)[1]
    one = by_id(found(f"---{without}{service}{route('edge')}"))
    assert one["Service/openshift-ingress/router-internal-default:443#shop.apps.ex.com"].address == "172.30.0.77"


def test_without_pods_and_service_a_route_is_asked_where_its_router_says() -> None:
    one = by_id(found(ROUTER.partition("---\n{kind: Pod")[0] + route("edge")))["Router/default:443#shop.apps.ex.com"]
    assert (one.host, one.sampled, one.expects) == ("r.ex.com", True, "requested")


def test_a_router_on_the_host_network_listens_where_its_strategy_says() -> None:
    strategy = "status: {endpointPublishingStrategy: {hostNetwork: {httpsPort: 10443}}, domain"
    text = ROUTER.replace("status: {domain", strategy)
    assert NAMED in by_id(found(text + route("edge")))  # its pod has not followed yet
    text = text.replace("spec: {containers", "spec: {nodeName: w, hostNetwork: true, containers")
    one = by_id(found(text + route("edge")))["Deployment/openshift-ingress/router-default:10443#shop.apps.ex.com"]
    assert (one.node, one.component) == ("w", "router")


def test_many_routes_of_one_host_are_one_endpoint() -> None:
    text = ROUTER + "".join(route("edge").replace("name: shop, namespace", f"name: p{n}, namespace") for n in range(30))
    one = by_id(found(text))[NAMED]
    assert [each.reference.name for each in one.origins if each.reference] == [f"p{n}" for n in range(30)]
