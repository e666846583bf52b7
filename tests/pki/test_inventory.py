"""The inventory: each certificate once, by the place that tells most of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from scanner.model.held_certificate import HeldCertificate, Place
from scanner.model.kinds import KINDS
from scanner.model.objects import KubeObject, Reference
from scanner.model.pki_names import load_names
from scanner.model.snapshot import Origin, Snapshot
from scanner.pki.governing import Governing
from scanner.pki.inventory import PLACES, Inventory, collect
from tests.pki.making import made

NOW = datetime(2026, 11, 21, tzinfo=UTC)
NAMES = load_names()
SECRET = Reference(kind="Secret", namespace="openshift-kube-apiserver", name="localhost-serving-cert-certkey")
LEAF = made("172.30.0.1", "kube-apiserver-localhost-signer", eku=("serverAuth",), sans=("localhost",))
PKI_OBJECT = {
    "metadata": {"name": "cluster", "creationTimestamp": "2026-01-01T00:00:00Z"},
    "spec": {"defaults": {"key": {"algorithm": "RSA", "rsa": {"keySize": 4096}}}},
}
GATE = {
    "metadata": {"name": "cluster"},
    "status": {"featureGates": [{"version": "4.22.0", "enabled": [{"name": "ConfigurablePKI"}]}]},
}


def inventory(pki: dict[str, object] | None = None) -> Inventory:
    objects: dict[str, dict[str, object]] = {"PKI": pki, "FeatureGate": GATE} if pki else {}
    snapshot = Snapshot(
        taken_at=NOW,
        origin=Origin(name="test"),
        objects={kind: (KubeObject(objects[kind.name], kind),) if kind.name in objects else () for kind in KINDS},
    )
    return Inventory(NAMES, Governing(snapshot), NOW)


def held(**place: object) -> HeldCertificate:
    return HeldCertificate(facts=LEAF, place=Place(role="leaf", **place))  # type: ignore[arg-type] # its fields


def test_one_certificate_in_many_places_is_one_entry() -> None:
    found = collect(inventory(), [held(file=f"{number}.pem") for number in range(9)])
    (entry,) = found.entries()
    assert entry.count == 9
    assert len(entry.places) == PLACES
    assert entry.key is not None
    assert found.counts() == {("serving", "ECDSA P256"): 1}


def test_the_place_that_knows_it_tells_what_it_is_whenever_it_comes() -> None:
    for order in (1, -1):
        places = [held(file="a.pem"), held(reference=SECRET, field="data[tls.crt]"), held(endpoint="x", port=1)]
        (entry,) = collect(inventory(), places[::order]).entries()
        assert entry.name == "kube-apiserver-localhost-server"
        assert entry.classified.governed is True
        assert entry.count == 3


def test_what_the_configuration_asks_for_is_judged_once() -> None:
    found = collect(inventory(PKI_OBJECT), [held(reference=SECRET), held(endpoint="x", port=6443)])
    (finding,) = found.findings()
    assert (finding.rule, finding.verdict, finding.status) == ("pki-key", "fail", "violation")
    assert finding.expected == ("RSA 4096",)


def test_without_a_configuration_there_is_nothing_to_say() -> None:
    assert list(collect(inventory(), [held(reference=SECRET)]).findings()) == []


def test_a_key_that_cannot_be_read_is_counted_as_such() -> None:
    broken = HeldCertificate(facts=replace(LEAF, key_algorithm=None, sha256="0"), place=Place(role="leaf", file="x"))
    assert collect(inventory(), [broken]).counts() == {("serving", "unreadable"): 1}
