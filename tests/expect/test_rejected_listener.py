"""Listeners that serve nothing, by what their controllers say, and statuses of an older generation."""

from __future__ import annotations

from typing import Any

import pytest

from tests.expect.declared_objects import GATEWAY_API, gateway, listener, made, proxy, secret
from tests.expect.rejected_listeners import LISTENER, SAYS, at, owed
from tests.expect.stories import endpoint

WEB = {"name": "web"}
OTHER = {"name": "other"}


def status(kind: str, said: str, reason: str, seen: int = 2) -> dict[str, Any]:
    return {"type": kind, "status": said, "reason": reason, "observedGeneration": seen}


def reported(*conditions: dict[str, Any], of: dict[str, Any] | None = None) -> dict[str, Any]:
    """A Gateway in its second generation, and what its status says of the one listener."""
    found = gateway(of or listener("https", WEB))
    found["metadata"]["generation"] = 2
    found["status"] = {"listeners": [{"name": "https", "conditions": list(conditions)}]}
    return found


INVALID = status("ResolvedRefs", "False", "InvalidCertificateRef")


@pytest.mark.parametrize(
    "condition",
    [
        INVALID,
        status("ResolvedRefs", "False", "RefNotPermitted"),
        status("Accepted", "False", "NoValidCACertificate"),
        status("Conflicted", "True", "HostnameConflict"),
    ],
)
def test_a_listener_that_is_not_served_by_its_status(condition: dict[str, Any]) -> None:
    said = owed(at(LISTENER), reported(condition))
    assert said.remarks[-1] == f"no certificate may be served for its server name: {said.rejection}"
    assert said.rejection == (
        f"Gateway/edge/gw status.listeners[https]: {condition['type']} is {condition['status']}, {condition['reason']}"
    )


@pytest.mark.parametrize(
    "condition",
    [
        status("ResolvedRefs", "True", "ResolvedRefs"),
        status("ResolvedRefs", "False", "InvalidRouteKinds"),
        status("Accepted", "Unknown", "Pending"),
        status("Conflicted", "False", "NoConflicts"),
        {**INVALID, "observedGeneration": 1},
    ],
)
def test_what_other_conditions_say_withholds_nothing(condition: dict[str, Any]) -> None:
    assert owed(at(LISTENER), reported(condition)).rejection == ""


def test_of_several_certificates_some_may_be_served() -> None:
    assert owed(at(LISTENER), reported(INVALID, of=listener("https", WEB, OTHER))).rejection == ""


def test_a_status_of_an_older_generation_is_said() -> None:
    old = reported(status("Programmed", "True", "Programmed", seen=1))
    assert owed(at(LISTENER), old).stale_status == "the status of Gateway/edge/gw is of an older generation"
    assert owed(at(LISTENER), reported(status("Programmed", "True", "Programmed"))).stale_status == ""
    pending = reported(status("Programmed", "False", "Pending"))
    assert owed(at(LISTENER), pending).stale_status == "Gateway/edge/gw is not programmed ('False', 'Pending')"


@pytest.mark.parametrize(
    ("reason", "own", "stale"),
    [
        ("ListenersNotValid", "True", ""),
        ("ListenersNotValid", "False", "Gateway/edge/gw is not programmed ('False', 'Invalid')"),
        ("ListenersNotValid", None, "Gateway/edge/gw is not programmed ('False', 'ListenersNotValid')"),
        ("AddressNotAssigned", "True", "Gateway/edge/gw is not programmed ('False', 'AddressNotAssigned')"),
    ],
)
def test_a_gateway_of_which_some_listener_is_not_valid_programs_the_others(
    reason: str, own: str | None, stale: str
) -> None:
    """Contour says so of the Gateway as soon as one listener's certificate is missing."""
    found = reported(status("Programmed", own or "", "Invalid"))
    found["status"]["conditions"] = [status("Programmed", "False", reason)]
    if own is None:
        found["status"]["listeners"] = []
    assert owed(at(LISTENER), found).stale_status == stale


@pytest.mark.parametrize(
    ("name", "subject", "withheld"),
    [
        ("web.example", "Ingress/shop/web", False),
        ("other.example", "Ingress/shop/web", True),
        ("web.example", "Route/shop/web", True),
        ("web.example", None, True),
    ],
)
def test_an_ingress_that_answers_the_same_name_withholds_nothing(
    name: str, subject: str | None, withheld: bool
) -> None:
    """Beside a listener that is not served; who else is there has not been told to answer."""
    said = {"address": "10.0.0.1", "origins": ["Ingress/shop/web"], "subject": subject}
    where = at(LISTENER, "Deployment/edge/proxy:8443#web.example")
    beside = endpoint(f"Deployment/edge/other:8443#{name}", said)
    assert bool(owed(where, reported(INVALID), beside=(beside,)).rejection) == withheld


