"""Which IngressController a listener belongs to: by its owner, its Route's status, or because there is only one."""

from __future__ import annotations

from typing import Any

import pytest

from scanner.kube.ingress import ROUTER_LABEL
from scanner.kube.maybe import Unknown
from scanner.model.expectation import Expectation
from tests.expect.declared_objects import api_server, made
from tests.expect.stories import endpoint, resolved, snapshot_of

ROUTED = {"subject": "Route/shop/web", "segment": "Frontend"}
ROUTE = made(
    "Route", "shop", "web", "route.openshift.io/v1", spec={"host": "web.example", "tls": {"termination": "edge"}}
)


def controller(name: str) -> dict[str, Any]:
    return made("IngressController", "openshift-ingress-operator", name, "operator.openshift.io/v1")


def governed_by(name: str, said: dict[str, Any], *controllers: str) -> str | None:
    """The name of the IngressController whose profile the listener is given; None: not known."""
    where = endpoint(name, said)
    snapshot = snapshot_of([ROUTE, *map(controller, controllers)])
    found = resolved(snapshot).of(where)
    if isinstance(found.profile, Unknown) and found.profile.reason.startswith(
        "the IngressController of this listener is unknown"
    ):
        return None
    assert found.lever is not None
    return found.lever.where.removeprefix("IngressController/openshift-ingress-operator/")


@pytest.mark.parametrize(
    ("name", "said", "controllers", "governs"),
    [
        ("IngressController/openshift-ingress-operator/own:443#web.example", ROUTED, ("default", "own"), "own"),
        ("Router/own:443#web.example", ROUTED, ("default", "own"), "own"),
        ("Router/unknown:443#web.example", ROUTED, ("default", "own"), None),
        ("Router/unknown:443#web.example", ROUTED, ("default",), "default"),
        ("Deployment/openshift-ingress/router-own:9443", {}, ("default", "own"), "own"),
        ("Pod/openshift-ingress/router-default:9443", {"labels": {ROUTER_LABEL: "own"}}, ("default", "own"), "own"),
    ],
)
def test_the_controller_of_a_listener(
    name: str, said: dict[str, Any], controllers: tuple[str, ...], governs: str | None
) -> None:
    assert governed_by(name, said, *controllers) == governs


def test_a_listener_of_a_route_is_the_routers_whatever_serves_it() -> None:
    """HAProxy applies a profile's groups; the catalogue has no entry for a Deployment of that name."""
    where = endpoint("Deployment/edge/sharded:443#web.example", ROUTED)
    found = resolved(snapshot_of([ROUTE, controller("own")])).of(where)
    assert (found.component, found.groups_configurable) == ("router", True)


def listens(route: dict[str, Any], **status: Any) -> Expectation:  # noqa: ANN401 - JSON
    """What a Route's frontend at the router owes; ``status`` is the IngressController's."""
    where = endpoint("Deployment/openshift-ingress/router-default:443#web.example", ROUTED)
    spec = {"tlsSecurityProfile": {"type": "Custom", "custom": {"minTLSVersion": "VersionTLS12", "ciphers": CIPHERS}}}
    snapshot = snapshot_of([route, {**controller("default"), "spec": spec, "status": status}])
    return resolved(snapshot).of(where)


CIPHERS = ["ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-CHACHA20-POLY1305"]


def test_a_route_that_is_passed_through_is_not_answered_by_haproxy() -> None:
    through = {**ROUTE, "spec": {"host": "web.example", "tls": {"termination": "passthrough"}}}
    said = [[because.said for because in listens(each).because] for each in (ROUTE, through)]
    assert ["the router answers" in " ".join(each) for each in said] == [True, False]


@pytest.mark.parametrize("admitted", [True, False])
def test_a_profile_that_is_not_admitted_says_nothing_of_what_the_router_keeps(*, admitted: bool) -> None:
    conditions = [{"type": "Admitted", "status": str(admitted), "message": "no"}]
    assert isinstance(listens(ROUTE, conditions=conditions).profile, Unknown) is not admitted


