"""Metrics of a report: right numbers, bounded labels, and a file that node_exporter can read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from scanner import metrics
from scanner.cli.output import FORMATS, parse_outputs, write_reports
from scanner.model.inventory import InventoryRow, certificate_report
from scanner.model.report import Report
from scanner.pki.compliance import KEY
from scanner.values import replace
from tests.report import certificate_samples, cluster_samples, samples

ROOT = Path(__file__).parents[1]


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
        ("adhere_endpoint_reaches", {"reach": "plaintext", "outcome": "not_applicable", "standing": "user"}, 1),
        ("adhere_endpoint_reaches", {"reach": "filtered", "outcome": "inconclusive"}, 1),
        ("adhere_endpoint_reaches", {}, 23),
        ("adhere_forbidden_suite_endpoints", {"suite": "TLS_RSA_WITH_AES_128_CBC_SHA", "component": "router"}, 1),
        ("adhere_forbidden_suite_endpoints", {"suite": "TLS_RSA_WITH_AES_128_CBC_SHA", "component": ""}, 7),
        ("adhere_forbidden_group_endpoints", {}, 0),
        ("adhere_post_quantum_endpoints", {}, 22),  # without the port that answers in plaintext
        ("adhere_component_applied", {"component": "etcd"}, 1),
        ("adhere_component_applied", {"component": "dns"}, 0),
        ("adhere_component_excused", {"component": "dns"}, 0),
        ("adhere_component_applied", {"component": "router"}, 0),  # one of its two listeners does not follow
        ("adhere_component_applied", {"component": "oauth-server"}, 0),
        ("adhere_component_excused", {"component": "oauth-server"}, 1),  # a rollout in progress
        ("adhere_component_applied", {"component": "crio"}, 0),  # its profile is unknown
        ("adhere_component_excused", {"component": "crio"}, 0),
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
    components = {dict(has)["component"] for name, has in few if name == "adhere_endpoints"}
    assert components == {"", "etcd", "dns", "(others)"}, "workloads of users are no component"
    for name in ("adhere_component_listeners", "adhere_endpoints"):
        of_rest = _of(CLUSTER, name, component="(others)")
        assert of_rest > 0
        monkeypatch.setattr(metrics, "MOST_COMPONENTS", 500)
        total = _of(CLUSTER, name)
        monkeypatch.setattr(metrics, "MOST_COMPONENTS", 2)
        assert _of(CLUSTER, name) == total, "the rest is summed, not left out"
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
    report = replace(CLUSTER, cluster={"profile_changed": "2026-11-01T00:00:00Z"})
    names = {family.name for family in metrics.families(report, detail=True)}
    assert [name for name in sorted(names) if f"`{name}`" not in page and f"`{name}{{" not in page] == []


def _names(report: Report, family: str) -> list[dict[str, str]]:
    return [dict(has) for name, has in _samples(report) if name == family]


def test_undetermined_is_never_applied_and_never_silent() -> None:
    """Each component with a listener that must use TLS has a value, and only "yes" for all is 1."""
    listeners = {has["component"] for has in _names(CLUSTER, "adhere_component_listeners")}
    applied = {has["component"] for has in _names(CLUSTER, "adhere_component_applied")}
    assert listeners <= applied
    for name in applied:
        missing = _of(CLUSTER, "adhere_component_listeners", component=name, honours="not-determined")
        missing += _of(CLUSTER, "adhere_component_listeners", component=name, honours="no")
        assert _of(CLUSTER, "adhere_component_applied", component=name) == (0 if missing else 1), name


@pytest.mark.parametrize(
    ("statuses", "binding", "excused"),
    [
        (["waived"], "must-follow", 1),
        (["converging", "waived"], "settling", 1),
        (["converging", "violation"], "settling", 0),
        (["not-tested"], "settling", 0),  # a rollout does not explain that nothing answers
        ([], "settling", 0),
        (["violation"], "not-enforced", 1),
        (["unreachable"], "not-enforced", 1),
    ],
)
def test_a_component_is_excused_if_each_deviation_is(statuses: list[str], binding: str, excused: int) -> None:
    (row, *_) = [row for row in cluster_samples.rows() if row["component"] == "dns"]
    (finding, *_) = row["findings"]
    undetermined = ("not-tested", "converging", "unreachable")
    row["findings"] = [
        {**finding, "status": each, "verdict": "inconclusive" if each in undetermined else "fail"} for each in statuses
    ]
    row["binding"] = binding
    report = samples.report([row])
    assert _of(report, "adhere_component_applied", component="dns") == 0
    assert _of(report, "adhere_component_excused", component="dns") == excused


def test_the_time_of_the_change_of_the_profile() -> None:
    """Of several clusters the earliest: a change of one does not excuse another; no series if one is unknown."""
    name = "adhere_profile_changed_timestamp_seconds"
    first, last = {"profile_changed": "2026-11-01T00:00:00+00:00"}, {"profile_changed": "2026-11-02T00:00:00+00:00"}
    for cluster, at in (
        (first, 1),
        ({"clusters": [last, first]}, 1),
        ({"clusters": [last, first, {"name": "c"}]}, None),
        ({"profile_changed": "nonsense"}, None),
        ({"clusters": "nonsense"}, None),
        (None, None),
    ):
        report = replace(CLUSTER, cluster=cluster)  # type: ignore[arg-type]
        expected = [datetime(2026, 11, at, tzinfo=UTC).timestamp()] if at else []
        assert [value for (one, _), value in _samples(report).items() if one == name] == expected


def test_whether_a_post_quantum_group_is_accepted() -> None:
    """If the policy requires one, a failure observes what is missing."""
    (row, *_) = cluster_samples.rows()
    for verdict, expected, observed, ready in (
        ("pass", [], ["X25519MLKEM768 (0x11EC)"], "yes"),
        ("pass", [], [], "no"),
        ("inconclusive", [], [], "unknown"),
        ("pass", ["TLSv1.3 with X25519MLKEM768"], [], "yes"),
        ("fail", ["TLSv1.3 with X25519MLKEM768"], ["TLSv1.3 is refused"], "no"),
    ):
        finding = {**row["findings"][0], "rule": "tls-pq-readiness", "verdict": verdict}
        row["findings"] = [{**finding, "expected": expected, "observed": observed}]  # type: ignore[typeddict-item]
        (found,) = _names(samples.report([row]), "adhere_post_quantum_endpoints")
        assert found["ready"] == ready


def test_forbidden_parameters_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that most endpoints accept have a series; the sum stays the same."""
    monkeypatch.setattr(metrics, "MOST_FORBIDDEN", 2)
    rows = [row for row in cluster_samples.rows() if row["component"] == "dns"]
    for row, suites in zip(rows, (["A (0x0001) in TLSv1.2", "B in TLSv1.2"], ["A"], ["C", "and 3 more"]), strict=True):
        row["findings"] = [{**row["findings"][0], "rule": "tls-cipher-suite", "observed": suites}]
        row["observed"]["versions"] = None
    report = samples.report(rows)
    family = "adhere_forbidden_suite_endpoints"
    assert _of(report, family) == 5
    assert _of(report, family, suite="A", component="dns") == 2
    assert _of(report, family, component="(others)") == 2
    assert len(_names(report, family)) == 3


