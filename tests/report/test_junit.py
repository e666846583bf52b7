"""JUnit: what fails is a failure, what is not known is an error, and names stay the same."""

from __future__ import annotations

from collections import Counter
from functools import cache
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from scanner.model.finding import Finding
from scanner.model.inventory import InventoryRow, certificate_report
from scanner.model.lint_report import LintReport
from scanner.model.report import EndpointRow, Report
from scanner.report.formats import junit
from scanner.report.rows import endpoint_row
from scanner.values import replace
from tests.report import certificate_samples, cluster_samples, lint_samples, samples
from tests.report.certificate_samples import VIOLATES
from tests.report.golden import assert_golden
from tests.report.samples import finding

if TYPE_CHECKING:
    from xmlschema import XMLSchema


def _text(report: Report) -> str:
    out = StringIO()
    junit.write(report, out)
    return out.getvalue()


def _root(report: Report) -> ElementTree.Element:
    return ElementTree.fromstring(_text(report).encode())


def _outcomes(*rows: EndpointRow) -> dict[str, str]:
    """Test name -> outcome, without the scan's own suite."""
    suites = _root(samples.report(list(rows))).findall("testsuite")[1:]
    return {case.get("name", ""): next((child.tag for child in case), "pass") for suite in suites for case in suite}


def _row(*findings: Finding, verdict: str = "fail", status: str = "violation") -> EndpointRow:
    return endpoint_row(*next(samples.parts())[:3], verdict, status, findings)  # type: ignore[arg-type]


def _errors(text: str) -> list[str | None]:
    """Jenkins' xUnit plugin refuses a file that it does not validate."""
    return [error.reason for error in _schema().iter_errors(text)]


@cache
def _schema() -> XMLSchema:
    import xmlschema  # takes a second

    return xmlschema.XMLSchema(Path(__file__).parent / "schemas/junit-10.xsd")


def _lint_text(report: LintReport) -> str:
    out = StringIO()
    junit.write_lint(report, out)
    return out.getvalue()


DOCUMENTS = {
    "targets": _text(samples.report(findings=(finding("x", "low", "fail", "of an object"),))),
    "cluster": _text(cluster_samples.report()),
    "nothing": _text(samples.report([])),
    "stopped": _text(samples.report(interrupted="SIGTERM")),
    "lint": _lint_text(lint_samples.every()),
    "hostile manifests": _lint_text(lint_samples.hostile()),
    "no manifests": _lint_text(lint_samples.report()),
}
EACH = pytest.mark.parametrize("text", DOCUMENTS.values(), ids=DOCUMENTS)


@EACH
def test_jenkins_takes_it(text: str) -> None:
    assert _errors(text) == []


@pytest.mark.parametrize("attribute", ["timestamp", "skipped"])
def test_the_schema_of_jenkins_refuses_what_it_does_not_know(attribute: str) -> None:
    text = DOCUMENTS["cluster"].replace("<testsuites ", f'<testsuites {attribute}="1" ')
    assert _errors(text) == [f"'{attribute}' attribute not allowed for element"]


@EACH
def test_every_error_has_a_reason_and_a_fix_and_every_case_a_time(text: str) -> None:
    root = ElementTree.fromstring(text.encode())
    for error in root.iter("error"):
        lines = (error.text or "").splitlines()
        assert error.get("message")
        assert len(lines) >= 2
        assert [line for line in lines if line.startswith("fix: ") and len(line) > 20]
    assert sum(float(case.attrib["time"]) for case in root.iter("testcase")) == float(root.attrib["time"])
    for suite in root:
        assert sum(float(case.attrib["time"]) for case in suite.iter("testcase")) == float(suite.attrib["time"])


def test_what_was_not_read_is_in_the_error_of_the_coverage() -> None:
    (error,) = [each for each in _root(cluster_samples.report()).iter("error") if each.get("type") == "coverage"]
    assert "not read: routes.route.openshift.io" in (error.text or "")
    assert "adhere rbac prints the role" in (error.text or "")


def test_golden() -> None:
    assert_golden("report.xml", _text(samples.report()))


def test_counts_agree_with_the_cases() -> None:
    root = _root(samples.report(findings=(finding("x", "low", "fail", "of an object"),)))
    total: Counter[str] = Counter()
    for suite in root:
        seen = Counter(next((child.tag for child in case), "pass") for case in suite.findall("testcase"))
        assert suite.attrib["tests"] == str(seen.total())
        assert (suite.get("failures"), suite.get("errors"), suite.get("skipped")) == tuple(
            str(seen[tag]) for tag in ("failure", "error", "skipped")
        )
        total += seen
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == (
        str(total.total()), *(str(total[tag]) for tag in ("failure", "error"))
    )  # fmt: skip


