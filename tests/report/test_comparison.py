"""Two results compared: what is new, fixed, changed, gone, and what can no longer be determined."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from copy import deepcopy
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.errors import InputError
from scanner.model.fingerprint import fingerprint
from scanner.model.lint_report import LintReport
from scanner.model.report import EndpointRow, FailOn, FindingRow, Report
from scanner.report import comparison
from scanner.report.comparison import Difference, compare, exit_code
from scanner.report.formats import json_document
from scanner.report.results import Results, of_scan, read_report
from scanner.report.rows import finding_row
from scanner.values import replace
from tests.report import cluster_samples, lint_samples
from tests.report.golden import assert_golden
from tests.report.samples import HOSTILE, finding
from tests.schemas import errors

ROWS = list(cluster_samples.rows())
OLD_VERSION = next(one for one in ROWS[3]["findings"] if one["rule"] == "tls-version")
COVERAGE = cluster_samples.report().coverage
DNS = "DaemonSet/openshift-dns/dns-default:9154"

Edit = Callable[[EndpointRow], EndpointRow | None]


def _results(
    rows: Iterable[EndpointRow] = ROWS, *, wide: Iterable[FindingRow] = (), stopped: str | None = None
) -> Results:
    found = of_scan("results.json", "2026-11-21T10:00:00Z", {**COVERAGE, "interrupted": stopped})
    found.add_endpoints(rows)
    found.add_findings(wide)
    return found


def _edited(edit: Edit, rows: Iterable[EndpointRow] = ROWS) -> list[EndpointRow]:
    return [kept for row in deepcopy(list(rows)) if (kept := edit(row)) is not None]


def _of_dns(**parts: Any) -> Edit:  # noqa: ANN401 - parts of the finding on its versions
    """Edit that finding of DNS on all of its replicas."""

    def edit(row: EndpointRow) -> EndpointRow:
        for one in row["findings"] if row["id"] == DNS else ():
            if one["rule"] == "tls-version":
                one.update(parts)  # type: ignore[typeddict-item] # parts of a finding
        return _rejudged(row)

    return edit


def _rejudged(row: EndpointRow) -> EndpointRow:
    verdicts = [one["verdict"] for one in row["findings"]]
    row["verdict"] = next((each for each in ("fail", "inconclusive", "pass") if each in verdicts), row["verdict"])
    row["status"] = next((one["status"] for one in row["findings"] if one["verdict"] == row["verdict"]), row["status"])
    return row


def _kinds(found: Difference) -> list[tuple[str, str, str]]:
    return [(each["change"], each["subject"], each["finding"]["rule"]) for each in found.findings]


def _text(found: Difference) -> str:
    out = StringIO()
    comparison.write_text(found, out, width=110)
    return out.getvalue()


def _document(found: Difference) -> dict[str, Any]:
    out = StringIO()
    comparison.write_json(found, out)
    document: dict[str, Any] = json.loads(out.getvalue())
    assert errors(document, "diff-v1") == []
    return document


def test_replaced_pods_other_addresses_and_other_times_make_no_difference() -> None:
    def moved(row: EndpointRow) -> EndpointRow:
        row["address"], row["node"] = "10.200.0.1", "another"
        row["instance"] = f"{row['id']} @ 10.200.0.1:{row['port']}"
        row["pod"] = {"kind": "Pod", "namespace": "x", "name": "web-77f9c-zzzzz"}
        for one in row["findings"]:
            one["message"] += " (2026-12-24 18:00 UTC)"
            one["observed"] = [f"{item}: accepted by 10.200.0.1:1" for item in one["observed"]]
            one["reproduce"] = one["fix"] = "ask 10.200.0.1"
        return row

    rows = _edited(moved)
    found = compare(_results(), _results([*reversed(rows), rows[3], rows[4]]))
    assert (found.findings, found.endpoints, found.gaps) == ([], [], [])
    assert found.unchanged == len(_results().entries) > 5


SUBSETS = st.lists(st.sampled_from(ROWS), max_size=20)


@given(rows=SUBSETS, wide=st.lists(st.sampled_from([finding_row(cluster_samples.DIFFER)]), max_size=1))
def test_results_do_not_differ_from_themselves(rows: list[EndpointRow], wide: list[FindingRow]) -> None:
    found = compare(_results(rows, wide=wide), _results(rows, wide=wide))
    assert (found.findings, found.endpoints) == ([], [])


@given(old=SUBSETS, new=SUBSETS)
def test_nothing_is_fixed_unless_its_rule_passes(old: list[EndpointRow], new: list[EndpointRow]) -> None:
    found = compare(_results(old), _results(new))
    assert not [each for each in found.findings if each["change"] == "fixed"]  # the rows of an id are equal
    assert {each["subject"] for each in found.endpoints} == {one["id"] for one in old} ^ {one["id"] for one in new}


def test_a_new_failure() -> None:
    worse = _edited(_of_dns(), ROWS)
    web = next(row for row in worse if row["id"] == "Deployment/openshift-ingress/router-default:1936")
    web["findings"] = [deepcopy(OLD_VERSION)]
    found = compare(_results(), _results(map(_rejudged, worse), wide=[]), "medium")
    assert _kinds(found) == [("new", web["id"], "tls-version")]
    assert [(one["change"], one["before"], one["after"]) for one in found.endpoints] == [("changed", "passes", "fails")]
    assert exit_code(found) == 1
    assert exit_code(replace(found, fail_on="critical")) == exit_code(replace(found, fail_on="never")) == 0


def test_a_fixed_failure() -> None:
    found = compare(_results(), _results(_edited(_of_dns(verdict="pass", status="ok", observed=[]))), "low")
    assert _kinds(found) == [("fixed", DNS, "tls-version")]
    assert exit_code(found) == 0


def test_a_failure_that_one_replica_still_has_is_not_fixed() -> None:
    rows = _edited(_of_dns(verdict="pass", status="ok", observed=[]))
    assert compare(_results(), _results([*rows, ROWS[3]])).findings == []


def test_a_failure_on_a_replica_that_can_no_longer_be_judged_is_not_fixed() -> None:
    rows = _edited(_of_dns(verdict="pass", status="ok", observed=[]))
    rows[5]["findings"] = [finding_row(cluster_samples.SILENT)]
    found = compare(_results(), _results(map(_rejudged, rows)), "low")
    assert _kinds(found) == [("undetermined", DNS, "tls-version"), ("undetermined", DNS, "tls-reach")]
    assert exit_code(found) == 3


def test_a_rule_that_is_not_applicable_any_more_has_fixed_nothing() -> None:
    found = compare(_results(), _results(_edited(_of_dns(verdict="not_applicable", status="informational"))), "low")
    assert ("undetermined", DNS, "tls-version") in _kinds(found)
    assert exit_code(found) == 3


@pytest.mark.parametrize(
    ("parts", "worse", "code"),
    [
        ({"severity": "critical"}, True, 1),
        ({"severity": "low"}, False, 0),
        ({"observed": [*OLD_VERSION["observed"], "SSLv3 (0x0300)"]}, True, 1),
        ({"observed": OLD_VERSION["observed"][:1]}, False, 0),
        ({"status": "waived", "waiver": "me until 2030-01-01"}, False, 0),
    ],
)
def test_a_changed_failure(parts: dict[str, object], worse: bool, code: int) -> None:
    found = compare(_results(), _results(_edited(_of_dns(**parts))), "medium")
    assert [(each["change"], each["worse"]) for each in found.findings] == [("changed", worse)]
    assert exit_code(found) == code


def test_a_waiver_that_ends_makes_a_new_failure() -> None:
    waived = _results(_edited(_of_dns(status="waived")))
    assert _kinds(compare(waived, _results())) == [("new", DNS, "tls-version")]


def test_what_a_baseline_knows_is_no_change() -> None:
    known = _results(_edited(_of_dns(status="known")))
    assert (compare(known, _results()).findings, compare(_results(), known).findings) == ([], [])


def test_an_endpoint_that_is_gone_has_fixed_nothing() -> None:
    found = compare(_results(), _results(_edited(lambda row: None if row["id"] == DNS else row)), "low")
    assert found.findings == []
    (gone,) = found.endpoints
    assert (gone["change"], gone["subject"], gone["findings"], gone["after"]) == ("gone", DNS, 1, None)
    assert exit_code(found) == 0


@pytest.mark.parametrize("wide", [True, False])
def test_what_a_stopped_scan_has_not_reached_is_neither_gone_nor_fixed(wide: bool) -> None:
    old = _results(wide=[cluster_samples.FINDING_ROW])
    rest = ROWS if wide else [row for row in ROWS if row["id"] != DNS]
    found = compare(old, _results(rest, stopped="SIGTERM"), "low")
    assert not [one for one in (*found.findings, *found.endpoints) if one["change"] in ("gone", "fixed")]
    assert found.undetermined
    assert exit_code(found) == 3
    assert "stopped by SIGTERM" in _text(found)


def test_a_cluster_wide_finding_is_fixed_only_where_its_endpoint_is_judged() -> None:
    old = _results(wide=[cluster_samples.FINDING_ROW])
    assert _kinds(compare(old, _results())) == [("fixed", DNS, "replicas-differ")]
    rows = _edited(_of_dns(verdict="inconclusive", status="unreachable"))
    assert ("undetermined", DNS, "replicas-differ") in _kinds(compare(old, _results(rows)))


def test_a_cluster_wide_finding_is_not_fixed_because_endpoints_are_gone() -> None:
    about: FindingRow = {**cluster_samples.FINDING_ROW, "about": "key 0a1b"}
    old, fewer = _results(wide=[about]), [row for row in ROWS if row["id"] != DNS]
    assert _kinds(compare(old, _results())) == [("fixed", "key 0a1b", "replicas-differ")]
    assert ("undetermined", "key 0a1b", "replicas-differ") in _kinds(compare(old, _results(fewer)))


def test_waivers_are_compared_without_their_line() -> None:
    told = finding("waiver-unused", "low", "fail", "x", evidence=("me until 2030-01-01: why (adhere.yaml:3:1)",))
    before, after = (finding_row(replace(told, about=f"adhere.yaml:{line}:1")) for line in (3, 9))
    assert fingerprint(before, "") == fingerprint(after, "")


# --- documents ------------------------------------------------------------------------------------------------------


def _kept(path: Path, report: Report) -> Results:
    with path.open("w") as out:
        json_document.write(report, out)
    return read_report(path)


def _linted(path: Path, report: LintReport) -> Results:
    with path.open("w") as out:
        json_document.write_lint(report, out)
    return read_report(path)


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    rows = ROWS[:-1]  # without the hostile one, whose lone surrogates JSON cannot have
    report = cluster_samples.report(rows)
    found = _kept(tmp_path / "report.json", report)
    assert found.shortfall
    direct = _results(rows, wide=report.findings)
    assert (found.entries, found.subjects) == (direct.entries, direct.subjects)


def test_lines_that_move_make_no_difference_to_lint(tmp_path: Path) -> None:
    report = lint_samples.every()
    before = _linted(tmp_path / "a.json", report)
    after = deepcopy(report)
    for one in after.every():
        if one["place"]:
            one["place"]["line"] += 7
            if (one["about"] or "").endswith(":1"):
                one["about"] = f"{one['place']['file']}:{one['place']['line']}:1"
    found = compare(before, _linted(tmp_path / "b.json", after))
    assert (found.findings, found.endpoints) == ([], [])
    assert found.unchanged > 3


def test_one_more_of_the_same_finding_on_a_field_is_worse(tmp_path: Path) -> None:
    report = lint_samples.every()
    before, after = _linted(tmp_path / "a.json", report), deepcopy(report)
    twice = next(one for one in after.objects[0]["findings"] if one["verdict"] == "fail")
    after.objects[0]["findings"].append(twice)
    found = compare(before, _linted(tmp_path / "b.json", after), "low")
    assert [(one["change"], one["worse"]) for one in found.findings] == [("changed", True)]


def test_the_schema_and_the_text(tmp_path: Path) -> None:
    """One of each kind, with hostile names."""
    old = _kept(tmp_path / "old.json", cluster_samples.report(ROWS[:-1]))
    rows = [row for row in _edited(_of_dns(verdict="pass", status="ok")) if row["owner"]["name"] != "db"]
    rows[-1]["findings"].append(finding_row(finding("tls-version", "high", "fail", HOSTILE, observed=(HOSTILE,))))
    found = compare(
        replace(old, source="old.json"), replace(_results(map(_rejudged, rows)), source="new.json"), "medium"
    )
    document = _document(found)
    assert document["summary"]["findings"]["new"] == 1
    assert document["exit"]["code"] == 1
    assert_golden("diff.txt", _text(found))


@pytest.mark.parametrize("severity", ["low", "medium", "high", "critical", "never"])
def test_formats_agree(severity: FailOn) -> None:
    found = compare(_results(ROWS[3:]), _results(ROWS[:-4]), severity)
    document, text = _document(found), _text(found)
    assert document["exit"]["reasons"] == " ".join(text[text.rindex("\nexit ") :].split())
    for kind, count in document["summary"]["findings"].items():
        assert f"{count} {'newly inconclusive' if kind == 'undetermined' else kind}" in text
    assert len(document["endpoints"]) == sum(document["summary"]["endpoints"].values())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", ":1:1: Expecting value"),
        ("[]", "not a JSON report"),
        ('{"schema": "adhere.whatif/v1"}', "not a JSON report"),
        ('{"schema": "adhere.scan-brief/v1"}', "written with --brief"),
        ('{"schema": "adhere.scan/v1", "started": 1}', "is missing"),
        ('{"schema": "adhere.lint/v1", "started": "", "unreadable": 1}', "findings is missing"),
        ("[" * 100_000, "not JSON"),
        ("\xff", "not JSON"),
    ],
)  # fmt: skip
def test_other_files_are_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError) as caught:
        read_report(path)
    assert problem in caught.value.message
    assert str(path) in caught.value.message


def test_an_unknown_severity_is_refused(tmp_path: Path) -> None:
    rows = deepcopy(ROWS[3:4])
    rows[0]["findings"][0]["severity"] = "awful"
    with pytest.raises(InputError, match="awful"):
        _kept(tmp_path / "report.json", replace(cluster_samples.report(), rows=lambda: iter(rows)))
