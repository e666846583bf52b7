"""What was configured before: by earlier snapshots, and at installation."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from scanner.kube.kinds import PKI
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Origin, Snapshot, Unreadable
from scanner.model.key import Key
from scanner.pki import governing
from scanner.pki.governing import Governing
from scanner.pki.history import in_force, past
from scanner.pki.resolution import required

HOUR = timedelta(hours=1)


def day(number: int) -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number)


def pki(size: int, since: int) -> dict[str, Any]:
    return {
        "metadata": {"name": "cluster", "creationTimestamp": day(since).isoformat()},
        "spec": {"defaults": {"key": {"algorithm": "RSA", "rsa": {"keySize": size}}}},
    }


def snapshot(taken: int, **objects: dict[str, Any]) -> Snapshot:
    """With the objects of some kinds, by the kinds' names."""
    return Snapshot(
        taken_at=day(taken),
        origin=Origin(name="test"),
        objects={
            kind: (KubeObject(objects[kind.name], kind),) if kind.name in objects else () for kind in governing.READS
        },
    )


def asked(history: tuple[Any, ...], at: datetime) -> object:
    found = in_force(history, at, HOUR)
    return None if found is None else required(found.config, "serving").key


NOW = snapshot(100, PKI=pki(4096, 90))


def test_a_snapshot_tells_from_its_last_change_to_its_own_moment() -> None:
    history = past([snapshot(40, PKI=pki(3072, 10))], NOW)
    assert [asked(history, day(number)) for number in (9, 11, 40, 41)] == [
        None, Key(algorithm="RSA", size=3072), Key(algorithm="RSA", size=3072), None,
    ]  # fmt: skip
    assert asked(history, day(10) - HOUR / 2) == Key(algorithm="RSA", size=3072)  # back-dated


def test_several_snapshots_tell_of_several_times() -> None:
    history = past([snapshot(60, PKI=pki(3072, 50)), snapshot(40, PKI=pki(2048, 10))], NOW)
    sizes = [getattr(asked(history, day(number)), "size", None) for number in (20, 45, 55)]
    assert sizes == [2048, None, 3072]


def test_without_an_object_it_was_always_so() -> None:
    history = past([snapshot(40)], NOW)
    found = in_force(history, day(-1000), HOUR)
    assert found is not None
    assert (found.config.reason, found.said) == ("absent", "the snapshot of 2026-02-10")
    assert in_force(history, day(41), HOUR) is None


def test_what_could_not_be_read_then_tells_nothing() -> None:
    before = snapshot(40, PKI=pki(2048, 10))
    gap = Unreadable(kind=PKI, gap="forbidden", reason="403")
    hidden = Snapshot(
        taken_at=before.taken_at, origin=before.origin, objects={**before.objects, PKI: ()}, unreadable={PKI: gap}
    )
    assert past([hidden], NOW) == ()
    never_asked = Snapshot(taken_at=before.taken_at, origin=before.origin, objects={})
    assert past([never_asked], NOW) == ()
    undated = {**pki(2048, 10), "metadata": {"name": "cluster"}}
    assert past([snapshot(40, PKI=undated)], NOW) == ()


INSTALL_CONFIG = "pki: {signerCertificates: {key: {algorithm: RSA, rsa: {keySize: 4096}}}}\nfeatureSet: x\n"
INSTALLED = {
    "ConfigMap": {
        "metadata": {"name": "cluster-config-v1", "namespace": "kube-system"},
        "data": {"install-config": INSTALL_CONFIG},
    },
    "Namespace": {"metadata": {"name": "kube-system", "creationTimestamp": day(0).isoformat()}},
}


@pytest.mark.parametrize(("hours", "known"), [(-30, False), (-12, True), (12, True), (30, False)])
def test_the_install_config_tells_of_the_day_of_installation(hours: int, known: bool) -> None:
    history = past([], snapshot(100, PKI=pki(2048, 90), **INSTALLED))
    found = in_force(history, day(0) + timedelta(hours=hours), HOUR)
    assert (found is not None) == known
    if found:
        assert required(found.config, "signer").key == Key(algorithm="RSA", size=4096)


def test_a_snapshot_of_that_day_counts_before_the_install_config() -> None:
    history = past([snapshot(1, PKI=pki(3072, 0))], snapshot(100, PKI=pki(2048, 90), **INSTALLED))
    found = in_force(history, day(0) + HOUR, HOUR)
    assert found is not None
    assert required(found.config, "signer").key == Key(algorithm="RSA", size=3072)


def test_what_governs_has_its_history() -> None:
    found = Governing(NOW, earlier=(snapshot(40, PKI=pki(3072, 10)),))
    assert [each.until for each in found.of("openshift-etcd").history] == [day(40)]
    gone = Governing(snapshot(100), earlier=(snapshot(40, PKI=pki(3072, 10)),))
    assert gone.own.reason == "deleted"
