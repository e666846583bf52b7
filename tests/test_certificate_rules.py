"""Two clusters through every rule on certificates: one without fault, and one with every fault there is a rule for."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from scanner.certificates import READS, Certificates
from scanner.kube.kinds import KINDS, SECRET, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Origin, Snapshot
from scanner.model.expectation import Expectation
from scanner.model.scan_policy import CertificateMinimums, ScanPolicy
from scanner.pki.rules import PKI_RULES
from scanner.tls.certificate import parse_certificate
from scanner.values import replace
from tests.certs import Authority, weakly_signed
from tests.judge.cases import CONFORMING, PROFILE
from tests.pki.inventories import GATE
from tests.pki.objects import secret
from tests.pki.operand_certificates import ETCD

pytestmark = pytest.mark.crypto

NOW = datetime(2026, 11, 21, tzinfo=UTC)
AGO = NOW - timedelta(days=100)
KUBE_APISERVER, ETCD_NAMESPACE = "openshift-kube-apiserver", "openshift-etcd"
BY_KIND: dict[str, Kind] = {each.name: each for each in KINDS}
P384 = {"key": {"algorithm": "ECDSA", "ecdsa": {"curve": "P384"}}}
RSA = {"key": {"algorithm": "RSA", "rsa": {"keySize": 2048}}}
POLICY = ScanPolicy(certificates=CertificateMinimums(longest_days=400))
LB_SIGNER = "openshift-kube-apiserver-operator_loadbalancer-serving-signer@1"


def cluster(*objects: dict[str, Any]) -> Certificates:
    held: dict[Kind, list[KubeObject]] = {kind: [] for kind in (*READS, SECRET)}
    for raw in (*objects, {"kind": "FeatureGate", **GATE}):
        held[BY_KIND[raw["kind"]]].append(KubeObject(raw, BY_KIND[raw["kind"]]))
    snapshot = Snapshot(
        taken_at=NOW, origin=Origin(name="test"), objects={kind: tuple(all_) for kind, all_ in held.items()}
    )
    return Certificates(snapshot, POLICY)


def pki(**spec: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    made = (NOW - timedelta(days=200)).isoformat()
    return {"kind": "PKI", "metadata": {"name": "cluster", "creationTimestamp": made}, "spec": spec}


def rules(found: Certificates) -> set[str]:
    return {each.rule for each in found.findings() if each.verdict == "fail"}


def leaves(authority: Authority, *, days: int = 30, key: Any = "p384") -> Iterable[dict[str, Any]]:  # noqa: ANN401 - as leaf
    """kube-apiserver's serving certificate under the load balancer's name, and a Secret of a user's."""
    start = NOW - timedelta(days=5)
    lb = authority.leaf(names=("api.example.com",), key=key, not_before=start, not_after=start + timedelta(days=days))
    yield secret(KUBE_APISERVER, "external-loadbalancer-serving-certkey", [lb.pem])
    yield secret("shop", "web", [Authority("Theirs", now=NOW).leaf(names=("web.example",)).pem])


def test_a_cluster_without_fault_fails_no_rule() -> None:
    signer = Authority(LB_SIGNER, key="p384", now=AGO)
    found = cluster(
        pki(defaults=P384),
        {"kind": "PKICertificateDefinition", "metadata": {"name": "d", "namespace": "openshift-config"}},
        secret("openshift-kube-apiserver-operator", "loadbalancer-serving-signer", [signer.pem]),
        *leaves(signer),
    )
    leaf = parse_certificate(signer.leaf(names=("api.example.com",), key="p384").der)
    apiserver = replace(ETCD, id="kas", component="kube-apiserver", port=6443)
    found.serve(apiserver, replace(CONFORMING, chain=(leaf,)), Expectation(profile=PROFILE))
    assert rules(found) == set()
    assert any(each.status == "ok" for entry in found.inventory.entries() for each in entry.findings)


def test_a_cluster_with_every_fault_fails_every_rule() -> None:
    rsa = Authority(LB_SIGNER, key="rsa2048", now=AGO)
    etcd = Authority("openshift-etcd_etcd-signer@1", key="p256", now=AGO)
    stolen = Authority("Theirs", now=NOW).leaf(names=("web.example",), not_after=NOW + timedelta(days=4000))
    old = NOW - timedelta(days=2000)
    matching = {"resourceRules": [{"apiGroups": ["config.openshift.io"], "operations": ["*"], "resources": ["pkis"]}]}
    found = cluster(
        pki(
            defaults=P384,
            categories=[{"category": "SignerCertificate", "certificate": RSA}],
            overrides=[{"certificateName": "shop/web", "certificate": P384}],  # pki-object
        ),
        {"kind": "PKICertificateDefinition", "metadata": {"name": "d", "namespace": "shop"}},
        {"kind": "ValidatingAdmissionPolicy", "metadata": {"name": "p"}, "spec": {"matchConstraints": matching}},
        secret("openshift-kube-apiserver-operator", "loadbalancer-serving-signer", [rsa.pem]),  # pki-strength
        *leaves(rsa, key="p256"),  # pki-key, and stronger than its signer
        secret("shop", "copied", [stolen.pem]),  # pki-minimum
        secret("till", "copied", [stolen.pem]),  # pki-key-reuse
        secret("till", "weak", [weakly_signed(rsa, names=("weak.example",)).pem], key_matches=False),  # pki-key-pair
        {
            "kind": "ConfigMap",
            "metadata": {"name": "cluster-config-v1", "namespace": "kube-system"},
            "data": {"install-config": json.dumps({"pki": {"signerCertificates": P384}})},  # pki-install-config
        },
        secret(ETCD_NAMESPACE, "etcd-client", [etcd.leaf(names=(), common_name="etcd-client", not_before=old).pem]),
    )
    served = parse_certificate(etcd.leaf(names=("localhost",)).der)
    rsa_only = replace(PROFILE, suites=(0x1301, 0xC02F))
    found.serve(ETCD, replace(CONFORMING, chain=(served,)), Expectation(profile=rsa_only))  # pki-profile
    informational = {"pki-lifetime"}
    assert {each.id for each in PKI_RULES} - rules(found) == informational  # a rule that is added fails here too
    assert informational < {each.rule for each in found.findings()}
