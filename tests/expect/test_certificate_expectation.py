"""Names that a certificate must be valid for, and whom clients trust."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from scanner.model.endpoint import Certainty
from scanner.model.expectation import CertificateExpectation
from scanner.model.pem import trusted_certificates
from scanner.values import replace
from tests.expect.declared_objects import config_map, controller, made, pem, route
from tests.expect.stories import endpoint, resolved, snapshot_of


def webhook(bundle: str) -> dict[str, Any]:
    client = {"caBundle": b64encode(bundle.encode()).decode(), "service": {"name": "hook", "namespace": "shop"}}
    webhooks = [{"clientConfig": {"caBundle": "AAAA", "service": {"name": "other"}}}, {"clientConfig": client}]
    kind, api = "ValidatingWebhookConfiguration", "admissionregistration.k8s.io/v1"
    return made(kind, None, "hook", api, webhooks=webhooks)


def definition(name: str, client: dict[str, Any]) -> dict[str, Any]:
    """A CustomResourceDefinition that is converted by a webhook."""
    spec = {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": client}}}
    return made("CustomResourceDefinition", None, name, "apiextensions.k8s.io/v1", spec=spec)


def api_server(*names: str) -> dict[str, Any]:
    spec = {"servingCerts": {"namedCertificates": [{"names": list(names)}]}}
    return made("APIServer", None, "cluster", "config.openshift.io/v1", spec=spec)


def called(ca: bytes) -> dict[str, Any]:
    return {"caBundle": b64encode(pem(ca).encode()).decode(), "service": {"name": "m", "namespace": "n"}}


OBJECTS = [
    config_map("openshift-service-ca", "signing-cabundle", "ca-bundle.crt", b"service-ca"),
    config_map("openshift-config-managed", "kube-apiserver-server-ca", "ca-bundle.crt", b"api"),
    config_map("openshift-config-managed", "kubelet-serving-ca", "ca-bundle.crt", b"kubelet"),
    config_map("openshift-config-managed", "default-ingress-cert", "ca-bundle.crt", b"router"),
    webhook(pem(b"hook", b"hook 2")),
    made("APIService", None, "v1.metrics", "apiregistration.k8s.io/v1", spec=called(b"aggregated")),
    definition("things.example", {"caBundle": "not base64"}),
]

CONSOLE = "console.openshift-console.svc"
HOOK = "Deployment/shop/hook:8443#hook.shop.svc"
KAS = "StaticPod/openshift-kube-apiserver/kube-apiserver:6443"
ROUTER = "Deployment/openshift-ingress/router-default:443"
ROUTED = {"subject": "Route/shop/web", "segment": "Frontend"}
HOOKED = {"subject": "ValidatingWebhookConfiguration/hook"}

CASES: list[tuple[str, dict[str, Any], tuple[str, ...], tuple[bytes, ...]]] = [
    ("Deployment/shop/web:8443#web.shop.svc", {}, ("web.shop.svc",), ()),
    (HOOK, HOOKED, ("hook.shop.svc",), (b"hook", b"hook 2")),
    ("Deployment/shop/other:8443#other.shop.svc", HOOKED, ("other.shop.svc",), ()),
    ("Deployment/n/m:8443#m.n.svc", {"subject": "APIService/v1.metrics"}, ("m.n.svc",), (b"aggregated",)),
    ("Deployment/n/m:9443#m.n.svc", {"subject": "CustomResourceDefinition/things.example"}, ("m.n.svc",), ()),
    (f"Deployment/openshift-console/console:8443#{CONSOLE}", {}, (CONSOLE,), (b"service-ca",)),
    (f"{KAS}#localhost", {"node": "m"}, ("localhost",), (b"api",)),
    (f"{KAS}#api.c.example", {"node": "m"}, ("api.c.example",), (b"api",)),
    (f"{KAS}", {"node": "m"}, (), (b"api",)),
    # etcd's clients go by address; its Service's name is not what they ask for.
    ("StaticPod/openshift-etcd/etcd:2379#etcd.openshift-etcd.svc", {"node": "m"}, (), ()),
    ("Node/m:10250", {}, (), (b"kubelet",)),
    (f"{ROUTER}#web.apps.example", ROUTED, ("web.apps.example",), (b"router",)),
    # The Service in front of a router is no name of its certificate.
    (f"{ROUTER}#router-internal-default.openshift-ingress.svc", {}, (), ()),
    (f"{ROUTER}#router.openshift-ingress.svc", {"subject": "ServiceMonitor/openshift-ingress/router"}, (), ()),
    ("Deployment/shop/web:8443#192.0.2.1", {}, (), ()),
]  # fmt: skip


def expected(name: str, said: dict[str, Any], *more: dict[str, Any]) -> CertificateExpectation:
    where = endpoint(name, said)
    objects = [*OBJECTS, *(more or (route(), api_server("other.example")))]
    return resolved(snapshot_of(objects)).of(where).certificate


@pytest.mark.parametrize(("name", "said", "names", "anchors"), CASES, ids=[each[0] for each in CASES])
def test_names_and_anchors(name: str, said: dict[str, Any], names: tuple[str, ...], anchors: tuple[bytes, ...]) -> None:
    found = expected(name, said)
    assert (found.names, found.anchors) == (names, anchors)
    assert bool(found.anchor_source) is bool(anchors)


def test_the_source_of_anchors_is_an_object_and_field() -> None:
    assert expected(f"{KAS}#localhost", {"node": "m"}).anchor_source == (
        "ConfigMap/openshift-config-managed/kube-apiserver-server-ca data[ca-bundle.crt]"
    )
    assert expected(HOOK, HOOKED).anchor_source == "ValidatingWebhookConfiguration/hook caBundle"


def test_a_bundle_without_a_certificate_is_no_source_of_anchors() -> None:
    every = [each for each in OBJECTS if each["kind"] != "ValidatingWebhookConfiguration"]
    snapshot = snapshot_of([*every, webhook("no certificate")])
    found = resolved(snapshot).of(endpoint(HOOK, HOOKED)).certificate
    assert (found.anchors, found.anchor_source) == ((), "")


@pytest.mark.parametrize(("names", "judged"), [(["api.c.example"], False), ([], False), (["other.example"], True)])
def test_named_certificates_are_from_whoever_signed_them(*, names: list[str], judged: bool) -> None:
    found = expected(f"{KAS}#api.c.example", {"node": "m"}, api_server(*names))
    assert bool(found.anchors) is judged


@pytest.mark.parametrize("own", [{"certificate": "x"}, {"externalCertificate": {"name": "x"}}])
def test_a_certificate_of_the_route_is_from_whoever_signed_it(own: dict[str, Any]) -> None:
    assert not expected(f"{ROUTER}#web.apps.example", ROUTED, route(**own)).anchors


@pytest.mark.parametrize("named", [False, True])
def test_a_default_certificate_that_a_router_is_given_is_from_whoever_signed_it(named: bool) -> None:
    given = controller(**({"defaultCertificate": {"name": "ours"}} if named else {}))
    found = expected(f"{ROUTER}#web.apps.example", ROUTED, route(), given)
    assert found.anchors == (() if named else (b"router",))


def test_pem() -> None:
    assert list(trusted_certificates(f"text\n{pem(b'a')}rubbish{pem(b'b')}")) == [b"a", b"b"]
    assert list(trusted_certificates("-----BEGIN CERTIFICATE-----\nA\n-----END CERTIFICATE-----")) == []
    assert len(list(trusted_certificates(pem(b"a") * 400))) == 300  # the public roots are some 150


@pytest.mark.parametrize(("certainty", "anchors"), [("declared", (b"service-ca",)), ("hinted", ()), ("candidate", ())])
def test_the_annotation_of_a_service_is_of_the_port_that_discovery_declares(
    certainty: Certainty, anchors: tuple[bytes, ...]
) -> None:
    """Of the Service's other ports nobody has said that they serve that certificate."""
    annotations = {"service.beta.openshift.io/serving-cert-secret-name": "web"}
    asking = made("Service", "shop", "web", metadata={"annotations": annotations})
    where = replace(endpoint("Deployment/shop/web:8443#web.shop.svc", {}), certainty=certainty)
    snapshot = snapshot_of([*OBJECTS, asking])
    assert resolved(snapshot).of(where).certificate.anchors == anchors


