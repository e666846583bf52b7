"""Rotations of certificates that the exporter counts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from scanner.model.inventory import InventoryRow
from scanner.serve import exposition
from scanner.serve.exposition import Rotations
from tests.report import certificate_samples

START = datetime(2026, 11, 24, 12, tzinfo=UTC)
SIGNER, SERVING = ["etcd-signer"], ["etcd-server"]


def row(names: list[str], digest: str, issued: datetime = START, days: int = 90) -> InventoryRow:
    """A certificate that is valid for so many days."""
    dates = {"not_before": issued.isoformat(), "not_after": (issued + timedelta(days=days)).isoformat()}
    return {**next(certificate_samples.rows()), "names": names, "sha256": digest, **dates}  # type: ignore[typeddict-item]


def counts(rotations: Rotations) -> dict[str, float]:
    return {each.labels["certificate_name"]: each.value for each in rotations.family().samples}


def test_a_certificate_that_is_issued_and_new_under_a_known_name_is_a_rotation() -> None:
    rotations, before = Rotations(now=START), START - timedelta(days=1)
    rotations.see([row(SIGNER, "a"), row([], "of a user")], START)
    assert counts(rotations) == {"etcd-signer": 0}, "the first one is not a rotation"
    rotations.see([row(SIGNER, "b"), row(SIGNER, "b"), row(SERVING, "c")], START)
    assert counts(rotations) == {"etcd-signer": 1, "etcd-server": 0}, "replicas have the same one"
    rotations.see([row(SIGNER, "a"), row(SERVING, "d", before), row(SERVING, "c")], START)
    assert counts(rotations) == {"etcd-signer": 1, "etcd-server": 0}, "seen before, and only not seen before"
    rotations.see([], START)
    rotations.see([row(SERVING, "e")], START)
    assert counts(rotations) == {"etcd-signer": 1, "etcd-server": 1}


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exposition, "_MOST_KNOWN", 3)
    monkeypatch.setattr(exposition, "_MOST_SETS", 2)
    rotations = Rotations(now=START)
    for number in range(20):
        rotations.see([row(SIGNER, f"{number}", days=90 + number)], START)
    assert counts(rotations) == {"etcd-signer": 19}
    assert [sorted(each) for each in rotations._known.values()] == [["16", "17", "18", "19"]]
    rotations.see([row(SIGNER, "new", START + timedelta(days=200))], START + timedelta(days=200))
    assert [sorted(each) for each in rotations._known.values()] == [["new"]], "the others have expired"
    rotations.see([row(SERVING, "a"), row(["third"], "b"), row(SERVING, "c")], START)
    rotations.see([row(SERVING, "a"), row(["third"], "d"), row(SERVING, "c")], START)
    assert counts(rotations) == {"etcd-signer": 20, "etcd-server": 0}
