"""Gateways that a BackendTLSPolicy has call a backend, by the policy's status."""

from __future__ import annotations

from typing import Any

import pytest

from scanner.kube.kinds import CONFIG_MAP
from scanner.model.expectation import Upstream
from scanner.values import replace
from tests.expect.declared_objects import GATEWAY_API, grant, made
from tests.expect.stories import endpoint, resolved, snapshot_of
from tests.expect.validating_gateways import CA, WEB, v1
from tests.expect.validating_gateways import policy as policy_of
from tests.origins import origin

CONTOUR = "projectcontour.io/gateway-controller"


def policy(
    *conditions: dict[str, object],
    controller: str = "example.com/gateway",
    **validation: Any,  # noqa: ANN401 - JSON
) -> dict[str, Any]:
    said = validation or v1(hostname="web.example")
    reference = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "gw", "namespace": "edge"}
    ancestor = {"ancestorRef": reference, "controllerName": controller, "conditions": list(conditions)}
    return {**policy_of(validation=said), "status": {"ancestors": [ancestor]}}


def gateway(**backend: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    spec = {"gatewayClassName": "example", "listeners": [], "tls": {"backend": backend}}
    return made("Gateway", "edge", "gw", GATEWAY_API, spec=spec)


def found(*objects: dict[str, Any], unreadable: dict[str, str] | None = None) -> tuple[Upstream, ...]:
    where = replace(endpoint(WEB, {}), origins=(origin("BackendTLSPolicy/shop/web"),), segment="Backend")
    requested = {CONFIG_MAP: frozenset({("shop", "gone")})}
    snapshot = snapshot_of([*objects, CA], unreadable=unreadable, requested=requested)
    return resolved(snapshot).of(where).upstreams


def test_a_gateway_has_the_client_certificate_that_it_names() -> None:
    assert found(policy(), gateway()) == (Upstream(gateway="Gateway/edge/gw", policy="BackendTLSPolicy/shop/web"),)
    (upstream,) = found(policy(), gateway(clientCertificateRef={"name": "me"}))
    assert (upstream.identity, upstream.doubt) == ("Secret/edge/me", "")


def test_one_of_another_namespace_needs_a_grant() -> None:
    elsewhere = gateway(clientCertificateRef={"name": "me", "namespace": "certs"})
    (refused,) = found(policy(), elsewhere)
    assert (refused.identity, refused.doubt) == ("", "")
    (granted,) = found(policy(), elsewhere, grant(name="me"))
    assert (granted.identity, granted.doubt) == ("Secret/certs/me", "")
    (unsure,) = found(policy(), elsewhere, unreadable={"referencegrants.gateway.networking.k8s.io": "403"})
    assert (unsure.identity, unsure.doubt) == ("Secret/certs/me", "a ReferenceGrant in certs may allow it: 403")


def test_without_a_status_nobody_knows_who_calls() -> None:
    assert found({**policy(), "status": {}}, gateway()) == ()
    assert found(policy()) == ()


ACCEPTED: dict[str, object] = {"type": "Accepted", "status": "True", "reason": "Accepted"}
INVALID: dict[str, object] = {"type": "Accepted", "status": "False", "reason": "Invalid"}


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (policy(ACCEPTED, controller=CONTOUR), ""),
        (policy(INVALID, controller=CONTOUR), "its status says Accepted is False, Invalid"),
        (
            policy(controller=CONTOUR, wellKnownCACertificates="System", hostname="web.example"),
            "it names no CA, and Contour does not know the well-known ones",
        ),
        (
            policy(
                controller=CONTOUR,
                caCertificateRefs=[{"group": "", "kind": "ConfigMap", "name": "gone"}],
                hostname="web.example",
            ),
            "ConfigMap/shop/gone data[ca.crt] is not there",
        ),
        (
            policy(
                controller=CONTOUR,
                caCertificateRefs=[{"group": "", "kind": "ConfigMap", "name": "never"}],
                hostname="web.example",
            ),
            "",
        ),
    ],
)
def test_contour_leaves_out_what_it_cannot_apply(said: dict[str, Any], why: str) -> None:
    (upstream,) = found(said, gateway())
    assert (upstream.fails_open, upstream.plaintext) == (True, why)


def test_contour_is_told_by_its_class_too_and_others_fail_closed() -> None:
    spec = {"controllerName": CONTOUR}
    class_ = made("GatewayClass", None, "example", GATEWAY_API, spec=spec)
    assert found(policy(), gateway(), class_)[0].fails_open
    (other,) = found(policy(INVALID), gateway())
    assert (other.fails_open, other.plaintext) == (False, "")


@pytest.mark.parametrize("odd", [7, [7], [{}], [{"ancestorRef": {"kind": "Service", "name": "gw"}}]])
def test_an_odd_status_names_nobody(odd: object) -> None:
    assert found({**policy(), "status": {"ancestors": odd}}, gateway()) == ()


def test_what_a_status_says_of_an_older_generation_counts_for_nothing() -> None:
    said = policy({**INVALID, "observedGeneration": 1}, controller=CONTOUR)
    for generation, why in ((1, "its status says Accepted is False, Invalid"), (2, "")):
        said["metadata"]["generation"] = generation
        assert found(said, gateway())[0].plaintext == why
