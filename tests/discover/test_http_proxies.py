"""Contour's HTTPProxies."""

from __future__ import annotations

import pytest

from tests.discover.objects import by_id, found, left_out, origins
from tests.discover.samples import ENVOY, proxy

ID = "DaemonSet/projectcontour/envoy:8443#shop.ex.com"


@pytest.mark.parametrize("status", ["", "loadBalancer: {ingress: [{ip: 198.51.100.8}]}"])
def test_a_proxy_is_asked_by_its_name_only(status: str) -> None:
    endpoints = by_id(found(ENVOY + proxy("secretName: a", status=status)))
    assert "DaemonSet/projectcontour/envoy:8443" not in endpoints
    assert (str(endpoints[ID].subject), endpoints[ID].segment) == ("HTTPProxy/shop/shop", "Frontend")
    assert origins(endpoints[ID])[0] == "HTTPProxy/shop/shop"


def test_a_proxy_without_tls_is_not_asked_with_tls() -> None:
    assert not [each for each in by_id(found(ENVOY + proxy("").replace(", tls: {}", ""))) if "shop.ex.com" in each]


def test_with_the_fallback_certificate_it_answers_without_a_name_too() -> None:
    endpoints = by_id(found(ENVOY + proxy("secretName: a, enableFallbackCertificate: true")))
    assert {ID, "DaemonSet/projectcontour/envoy:8443"} <= set(endpoints)


def test_one_proxy_with_the_fallback_certificate_is_enough() -> None:
    other = proxy("secretName: b, enableFallbackCertificate: true").replace("shop", "other").replace("Shop", "other")
    endpoints = by_id(found(ENVOY + proxy("secretName: a") + other))
    bare = endpoints["DaemonSet/projectcontour/envoy:8443"]
    assert (bare.server_name, bare.subject, bare.segment, bare.certainty) == (None, None, "Frontend", "declared")
    assert "HTTPProxy/other/other fallback" in origins(bare)
    assert endpoints[ID].server_name == "shop.ex.com"


@pytest.mark.parametrize(
    ("validation", "expected"),
    [
        ("caSecret: a", "required"),
        ("caSecret: a, optionalClientCertificate: true", "requested"),
        ("caSecret: a, skipClientCertValidation: true", "required"),
        ("skipClientCertValidation: true", "requested"),
    ],
)
def test_client_validation(validation: str, expected: str) -> None:
    text = proxy(f"secretName: a, clientValidation: {{{validation}}}")
    assert by_id(found(ENVOY + text))[ID].expects == expected


def test_without_client_validation_no_client_certificate_is_expected() -> None:
    assert by_id(found(ENVOY + proxy("secretName: a")))[ID].expects is None


@pytest.mark.parametrize("status", ["currentStatus: invalid", "currentStatus: orphaned"])
def test_what_contour_refuses_is_probed(status: str) -> None:
    """It serves an invalid proxy in part."""
    assert by_id(found(ENVOY + proxy("secretName: a", status=status)))[ID].certainty == "declared"


def test_a_backend_with_protocol_tls_is_declared() -> None:
    routes = ", routes: [{services: [{name: app, port: 8080, protocol: tls, validation: {subjectName: app.int}}]}]"
    one = by_id(found(ENVOY + proxy("secretName: a", routes)))["Service/shop/app:8080#app.int"]
    assert (one.certainty, one.segment) == ("declared", "Backend")
    plain = by_id(found(ENVOY + proxy("secretName: a", routes.replace("tls", "h2c"))))
    assert plain["Service/shop/app:8080"].certainty == "candidate"


@pytest.mark.parametrize(
    ("annotation", "protocol", "certainty"),
    [
        ("tls: '443,8080'", "", "declared"),
        ("h2: ' main , other'", "", "declared"),
        ("tls: '8080'", "protocol: h2c", "candidate"),
        ("tls: '80'", "", "candidate"),
        ("h2c: '8080'", "", "candidate"),
    ],
)
@pytest.mark.parametrize("field", ["routes: [{services: [%s]}]", "tcpproxy: {services: [%s]}"])
def test_an_annotation_of_the_service_says_what_the_proxy_does_not(
    annotation: str, protocol: str, certainty: str, field: str
) -> None:
    cluster = ENVOY.replace("{name: app, namespace: shop}", "{name: app, namespace: shop, annotations: {A}}")
    cluster = cluster.replace("{A}", f"{{projectcontour.io/upstream-protocol.{annotation}}}")
    cluster = cluster.replace("{port: 8080}", "{name: main, port: 8080}")
    text = proxy("secretName: a", ", " + field % f"{{name: app, port: 8080, {protocol}}}")
    assert by_id(found(cluster + text))["Service/shop/app:8080"].certainty == certainty


def test_passthrough_leads_to_its_backend() -> None:
    services = ", tcpproxy: {services: [{name: app, port: 8080}]}"
    endpoints = by_id(found(ENVOY + proxy("passthrough: true", services)))
    assert not endpoints[ID].sampled
    assert endpoints["Service/shop/app:8080#shop.ex.com"].segment == "Backend"
    assert by_id(found(ENVOY + proxy("passthrough: true")))[ID].sampled


def test_without_any_envoy_the_published_address_is_a_sample() -> None:
    text = proxy("secretName: a", status="loadBalancer: {ingress: [{ip: 198.51.100.8}]}")
    one = by_id(found(text))["HTTPProxy/shop/shop:443#shop.ex.com"]
    assert (one.address, one.sampled) == ("198.51.100.8", True)
    assert left_out(found(proxy("secretName: a"))) == {"HTTPProxies without an address": 1}


def test_a_contour_configuration_says_where_the_envoys_are() -> None:
    text = (
        ENVOY.replace("projectcontour", "mesh")
        + proxy("secretName: a")
        + """
---
{kind: ContourConfiguration, metadata: {name: c, namespace: mesh}, spec: {envoy: {service: {namespace: mesh,
 name: envoy}}}}
"""
    )
    assert "DaemonSet/mesh/envoy:8443#shop.ex.com" in by_id(found(text))
