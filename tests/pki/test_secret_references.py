"""Which Secrets are read by name."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.config.certificate_names import load_names
from scanner.kube.objects import KubeObject
from scanner.kube.references import MOST
from scanner.kube.snapshot import Snapshot
from scanner.pki.secret_references import secret_references
from tests.pki.givers import GIVERS
from tests.pki.objects import snapshot

pytestmark = pytest.mark.crypto

NAMES = load_names()


def test_a_cluster_that_is_not_openshift_is_asked_for_what_its_objects_name() -> None:
    found = snapshot("{kind: Ingress, metadata: {name: web, namespace: shop}, spec: {tls: [{secretName: web}, {}]}}")
    assert list(secret_references(found, NAMES)) == [("shop", "web")]


def test_the_platforms_own_where_its_namespaces_are() -> None:
    text = """
{kind: Namespace, metadata: {name: openshift-service-ca}}
---
{kind: Namespace, metadata: {name: openshift-etcd}}
---
{kind: Node, metadata: {name: master-0, labels: {node-role.kubernetes.io/master: ""}}}
---
{kind: Node, metadata: {name: plane-0, labels: {node-role.kubernetes.io/control-plane: ""}}}
---
{kind: Node, metadata: {name: worker-0, labels: {node-role.kubernetes.io/worker: ""}}}
"""
    found = set(secret_references(snapshot(text), NAMES))
    assert ("openshift-service-ca", "signing-key") in found
    assert ("openshift-etcd", "etcd-signer") in found
    assert {name for _, name in found if name.endswith("-0")} == {
        f"etcd-{kind}-{node}" for kind in ("peer", "serving", "serving-metrics") for node in ("master-0", "plane-0")
    }
    assert {namespace for namespace, _ in found} == {"openshift-service-ca", "openshift-etcd"}


def test_hosted_control_planes_where_their_namespaces_are() -> None:
    text = "{kind: Namespace, metadata: {name: clusters-blue}}\n---\n{kind: Namespace, metadata: {name: shop}}"
    found = set(secret_references(snapshot(text), NAMES))
    assert ("clusters-blue", "customer-system-admin-signer") in found
    assert {namespace for namespace, _ in found} == {"clusters-blue"}


def test_where_namespaces_may_not_be_listed_the_platforms_are_asked_for() -> None:
    found = set(secret_references(snapshot(without_namespaces=True), NAMES))
    assert ("openshift-kube-apiserver-operator", "kube-control-plane-signer") in found


def test_what_users_gave_and_what_the_service_ca_made() -> None:
    text = f"""{GIVERS}
---
{{kind: IngressController, metadata: {{name: second, namespace: openshift-ingress-operator}}}}
---
{{kind: Service, metadata: {{name: s, namespace: a,
 annotations: {{service.beta.openshift.io/serving-cert-secret-name: s-tls}}}}}}
"""
    assert list(secret_references(snapshot(text), NAMES)) == [
        ("openshift-config", "api"),
        ("openshift-config", "console"),
        ("openshift-ingress", "wildcard"),
        ("openshift-ingress", "router-certs-second"),
        ("a", "s-tls"),
        ("shop", "web"),
        ("edge", "edge"),
        ("certs", "other"),
        ("shop", "set"),
        ("certs", "proxy"),
        ("shop", "backend-ca"),
        ("shop", "route"),
    ]


REFERRED = """
{kind: Ingress, metadata: {name: web, namespace: shop, annotations: {projectcontour.io/tls-cert-namespace: certs}},
 spec: {tls: [{secretName: web}]}}
---
{kind: HTTPProxy, metadata: {name: p, namespace: shop}, spec: {virtualhost: {tls: {secretName: /own,
 clientValidation: {caSecret: certs/clients, crlSecret: certs/revoked}}},
 tcpproxy: {services: [{validation: {caSecret: certs/backend}}]}}}
---
{kind: Gateway, metadata: {name: g, namespace: edge}, spec: {tls: {
 backend: {clientCertificateRef: {name: identity, namespace: certs}},
 frontend: {default: {validation: {caCertificateRefs: [{kind: Secret, group: "", name: clients}]}}}}}}
---
{kind: XListenerSet, metadata: {name: x, namespace: shop}, spec: {listeners: [{name: a, port: 443, protocol: HTTPS,
 tls: {certificateRefs: [{name: of-set}]}}]}}
---
{kind: BackendTLSPolicy, metadata: {name: b, namespace: shop}, spec: {validation: {caCertificateRefs: [
 {kind: Secret, group: "", name: backends}]}}}
---
{kind: ContourConfiguration, metadata: {name: c, namespace: projectcontour}, spec: {
 httpproxy: {fallbackCertificate: {name: fallback, namespace: certs}},
 envoy: {clientCertificate: {name: envoy, namespace: certs}}}}
---
{kind: ConfigMap, metadata: {name: contour, namespace: projectcontour}, data: {contour.yaml: "tls:\\n
  fallback-certificate: {name: of-file, namespace: certs}\\n
  envoy-client-certificate: {name: identity-of-file, namespace: certs}\\n"}}
"""


def test_every_secret_that_an_object_of_a_user_refers_to_is_read() -> None:
    assert list(secret_references(snapshot(REFERRED), NAMES)) == [
        ("certs", "web"),
        ("shop", "web"),
        ("edge", "clients"),
        ("certs", "identity"),
        ("shop", "of-set"),
        ("shop", "backends"),
        ("shop", "own"),
        ("certs", "clients"),
        ("certs", "revoked"),
        ("certs", "backend"),
        ("certs", "fallback"),
        ("certs", "envoy"),
        ("certs", "of-file"),
        ("certs", "identity-of-file"),
    ]


def test_their_number_is_bounded() -> None:
    tls = [{"secretName": f"s{number}"} for number in range(MOST + 5)]
    raw = {"kind": "Ingress", "metadata": {"name": "web", "namespace": "shop"}, "spec": {"tls": tls}}
    assert len(list(secret_references(snapshot("", raw), NAMES))) == MOST


@given(st.dictionaries(st.text(max_size=8), st.none() | st.integers() | st.lists(st.text(max_size=3), max_size=2)))
def test_hostile_objects_never_crash(inner: dict[str, Any]) -> None:
    empty = snapshot()
    raw = {"metadata": inner, "spec": inner}
    objects = {kind: (KubeObject(raw, kind),) for kind in empty.objects}
    found = Snapshot(taken_at=empty.taken_at, origin=empty.origin, objects=objects)
    assert all(namespace and name for namespace, name in secret_references(found, NAMES))