def test_a_suite_that_the_finding_does_not_list_has_a_series() -> None:
    """The server prefers the 50 that are listed to the worst one."""
    (row,) = [row for row in cluster_samples.rows() if row["component"] == "dns"][:1]
    rc4, allowed = "TLS_RSA_WITH_RC4_128_SHA", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
    suites = {"SSLv2": ["SSL_CK_RC4_128_WITH_MD5"], "TLSv1.2": [allowed, "A", "B", rc4]}
    row["observed"]["versions"] = {
        version: {"suites": each, "refused": [], "enumerated": True, "preference": "server", "groups": None}
        for version, each in suites.items()
    }
    finding = {**row["findings"][0], "rule": "tls-cipher-suite", "expected": [f"{allowed} (0xC02F)"]}
    row["findings"] = [{**finding, "observed": ["A in TLSv1.2", "B in TLSv1.2", "and 1 more"]}]  # type: ignore[typeddict-item]
    found = _names(samples.report([row]), "adhere_forbidden_suite_endpoints")
    assert {each["suite"] for each in found} == {"A", "B", rc4}


def test_the_certificate_that_ends_first_has_its_start() -> None:
    rows = [row for row in cluster_samples.rows() if row["component"] == "etcd"]
    for number, row in enumerate(rows):
        leaf = (row["observed"]["chain"] or [])[0]
        leaf["not_after"], leaf["not_before"] = f"2027-0{3 - number}-01T00:00:00Z", f"2026-0{3 - number}-01T00:00:00Z"
    assert _of(samples.report(rows), "adhere_certificate_not_before_timestamp_seconds") == 1767225600
    (rows[2]["observed"]["chain"] or [])[0]["not_before"] = None
    assert _names(samples.report(rows), "adhere_certificate_not_before_timestamp_seconds") == []


