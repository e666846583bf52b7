"""Certificates of an operand."""

from __future__ import annotations

from scanner.model.endpoint import Endpoint, Owner
from tests.pki.making import made

ETCD = Endpoint(
    id="StaticPod/openshift-etcd/etcd:2379", instance="x", address="10.0.0.1", port=2379, component="etcd",
    owner=Owner(kind="StaticPod", namespace="openshift-etcd", name="etcd"),
)  # fmt: skip
LEAF = made("10.0.0.1", "openshift-etcd_etcd-signer@1", eku=("serverAuth", "clientAuth"), sans=("localhost",))
