"""Findings on the statuses of routes and policies, for each reason."""

from __future__ import annotations

import pytest

from scanner.lint.gateway import backend_tls, gateway_status
from tests.lint.gateway.cases import GATEWAY, of, said

ROUTE = of("TLSRoute", "web", "parentRefs: [{name: edge}], hostnames: [a.example]").replace(
    "{name:", "{generation: 2, name:"
)
OF_PARENT = "status: {parents: [{parentRef: {name: edge}, conditions: [{CONDITION}]}]}"


def of_gateway(condition: str, of_listener: str = "") -> str:
    text = f"{GATEWAY}  listeners: []\n".replace("{name:", "{generation: 2, name:")
    return (
        text + f"status: {{conditions: [{{{condition}}}], listeners: [{{name: a, conditions: [{{{of_listener}}}]}}]}}"
    )


OF_GATEWAY = {
    "Accepted": ("ListenersNotValid", "Invalid", "InvalidParameters", "UnsupportedAddress"),
    "Programmed": ("Invalid", "Pending", "NoResources", "AddressNotAssigned", "AddressNotUsable"),
    "ResolvedRefs": ("RefNotPermitted", "InvalidClientCertificateRef", "ListenersNotResolved"),
}
OF_LISTENER = {
    "Accepted": (
        *("PortUnavailable", "UnsupportedProtocol", "NoValidCACertificate"),
        *("UnsupportedValue", "Pending", "TooManyListeners"),
    ),
    "ResolvedRefs": (
        *("InvalidCertificateRef", "InvalidRouteKinds", "RefNotPermitted"),
        *("InvalidCACertificateRef", "InvalidCACertificateKind"),
    ),
    "Programmed": ("Invalid", "Pending"),
    "Conflicted": ("HostnameConflict", "ProtocolConflict", "ListenerConflict"),
}


@pytest.mark.parametrize(
    ("condition", "reason"), [(each, reason) for each in OF_GATEWAY for reason in OF_GATEWAY[each]]
)
def test_of_a_gateway(condition: str, reason: str) -> None:
    text = of_gateway(f"type: {condition}, status: 'False', reason: {reason}")
    ((_, _, message),) = said(gateway_status.STATUS, text)
    assert message == f"{condition} is 'False': '{reason}'"


@pytest.mark.parametrize(
    ("condition", "reason"), [(each, reason) for each in OF_LISTENER for reason in OF_LISTENER[each]]
)
def test_of_a_listener(condition: str, reason: str) -> None:
    status = condition == "Conflicted"
    text = of_gateway("", f"type: {condition}, status: '{status}', reason: {reason}")
    ((_, field, message),) = said(gateway_status.STATUS, text)
    assert field == "status.listeners[0].conditions"
    assert message == f"listener 'a': {condition} is '{status}': '{reason}'"


@pytest.mark.parametrize("reason", ["NotAllowed", "ParentNotAccepted", "ListenersNotValid", "ParentNotProgrammed"])
def test_of_a_listener_set(reason: str) -> None:
    more = f"status: {{conditions: [{{type: Accepted, status: 'False', reason: {reason}}}]}}"
    ((_, _, message),) = said(gateway_status.STATUS, of("ListenerSet", "team", "parentRef: {name: edge}", more=more))
    assert message == f"Accepted is 'False': '{reason}'"


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("type: Accepted, status: 'True', observedGeneration: 2", ""),
        ("type: Accepted, status: 'True', observedGeneration: 1", "parent 'edge': 'Accepted' is from generation 1"),
        *(
            (f"type: Accepted, status: 'False', reason: {each}", f"parent 'edge': Accepted is 'False': '{each}'")
            for each in ("NotAllowedByListeners", "NoMatchingListenerHostname", "NoMatchingParent", "UnsupportedValue")
        ),
        *(
            (
                f"type: ResolvedRefs, status: 'False', reason: {each}",
                f"parent 'edge': ResolvedRefs is 'False': '{each}'",
            )
            for each in ("RefNotPermitted", "InvalidKind", "BackendNotFound", "UnsupportedProtocol")
        ),
        ("type: PartiallyInvalid, status: 'True', reason: UnsupportedValue", "PartiallyInvalid is 'True'"),
    ],
)
def test_of_a_route(condition: str, message: str) -> None:
    found = said(gateway_status.STATUS, ROUTE.rstrip() + "\n" + OF_PARENT.replace("CONDITION", condition))
    assert len(found) == bool(message)
    assert all(verdict == "fail" and message in text for verdict, _, text in found)


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        *(("Accepted", each) for each in ("Conflicted", "Invalid", "TargetNotFound", "NoValidCACertificate")),
        *(("ResolvedRefs", each) for each in ("InvalidCACertificateRef", "InvalidKind")),
    ],
)
def test_of_a_policy(condition: str, reason: str) -> None:
    """Another rule reports a Gateway that does not apply the policy; this one reports an old status."""
    conditions = f"conditions: [{{type: {condition}, status: 'False', reason: {reason}, observedGeneration: 1}}]"
    more = f"status: {{ancestors: [{{ancestorRef: {{name: edge}}, {conditions}}}]}}"
    text = of("BackendTLSPolicy", "web", "targetRefs: []", more=more).replace("{name: web", "{generation: 1, name: web")
    assert f"Gateway 'edge' does not apply it: {condition} is False: '{reason}'" in [
        message for _, _, message in said(backend_tls.TARGET, text)
    ]
    assert said(gateway_status.STATUS, text) == []
    ((_, _, message),) = said(gateway_status.STATUS, text.replace("generation: 1,", "generation: 2,"))
    assert message == f"Gateway 'edge': '{condition}' is from generation 1; the object has 2"