def test_single_endpoints_are_in_the_detail_only(monkeypatch: pytest.MonkeyPatch) -> None:
    family = "adhere_endpoint_outcome"
    assert _names(CLUSTER, family) == []
    out = StringIO()
    metrics.write_detail(CLUSTER, out)
    assert f'{family}{{component="dns",endpoint="DaemonSet/openshift-dns/dns-default:9154"' in out.getvalue()
    monkeypatch.setattr(metrics, "MOST_ENDPOINTS", 2)
    found = {each.name: each.samples for each in metrics.families(CLUSTER, detail=True)}
    assert {one.labels["outcome"] for one in found[family]} == {"fail"}
    assert len(found[family]) == 2
    assert found["adhere_endpoints_left_out"][0].value > 0


Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


def series(rows: Iterable[InventoryRow] | None = None) -> Series:
    """Every series of the written text; no series twice."""
    kept = list(certificate_samples.rows() if rows is None else rows)
    report = replace(CLUSTER, certificates=certificate_report(lambda: iter(kept), [], certificate_samples.NOW))
    out = StringIO()
    metrics.write(report, out)
    found = [one for family in text_string_to_metric_families(out.getvalue()) for one in family.samples]
    told = {(one.name, frozenset(one.labels.items())): one.value for one in found}
    assert len(told) == len(found)
    return told


def values(family: str, of: Series | None = None, /, **labels: str) -> list[float]:
    """Of the series of a family that have these labels."""
    every = series() if of is None else of
    wanted = frozenset(labels.items())
    return [
        value for (one, has), value in every.items() if one == f"openshift_pki_certificate_{family}" and wanted <= has
    ]


def test_the_enhancements_own_example() -> None:
    """Name, category, component and namespace as its "Metrics" section spells them."""
    labels = {
        "certificate_name": "kube-apiserver-lb-signer",
        "category": "SignerCertificate",
        "algorithm": "RSA",
        "key_size": "2048",
        "curve": "",
        "component": "kube-apiserver-operator",
        "namespace": "openshift-kube-apiserver-operator",
    }
    # What is empty is not written out: to Prometheus an empty label is none.
    found = [dict(has) for name, has in series() if name == "openshift_pki_certificate_info"]
    assert labels in found
    assert values("info", None, **labels) == [1]


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("etcd-server", {"category": "ServingCertificate", "algorithm": "ECDSA", "curve": "P384", "key_size": ""}),
        ("aggregator-client", {"category": "ClientCertificate", "algorithm": "RSA", "key_size": "4096", "curve": ""}),
        ("network.peer", {"category": "PeerCertificate", "component": "network-operator"}),
        ("csr-signer-ca", {"algorithm": "", "key_size": "", "curve": ""}),
    ],
)
def test_labels(name: str, labels: dict[str, str]) -> None:
    assert values("info", None, certificate_name=name, **labels) == [1]


