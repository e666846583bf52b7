"""Where the configuration stopped: one small cluster, and one thing wrong with it at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pytest
import yaml

from scanner.assessment import READS as ASSESSED
from scanner.assessment import Assessment, Viewpoint
from scanner.certificates import Certificates
from scanner.config.component_catalogue import load_catalogue
from scanner.discover import Discovery
from scanner.doctor import INJECTED_MAPS, NO_EVENTS, READS, STEPS, ReadEvents, Served, diagnose, diagnosis_of, injected
from scanner.expect import Expectations
from scanner.kube import kinds
from scanner.kube.cluster_facts import cluster_facts
from scanner.kube.maybe import Known, Unknown
from scanner.kube.objects import KubeObject
from scanner.model.component_tally import Honours
from scanner.model.components import Catalogue
from scanner.model.diagnosis import EVENT, Answer, Diagnosis, Events, Step
from scanner.model.dial_scope import DialScope
from scanner.model.scan_policy import Override, ScanPolicy, Selector
from tests.certs import Authority
from tests.expect.stories import CLUSTERS, endpoint, snapshot_of

pytestmark = pytest.mark.crypto

PROFILE, ADHERENCE, OBSERVED, INJECTED, REPORTED, ROLLOUT, EVENTS, SERVED = range(8)
API = "StaticPod/openshift-kube-apiserver/kube-apiserver:6443"
KUBELET = "Node/worker-0:10250"
METRICS = "Deployment/openshift-monitoring/metrics-server:10250"
NETWORK = "Deployment/openshift-multus/multus-admission-controller:8443"
KUBEADM = "StaticPod/kube-system/kube-apiserver-a:6443"
AN_OPERATOR = "Deployment/openshift-kube-apiserver-operator/kube-apiserver-operator:8443"
INTERMEDIATE = (
    "TLS_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
)
"""As a Go operator writes down Intermediate of 4.22; DHE is not Go's."""

CIPHER = "ECDHE-RSA-AES128-GCM-SHA256"
FORCED = {"servingInfo": {"minTLSVersion": "VersionTLS10"}}
ILL = {"type": "Degraded", "status": "True", "message": "no quorum"}

CLUSTER: Mapping[str, Any] = {
    "version": {
        "apiVersion": "config.openshift.io/v1",
        "kind": "ClusterVersion",
        "metadata": {"name": "version"},
        "status": {"desired": {"version": "4.22.3"}, "history": [{"state": "Completed", "version": "4.22.3"}]},
    },
    "apiserver": {
        "apiVersion": "config.openshift.io/v1",
        "kind": "APIServer",
        "metadata": {"name": "cluster"},
        "spec": {"tlsSecurityProfile": {"type": "Modern", "modern": {}}, "tlsAdherence": "StrictAllComponents"},
    },
    "gate": {
        "apiVersion": "config.openshift.io/v1",
        "kind": "FeatureGate",
        "metadata": {"name": "cluster"},
        "status": {"featureGates": [{"version": "4.22.3", "enabled": [{"name": "TLSAdherence"}]}]},
    },
    "observed": {
        "apiVersion": "operator.openshift.io/v1",
        "kind": "KubeAPIServer",
        "metadata": {"name": "cluster"},
        "spec": {"managementState": "Managed", "observedConfig": {"servingInfo": {"minTLSVersion": "VersionTLS13"}}},
        "status": {"latestAvailableRevision": 7, "nodeStatuses": [{"nodeName": "master-0", "currentRevision": 7}]},
    },
    "operator": {
        "apiVersion": "config.openshift.io/v1",
        "kind": "ClusterOperator",
        "metadata": {"name": "kube-apiserver"},
        "status": {
            "conditions": [
                {"type": "Available", "status": "True"},
                {"type": "Progressing", "status": "False"},
                {"type": "Degraded", "status": "False"},
            ],
            "relatedObjects": [
                {"resource": "namespaces", "name": "openshift-kube-apiserver"},
                {"resource": "namespaces", "name": "openshift-kube-apiserver-operator"},
            ],
        },
    },
}


def changed(which: str, *steps: str, to: object) -> list[Any]:
    """The cluster, with another value at one place of one object."""
    every = deepcopy(dict(CLUSTER))
    holder = every[which]
    for step in steps[:-1]:
        holder = holder.setdefault(step, {})
    holder[steps[-1]] = to
    return list(every.values())


@cache
def known(distribution: str) -> Catalogue:
    return load_catalogue(distribution, hosted=("clusters-prod",))


def surveyed(
    objects: list[Any],
    *names: str,
    distribution: str = "openshift",
    node: str = "",
    policy: ScanPolicy = ScanPolicy(),
    **said: Any,  # noqa: ANN401
) -> Assessment:
    snapshot = snapshot_of(objects, **said)
    catalogue = known(distribution)
    nodes = {KUBELET: "worker-0", API: "master-0", KUBEADM: "a"} | (dict.fromkeys(names, node) if node else {})
    endpoints = tuple(endpoint(name, {"node": nodes[name]} if name in nodes else {}) for name in names)
    return Assessment(
        snapshot=snapshot,
        view=Viewpoint(),
        facts=cluster_facts(snapshot),
        catalogue=catalogue,
        discovery=Discovery(endpoints=endpoints, turns=(0,) * len(endpoints), scope=DialScope()),
        certificates=Certificates(snapshot),
        expectations=Expectations(snapshot, catalogue, policy, endpoints=endpoints),
    )


def look(
    objects: list[Any],
    name: str = API,
    *,
    maps: Known[tuple[KubeObject, ...]] = Unknown("not read"),
    seen: list[Served] | None = None,
    read_events: ReadEvents = lambda _: NO_EVENTS,
    **said: Any,  # noqa: ANN401
) -> Diagnosis:
    (found,) = diagnose(surveyed(objects, name, **said), maps=maps, seen=seen, read_events=read_events)
    return found


def outcomes(found: Diagnosis) -> list[str]:
    return [step.answer.outcome for step in found.steps]


