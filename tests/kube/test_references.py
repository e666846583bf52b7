"""References to Secrets and ConfigMaps, by one table for scan and lint."""

from __future__ import annotations

import re
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.kube import kinds
from scanner.kube.kinds import CONFIG_MAP, SECRET, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.references import MOST, referenced_names
from tests.cluster.odd_values import JSON
from tests.yaml_documents import document


def made(kind: Kind, spec: object, namespace: str | None = "shop") -> KubeObject:
    return KubeObject({"metadata": {"name": "a", "namespace": namespace}, "spec": spec}, kind)


CASES: list[tuple[Kind, str, list[str], list[str]]] = [
    (
        kinds.GATEWAY,
        "listeners: [{tls: {certificateRefs: [{name: a}, {name: b, namespace: other}]}}, {}]",
        ["shop/a", "other/b"],
        [],
    ),
    (kinds.GATEWAY, "listeners: [{tls: {certificateRefs: [{name: a, group: x.example}]}}]", [], []),
    (
        kinds.GATEWAY,
        "tls: {frontend: {default: {validation: {caCertificateRefs: [{kind: ConfigMap, name: a}]}}}}",
        [],
        ["shop/a"],
    ),
    (
        kinds.GATEWAY,
        "tls: {frontend: {perPort: [{tls: {validation: {caCertificateRefs: [{kind: Secret, name: a}]}}}]}}",
        ["shop/a"],
        [],
    ),
    (kinds.GATEWAY, "tls: {backend: {clientCertificateRef: {name: a}}}", ["shop/a"], []),
    (kinds.X_LISTENER_SET, "listeners: [{tls: {certificateRefs: [{name: a}]}}]", ["shop/a"], []),
    (
        kinds.BACKEND_TLS_POLICY,
        "validation: {caCertificateRefs: [{group: '', kind: ConfigMap, name: a}]}",
        [],
        ["shop/a"],
    ),
    (
        kinds.SERVICE_MONITOR,
        "endpoints: [{tlsConfig: {ca: {configMap: {name: a, key: b}}}}, {tlsConfig: {ca: {secret: {name: c}}}}]",
        ["shop/c"],
        ["shop/a"],
    ),
    (kinds.PROBE, "tlsConfig: {ca: {secret: {name: a, key: b}}}", ["shop/a"], []),
    (kinds.ROUTE, "tls: {externalCertificate: {name: a}}", ["shop/a"], []),
    (kinds.NODE_POOL, "config: [{name: a}, {name: b}]", [], ["shop/a", "shop/b"]),
    (kinds.INGRESS, "tls: [{secretName: a}, {secretName: certs/b}, {hosts: []}]", ["shop/a", "certs/b"], []),
    (
        kinds.HTTP_PROXY,
        "virtualhost: {tls: {secretName: certs/a, clientValidation: {caSecret: b, crlSecret: c}}}",
        ["certs/a", "shop/b", "shop/c"],
        [],
    ),
    (kinds.HTTP_PROXY, "routes: [{services: [{validation: {caSecret: a}}]}]", ["shop/a"], []),
    (
        kinds.HTTP_PROXY,
        "virtualhost: {jwtProviders: [{remoteJWKS: {validation: {caSecret: certs/a}}}]}",
        ["certs/a"],
        [],
    ),
    (kinds.EXTENSION_SERVICE, "validation: {caSecret: certs/a}", ["certs/a"], []),
    (
        kinds.CONTOUR_DEPLOYMENT,
        "runtimeSettings: {httpproxy: {fallbackCertificate: {namespace: certs, name: a}}}",
        ["certs/a"],
        [],
    ),
    (kinds.CONTOUR_CONFIGURATION, "httpproxy: {fallbackCertificate: {name: a, namespace: b}}", ["b/a"], []),
    (
        kinds.API_SERVER,
        "clientCA: {name: a}\nservingCerts: {namedCertificates: [{servingCertificate: {name: b}}]}",
        ["openshift-config/b"],
        ["openshift-config/a"],
    ),
    (
        kinds.INGRESS_CONTROLLER,
        "defaultCertificate: {name: a}\nclientTLS: {clientCA: {name: b}}",
        ["openshift-ingress/a"],
        ["openshift-config/b"],
    ),
]


@pytest.mark.parametrize(("kind", "spec", "secrets", "maps"), CASES)
def test_what_an_object_names(kind: Kind, spec: str, secrets: list[str], maps: list[str]) -> None:
    item = made(kind, document(spec))
    assert ["/".join(each) for each in referenced_names([item], SECRET)] == secrets
    assert ["/".join(each) for each in referenced_names([item], CONFIG_MAP)] == maps


def test_the_secrets_of_an_ingress_of_contour_are_where_its_annotation_says() -> None:
    metadata = {"name": "a", "namespace": "shop", "annotations": {"projectcontour.io/tls-cert-namespace": "certs"}}
    spec = {"tls": [{"secretName": "a"}, {"secretName": "own/b"}]}
    item = KubeObject({"metadata": metadata, "spec": spec}, kinds.INGRESS)
    assert list(referenced_names([item], SECRET)) == [("certs", "a"), ("shop", "a"), ("own", "b")]


def test_each_once_and_not_without_end() -> None:
    routes = [made(kinds.ROUTE, {"tls": {"externalCertificate": {"name": f"a{n}"}}}) for n in range(MOST + 5)]
    assert len(list(referenced_names(chain(routes, routes), SECRET))) == MOST


def test_without_a_namespace_nothing_can_be_asked_for() -> None:
    assert (
        list(referenced_names([made(kinds.ROUTE, {"tls": {"externalCertificate": {"name": "a"}}}, None)], SECRET)) == []
    )


@given(st.sampled_from(sorted({each[0] for each in CASES}, key=repr)), JSON)
def test_no_object_is_too_odd(kind: Kind, spec: object) -> None:
    assert all(namespace and name for namespace, name in referenced_names([made(kind, spec)], SECRET))


def test_no_secret_of_another_place_is_named_by_a_pattern() -> None:
    """An author may write anything as a name; the reader refuses invalid names (``cluster.snapshot_reader``)."""
    found = list(referenced_names([made(kinds.INGRESS, {"tls": [{"secretName": "../../nodes"}]})], SECRET))
    assert found == [("..", "../nodes")]
    assert not re.fullmatch(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?", found[0][0])
