"""Kubelets of a hosted cluster, by the KubeletConfigs of its NodePools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
import yaml

from scanner.assessment import Viewpoint, assess
from scanner.expect import Expectations
from scanner.kube.kinds import CONFIG_MAP
from scanner.kube.maybe import Unknown
from scanner.model.expectation import Expectation
from scanner.model.scan_policy import ScanPolicy
from scanner.tls.codepoints import TLS13
from tests.expect.stories import CLUSTERS, catalogue, endpoint, snapshot_of
from tests.yaml_documents import document, documents

Objects: TypeAlias = list[dict[str, Any]]

OF_HOST = ("HostedCluster", "NodePool", "ConfigMap")
"""Kinds that the hosting cluster has."""
POOL = "NodePool/clusters/special"
MODERN = "openshift/4.22/modern"


def objects() -> Objects:
    return documents((CLUSTERS / "hypershift-guest-node-pool-modern" / "cluster.yaml").read_text())


def one(every: Objects, kind: str, name: str, namespace: str | None = None) -> dict[str, Any]:
    return next(
        each
        for each in every
        if (each["kind"], each["metadata"]["name"]) == (kind, name)
        and namespace in (None, each["metadata"].get("namespace"))
    )


def owes(every: Objects, beside: Objects = [], **said: Any) -> Expectation:  # noqa: ANN401, B006 - never written
    other = (snapshot_of(beside),) if beside else ()
    return Expectations(snapshot_of(every, **said), catalogue("hypershift"), ScanPolicy(), beside=other).of(
        endpoint("Node/w:10250", {})
    )


def reason(owed: Expectation) -> str:
    return owed.profile.reason if isinstance(owed.profile, Unknown) else f"it owes {owed.profile.name}"


def parted() -> tuple[Objects, Objects]:
    """The guest's objects, and the hosting cluster's."""
    every = objects()
    return [each for each in every if each["kind"] not in OF_HOST], [each for each in every if each["kind"] in OF_HOST]


def test_the_hosting_cluster_may_stand_in_a_snapshot_of_its_own() -> None:
    guest, host = parted()
    owed = owes(guest, host)
    assert not isinstance(owed.profile, Unknown)
    assert owed.profile.name == MODERN
    assert owed.lever is not None
    assert (owed.lever.where, owed.lever.field) == (
        "ConfigMap/clusters/kubelet",
        "data[config].spec.tlsSecurityProfile",
    )
    assert "is not in this cluster" in reason(owes(guest))


def test_a_scan_of_both_clusters_connects_them() -> None:
    guest, host = (snapshot_of(each) for each in parted())
    for every, expected in (((guest, host), MODERN), ((guest,), None)):
        profile = assess(guest, Viewpoint(), every).expectations.of(endpoint("Node/w:10250", {})).profile
        assert (None if isinstance(profile, Unknown) else profile.name) == expected


@pytest.mark.parametrize("said", [None, "another"])
def test_another_cluster_has_to_say_that_it_hosts_this_one(said: str | None) -> None:
    guest, host = parted()
    one(host, "HostedCluster", "prod")["spec"] = {"clusterID": said} if said else {}
    assert "is not in this cluster" in reason(owes(guest, host))
    # In one snapshot it must not deny it.
    assert ("it owes" in reason(owes([*guest, *host]))) is (said is None)


def several_of_one_name(every: Objects) -> None:
    one(every, "HostedCluster", "test")["spec"] = {}


def no_label(every: Objects) -> None:
    one(every, "Node", "w")["metadata"]["labels"] = {}


def no_pool(every: Objects) -> None:
    one(every, "Node", "w")["metadata"]["labels"] = {"hypershift.openshift.io/nodePool": "gone"}


def no_map(every: Objects) -> None:
    every.remove(one(every, "ConfigMap", "kubelet"))


def no_key(every: Objects) -> None:
    one(every, "ConfigMap", "kubelet")["data"] = {"other": "a"}


def no_yaml(every: Objects) -> None:
    one(every, "ConfigMap", "kubelet")["data"]["config"] = "{ [removed]"


def too_long(every: Objects) -> None:
    one(every, "ConfigMap", "kubelet")["data"]["config"] += "#" * 40_000


def two_configs(every: Objects) -> None:
    one(every, "ConfigMap", "chrony")["data"]["config"] = one(every, "ConfigMap", "kubelet")["data"]["config"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (several_of_one_name, f"several NodePools that have the same name: {POOL}, NodePool/clusters-test/special"),
        (no_label, "is unknown: the node has no metadata.labels[hypershift.openshift.io/nodePool]"),
        (no_pool, "Node/w belongs to NodePool gone, which was not found"),
        (no_map, f"ConfigMap/clusters/kubelet, to which {POOL} refers, is unknown: it was not requested"),
        (no_key, f"ConfigMap/clusters/kubelet, to which {POOL} refers, has no data[config]"),
        (no_yaml, f"ConfigMap/clusters/kubelet, to which {POOL} refers, is not valid YAML or too long"),
        (too_long, f"ConfigMap/clusters/kubelet, to which {POOL} refers, is not valid YAML or too long"),
        (two_configs, f"{POOL} has several KubeletConfigs, but HyperShift allows one"),
    ],
)  # fmt: skip
def test_what_cannot_be_told_is_unknown_with_the_reason(change: Callable[[Objects], None], why: str) -> None:
    every = objects()
    change(every)
    assert why in reason(owes(every))


def test_a_config_map_that_was_refused_is_unknown_with_the_reason() -> None:
    every = objects()
    no_map(every)
    assert "is unknown: not allowed" in reason(owes(every, unreadable={"configmaps": "not allowed"}))
    requested = {CONFIG_MAP: frozenset({("clusters", "kubelet"), ("clusters", "chrony")})}
    assert "is unknown: there is no such ConfigMap" in reason(owes(every, requested=requested))


def test_node_pools_that_were_refused_are_the_reason() -> None:
    guest, host = parted()
    hosts = [each for each in host if each["kind"] == "HostedCluster"]
    owed = owes([*guest, *hosts], unreadable={"nodepools.hypershift.openshift.io": "not allowed"})
    assert "NodePools could not be read: not allowed" in reason(owed)
    # A cluster without HostedClusters hosts none.
    owed = owes(guest, unreadable={"nodepools.hypershift.openshift.io": "not allowed"})
    assert "is not in this cluster" in reason(owed)


def test_a_node_that_was_not_seen_has_no_known_pool() -> None:
    every = objects()
    every.remove(one(every, "Node", "w"))
    assert "the NodePool of Node/w is unknown: there is no such node" in reason(owes(every))


def test_kubelet_settings_beat_the_profile_beside_them() -> None:
    every = objects()
    config = document(one(every, "ConfigMap", "kubelet")["data"]["config"])
    config["spec"] = {"kubeletConfig": {"tlsMinVersion": "VersionTLS13"}}
    one(every, "ConfigMap", "kubelet")["data"]["config"] = yaml.safe_dump(config)
    owed = owes(every)
    assert not isinstance(owed.profile, Unknown)
    assert owed.profile.min_version == TLS13
    assert owed.because[-1].field == "data[config].spec.kubeletConfig.tlsMinVersion, tlsCipherSuites"


@pytest.mark.parametrize(
    ("status", "message", "said"), [("True", "1 of 3", "1 of 3"), ("True", "", "True"), ("False", "1 of 3", None)]
)
def test_a_pool_that_replaces_its_nodes_is_settling(status: str, message: str, said: str | None) -> None:
    every = objects()
    condition = {
        "type": "UpdatingConfig",
        "status": status,
        "message": message,
        "lastTransitionTime": "2026-11-21T11:50:00Z",
    }
    one(every, "NodePool", "special", "clusters")["status"] = {"conditions": [condition]}
    owed = owes(every)
    assert owed.binding == ("settling" if said else "must-follow")
    assert [each.said.partition(",")[0] for each in owed.because if each.field == "status.conditions"] == (
        [said] if said else []
    )
