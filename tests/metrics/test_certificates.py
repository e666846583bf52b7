"""Metrics of certificates: the enhancement's names, labels and values; what nobody can tell has no series."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from io import StringIO

import pytest
from prometheus_client.parser import text_string_to_metric_families

from scanner import metrics
from scanner.metrics import certificates
from scanner.model.inventory import InventoryRow, certificate_report
from scanner.pki.compliance import KEY
from tests.report import certificate_samples as samples
from tests.report import cluster_samples

Series = dict[tuple[str, frozenset[tuple[str, str]]], float]
REPORT = cluster_samples.report()


def series(rows: Iterable[InventoryRow] | None = None) -> Series:
    """Every series of the written text; no series twice."""
    kept = list(samples.rows() if rows is None else rows)
    report = replace(REPORT, certificates=certificate_report(lambda: iter(kept), [], samples.NOW))
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
    assert names == {each["names"][0] for each in samples.rows() if each["names"]}
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
    rows = [each for each in samples.rows() if each["names"] == ["etcd-server"]]
    found = series(rows)
    assert values("info", found) == [1]
    assert values("expiry_timestamp_seconds", found) == [samples.NOW.timestamp() + 1000 * 86400]
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
    rows = [next(samples.rows())]
    rows[0]["names"] = ["etcd-signer", "etcd-metrics-signer"]
    assert values("info", series(rows), certificate_name="etcd-signer or etcd-metrics-signer") == [1]


def test_dates_that_cannot_be_read_have_no_series() -> None:
    rows = [next(samples.rows())]
    rows[0]["not_before"] = rows[0]["not_after"] = None
    found = series(rows)
    assert values("info", found) == [1]
    assert values("expiry_timestamp_seconds", found) == values("not_before_timestamp_seconds", found) == []


def test_series_are_bounded_and_what_matters_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "MOST_SERIES", 20)
    found = series(samples.many(500))
    assert len(values("info", found)) == 20
    assert values("config_compliant", found).count(0) == 5
    assert found["adhere_pki_series_left_out", frozenset()] == 480


def test_hostile_text_is_no_label() -> None:
    labels = {value for name, has in series() if "pki" in name for _, value in has}
    assert not [value for value in labels if not value.isascii() or not value.isprintable() or len(value) > 200]


def test_the_inventory_counts_what_users_have_too() -> None:
    found = series()
    counted = sum(value for (name, _), value in found.items() if name == "adhere_pki_inventory_certificates")
    assert counted == len(list(samples.rows()))
    assert found["adhere_pki_pending_until_timestamp_seconds", frozenset()] == 1796342400


def test_a_list_of_targets_has_none() -> None:
    report = replace(REPORT, certificates=None)
    assert not [each.name for each in metrics.families(report) if "pki" in each.name]


def test_the_rule_is_the_one_that_judges_keys() -> None:
    assert KEY.id == certificates._RULE
