"""Which configuration governs a namespace, in MicroShift and on both sides of HyperShift."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from scanner.kube import kinds
from scanner.kube.kinds import MICROSHIFT_CONFIG, PKI, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Origin, Snapshot, Unreadable
from scanner.model.pki_config import RSA_2048, Key
from scanner.pki import governing
from scanner.pki.governing import READS, Governing, in_force, past
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
    parts = ("kube-apiserver", "etcd", "kube-controller-manager", "kube-scheduler")
    for namespace in (f"openshift-{part}{end}" for part in parts for end in ("", "-operator")):
        elsewhere = governing.of(namespace)
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


HOUR = timedelta(hours=1)


def day(number: int) -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number)


def pki(size: int, since: int) -> dict[str, Any]:
    return {
        "metadata": {"name": "cluster", "creationTimestamp": day(since).isoformat()},
        "spec": {"defaults": {"key": {"algorithm": "RSA", "rsa": {"keySize": size}}}},
    }


def snapshot_of_history(taken: int, **objects: dict[str, Any]) -> Snapshot:
    """With the objects of some kinds, by the kinds' names."""
    return Snapshot(
        taken_at=day(taken),
        origin=Origin(name="test"),
        objects={
            kind: (KubeObject(objects[kind.name], kind),) if kind.name in objects else () for kind in governing.READS
        },
    )


def asked(history: tuple[Any, ...], at: datetime) -> object:
    found = in_force(history, at, HOUR)
    return None if found is None else required(found.config, "serving").key


NOW = snapshot_of_history(100, PKI=pki(4096, 90))


def test_a_snapshot_tells_from_its_last_change_to_its_own_moment() -> None:
    history = past([snapshot_of_history(40, PKI=pki(3072, 10))], NOW)
    assert [asked(history, day(number)) for number in (9, 11, 40, 41)] == [
        None, Key(algorithm="RSA", size=3072), Key(algorithm="RSA", size=3072), None,
    ]  # fmt: skip
    assert asked(history, day(10) - HOUR / 2) == Key(algorithm="RSA", size=3072)  # back-dated


def test_several_snapshots_tell_of_several_times() -> None:
    history = past([snapshot_of_history(60, PKI=pki(3072, 50)), snapshot_of_history(40, PKI=pki(2048, 10))], NOW)
    sizes = [getattr(asked(history, day(number)), "size", None) for number in (20, 45, 55)]
    assert sizes == [2048, None, 3072]


def test_without_an_object_it_was_always_so() -> None:
    history = past([snapshot_of_history(40)], NOW)
    found = in_force(history, day(-1000), HOUR)
    assert found is not None
    assert (found.config.reason, found.text) == ("absent", "the snapshot of 2026-02-10")
    assert in_force(history, day(41), HOUR) is None


def test_what_could_not_be_read_then_tells_nothing() -> None:
    before = snapshot_of_history(40, PKI=pki(2048, 10))
    gap = Unreadable(kind=PKI, gap="forbidden", reason="403")
    hidden = Snapshot(
        taken_at=before.taken_at, origin=before.origin, objects={**before.objects, PKI: ()}, unreadable={PKI: gap}
    )
    assert past([hidden], NOW) == ()
    never_asked = Snapshot(taken_at=before.taken_at, origin=before.origin, objects={})
    assert past([never_asked], NOW) == ()
    undated = {**pki(2048, 10), "metadata": {"name": "cluster"}}
    assert past([snapshot_of_history(40, PKI=undated)], NOW) == ()


INSTALL_CONFIG = "pki: {signerCertificates: {key: {algorithm: RSA, rsa: {keySize: 4096}}}}\nfeatureSet: x\n"
INSTALLED = {
    "ConfigMap": {
        "metadata": {"name": "cluster-config-v1", "namespace": "kube-system"},
        "data": {"install-config": INSTALL_CONFIG},
    },
    "Namespace": {"metadata": {"name": "kube-system", "creationTimestamp": day(0).isoformat()}},
}


@pytest.mark.parametrize(("hours", "known"), [(-30, False), (-12, True), (12, True), (30, False)])
def test_the_install_config_tells_of_the_day_of_installation(hours: int, known: bool) -> None:
    history = past([], snapshot_of_history(100, PKI=pki(2048, 90), **INSTALLED))
    found = in_force(history, day(0) + timedelta(hours=hours), HOUR)
    assert (found is not None) == known
    if found:
        assert required(found.config, "signer").key == Key(algorithm="RSA", size=4096)


def test_a_snapshot_of_that_day_counts_before_the_install_config() -> None:
    history = past([snapshot_of_history(1, PKI=pki(3072, 0))], snapshot_of_history(100, PKI=pki(2048, 90), **INSTALLED))
    found = in_force(history, day(0) + HOUR, HOUR)
    assert found is not None
    assert required(found.config, "signer").key == Key(algorithm="RSA", size=3072)


def test_what_governs_has_its_history() -> None:
    found = Governing(NOW, earlier=(snapshot_of_history(40, PKI=pki(3072, 10)),))
    assert [each.until for each in found.of("openshift-etcd").history] == [day(40)]
    gone = Governing(snapshot_of_history(100), earlier=(snapshot_of_history(40, PKI=pki(3072, 10)),))
    assert gone.own.reason == "deleted"
