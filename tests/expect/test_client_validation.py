"""Whose client certificates are accepted, and what other names are owed."""

from __future__ import annotations

from typing import Any

import pytest

from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Expectation
from scanner.values import replace
from tests.expect.declared_objects import GATEWAY_API, ROUTED, ROUTER, controller, made, proxy, route
from tests.expect.stories import endpoint, resolved, snapshot_of

HERE = {"address": "10.0.0.9", "segment": "Frontend"}
VALIDATION = {"validation": {"caCertificateRefs": [{"name": "clients"}]}}
LAX = {"validation": {**VALIDATION["validation"], "mode": "AllowInsecureFallback"}}


FROM_ALL = {"allowedRoutes": {"namespaces": {"from": "All"}}}


def gateway(
    *protocols: str, default: object = None, per_port: object = None, mode: str = "Terminate", hostname: str = "a.x"
) -> dict[str, Any]:
    listeners = [
        {"name": f"l{number}", "port": 443, "protocol": each, "tls": {"mode": mode}, "hostname": hostname, **FROM_ALL}
        for number, each in enumerate(protocols)
    ]
    frontend = {"default": default or {}, **({"perPort": per_port} if per_port else {})}
    return made("Gateway", "edge", "gw", GATEWAY_API, spec={"listeners": listeners, "tls": {"frontend": frontend}})


def at(name: str, listener: str = "l0") -> Endpoint:
    where = f"Deployment/edge/proxy:8443#{name}"
    return endpoint(where, {**HERE, "origins": [f"Gateway/edge/gw listener {listener}"], "subject": "Gateway/edge/gw"})


def owed(of: Endpoint, *objects: dict[str, Any], beside: tuple[Endpoint, ...] = ()) -> Expectation:
    return resolved(snapshot_of(list(objects)), endpoints=(of, *beside)).of(of)


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


def test_a_proxy_that_was_not_seen_validates_nobody() -> None:
    assert owed(of_proxy()).client_trust is None


def test_what_passes_connections_on_validates_nobody() -> None:
    """Its backend answers, with settings of its own."""
    validation = {"caSecret": "clients"}
    assert owed(of_proxy(), proxy(passthrough=True, clientValidation=validation)).client_trust is None
    assert owed(at("a.example"), gateway("HTTPS", default=VALIDATION, mode="Passthrough")).client_trust is None


def test_a_backend_does_not_validate_what_the_proxy_before_it_does() -> None:
    before = proxy(secretName="web", clientValidation={"caSecret": "clients"})
    assert owed(of_proxy(), before).client_trust is not None
    assert owed(of_proxy(segment="Backend"), before).client_trust is None


def of_proxy(segment: str = "Frontend") -> Endpoint:
    said = {**HERE, "origins": ["HTTPProxy/shop/web"], "subject": "HTTPProxy/shop/web", "segment": segment}
    return endpoint("DaemonSet/edge/envoy:8443#web.example", said)


def kinds(found: Expectation) -> list[tuple[str | None, str]]:
    return [(each.name, each.owed) for each in found.other_names]


def test_a_port_of_tls_listeners_refuses_other_names() -> None:
    both = [("no-such-name.adhere.invalid", "refused"), (None, "refused")]
    assert kinds(owed(at("a.example"), gateway("TLS", "TLS", mode="Passthrough", hostname=""))) == both
    assert kinds(owed(at("a.example"), gateway("TLS"))) == both


def test_a_listener_without_a_hostname_that_terminates_may_answer_every_name() -> None:
    """By a TCPRoute, which some implementations attach to it and which has no names."""
    assert owed(at("a.example"), gateway("TLS", hostname="")).other_names == ()


@pytest.mark.parametrize(
    ("hostnames", "parent", "refuses"),
    [
        (None, {"name": "gw", "namespace": "edge"}, False),
        ([], {"name": "gw", "namespace": "edge"}, False),
        (["b.example"], {"name": "gw", "namespace": "edge"}, True),
        (None, {"name": "other", "namespace": "edge"}, True),
        (None, {"kind": "ListenerSet", "name": "more"}, True),
    ],
)
def test_a_route_without_hostnames_leads_every_name_through(
    hostnames: list[str] | None, parent: dict[str, str], refuses: bool
) -> None:
    """v1alpha2 of TLSRoute has it so; one that names another object leads nothing through this Gateway."""
    spec = {"parentRefs": [parent], **({} if hostnames is None else {"hostnames": hostnames})}
    one = made("TLSRoute", "shop", "any", GATEWAY_API, spec=spec)
    passing = gateway("TLS", mode="Passthrough", hostname="")
    assert bool(owed(at("a.example"), passing, one).other_names) == refuses
    assert owed(at("a.example"), gateway("TLS", mode="Passthrough"), one).other_names  # it has names of its own


def test_routes_that_could_not_be_read_may_lead_every_name_through() -> None:
    for hostname, refuses in (("", False), ("a.x", True)):
        gaps = {"tlsroutes.gateway.networking.k8s.io": "403"}
        read = snapshot_of([gateway("TLS", mode="Passthrough", hostname=hostname)], unreadable=gaps)
        found = resolved(read, endpoints=(at("a.example"),))
        assert bool(found.of(at("a.example")).other_names) == refuses


