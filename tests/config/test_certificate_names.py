"""The shipped names are whole, and a file of names is read strictly."""

from __future__ import annotations

import pytest

from scanner.config.certificate_names import load_names, parse
from scanner.config.component_catalogue import load_catalogue
from scanner.errors import InputError, UsageError
from scanner.files import yaml_values
from scanner.model.well_known import Names

FILE = """\
apiVersion: adhere/v1
kind: CertificateNames
title: T
source: S
date: "2026-01-01"
platformNamespaces: [a]
owners: {me: {component: me-operator, implements: "4.22", source: S}}
enhancement:
  one-signer: {category: signer, owner: me, rotates: never, aliases: [me.one], recognise: {subjects: [one]}}
"""


def names_of(text: str) -> Names:
    return parse(yaml_values.load(text.encode(), "names.yaml"))


def test_the_enhancement_names_15_signers_9_servers_and_8_clients() -> None:
    names = [each for each in load_names().all if each.overridable]
    assert [sum(each.category == kind for each in names) for kind in ("signer", "serving", "client")] == [15, 9, 8]


# internal-pki-config.md of 2026, section 3.4 of the facts: what the later text has.
SHIPPED = {
    "kube-apiserver.aggregator-front-proxy-signer": "aggregator-signer",
    "kube-apiserver.control-plane-client-signer": "kube-control-plane-signer",
    "kube-apiserver.kubelet-client-signer": "kube-apiserver-to-kubelet-signer",
    "kube-apiserver.loadbalancer-serving-signer": "kube-apiserver-lb-signer",
    "kube-apiserver.localhost-serving-signer": "kube-apiserver-localhost-signer",
    "kube-apiserver.service-network-serving-signer": "kube-apiserver-service-network-signer",
    "etcd.signer": "etcd-signer",
    "etcd.metrics-signer": "etcd-metrics-signer",
    "kube-controller-manager.csr-signer": "csr-signer-ca",
    "service-ca.service-serving-signer": "service-ca",
    "machine-config.machine-config-server-signer": "root-ca",
    "installer.admin-kubeconfig-signer": "admin-kubeconfig-signer",
    "installer.kubelet-csr-signer": "kubelet-signer",
    "installer.kubelet-bootstrap-kubeconfig-signer": "kubelet-bootstrap-kubeconfig-signer",
    "kube-apiserver.external-loadbalancer-serving": "kube-apiserver-lb-server",
    "kube-apiserver.internal-loadbalancer-serving": "kube-apiserver-internal-lb-server",
    "kube-apiserver.localhost-serving": "kube-apiserver-localhost-server",
    "kube-apiserver.service-network-serving": "kube-apiserver-service-network-server",
    "etcd.serving": "etcd-server",
    "etcd.metrics-serving": "etcd-metrics-server",
    "machine-config.machine-config-server-serving": "machine-config-server",
    "kube-apiserver.aggregator-front-proxy-client": "aggregator-client",
    "kube-apiserver.kube-controller-manager-client": "kube-control-plane-kube-controller-manager-client",
    "kube-apiserver.kube-scheduler-client": "kube-control-plane-kube-scheduler-client",
    "kube-apiserver.kubelet-client": "kube-apiserver-to-kubelet-client",
    "installer.kubelet-client": "kubelet-client",
    "etcd.peer-serving": "etcd-peer-server",
    "installer.admin-kubeconfig-client": "admin-kubeconfig-client",
    "installer.journal-gateway": "journal-gatewayd-client",
}
NEW = {
    "kube-apiserver.localhost-recovery-serving-signer",
    "kube-apiserver.node-system-admin-signer",
    "kube-controller-manager.csr-signer-signer",
    "network.signer",
    "monitoring.grpc-tls-signer",
    "control-plane-pki.customer-admin-signer",
    "control-plane-pki.sre-admin-signer",
    "kube-apiserver.localhost-recovery-serving",
    "service-ca.service-serving",
    "monitoring.grpc-tls-serving",
    "installer.ingress-router-initial",
    "kube-apiserver.check-endpoints-client",
    "kube-apiserver.control-plane-node-admin-client",
    "kube-apiserver.node-system-admin-client",
    "monitoring.grpc-tls-client",
    "control-plane-pki.customer-admin-client",
    "control-plane-pki.sre-admin-client",
    "network.peer",
}
PEERS = {"etcd-peer-server", "network.peer", "admin-kubeconfig-client", "journal-gatewayd-client"}
FOLLOWERS = {"kube-apiserver", "kube-controller-manager", "service-ca", "machine-config", "network", "monitoring"}


