"""Releases: which one, which other one, and what profiles mean in each."""

from __future__ import annotations

from typing import Any

import pytest

from scanner.expect.release import meaning, minor, of_cluster, of_kubelet
from scanner.kube.api_server import GROUPS_GATE, Gates, feature_gates
from scanner.kube.maybe import Unknown
from scanner.kube.profile_catalogue import load_profile
from scanner.kube.tls_profile import Profile
from tests.expect.stories import snapshot_of


def version(status: object) -> Any:  # noqa: ANN401 - JSON
    return {
        "apiVersion": "config.openshift.io/v1",
        "kind": "ClusterVersion",
        "metadata": {"name": "version"},
        "status": status,
    }


DONE = {"state": "Completed", "version": "4.21.9"}
PARTIAL = {"state": "Partial", "version": "4.22.0"}

CASES: list[tuple[object, str | None, str | None]] = [
    ({"desired": {"version": "4.21.9"}, "history": [DONE]}, "4.21.9", None),
    ({"desired": {"version": "4.22.0"}, "history": [PARTIAL, DONE]}, "4.22.0", "4.21.9"),
    ({"history": [DONE]}, "4.21.9", None),
    ({"desired": {"version": "4.22.0"}, "history": [PARTIAL]}, "4.22.0", None),
    ({"desired": {"version": "4.22.0"}, "history": [PARTIAL, PARTIAL, DONE]}, "4.22.0", "4.21.9"),
    ({"desired": "4.22"}, None, None),
    (None, None, None),
    ("x", None, None),
]


@pytest.mark.parametrize(("status", "desired", "previous"), CASES)
def test_cluster_version(status: object, desired: str | None, previous: str | None) -> None:
    found = of_cluster(snapshot_of([version(status)]))
    assert found.previous == previous
    assert (None if isinstance(found.desired, Unknown) else found.desired) == desired


def test_without_cluster_version_the_release_is_unknown() -> None:
    assert isinstance(of_cluster(snapshot_of([])).desired, Unknown)


@pytest.mark.parametrize(
    ("kubelet", "release"), [("v1.34.2", "4.21"), ("v1.35.0+abc", "4.22"), ("v1.12.0", None), ("2", None), ("", None)]
)
def test_kubelet(kubelet: str, release: str | None) -> None:
    assert of_kubelet(kubelet) == release


@pytest.mark.parametrize(("text", "parts"), [("4.22.3", (4, 22)), ("v5.0", (5, 0)), ("x", None), ("", None)])
def test_minor(text: str, parts: tuple[int, int] | None) -> None:
    assert minor(text) == parts


@pytest.mark.parametrize(
    ("release", "name"),
    [("4.14.2", "4.21"), ("4.21.0-rc.1", "4.21"), ("4.22.1", "4.22"), ("4.23.0", "4.23"), ("5.1.0", "4.23")],
)
def test_meaning(release: str, name: str) -> None:
    found = meaning(release)("old")
    assert isinstance(found, Profile)
    assert found.name == f"openshift/{name}/old"


def test_an_odd_release_is_unknown() -> None:
    assert isinstance(meaning("latest")("old"), Unknown)


def test_without_a_release_only_what_never_changed_is_known() -> None:
    of = meaning(Unknown("nobody knows"))
    assert of("old") == of("intermediate") == Unknown("nobody knows")
    modern = of("modern")
    assert isinstance(modern, Profile)
    assert (modern.suites, modern.groups) == (load_profile("modern").suites, None)


def test_gates_by_either_name_and_of_the_release_that_runs() -> None:
    assert Gates(enabled=frozenset({"TLSCurvePreferences"})).state(GROUPS_GATE) == "on"
    both = {
        "apiVersion": "config.openshift.io/v1",
        "kind": "FeatureGate",
        "metadata": {"name": "cluster"},
        "status": {
            "featureGates": [
                {"version": "4.22.0", "disabled": [{"name": "TLSAdherence"}]},
                {"version": "4.23.0", "enabled": [{"name": "TLSAdherence"}]},
            ]
        },
    }
    snapshot = snapshot_of([both])
    states = [feature_gates(snapshot, each).state(("TLSAdherence",)) for each in ("4.22.0", "4.23.0", "4.24.0")]
    assert states == ["off", "on", "unknown"]