def test_only_what_has_a_name_is_in_the_enhancements_families() -> None:
    names = {dict(has)["certificate_name"] for name, has in series() if name == "openshift_pki_certificate_info"}
    assert names == {each["names"][0] for each in certificate_samples.rows() if each["names"]}
    assert series()["adhere_pki_inventory_governed", frozenset({("governed", "no")})] == 3
    assert series()["adhere_pki_inventory_governed", frozenset({("governed", "unknown")})] == 1


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("etcd-signer", [0]),
        ("kube-apiserver-lb-server", [0]),  # pending: it is not yet what the present configuration asks for
        ("kube-apiserver-localhost-signer", [1]),
        ("aggregator-client", [1]),  # stronger
        ("csr-signer-ca", []),  # nobody can tell
        ("network.peer", []),  # nothing is required
    ],
)
def test_compliance(name: str, answer: list[float]) -> None:
    assert values("config_compliant", certificate_name=name) == answer


def test_of_replicas_the_worst_and_the_first_to_end() -> None:
    rows = [each for each in certificate_samples.rows() if each["names"] == ["etcd-server"]]
    found = series(rows)
    assert values("info", found) == [1]
    assert values("expiry_timestamp_seconds", found) == [certificate_samples.NOW.timestamp() + 1000 * 86400]
    assert values("config_compliant", found) == [1]
    rows[1]["findings"] = []
    assert values("config_compliant", series(rows)) == []
    rows[2]["findings"][0]["verdict"] = "fail"
    assert values("config_compliant", series(rows)) == [0]
    rows[0]["not_before"], rows[1]["not_before"] = "2026-01-01T00:00:00Z", "nonsense"
    assert values("not_before_timestamp_seconds", series(rows)) == [1767225600]
    assert series(rows)[
        "adhere_pki_certificates",
        frozenset(
            {("certificate_name", "etcd-server"), ("category", "ServingCertificate"), ("component", "etcd-operator"),
             ("namespace", "openshift-etcd"), ("status", "ok")}
        ),
    ] == 3  # fmt: skip


def test_a_name_that_is_not_certain_has_all_candidates() -> None:
    rows = [next(certificate_samples.rows())]
    rows[0]["names"] = ["etcd-signer", "etcd-metrics-signer"]
    assert values("info", series(rows), certificate_name="etcd-signer or etcd-metrics-signer") == [1]


def test_dates_that_cannot_be_read_have_no_series() -> None:
    rows = [next(certificate_samples.rows())]
    rows[0]["not_before"] = rows[0]["not_after"] = None
    found = series(rows)
    assert values("info", found) == [1]
    assert values("expiry_timestamp_seconds", found) == values("not_before_timestamp_seconds", found) == []


def test_series_are_bounded_and_what_matters_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "MOST_SERIES", 20)
    found = series(certificate_samples.many(500))
    assert len(values("info", found)) == 20
    assert values("config_compliant", found).count(0) == 5
    assert found["adhere_pki_series_left_out", frozenset()] == 480


def test_hostile_text_is_no_label() -> None:
    labels = {value for name, has in series() if "pki" in name for _, value in has}
    assert not [value for value in labels if not value.isascii() or not value.isprintable() or len(value) > 200]


def test_the_inventory_counts_what_users_have_too() -> None:
    found = series()
    counted = sum(value for (name, _), value in found.items() if name == "adhere_pki_inventory_certificates")
    assert counted == len(list(certificate_samples.rows()))
    assert found["adhere_pki_pending_until_timestamp_seconds", frozenset()] == 1796342400


def test_a_list_of_targets_has_none() -> None:
    report = replace(CLUSTER, certificates=None)
    assert not [each.name for each in metrics.families(report) if "pki" in each.name]


def test_the_rule_is_the_one_that_judges_keys() -> None:
    assert KEY.id == metrics._RULE
