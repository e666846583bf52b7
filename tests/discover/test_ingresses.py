"""Ingresses."""

from __future__ import annotations

from tests.discover.objects import by_id, found, left_out, only
from tests.discover.samples import ENVOY, ROUTER, ingress


def test_names_are_asked_at_the_controller_behind_the_published_address() -> None:
    endpoints = by_id(found(ENVOY + ingress("{ip: 198.51.100.8}")))
    assert {
        "DaemonSet/projectcontour/envoy:8443",
        "DaemonSet/projectcontour/envoy:8443#adhere-probe.ex.com",
        "DaemonSet/projectcontour/envoy:8443#shop.ex.com",
    } <= set(endpoints)
    one = endpoints["DaemonSet/projectcontour/envoy:8443#shop.ex.com"]
    assert (str(one.subject), one.segment, one.certainty) == ("Ingress/shop/shop", "Frontend", "declared")


def test_an_ingress_of_openshift_s_router_is_behind_its_canonical_name() -> None:
    endpoints = by_id(found(ROUTER + ingress("{hostname: router-default.apps.ex.com}")))
    assert "Deployment/openshift-ingress/router-default:443#shop.ex.com" in endpoints


def test_an_address_of_which_nothing_is_known_is_a_sample() -> None:
    one = only(found(ingress("{ip: 198.51.100.4}", "[a.b]")))
    assert (one.id, one.address, one.sampled) == ("Ingress/shop/shop:443#a.b", "198.51.100.4", True)
    named = only(found(ingress("{hostname: lb.cloud}", "[a.b]")))
    assert (named.address, named.host, named.server_name) == ("", "lb.cloud", "a.b")


def test_what_cannot_be_asked_is_counted() -> None:
    text = ingress("", "[a.b]") + "---\n{kind: Ingress, metadata: {name: p, namespace: s}}"
    assert left_out(found(text)) == {"Ingresses without a published address": 1, "Ingresses without TLS": 1}
    assert left_out(found(ingress("", "[a b]"))) == {"Ingresses without a published address": 1}
    assert left_out(found(ingress("{ip: 198.51.100.4}", "[a b, 10.0.0.1]"))) == {
        "server names that are not DNS names": 1
    }


def test_a_name_that_is_no_dns_name_is_not_asked_without_a_name_instead() -> None:
    assert only(found(ingress("{ip: 198.51.100.4}", "[a b, a.b]"))).server_name == "a.b"


def test_a_hundred_names_of_one_ingress_are_enough() -> None:
    hosts = "[" + ", ".join(f"h{number}.ex.com" for number in range(500)) + "]"
    assert len(found(ingress("{ip: 198.51.100.4}", hosts)).endpoints) == 100
