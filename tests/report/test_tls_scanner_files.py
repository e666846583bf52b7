"""The files of openshift/tls-scanner: its keys, columns and test names, and no pass for an undetermined listener."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from io import StringIO
from typing import Any, TextIO
from xml.etree import ElementTree as ET

import pytest

from scanner.model.endpoint import Owner
from scanner.model.expectation import Expectation
from scanner.model.finding import Finding, Status
from scanner.model.report import EndpointRow, Report
from scanner.report import COMPATIBLE_FORMATS
from scanner.report.formats import tls_scanner_files
from scanner.report.rows import endpoint_row
from scanner.values import replace
from tests.report import cluster_samples, samples
from tests.report.samples import finding

GATE = "[sig-security][OCPFeatureGate:TLSAdherence]"


def _written(write: Callable[[Report, TextIO], None], report: Report | None = None) -> str:
    out = StringIO()
    write(report or cluster_samples.report(), out)
    return out.getvalue()


def _ports(report: Report | None = None) -> dict[str, dict[str, Any]]:
    """Port results by listener."""
    document = json.loads(_written(tls_scanner_files.write_json, report))
    return {f"{host['ip']}:{port['port']}": port for host in document["ip_results"] for port in host["port_results"]}


def test_json_has_every_endpoint_under_its_address() -> None:
    document = json.loads(_written(tls_scanner_files.write_json))
    rows = list(cluster_samples.rows())
    assert document["total_ips"] == len({row["address"] for row in rows}) == len(document["ip_results"])
    assert len({each["ip"] for each in document["ip_results"]}) == document["total_ips"]
    assert sum(len(each["port_results"]) for each in document["ip_results"]) == len(rows)
    assert document["tls_security_config"]["tls_adherence"] == "StrictAllComponents"
    (dns,) = [each for each in document["ip_results"] if each["ip"] == "10.128.0.7"]
    assert dns["pod"] == {"Name": "dns-0", "Namespace": "openshift-dns", "IPs": ["10.128.0.7"]}
    assert dns["openshift_component"]["component"] == "dns"


def test_json_names_versions_suites_and_the_source_of_the_profile() -> None:
    ports = _ports()
    dns = ports["10.128.0.7:9154"]
    assert (dns["status"], dns["service"], dns["state"]) == ("OK", "ssl/tls", "open")
    assert dns["tls_versions"] == ["TLSv1.0", "TLSv1.1", "TLSv1.2"]
    assert "AES128-SHA" in dns["tls_ciphers"]
    assert dns["api_server_tls_config_compliance"]["version"] is False
    assert dns["tls_readiness"] == {
        "tls13_offered": False,
        "tls12_only": False,
        "pqc_capable": False,
        "mlkem_kems": [],
        "all_kems": [],
        "notes": "",
    }
    assert "ingress_tls_config_compliance" in ports["10.0.1.1:443"]


def test_what_was_not_determined_is_neither_ok_nor_without_tls() -> None:
    silent = _ports()["10.128.1.9:8443"]
    assert (silent["status"], silent["state"]) == ("UNDETERMINED", "filtered")
    assert "no answer" in silent["error"]
    assert "tls_versions" not in silent


def test_csv_has_the_39_columns_and_a_line_for_each_endpoint() -> None:
    lines = list(csv.DictReader(StringIO(_written(tls_scanner_files.write_csv))))
    assert len(lines) == len(list(cluster_samples.rows()))
    assert len(lines[0]) == 39
    by_place = {f"{each['IP']}:{each['Port']}": each for each in lines}
    dns = by_place["10.128.0.7:9154"]
    assert dns["TLS Version"] == "TLSv1.0, TLSv1.1, TLSv1.2"
    assert (dns["API MinVersion Compliance"], dns["API Cipher Compliance"]) == ("false", "true")
    assert dns["Ingress Configured Profile"] == dns["Process"] == "N/A"
    assert by_place["10.128.1.9:8443"]["Status"] == "UNDETERMINED"


def test_no_cell_is_a_formula() -> None:
    row = next(iter(cluster_samples.rows()))
    row["component"] = '=HYPERLINK("x")'
    (line,) = csv.DictReader(StringIO(_written(tls_scanner_files.write_csv, cluster_samples.report([row]))))
    assert line["Component Name"] == '\'=HYPERLINK("x")'


def _cases(report: Report | None = None) -> dict[str, ET.Element]:
    suite = ET.fromstring(_written(tls_scanner_files.write_junit, report))
    assert (suite.tag, suite.get("name")) == ("testsuite", "TLSSecurityScan")
    cases = {each.get("name", ""): each for each in suite}
    assert suite.get("tests") == str(len(cases))
    return cases


def _result(case: ET.Element) -> str:
    return next((each.tag for each in case), "pass")


def test_junit_has_a_test_for_each_workload_and_port_under_its_known_name() -> None:
    cases = _cases()
    name = f"{GATE} ns/openshift-dns daemonset/dns-default port/9154 should comply with the cluster TLS profile"
    assert cases[name].get("classname") == "openshift-dns/daemonset/dns-default"
    failure = cases[name].find("failure")
    assert failure is not None
    assert (failure.get("message"), failure.get("type")) == ("TLS Compliance Failed", "TLSComplianceCheck")
    assert "pod dns-0 (10.128.0.7:9154): it accepts versions below TLSv1.2" in (failure.text or "")
    assert f"{GATE} host/worker-0 port/10010 should comply with the cluster TLS profile" in cases
    assert "[sig-security] ns/shop deployment/web port/8443 TLS profile scan" in cases


def test_junit_passes_nothing_that_was_not_determined() -> None:
    results = {name: _result(case) for name, case in _cases().items()}
    assert results["[sig-security] ns/shop statefulset/db port/8443 TLS profile scan"] == "error"
    assert results[f"{GATE} host/worker-0 port/10010 should comply with the cluster TLS profile"] == "error"
    passed = {name for name, result in results.items() if result == "pass"}
    for row in cluster_samples.rows():
        if row["verdict"] == "inconclusive":
            assert not [name for name in passed if f"{row['owner']['name']} port/{row['port']} " in name]


@pytest.mark.parametrize(("verdict", "result"), [("fail", "failure"), ("inconclusive", "error"), ("pass", "pass")])
def test_required_ml_kem_is_a_test_of_its_own(verdict: str, result: str) -> None:
    where = cluster_samples.endpoint(Owner(kind="Deployment", namespace="shop", name="web"), 443, "10.0.0.1", None)
    ml_kem = finding("tls-pq-readiness", "high", verdict, "about ML-KEM")  # type: ignore[arg-type]
    row = endpoint_row(where, cluster_samples.USER, samples.speaking("x"), "pass", "ok", (*samples.PASSED, ml_kem))
    cases = _cases(cluster_samples.report([row]))
    name = "[sig-security] ns/shop deployment/web port/443 should be PQC ready with TLS 1.3 and ML-KEM"
    assert _result(cases[name]) == result
    informational = replace(ml_kem, status="informational", verdict="pass")
    row = endpoint_row(where, cluster_samples.USER, samples.speaking("x"), "pass", "ok", (informational,))
    assert name not in _cases(cluster_samples.report([row]))


WEB = "ns/shop deployment/web port/443"


def _tested(*findings: Finding, expectation: Expectation = cluster_samples.STRICT) -> EndpointRow:
    where = cluster_samples.endpoint(Owner(kind="Deployment", namespace="shop", name="web"), 443, "10.0.0.1", None)
    return endpoint_row(where, expectation, samples.speaking("x"), "pass", "ok", findings)


@pytest.mark.parametrize(
    ("findings", "missing"),
    [
        (samples.PASSED[1:], "tls-version"),
        (samples.PASSED[:1], "tls-cipher-suite"),
        ((), "tls-version and tls-cipher-suite"),
        ((finding("tls-version", "info", "inconclusive", "unclear"), samples.PASSED[1]), "tls-version"),
        ((finding("tls-version", "high", "fail", "m", status="waived"),), "tls-cipher-suite"),
    ],
)
def test_junit_passes_no_profile_of_which_a_rule_has_no_result(findings: tuple[Finding, ...], missing: str) -> None:
    expectations = {
        f"{GATE} {WEB} should comply with the cluster TLS profile": cluster_samples.STRICT,
        f"[sig-security] {WEB} TLS profile scan": cluster_samples.USER,
    }
    for name, expectation in expectations.items():
        case = _cases(cluster_samples.report([_tested(*findings, expectation=expectation)]))[name]
        assert _result(case) == "error"
        assert f"no result of {missing}: not determined, or switched off" in case[0].get("message", "")


@pytest.mark.parametrize(
    ("status", "waiver", "reason"),
    [
        ("waived", "ops: old clients, until 2027-01-31", "waived: ops: old clients, until 2027-01-31"),
        ("readiness", None, "profile not enforced: m"),
        ("informational", None, "m"),
        ("known", None, "known: m"),
    ],
)
def test_a_failure_that_does_not_count_is_skipped_with_its_reason(
    status: Status, waiver: str | None, reason: str
) -> None:
    excused = _tested(finding("tls-version", "high", "fail", "m", status=status, waiver=waiver), samples.PASSED[1])
    rows = [_tested(*samples.PASSED), excused, _tested(*samples.PASSED)]
    (case,) = _cases(cluster_samples.report(rows)).values()
    assert (_result(case), case[0].get("message")) == ("skipped", reason)


def test_required_ml_kem_without_a_result_is_an_error_at_every_severity() -> None:
    ml_kem = finding("tls-pq-readiness", "info", "inconclusive", "about ML-KEM")
    cases = _cases(cluster_samples.report([_tested(*samples.PASSED[:2], ml_kem)]))
    assert _result(cases[f"[sig-security] {WEB} should be PQC ready with TLS 1.3 and ML-KEM"]) == "error"


def test_a_scan_that_is_not_complete_is_an_error_of_its_own() -> None:
    good = [_tested(*samples.PASSED)]
    report = cluster_samples.report(good)
    assert "coverage" not in _cases(report)
    unread = replace(report, coverage={**report.coverage, "complete": False})
    empty = cluster_samples.report([])
    for each, said in (
        (cluster_samples.report(good, interrupted="SIGTERM"), "stopped by SIGTERM"),
        (unread, "routes.route.openshift.io"),
        (empty, "nothing was scanned"),
    ):
        case = _cases(each)["coverage"]
        assert _result(case) == "error"
        assert said in ET.tostring(case, "unicode")


def test_a_listener_without_tls_is_skipped() -> None:
    def plain_text(row: EndpointRow) -> EndpointRow:
        return {**row, "reach": "plaintext", "verdict": "not_applicable", "findings": [], "observed": {
            **row["observed"], "versions": None}}  # fmt: skip

    row = plain_text(next(iter(cluster_samples.rows())))
    (case,) = _cases(cluster_samples.report([row])).values()
    assert _result(case) == "skipped"
    assert _ports(cluster_samples.report([row])).popitem()[1]["status"] == "NO_TLS"


def test_the_files_have_the_names_that_its_users_read() -> None:
    names = [each.file_name for each in COMPATIBLE_FORMATS["tls-scanner"].values()]
    assert names == ["results.json", "results.csv", "junit_tls_scan.xml"]
