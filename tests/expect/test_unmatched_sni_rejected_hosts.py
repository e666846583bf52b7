"""Names that are not served by the status of their objects, and which endpoint is asked for them."""

from __future__ import annotations

from typing import Any

import pytest

from scanner.kube.hostnames import NO_SUCH_NAME
from scanner.model.expectation import OtherName
from tests.expect.declared_objects import controller, gateway, listener, made
from tests.expect.rejected_listeners import LISTENER, at, owed
from tests.expect.stories import endpoint

ACCEPTED = {"type": "Accepted", "status": "False", "reason": "NoValidCACertificate"}


def others(*found: OtherName) -> list[tuple[str | None, str]]:
    return [(each.name, each.owed) for each in found]


def two_listeners(hostname: str, *conditions: dict[str, str], port: int = 443) -> dict[str, Any]:
    served = {**listener("https", {"name": "web"}), "hostname": hostname}
    refused = {**listener("bad", {"name": "web"}), "hostname": "bad.example", "port": port}
    found = gateway(served, refused)
    found["status"] = {"listeners": [{"name": "bad", "conditions": list(conditions)}]}
    return found


def test_a_listener_that_is_not_accepted_is_asked_for_beside_the_one_that_is() -> None:
    (other,) = owed(at(LISTENER), two_listeners("web.example", ACCEPTED)).other_names
    assert (other.name, other.owed) == ("bad.example", "refused")
    assert other.because == "Gateway/edge/gw status.listeners[bad]: Accepted is False, NoValidCACertificate"


def test_one_that_somebody_else_answers_or_on_another_port_is_not() -> None:
    assert owed(at(LISTENER), two_listeners("*.example", ACCEPTED)).other_names == ()
    assert owed(at(LISTENER), two_listeners("web.example", ACCEPTED, port=8443)).other_names == ()
    assert owed(at(LISTENER), two_listeners("web.example")).other_names == ()


def proxy(name: str, error: str = "", **more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    tls = {"secretName": "web", **more}
    spec = {"virtualhost": {"fqdn": f"{name}.example", "tls": tls}}
    found = made("HTTPProxy", "shop", name, "projectcontour.io/v1", spec=spec)
    errors = [{"type": error, "reason": "SecretNotValid"}]
    if error:
        found["status"] = {"conditions": [{"type": "Valid", "status": "False", "errors": errors}]}
    return found


@pytest.mark.parametrize(
    ("error", "asked"), [("TLSError", True), ("VirtualHostError", True), ("ServiceError", False), ("", False)]
)
def test_an_http_proxy_that_contour_does_not_serve(error: str, asked: bool) -> None:
    found = owed(at("HTTPProxy/shop/web"), proxy("web"), proxy("bad", error)).other_names
    assert (("bad.example", "refused") in others(*found)) == asked


def test_other_listeners_are_not_asked_for_what_an_http_proxy_does_not_serve() -> None:
    listening = two_listeners("web.example")
    found = owed(at("Gateway/edge/gw listener https"), listening, proxy("bad", "TLSError")).other_names
    assert "bad.example" not in [name for name, _ in others(*found)]


@pytest.mark.parametrize(("generation", "asked"), [(1, True), (2, False)])
def test_what_contour_said_of_an_older_generation_is_not_what_it_serves_now(generation: int, asked: bool) -> None:
    bad = proxy("bad", "TLSError")
    bad["metadata"]["generation"] = generation
    bad["status"]["conditions"][0]["observedGeneration"] = 1
    found = owed(at("HTTPProxy/shop/web"), proxy("web"), bad).other_names
    assert (("bad.example", "refused") in others(*found)) == asked


def test_with_the_fallback_certificate_every_name_is_answered() -> None:
    served = proxy("web", enableFallbackCertificate=True)
    assert owed(at("HTTPProxy/shop/web"), served, proxy("bad", "TLSError")).other_names == ()


ROUTER = endpoint("Deployment/openshift-ingress/router-default:443", {"address": "10.0.0.1"})


def route(name: str, admitted: str, host: str = "", **more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    said = {"type": "Admitted", "status": admitted, "reason": "ExternalCertificateValidationFailed"}
    status = {"ingress": [{"routerName": "default", "host": host or f"{name}.example", "conditions": [said]}]}
    spec = {"tls": {"termination": "edge"}, **more}
    return made("Route", "shop", name, "route.openshift.io/v1", spec=spec, status=status)


def asked(*routes: dict[str, Any]) -> tuple[OtherName, ...]:
    """Beside a name that no Route has, which every router is asked for."""
    return tuple(each for each in owed(ROUTER, controller(), *routes).other_names if each.name != NO_SUCH_NAME)


def test_a_route_that_was_not_admitted_may_have_the_routers_default() -> None:
    (other,) = asked(route("web", "True"), route("bad", "False"))
    assert (other.name, other.owed) == ("bad.example", "default")
    assert other.because == (
        "Route/shop/bad status.ingress[default]: Admitted is False, ExternalCertificateValidationFailed"
    )


def test_another_routes_host_is_that_ones() -> None:
    assert asked(route("web", "True"), route("bad", "False", "web.example")) == ()
    assert asked(route("web", "True", wildcardPolicy="Subdomain"), route("bad", "False")) == ()


def test_what_is_too_much_is_not_forgotten() -> None:
    found = asked(*(route(f"bad-{number}", "False") for number in range(25)))
    assert len(found) == 21
    assert (found[-1].name, found[-1].owed) == (None, "unasked")
    assert found[-1].because.startswith("5 more rejected names")


@pytest.mark.parametrize(
    ("place", "said", "asked"),
    [
        ("443", {}, True),
        ("443#web.example", {}, False),
        ("443#web.example", {"subject": "Route/shop/web", "segment": "Frontend"}, False),
        ("1936", {}, False),
    ],
)
def test_a_route_that_is_not_served_is_asked_for_at_the_routers_frontend_without_a_name_alone(
    place: str, said: dict[str, Any], *, asked: bool
) -> None:
    where = endpoint(f"Deployment/openshift-ingress/router-default:{place}", {"address": "10.0.0.1", **said})
    found = owed(where, controller(), route("web", "True"), route("bad", "False")).other_names
    assert ("bad.example" in [name for name, _ in others(*found)]) is asked