def said(found: Diagnosis, number: int) -> str:
    return "\n".join(found.steps[number].answer.lines)


def served_as(honours: Honours | None, component: str = "kube-apiserver", **fields: Any) -> Served:  # noqa: ANN401
    given = {"binding": "must-follow", "namespace": "", **fields}
    return Served(id=API, component=component, honours=honours, **given)


def warning(
    message: str, namespace: str = "openshift-kube-apiserver", reason: str = "Odd", when: str = "10:00", **more: object
) -> KubeObject:
    raw = {"metadata": {"name": "e", "namespace": namespace}, "type": "Warning", "reason": reason, "message": message,
           "lastTimestamp": f"2026-11-21T{when}:00Z", "involvedObject": {"kind": "Pod", "name": "a"}}  # fmt: skip
    return KubeObject({**raw, **more}, EVENT)


def events_of(*found: KubeObject, missed: Mapping[str, str] | None = None) -> ReadEvents:
    return lambda _: Events(found=found, missed=missed or {})


HEALTHY = list(CLUSTER.values())


def test_a_healthy_component_passes_every_step_that_can_be_looked_at() -> None:
    found = look(HEALTHY, seen=[served_as("yes")])
    assert outcomes(found) == ["ok", "ok", "ok", "not-applicable", "ok", "ok", "not-read", "ok"]
    assert (found.conclusion, found.stopped_at, found.operator) == ("ok", None, "kube-apiserver")
    assert "7" in said(found, ROLLOUT)
    assert "oc get events -n openshift-kube-apiserver-operator --sort-by=.lastTimestamp" in found.steps[EVENTS].commands


@pytest.mark.parametrize(
    ("objects", "step", "words"),
    [
        (
            changed(
                "apiserver", "spec", "tlsSecurityProfile",
                to={"type": "Custom", "custom": {"minTLSVersion": "VersionTLS13", "ciphers": [CIPHER]}},
            ),
            PROFILE, "admission refuses: ",
        ),
        (changed("apiserver", "spec", "tlsSecurityProfile", to={"type": "Newest"}), PROFILE, "unknown type 'Newest'"),
        (
            changed("observed", "spec", "observedConfig", "servingInfo", "minTLSVersion", to="VersionTLS12"),
            OBSERVED, "APIServer/cluster requires TLSv1.3",
        ),
        (changed("observed", "spec", "observedConfig", to=None), OBSERVED, "observed no profile"),
        (changed("observed", "spec", "observedConfig", to=["?"]), OBSERVED, "observed no profile"),
        (changed("observed", "spec", "managementState", to="Unmanaged"), OBSERVED, "no controller applies the profile"),
        (
            changed("observed", "spec", "unsupportedConfigOverrides", to=FORCED),
            OBSERVED, "overrides the profile",
        ),
        (
            changed("operator", "status", "conditions", to=[ILL]),
            REPORTED, "Degraded=True: no quorum",
        ),
        (
            changed("operator", "status", "conditions", to=[{"type": "Available", "status": "False"}]),
            REPORTED, "Available=False",
        ),
        (
            changed(
                "operator", "status", "conditions",
                to=[{"type": "Progressing", "status": "True", "lastTransitionTime": "2026-11-21T02:00:00Z"}],
            ),
            REPORTED, "longer than a rollout",
        ),
        (
            changed(
                "observed", "status", "nodeStatuses",
                to=[
                    {
                        "nodeName": "master-0", "currentRevision": 6, "lastFailedRevision": 7,
                        "lastFailedRevisionErrors": ["bad flag"],
                    }
                ],
            ),
            ROLLOUT, "bad flag",
        ),
    ],
)  # fmt: skip
def test_the_first_step_that_goes_wrong_is_named(objects: list[Any], step: int, words: str) -> None:
    found = look(objects)
    assert found.stopped_at == step + 1
    assert words in said(found, step)
    assert found.conclusion == "stopped"
    assert found.steps[step].commands


@pytest.mark.parametrize(
    ("objects", "step"),
    [
        (
            changed(
                "operator", "status", "conditions",
                to=[{"type": "Progressing", "status": "True", "lastTransitionTime": "2026-11-21T11:30:00Z"}],
            ),
            REPORTED,
        ),
        (
            changed(
                "operator", "status", "conditions",
                to=[{"type": "Progressing", "status": "True", "lastTransitionTime": "9999-12-31T23:59:59-12:00"}],
            ),
            REPORTED,
        ),
        (changed("operator", "status", to="?"), REPORTED),
        (changed("operator", "metadata", "name", to="other"), REPORTED),
        (changed("observed", "status", "nodeStatuses", to=[{"nodeName": "master-0", "currentRevision": 6}]), ROLLOUT),
        (changed("observed", "status", "latestAvailableRevision", to="?"), ROLLOUT),
        (changed("observed", "metadata", "name", to="other"), OBSERVED),
    ],
)  # fmt: skip
def test_what_is_on_its_way_or_missing_is_unknown(objects: list[Any], step: int) -> None:
    found = look(objects)
    assert found.steps[step].answer.outcome == "unknown"
    assert found.conclusion == "unknown"
    assert look(objects, seen=[served_as("yes")]).conclusion == "ok", "what is served proves that it arrived"


def test_an_operator_that_counts_no_revisions_is_not_called_a_workload() -> None:
    found = look(changed("observed", "status", "nodeStatuses", to=[]))
    assert found.steps[ROLLOUT].answer.outcome == "not-read"
    assert "KubeAPIServer/cluster has no revisions in status.nodeStatuses" in said(found, ROLLOUT)


