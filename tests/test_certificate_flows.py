"""What a cluster's life does to its certificates, as snapshots one after the other: the flows that the enhancement
"Configurable PKI for OpenShift Internal Certificates" names under "E2E Tests" and "Upgrade / Downgrade Strategy"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Literal

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from scanner.certificates import READS, Certificates
from scanner.demo.certificates import PrivateKey, private_key
from scanner.kube.kinds import PKI, SECRET
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Origin, Snapshot
from scanner.model.finding import Finding
from scanner.values import replace
from tests.certs import Authority
from tests.pki.objects import coded, secret

pytestmark = pytest.mark.crypto

START = datetime(2026, 1, 1, tzinfo=UTC)
Key = Literal["rsa2048", "rsa4096", "p256", "p384"]
Certificate = tuple[Key, int]
"""A key, and the day on which it was made."""
RSA_4096 = {"key": {"algorithm": "RSA", "rsa": {"keySize": 4096}}}
RSA_2048 = {"key": {"algorithm": "RSA", "rsa": {"keySize": 2048}}}
P384 = {"key": {"algorithm": "ECDSA", "ecdsa": {"curve": "P384"}}}

LB_SIGNER = "openshift-kube-apiserver-operator/loadbalancer-serving-signer"
LB_SERVING = "openshift-kube-apiserver/external-loadbalancer-serving-certkey"
SCHEDULER = "openshift-config-managed/kube-scheduler-client-cert-key"
SERVICE_CA = "openshift-service-ca/signing-key"
ETCD = "openshift-etcd/etcd-signer"
SIGNED: dict[str, Literal["serverAuth", "clientAuth"]] = {LB_SERVING: "serverAuth", SCHEDULER: "clientAuth"}
"""Of the Secrets above those with a leaf, and what it is for; the others hold signers."""


@cache
def made(kind: Key) -> PrivateKey:
    """One key of each kind: nothing here compares keys, and RSA 4096 takes a second."""
    return private_key(kind)


def day(number: int) -> datetime:
    return START + timedelta(days=number)


@cache
def certificate(path: str, kind: Key, on: int) -> bytes:
    """What the operator, or the installer, puts into that Secret."""
    issuer = Authority("openshift-kube-apiserver-operator_loadbalancer-serving-signer@1", now=day(on))
    usage = SIGNED.get(path)
    common_name = {LB_SERVING: "api.example.com", SCHEDULER: "system:kube-scheduler"}.get(path, "signer@1")
    leaf = issuer.leaf(
        names=("api.example.com",), common_name=common_name, key=made(kind),
        ca=usage is None, eku=(usage,) if usage else (),
        not_before=day(on), not_after=day(on + 3650 if usage is None else on + 30),
    )  # fmt: skip
    return leaf.pem


@dataclass(frozen=True, kw_only=True)
class Moment:
    """The cluster on one day."""

    on: int
    pki: Mapping[str, Any] | None = None
    """Its spec; None: there is no object."""
    since: int = 0
    """The day of the spec's last change."""
    gate: bool | None = True
    """None: the release does not list it."""
    kind: bool = True
    """Whether the API has PKI at all."""
    release: str = "4.22.0"
    secrets: Mapping[str, Certificate] = field(default_factory=dict)
    install_config: str = ""

    def objects(self) -> Iterable[dict[str, Any]]:
        made_on = {"creationTimestamp": day(0).isoformat()}
        yield {"kind": "Namespace", "metadata": {"name": "kube-system", "uid": "1", **made_on}}
        status = {"desired": {"version": self.release}}
        yield {"kind": "ClusterVersion", "metadata": {"name": "version"}, "spec": {"clusterID": "a"}, "status": status}
        name = "Other" if self.gate is None else "ConfigurablePKI"
        listed = {"disabled" if self.gate is False else "enabled": [{"name": name}]}
        gates = [{"version": self.release, **listed}]
        yield {"kind": "FeatureGate", "metadata": {"name": "cluster"}, "status": {"featureGates": gates}}
        if self.pki is not None:
            manager = {"manager": "oc", "time": day(self.since).isoformat(), "fieldsV1": {"f:spec": {}}}
            metadata = {"name": "cluster", **made_on, "managedFields": [manager]}
            yield {"kind": "PKI", "metadata": metadata, "spec": dict(self.pki)}
        if self.install_config:
            metadata = {"name": "cluster-config-v1", "namespace": "kube-system"}
            yield {"kind": "ConfigMap", "metadata": metadata, "data": {"install-config": self.install_config}}
        for path, (kind, on) in self.secrets.items():
            namespace, _, name = path.partition("/")
            yield secret(namespace, name, [certificate(path, kind, on)])

    def snapshot(self) -> Snapshot:
        every = list(self.objects())
        return Snapshot(
            taken_at=day(self.on),
            origin=Origin(name="test"),
            objects={
                kind: tuple(KubeObject(each, kind) for each in every if each["kind"] == kind.name)
                for kind in (*READS, SECRET)
            },
            absent=frozenset() if self.kind else frozenset({PKI}),
        )