def test_a_conversion_webhooks_caller_trusts_the_bundle_of_its_definition() -> None:
    converted = definition("others.example", called(b"crd"))
    subject = {"subject": "CustomResourceDefinition/others.example"}
    assert expected("Deployment/n/m:9443#m.n.svc", subject, converted).anchors == (b"crd",)


OAUTH = "Deployment/openshift-authentication/oauth-openshift:6443#web.apps.example"


@pytest.mark.parametrize(
    ("component_route", "routers"),
    [
        ({}, True),
        ({"hostname": "web.apps.example", "servingCertKeyPairSecret": {"name": "own"}}, False),
        ({"hostname": "web.apps.example"}, True),
        ({"hostname": "console.apps.example", "servingCertKeyPairSecret": {"name": "own"}}, True),
    ],
)
def test_a_certificate_of_an_administrator_for_another_host_leaves_this_one_the_routers(
    component_route: dict[str, Any], *, routers: bool
) -> None:
    ingress = {
        "apiVersion": "config.openshift.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "cluster"},
        "spec": {"componentRoutes": [component_route]},
    }
    found = expected(OAUTH, {"subject": "Route/shop/web", "segment": "Backend"}, route(), ingress)
    assert found.anchors == ((b"router",) if routers else ())


@pytest.mark.parametrize("names", [[], [{"type": "Hostname", "hostname": "other.example"}]])
def test_a_name_that_a_gateway_only_sends_is_none_of_the_certificates(names: list[dict[str, str]]) -> None:
    """With subjectAltNames the hostname is SNI and nothing else (GEP-3155)."""
    policy = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "BackendTLSPolicy",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"validation": {"hostname": "web.example", "subjectAltNames": names}},
    }
    found = expected("Deployment/shop/web:8443#web.example", {"subject": "BackendTLSPolicy/shop/web"}, policy)
    assert found.names == (() if names else ("web.example",))
