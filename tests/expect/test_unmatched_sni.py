"""Names that a router answers without knowing them."""

from __future__ import annotations

from typing import Any

import pytest

from scanner.kube.hostnames import NO_SUCH_NAME
from scanner.model.expectation import OtherName
from tests.expect.declared_objects import controller, made
from tests.expect.stories import endpoint, resolved, snapshot_of

ROUTER = "Deployment/openshift-ingress/router-default:443"
HOST = "www.shop.example"
LONG = ".".join(["a", *["b" * 61] * 4])
"""With another first label it is too long for a name: a client would send none, and be shown the default."""


def names(name: str, *objects: dict[str, Any], **fields: Any) -> tuple[OtherName, ...]:  # noqa: ANN401
    where = endpoint(name, {"segment": "Frontend", "address": "10.128.0.10", **fields})
    expectations = resolved(snapshot_of(list(objects)), endpoints=[where])
    return expectations.of(where).other_names


def route(
    policy: str = "Subdomain",
    *,
    host: str = HOST,
    termination: str = "edge",
    router: str = "default",
    admitted: str = "True",
) -> dict[str, Any]:
    condition = {"type": "Admitted", "status": admitted}
    said = {"host": host, "routerName": router, "wildcardPolicy": policy, "conditions": [condition]}
    spec = {"host": HOST, "wildcardPolicy": "Subdomain", "tls": {"termination": termination}}
    return made("Route", "shop", "any", "route.openshift.io/v1", spec=spec, status={"ingress": [said]})


def test_a_router_is_asked_for_a_name_that_no_route_has() -> None:
    (name,) = names(ROUTER, controller())
    assert (name.name, name.owed) == (NO_SUCH_NAME, "default")
    assert name.because == "IngressController/openshift-ingress-operator/default: no Route has this name"


@pytest.mark.parametrize("where", ["Deployment/shop/web:443", "Deployment/openshift-ingress/router-other:443"])
def test_what_is_no_known_router_is_not(where: str) -> None:
    assert names(where, controller()) == ()


def test_a_route_that_has_its_subdomain_is_asked_for_a_name_of_it() -> None:
    (name,) = names(f"{ROUTER}#{HOST}", controller(), route(), subject="Route/shop/any")
    assert (name.name, name.owed) == ("adhere-probe.shop.example", "same")
    assert name.because == "Route/shop/any status.ingress[default].wildcardPolicy: Subdomain"


@pytest.mark.parametrize(
    ("said", "name"),
    [
        (route("None"), HOST),
        (route(host="www.other.example"), HOST),
        (route(termination="passthrough"), HOST),
        (route(host="adhere-probe.shop.example"), "adhere-probe.shop.example"),
        (route(admitted="False"), HOST),
        (route(router="other"), HOST),
        (route(host=LONG), LONG),
    ],
)
def test_other_routes_are_not(said: dict[str, Any], name: str) -> None:
    assert names(f"{ROUTER}#{name}", controller(), said, subject="Route/shop/any") == ()


def test_a_passthrough_wildcard_route_is_not_asked_for_a_name_of_its_subdomain() -> None:
    """Another router behind it answers, and serves each of its own Routes."""
    other = "Deployment/openshift-ingress/router-other:443"
    passing = route(termination="passthrough")
    passing["spec"] |= {"to": {"kind": "Service", "name": "router-other"}}
    passing["metadata"]["namespace"] = "openshift-ingress"
    service = made("Service", "openshift-ingress", "router-other", spec={"ports": [{"name": "https", "port": 443}]})
    labels = {"kubernetes.io/service-name": "router-other"}
    fields = {"ports": [{"name": "https", "port": 443}], "endpoints": [{"addresses": ["10.128.0.11"]}]}
    named = {"namespace": "openshift-ingress", "labels": labels}
    sliced = made("EndpointSlice", "openshift-ingress", "a", "discovery.k8s.io/v1", metadata=named, **fields)
    said = {"segment": "Frontend", "address": "10.128.0.10", "subject": "Route/openshift-ingress/any"}
    near = endpoint(f"{ROUTER}#{HOST}", said)
    behind = endpoint(other, {"address": "10.128.0.11", "segment": "Backend"})
    snapshot = snapshot_of([controller(), passing, service, sliced])
    found = resolved(snapshot, endpoints=[near, behind]).of(near)
    assert found.passed_on is not None
    assert (found.passed_on.backends, found.other_names) == ((other,), ())


@pytest.mark.parametrize(
    ("where", "objects"),
    [
        (f"{ROUTER}#{HOST}", ()),  # deleted since
        (f"{ROUTER}#localhost", (route(host="localhost"),)),  # no domain
    ],
)
def test_without_a_wildcard_route_at_a_router_no_name_of_a_subdomain_is_asked(
    where: str, objects: tuple[dict[str, Any], ...]
) -> None:
    assert names(where, controller(), *objects, subject="Route/shop/any") == ()


def test_a_route_without_a_server_name_has_no_subdomain() -> None:
    assert names(ROUTER, controller(), route(), subject="Route/shop/any") == ()


def test_of_an_unknown_router_every_admission_counts() -> None:
    """Two routers admitted the Route: the one that answers has its subdomain, whichever it is."""
    both = route()
    both["status"]["ingress"].append({**both["status"]["ingress"][0], "routerName": "other"})
    (name,) = names(f"Router/unknown:443#{HOST}", controller(), both, subject="Route/shop/any", component="router")
    assert (name.name, name.owed) == ("adhere-probe.shop.example", "same")


@pytest.mark.parametrize(
    ("admitted", "host", "asked"),
    [
        ("False", HOST, [(HOST, "default")]),
        ("True", HOST, []),
        ("", HOST, []),  # no router has looked at it yet
        ("False", "no name", []),
        ("", "no name", []),
    ],
)
def test_the_router_is_asked_for_the_hosts_that_it_did_not_admit(
    admitted: str, host: str, asked: list[tuple[str, str]]
) -> None:
    rejected = route(host=host, admitted=admitted)
    if not admitted:
        rejected["status"]["ingress"][0]["conditions"] = []
    found = names(ROUTER, controller(), rejected)
    assert [(each.name, each.owed) for each in found if each.name != NO_SUCH_NAME] == asked