def judged(now: Moment, *earlier: Moment) -> dict[str, str]:
    """The status of the key in each Secret; "" where nothing is required of it."""
    certificates = Certificates(now.snapshot(), earlier=[each.snapshot() for each in earlier])
    return {path: _status(certificates, path) for path in now.secrets}


def _status(certificates: Certificates, path: str) -> str:
    place = f"Secret/{path} data[tls.crt]"
    (entry,) = [each for each in certificates.inventory.entries() if place in each.places]
    return "".join(each.status for each in entry.findings if each.rule == "pki-key")


def key_findings(now: Moment, *earlier: Moment) -> list[Finding]:
    found = Certificates(now.snapshot(), earlier=[each.snapshot() for each in earlier]).findings()
    return [each for each in found if each.rule == "pki-key"]


def spec(**categories: Mapping[str, Any]) -> dict[str, Any]:
    """The document's shape, by category."""
    names = {"signer": "SignerCertificate", "serving": "ServingCertificate", "client": "ClientCertificate"}
    return {"categories": [{"category": names[name], "certificate": key} for name, key in categories.items()]}


INSTALLED_WITH = "featureSet: x\npki: {signerCertificates: {key: {algorithm: RSA, rsa: {keySize: 4096}}}}\n"
DAY_ONE: dict[str, Certificate] = {
    LB_SIGNER: ("rsa4096", 0), SERVICE_CA: ("rsa4096", 0), LB_SERVING: ("rsa2048", 0), SCHEDULER: ("rsa2048", 0),
}  # fmt: skip
"""The installer makes signers as it is told, and everything else as ever."""
INSTALLED = Moment(on=1, pki=spec(signer=RSA_4096), secrets=DAY_ONE, install_config=INSTALLED_WITH)


def test_installed_with_rsa_4096_signers() -> None:
    assert judged(INSTALLED) == {LB_SIGNER: "ok", SERVICE_CA: "ok", LB_SERVING: "ok", SCHEDULER: "ok"}
    other = replace(INSTALLED, secrets={**DAY_ONE, SERVICE_CA: ("rsa2048", 1)})
    assert judged(other)[SERVICE_CA] == "violation"


WITH_P384 = spec(signer=RSA_4096, serving=P384)


def test_p384_for_serving_later_waits_for_the_rotation() -> None:
    """Before it the certificate is as it was asked for, which the earlier snapshot shows; the others are untouched."""
    before = Moment(on=12, pki=WITH_P384, since=10, secrets={**DAY_ONE, LB_SERVING: ("rsa2048", 5)})
    assert judged(before, INSTALLED) == {
        LB_SIGNER: "ok", SERVICE_CA: "ok", LB_SERVING: "pending-rotation", SCHEDULER: "ok",
    }  # fmt: skip
    (finding,) = key_findings(before, INSTALLED)
    assert "is renewed by 2026-01-21" in finding.message  # half of its thirty days


def test_after_the_rotation_it_is_as_configured_or_a_violation() -> None:
    renewed = Moment(on=30, pki=WITH_P384, since=10, secrets={**DAY_ONE, LB_SERVING: ("p384", 20)})
    stubborn = Moment(on=30, pki=WITH_P384, since=10, secrets={**DAY_ONE, LB_SERVING: ("rsa2048", 20)})
    assert judged(renewed, INSTALLED)[LB_SERVING] == "ok"
    assert judged(stubborn, INSTALLED)[LB_SERVING] == "violation"


def test_signers_of_the_installation_are_never_renewed_by_themselves() -> None:
    """The object turns to P-384: signers of ten years keep the installation's key, and the install-config shows that it
    was right."""
    turned = Moment(
        on=12, pki=spec(signer=P384), since=10, secrets={LB_SIGNER: ("rsa4096", 0)}, install_config=INSTALLED_WITH
    )
    (finding,) = key_findings(turned)
    assert (finding.status, finding.severity) == ("needs-forced-rotation", "low")
    assert finding.evidence[-1].startswith(
        "when it was issued, RSA 4096 was required (ConfigMap/kube-system/cluster-con"
    )
    forced = replace(turned, secrets={LB_SIGNER: ("p384", 12)})
    assert judged(forced) == {LB_SIGNER: "ok"}


def test_an_operator_that_does_not_follow_yet_is_called_that() -> None:
    after = Moment(on=30, pki=spec(signer=P384), since=10, secrets={ETCD: ("rsa2048", 20)})
    assert judged(after) == {ETCD: "not-implemented"}


OLD = Moment(on=100, gate=None, kind=False, secrets={LB_SIGNER: ("rsa2048", 0), LB_SERVING: ("rsa2048", 95)})
"""A release without the feature."""
UPGRADED = Moment(on=110, pki={}, since=105, secrets=OLD.secrets)
"""The upgrade brings an object that says nothing."""


