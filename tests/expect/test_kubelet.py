"""Who governs kubelets: pools of machines here, or the NodePools of a hosting cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from scanner.kube.kinds import KUBELET_CONFIG, MACHINE_CONFIG_POOL, Kind
from scanner.kube.maybe import Unknown
from scanner.model.expectation import Expectation
from scanner.tls.codepoints import TLS10, TLS13
from tests.expect.declared_objects import api_server, made, version
from tests.expect.stories import endpoint, resolved, snapshot_of

MACHINES = "machineconfiguration.openshift.io/v1"
WORKER = "node-role.kubernetes.io/worker"


def owes(*absent: Kind, pool: bool) -> Expectation:
    objects = [api_server("Old"), version("4.22.3"), made("Node", None, "w", metadata={"labels": {WORKER: ""}})]
    if pool:
        spec = {"nodeSelector": {"matchLabels": {WORKER: ""}}}
        objects.append(made("MachineConfigPool", None, "worker", MACHINES, spec=spec))
    snapshot = snapshot_of(objects, absent=frozenset(absent))
    return resolved(snapshot).of(endpoint("Node/w:10250", {}))


def sources(found: Expectation) -> set[str]:
    return {each.source.partition("/")[0] for each in found.because}


def test_without_both_kinds_of_pools_the_control_plane_is_hosted() -> None:
    found = owes(MACHINE_CONFIG_POOL, KUBELET_CONFIG, pool=False)
    assert isinstance(found.profile, Unknown)
    assert "NodePool" in found.profile.reason


@pytest.mark.parametrize("absent", [(), (KUBELET_CONFIG,)])
def test_where_there_are_pools_they_count(absent: tuple[Kind, ...]) -> None:
    found = owes(*absent, pool=True)
    assert not isinstance(found.profile, Unknown)
    assert "MachineConfigPool" in sources(found)
    assert "NodePool" not in sources(found)


def test_without_one_of_the_kinds_the_control_plane_is_not_hosted() -> None:
    assert "NodePool" not in sources(owes(MACHINE_CONFIG_POOL, pool=False))


BOTH = {"tlsMinVersion": "VersionTLS12", "tlsCipherSuites": ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]}


def configured(
    settings: Mapping[str, object], *more: dict[str, Any], release: str = "4.22.3", **unreadable: str
) -> Expectation:
    """What a kubelet owes under a KubeletConfig with these settings."""
    labels = {"own": ""}
    metadata = {"labels": labels}
    pool = {"nodeSelector": {"matchLabels": {WORKER: ""}}}
    spec = {"machineConfigPoolSelector": {"matchLabels": labels}, "kubeletConfig": settings}
    objects = [
        version(release),
        made("Node", None, "w", metadata={"labels": {WORKER: ""}}),
        made("MachineConfigPool", None, "worker", MACHINES, metadata=metadata, spec=pool),
        made("KubeletConfig", None, "own", MACHINES, spec=spec),
        *more,
    ]
    snapshot = snapshot_of(objects, unreadable={f"{kind}.config.openshift.io": why for kind, why in unreadable.items()})
    return resolved(snapshot).of(endpoint("Node/w:10250", {}))


@pytest.mark.parametrize("apart", [(), ("tlsMinVersion",), ("tlsCipherSuites",)])
def test_only_where_a_config_sets_both_the_profile_below_it_may_be_unknown(apart: tuple[str, ...]) -> None:
    settings = {key: value for key, value in BOTH.items() if key not in apart}
    found = configured(settings, apiservers="forbidden").profile
    assert isinstance(found, Unknown) is bool(apart)


def test_what_a_config_does_not_set_stays_what_the_profile_below_it_says() -> None:
    old = configured({}, api_server("Old")).profile
    alone = configured({"tlsMinVersion": "VersionTLS13"}, api_server("Old")).profile
    suites = configured({"tlsCipherSuites": BOTH["tlsCipherSuites"]}, api_server("Old")).profile
    assert not isinstance(old, Unknown)
    assert not isinstance(alone, Unknown)
    assert not isinstance(suites, Unknown)
    assert (alone.min_version, alone.suites) == (TLS13, old.suites)
    assert (suites.min_version, 0xC02F in suites.suites, 0x002F in suites.suites) == (old.min_version, True, False)
    assert old.min_version == TLS10
    assert 0x002F in old.suites


@pytest.mark.parametrize(
    ("release", "numbers", "groups", "unknown"),
    [
        ("4.23.1", [29, 23], (0x1D, 0x17), ""),
        ("4.23.1", [29, 30], None, "has '30', which is no group of Go 1.26"),
        ("4.22.3", [29, 23], None, None),
    ],
)
def test_groups_of_a_kubelet_config_are_required_from_kubernetes_1_36_on(
    release: str, numbers: list[int], groups: tuple[int, ...] | None, unknown: str | None
) -> None:
    found = configured(BOTH | {"tlsCurvePreferences": numbers}, release=release)
    assert not isinstance(found.profile, Unknown)
    assert found.profile.groups == groups
    assert (found.stated_groups is None) is (unknown is None)
    if found.stated_groups is not None:
        assert found.stated_groups.setting == "KubeletConfig/own spec.kubeletConfig.tlsCurvePreferences"
        assert (unknown or "") in found.stated_groups.unknown
    assert any("exists since 4.23, but the release is 4.22.3" in each for each in found.remarks) is (unknown is None)