def test_kinds_that_may_not_be_read_are_unknown_and_say_which_role_may() -> None:
    found = look(HEALTHY, unreadable={"kubeapiservers.operator.openshift.io": "403"})
    assert found.steps[OBSERVED].answer.outcome == "unknown"
    assert "adhere rbac prints the role that allows it" in said(found, OBSERVED)  # what a scan reads, too
    registry = "Deployment/openshift-image-registry/image-registry:5000"
    gap = {"configs.imageregistry.operator.openshift.io": "403"}
    assert "adhere rbac --with doctor" in said(look(HEALTHY, registry, unreadable=gap), OBSERVED)
    blind = look(HEALTHY, unreadable={"apiservers.config.openshift.io": "403"})
    assert outcomes(blind)[:3] == ["unknown", "unknown", "unknown"]


@pytest.mark.parametrize(
    ("suites", "outcome"),
    [
        (INTERMEDIATE, "ok"),
        (INTERMEDIATE[1:3], "ok"),  # a named profile of another release's lists
        ((*INTERMEDIATE, "TLS_RSA_WITH_AES_128_CBC_SHA"), "stopped"),
        (("TLS_AES_128_GCM_SHA256",), "stopped"),
        ((), "stopped"),
    ],
)
def test_suites_are_compared_as_go_has_them(suites: tuple[str, ...], outcome: str) -> None:
    objects = changed("apiserver", "spec", "tlsSecurityProfile", to={"type": "Intermediate", "intermediate": {}})
    observed = {"minTLSVersion": "VersionTLS12", "cipherSuites": list(suites)}
    next(each for each in objects if each["kind"] == "KubeAPIServer")["spec"]["observedConfig"]["servingInfo"] = (
        observed
    )
    assert look(objects).steps[OBSERVED].answer.outcome == outcome


@pytest.mark.parametrize(
    ("release", "curves", "outcome", "line"),
    [
        ("4.23.1", [4588, 29, 23, 24], "ok", ""),
        ("4.23.1", [23], "ok", ""),
        ("4.23.1", [], "ok", ""),
        ("4.23.1", [23, 25], "stopped", "groups outside the profile: secp521r1"),
        ("4.23.1", [23, 999], "unknown", "curvePreferences has '999', which is no group of Go 1.26"),
        ("4.22.1", [25], "ok", ""),
    ],
)
def test_observed_groups_are_among_those_of_the_profile(
    release: str, curves: list[int], outcome: str, line: str
) -> None:
    objects = changed("version", "status", "desired", "version", to=release)
    serving = {"minTLSVersion": "VersionTLS13", "curvePreferences": curves}
    next(each for each in objects if each["kind"] == "KubeAPIServer")["spec"]["observedConfig"]["servingInfo"] = serving
    found = look(objects)
    assert found.steps[OBSERVED].answer.outcome == outcome, said(found, OBSERVED)
    assert line in said(found, OBSERVED)


def test_of_a_custom_profile_nothing_may_be_missing() -> None:
    ciphers = ["ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384"]
    profile = {"type": "Custom", "custom": {"minTLSVersion": "VersionTLS12", "ciphers": ciphers}}
    objects = changed("apiserver", "spec", "tlsSecurityProfile", to=profile)
    observed = {"minTLSVersion": "VersionTLS12", "cipherSuites": ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]}
    next(each for each in objects if each["kind"] == "KubeAPIServer")["spec"]["observedConfig"]["servingInfo"] = (
        observed
    )
    found = look(objects)
    assert found.stopped_at == OBSERVED + 1
    assert "missing suites: TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384" in said(found, OBSERVED)


def test_an_operator_that_is_degraded_for_another_reason_stops_nothing() -> None:
    objects = changed("operator", "status", "conditions", to=[{"type": "Degraded", "status": "True"}])
    found = look(objects, seen=[served_as("yes")])
    assert found.conclusion == "ok"
    assert "without effect on TLS" in said(found, REPORTED)


# --- adherence -------------------------------------------------------------------------------------------------------


def test_under_legacy_nothing_holds_those_that_wait_for_strict() -> None:
    objects = changed("apiserver", "spec", "tlsAdherence", to="LegacyAdheringComponentsOnly")
    found = look(objects, NETWORK, seen=[served_as("no", "multus-admission", binding="not-enforced")])
    assert (found.bound, found.conclusion) == (False, "ok")
    assert "is not enforced on this component" in said(found, ADHERENCE)
    assert found.steps[SERVED].answer.outcome == "not-applicable"
    assert look(objects).bound, "kube-apiserver follows under either spelling"


def test_strict_behind_a_gate_that_is_off_stops_there() -> None:
    gates = [{"version": "4.22.3", "disabled": [{"name": "TLSAdherence"}]}]
    found = look(changed("gate", "status", "featureGates", to=gates), NETWORK)
    assert found.stopped_at == ADHERENCE + 1
    assert "TLSAdherence is off" in said(found, ADHERENCE)
    assert look(changed("gate", "status", "featureGates", to=gates)).stopped_at is None


# --- ConfigMaps ------------------------------------------------------------------------------------------------------


def config_map(text: str, **annotations: str) -> KubeObject:
    metadata = {"name": "config", "namespace": "openshift-kube-apiserver-operator", "annotations": annotations}
    raw = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"config.yaml": text}}
    return KubeObject(raw, INJECTED_MAPS)


MARKED = {"config.openshift.io/inject-tls": "true"}


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("kind: GenericOperatorConfig\nservingInfo:\n  minTLSVersion: VersionTLS13\n", "ok"),
        ("kind: GenericOperatorConfig\nservingInfo:\n  minTLSVersion: VersionTLS12\n", "stopped"),
        ("kind: GenericOperatorConfig\n", "stopped"),
        ("{", "unknown"),
        ("[]", "unknown"),
    ],
)
def test_what_the_platform_writes_into_config_maps(text: str, outcome: str) -> None:
    maps = injected([config_map(text, **MARKED), config_map("servingInfo: {minTLSVersion: VersionTLS10}")])
    assert len(maps) == 1
    found = look(HEALTHY, AN_OPERATOR, maps=maps)
    assert found.steps[INJECTED].answer.outcome == outcome
    assert found.steps[INJECTED].commands


