"""Whose content must not be had through whose connection."""

from __future__ import annotations

from typing import Any

from scanner.expect import Expectations
from scanner.model.endpoint import Endpoint
from scanner.model.scan_policy import ScanPolicy
from scanner.values import replace
from tests.expect.declared_objects import GATEWAY_API, made
from tests.expect.stories import catalogue, endpoint, resolved, snapshot_of

HERE = {"address": "10.0.0.9", "segment": "Frontend"}


def proxy(name: str, **spec: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    virtual = {"fqdn": f"{name}.example", "tls": {"secretName": name}}
    given = {"routes": [{}], **spec}
    return made("HTTPProxy", "shop", name, "projectcontour.io/v1", spec={"virtualhost": virtual, **given})


def at(name: str, subject: str = "", origin: str = "", **more: Any) -> Endpoint:  # noqa: ANN401 - of an endpoint
    subject = subject or f"HTTPProxy/shop/{name}"
    said = {**HERE, "subject": subject, "origins": [origin or subject]}
    return replace(endpoint(f"DaemonSet/edge/envoy:8443#{name}.example", said), **more)


def found(of: Endpoint, *beside: Endpoint, objects: list[dict[str, Any]]) -> list[tuple[str, bool]]:
    expectations = resolved(snapshot_of(objects), endpoints=(of, *beside))
    return [(each.name, each.guarded) for each in expectations.of(of).neighbours]


def test_other_http_proxies_with_those_that_ask_for_certificates_first() -> None:
    names = ("a", "b", "c", "d", "e")
    guarded = at("e", expects="required")
    beside = [at("b"), at("c"), at("d"), guarded]
    assert found(at("a"), *beside, objects=[proxy(each) for each in names]) == [
        ("e.example", True),
        ("b.example", False),
        ("c.example", False),
    ]
    # Nobody can send a request where a certificate is required.
    assert found(guarded, at("a"), objects=[proxy(each) for each in names]) == []


def test_what_is_elsewhere_or_no_http_is_no_neighbour() -> None:
    tcp = made("HTTPProxy", "shop", "b", "projectcontour.io/v1", spec={"virtualhost": {}, "tcpproxy": {}})
    assert found(at("a"), at("b"), objects=[proxy("a"), tcp]) == []
    elsewhere = at("b", address="10.0.0.10", instance="elsewhere")
    assert found(at("a"), elsewhere, objects=[proxy("a"), proxy("b")]) == []


def test_names_of_one_listener_may_share_connections_and_those_of_two_may_not() -> None:
    listeners = [{"name": each, "port": 443, "protocol": "HTTPS"} for each in ("one", "two")]
    gateway = made("Gateway", "edge", "gw", GATEWAY_API, spec={"listeners": listeners})
    here = at("a", "Gateway/edge/gw", "Gateway/edge/gw listener one")
    same = at("b", "Gateway/edge/gw", "Gateway/edge/gw listener one")
    other = at("c", "Gateway/edge/gw", "Gateway/edge/gw listener two")
    assert found(here, same, other, objects=[gateway]) == [("c.example", False)]


def test_a_wildcard_has_the_names_of_its_neighbours_too() -> None:
    names = {"one": "*.example", "two": "b.example", "three": "c.other"}
    listeners = [{"name": each, "hostname": name, "port": 443, "protocol": "HTTPS"} for each, name in names.items()]
    gateway = made("Gateway", "edge", "gw", GATEWAY_API, spec={"listeners": listeners})
    here = at("a", "Gateway/edge/gw", "Gateway/edge/gw listener one")
    beside = at("b", "Gateway/edge/gw", "Gateway/edge/gw listener two")
    other = at("c", "Gateway/edge/gw", "Gateway/edge/gw listener three", server_name="c.other")
    expectations = Expectations(
        snapshot_of([gateway]), catalogue("openshift"), ScanPolicy(), endpoints=(here, beside, other)
    )
    assert [(each.name, each.covered) for each in expectations.of(here).neighbours] == [
        ("b.example", True),
        ("c.other", False),
    ]
    assert [each.covered for each in expectations.of(beside).neighbours] == [False, False]


def test_a_listener_for_every_name_is_asked_without_one() -> None:
    listeners = [{"name": "all", "port": 443, "protocol": "HTTPS"}, {"name": "two", "port": 443, "protocol": "HTTPS"}]
    listeners[1]["hostname"] = "b.example"
    gateway = made("Gateway", "edge", "gw", GATEWAY_API, spec={"listeners": listeners})
    here = at("a", "Gateway/edge/gw", "Gateway/edge/gw listener all", server_name=None)
    beside = at("b", "Gateway/edge/gw", "Gateway/edge/gw listener two", expects="required")
    expectations = resolved(snapshot_of([gateway]), endpoints=(here, beside))
    (found,) = expectations.of(here).neighbours
    assert (found.name, found.guarded, found.covered) == ("b.example", True, True)
    open_ = replace(beside, expects=None)
    expectations = resolved(snapshot_of([gateway]), endpoints=(here, open_))
    assert expectations.of(here).neighbours == ()


def test_routes_and_ingresses_have_none() -> None:
    web = made("Ingress", "shop", "a", "networking.k8s.io/v1", spec={})
    assert found(at("a", "Ingress/shop/a"), at("b", "Ingress/shop/b"), objects=[web]) == []


def test_of_contours_fallback_certificate_they_are_those_that_do_not_take_part() -> None:
    taking = proxy("a")
    taking["spec"]["virtualhost"]["tls"]["enableFallbackCertificate"] = True
    nobodys = endpoint("DaemonSet/edge/envoy:8443", HERE)
    beside = (at("a"), at("b"), at("c", expects="required"))
    assert found(nobodys, *beside, objects=[taking, proxy("b"), proxy("c")]) == [
        ("c.example", True),
        ("b.example", False),
    ]
    assert found(nobodys, *beside, objects=[proxy("a"), proxy("b"), proxy("c")]) == []