@pytest.mark.parametrize(("ciphers", "same"), [(CIPHERS, True), (CIPHERS[:1], False)])
def test_a_router_that_lacks_chacha20_outside_of_fips_mode_uses_another_profile(
    ciphers: list[str], *, same: bool
) -> None:
    found = listens(ROUTE, tlsProfile={"minTLSVersion": "VersionTLS12", "ciphers": ciphers})
    (said,) = [each.said for each in found.because if each.field == "status.tlsProfile"]
    assert (said == "the router uses it") is same


AT_WORK = {"type": "Progressing", "status": "True", "lastTransitionTime": "2026-11-21T11:50:00Z"}
NOT_ADMITTED = {"type": "Admitted", "status": "False", "message": "no suite"}
ADMITTED = {"type": "Admitted", "status": "True"}
SAME, OTHER, ODD = ({"minTLSVersion": "VersionTLS12", "ciphers": each} for each in (CIPHERS, CIPHERS[:1], []))
MINE, KEPT = "custom (IngressController/openshift-ingress-operator/default)", "status.tlsProfile of"


@pytest.mark.parametrize(
    ("reported", "conditions", "profile", "binding", "said"),
    [
        (None, [], MINE, "must-follow", None),
        (None, [ADMITTED], MINE, "must-follow", None),
        (None, [NOT_ADMITTED], "the profile of", "must-follow", "not admitted: no suite"),
        (None, [{**NOT_ADMITTED, "message": ""}], "the profile of", "must-follow", "not admitted"),
        (SAME, [ADMITTED], MINE, "must-follow", "the router uses it"),
        (SAME, [NOT_ADMITTED], KEPT, "must-follow", f"the router keeps {KEPT}"),
        (OTHER, [], MINE, "must-follow", "the router still uses another profile, but no rollout is in progress"),
        (OTHER, [{**AT_WORK, "status": "False"}], MINE, "must-follow", "the router still uses another profile, but no"),
        (OTHER, [AT_WORK, ADMITTED], MINE, "settling", "the router still uses another profile"),
        (OTHER, [NOT_ADMITTED], KEPT, "must-follow", f"the router keeps {KEPT}"),
        (ODD, [NOT_ADMITTED], MINE, "must-follow", None),
    ],
)
def test_what_the_operator_reports_of_a_profile(
    reported: dict[str, Any] | None, conditions: list[dict[str, Any]], profile: str, binding: str, said: str | None
) -> None:
    found = listens(ROUTE, conditions=conditions, **({"tlsProfile": reported} if reported else {}))
    known = found.profile.reason if isinstance(found.profile, Unknown) else found.profile.name
    assert known.startswith(profile)
    assert found.binding == binding
    assert [each.name[: len(KEPT)] for each in found.alternatives] == ([KEPT] if binding == "settling" else [])
    steps = [each.said for each in found.because if each.field.startswith("status")]
    assert [each.startswith(said or "") for each in steps] == ([True] if said else [])
    assert any("status.tlsProfile cannot be read" in each for each in found.remarks) is (reported is ODD)


@pytest.mark.parametrize(
    ("profile", "conflict"),
    [
        ({"minTLSVersion": "VersionTLS13", "ciphers": []}, True),
        ({"minTLSVersion": "VersionTLS12", "ciphers": ["TLS_AES_128_GCM_SHA256"]}, False),  # the router refuses it too
        ({"minTLSVersion": "VersionTLS12", "ciphers": CIPHERS}, False),
    ],
)
def test_a_custom_profile_of_tls_13_that_a_router_inherits_is_a_conflict(
    profile: dict[str, Any], *, conflict: bool
) -> None:
    server = api_server("Custom")
    server["spec"]["tlsSecurityProfile"]["custom"] = profile
    where = endpoint("Deployment/openshift-ingress/router-default:443#web.example", ROUTED)
    found = resolved(snapshot_of([ROUTE, controller("default"), server])).of(where)
    assert any(each.startswith("conflict: APIServer/cluster is Custom") for each in found.remarks) is conflict