def test_config_maps_that_nobody_read_are_not_read_and_missing_ones_unknown() -> None:
    assert look(HEALTHY, AN_OPERATOR).steps[INJECTED].answer.outcome == "not-read"
    assert look(HEALTHY, AN_OPERATOR, maps=()).steps[INJECTED].answer.outcome == "unknown"
    assert look(HEALTHY, maps=()).steps[INJECTED].answer.outcome == "not-applicable"


# --- nodes -----------------------------------------------------------------------------------------------------------

NODES = (
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "worker-0",
            "labels": {"node-role.kubernetes.io/worker": ""},
            "annotations": {"machineconfiguration.openshift.io/currentConfig": "old"},
        },
    },
)


def pool(wanted: str = "new", **spec: object) -> dict[str, Any]:
    return {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfigPool",
        "metadata": {"name": "worker", "labels": {"role": "worker"}},
        "spec": {
            "nodeSelector": {"matchLabels": {"node-role.kubernetes.io/worker": ""}},
            "configuration": {"name": wanted},
            **spec,
        },
        "status": {"conditions": [{"type": "Updated", "status": "False" if wanted == "new" else "True"}]},
    }


@pytest.mark.parametrize(
    ("of", "outcome", "words"),
    [
        (pool("old"), "ok", "every node runs"),
        (pool(), "unknown", "the configuration of the pool is new"),
        (pool(paused=True), "stopped", "spec.paused"),
    ],
)
def test_kubelets_wait_for_their_pools(of: dict[str, Any], outcome: str, words: str) -> None:
    found = look([*HEALTHY, *NODES, of], KUBELET)
    assert found.steps[ROLLOUT].answer.outcome == outcome
    assert words in said(found, ROLLOUT)


def test_configuration_of_its_own_is_named() -> None:
    config = {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "KubeletConfig",
        "metadata": {"name": "old"},
        "spec": {
            "machineConfigPoolSelector": {"matchLabels": {"role": "worker"}},
            "tlsSecurityProfile": {"type": "Old", "old": {}},
        },
    }
    found = look([*HEALTHY, *NODES, pool("old"), config], KUBELET)
    assert "KubeletConfig/old spec.tlsSecurityProfile: Old" in said(found, OBSERVED)
    assert found.steps[OBSERVED].commands == ("oc get kubeletconfig old -o yaml",)
    assert found.required == "openshift/4.22/old"


# --- what is served --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seen", "outcome"),
    [
        (None, "not-read"),
        ([], "unknown"),
        ([served_as("yes", "etcd")], "unknown"),
        ([served_as("yes"), served_as("yes")], "ok"),
        ([served_as("yes"), served_as("not-determined")], "unknown"),
        ([served_as("not-determined"), served_as("no", why=("tls-version: it accepts TLS 1.0",))], "stopped"),
        ([served_as(None)], "not-applicable"),
        ([served_as("yes"), served_as("no", binding="not-enforced")], "ok"),
    ],
)
def test_what_a_saved_scan_saw(seen: list[Served] | None, outcome: str) -> None:
    found = look(HEALTHY, seen=seen)
    assert found.steps[SERVED].answer.outcome == outcome
    if outcome == "stopped":
        assert "it accepts TLS 1.0" in said(found, SERVED)


def test_hostile_names_are_quoted_in_commands() -> None:
    assessment = surveyed(HEALTHY, "Deployment/openshift-monitoring/x;reboot $(id):10250")
    found = diagnosis_of(assessment, assessment.discovery.endpoints[0])
    told = [command for step in found.steps for command in step.commands if "reboot" in command]
    assert told
    assert all("'x;reboot $(id)'" in each or "'component=x;reboot $(id)'" in each for each in told)


def places(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:  # noqa: ANN401 - JSON
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*at, key)
        yield from places(item, (*at, key))


@pytest.mark.parametrize("odd", [None, 7, "\x1b]0;x\x07`|<b>", [], {}, [None, 7, {"name": []}], {"type": {}}], ids=repr)
def test_no_object_can_crash_it(odd: object) -> None:
    """Everything but what an object is called and is may be anything."""
    every = [*HEALTHY, *NODES, pool()]
    tried = 0
    for number, each in enumerate(every):
        for *steps, last in places(each):
            if [*steps, last][0] not in ("spec", "status") and last != "annotations":
                continue
            changed = deepcopy(every)
            holder: Any = changed[number]
            for step in steps:
                holder = holder[step]
            holder[last] = odd
            for found in diagnose(surveyed(changed, API, KUBELET)):
                assert len(outcomes(found)) == 8
                tried += 1
    assert tried > 50


# --- other clusters --------------------------------------------------------------------------------------------------


def test_plain_kubernetes_has_no_steps_but_what_is_served() -> None:
    absent = frozenset(each for each in kinds.KINDS if each.group.endswith("openshift.io"))
    found = look([], KUBEADM, distribution="kubernetes", absent=absent, version="v1.35.2")
    first = ["kubeadm ConfigMap", "process settings"]
    assert [each.name for each in found.steps] == [*first, "events and logs", "served configuration"]
    assert outcomes(found)[0] == "not-applicable"
    assert "plain Kubernetes has no operator that applies a profile" in said(found, 0)
    assert found.conclusion == "unknown"
    assert all(not each.startswith("oc ") for step in found.steps for each in step.commands)


def kubeadm_config(arguments: Mapping[str, Mapping[str, str]], version: str = "v1beta4") -> dict[str, Any]:
    """The ClusterConfiguration in either form of extraArgs."""

    def form(of: Mapping[str, str]) -> Any:  # noqa: ANN401 - YAML
        return dict(of) if version == "v1beta3" else [{"name": name, "value": value} for name, value in of.items()]

    sections: dict[str, Any] = {name: {"extraArgs": form(of)} for name, of in arguments.items()}
    if "etcd" in sections:
        sections["etcd"] = {"local": sections["etcd"]}
    document = {"apiVersion": f"kubeadm.k8s.io/{version}", "kind": "ClusterConfiguration", **sections}
    return {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kubeadm-config", "namespace": "kube-system"},
        "data": {"ClusterConfiguration": json.dumps(document)},
    }  # fmt: skip


