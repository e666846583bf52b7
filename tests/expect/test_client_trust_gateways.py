"""Gateways as clients of their backends."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from scanner.expect.client_trust import clients
from scanner.kube.kinds import CONFIG_MAP
from scanner.model.expectation import Client
from scanner.values import replace
from tests.expect.declared_objects import made, pem
from tests.expect.stories import endpoint, snapshot_of
from tests.expect.validating_gateways import CA, REFERENCE, WEB, policy, v1
from tests.origins import origin

HELD = made("Secret", "certs", "ca", data={"ca.crt": b64encode(pem(b"held").encode()).decode()})


def found(said: str, *objects: dict[str, Any], name: str = WEB) -> list[Client]:
    snapshot = snapshot_of([*objects, CA, HELD], requested={CONFIG_MAP: frozenset({("shop", "gone")})})
    return list(clients(snapshot, replace(endpoint(name, {}), origins=(origin(said),))))


def test_a_policy_verifies_its_hostname_by_its_ca() -> None:
    (client,) = found("BackendTLSPolicy/shop/web", policy(validation=v1(hostname="web.example")))
    assert client == Client(
        who="BackendTLSPolicy/shop/web",
        source="ConfigMap/shop/ca data[ca.crt]",
        anchors=(b"ca",),
        name="web.example",
    )


def test_alternative_names_take_the_place_of_the_hostname() -> None:
    names = [{"type": "Hostname", "hostname": "a.example"}, {"type": "URI", "uri": "spiffe://shop/web"}]
    validation = v1(hostname="web.example", subjectAltNames=names)
    (client,) = found("BackendTLSPolicy/shop/web", policy(validation=validation))
    assert (client.name, client.others) == ("a.example", ("spiffe://shop/web",))


def test_the_fields_of_v1alpha2_are_read() -> None:
    tls = {"caCertRefs": [REFERENCE], "hostname": "web.example"}
    (client,) = found("BackendTLSPolicy/shop/web", policy("v1alpha2", tls=tls))
    assert (client.anchors, client.name) == ((b"ca",), "web.example")


@pytest.mark.parametrize(
    ("validation", "why"),
    [
        ({"caCertificateRefs": [{**REFERENCE, "name": "gone"}]}, "ConfigMap/shop/gone data[ca.crt] is not there"),
        (
            {"caCertificateRefs": [{**REFERENCE, "name": "never"}]},  # as in what an earlier version has saved
            "ConfigMap/shop/never data[ca.crt] was not read: it was not requested when the snapshot was taken",
        ),
        ({"caCertificateRefs": [REFERENCE, {**REFERENCE, "kind": "Bundle"}]}, "Bundle/shop/ca"),
        ({"wellKnownCACertificates": "System"}, "public roots"),
    ],
)
def test_trust_that_is_not_at_hand_is_said(validation: dict[str, Any], why: str) -> None:
    (client,) = found("BackendTLSPolicy/shop/web", policy(validation={**validation, "hostname": "web.example"}))
    assert why in client.missing
    named = [f"{each['kind']}/shop/{each['name']} data[ca.crt]" for each in validation.get("caCertificateRefs", ())]
    assert client.source == (", ".join(named) or "BackendTLSPolicy/shop/web spec.validation")


def test_a_config_map_that_was_not_read_is_said_with_what_would_allow_it() -> None:
    gap = {"configmaps": 'missing RBAC rule: resources: ["configmaps"], verbs: ["get"]'}
    named = policy(validation={"caCertificateRefs": [{**REFERENCE, "name": "other"}], "hostname": "web.example"})
    where = replace(endpoint(WEB, {}), origins=(origin("BackendTLSPolicy/shop/web"),))
    (client,) = clients(snapshot_of([named], unreadable=gap), where)
    assert client.missing == f"ConfigMap/shop/other data[ca.crt] was not read: {gap['configmaps']}"


def test_a_ca_that_holds_no_certificate_is_no_missing_one() -> None:
    odd = {**REFERENCE, "name": "odd"}
    empty = made("ConfigMap", "shop", "odd", data={"ca.crt": "odd"})
    validation = {"caCertificateRefs": [odd], "hostname": "web.example"}
    (client,) = found("BackendTLSPolicy/shop/web", policy(validation=validation), empty)
    assert (client.anchors, client.missing) == ((), "")


def proxy(**validation: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    services = [
        {"name": "web", "port": 443, "protocol": "tls", "validation": validation},
        {"name": "other", "port": 443, "validation": {"caSecret": "x", "subjectName": "other.example"}},
        {"name": "web", "port": 443, "protocol": "tls"},
    ]
    return made("HTTPProxy", "shop", "web", "projectcontour.io/v1", spec={"routes": [{"services": services}]})


def test_an_http_proxy_verifies_what_its_service_says() -> None:
    (client,) = found("HTTPProxy/shop/web backend", proxy(caSecret="certs/ca", subjectName="web.example"))
    assert (client.who, client.anchors, client.name) == ("HTTPProxy/shop/web service web", (b"held",), "web.example")
    (client,) = found("HTTPProxy/shop/web backend", proxy(caSecret="ca", subjectNames=["a.example", "b.example"]))
    assert (client.name, client.others) == ("a.example", ("b.example",))
    assert "Secret/shop/ca" in client.missing


@pytest.mark.parametrize(("passthrough", "clients"), [(False, 1), (True, 0)])
def test_a_tcp_proxy_verifies_what_its_service_says(passthrough: bool, clients: int) -> None:
    """What it passes through it does not look into."""
    item = proxy(caSecret="trusted", subjectName="web.example")
    item["spec"]["tcpproxy"] = item["spec"].pop("routes")[0]
    item["spec"]["virtualhost"] = {"tls": {"passthrough": passthrough}}
    assert len(found("HTTPProxy/shop/web backend", item)) == clients


def test_the_front_of_an_http_proxy_is_no_client() -> None:
    assert found("HTTPProxy/shop/web", proxy(caSecret="certs/ca", subjectName="web.example")) == []


@pytest.mark.parametrize("odd", [{}, {"validation": 7}, {"validation": {"caCertificateRefs": "x", "hostname": 3}}])
def test_odd_policies_are_no_clients(odd: dict[str, Any]) -> None:
    assert found("BackendTLSPolicy/shop/web", policy(**odd)) == []
