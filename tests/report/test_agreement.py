"""All formats of one scan agree on every number."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from io import StringIO
from typing import TextIO
from xml.etree import ElementTree

import pytest
from prometheus_client.parser import text_string_to_metric_families

from scanner import metrics
from scanner.model.finding import OUTCOMES, SEVERITIES
from scanner.model.report import FailOn, NotStarted, Report, fails
from scanner.report import headline
from scanner.report.formats import html, json_document, junit, markdown, text
from scanner.report.rows import endpoint_row, finding_row
from scanner.values import replace
from tests.report import cluster_samples, samples
from tests.report.page_data import endpoints
from tests.report.samples import finding

Numbers = dict[str, int]
"""Endpoints by outcome, findings that count by severity, both sums, connections, endpoints whose trust was not checked,
those of them that are self-signed, and the exit code. What is zero is left out."""


def _written(write: Callable[[Report, TextIO], None], report: Report) -> str:
    out = StringIO()
    write(report, out)
    return out.getvalue()


def _said(text: str) -> Numbers:
    """What the lines on trust and on the exit code say, in text and HTML."""
    patterns = {
        "unchecked": r"not checked for (\d+) endpoints? \(no CA",
        "self-signed": r"(\d+) of them self-signed",
        "nameless": r"names not checked for (\d+) endpoints? \(targets by IP address: add #name\)",
        "exit": r"^(?: *<p class=\"exit\">)?exit (\d+): ",
    }
    told = {name: re.findall(pattern, text, re.MULTILINE) for name, pattern in patterns.items()}
    assert all(len(found) <= 1 for found in told.values())
    return {name: int(found[0]) for name, found in told.items() if found}


def _of_text(report: Report) -> Numbers:
    told = _written(text.write, report)
    summary = told[told.index("\nSUMMARY\n") :]
    (total, outcomes), (findings,) = (
        re.search(pattern, summary).groups()  # type: ignore[union-attr]
        for pattern in (r"endpoints +(\d+): ([^(\n]*)", r"findings +(.*)")
    )
    words = {word: each for each in OUTCOMES for word in (headline.WORDS[each], f"{headline.WORDS[each].rstrip('s')}")}
    found = {words[word.strip()]: int(number) for number, word in re.findall(r"(\d+) ([a-z ]+)", outcomes)}
    severe = {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", findings)}
    (connections,) = re.findall(r"(\d+) connections?,", summary)
    assert summary.splitlines()[-1].startswith("exit ")
    return {"endpoints": int(total), **found, **severe, "connections": int(connections), **_said(summary)}


def _of_html(report: Report) -> Numbers:
    page = _written(html.write, report)
    top, _, rest = page.partition("What failed")
    cards = re.findall(r'class="card (\w+)".*?class="number">(\d+)<', top, re.DOTALL)
    severities = re.findall(r'class="pill (\w+)">\w+</span> <b>(\d+)</b>', rest.partition("</ul>")[0])
    connections = re.findall(r"<dt>Connections</dt><dd>(\d+)</dd>", page)[0]  # endpoints have theirs
    numbers = {name: int(number) for name, number in (*cards, *severities)}
    bar = re.findall(r'<rect class="(\w+)" x="\d+" y="0" width="(\d+)" height="1"/>', page.partition("</svg>")[0])
    assert {name: int(number) for name, number in bar} == {
        name: n for name, n in numbers.items() if n and name in OUTCOMES
    }
    rows = Counter(row["outcome"] for row in endpoints(page))
    assert rows == {name: count for name, count in numbers.items() if name in OUTCOMES and count}
    return {"endpoints": rows.total(), **numbers, "connections": int(connections), **_said(top)}


def _of_markdown(report: Report) -> Numbers:
    said = _written(markdown.write, report)
    rows = {line.split(" | ")[0]: re.findall(r"\d+", line) for line in said.splitlines() if line.startswith("| ")}
    outcomes: Numbers = dict(zip(OUTCOMES, map(int, rows["| endpoints"]), strict=True))
    severe: Numbers = dict(zip(reversed(SEVERITIES), map(int, rows["| findings"]), strict=True))
    connections = report.summary.connections  # they are in no pull request
    numbers: Numbers = {**outcomes, **severe, **_said(said.replace("`", ""))}
    return {**numbers, "endpoints": sum(outcomes.values()), "connections": connections}


def _of_json(report: Report) -> Numbers:
    document = json.loads(_written(json_document.write, report))
    summary = document["summary"]
    assert Counter(row["outcome"] for row in document["endpoints"]) == Counter(summary["outcomes"])
    counted = summary["outcomes"]
    assert (summary["fail"], summary["pass"]) == (counted["fail"] + counted["deviates"], counted["pass"])
    by_component = Counter[str]()
    for row in document["components"]:
        by_component.update(row["outcomes"])
    assert not by_component or by_component == Counter(counted)
    trust = {"unchecked": summary["trust"]["not_checked"], "self-signed": summary["trust"]["self_signed"]}
    others = {"endpoints": summary["endpoints"], "connections": summary["connections"], **trust}
    others |= {"nameless": summary["names"]["not_checked"], "exit": document["exit"]["code"]}
    return {**counted, **summary["failures"], **others}


def _of_junit(report: Report) -> Numbers:
    root = ElementTree.fromstring(_written(junit.write, report).encode())
    told = {each.attrib["name"]: each.attrib["value"] for each in root.findall("testsuite[1]/properties/property")}
    words = {"trust.not-checked": "unchecked", "names.not-checked": "nameless"}
    return {
        words.get(name, name.rpartition(".")[2]): int(value)
        for name, value in told.items()
        if name.partition(".")[0] in ("endpoints", "findings", "connections", "trust", "names", "exit")
    }


def _of_metrics(report: Report) -> Numbers:
    numbers = Counter[str]()
    for each in text_string_to_metric_families(_written(metrics.write, report)):
        for sample in each.samples:
            if sample.name == "adhere_endpoint_outcomes":
                numbers[sample.labels["outcome"]] += int(sample.value)
                numbers["endpoints"] += int(sample.value)
            elif sample.name == "adhere_counted_findings":
                numbers[sample.labels["severity"]] += int(sample.value)
            elif sample.name == "adhere_scan_connections":
                numbers["connections"] += int(sample.value)
            elif sample.name == "adhere_scan_exit_code":
                numbers["exit"] += int(sample.value)
            elif sample.name == "adhere_trust_unchecked_endpoints":
                numbers["unchecked"] += int(sample.value)
                numbers["self-signed"] += int(sample.value) * (sample.labels["leaf"] == "self-signed")
            elif sample.name == "adhere_name_unchecked_endpoints":
                numbers["nameless"] += int(sample.value)
    return dict(numbers)


def _of_a_list() -> Report:
    """With each word, two of some: a number that is counted twice or by another word is another one."""
    (endpoint, owed, seen, *_), *_ = samples.parts()
    weak = finding("tls-version", "high", "fail", "weak")
    excused = [replace(weak, status=status) for status in ("readiness", "waived", "converging", "pending-rotation")]
    rows = [endpoint_row(*part) for part in samples.parts()]
    rows += [endpoint_row(endpoint, owed, seen, "fail", each.status, (each, each)) for each in excused]
    rows += [endpoint_row(endpoint, owed, seen, "fail", "violation", (weak, *excused[:2]))] * 2
    for issuer in ("CN=Some CA", "CN=self"):
        leaf = replace(samples.certificate("self"), issuer=issuer)
        shown = replace(seen, chain=(leaf,))
        trust = replace(finding("cert-chain", "info", "not_applicable", "no anchor"), status="informational")
        rows.append(endpoint_row(endpoint, owed, shown, "pass", "ok", (trust,)))
    nameless = replace(finding("cert-name", "info", "not_applicable", "no name"), status="informational")
    rows += [endpoint_row(endpoint, owed, seen, "pass", "ok", (nameless,))] * 3
    return samples.report(rows, findings=(finding("profile-custom", "low", "fail", "of an object"), excused[0]))


@pytest.mark.parametrize("report", [_of_a_list(), cluster_samples.report()], ids=["targets", "cluster"])
def test_every_format_has_the_same_numbers(report: Report) -> None:
    told = {
        name: {each: count for each, count in of(report).items() if count}
        for name, of in {
            "text": _of_text, "html": _of_html, "json": _of_json, "junit": _of_junit, "metrics": _of_metrics,
            "markdown": _of_markdown,
        }.items()
    }  # fmt: skip
    assert {*told["json"]} >= {"endpoints", "fail", "deviates", "pass", "connections", "high"}
    assert {*told["json"]} <= {
        "endpoints",
        "connections",
        "unchecked",
        "self-signed",
        "nameless",
        "exit",
        *OUTCOMES,
        *SEVERITIES,
    }
    for name, numbers in told.items():
        assert numbers == told["json"], name


def test_trust_that_was_not_checked_is_said_and_counted() -> None:
    told = _of_json(_of_a_list())
    assert (told["unchecked"], told["self-signed"], told["nameless"]) == (2, 1, 3)
    table = _written(text.write, _of_a_list())
    assert table.count("self-signed, trust not checked") == 1
    assert table.count("; name not checked") == 3


@pytest.mark.parametrize(
    ("fail_on", "line"),
    [
        ("medium", "exit 1: {} at or above medium on {}; not complete: 4 endpoints could not be judged"),
        ("never", "exit 3: not complete: 4 endpoints could not be judged"),
    ],
)
def test_a_summary_ends_with_the_exit_code_and_its_reasons(fail_on: FailOn, line: str) -> None:
    rows = [endpoint_row(*part) for part in samples.parts()]
    report = replace(samples.report(rows), fail_on=fail_on)
    last = _written(text.write, report).splitlines()[-1]
    counted = [[one for one in row["findings"] if fails(one, "medium")] for row in rows]
    found, endpoints = sum(map(len, counted)), sum(map(bool, counted))
    start, _, end = line.format(f"{found} findings", f"{endpoints} endpoints").partition(f"{endpoints} endpoints")
    assert last.startswith(start)
    assert last.endswith(end), last


def test_findings_on_objects_are_a_reason_too() -> None:
    wide = finding("profile-custom", "medium", "fail", "of an object")
    rows = [row for row in (endpoint_row(*part) for part in samples.parts()) if row["verdict"] == "pass"]
    last = _written(text.write, samples.report(rows, findings=(wide,))).splitlines()[-1]
    assert last == "exit 1: 1 finding at or above medium on cluster-wide objects (profile-custom 1)"
    assert _written(text.write, samples.report(rows)).splitlines()[-1] == (
        "exit 0: no finding at or above medium; complete"
    )
    assert _written(text.write, samples.report([])).splitlines()[-1] == "exit 4: nothing was judged"


def test_an_interrupted_scan_counts_what_is_not_finished() -> None:
    rows = list(samples.report().rows())
    going = next(row for row in rows if row["outcome"] == "inconclusive")
    message = "not finished: the scan was stopped (SIGINT)"
    for each in range(30):
        open_question = finding("tls-reach", "high", "inconclusive", message)
        findings = [finding_row(replace(open_question, status="interrupted"))]
        name = f"late-{each}.example:443"
        rows.append({**going, "id": name, "instance": name, "status": "interrupted", "findings": findings})
    report = samples.report(rows, interrupted="SIGINT")
    left = NotStarted(total=5, by_namespace={"shop": 3, "till": 2})
    stopped = replace(report, coverage={**report.coverage, "in_progress": 30, "not_started": left})
    judged = samples.report().coverage["judged"]
    others = len(rows) - judged - 30
    counts = (
        f"stopped by SIGINT: {judged} judged, {others} inconclusive, 30 in progress, 5 not started (shop 3, till 2)"
    )
    said = _written(text.write, stopped)
    assert said.count(counts) == 3, "in the block, in the coverage and in the last line"
    assert counts in said.splitlines()[-1]
    block = said[said.index("NOT FINISHED") :]
    assert " and 20 more (all of them are in the JSON report)" in block
    assert message not in block, "one block in place of a finding for each endpoint"
    assert counts[1:] in _written(html.write, stopped)
    (error,) = ElementTree.fromstring(_written(junit.write, stopped).encode())[0].iter("error")
    assert error.get("message") == counts
    assert "NOT FINISHED" not in _written(text.write, samples.report())