TLS13_ONLY = {"tls-min-version": "VersionTLS13"}
TOLD = "ConfigMap/kube-system/kubeadm-config"
UNSET, WEAKER = "not set, so Go's defaults apply", "weaker than mozilla/5.8/intermediate, with"
API_SERVER_ON, SCHEDULER_ON, ETCD_ON = (
    f"StaticPod/kube-system/{name}" for name in ("kube-apiserver:6443", "kube-scheduler:10259", "etcd:2379")
)
IS_UNSET = f"Pod/kube-system/kube-scheduler-cp: {UNSET}: {WEAKER} 4 more cipher suites"


def of_kubeadm(
    name: str,
    *more: Any,  # noqa: ANN401 - YAML
    node: str = "cp",
    others: tuple[str, ...] = (),
    policy: ScanPolicy = ScanPolicy(),
) -> Diagnosis:
    """A component of the story of that name, with more objects; ``others``: further listeners of it."""
    objects = [*yaml.safe_load_all((CLUSTERS / "kubeadm" / "cluster.yaml").read_text()), *more]
    absent = frozenset(each for each in kinds.KINDS if each.group.endswith("openshift.io"))
    assessment = surveyed(
        objects, name, *others, distribution="kubernetes", absent=absent, version="v1.34.2", node=node, policy=policy
    )
    (found,) = diagnose(assessment)
    return found