def test_an_upgrade_from_without_the_feature_requires_nothing_new() -> None:
    assert judged(OLD) == {LB_SIGNER: "", LB_SERVING: ""}
    assert judged(UPGRADED, OLD) == {LB_SIGNER: "", LB_SERVING: ""}
    unmanaged = Moment(on=110, pki={"certificateManagement": {"mode": "Unmanaged"}}, since=105, secrets=OLD.secrets)
    assert judged(unmanaged, OLD) == {LB_SIGNER: "", LB_SERVING: ""}


def test_a_configuration_after_the_upgrade_applies_at_the_next_rotation() -> None:
    configured = Moment(on=120, pki={"defaults": RSA_4096}, since=115, secrets=OLD.secrets)
    assert judged(configured, OLD, UPGRADED) == {LB_SIGNER: "needs-forced-rotation", LB_SERVING: "pending-rotation"}
    for finding in key_findings(configured, OLD, UPGRADED):
        assert finding.evidence[-1].startswith("when it was issued, nothing was required (the snapshot of 2026-04-")
    rotated = Moment(on=130, pki={"defaults": RSA_4096}, since=115, secrets={LB_SERVING: ("rsa4096", 125)})
    assert judged(rotated, OLD, UPGRADED) == {LB_SERVING: "ok"}


def test_an_upgrade_whose_operators_choose_by_themselves() -> None:
    """The gate on and no object, as library-go has it: what is known to be older waits, and the rest is as operators
    have always made it."""
    chosen = Moment(on=110, secrets={**OLD.secrets, SCHEDULER: ("rsa2048", 108)})
    assert judged(chosen) == dict.fromkeys((LB_SIGNER, LB_SERVING, SCHEDULER), "not-implemented")
    assert judged(chosen, OLD) == {
        LB_SIGNER: "needs-forced-rotation", LB_SERVING: "pending-rotation", SCHEDULER: "not-implemented",
    }  # fmt: skip


def test_a_downgrade_requires_nothing_and_keeps_what_was_made() -> None:
    new = Moment(on=130, pki=spec(serving=P384), since=115, secrets={LB_SERVING: ("p384", 125)})
    assert judged(new) == {LB_SERVING: "ok"}
    without = Moment(on=140, gate=None, kind=False, secrets=new.secrets)
    assert judged(without, new) == {LB_SERVING: ""}
    newer: dict[str, Certificate] = {LB_SERVING: ("rsa2048", 135)}
    left_behind = replace(new, on=140, release="4.21.9", gate=None, secrets=newer)
    assert judged(left_behind, new) == {LB_SERVING: ""}
    assert "unknown to this release" in Certificates(left_behind.snapshot()).configuration()


def test_a_gate_that_is_turned_on_later_than_the_object_was_written() -> None:
    """Until then nobody read it, which the snapshot of that time shows; else there is only the date of the object."""
    ignored = Moment(on=30, pki=spec(serving=P384), since=10, gate=False)
    now = Moment(on=40, pki=spec(serving=P384), since=10, secrets={LB_SERVING: ("rsa2048", 25)})
    assert judged(now, ignored) == {LB_SERVING: "pending-rotation"}
    assert judged(now) == {LB_SERVING: "violation"}
    later = replace(now, secrets={LB_SERVING: ("rsa2048", 35)})
    assert judged(later, ignored) == {LB_SERVING: "violation"}


def test_a_deleted_object_is_not_one_that_never_was() -> None:
    new = Moment(on=130, pki=spec(serving=P384), since=115, gate=False, secrets={LB_SERVING: ("p384", 125)})
    gone = Moment(on=140, gate=False, secrets=new.secrets)
    config = Certificates(gone.snapshot(), earlier=[new.snapshot()]).configuration()
    assert "PKI/cluster was deleted" in config


def test_a_p384_leaf_under_an_rsa_signer_is_fine_where_both_are_configured() -> None:
    mixed = Moment(
        on=30, pki=WITH_P384, since=10, secrets={LB_SIGNER: ("rsa4096", 0), LB_SERVING: ("p384", 20)},
        install_config=INSTALLED_WITH,
    )  # fmt: skip
    assert judged(mixed) == {LB_SIGNER: "ok", LB_SERVING: "ok"}


def test_a_configuration_that_changed_twice_is_judged_by_what_was_in_force() -> None:
    first = Moment(on=15, pki={"defaults": RSA_4096}, since=10)
    now = Moment(
        on=40, pki={"defaults": P384}, since=20, secrets={LB_SERVING: ("rsa2048", 12), SCHEDULER: ("rsa4096", 12)}
    )
    assert judged(now) == {LB_SERVING: "pending-rotation", SCHEDULER: "pending-rotation"}
    assert judged(now, first) == {LB_SERVING: "violation", SCHEDULER: "pending-rotation"}


def test_the_made_keys_are_what_they_are_called() -> None:
    sizes: dict[Key, int] = {"rsa2048": 2048, "rsa4096": 4096}
    for kind, size in sizes.items():
        key = made(kind)
        assert isinstance(key, rsa.RSAPrivateKey)
        assert key.key_size == size
    assert coded(certificate(LB_SERVING, "p384", 1))
