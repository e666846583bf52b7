"""Whose client certificates are accepted, and what other names are owed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from scanner.expect import Expectations
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Expectation
from scanner.model.scan_policy import ScanPolicy
from tests.expect.stories import endpoint, snapshot_of
from tests.expect.test_named import GATEWAY_API, proxy
from tests.expect.test_stored import CATALOGUE, ROUTED, ROUTER, controller, made, route

HERE = {"address": "10.0.0.9", "segment": "Frontend"}
VALIDATION = {"validation": {"caCertificateRefs": [{"name": "clients"}]}}
LAX = {"validation": {**VALIDATION["validation"], "mode": "AllowInsecureFallback"}}


def gateway(
    *protocols: str, default: object = None, per_port: object = None, mode: str = "Terminate"
) -> dict[str, Any]:
    listeners = [
        {"name": f"l{number}", "port": 443, "protocol": each, "tls": {"mode": mode}}
        for number, each in enumerate(protocols)
    ]
    frontend = {"default": default or {}, **({"perPort": per_port} if per_port else {})}
    return made("Gateway", "edge", "gw", GATEWAY_API, spec={"listeners": listeners, "tls": {"frontend": frontend}})


def at(name: str, listener: str = "l0") -> Endpoint:
    where = f"Deployment/edge/proxy:8443#{name}"
    return endpoint(where, {**HERE, "origins": [f"Gateway/edge/gw listener {listener}"], "subject": "Gateway/edge/gw"})


def owed(of: Endpoint, *objects: dict[str, Any], beside: tuple[Endpoint, ...] = ()) -> Expectation:
    return Expectations(snapshot_of(list(objects)), CATALOGUE, ScanPolicy(), endpoints=(of, *beside)).of(of)


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({}, None),
        ({"default": VALIDATION}, "default.validation"),
        ({"default": LAX}, None),
        ({"default": VALIDATION, "per_port": [{"port": 443, "tls": {}}]}, None),
        (
            {"per_port": [{"port": 8443, "tls": VALIDATION}, {"port": 443, "tls": VALIDATION}]},
            "perPort[1].tls.validation",
        ),
    ],
)
def test_a_gateway_validates_by_default_or_by_port(settings: dict[str, Any], field: str | None) -> None:
    wanted = f"Gateway/edge/gw spec.tls.frontend.{field}" if field else None
    assert owed(at("a.example"), gateway("HTTPS", **settings)).client_trust == wanted


def test_listeners_of_protocol_tls_do_not_validate() -> None:
    assert owed(at("a.example"), gateway("TLS", default=VALIDATION)).client_trust is None


@pytest.mark.parametrize(("policy", "validates"), [("Required", True), ("Optional", True), ("", False)])
def test_a_router_validates_by_its_controller(policy: str, validates: bool) -> None:
    router = controller(clientTLS={"clientCertificatePolicy": policy, "clientCA": {"name": "clients"}})
    said = "IngressController/openshift-ingress-operator/default spec.clientTLS" if validates else None
    assert owed(endpoint(ROUTER, ROUTED), route(), router).client_trust == said
    assert owed(endpoint(ROUTER, ROUTED), route(termination="passthrough"), router).client_trust is None


@pytest.mark.parametrize(
    ("validation", "validates"),
    [
        ({"caSecret": "clients"}, True),
        ({"caSecret": "clients", "optionalClientCertificate": True}, True),
        ({"caSecret": "clients", "skipClientCertValidation": True}, False),
        ({"skipClientCertValidation": True}, False),
        ({}, False),
    ],
)
def test_an_http_proxy_validates_unless_it_skips_that(validation: dict[str, Any], validates: bool) -> None:
    found = owed(of_proxy(), proxy(secretName="web", clientValidation=validation))
    assert (found.client_trust is not None) == validates


def of_proxy() -> Endpoint:
    said = {**HERE, "origins": ["HTTPProxy/shop/web"], "subject": "HTTPProxy/shop/web"}
    return endpoint("DaemonSet/edge/envoy:8443#web.example", said)


def kinds(found: Expectation) -> list[tuple[str | None, str]]:
    return [(each.name, each.owed) for each in found.other_names]


def test_a_port_of_tls_listeners_refuses_other_names() -> None:
    found = owed(at("a.example"), gateway("TLS", "TLS", mode="Passthrough"))
    assert kinds(found) == [("no-such-name.adhere.invalid", "refused"), (None, "refused")]


def test_a_port_that_validates_does_so_for_every_name() -> None:
    found = owed(at("a.example"), gateway("HTTPS", "HTTPS", default=VALIDATION))
    assert kinds(found) == [("no-such-name.adhere.invalid", "validated"), (None, "validated")]


@pytest.mark.parametrize(
    "one", [gateway("HTTPS"), gateway("HTTPS", "TLS", default=VALIDATION), gateway("TLS", "HTTPS")]
)
def test_other_ports_may_answer_whatever_they_like(one: dict[str, Any]) -> None:
    assert owed(at("a.example"), one).other_names == ()


def test_one_name_speaks_for_all_of_its_place() -> None:
    one, other = at("a.example"), at("b.example")
    assert owed(one, gateway("TLS"), beside=(other,)).other_names
    assert owed(other, gateway("TLS"), beside=(one,)).other_names == ()
    elsewhere = replace(one, address="10.0.0.10", instance="elsewhere")
    assert owed(other, gateway("TLS"), beside=(elsewhere,)).other_names


def test_a_listener_set_counts_among_the_gateways_listeners() -> None:
    more = {"name": "web", "port": 443, "protocol": "HTTPS", "tls": {}}
    spec = {"parentRef": {"name": "gw"}, "listeners": [more]}
    beside = made("ListenerSet", "edge", "more", GATEWAY_API, spec=spec)
    assert owed(at("a.example"), gateway("TLS"), beside).other_names == ()


def test_contour_closes_what_it_does_not_know_unless_somebody_falls_back() -> None:
    assert len(owed(of_proxy(), proxy(secretName="web")).other_names) == 2
    falls = proxy(secretName="web", enableFallbackCertificate=True)
    falls["metadata"]["name"] = "other"
    assert owed(of_proxy(), proxy(secretName="web"), falls).other_names == ()