def test_the_later_texts_names_are_all_there() -> None:
    names = load_names()
    assert names.aliases == SHIPPED
    assert {each.name for each in names.all if each.origin == "shipped"} == NEW
    assert {each.name for each in names.all if each.shipped_category == "peer"} == PEERS
    found = names.by_name("etcd.signer")
    assert found is not None
    assert found is names.by_name("etcd-signer")


def test_who_follows_the_pki_object() -> None:
    owners = {each.owner.name for each in load_names().all if each.owner.implements}
    assert owners == {*FOLLOWERS, "installer"}


def test_who_makes_them_is_called_as_the_enhancement_calls_it() -> None:
    names = {each.name: each for each in load_names().all}
    signer = names["kube-apiserver-to-kubelet-signer"]
    assert (signer.owner.component, signer.namespace) == (
        "kube-apiserver-operator",
        "openshift-kube-apiserver-operator",
    )
    assert names["etcd-signer"].owner.component == "etcd-operator"
    assert names["root-ca"].owner.component


def test_what_never_rotates_by_itself() -> None:
    never = {each.name for each in load_names().all if each.rotates == "never" and each.category == "signer"}
    assert {"admin-kubeconfig-signer", "kubelet-bootstrap-kubeconfig-signer", "root-ca"} <= never
    assert {f"kube-apiserver-{each}-signer" for each in ("localhost", "service-network", "lb")} <= never


def test_every_listener_is_in_the_component_catalogue() -> None:
    known = {(each.component, port) for each in load_catalogue("openshift").listeners for port in each.ports}
    named = {
        (component, port)
        for each in load_names().all
        for component, ports in each.recognition.listeners
        for port in ports
    }
    assert named <= known


def test_whoever_takes_any_subject_asks_for_a_signer() -> None:
    loose = [each for each in load_names().all if "*" in each.recognition.subjects]
    assert loose
    assert all(each.recognition.issuers for each in loose)


def test_what_is_to_be_deleted_is_where_it_is_recognised() -> None:
    """Else ``fix`` would send people to a Secret that has nothing to do with it."""
    for each in load_names().all:
        assert set(each.delete) <= set(each.recognition.secrets), each.name
        assert bool(each.breaks) >= bool(each.delete), each.name


def test_a_file_of_names() -> None:
    names = names_of(FILE)
    assert [each.name for each in names.all] == ["one-signer"]
    assert names.all[0].place == "names.yaml:9:15"
    assert names.is_platform("a")
    assert not names.is_platform("b")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("kind: CertificateNames", "kind: Other", "must be 'CertificateNames'"),
        ("rotates: never", "rotates: sometimes", "must be 'operator', 'day-1' or 'never', not 'sometimes'"),
        ("owner: me", "owner: you", "'you' is not in this file"),
        ("category: signer, ", "", "category is missing"),
        ("rotates: never", "rotates: never, days: 2, refreshDays: 3", "must be less than days"),
        ("rotates: never", "rotates: never, successor: two", "'two' is not in this file"),
        ("rotates: never", "rotates: never, delete: [x]", "is no namespace/name"),
        ("aliases: [me.one]", "aliases: [one-signer]", "is the name of two"),
        ("subjects: [one]", "sans: [one]", "secrets and subjects are missing"),
        ("subjects: [one]", "subjects: [one], emails: [x]", "unknown field 'emails'"),
        ('implements: "4.22"', "note: x", "implements is missing"),
        ('implements: "4.22"', "implements: soon", "'soon' is no release"),
        (", source: S}}", "}}", "source is missing"),
        ("component: me-operator, ", "", "component is missing"),
        ("one-signer:", "One Signer:", "invalid name"),
        ("title: T\n", "", "title is missing"),
        (FILE, "", "no certificate names in this file"),
    ],
)
def test_a_file_is_read_strictly(old: str, new: str, message: str) -> None:
    assert old in FILE
    with pytest.raises(InputError, match=r"names\.yaml:\d+:\d+") as raised:
        names_of(FILE.replace(old, new))
    assert message in raised.value.message


def test_only_what_is_shipped_can_be_loaded() -> None:
    with pytest.raises(UsageError, match="no certificate names of 'openshfit'"):
        load_names("openshfit")
