"""Reports for clusters: unknown is an error, results are known again, and every report fits into etcd."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest

from scanner.model.finding import Status, Verdict
from scanner.model.report import Report
from scanner.report.escape import plain
from scanner.report.formats import policy_reports
from scanner.values import replace
from tests.report import cluster_samples, samples
from tests.report.sample_reports import row
from tests.report.samples import HOSTILE, finding
from tests.schemas import errors

TEXT = {"type": "string"}
RESULT = {  # the schema of both definitions, which tests/e2e applies to a real API server
    "type": "object",
    "required": ["policy"],
    "additionalProperties": False,
    "properties": {
        **dict.fromkeys(("policy", "rule", "category", "source", "message"), TEXT),
        "severity": {"enum": ["critical", "high", "low", "medium", "info"]},
        "result": {"enum": ["pass", "fail", "warn", "error", "skip"]},
        "scored": {"type": "boolean"},
        "timestamp": {
            "type": "object",
            "required": ["nanos", "seconds"],
            "additionalProperties": False,
            "properties": {"nanos": {"type": "integer"}, "seconds": {"type": "integer"}},
        },
        "properties": {"type": "object", "additionalProperties": TEXT},
    },
}
RESULTS = {"type": "array", "items": RESULT}
REPORTS = {"targets": samples.report(), "cluster": cluster_samples.report(), "nothing": samples.report([])}


def items(report: Report, *, old: bool = False) -> list[dict[str, Any]]:
    out = StringIO()
    (policy_reports.write_policy_reports if old else policy_reports.write)(report, out)
    document = json.loads(out.getvalue())
    assert (document["apiVersion"], document["kind"]) == ("v1", "List")
    return list(document["items"])


def results(report: Report) -> list[dict[str, Any]]:
    return [each for item in items(report) for each in item["results"]]


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
@pytest.mark.parametrize("old", [False, True])
def test_results_are_valid_and_the_summary_counts_them(report: Report, *, old: bool) -> None:
    found = items(report, old=old)
    for each in found:
        assert errors(each["results"], RESULTS) == []
        for name, count in each["summary"].items():
            assert sum(one["result"] == name for one in each["results"]) == count
        assert each["kind"].endswith("Report")
        assert each["kind"].startswith("Cluster") == ("namespace" not in each["metadata"])
        assert ("source" in each) != old
        assert each["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "adhere"}
    names = [(each["metadata"].get("namespace"), each["metadata"]["name"]) for each in found]
    assert len(set(names)) == len(names)


def test_each_object_has_a_report() -> None:
    report = cluster_samples.report()
    scopes = {(each["scope"]["kind"], each["scope"]["name"]) for each in items(report) if "scope" in each}
    assert scopes == {(row["owner"]["kind"], plain(row["owner"]["name"], 253)) for row in report.rows()}
    assert "scope" not in items(report)[0], "the first is the cluster's"
    assert {each["rule"] for each in items(report)[0]["results"]} >= {"coverage"}


@pytest.mark.parametrize(
    ("verdict", "status", "result", "scored"),
    [
        ("pass", "ok", "pass", True),
        ("fail", "violation", "fail", True),
        ("fail", "waived", "warn", False),
        ("fail", "readiness", "warn", False),
        ("inconclusive", "not-tested", "error", True),
        ("not_applicable", "not-tls", "skip", True),
    ],
)
def test_results(verdict: Verdict, status: Status, result: str, *, scored: bool) -> None:
    judged = finding("r", "high", verdict, "m", status=status, waiver="until 2027" if status == "waived" else None)
    (one,) = [each for each in results(samples.report([row("a:1", judged, verdict=verdict)])) if each["rule"] == "r"]
    assert (one["result"], one["scored"]) == (result, scored)
    assert one["properties"].get("waiver") == ("until 2027" if status == "waived" else None)


def test_an_endpoint_without_a_finding_of_its_verdict_is_an_error() -> None:
    passed = finding("r", "high", "pass", "m")
    found = results(samples.report([row("a:1", passed, verdict="inconclusive"), row("b:1", verdict="inconclusive")]))
    said = sorted((each["rule"], each["result"]) for each in found if each["rule"] != "coverage")
    assert said == [("r", "pass"), ("verdict", "error"), ("verdict", "error")]


def test_a_result_is_known_again() -> None:
    now, later = cluster_samples.report(), replace(cluster_samples.report(), finished="2027-01-01T00:00:00Z")

    def timeless(report: Report) -> list[dict[str, Any]]:
        found = items(report)
        for each in (one for item in found for one in item["results"]):
            del each["timestamp"]
        return found

    assert timeless(now) == timeless(later)
    assert items(now) != items(later)


def test_replicas_share_a_result_with_the_worst_one() -> None:
    good, bad = finding("r", "high", "pass", "m"), finding("r", "high", "fail", "bad")
    same = [row("a:1", good, verdict="pass", number=1), row("a:1", bad, number=2), row("a:1", good, number=3)]
    found = [each for each in results(samples.report(same)) if each["rule"] == "r"]
    assert [(each["result"], each["message"]) for each in found] == [("fail", "bad")]


@pytest.mark.parametrize("status", ["waived", "known", "readiness"])
def test_a_failure_that_does_not_count_hides_nothing_unknown(status: Status) -> None:
    excused, unknown = finding("r", "high", "fail", "m", status=status), finding("r", "low", "inconclusive", "unknown")
    both = [row("a:1", excused, number=1), row("a:1", unknown, verdict="inconclusive", number=2)]
    found = [each for each in results(samples.report(both)) if each["rule"] == "r"]
    assert [(each["result"], each["message"]) for each in found] == [("error", "unknown")]


def test_a_report_fits_into_etcd() -> None:
    long = finding("r", "high", "fail", HOSTILE * 3, observed=(HOSTILE * 3,), expected=(HOSTILE,), fix=HOSTILE * 3)
    unknown = finding("r", "high", "inconclusive", "m")
    many = [row("z:443", unknown, verdict="inconclusive"), *(row(f"a-{number}:443", long) for number in range(400))]
    large = items(samples.report(many))[-1]
    assert {each["result"] for each in large["results"]} == {"fail"}
    assert 100 < len(large["results"]) < 400
    assert large["summary"] == {"pass": 0, "fail": 400, "warn": 0, "error": 1, "skip": 0}
    assert len(json.dumps(large, ensure_ascii=False).encode()) < 1_100_000


# --- the report of a scan that is not complete, over an earlier one ---------------------------------------------------


def of(*rows: Any) -> dict[str, Any]:  # noqa: ANN401 - rows
    return items(samples.report(list(rows)))[-1]


def test_earlier_results_of_other_listeners_stay_and_those_of_the_same_go() -> None:
    bad, good, other = (finding(rule, "high", "fail", rule) for rule in ("bad", "good", "other"))
    earlier = of(row("a:1", bad), row("b:1", good, other))
    now = of(row("a:1", replace(good, verdict="inconclusive"), verdict="inconclusive"))
    found = policy_reports.with_earlier(now, earlier)
    shown = [(each["rule"], each["result"], each["properties"]["about"]) for each in found["results"]]
    assert sorted(shown) == [("good", "error", "a:1"), ("good", "fail", "b:1"), ("other", "fail", "b:1")]
    assert found["summary"] == {"pass": 0, "fail": 2, "warn": 0, "error": 1, "skip": 0}
    assert errors(found["results"], RESULTS) == []
    assert policy_reports.with_earlier(found, earlier) == found


@pytest.mark.parametrize(
    "results", [None, "x", [None, 1, {}], [{"result": "fail"}], [{"result": "odd", "properties": {}}]]
)
def test_an_earlier_report_that_another_wrote_is_no_error(results: object) -> None:
    now = of(row("a:1", finding("r", "high", "fail", "m")))
    assert policy_reports.with_earlier(now, {"results": results}) == now


def test_what_was_not_complete_before_is_not_kept() -> None:
    wide = items(samples.report([row("a:1", verdict="inconclusive")], interrupted="SIGTERM"))[0]
    assert {each["rule"] for each in wide["results"]} == {"coverage"}
    now = {**wide, "results": [], "summary": dict.fromkeys(wide["summary"], 0)}
    assert policy_reports.with_earlier(now, wide) == now


def test_earlier_results_fill_a_report_up_to_its_size() -> None:
    long = finding("r", "high", "fail", "m" * 900, observed=("o" * 900,), fix="f" * 900)
    earlier = of(*(row(f"a-{number}:443", long) for number in range(300)))
    found = policy_reports.with_earlier(of(*(row(f"b-{number}:443", long) for number in range(100))), earlier)
    assert len(json.dumps(found["results"])) <= policy_reports.MOST
    assert 100 < len(found["results"]) < 400
    assert found["summary"]["fail"] == 400
    full = of(*(row(f"b-{number}:443", long) for number in range(500)))
    assert policy_reports.with_earlier(full, earlier) == full


def test_a_gap_is_known_again_with_other_counts() -> None:
    def wide(*names: str) -> dict[str, str]:
        report = cluster_samples.report([row(name, verdict="inconclusive") for name in names])
        found = [each for each in items(report)[0]["results"] if each["rule"] == "coverage"]
        return {each["properties"]["resultID"]: each["message"] for each in found}

    one, two = wide("a:1"), wide("a:1", "b:1")
    assert one.keys() == two.keys()
    assert one != two
    assert len(one) > 1, "what was not read has an id of its own"


def test_results_have_the_same_order_in_every_scan() -> None:
    found = [finding("r", "low", "fail", "m", about=about) for about in "abc"]
    one, other = (items(samples.report([], findings=tuple(each))) for each in (found, found[::-1]))
    assert one == other
