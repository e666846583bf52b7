"""What lint found, in each format: whole, valid, and nothing of it obeyed by whoever reads it."""

from __future__ import annotations

import json
import re
from io import StringIO
from typing import Any
from xml.etree import ElementTree

import pytest

from scanner.model.lint_report import SCHEMA, LintReport, exit_code
from scanner.report import LINT_FORMATS
from scanner.report.formats import lint_text
from scanner.values import replace
from tests.report.golden import assert_golden
from tests.report.lint_samples import every, finding, hostile, judged, report, undecided, unreadable
from tests.schemas import errors, schema

REPORTS = {"every": every(), "hostile": hostile(), "nothing": report()}
EACH = pytest.mark.parametrize("made", REPORTS.values(), ids=REPORTS)


def written(made: LintReport, name: str, code: int | None = None, **options: bool) -> str:
    out = StringIO()
    LINT_FORMATS[name].write(replace(made, code=code), out, **options)
    return out.getvalue()


def test_text_golden() -> None:
    assert_golden("lint.txt", written(every(), "text"))


def test_hints_golden() -> None:
    assert_golden("lint-hints.txt", written(every(), "text", hints=True))


@pytest.mark.parametrize("name", [name for name in LINT_FORMATS if name != "text"])
def test_golden(name: str) -> None:
    assert_golden(LINT_FORMATS[name].file_name, written(every(), name))


@EACH
@pytest.mark.parametrize("name", LINT_FORMATS)
def test_nothing_in_it_is_obeyed(made: LintReport, name: str) -> None:
    found = written(made, name)
    assert found.encode()  # no half surrogate, which UTF-8 cannot carry
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", found)
    if name != "github":  # test_github reads its commands
        assert not re.search(r"^\s*::[a-z]+ ", found, re.MULTILINE)
    assert "##vso[" not in found


# --- text -------------------------------------------------------------------------------------------------------------


def test_what_fails_comes_first_then_what_is_undecided_each_in_the_order_of_the_file() -> None:
    made = replace(every(), fail_on="high")
    lines = [each for each in written(made, "text").splitlines() if not each.startswith((" ", "not "))]
    words = [each.split(": ")[1] for each in lines[:-2]]
    assert words == ["high", "high", "undecided", "info"]  # two are one entry
    never = written(replace(made, fail_on="never"), "text").splitlines()
    assert ": undecided: " in next(each for each in never if not each.startswith(" "))
    places = [("b.yaml", 9, 1), ("a.yaml", 7, 1), ("a.yaml", 3, 2)]
    several = judged(*(finding(place=each, message=str(each)) for each in places), verdict="fail")
    lines = [each for each in written(report(several), "text").splitlines() if not each.startswith(" ")]
    assert [each.split(": ")[0] for each in lines[:-1]] == ["a.yaml:3:2", "a.yaml:7:1", "b.yaml:9:1"]


def test_what_one_object_would_answer_is_one_entry() -> None:
    asked = [
        undecided("gateway-certificate", "whether the certificate is valid"),
        undecided("gateway-key", "whether its key fits"),
        undecided("gateway-key", "whether another fits", missing="Secret/shop/other"),
        undecided("gateway-name", "whether its name fits"),
        undecided("gateway-key", "whether its key fits", line=20),
    ]
    lines = written(report(judged(*asked, verdict="inconclusive")), "text").splitlines()
    three = "whether the certificate is valid, whether its key fits, whether its name fits"
    entries = [
        (9, "gateway-certificate, gateway-key, gateway-name", three, "Secret/shop/edge-tls"),
        (9, "gateway-key", "whether another fits", "Secret/shop/other"),
        (20, "gateway-key", "whether its key fits", "Secret/shop/edge-tls"),
    ]
    assert [each for each in lines if each.startswith("shop/")] == [
        f"shop/gateway.yaml:{line}:5: undecided: {rules}: "
        f"{name} was not read (not among the manifests), so it is unknown {questions}"
        for line, rules, questions, name in entries
    ]


def test_what_is_open_and_informational_is_not_called_undecided() -> None:
    """Else it says undecided and exits with 0, against what docs/lint.md says of undecided."""
    quiet, open_ = undecided("a"), undecided("b")
    quiet["severity"] = "info"
    text = written(report(judged(quiet, verdict="pass")), "text")
    assert ": info: a: Secret/shop/edge-tls was not read" in text
    assert "1 finding (1 info) on 1 object" in text.splitlines()[-1]
    both = written(report(judged(quiet, open_, verdict="inconclusive")), "text")
    assert ": undecided: b, a: Secret/shop/edge-tls was not read" in both