@pytest.mark.parametrize(
    ("one", "outcome"),
    [
        (finding("r", "high", "fail", "m"), "failure"),
        (finding("r", "high", "inconclusive", "m"), "error"),
        (finding("r", "info", "inconclusive", "m"), "skipped"),
        (finding("r", "high", "not_applicable", "m"), "skipped"),
        (finding("r", "high", "pass", "m"), "pass"),
        (finding("r", "high", "fail", "m", status="waived"), "skipped"),
        (finding("r", "high", "fail", "m", status="readiness"), "skipped"),
        (finding("r", "high", "fail", "m", status="converging"), "skipped"),
    ],
)
def test_outcomes(one: Finding, outcome: str) -> None:
    status = "readiness" if one.status in {"readiness", "waived", "converging"} else one.status
    assert _outcomes(_row(one, verdict=one.verdict if one.severity != "info" else "pass", status=status)) == {
        "r": outcome
    }


@pytest.mark.parametrize(("verdict", "outcome"), [("fail", "failure"), ("inconclusive", "error"), ("pass", "pass")])
def test_an_endpoint_whose_findings_do_not_say_its_verdict_still_gets_it(verdict: str, outcome: str) -> None:
    """A rule that forgot to explain itself must not turn a build green."""
    assert _outcomes(_row(verdict=verdict))["verdict"] == outcome
    quiet = _outcomes(_row(finding("r", "high", "pass", "m"), verdict=verdict))
    assert quiet.get("verdict", "pass") == outcome


def test_replicas_are_one_case_and_the_worst_decides() -> None:
    good, bad = _row(finding("r", "high", "pass", "fine"), verdict="pass"), _row(finding("r", "high", "fail", "broken"))
    bad["instance"] = "the bad one"
    for rows in ([good, bad], [bad, good], [good, _row(finding("q", "low", "pass", "m"), verdict="pass"), bad]):
        assert _outcomes(*rows)["r"] == "failure"
    (failure,) = _root(samples.report([good, bad])).iter("failure")
    assert failure.get("message") == "broken"
    assert "the bad one" in (failure.text or "")


def test_two_findings_of_one_rule_are_one_case() -> None:
    row = _row(finding("r", "low", "fail", "leaf"), finding("r", "low", "fail", "intermediate"))
    (failure,) = _root(samples.report([row])).iter("failure")
    assert "leaf" in (failure.text or "")
    assert "intermediate" in (failure.text or "")


def _certificates(*rows: InventoryRow, findings: tuple[Finding, ...] = ()) -> ElementTree.Element:
    """The document of a scan that saw these certificates and no endpoint."""
    found = certificate_report(lambda: iter(rows), [], certificate_samples.NOW)
    return _root(replace(samples.report([], findings=findings), certificates=found))


def test_certificates_with_well_known_names_are_cases_of_one_suite() -> None:
    (suite,) = [each for each in _root(cluster_samples.report()) if each.get("name") == "certificates"]
    cases: dict[str | None, list[ElementTree.Element]] = {}
    for case in suite:
        cases.setdefault(case.get("classname"), []).append(case)
    (failure,) = cases["certificate/etcd-signer"][0].iter("failure")
    assert failure.get("message") == certificate_samples.VIOLATES.message
    assert "delete Secret openshift-etcd/etcd-signer" in (failure.text or "")
    assert "component: etcd-operator" in (failure.text or "")
    outcomes = {
        name: [child.tag for case in cases[f"certificate/{name}"] for child in case]
        for name in ("kube-apiserver-lb-server", "csr-signer-ca", "etcd-server", "network.peer")
    }
    assert outcomes == {
        "kube-apiserver-lb-server": ["skipped"],  # pending
        "csr-signer-ca": ["error"],
        "etcd-server": [],
        "network.peer": ["skipped"],  # nothing is required of it
    }
    assert not [name for name in cases if name and "shop.example" in name]


