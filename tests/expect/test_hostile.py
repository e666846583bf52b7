"""Whoever may write an object may write anything into it: nothing crashes, and nothing unknown becomes known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.config.component_catalogue import DISTRIBUTIONS
from scanner.expect import READS, Expectations
from scanner.kube import kinds
from scanner.kube.kinds import LOCAL_KINDS, Kind
from scanner.kube.maybe import Unknown
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Snapshot, Unreadable
from scanner.model.endpoint import Endpoint
from scanner.model.scan_policy import ScanPolicy
from scanner.values import replace
from tests.expect import stories
from tests.properties import at_most

ENDPOINTS: Mapping[str, Endpoint] = {
    name: stories.endpoint(name, said)
    for name, said in {
        "StaticPod/openshift-kube-apiserver/kube-apiserver:6443": {"node": "n"},
        "StaticPod/kube-system/kube-apiserver:6443": {"node": "n"},
        "StaticPod/openshift-etcd/etcd:2379": {"node": "n"},
        "Deployment/openshift-cluster-version/cluster-version-operator:9099": {"node": "n"},
        "Deployment/openshift-ingress/router-n:443": {},
        "Deployment/openshift-ingress/router-n:443#n": {"subject": "Route/n/n", "segment": "Frontend"},
        "Deployment/n/n:443#a.example": {"subject": "Gateway/n/n", "segment": "Frontend"},
        "Deployment/n/n:8443": {"subject": "HTTPProxy/n/n", "segment": "Frontend", "address": "n"},
        "Deployment/n/n:9443#n.n.svc": {"subject": "ValidatingWebhookConfiguration/n"},
        "Deployment/n/n:9444#n.n.svc": {"subject": "APIService/n"},
        "Deployment/n/n:9445#n.n.svc": {"subject": "CustomResourceDefinition/n"},
        "Node/n:10250": {},
    }.items()
}

NAMED = {
    kinds.API_SERVER: ("cluster", None),
    kinds.CLUSTER_VERSION: ("version", None),
    kinds.FEATURE_GATE: ("cluster", None),
    kinds.INGRESS_CONTROLLER: ("n", "openshift-ingress-operator"),
    kinds.CONFIG_MAP: ("cluster-config-v1", "kube-system"),
}
"""The names by which singletons are read; everything else is called n/n."""

WORDS = [
    "n",
    "Old",
    "Modern",
    "Custom",
    "Strict",
    "4.22.0",
    "v1.34.0",
    "passthrough",
    "Progressing",
    "True",
    "1.3",
    "*.n",
]
FIELDS = [
    *("spec", "status", "metadata", "labels", "annotations", "type", "custom", "ciphers", "minTLSVersion", "groups"),
    *("tlsSecurityProfile", "tlsAdherence", "conditions", "lastTransitionTime", "history", "version", "desired"),
    *("tlsProfile", "nodeSelector", "matchLabels", "matchExpressions", "machineConfigPoolSelector", "kubeletConfig"),
    *("configuration", "apiServer", "tls", "termination", "to", "name", "port", "ports", "endpoints", "addresses"),
    *("gatewayClassName", "listeners", "virtualhost", "containers", "command", "webhooks", "clientConfig", "caBundle"),
    *("data", "install-config", "versions", "featureGates", "featureGates", "enabled", "ingress", "install", "weight"),
]
SCALARS = st.none() | st.booleans() | st.integers(-1, 70_000) | st.sampled_from(WORDS) | st.text(max_size=12)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=5),
    max_leaves=25,
)
OBJECTS = st.dictionaries(
    st.sampled_from((*READS, *LOCAL_KINDS)), st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4), max_size=8
)


def snapshot(objects: Mapping[Kind, dict[str, Any]], unreadable: tuple[Kind, ...] = ()) -> Snapshot:
    """One object of each kind, by the name that is asked for."""
    held: dict[Kind, tuple[KubeObject, ...]] = dict.fromkeys((*READS, *LOCAL_KINDS), ())
    for kind, raw in objects.items():
        name, namespace = NAMED.get(kind, ("n", "n" if kind.namespaced else None))
        metadata = raw.get("metadata")
        said = {**(metadata if isinstance(metadata, dict) else {}), "name": name, "namespace": namespace}
        held[kind] = (KubeObject({**raw, "metadata": said}, kind),)
    gaps = {kind: Unreadable(kind=kind, gap="forbidden", reason="403") for kind in unreadable}
    return replace(stories.snapshot_of([]), objects={**held, **dict.fromkeys(unreadable, ())}, unreadable=gaps)


def expectations(told: Snapshot, catalogue: str) -> Expectations:
    return Expectations(told, stories.catalogue(catalogue), ScanPolicy(), endpoints=ENDPOINTS.values())


@at_most(150)
@given(objects=OBJECTS, catalogue=st.sampled_from(sorted(DISTRIBUTIONS)))
def test_no_object_crashes_it(objects: dict[Kind, dict[str, Any]], catalogue: str) -> None:
    told = expectations(snapshot(objects), catalogue)
    for endpoint in ENDPOINTS.values():
        owed = told.of(endpoint)
        assert sum(each.decides for each in owed.because) == 1
        assert owed.binding != "settling" or not isinstance(owed.profile, Unknown) or not owed.alternatives


BY_API_SERVER = [name for name, each in ENDPOINTS.items() if "openshift" in name and "router" not in name]


@at_most(60)
@given(objects=OBJECTS)
def test_with_an_unreadable_api_server_nothing_is_bound_to_a_known_profile(objects: dict[Kind, dict[str, Any]]) -> None:
    """Objects that bring a profile of their own are left out: those are known."""
    own = {kinds.HOSTED_CONTROL_PLANE, kinds.HOSTED_CLUSTER, *LOCAL_KINDS}
    told = expectations(
        snapshot({kind: raw for kind, raw in objects.items() if kind not in own}, (kinds.API_SERVER,)), "openshift"
    )
    for name in BY_API_SERVER:
        assert isinstance(told.of(ENDPOINTS[name]).profile, Unknown)


SETTLES = ("Deployment/openshift-ingress/router-n:443", "Node/n:10250", "StaticPod/openshift-etcd/etcd:2379")


@pytest.mark.parametrize("unreadable", READS, ids=lambda kind: kind.resource)
def test_a_kind_that_cannot_be_read_never_crashes(unreadable: Kind) -> None:
    told = expectations(snapshot({}, (unreadable,)), "openshift")
    for name in SETTLES:
        assert told.of(ENDPOINTS[name]).because


LONG = "x" * 1_000_000


def test_long_texts_are_not_carried_along() -> None:
    """A report of thousands of endpoints repeats what an object says."""
    objects: dict[Kind, dict[str, Any]] = {
        kinds.CLUSTER_VERSION: {"status": {"desired": {"version": LONG}}},
        kinds.API_SERVER: {"spec": {"tlsAdherence": LONG, "tlsSecurityProfile": {"type": LONG}}},
        kinds.CLUSTER_OPERATOR: {
            "status": {"conditions": [{"type": "Progressing", "status": "True", "message": LONG}]}
        },
    }
    told = expectations(snapshot(objects), "openshift")
    for endpoint in ENDPOINTS.values():
        assert len(repr(told.of(endpoint))) < 20_000
