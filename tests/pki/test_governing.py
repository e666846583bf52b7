"""Which configuration governs a namespace, in MicroShift and on both sides of HyperShift."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from scanner.kube import kinds
from scanner.kube.kinds import Kind
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Origin, Snapshot
from scanner.model.key import RSA_2048, Key
from scanner.model.unlisted_kinds import MICROSHIFT_CONFIG
from scanner.pki.governing import READS, Governing
from scanner.pki.resolution import required

P256, RSA_4096 = Key(algorithm="ECDSA", curve="P256"), Key(algorithm="RSA", size=4096)
DEFAULTS = {"key": {"algorithm": "ECDSA", "ecdsa": {"curve": "P256"}}}
SIGNER = {
    "category": "SignerCertificate",
    "certificate": {"key": {"algorithm": "RSA", "rsa": {"keySize": 4096}}},
}
OWN = (kinds.PKI, {"metadata": {"name": "cluster"}, "spec": {"defaults": DEFAULTS}})


def snapshot(*objects: tuple[Kind, Mapping[str, Any]], file: Mapping[str, Any] | None = None) -> Snapshot:
    held: dict[Kind, tuple[KubeObject, ...]] = dict.fromkeys(READS, ())
    for kind, raw in objects:
        held[kind] = (*held[kind], KubeObject(raw, kind))
    if file is not None:
        held[MICROSHIFT_CONFIG] = (KubeObject(file, MICROSHIFT_CONFIG),)
    return Snapshot(taken_at=datetime(2026, 11, 21, tzinfo=UTC), origin=Origin(name="test"), objects=held)


def named(kind: Kind, namespace: str, name: str) -> tuple[Kind, Mapping[str, Any]]:
    return kind, {"metadata": {"name": name, "namespace": namespace}}


def test_the_clusters_own_governs_everything() -> None:
    governing = Governing(snapshot(OWN))
    for namespace in ("openshift-etcd", "shop", None):
        assert governing.of(namespace).because is None
        assert required(governing.of(namespace).config, "serving").key == P256


@pytest.mark.parametrize(
    "plane",
    [
        named(kinds.HOSTED_CLUSTER, "clusters", "shop.one"),
        named(kinds.HOSTED_CONTROL_PLANE, "clusters-shop-one", "shop"),
    ],
    ids=["HostedCluster", "HostedControlPlane"],
)
def test_a_management_cluster_governs_hosted_control_planes(plane: tuple[Kind, Mapping[str, Any]]) -> None:
    governing = Governing(snapshot(OWN, plane))
    found = governing.of("clusters-shop-one")
    assert required(found.config, "serving").key == P256
    assert "hosted control planes" in str(found.because)
    assert governing.of("shop").because is None


def test_a_guests_own_does_not_govern_its_control_plane() -> None:
    guest = {"metadata": {"name": "cluster"}, "status": {"controlPlaneTopology": "External"}}
    governing = Governing(snapshot(OWN, (kinds.INFRASTRUCTURE, guest)))
    assert required(governing.of("openshift-ingress").config, "serving").key == P256
    elsewhere = governing.of("openshift-etcd")
    assert required(elsewhere.config, "serving").fit(P256) == "unknown"
    assert "management cluster" in str(elsewhere.because)


@pytest.mark.parametrize(
    "section",
    [
        {"defaults": DEFAULTS, "categories": [SIGNER]},
        {
            "certificateManagement": {
                "mode": "Custom",
                "custom": {"defaults": DEFAULTS, "signerCertificates": SIGNER["certificate"]},
            }
        },
    ],
    ids=["document", "shipped"],
)
def test_microshifts_file(section: Mapping[str, Any]) -> None:
    config = Governing(snapshot(OWN, file={"pki": section})).of(None).config
    assert config.source == "/etc/microshift/config.yaml"
    assert (required(config, "signer").key, required(config, "serving").key) == (RSA_4096, P256)


@pytest.mark.parametrize("file", [{}, {"pki": None}, {"pki": {}}, {"pki": {"categories": []}}])
def test_microshifts_file_without_anything(file: Mapping[str, Any]) -> None:
    config = Governing(snapshot(file=file)).own
    assert config.reason == "empty"
    assert required(config, "serving").fit(RSA_2048) == "unrequired"


def test_microshift_without_its_file_is_not_known() -> None:
    version = named(kinds.CONFIG_MAP, "kube-public", "microshift-version")
    config = Governing(snapshot(version)).own
    assert config.reason == "unreadable"
    assert required(config, "serving").fit(RSA_4096) == "unknown"
