"""HTTPProxies and delegations as Contour reads them."""

from __future__ import annotations

import pytest

from scanner.errors import InputError
from scanner.kube.contour import (
    FILE,
    HTTPProxy,
    ProxyService,
    SecretName,
    Settings,
    configured,
    delegations_by_secret,
    secret_name,
    settings,
    upstream_protocol,
)
from scanner.kube.kinds import (
    CONFIG_MAP,
    CONTOUR_CONFIGURATION,
    CONTOUR_DEPLOYMENT,
    HTTP_PROXY,
    SERVICE,
    TLS_CERTIFICATE_DELEGATION,
)
from scanner.kube.objects import KubeObject
from tests.yaml_documents import document

PROTOCOLS: list[tuple[str, str, str, str]] = [
    ("", "", "", ""),
    ("tls", "", "projectcontour.io/upstream-protocol.h2c: web", "tls"),
    ("", "", "projectcontour.io/upstream-protocol.tls: '443'", "tls"),
    ("", "", "projectcontour.io/upstream-protocol.tls: '80, web'", "tls"),
    ("", "", "projectcontour.io/upstream-protocol.h2: '80,'", ""),
    ("", "", "{projectcontour.io/upstream-protocol.h2: web, projectcontour.io/upstream-protocol.h2c: web}", "h2c"),
    ("", "", "{projectcontour.io/upstream-protocol.h2: web, projectcontour.io/upstream-protocol.tls: '443'}", "h2"),
    ("", "", "contour.heptio.com/upstream-protocol.tls: web", ""),
    ("", "https", "", "tls"),
    ("", "https", "projectcontour.io/upstream-protocol.h2c: web", "tls"),
    ("", "kubernetes.io/h2c", "", "h2c"),
    ("", "http", "projectcontour.io/upstream-protocol.tls: web", ""),
    ("", "example.com/other", "projectcontour.io/upstream-protocol.tls: web", ""),
]


@pytest.mark.parametrize(("own", "app", "annotations", "spoken"), PROTOCOLS)
def test_upstream_protocol(own: str, app: str, annotations: str, spoken: str) -> None:
    port = {"name": "web", "port": 443} | ({"appProtocol": app} if app else {})
    metadata = {"name": "a", "annotations": document(annotations) or {}}
    service = KubeObject({"metadata": metadata, "spec": {"ports": [port, {"port": 80}]}}, SERVICE)
    assert upstream_protocol(ProxyService({"protocol": own}), service, 443) == spoken


def proxy(spec: str) -> HTTPProxy:
    return HTTPProxy({"metadata": {"name": "a", "namespace": "shop"}, "spec": document(spec)}, HTTP_PROXY)


def test_children_in_all_spellings() -> None:
    found = proxy(
        "{includes: [{name: a, namespace: b}], tcpproxy: {include: {name: c}, includes: {name: d}}, "
        "routes: [{}, {delegate: {name: e}}]}"
    )
    assert [(each.name, each.steps) for each in found.children] == [
        ("a", ("spec", "includes", 0)),
        ("c", ("spec", "tcpproxy", "include")),
        ("d", ("spec", "tcpproxy", "includes")),
        ("e", ("spec", "routes", 1, "delegate")),
    ]
    assert not found.is_root


def test_a_root_and_its_services() -> None:
    found = proxy(
        "{virtualhost: {fqdn: a.example}, routes: [{services: [{name: a, port: 1}]}, {services: [{name: b}]}], "
        "tcpproxy: {services: [{name: c}]}}"
    )
    assert found.is_root
    assert [each.name for each in found.routed_services] == ["a", "b"]
    assert [each.name for each in found.tcp_proxy.services] == ["c"]
    assert not found.has_tls


def test_names_of_secrets() -> None:
    assert secret_name("a", "shop") == SecretName("shop", "a")
    assert secret_name("b/a", "shop") == SecretName("b", "a")
    assert secret_name("/a", "shop") == SecretName("shop", "a")


def delegation(namespace: str, *items: object) -> KubeObject:
    metadata = {"name": "d", "namespace": namespace}
    return KubeObject({"metadata": metadata, "spec": {"delegations": [*items]}}, TLS_CERTIFICATE_DELEGATION)


def test_a_star_means_every_namespace_only_alone() -> None:
    found = delegations_by_secret(
        [
            delegation("certs", {"secretName": "all", "targetNamespaces": ["*"]}, "no item"),
            delegation("certs", {"secretName": "some", "targetNamespaces": ["*", "shop"]}),
            delegation("certs", {"secretName": "some", "targetNamespaces": ["blog"]}),
        ]
    )
    assert found[SecretName("certs", "all")].permits("anywhere")
    some = found[SecretName("certs", "some")]
    assert (some.permits("shop"), some.permits("blog"), some.permits("other")) == (True, True, False)
    assert [each.targets for _, each in some.some] == [("*", "shop"), ("blog",)]


SAID: list[tuple[str, object]] = [
    ("'1.2'", "1.2"),
    ("1.2", "1.2"),
    ("1", "1"),
    ("true", True),
    ("null", None),
    ("[]", []),
]


def file(text: str) -> KubeObject:
    return KubeObject({"metadata": {"name": "contour"}, "data": {FILE: text}}, CONFIG_MAP)


def read(holder: KubeObject) -> Settings:
    found = settings(holder)
    assert found is not None
    return found


@pytest.mark.parametrize(("written", "value"), SAID)
def test_numbers_are_text(written: str, value: object) -> None:
    tls = read(file(f"tls: {{minimum-protocol-version: {written}, cipher-suites: [a], minimumProtocolVersion: x}}")).tls
    assert tls.minimum_protocol_version == value
    assert tls.maximum_protocol_version is None
    assert tls.cipher_suites == ("a",)


def test_secrets_and_switches_of_the_file() -> None:
    holder = file(
        "disablePermitInsecure: true\n"
        "tls: {fallback-certificate: {name: a, namespace: b}, envoy-client-certificate: {name: c, namespace: d}}"
    )
    found = read(holder)
    assert (str(found.fallback_certificate.secret), str(found.client_certificate.secret)) == (
        "Secret/b/a",
        "Secret/d/c",
    )
    assert found.disable_permit_insecure
    assert found.root_namespaces == ()
    same = configured(holder)
    assert same.kind == CONTOUR_CONFIGURATION
    assert read(same).raw == found.raw


def test_a_file_that_is_no_mapping_has_no_settings() -> None:
    for holder in (file("- a"), KubeObject({"data": {}}, CONFIG_MAP)):
        assert settings(holder) is None
        assert configured(holder) is holder
    assert read(file("")).fallback_certificate.secret is None


def test_a_file_that_cannot_be_read() -> None:
    holder = file("a: [")
    with pytest.raises(InputError):
        settings(holder)
    assert configured(holder) is holder


def test_the_steps_name_the_field_of_each_kind() -> None:
    spec = {"envoy": {"listener": {"tls": {"minimumProtocolVersion": "1.3"}}}}
    for kind, above in ((CONTOUR_CONFIGURATION, ()), (CONTOUR_DEPLOYMENT, ("runtimeSettings",))):
        inner = {above[0]: spec} if above else spec
        found = read(KubeObject({"spec": inner}, kind)).tls
        assert found.minimum_protocol_version == "1.3"
        assert found.steps == ("spec", *above, "envoy", "listener", "tls")
