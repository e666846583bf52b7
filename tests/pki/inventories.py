"""An inventory of certificates that are not read from objects."""

from __future__ import annotations

from datetime import UTC, datetime

from scanner.config.certificate_names import load_names
from scanner.kube.kinds import KINDS
from scanner.kube.objects import KubeObject, Reference
from scanner.kube.snapshot import Origin, Snapshot
from scanner.model.scan_policy import ScanPolicy
from scanner.model.well_known import Names
from scanner.pki.governing import Governing
from scanner.pki.inventory import Inventory

NOW = datetime(2026, 11, 21, tzinfo=UTC)
NAMES = load_names()
SECRET = Reference(kind="Secret", namespace="openshift-kube-apiserver", name="localhost-serving-cert-certkey")
PKI_OBJECT = {
    "metadata": {"name": "cluster", "creationTimestamp": "2026-01-01T00:00:00Z"},
    "spec": {"defaults": {"key": {"algorithm": "RSA", "rsa": {"keySize": 4096}}}},
}
GATE = {
    "metadata": {"name": "cluster"},
    "status": {"featureGates": [{"version": "4.22.0", "enabled": [{"name": "ConfigurablePKI"}]}]},
}


def inventory(
    pki: dict[str, object] | None = None, names: Names = NAMES, policy: ScanPolicy = ScanPolicy()
) -> Inventory:
    objects: dict[str, dict[str, object]] = {"PKI": pki, "FeatureGate": GATE} if pki else {}
    snapshot = Snapshot(
        taken_at=NOW,
        origin=Origin(name="test"),
        objects={kind: (KubeObject(objects[kind.name], kind),) if kind.name in objects else () for kind in KINDS},
    )
    return Inventory(names, Governing(snapshot), NOW, policy)