TLS12_SAFE = {"tls-min-version": "VersionTLS12", "tls-cipher-suites": "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}


def kubelets(*nodes: str) -> Diagnosis:
    """The kubelets of these nodes together."""
    objects = list(yaml.safe_load_all((CLUSTERS / "kubeadm" / "cluster.yaml").read_text()))
    absent = frozenset(each for each in kinds.KINDS if each.group.endswith("openshift.io"))
    names = [f"Node/{node}:10250" for node in nodes]
    (found,) = diagnose(surveyed(objects, *names, distribution="kubernetes", absent=absent, version="v1.34.2"))
    return found


@pytest.mark.parametrize("version", ["v1beta3", "v1beta4"])
@pytest.mark.parametrize(
    ("name", "arguments", "outcomes_of", "asked", "runs"),
    [
        (
            API_SERVER_ON, {"apiServer": TLS13_ONLY}, ("ok", "ok"),
            f"{TOLD} apiServer.extraArgs: VersionTLS13, Go's default cipher suites",
            "Pod/kube-system/kube-apiserver-cp: VersionTLS13, Go's default cipher suites",
        ),
        (
            SCHEDULER_ON, {"scheduler": TLS13_ONLY}, ("ok", "stopped"),
            f"{TOLD} scheduler.extraArgs: VersionTLS13, Go's default cipher suites",
            (f"Pod/kube-system/kube-scheduler-cp: {UNSET}: weaker than TLSv1.3 or later ({TOLD} scheduler.extraArgs), "
            "with TLSv1.2"),
        ),
        (
            SCHEDULER_ON, {}, ("stopped", "ok"),
            f"{TOLD} scheduler.extraArgs: {UNSET}: {WEAKER} 4 more cipher suites",
            f"Pod/kube-system/kube-scheduler-cp: {UNSET}",
        ),
        (
            API_SERVER_ON, {}, ("ok", "ok"),
            (f"{TOLD} apiServer.extraArgs: {UNSET}\n{WEAKER} 4 more cipher suites\n"
            "its processes have the required settings, but the next kubeadm upgrade overwrites them"),
            ("Pod/kube-system/kube-apiserver-cp: VersionTLS13, Go's default cipher suites; "
            f"the next kubeadm upgrade overwrites this ({TOLD} apiServer.extraArgs: {UNSET})"),
        ),
        (
            ETCD_ON, {"etcd": {"cipher-suites": "TLS_RSA_WITH_AES_128_CBC_SHA"}}, ("ok", "ok"),
            (f"{TOLD} etcd.local.extraArgs: no minimum version, 1 cipher suite\n{WEAKER} 1 more cipher suite\n"
            "its processes have the required settings, but the next kubeadm upgrade overwrites them"),
            ("Pod/kube-system/etcd-cp: TLS1.2, 2 cipher suites; "
            f"the next kubeadm upgrade overwrites this ({TOLD} etcd.local.extraArgs: "
            "no minimum version, 1 cipher suite)"),
        ),
    ],
)  # fmt: skip
def test_kubeadms_configuration_is_followed_to_the_process(
    name: str, arguments: Mapping[str, Any], outcomes_of: tuple[str, str], asked: str, runs: str, version: str
) -> None:
    found = of_kubeadm(name, kubeadm_config(arguments, version))
    assert (said(found, 0), said(found, 1), tuple(outcomes(found)[:2])) == (asked, runs, outcomes_of)


def test_without_kubeadms_config_map_flags_are_held_to_the_profile() -> None:
    found = of_kubeadm(SCHEDULER_ON)
    assert outcomes(found)[:2] == ["not-applicable", "stopped"]
    assert said(found, 1) == IS_UNSET
    assert found.steps[0].commands == ("kubectl -n kube-system get cm kubeadm-config -o yaml",)
    assert found.steps[1].commands == (
        "kubectl -n kube-system get pods -l component=kube-scheduler -o yaml",
        (
            "grep -e --tls-min-version -e --tls-cipher-suites -e --tls-curve-preferences"
            " /etc/kubernetes/manifests/kube-scheduler.yaml   # on each node of the control plane"
        ),
        "kubectl -n kube-system get cm kubeadm-config -o jsonpath='{.data.ClusterConfiguration}' > kubeadm.yaml",
        "kubeadm init phase control-plane scheduler --config kubeadm.yaml   # on each node that is behind",
    )


@pytest.mark.parametrize(
    ("node", "outcome", "runs"),
    [
        ("same", "ok", "configz of Node/same: VersionTLS12, 2 cipher suites"),
        ("cp", "not-read", "not read without --configz (role: adhere rbac --with configz)"),
        (
            "weak", "stopped",
            ("configz of Node/weak: VersionTLS10, 1 cipher suite: weaker than TLSv1.2 or later "
            "(ConfigMap/kube-system/kubelet-config data[kubelet]), with TLSv1 and 1 more cipher suite"),
        ),
    ],
)  # fmt: skip
def test_kubelet_config_is_followed_to_configz(node: str, outcome: str, runs: str) -> None:
    found = of_kubeadm(f"Node/{node}:10250", node=node)
    assert said(found, 0) == "ConfigMap/kube-system/kubelet-config data[kubelet]: VersionTLS12, 2 cipher suites"
    assert (said(found, 1), outcomes(found)[:2]) == (runs, ["ok", outcome])
    assert found.steps[0].commands == ("kubectl -n kube-system get cm kubelet-config -o yaml",)
    assert found.steps[1].commands[-1].startswith("kubeadm upgrade node phase kubelet-config && systemctl restart")


def test_an_external_etcd_is_not_kubeadms() -> None:
    """No command of kubeadm reaches it; a pod of it that is seen is held to the profile all the same."""
    held = kubeadm_config({})
    document = json.loads(held["data"]["ClusterConfiguration"])
    document["etcd"] = {"external": {"endpoints": ["https://e:2379"]}}
    held["data"]["ClusterConfiguration"] = json.dumps(document)
    found = of_kubeadm(ETCD_ON, held)
    assert outcomes(found)[:2] == ["not-applicable", "ok"]
    assert "kubeadm does not configure an external etcd" in said(found, 0)
    assert said(found, 1) == "Pod/kube-system/etcd-cp: TLS1.2, 2 cipher suites"
    assert found.steps[1].commands == ("kubectl -n kube-system get pods -l component=etcd -o yaml",)
    of_api_server = of_kubeadm(API_SERVER_ON, held)
    assert "kubeadm init phase control-plane apiserver" in str(of_api_server.steps[1].commands)


def overriding(profile: str, *, binding: bool = True, endpoints: tuple[str, ...] = ()) -> ScanPolicy:
    selector = Selector(endpoints=endpoints)
    override = Override(selector=selector, profile=profile, justification="x", source="p.yaml:1:1", binding=binding)
    return ScanPolicy(overrides=(override,))


@pytest.mark.parametrize(
    ("policy", "outcome", "words"),
    [
        (ScanPolicy(), "stopped", WEAKER),
        (overriding("mozilla/old"), "ok", ""),
        (overriding("mozilla/modern"), "stopped", "weaker than mozilla/5.8/modern, with TLSv1.2"),
        (overriding("mozilla/modern", binding=False), "ok", ""),
        (overriding("mozilla/old", endpoints=(ETCD_ON,)), "stopped", WEAKER),
    ],
)
def test_an_override_is_what_kubeadm_and_processes_are_held_to(policy: ScanPolicy, outcome: str, words: str) -> None:
    for found, step in (
        (of_kubeadm(SCHEDULER_ON, kubeadm_config({}), policy=policy), 0),
        (of_kubeadm(SCHEDULER_ON, policy=policy), 1),
    ):
        assert outcomes(found)[step] == outcome
        assert words in said(found, step)
        assert words or "weaker" not in said(found, step)


def test_an_override_of_the_second_listener_counts_too() -> None:
    """kubeadm's ConfigMap is for all of them."""
    second = "StaticPod/kube-system/kube-scheduler:10259#b.example"
    of_second = overriding("mozilla/modern", endpoints=(second,))
    found = of_kubeadm(SCHEDULER_ON, kubeadm_config({"scheduler": TLS12_SAFE}), others=(second,), policy=of_second)
    assert outcomes(found)[0] == "stopped"
    assert "weaker than mozilla/5.8/modern, with TLSv1.2" in said(found, 0)


@pytest.mark.parametrize(("node", "outcome"), [("same", "unknown"), ("weak", "stopped")])
def test_processes_that_are_read_in_part_are_no_success(node: str, outcome: str) -> None:
    """One of two kubelets' configz is known: nothing says what the other runs with."""
    found = kubelets(node, "cp")
    assert outcomes(found)[:2] == ["ok", outcome]
    assert "the settings of 1 of its listeners could not be read" in said(found, 1)
    assert outcomes(kubelets("same"))[1] == "ok"


@pytest.mark.parametrize("odd", ["?", "{", "apiServer: 7", "apiServer: {extraArgs: 7}", "scheduler: {extraArgs: [7]}"])
def test_an_odd_cluster_configuration_crashes_nothing(odd: str) -> None:
    held = kubeadm_config({})
    held["data"]["ClusterConfiguration"] = odd
    assert outcomes(of_kubeadm(SCHEDULER_ON, held))[0] == ("unknown" if odd == "{" else "stopped")


PKI_OBJECT = {
    "apiVersion": "config.openshift.io/v1alpha1",
    "kind": "PKI",
    "metadata": {"name": "cluster", "creationTimestamp": "2020-01-01T00:00:00Z", "generation": 1},
    "spec": {"defaults": {"key": {"algorithm": "RSA", "rsa": {"keySize": 4096}}}},
}


MADE = datetime(2026, 10, 1, tzinfo=UTC)


def bundled_signer(
    name: str = "kube-control-plane-signer", bundle: str = "kube-control-plane-signer-ca", made: datetime = MADE
) -> dict[str, Any]:
    """A signer of kube-apiserver's operator that is not as the PKI object asks."""
    signer = Authority(f"openshift-kube-apiserver-operator_{name}@1790000000", now=made)
    metadata = {"name": bundle, "namespace": "openshift-kube-apiserver-operator"}
    data = {"ca-bundle.crt": signer.pem.decode()}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


LATER = {**PKI_OBJECT, "metadata": {"name": "cluster", "creationTimestamp": "2026-11-20T00:00:00Z", "generation": 1}}
"""Asked for after the certificates were made."""
MET = {**PKI_OBJECT, "spec": {"defaults": {"key": {"algorithm": "ECDSA", "ecdsa": {"curve": "P256"}}}}}
NEVER_RENEWED = bundled_signer("localhost-serving-signer", "localhost-serving-ca")
KEYS = "certificate keys"


def keys_step(found: Diagnosis) -> Step:
    (step,) = [each for each in found.steps if each.name == KEYS]
    return step


def degraded(message: str) -> list[Any]:
    return changed("operator", "status", "conditions", to=[{**ILL, "reason": "Odd", "message": message}])


GENERATION = warning(
    "no entropy", "openshift-kube-apiserver-operator", reason="CertificateGenerationFailed", when="10:05", count=3
)
SAID_BY_EVENT = (
    "2026-11-21T10:05:00Z openshift-kube-apiserver-operator/Pod/a CertificateGenerationFailed (3 times): no entropy"
)
RSA_4096, P256 = "PKI/cluster: defaults RSA 4096; last changed ", "PKI/cluster: defaults ECDSA P256; last changed "
IS_NOT = "kube-control-plane-signer (signer): its key is ECDSA P256, and RSA 4096 is required"


@pytest.mark.parametrize(
    ("objects", "events", "outcome", "said"),
    [
        ([*HEALTHY, MET, bundled_signer()], (), "ok", (f"{P256}2020-01-01: 1 complying",)),
        (
            [*HEALTHY, PKI_OBJECT, bundled_signer()], (), "stopped",
            (f"{RSA_4096}2020-01-01: 1 violating", f"{IS_NOT}; it was issued after this was configured"),
        ),
        (
            [*HEALTHY, LATER, bundled_signer()], (), "unknown",
            (f"{RSA_4096}2026-11-20: 1 violating until the next rotation",
             f"{IS_NOT}; it was issued before that, and should have been renewed by 2026-10-30"),
        ),
        (
            [*HEALTHY, LATER, bundled_signer(made=MADE + timedelta(days=40))], (), "unknown",
            (f"{RSA_4096}2026-11-20: 1 violating until the next rotation",
             f"{IS_NOT}; it was issued before that, and is renewed by 2026-12-09"),
        ),
        (
            [*HEALTHY, LATER, NEVER_RENEWED], (), "stopped",
            (f"{RSA_4096}2026-11-20: 1 violating until a forced rotation",
             ("kube-apiserver-localhost-signer (signer): its key is ECDSA P256, and RSA 4096 is required; "
             "it was issued before that, and no component renews it")),
        ),
        (
            [*HEALTHY, MET, bundled_signer()], (GENERATION,), "unknown",
            (f"{P256}2020-01-01: 1 complying", SAID_BY_EVENT),
        ),
        (
            [*HEALTHY, PKI_OBJECT, bundled_signer()], (GENERATION,), "stopped",
            (f"{RSA_4096}2020-01-01: 1 violating", f"{IS_NOT}; it was issued after this was configured",
             SAID_BY_EVENT),
        ),
        (
            [*degraded("failed to generate the serving certificate"), MET, bundled_signer()], (), "stopped",
            (f"{P256}2020-01-01: 1 complying",
             "ClusterOperator/kube-apiserver Degraded=True Odd: failed to generate the serving certificate"),
        ),
        (
            [*degraded("x509: certificate signed by unknown authority"), MET, bundled_signer()], (), "ok",
            (f"{P256}2020-01-01: 1 complying",),
        ),
        (
            [*HEALTHY, MET], (), "not-applicable",
            (f"{P256}2020-01-01: no requirement applies to the keys that were read",),
        ),
    ],
)  # fmt: skip
def test_keys_against_the_pki_object(
    objects: list[Any], events: tuple[KubeObject, ...], outcome: str, said: tuple[str, ...]
) -> None:
    found = look(objects, read_events=events_of(*events), seen=[served_as("yes")])
    if outcome == "not-applicable":
        assert KEYS not in [each.name for each in found.steps]
        return
    step = keys_step(found)
    assert (step.answer.lines, step.answer.outcome) == (said, outcome)
    assert found.conclusion == outcome, "what is served proves nothing about keys"
    assert step.commands == (
        "oc get pki cluster -o yaml",
        "oc get clusteroperator kube-apiserver -o yaml",
        "oc get events -A --field-selector reason=CertificateGenerationFailed",
        "adhere certs --cluster --secrets",
    )


def test_without_a_pki_object_a_degraded_operator_has_no_step_of_keys() -> None:
    assert KEYS not in [each.name for each in look(HEALTHY).steps]
    found = look(degraded("failed to generate the serving certificate"), read_events=events_of(GENERATION))
    assert KEYS not in [each.name for each in found.steps]
    assert found.stopped_at == REPORTED + 1


def test_events_of_other_namespaces_say_nothing_of_its_keys() -> None:
    elsewhere = warning("no", "shop", reason="CertificateGenerationFailed")
    assert keys_step(look([*HEALTHY, MET, bundled_signer()], read_events=events_of(elsewhere))).answer.outcome == "ok"


def test_a_guest_cluster_has_no_operators_of_its_control_plane() -> None:
    infrastructure = {
        "apiVersion": "config.openshift.io/v1",
        "kind": "Infrastructure",
        "metadata": {"name": "cluster"},
        "status": {"controlPlaneTopology": "External"},
    }
    found = look([*HEALTHY, infrastructure])
    assert found.steps[OBSERVED].answer.outcome == "not-applicable"
    assert "another cluster" in said(found, OBSERVED)
    assert outcomes(found)[:2] == ["ok", "ok"]
    nodes = look([*HEALTHY, infrastructure, *NODES], KUBELET)
    assert "NodePools" in said(nodes, ROLLOUT)


def test_a_hosted_control_plane_is_told_apart_and_owes_what_its_object_says() -> None:
    hosted = {
        "apiVersion": "hypershift.openshift.io/v1beta1",
        "kind": "HostedCluster",
        "metadata": {"name": "prod", "namespace": "clusters"},
        "spec": {"configuration": {"apiServer": {"tlsSecurityProfile": {"type": "Old", "old": {}}}}},
        "status": {"version": {"history": [{"state": "Completed", "version": "4.22.1"}]}},
    }
    cluster = surveyed([*HEALTHY, hosted], API, "Deployment/clusters-prod/kube-apiserver:6443")
    seen = [served_as("yes"), served_as("no", namespace="clusters-prod")]
    own, theirs = sorted(diagnose(cluster, seen=seen), key=lambda each: each.place)
    assert (own.component, own.place, own.conclusion) == ("kube-apiserver", "", "ok")
    assert (theirs.place, theirs.stopped_at) == ("HostedCluster/clusters/prod", SERVED + 1)
    assert "oc get hostedcluster -n clusters prod" in theirs.steps[PROFILE].commands[0]


def test_microshift_has_its_file() -> None:
    version = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "microshift-version", "namespace": "kube-public"},
        "data": {"version": "4.22.0"},
    }
    absent = frozenset(each for each in kinds.KINDS if each.group.endswith("openshift.io"))
    file = {
        "apiVersion": "microshift/v1",
        "kind": "MicroShiftConfig",
        "metadata": {"name": "config"},
        "apiServer": {"tls": {"minVersion": "VersionTLS13"}},
    }
    found = look([version, file], "Node/edge:6443", distribution="microshift", absent=absent)
    assert outcomes(found)[:5] == ["ok", "not-applicable", "not-applicable", "not-applicable", "not-applicable"]
    without = look([version], "Node/edge:6443", distribution="microshift", absent=absent)
    assert without.steps[PROFILE].answer.outcome == "unknown"


