"""Whose configuration a Gateway's listener follows, by the controller of its class."""

from __future__ import annotations

from typing import Any

import pytest

from scanner.expect.facts import gateways
from scanner.kube.maybe import Unknown
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Expectation
from tests.expect.declared_objects import GATEWAY_API, api_server, gateway, listener, made, version
from tests.expect.stories import endpoint, resolved, snapshot_of

OPENSHIFT = "openshift.io/gateway-controller/v1"
PROXY = "Deployment/edge/gw-envoy:443"
UNREAD = {"gatewayclasses.gateway.networking.k8s.io": "forbidden"}
BY_SUBJECT = endpoint(PROXY, {"subject": "Gateway/edge/gw", "segment": "Frontend"})


def gateway_class(controller: str) -> dict[str, Any]:
    return made("GatewayClass", "", "a-class", GATEWAY_API, spec={"controllerName": controller})


def owes(where: Endpoint, *objects: dict[str, Any], unreadable: dict[str, str] | None = None) -> Expectation:
    spec = {"gatewayClassName": "a-class", "listeners": [listener("https")]}
    every = [made("Gateway", "edge", "gw", GATEWAY_API, spec=spec), api_server("Old"), version("4.22.3"), *objects]
    return resolved(snapshot_of(every, unreadable=unreadable)).of(where)


def test_of_a_class_that_could_not_be_read_the_profile_is_unknown() -> None:
    profile = owes(BY_SUBJECT, unreadable=UNREAD).profile
    assert isinstance(profile, Unknown)
    assert profile.reason == ("the controller of Gateway/edge/gw is unknown: GatewayClass could not be read: forbidden")


def test_a_class_that_was_seen_counts_where_others_could_not_be_read() -> None:
    found = owes(BY_SUBJECT, gateway_class(OPENSHIFT), unreadable=UNREAD)
    assert not isinstance(found.profile, Unknown)
    assert found.binding == "must-follow"


def test_a_class_that_does_not_exist_is_not_openshifts() -> None:
    found = owes(BY_SUBJECT)
    assert not isinstance(found.profile, Unknown)
    assert found.binding == "not-enforced"


@pytest.mark.parametrize(
    ("controller", "binding", "is_served_by_contour"),
    [
        (OPENSHIFT, "must-follow", False),
        ("projectcontour.io/gateway-controller", "not-enforced", True),
        ("gateway.envoyproxy.io/gatewayclass-controller", "not-enforced", False),
    ],
)
@pytest.mark.parametrize(
    "said",
    [
        {"subject": "Gateway/edge/gw"},
        {"labels": {"gateway.networking.k8s.io/gateway-name": "gw"}},
        {"subject": "Service/edge/gw", "labels": {"gateway.networking.k8s.io/gateway-name": "gw"}},
    ],
)
def test_the_controller_of_a_gateway_is_that_of_its_class(
    said: dict[str, Any], controller: str, binding: str, is_served_by_contour: bool
) -> None:
    """The Gateway is what the endpoint is for, or what the label of its pods names."""
    found = owes(endpoint(PROXY, {**said, "segment": "Frontend"}), gateway_class(controller))
    assert found.binding == binding
    assert (
        any(each.startswith("Contour does not support versions below TLSv1.2") for each in found.remarks)
        is is_served_by_contour
    )


def test_the_gateway_of_several_listeners_is_one() -> None:
    one = gateway(listener("a"), listener("b"))
    where = endpoint(PROXY, {"origins": [f"Gateway/edge/gw listener {name}" for name in ("a", "b")]})
    assert [str(each.reference) for each in gateways(snapshot_of([one]), where)] == ["Gateway/edge/gw"]