@pytest.mark.parametrize("kind", ["Ingress", "HTTPProxy"])
@pytest.mark.parametrize("one", [gateway("TLS"), gateway("HTTPS", default=VALIDATION)], ids=["refusing", "validating"])
def test_what_else_a_proxy_serves_at_the_place_may_answer_every_name(one: dict[str, Any], kind: str) -> None:
    """With its default certificate, or by a virtual host that validates nobody."""
    said = {**HERE, "origins": [f"{kind}/shop/web"], "subject": f"{kind}/shop/web"}
    beside = endpoint("Deployment/edge/proxy:8443#b.example", said)
    assert owed(at("a.example"), one, proxy(secretName="web"), beside=(beside,)).other_names == ()


@pytest.mark.parametrize(
    "said", [{}, {"subject": "Ingress/shop/web", "origins": ["Ingress/shop/web"], "segment": "Backend"}]
)
def test_a_listener_of_no_object_and_a_backend_at_the_place_answer_for_nobody(said: dict[str, Any]) -> None:
    beside = endpoint("Deployment/edge/proxy:8443", {**HERE, **said})
    assert len(owed(at("a.example"), gateway("TLS"), beside=(beside,)).other_names) == 2


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
    takes = gateway("TLS")
    takes["spec"]["allowedListeners"] = {"namespaces": {"from": "Same"}}
    assert owed(at("a.example"), takes, beside).other_names == ()
    assert owed(at("a.example"), gateway("TLS"), beside).other_names


@pytest.mark.parametrize(
    ("one", "two", "kinds"),
    [
        (gateway("TLS"), gateway("TLS"), 2),
        (gateway("TLS"), gateway("HTTPS"), 0),
        (gateway("HTTPS", default=VALIDATION), gateway("HTTPS", default=VALIDATION), 2),
        (gateway("HTTPS", default=VALIDATION), gateway("HTTPS"), 0),
    ],
)
def test_gateways_that_share_a_place_answer_for_it_together(
    one: dict[str, Any], two: dict[str, Any], kinds: int
) -> None:
    """As where an implementation merges them."""
    two = {**two, "metadata": {**two["metadata"], "name": "two"}}
    (led,) = at("b.example").origins
    assert led.reference is not None
    beside = replace(at("b.example"), origins=(replace(led, reference=replace(led.reference, name="two")),))
    assert len(owed(at("a.example"), one, two, beside=(beside,)).other_names) == kinds


def test_contour_closes_what_it_does_not_know_unless_somebody_falls_back() -> None:
    assert len(owed(of_proxy(), proxy(secretName="web")).other_names) == 2
    # The first name of a place is asked for all of them, whosever it is.
    said = {**HERE, "origins": ["Ingress/shop/first"], "subject": "Ingress/shop/first"}
    first = endpoint("DaemonSet/edge/envoy:8443#first.example", said)
    assert len(owed(first, proxy(secretName="web"), beside=(of_proxy(),)).other_names) == 2
    assert owed(first).other_names == ()
    falls = proxy(secretName="web", enableFallbackCertificate=True)
    falls["metadata"]["name"] = "other"
    assert owed(of_proxy(), proxy(secretName="web"), falls).other_names == ()


@pytest.mark.parametrize(
    ("objects", "expects", "wanted"),
    [
        ([gateway("HTTPS")], None, "Gateway/edge/gw spec.tls.frontend"),
        ([gateway("TLS")], None, None),
        ([gateway("HTTPS", default=VALIDATION)], "required", None),
    ],
)
def test_a_gateway_that_has_nobody_asked_says_so(objects: list[Any], expects: Any, wanted: str | None) -> None:  # noqa: ANN401
    assert owed(replace(at("a.example"), expects=expects), *objects).client_unasked == wanted


def test_an_http_proxy_that_has_nobody_asked_says_so() -> None:
    where = endpoint("Deployment/edge/proxy:8443#web.example", {**HERE, "subject": "HTTPProxy/shop/web"})
    assert owed(where, proxy(secretName="web")).client_unasked == "HTTPProxy/shop/web spec.virtualhost.tls"
    assert owed(where, proxy(passthrough=True)).client_unasked is None
    bare = proxy()
    del bare["spec"]["virtualhost"]["tls"]
    assert owed(where, bare).client_unasked is None


@pytest.mark.parametrize("expects", ["requested", "required"])
def test_what_an_object_has_a_listener_ask_for_is_owed(expects: Any) -> None:  # noqa: ANN401
    """Also where it is no more than requested; that a library has that habit is nobody's promise."""
    asking = replace(at("a.example"), expects=expects)
    assert owed(asking, gateway("HTTPS")).client_certificate == expects
    library = replace(endpoint("Deployment/shop/web:8443", {}), expects=expects)
    assert owed(library).client_certificate == ("required" if expects == "required" else None)


def test_a_routers_port_for_metrics_does_not_validate_as_its_frontend_does() -> None:
    """HAProxy does not answer there; the port is the router's all the same."""
    router = controller(clientTLS={"clientCertificatePolicy": "Required", "clientCA": {"name": "clients"}})
    frontend, metrics = (endpoint(f"Deployment/openshift-ingress/router-default:{port}", {}) for port in (443, 1936))
    assert owed(frontend, router).client_trust is not None
    assert owed(metrics, router).client_trust is None
