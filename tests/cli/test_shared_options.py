"""``--previous``: what an earlier snapshot, or a saved scan, tells of the keys of older certificates."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from scanner.cluster import save
from scanner.kube.kinds import KINDS
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Origin, Snapshot
from scanner.values import replace
from tests.certs import Authority
from tests.cli.calling import Call, assert_refused
from tests.pki.inventories import GATE

pytestmark = pytest.mark.crypto

START = datetime(2026, 1, 1, tzinfo=UTC)


@cache
def signer() -> Authority:
    """Made on the fourth day; of an operator that follows the configuration."""
    return Authority("openshift-service-serving-signer@1", key="rsa2048", now=day(5))


def day(number: int) -> datetime:
    return START + timedelta(days=number)


def snapshot(taken: int, size: int, since: int, identity: str = "a") -> Snapshot:
    """The cluster at one day, with RSA keys of this size configured since another."""
    objects: dict[str, dict[str, Any]] = {
        "PKI": {
            "metadata": {"name": "cluster", "creationTimestamp": day(since).isoformat()},
            "spec": {"defaults": {"key": {"algorithm": "RSA", "rsa": {"keySize": size}}}},
        },
        "FeatureGate": GATE,
        "ClusterVersion": {"metadata": {"name": "version"}, "spec": {"clusterID": identity}},
        "ConfigMap": {
            "metadata": {"name": "signing-cabundle", "namespace": "openshift-service-ca"},
            "data": {"ca-bundle.crt": signer().pem.decode()},
        },
    }
    return Snapshot(
        taken_at=day(taken),
        origin=Origin(name=f"cluster-{identity}"),
        objects={
            kind: (KubeObject({**objects[kind.name], "kind": kind.name}, kind),) if kind.name in objects else ()
            for kind in KINDS
        },
    )


@pytest.fixture
def now(tmp_path: Path) -> Path:
    save(snapshot(100, size=4096, since=50), tmp_path / "now")
    return tmp_path / "now"


def key_finding(call: Call, *arguments: object) -> dict[str, Any]:
    document = call("scan", *arguments, "--format", "json").document
    (found,) = [each for each in document["findings"] if each["rule"] == "pki-key"]
    return dict(found)


@pytest.mark.parametrize(
    ("earlier", "status", "told"),
    [
        (snapshot(40, size=2048, since=1), "pending-rotation", "RSA 2048 was required (the snapshot of 2026-02-10)"),
        (snapshot(40, size=3072, since=1), "violation", ""),
        # Configured after the signer was made: what held then is not known.
        (snapshot(40, size=3072, since=20), "pending-rotation", "is unknown (--previous)"),
    ],
)
def test_a_snapshot_tells_whether_it_was_right_once(
    call: Call, now: Path, tmp_path: Path, earlier: Snapshot, status: str, told: str
) -> None:
    save(earlier, tmp_path / "before")
    found = key_finding(call, "--snapshot", now, "--previous", tmp_path / "before")
    assert found["status"] == status
    assert found["evidence"][-1].endswith(told)


def test_without_one_it_is_not_known(call: Call, now: Path) -> None:
    assert key_finding(call, "--snapshot", now)["evidence"][-1].endswith("is unknown (--previous)")


def test_a_saved_scan_does_as_well_and_is_kept_for_whatif(call: Call, now: Path, tmp_path: Path) -> None:
    save(snapshot(40, size=3072, since=1), tmp_path / "before")
    call("scan", "--snapshot", tmp_path / "before", "--save", tmp_path / "then", "--format", "json")
    kept = tmp_path / "kept"
    found = key_finding(call, "--snapshot", now, "--previous", tmp_path / "then", "--save", kept)
    assert found["status"] == "violation"
    answer = call("whatif", kept, "--format", "json")
    assert answer.code == 0
    told = json.loads(answer.out)
    assert told["findings"] == {"failing": [], "undecided": [], "mended": []}


@pytest.mark.parametrize(
    ("earlier", "complaint"),
    [
        (snapshot(40, size=2048, since=1, identity="b"), "--previous has the cluster cluster-b, but this is cluster-a"),
        (snapshot(101, size=2048, since=1), "--previous is of 2026-04-12T00:00:00Z, later than the cluster"),
    ],
)
def test_another_cluster_and_a_later_one_are_refused(
    call: Call, now: Path, tmp_path: Path, earlier: Snapshot, complaint: str
) -> None:
    save(earlier, tmp_path / "before")
    assert_refused(call("scan", "--snapshot", now, "--previous", tmp_path / "before"), complaint)


def test_what_does_not_say_when_it_was_is_refused(call: Call, now: Path, tmp_path: Path) -> None:
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "pki.json").write_text("{}")
    assert_refused(
        call("scan", "--snapshot", now, "--previous", tmp_path / "manifests"),
        "neither a snapshot nor a saved scan of adhere",
    )


def test_a_snapshot_that_does_not_say_of_which_cluster_it_is_may_be_of_this_one(
    call: Call, now: Path, tmp_path: Path
) -> None:
    earlier = snapshot(40, size=2048, since=1)
    nameless = {kind: () if kind.name == "ClusterVersion" else each for kind, each in earlier.objects.items()}
    save(replace(earlier, objects=nameless), tmp_path / "before")
    found = key_finding(call, "--snapshot", now, "--previous", tmp_path / "before")
    assert found["status"] == "pending-rotation"