def test_what_was_not_seen_is_told_at_the_end_the_most_wanted_first() -> None:
    asked = [undecided(missing=f"Secret/shop/s{number}", line=number + 1) for number in range(7)]
    made = report(judged(*asked, undecided(missing="Secret/shop/s6"), verdict="inconclusive"))
    (line,) = [each for each in written(made, "text").splitlines() if each.startswith("missing objects")]
    assert line.startswith("missing objects: Secret/shop/s6, Secret/shop/s0, ")
    assert " and 2 more: add them to the files, or use --cluster or --snapshot" in line


def test_colours_are_only_there_when_they_are_asked_for() -> None:
    assert "\x1b[31mhigh\x1b[0m" in written(every(), "text", color=True)
    assert "\x1b" not in written(every(), "text")


@pytest.mark.parametrize(
    ("made", "line"),
    [
        (report(), "exit 4: nothing to judge in 2 files (1 other document)"),
        (report(judged(verdict="pass")), "exit 0: no findings on 1 object in 2 files (1 other document)"),
        (
            report(
                judged(verdict="pass"), judged(finding(), verdict="fail"), judged(undecided(), verdict="inconclusive")
            ),
            "exit 1: 2 findings (1 high, 1 undecided) on 2 of 3 objects in 2 files (1 other document)",
        ),
        (
            report(judged(finding(), finding(), undecided(), verdict="fail")),
            "exit 1: 3 findings (2 high, 1 undecided) on 1 object in 2 files (1 other document)",
        ),
        (report(findings=(unreadable(),)), "exit 1: 1 finding (1 high) on 0 objects in 2 files (1 other document)"),
    ],
)
def test_the_last_line_counts(made: LintReport, line: str) -> None:
    assert written(made, "text", code=exit_code(made, "medium")).splitlines()[-1] == line


# --- JSON -------------------------------------------------------------------------------------------------------------


def test_the_schema_has_the_version_of_the_model() -> None:
    assert schema("lint-v1")["properties"]["schema"]["const"] == SCHEMA


@EACH
def test_the_document_is_what_the_schema_says(made: LintReport) -> None:
    document = json.loads(written(made, "json"))
    assert errors(document, "lint-v1") == []
    assert len(document["objects"]) == document["summary"]["objects"] == len(made.objects)


REFUSED: list[tuple[str, object]] = [
    ("schema", "adhere.lint/v2"),
    ("started", "yesterday"),
    ("files", -1),
    ("objects", [{}]),
    ("findings", [{"rule": "x"}]),
    ("skipped", [{"path": "x"}]),
    ("summary", {"objects": 1}),
    ("extra", 1),
]


@pytest.mark.parametrize(("key", "value"), REFUSED)
def test_the_schema_refuses_what_it_is_not(key: str, value: object) -> None:
    document = json.loads(written(every(), "json"))
    assert errors({**document, key: value}, "lint-v1")


def test_the_schema_wants_every_member() -> None:
    document = json.loads(written(every(), "json"))
    assert [key for key in document if not errors({k: v for k, v in document.items() if k != key}, "lint-v1")] == []