@pytest.mark.parametrize("name", ["", "#web.example"])
def test_a_listener_for_another_name_does_not_answer_for_one_that_is_rejected(name: str) -> None:
    where = at(LISTENER, f"Deployment/edge/proxy:8443{name}")
    other = at("Gateway/edge/gw listener other", "Deployment/edge/proxy:8443#other.example")
    both = reported(INVALID)
    both["spec"]["listeners"].append({**listener("other", OTHER), "hostname": "*.other.example"})
    assert owed(where, both, beside=(other,)).rejection


def test_what_nobody_has_been_told_yet_withholds_nothing() -> None:
    """A reference that is new: what was served before it may still be, and was all right."""
    named = gateway(listener("https", {"name": "shared", "namespace": "certs"}))
    named["metadata"]["generation"] = 2
    for seen, withheld in ((1, False), (2, True)):
        named["status"] = {"conditions": [status("Programmed", "False", "Invalid", seen)]}
        assert bool(owed(at(LISTENER), named).rejection) == withheld
    one = proxy(secretName="certs/shared")
    one["metadata"]["generation"] = 3
    for seen, withheld in ((2, False), (3, True)):
        one["status"] = {"conditions": [status("Valid", "False", "x", seen)]}
        assert bool(owed(at(SAYS), one).rejection) == withheld


def test_a_listener_set_depends_on_its_gateway_too() -> None:
    spec = {"parentRef": {"name": "gw", "namespace": "edge"}, "listeners": [listener("https", WEB)]}
    more = made("ListenerSet", "edge", "more", GATEWAY_API, spec=spec)
    parent = {**gateway(), "status": {"conditions": [status("Programmed", "False", "Pending")]}}
    said = owed(at("ListenerSet/edge/more listener https"), more, parent).stale_status
    assert said == "Gateway/edge/gw is not programmed ('False', 'Pending')"


def test_an_http_proxys_too() -> None:
    one = proxy(secretName="web")
    one["metadata"]["generation"] = 3
    for seen, stale in ((2, "the status of HTTPProxy/shop/web is of an older generation"), (3, "")):
        one["status"] = {"conditions": [status("Valid", "True", "Valid", seen)]}
        assert owed(at(SAYS), one, secret("shop", "web")).stale_status == stale


@pytest.mark.parametrize("odd", [7, [7], [{"name": 7, "conditions": 7}], [{"name": "https", "conditions": [{}]}]])
def test_an_odd_status_says_nothing(odd: object) -> None:
    found = {**reported(), "status": {"listeners": odd, "conditions": odd}}
    said = owed(at(LISTENER), found)
    assert (said.rejection, said.stale_status) == ("", "")


@pytest.mark.parametrize(
    ("allowed", "conditions", "why"),
    [
        ({}, [], "Gateway/edge/gw does not admit ListenerSet/shop/more"),
        ({"allowedListeners": {"namespaces": {"from": "All"}}}, [], ""),
        (
            {"allowedListeners": {"namespaces": {"from": "All"}}},
            [{"type": "Accepted", "status": "False", "reason": "NotAllowed"}],
            "Gateway/edge/gw does not admit ListenerSet/shop/more",
        ),
    ],
)
def test_a_listener_set_that_its_gateway_does_not_admit_serves_nothing(
    allowed: dict[str, Any], conditions: list[dict[str, str]], why: str
) -> None:
    parent = gateway()
    parent["spec"].update(allowed)
    spec = {"parentRef": {"name": "gw", "namespace": "edge"}, "listeners": [listener("https", WEB)]}
    more = made("ListenerSet", "shop", "more", GATEWAY_API, spec=spec, status={"conditions": conditions})
    assert owed(at("ListenerSet/shop/more listener https"), parent, more, secret("shop", "web")).rejection == why


@pytest.mark.parametrize(
    ("said", "refusal"),
    [("valid", ""), ("", ""), ("invalid", "Contour's status of HTTPProxy/shop/web is 'invalid'")],
)
def test_an_invalid_proxy_may_be_served(said: str, refusal: str) -> None:
    """Contour serves it in part, so that neither is a fault."""
    found = {**proxy(secretName="web"), "status": {"currentStatus": said}}
    expected = owed(at(SAYS), found, secret("shop", "web"))
    assert (expected.rejection, expected.refusal) == ("", refusal)