# --- the table -------------------------------------------------------------------------------------------------------


def test_one_listener_is_looked_at_alone() -> None:
    assessment = surveyed(HEALTHY, API, METRICS)
    found = diagnosis_of(assessment, assessment.discovery.endpoints[1], seen=[served_as("no", "metrics-server")])
    assert (found.component, found.listeners, found.stopped_at) == ("metrics-server", 1, SERVED + 1)
    assert [each.component for each in diagnose(assessment)] == ["kube-apiserver", "metrics-server"]
    assert [each.component for each in diagnose(assessment, "metrics-server")] == ["metrics-server"]
    assert list(diagnose(assessment, "etcd")) == []


def test_only_the_operators_configurations_are_read_beside_what_a_scan_reads() -> None:
    assert set(READS) - set(ASSESSED) == set(kinds.OPERATORS)
    assert len({each.name for each in STEPS}) == 8


def test_an_unknown_step_is_no_pass_unless_a_later_one_shows_that_all_went_well() -> None:
    def told(*several: Any) -> str:  # noqa: ANN401 - outcomes
        steps = tuple(Step(name=str(n), answer=Answer(outcome=each, lines=())) for n, each in enumerate(several))
        return Diagnosis(component="x", steps=steps).conclusion

    assert told("ok", "not-read") == "ok"
    assert told("ok", "unknown", "not-read") == "unknown"
    assert told("unknown", "ok") == "ok"
    assert told("stopped", "ok") == "stopped"
    assert told("not-applicable", "not-read") == "unknown"