def test_of_certificates_with_one_name_the_worst_decides_and_texts_are_bounded() -> None:
    rows = [certificate_samples.row("etcd-server", "serving", certificate_samples.P384, 9, certificate_samples.MET)]
    rows = [*rows * 150, certificate_samples.row("etcd-server", "serving", certificate_samples.RSA2, 9, VIOLATES)]
    (failure,) = _certificates(*rows).iter("failure")
    assert failure.get("message") == VIOLATES.message
    assert (failure.text or "").endswith("and 51 more, in the JSON report")
    assert "delete Secret" in (failure.text or "")


def test_a_certificate_that_nobody_judged_takes_nothing_from_one_that_passed() -> None:
    judged = certificate_samples.row("etcd-server", "serving", certificate_samples.P384, 9, certificate_samples.MET)
    for rows in ((judged, {**judged, "findings": []}), ({**judged, "findings": []}, judged)):
        cases = {case.get("name"): [child.tag for child in case] for case in _certificates(*rows)[1].iter("testcase")}
        assert cases == {"pki-key": [], "verdict": ["skipped"]}


def test_what_is_said_of_a_certificate_is_said_once() -> None:
    others = finding("pki-object", "medium", "fail", "the PKI object is odd")
    row = certificate_samples.row("etcd-signer", "signer", certificate_samples.RSA2, 9, VIOLATES)
    root = _certificates(row, findings=(VIOLATES, others))
    assert [suite.get("name") for suite in root] == ["adhere", "objects", "certificates"]
    assert [failure.get("message") for failure in root.iter("failure")] == ["the PKI object is odd", VIOLATES.message]


def test_the_sums_of_the_inventory_are_properties() -> None:
    told = {each.get("name"): each.get("value") for each in _root(cluster_samples.report())[0].iter("property")}
    assert told["certificates"] == "17"
    assert told["certificates.pending-rotation"] == "1"
    assert told["certificates.pending-until"] == "2026-12-04T00:00:00Z"
    assert told["certificates.signer.RSA 4096"] == "2"


@pytest.mark.parametrize(
    ("report", "message"),
    [
        (samples.report([], interrupted="SIGTERM"), "stopped by SIGTERM: 0 judged, 0 in progress, 0 not started"),
        (samples.report([]), "nothing was scanned"),
        (samples.report(), "not complete: 10 of 15 endpoints judged"),
    ],
)
def test_a_scan_that_is_not_whole_is_not_green(report: Report, message: str) -> None:
    (error,) = _root(report)[0].iter("error")
    assert error.get("message") == message


def test_a_whole_scan_is_green() -> None:
    assert _root(samples.report([_row(verdict="pass", status="ok")])).get("errors") == "0"


def test_names_do_not_depend_on_the_rest() -> None:
    """CI systems compare runs by class name and name."""
    names = [(case.get("classname"), case.get("name")) for case in _root(samples.report()).iter("testcase")]
    assert len(names) == len(set(names))
    assert ("legacy.demo.example:8442", "tls-version") in names


def test_hostile_text_is_well_formed_xml_and_no_command() -> None:
    text = _text(samples.report())
    assert "\\x1b[31mred" in text
    assert "::error" not in text
    assert "##vso[" not in text
    (failure,) = [
        one for one in ElementTree.fromstring(text.encode()).iter("failure") if one.get("type") == "cert-name"
    ]
    assert "<script>alert('x')</script>" in (failure.text or "")


@pytest.mark.parametrize("started", ["2026-11-21T09:59:58Z", "nonsense", "2026-11-21T09:59:58"])
def test_any_timestamp_is_survived(started: str) -> None:
    report = replace(samples.report([]), started=started)
    assert _root(report).get("time") == ("5.000" if started.endswith("Z") else "0.000")


def test_suites_of_a_cluster_name_component_and_owner() -> None:
    root = _root(cluster_samples.report())
    suites = {suite.get("name"): suite for suite in root}
    etcd = suites["Pod/openshift-etcd/etcd:2379"]
    assert etcd.get("package") == "etcd"
    told = {one.get("name"): one.get("value") for one in etcd.iter("property")}
    assert told == {"component": "etcd", "owner": "Pod openshift-etcd/etcd", "standing": "platform"}
    assert etcd[0].tag == "properties"
    assert suites["Deployment/shop/web:8443"].get("package") == "Deployment shop/web"


def test_a_finding_about_replicas_is_a_case_of_their_id() -> None:
    (case,) = [one for one in _root(cluster_samples.report()).iter("testcase") if one.get("name") == "replicas-differ"]
    assert case.get("classname") == "DaemonSet/openshift-dns/dns-default:9154"
    assert case[0].tag == "failure"
