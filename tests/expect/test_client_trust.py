"""Who calls a listener, and whom each of them trusts."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from scanner.expect.client_trust import clients
from scanner.model.expectation import Client
from scanner.values import replace
from tests.expect.declared_objects import config_map, pem
from tests.expect.stories import endpoint, snapshot_of
from tests.origins import origin

WEB = "Deployment/shop/web:8443#web.shop.svc"
HOOK = ("ValidatingWebhookConfiguration/hook webhook 0.example",)
REENCRYPT = ("Route/shop/web reencrypt backend",)
SERVICE = {"name": "web", "namespace": "shop"}
SERVICE_CA = config_map("openshift-service-ca", "signing-cabundle", "ca-bundle.crt", b"service-ca")


def coded(der: bytes) -> str:
    return b64encode(pem(der).encode()).decode()


def made(api: str, kind: str, name: str, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    namespace = {"namespace": "shop"} if kind == "Route" else {}
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, **namespace}, **fields}


def hooks(kind: str, *bundles: str, service: object = SERVICE) -> dict[str, Any]:
    every = [
        {"name": f"{number}.example", "clientConfig": {"caBundle": bundle, "service": service}}
        for number, bundle in enumerate(bundles)
    ]
    return made("admissionregistration.k8s.io/v1", kind, "hook", webhooks=every)


def route(**tls: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    spec = {"to": {"name": "web"}, "alternateBackends": [{"name": "b"}], "tls": {"termination": "reencrypt", **tls}}
    return made("route.openshift.io/v1", "Route", "web", spec=spec)


def found(
    origins: tuple[str, ...], *objects: dict[str, Any], name: str = WEB, service_ca: dict[str, Any] = SERVICE_CA
) -> list[Client]:
    where = replace(endpoint(name, {}), origins=tuple(origin(each) for each in origins))
    return list(clients(snapshot_of([*objects, service_ca]), where))


def test_each_webhook_that_led_there_is_a_client() -> None:
    validating = hooks("ValidatingWebhookConfiguration", coded(b"a"), coded(b"b"))
    mutating = hooks("MutatingWebhookConfiguration", coded(b"c"))
    origins = (
        "ValidatingWebhookConfiguration/hook webhook 1.example",
        "MutatingWebhookConfiguration/hook webhook 0.example",
        "Service/shop/web service-ca annotation",
    )
    first, second = found(origins, validating, mutating)
    assert first == Client(
        who="ValidatingWebhookConfiguration/hook webhook 1.example",
        source="ValidatingWebhookConfiguration/hook webhooks[1].clientConfig.caBundle",
        anchors=(b"b",),
        name="web.shop.svc",
    )
    assert (second.anchors, second.who) == ((b"c",), origins[1])


def test_aggregated_apis_and_conversions_are_clients() -> None:
    spec = {"caBundle": coded(b"api"), "service": SERVICE}
    service = made("apiregistration.k8s.io/v1", "APIService", "v1.x", spec=spec)
    client = {"caBundle": coded(b"crd"), "service": SERVICE}
    conversion = {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": client}}}
    definition = made("apiextensions.k8s.io/v1", "CustomResourceDefinition", "things.example", spec=conversion)
    origins = ("APIService/v1.x", "CustomResourceDefinition/things.example conversion")
    assert [each.anchors for each in found(origins, service, definition)] == [(b"api",), (b"crd",)]
    unverified = made("apiregistration.k8s.io/v1", "APIService", "v1.x", spec={**spec, "insecureSkipTLSVerify": True})
    assert found(origins[:1], unverified) == []


def test_a_webhook_by_url_is_verified_for_its_host() -> None:
    hook = hooks("ValidatingWebhookConfiguration", coded(b"a"))
    hook["webhooks"][0]["clientConfig"] = {"caBundle": coded(b"a"), "url": "https://hooks.example:8443/x"}
    (client,) = found(HOOK, hook)
    assert client.name == "hooks.example"
    hook["webhooks"][0]["clientConfig"]["url"] = "https://[odd"
    (client,) = found(HOOK, hook)
    assert client.name is None


def test_a_route_with_a_ca_of_its_own_looks_at_no_name() -> None:
    (client,) = found(REENCRYPT, route(destinationCACertificate=pem(b"own")))
    assert (client.anchors, client.name) == ((b"own",), None)
    assert client.source == "Route/shop/web spec.tls.destinationCACertificate"


def test_a_route_without_one_goes_by_the_service_ca_and_the_services_name() -> None:
    (client,) = found(REENCRYPT, route())
    assert (client.anchors, client.name) == ((b"service-ca",), "web.shop.svc")
    assert client.source == "ConfigMap/openshift-service-ca/signing-cabundle data[ca-bundle.crt]"
    (unnamed,) = found(REENCRYPT, route(), name="Deployment/shop/web:8443")
    assert unnamed.name is None


def test_a_config_map_without_the_key_is_no_service_ca() -> None:
    """The next place may have it."""
    empty = config_map("openshift-service-ca", "signing-cabundle", "other", b"odd")
    copy = config_map("openshift-config", "openshift-service-ca.crt", "service-ca.crt", b"copy")
    (client,) = found(REENCRYPT, route(), copy, service_ca=empty)
    assert (client.anchors, client.source) == (
        (b"copy",),
        "ConfigMap/openshift-config/openshift-service-ca.crt data[service-ca.crt]",
    )
    assert found(REENCRYPT, route(), service_ca=empty) == []


@pytest.mark.parametrize("origin", ["Route/shop/web passthrough backend", "Route/shop/web edge", "Route/shop/gone x"])
def test_what_is_passed_through_or_gone_is_no_client(origin: str) -> None:
    assert found((origin,), route(destinationCACertificate=pem(b"own"))) == []


def test_a_ca_that_cannot_be_read_stays_a_client_without_anchors() -> None:
    (client,) = found(REENCRYPT, route(destinationCACertificate="odd"))
    assert client.anchors == ()
    (hook,) = found(HOOK, hooks("ValidatingWebhookConfiguration", "!"))
    assert hook.anchors == ()


ADDRESSES = [{"type": "Hostname", "address": "m"}, {"type": "InternalIP", "address": "10.0.0.1"}]
NODE = made("v1", "Node", "m", status={"addresses": ADDRESSES})
KUBELET_CA = config_map("openshift-config-managed", "kubelet-serving-ca", "ca-bundle.crt", b"kubelet")


def test_kube_apiserver_calls_kubelets_by_their_internal_address() -> None:
    (client,) = found(("Node/m kubeletEndpoint",), NODE, KUBELET_CA, name="Node/m:10250")
    assert (client.anchors, client.name) == ((b"kubelet",), "10.0.0.1")
    assert client.source == "ConfigMap/openshift-config-managed/kubelet-serving-ca data[ca-bundle.crt]"


def test_other_ports_of_a_node_and_hosted_control_planes_are_not_called_so() -> None:
    assert found(("Node/m well-known crio",), NODE, KUBELET_CA) == []
    assert found(("Node/m kubeletEndpoint",), NODE) == []
    status = {"controlPlaneTopology": "External"}
    hosted = {
        "apiVersion": "config.openshift.io/v1",
        "kind": "Infrastructure",
        "metadata": {"name": "cluster"},
        "status": status,
    }
    assert found(("Node/m kubeletEndpoint",), NODE, KUBELET_CA, hosted) == []


@pytest.mark.parametrize("bundle", ["", 7, None])
def test_no_ca_at_all_is_the_systems_trust(bundle: Any) -> None:  # noqa: ANN401 - JSON
    assert (
        found(
            ("ValidatingWebhookConfiguration/hook webhook 0.example",), hooks("ValidatingWebhookConfiguration", bundle)
        )
        == []
    )


@pytest.mark.parametrize(
    "said", ["", " ", "/", "Route", "Route/", "Route/web reencrypt backend", "Pod/a/b", "Route/a/b/c"]
)
def test_odd_origins_do_no_harm(said: str) -> None:
    assert found((said,), route()) == []
