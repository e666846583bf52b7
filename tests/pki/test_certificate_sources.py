"""Certificates in objects of the cluster: where each one is, what for, and whose."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.config.certificate_names import load_names
from scanner.kube.kinds import SECRET
from scanner.kube.maybe import Unknown
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import NotRead, Snapshot
from scanner.model.endpoint import Endpoint, Owner
from scanner.model.held_certificate import HeldCertificate
from scanner.model.observation import Observation, Reach
from scanner.model.pki_config import key_of
from scanner.pki.certificate_sources import READS, SOURCES, in_snapshot, served, signers
from scanner.tls.certificate import parse_certificate
from tests.certs import Authority
from tests.pki.givers import GIVERS
from tests.pki.objects import coded, secret, snapshot
from tests.properties import at_most

pytestmark = pytest.mark.crypto

ROOT = Authority("Root")
MIDDLE = Authority("Middle", issuer=ROOT)
LEAF = MIDDLE.leaf(names=("web.example",))
CHAIN = (LEAF.pem,)
TRUST_BUNDLE = "config.openshift.io/inject-trusted-cabundle"


def places(found: Snapshot) -> list[tuple[str, str]]:
    """Role and place of each."""
    return [(each.place.role, str(each.place)) for each in in_snapshot(found)]


def one(found: Snapshot) -> HeldCertificate:
    (only,) = in_snapshot(found)
    return only


def test_a_secret_has_a_chain_and_a_bundle() -> None:
    raw = secret("shop", "web", CHAIN, data={"ca.crt": coded(ROOT.pem)}, key_matches=True)
    leaf, middle, root = in_snapshot(snapshot("", raw))
    assert (leaf.place.role, str(leaf.place)) == ("leaf", "Secret/shop/web data[tls.crt]")
    assert (middle.place.role, str(middle.place)) == ("issuer", "Secret/shop/web data[tls.crt] 2")
    assert (root.place.role, str(root.place)) == ("trusted", "Secret/shop/web data[ca.crt]")
    assert [leaf.facts.der, middle.facts.der, root.facts.der] == [LEAF.der, MIDDLE.der, ROOT.der]
    assert leaf.chain == (middle.facts,)
    assert (leaf.place.key_matches, middle.place.key_matches) == (True, None)
    assert leaf.place.user_provided is None


def test_what_cannot_be_read_in_two_places_is_not_one_certificate() -> None:
    raws = (secret("a", name, [], data={"tls.crt": coded(b"hello")}) for name in ("b", "c"))
    first, second = (each.facts.sha256 for each in in_snapshot(snapshot("", *raws)))
    assert first != second
    same = [
        each.facts.sha256 for each in in_snapshot(snapshot("", *(secret("a", name, CHAIN[:1]) for name in ("b", "c"))))
    ]
    assert len(set(same)) == len(same) // 2


@pytest.mark.parametrize(("said", "means"), [(False, False), ("there is no tls.key", None), (None, None), (1, None)])
def test_whether_the_key_matches_is_true_false_or_not_known(said: object, means: bool | None) -> None:
    assert one(snapshot("", secret("a", "b", [ROOT.pem], key_matches=said))).place.key_matches is means


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("%%%", "the field is not base64"),
        ("LS0t LS1C", "the field is not base64"),
        (coded(b"hello"), "there is no certificate in PEM"),
    ],
)
def test_a_secret_without_a_readable_certificate_is_not_passed_over(data: str, why: str) -> None:
    found = one(snapshot("", secret("a", "b", [], data={"tls.crt": data})))
    assert found.facts.unreadable["subject"] == why
    assert key_of(found.facts) == Unknown(f"the key cannot be read: {why}")


def test_kubeconfigs_in_a_secret() -> None:
    raw = secret("a", "k", [])
    raw["adhere"] = {
        "kubeconfigs": {
            "lb.kubeconfig": {
                "certificate-authority-data": ROOT.pem.decode(),
                "client-certificate-data": (LEAF.pem + ROOT.pem).decode(),
            }
        }
    }
    assert places(snapshot("", raw)) == [
        ("trusted", "Secret/a/k data[lb.kubeconfig] certificate-authority-data"),
        ("client", "Secret/a/k data[lb.kubeconfig] client-certificate-data"),
        ("issuer", "Secret/a/k data[lb.kubeconfig] client-certificate-data 2"),
        ("issuer", "Secret/a/k data[lb.kubeconfig] client-certificate-data 3"),
    ]


def test_bundles_in_config_maps_webhooks_conversions_and_aggregated_apis() -> None:
    bundle = ROOT.pem.decode()
    other = coded(MIDDLE.pem)
    webhook: dict[str, Any] = {"clientConfig": {"caBundle": other}}
    found = snapshot(
        "",
        {"kind": "ConfigMap", "metadata": {"name": "kube-root-ca.crt", "namespace": "kube-system"},
         "data": {"ca.crt": bundle + MIDDLE.pem.decode(), "note": "no PEM"}},
        {"kind": "ValidatingWebhookConfiguration", "metadata": {"name": "v"}, "webhooks": [webhook, webhook]},
        {"kind": "MutatingWebhookConfiguration", "metadata": {"name": "m"}, "webhooks": [webhook]},
        {"kind": "CustomResourceDefinition", "metadata": {"name": "c"},
         "spec": {"conversion": {"webhook": webhook}}},
        {"kind": "APIService", "metadata": {"name": "s"}, "spec": {"caBundle": other}},
    )  # fmt: skip
    assert places(found) == [
        ("trusted", "ConfigMap/kube-system/kube-root-ca.crt data[ca.crt]"),
        ("trusted", "ConfigMap/kube-system/kube-root-ca.crt data[ca.crt] 2"),
        ("trusted", "ValidatingWebhookConfiguration/v webhooks[0].clientConfig.caBundle"),
        ("trusted", "ValidatingWebhookConfiguration/v webhooks[1].clientConfig.caBundle"),
        ("trusted", "MutatingWebhookConfiguration/m webhooks[0].clientConfig.caBundle"),
        ("trusted", "CustomResourceDefinition/c spec.conversion.webhook.clientConfig.caBundle"),
        ("trusted", "APIService/s spec.caBundle"),
    ]


def test_the_ca_of_a_kubeconfig_in_a_config_map() -> None:
    """As kubeadm publishes it for nodes that join."""
    kubeconfig = f"""
kind: Config
clusters:
- {{name: "", cluster: {{server: "https://api:6443", certificate-authority-data: {coded(ROOT.pem)}}}}}
"""
    metadata = {"name": "cluster-info", "namespace": "kube-public"}
    (only,) = in_snapshot(snapshot("", {"kind": "ConfigMap", "metadata": metadata, "data": {"kubeconfig": kubeconfig}}))
    assert (only.facts.der, only.place.role) == (ROOT.der, "trusted")
    assert only.place.field == "data[kubeconfig] cluster  certificate-authority-data"


def test_certificates_in_other_data_of_a_secret_are_a_bundle_or_somebodys() -> None:
    data = {"client.pem": coded(LEAF.pem), "bundle": coded(ROOT.pem, LEAF.pem)}
    raw = {"kind": "Secret", "metadata": {"name": "s", "namespace": "shop"}, "data": data}
    assert places(snapshot("", raw)) == [
        ("leaf", "Secret/shop/s data[client.pem]"),
        ("issuer", "Secret/shop/s data[client.pem] 2"),
        ("trusted", "Secret/shop/s data[bundle]"),
        ("trusted", "Secret/shop/s data[bundle] 2"),
        ("trusted", "Secret/shop/s data[bundle] 3"),
    ]


def test_what_a_signing_request_was_answered_with() -> None:
    raw = {
        "kind": "CertificateSigningRequest", "metadata": {"name": "csr-1"},
        "spec": {"signerName": "kubernetes.io/kubelet-serving"}, "status": {"certificate": coded(LEAF.pem)},
    }  # fmt: skip
    assert places(snapshot("", raw)) == [
        ("request", "CertificateSigningRequest/csr-1 status.certificate"),
        ("issuer", "CertificateSigningRequest/csr-1 status.certificate 2"),
    ]
    assert places(snapshot("", {**raw, "status": {}})) == []


def test_a_route_has_what_its_user_wrote() -> None:
    tls = {
        "certificate": LEAF.pem.decode(), "caCertificate": MIDDLE.pem.decode(),
        "destinationCACertificate": ROOT.pem.decode(), "key": "[private key removed]",
    }  # fmt: skip
    found = list(
        in_snapshot(
            snapshot("", {"kind": "Route", "metadata": {"name": "r", "namespace": "shop"}, "spec": {"tls": tls}})
        )
    )
    assert [(each.place.role, each.place.field) for each in found] == [
        ("leaf", "spec.tls.certificate"),
        ("issuer", "spec.tls.certificate 2"),
        ("issuer", "spec.tls.caCertificate"),
        ("trusted", "spec.tls.destinationCACertificate"),
    ]
    assert found[0].place.user_provided == "Route/shop/r spec.tls.certificate"
    assert all(each.place.user_provided for each in found)


@pytest.mark.parametrize(
    ("namespace", "name", "by"),
    [
        ("openshift-config", "api", "APIServer/cluster spec.servingCerts.namedCertificates[0].servingCertificate.name"),
        (
            "openshift-ingress",
            "wildcard",
            "IngressController/openshift-ingress-operator/default spec.defaultCertificate.name",
        ),
        ("openshift-config", "console", "Ingress/cluster spec.componentRoutes[0].servingCertKeyPairSecret.name"),
        ("shop", "web", "Ingress/shop/web spec.tls[0].secretName"),
        ("edge", "edge", "Gateway/edge/g spec.listeners[0].tls.certificateRefs[0]"),
        ("certs", "other", "Gateway/edge/g spec.listeners[0].tls.certificateRefs[1]"),
        ("certs", "proxy", "HTTPProxy/shop/p spec.virtualhost.tls.secretName"),
        ("shop", "backend-ca", "HTTPProxy/shop/p spec.routes[0].services[0].validation.caSecret"),
        ("shop", "set", "ListenerSet/shop/s spec.listeners[0].tls.certificateRefs[0]"),
        ("shop", "route", "Route/shop/r spec.tls.externalCertificate.name"),
        ("edge", "no", None),
        ("elsewhere", "api", None),
        ("openshift-config", "", None),
    ],
)
def test_a_secret_that_a_user_gave_says_by_which_field(namespace: str, name: str, by: str | None) -> None:
    assert one(snapshot(GIVERS, secret(namespace, name, [ROOT.pem]))).place.user_provided == by


def test_cert_manager_and_the_service_ca_say_whose_a_secret_is() -> None:
    issued = secret("shop", "c", [ROOT.pem], annotations={"cert-manager.io/certificate-name": "web"})
    assert one(snapshot("", issued)).place.user_provided == "cert-manager's Certificate web"
    own = secret("shop", "web", [ROOT.pem], annotations={"service.beta.openshift.io/originating-service-name": "web"})
    assert one(snapshot(GIVERS, own)).place.user_provided is None


@pytest.mark.parametrize(
    ("raw", "by"),
    [
        ({"metadata": {"name": "ours", "namespace": "openshift-config"}}, "APIServer/cluster spec.clientCA.name"),
        ({"metadata": {"name": "cluster-config-v1", "namespace": "kube-system"}},
         "additionalTrustBundle of the install-config"),
        ({"metadata": {"name": "t", "namespace": "a", "labels": {TRUST_BUNDLE: "true"}}},
         f"the label {TRUST_BUNDLE}: the system's trusted CAs and those of Proxy spec.trustedCA"),
        ({"metadata": {"name": "signing-cabundle", "namespace": "openshift-service-ca"}}, None),
    ],
)  # fmt: skip
def test_bundles_of_users_and_the_system_are_told_apart(raw: dict[str, Any], by: str | None) -> None:
    indented = "additionalTrustBundle: |\n" + "".join(f"  {line}\n" for line in ROOT.pem.decode().splitlines())
    found = one(snapshot(GIVERS, {"kind": "ConfigMap", **raw, "data": {"install-config": indented}}))
    assert found.facts.der == ROOT.der
    assert found.place.user_provided == by


def test_a_ca_that_cert_manager_injects_is_not_the_clusters() -> None:
    raw = {
        "kind": "APIService", "spec": {"caBundle": coded(ROOT.pem)},
        "metadata": {"name": "s", "annotations": {"cert-manager.io/inject-ca-from": "a/b"}},
    }  # fmt: skip
    assert one(snapshot("", raw)).place.user_provided == "the annotation cert-manager.io/inject-ca-from"


def test_signers_that_are_known_everywhere_are_those_whose_ca_is_put_into_objects_of_others() -> None:
    spread, other = Authority("openshift-service-serving-signer@1"), Authority("openshift-etcd_etcd-signer@1")
    found = snapshot(
        "",
        secret("openshift-service-ca", "signing-key", [spread.pem]),
        secret("openshift-etcd", "etcd-signer", [other.pem]),
        secret("shop", "signing-key", [Authority("openshift-service-serving-signer@2").pem]),
    )
    assert list(signers(found, load_names()).values()) == [spread.der]


def test_a_bundle_without_end_is_bounded() -> None:
    block = b"-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"
    found = list(in_snapshot(snapshot("", secret("a", "b", [block * 1002]))))
    assert len(found) == 1001
    assert found[-1].facts.unreadable["subject"] == "more than 1000 certificates: the others were not read"


def test_a_kind_that_nobody_read_is_our_mistake() -> None:
    with pytest.raises(NotRead):
        list(in_snapshot(Snapshot(taken_at=snapshot().taken_at, origin=snapshot().origin, objects={})))


def test_every_source_is_in_the_table() -> None:
    assert {each.__name__ for each in SOURCES} == {
        "secrets", "config_maps", "callers", "requests", "routes",
    }  # fmt: skip


_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.just(coded(ROOT.pem)),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["metadata", "name", "namespace", "annotations", "labels", "data", "tls.crt", "ca.crt", "adhere", "spec",
             "keyMatches", "tls", "certificate", "webhooks", "clientConfig", "caBundle", "status", "conversion",
             "listeners", "certificateRefs", "servingCerts", "namedCertificates", "virtualhost", "secretName"]
        ),
        inner, max_size=4,
    ),
    max_leaves=20,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(["metadata", "spec", "data", "webhooks", "status", "adhere"]), _ANYTHING))
@at_most(200)
def test_hostile_objects_never_crash(raw: dict[str, Any]) -> None:
    empty = snapshot()
    objects = {kind: (KubeObject(raw, kind),) for kind in empty.objects}
    found = Snapshot(taken_at=empty.taken_at, origin=empty.origin, objects=objects)
    assert all(each.place.reference for each in in_snapshot(found))


def test_what_is_read_is_declared() -> None:
    assert SECRET in READS
    assert (
        list(
            in_snapshot(
                Snapshot(taken_at=snapshot().taken_at, origin=snapshot().origin, objects=dict.fromkeys(READS, ()))
            )
        )
        == []
    )


SERVED_ROOT = Authority("Root")
SERVED_MIDDLE = parse_certificate(Authority("Middle", issuer=SERVED_ROOT).der)
SERVED_LEAF = parse_certificate(SERVED_ROOT.leaf(names=("web.example",)).der)
OTHER = parse_certificate(SERVED_ROOT.leaf(names=("web.example",), key="rsa2048").der)

ENDPOINT = Endpoint(
    id="Deployment/shop/web:8443", instance="10.0.0.7:8443", address="10.0.0.7", port=8443, component="web",
    owner=Owner(kind="Deployment", name="web", namespace="shop"),
)  # fmt: skip
SEEN = Observation(instance="10.0.0.7:8443", at=datetime(2026, 11, 21, tzinfo=UTC), reach=Reach.TLS)


def test_every_chain_each_certificate_once() -> None:
    seen = Observation(
        instance=SEEN.instance,
        at=SEEN.at,
        reach=Reach.TLS,
        chain=(SERVED_LEAF, SERVED_MIDDLE),
        other_chains=((OTHER, SERVED_MIDDLE),),
    )
    first, issuer, other = served(ENDPOINT, seen)
    assert [each.facts for each in (first, issuer, other)] == [SERVED_LEAF, SERVED_MIDDLE, OTHER]
    assert [each.place.role for each in (first, issuer, other)] == ["leaf", "issuer", "leaf"]
    assert (first.chain, issuer.chain, other.chain) == ((SERVED_MIDDLE,), (), (SERVED_MIDDLE,))
    assert (first.place.endpoint, first.place.port, first.place.component) == (ENDPOINT.id, 8443, "web")
    assert str(first.place) == ENDPOINT.id


def test_a_chain_that_was_not_seen_has_nothing() -> None:
    assert list(served(ENDPOINT, SEEN)) == []


def test_what_a_user_gave_is_known_again_where_it_is_served() -> None:
    given = SERVED_ROOT.leaf(names=("web.example",))
    tls = {"certificate": given.pem.decode()}
    route = {"kind": "Route", "metadata": {"name": "r", "namespace": "shop"}, "spec": {"tls": tls}}
    who = {each.facts.sha256: each.place.user_provided or "" for each in in_snapshot(snapshot("", route))}
    seen = Observation(
        instance=SEEN.instance, at=SEEN.at, reach=Reach.TLS, chain=(parse_certificate(given.der), SERVED_LEAF)
    )
    first, second = served(ENDPOINT, seen, who)
    assert first.place.user_provided == "Route/shop/r spec.tls.certificate"
    assert second.place.user_provided is None
