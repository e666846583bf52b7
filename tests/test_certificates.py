"""A cluster's certificates: served and stored ones in one inventory, judged by its PKI object."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from datetime import UTC, datetime

import pytest

from scanner.assessment import READS as ASSESSED
from scanner.certificates import READS, Certificates
from scanner.cross_endpoint import cross_endpoint
from scanner.jobs import Surroundings
from scanner.kube.kinds import SECRET
from scanner.kube.maybe import Unknown
from scanner.kube.objects import KubeObject, Reference
from scanner.kube.snapshot import Origin, Snapshot
from scanner.model.expectation import Expectation
from scanner.model.finding import Finding
from scanner.model.held_certificate import HeldCertificate, Place
from scanner.model.scan_policy import ScanPolicy
from scanner.values import replace
from tests.judge.cases import CONFORMING, PROFILE
from tests.pki.inventories import GATE, PKI_OBJECT
from tests.pki.making import made
from tests.pki.operand_certificates import ETCD, LEAF

pytestmark = pytest.mark.crypto

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def snapshot(**objects: dict[str, object]) -> Snapshot:
    return Snapshot(
        taken_at=NOW,
        origin=Origin(name="test"),
        objects={kind: (KubeObject(objects[kind.name], kind),) if kind.name in objects else () for kind in READS},
    )


def of_keys(findings: Iterable[Finding]) -> list[Finding]:
    return [each for each in findings if each.rule == "pki-key"]


def test_a_scan_reads_what_it_needs_and_no_secret() -> None:
    assert set(READS) <= set(ASSESSED)
    assert SECRET not in ASSESSED


@pytest.mark.parametrize(
    ("namespace", "labels", "status"),
    [
        ("openshift-gitops", {}, None),  # where OLM installed something, that may have made it
        ("openshift-other", {}, "violation"),
        ("openshift-gitops", {"olm.copiedFrom": "openshift-operators"}, "violation"),
        ("openshift-monitoring", {}, "violation"),  # the platform's own, whatever was installed beside it
    ],
)
def test_certificates_of_layered_products_are_not_the_platforms(
    namespace: str, labels: dict[str, str], status: str | None
) -> None:
    installed = "openshift-gitops" if namespace == "openshift-other" else namespace
    version: dict[str, object] = {"metadata": {"name": "product.v1", "namespace": installed, "labels": labels}}
    held = Certificates(snapshot(PKI=PKI_OBJECT, FeatureGate=GATE, ClusterServiceVersion=version))
    reference = Reference(kind="Secret", namespace=namespace, name="product-tls")
    place = Place(role="leaf", reference=reference, field="data[tls.crt]")
    held.add(HeldCertificate(facts=made("product", eku=("serverAuth",)), place=place))
    assert [each.status for each in of_keys(held.findings())] == ([status] if status else [])


def test_what_a_listener_serves_is_judged_by_the_configuration() -> None:
    found = Certificates(snapshot(PKI=PKI_OBJECT, FeatureGate=GATE))
    found.serve(ETCD, replace(CONFORMING, chain=(LEAF,)))
    (entry,) = found.inventory.entries()
    assert entry.name.startswith("etcd-server")
    (finding,) = of_keys(found.findings())
    assert (finding.rule, finding.expected) == ("pki-key", ("RSA 4096",))
    assert ETCD.id in (finding.about or "")


def test_it_is_said_once_every_endpoint_was_seen() -> None:
    found = Certificates(snapshot(PKI=PKI_OBJECT, FeatureGate=GATE))
    of_all = cross_endpoint(ScanPolicy(), NOW.date())
    found.serve(ETCD, replace(CONFORMING, chain=(LEAF,)))
    told, _ = of_all.findings(Surroundings(late=(found.findings,)), {}, applied=())
    assert len(of_keys(told)) == 1


def test_a_certificate_and_the_profile_of_its_listener_are_judged_together() -> None:
    found = Certificates(snapshot(PKI=PKI_OBJECT, FeatureGate=GATE))
    rsa_only = replace(PROFILE, suites=(0x1301, 0xC02F))
    for _ in range(2):  # replicas
        found.serve(ETCD, replace(CONFORMING, chain=(LEAF,)), Expectation(profile=rsa_only))
    (finding,) = (each for each in found.findings() if each.rule == "pki-profile")
    assert "no client of TLS 1.2 can connect now" in finding.message


def test_a_profile_that_binds_nobody_or_fits_says_nothing_of_a_certificate() -> None:
    found = Certificates(snapshot(PKI=PKI_OBJECT, FeatureGate=GATE))
    unbound = Expectation(profile=replace(PROFILE, suites=(0x1301, 0xC02F)), binding="not-enforced")
    for owed in (unbound, Expectation(profile=PROFILE), Expectation(profile=Unknown("nobody said"))):
        found.serve(ETCD, replace(CONFORMING, chain=(LEAF,)), owed)
    assert [each for each in found.findings() if each.rule == "pki-profile"] == []


def test_what_somebody_gave_is_his_wherever_it_is_served() -> None:
    """The object says so, the listener does not; it is known before the first listener is heard."""
    route = {
        "metadata": {"namespace": "shop", "name": "web"},
        "spec": {"tls": {"certificate": pem(LEAF.der)}},
    }
    found = Certificates(snapshot(PKI=PKI_OBJECT, FeatureGate=GATE, Route=route))
    found.serve(ETCD, replace(CONFORMING, chain=(LEAF,)))
    (row,) = found.rows()
    assert row["governed"] is False
    assert row["why"] == "a user provided it: Route/shop/web spec.tls.certificate"
    assert row["found"] == 2


def pem(der: bytes) -> str:
    return f"-----BEGIN CERTIFICATE-----\n{base64.encodebytes(der).decode()}-----END CERTIFICATE-----\n"


def test_without_a_configuration_nothing_is_said() -> None:
    found = Certificates(snapshot())
    found.serve(ETCD, replace(CONFORMING, chain=(LEAF,)))
    assert of_keys(found.findings()) == []
