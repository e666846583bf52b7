"""Metrics of a report: right numbers, bounded labels, and a file that node_exporter can read."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from scanner import metrics
from scanner.cli.output import FORMATS, parse_outputs, write_reports
from scanner.model.report import Report
from tests.report import cluster_samples, samples

ROOT = Path(__file__).parents[2]


def _samples(report: Report) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Every series of the written text, read by the client's own parser; no series twice."""
    out = StringIO()
    metrics.write(report, out)
    found = [one for family in text_string_to_metric_families(out.getvalue()) for one in family.samples]
    series = {(one.name, tuple(sorted(one.labels.items()))): one.value for one in found}
    assert len(series) == len(found)
    return series


def _of(report: Report, name: str, **labels: str) -> float:
    """The sum of the series that have these labels."""
    wanted = labels.items()
    return sum(value for (one, has), value in _samples(report).items() if one == name and wanted <= dict(has).items())


CLUSTER = cluster_samples.report()


@pytest.mark.parametrize(
    ("name", "labels", "value"),
    [
        ("adhere_endpoints", {"verdict": "pass", "component": "etcd"}, 3),
        ("adhere_endpoints", {"verdict": "fail", "component": "etcd"}, 0),
        ("adhere_endpoints", {"verdict": "fail", "standing": "platform"}, 5),
        ("adhere_endpoints", {}, 23),
        ("adhere_endpoint_statuses", {"status": "readiness"}, 7),
        ("adhere_accepting_endpoints", {"version": "TLSv1", "component": "dns"}, 3),
        ("adhere_accepting_endpoints", {"version": "SSLv3"}, 0),
        ("adhere_component_listeners", {"component": "router", "honours": "no"}, 1),
        ("adhere_component_listeners", {"component": "router", "honours": "yes"}, 1),
        ("adhere_component_listeners", {"component": "namespace openshift-logging", "standing": "layered"}, 1),
        ("adhere_endpoints", {"component": "namespace openshift-logging", "verdict": "pass"}, 1),
        ("adhere_endpoints", {"component": "", "standing": "layered"}, 0),
        ("adhere_component_listeners", {"component": "namespace shop"}, 0),
        ("adhere_findings", {"rule": "tls-version", "severity": "high", "status": "violation"}, 3),
        ("adhere_findings", {"rule": "tls-cipher-suite", "status": "readiness"}, 7),
        ("adhere_findings", {"rule": "replicas-differ"}, 1),
        ("adhere_counted_findings", {"severity": "high"}, 3),
        ("adhere_coverage_endpoints", {"state": "discovered"}, 45),
        ("adhere_coverage_endpoints", {"state": "left_out"}, 16),
        ("adhere_coverage_endpoints", {"state": "undetermined"}, 2),
        ("adhere_unreadable_resources", {"gap": "forbidden"}, 1),
        ("adhere_scan_duration_seconds", {}, 3),
        ("adhere_scan_connections", {}, CLUSTER.summary.connections),
        ("adhere_scan_complete", {}, 0),
        ("adhere_scan_info", {"cluster": "prod-eu", "mode": "inventory"}, 1),
    ],
)  # fmt: skip
def test_values(name: str, labels: dict[str, str], value: float) -> None:
    assert _of(CLUSTER, name, **labels) == value


def test_of_replicas_the_certificate_that_ends_first() -> None:
    rows = [row for row in cluster_samples.rows() if row["component"] == "etcd"]
    for number, row in enumerate(rows):
        (row["observed"]["chain"] or [])[0]["not_after"] = f"2027-0{3 - number}-01T00:00:00Z"
    found = {key: value for key, value in _samples(samples.report(rows)).items() if "not_after" in key[0]}
    assert list(found.values()) == [datetime(2027, 1, 1, tzinfo=UTC).timestamp()]


def test_labels_are_bounded_and_no_address_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = {value for _, has in _samples(CLUSTER) for _, value in has}
    assert max(map(len, labels)) <= 200
    assert not [value for value in labels if not value.isascii() or not value.isprintable()]
    assert not [value for value in labels if "10.128." in value or "10.0." in value]
    monkeypatch.setattr(metrics, "MOST_COMPONENTS", 2)
    monkeypatch.setattr(metrics, "MOST_CERTIFICATES", 3)
    few = _samples(CLUSTER)
    assert {dict(has)["component"] for name, has in few if name == "adhere_endpoints"} == {"etcd", "dns", "(others)"}
    assert len([name for name, _ in few if "not_after" in name]) == 3
    assert _of(CLUSTER, "adhere_certificates_left_out") == 8


def test_two_long_names_are_not_the_same_series_twice() -> None:
    rows = [row for row in cluster_samples.rows() if row["component"] == "etcd"][:2]
    for number, row in enumerate(rows):
        row["component"] = row["id"] = "x" * 300 + str(number)
    assert _of(samples.report(rows), "adhere_component_listeners") == 2


def test_a_list_of_targets_and_an_empty_scan() -> None:
    assert _of(samples.report(), "adhere_endpoints") == 15
    empty = replace(samples.report([]), started="nonsense")
    assert _of(empty, "adhere_endpoints") == 0
    assert _of(empty, "adhere_scan_complete") == 1


def test_any_timestamp_is_survived() -> None:
    rows = list(cluster_samples.rows())[:3]
    for row, text in zip(rows, ("nonsense", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"), strict=True):
        (row["observed"]["chain"] or [])[0]["not_after"] = text
        row["id"] = text
    assert len([name for name, _ in _samples(samples.report(rows)) if "not_after" in name]) == 2


def test_a_collector_reads_nothing_before_it_is_asked() -> None:
    def unread() -> object:
        raise AssertionError("rows were read")

    assert metrics.ReportCollector(replace(CLUSTER, rows=unread)).describe() == []  # type: ignore[arg-type]


def test_the_file_is_whole_and_readable_whatever_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "adhere.prom"
    before = os.umask(0o077)
    try:
        write_reports(CLUSTER, parse_outputs([f"metrics={path}"]), FORMATS, quiet=True)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert path.read_text().endswith("\n")
    assert list(tmp_path.iterdir()) == [path]


def test_every_family_is_documented() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text()
    names = {family.name for family in metrics.families(CLUSTER)}
    assert [name for name in sorted(names) if f"`{name}`" not in page and f"`{name}{{" not in page] == []