def objects_of(schema: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - JSON
    inner = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    found = [each for part in inner for each in objects_of(part)]
    return [schema, *found] if isinstance(schema, dict) and schema.get("type") == "object" else found


def test_every_object_of_the_schema_is_closed_and_described() -> None:
    for each in objects_of(schema("lint-v1")):
        assert each["additionalProperties"] is False
        assert set(each["required"]) == set(each["properties"]) - {"baseline", "waived"}  # only with options
        assert each["description"]


# --- JUnit ------------------------------------------------------------------------------------------------------------


def cases(made: LintReport) -> dict[tuple[str, str], str]:
    root = ElementTree.fromstring(written(made, "junit"))
    return {
        (case.get("classname", ""), case.get("name", "")): next((child.tag for child in case), "pass")
        for case in root.iter("testcase")
    }


def test_every_rule_of_every_object_is_a_case() -> None:
    assert cases(every()) == {
        ("not seen", "not looked at chart/templates"): "error",
        ("not seen", "not read gateways.gateway.networking.k8s.io"): "error",
        ("manifests", "manifest-unreadable shop/b.yaml:3:1"): "failure",
        ("Gateway/shop/edge", "gateway-insecure-fallback"): "failure",
        ("Gateway/shop/edge", "gateway-certificate"): "error",
        ("Gateway/shop/edge", "field-type"): "skipped",
        ("Gateway/shop/other", "gateway-certificate"): "error",
        ("Gateway/shop/other", "field-type"): "pass",
        ("Route/shop/web", "field-type"): "pass",
    }


def test_nothing_judged_is_no_pass() -> None:
    assert cases(report()) == {("not seen", "objects"): "error"}


@EACH
def test_counts_agree_with_the_cases(made: LintReport) -> None:
    root = ElementTree.fromstring(written(made, "junit"))
    for suites in (root, *root):
        for key, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
            assert int(suites.get(key, "-1")) == sum(1 for _ in suites.iter(tag))


# --- SARIF 2.1.0: what the specification, and GitHub, want of the parts that are there --------------------------------


def run_of(made: LintReport) -> dict[str, Any]:
    log = json.loads(written(made, "sarif"))
    assert set(log) == {"$schema", "version", "runs"}
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    return dict(run)


@EACH
def test_sarif_holds_to_its_specification(made: LintReport) -> None:
    run = run_of(made)
    rules = run["tool"]["driver"]["rules"]
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")  # 3.14.17
    assert len({each["id"] for each in rules}) == len(rules)
    for each in rules:
        assert all(each[key]["text"] for key in ("shortDescription", "fullDescription", "help"))
        assert each["defaultConfiguration"]["level"] in ("none", "note", "warning", "error")
        assert 0 <= float(each["properties"]["security-severity"]) <= 10
    for each in run["results"]:
        assert rules[each["ruleIndex"]]["id"] == each["ruleId"]  # 3.27.6
        assert each["kind"] == "fail" or each["level"] == "none"  # 3.27.10
        assert each["level"] in ("none", "note", "warning", "error")
        assert each["message"]["text"]
        assert all(isinstance(value, str) for value in each["partialFingerprints"].values())
        for location in each["locations"]:
            region = location["physicalLocation"]["region"]
            assert region["startLine"] >= 1
            assert region["startColumn"] >= 1
            uri = location["physicalLocation"]["artifactLocation"]["uri"]
            assert re.fullmatch(r"(?:[A-Za-z0-9\-._~/:]|%[0-9A-F]{2})+", uri)  # RFC 3986


@EACH
def test_text_json_and_sarif_count_the_same_findings(made: LintReport) -> None:
    numbers = dict.fromkeys(("finding", "undecided"), 0)
    for count, word in re.findall(r"(\d+) (finding|undecided)", lint_text.summary(made)):
        numbers[word] = int(count)
    document = json.loads(written(made, "json"))
    listed = [*document["findings"], *(each for one in document["objects"] for each in one["findings"])]
    results = run_of(made)["results"]
    assert [len(results), len(listed)] == [numbers["finding"]] * 2
    assert sum(each["kind"] == "open" for each in results) == numbers["undecided"]


def test_sarif_tells_apart_what_fails_and_what_is_open() -> None:
    told = [(each["ruleId"], each["kind"], each["level"]) for each in run_of(every())["results"]]
    assert ("gateway-insecure-fallback", "fail", "error") in told
    assert ("field-type", "fail", "note") in told
    assert told.count(("gateway-certificate", "open", "none")) == 2


def test_sarif_says_what_was_not_looked_at() -> None:
    (invocation,) = run_of(every())["invocations"]
    assert invocation["executionSuccessful"] is False
    notes = [each["message"]["text"] for each in invocation["toolExecutionNotifications"]]
    assert notes == [
        "not looked at: chart/templates: templates are no manifests",
        "not read: gateways.gateway.networking.k8s.io: forbidden",
    ]
    (fine,) = run_of(report(judged(verdict="pass")))["invocations"]
    assert fine == {"executionSuccessful": True}


PATHS = [
    ("./a b.yaml", "a%20b.yaml"),
    ("dir/ü#?.yaml", "dir/%C3%BC%23%3F.yaml"),
    ("/etc/x.yaml", "file:///etc/x.yaml"),
    ("<stdin>", "stdin"),
    ("../x.yaml", "../x.yaml"),
    ("a:b.yaml", "a%3Ab.yaml"),
]


@pytest.mark.parametrize(("path", "uri"), PATHS)
def test_sarif_paths_are_uris(path: str, uri: str) -> None:
    made = report(judged(finding(place=(path, 1, 1)), verdict="fail"))
    (result,) = run_of(made)["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri
