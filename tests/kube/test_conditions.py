"""When fields were last written, by ``managedFields``."""

from __future__ import annotations

from datetime import UTC, datetime

from scanner.kube.conditions import changed
from scanner.kube.kinds import API_SERVER
from scanner.kube.objects import KubeObject


def entry(time: object, **more: object) -> dict[str, object]:
    return {"time": time, "fieldsV1": {"f:spec": {"f:tlsSecurityProfile": {}}}, **more}


def at(*entries: dict[str, object]) -> datetime | None:
    metadata = {"generation": 2, "managedFields": list(entries)}
    return changed(KubeObject({"metadata": metadata}, API_SERVER), ("spec", "tlsSecurityProfile"))


def test_an_entry_without_a_valid_time_is_left_out() -> None:
    first, last = (datetime(2026, 11, day, tzinfo=UTC) for day in (1, 2))
    assert at(entry("never"), entry("2026-11-02T00:00:00Z"), entry(None), entry("2026-11-01T00:00:00Z")) == last
    assert at(entry("2026-11-01T00:00:00Z"), entry("2026-11-02T00:00:00Z", subresource="status")) == first
    assert at(entry("never"), entry(None)) is None


def test_where_no_field_is_meant_nothing_says_when_it_was_written() -> None:
    managed = [entry("2026-11-01T00:00:00Z")]
    assert changed(KubeObject({"metadata": {"generation": 2, "managedFields": managed}}, API_SERVER), ()) is None