# --- events ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "told"),
    [
        (warning("remote error: tls: handshake failure"), True),
        (warning("x509: certificate has expired"), True),
        (warning("no", reason="ObservedConfigWriteError"), True),
        (warning('secret "serving-cert" not found', "openshift-kube-apiserver-operator"), True),
        (warning("Back-off restarting failed container"), False),
        (warning("tls: bad", type="Normal"), False),
        (warning("tls: bad", "shop"), False),
        (warning("settled"), False),
    ],
)
def test_warnings_that_speak_of_it_are_told_and_stop_nothing(event: KubeObject, told: bool) -> None:
    found = look(HEALTHY, read_events=events_of(event))
    assert found.steps[EVENTS].answer.outcome == ("unknown" if told else "not-applicable")
    assert (event.text("message") in said(found, EVENTS)) is told
    assert found.stopped_at is None


def test_the_newest_warnings_come_first_and_not_all_of_them() -> None:
    every = [warning(f"tls {number}", when=f"10:{number:02}", count=number) for number in range(8)]
    first, newest, *_, last = said(look(HEALTHY, read_events=events_of(*every)), EVENTS).split("\n")
    assert first.startswith("warnings about TLS, certificates or configuration in openshift-kube-apiserver, ")
    assert first.endswith(": 8")
    assert newest == "2026-11-21T10:07:00Z openshift-kube-apiserver/Pod/a Odd (7 times): tls 7"
    assert last == "and 3 more"


def test_namespaces_without_events_that_could_be_read_are_no_silence() -> None:
    found = look(HEALTHY, read_events=events_of(missed={"openshift-kube-apiserver-operator": "forbidden"}))
    assert (found.steps[EVENTS].answer.outcome, found.conclusion) == ("not-read", "ok")
    assert "events of openshift-kube-apiserver-operator: forbidden" in said(found, EVENTS)
    both = look(
        HEALTHY, read_events=events_of(warning("tls"), missed={"openshift-kube-apiserver-operator": "forbidden"})
    )
    assert "forbidden" in said(both, EVENTS)


def test_all_namespaces_are_asked_for_at_once() -> None:
    asked: list[tuple[str, ...]] = []

    def read_events(namespaces: Sequence[str]) -> Unknown:
        asked.append(tuple(namespaces))
        return NO_EVENTS

    assert len(list(diagnose(surveyed(HEALTHY, API, METRICS, KUBELET), read_events=read_events))) == 3
    (names,) = asked
    assert set(names) >= {"openshift-kube-apiserver", "openshift-kube-apiserver-operator", "openshift-monitoring"}
