"""All formats of one scan agree on every number."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from typing import TextIO
from xml.etree import ElementTree

import pytest
from prometheus_client.parser import text_string_to_metric_families

from scanner import metrics
from scanner.model.finding import OUTCOMES, SEVERITIES
from scanner.model.report import Report
from scanner.report import headline, html, json_document, junit, text
from scanner.report.rows import endpoint_row
from tests.report import cluster_samples, samples
from tests.report.samples import finding

Numbers = dict[str, int]
"""Endpoints by outcome, findings that count by severity, both sums, and connections. What is zero is left out."""


def _written(write: Callable[[Report, TextIO], None], report: Report) -> str:
    out = StringIO()
    write(report, out)
    return out.getvalue()


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
    return {"endpoints": int(total), **found, **severe, "connections": int(connections)}


def _of_html(report: Report) -> Numbers:
    page = _written(html.write, report)
    top, _, rest = page.partition("Failing findings")
    cards = re.findall(r'class="card (\w+)".*?class="number">(\d+)<', top, re.DOTALL)
    severities = re.findall(r'class="pill (\w+)">\w+</span> <b>(\d+)</b>', rest.partition("</ul>")[0])
    connections = re.findall(r"<dt>Cost</dt><dd>(\d+) connections</dd>", page)[0]  # endpoints have theirs
    numbers = {name: int(number) for name, number in (*cards, *severities)}
    bar = re.findall(r'<rect class="(\w+)" x="\d+" y="0" width="(\d+)" height="1"/>', page.partition("</svg>")[0])
    assert {name: int(number) for name, number in bar} == {
        name: n for name, n in numbers.items() if n and name in OUTCOMES
    }
    rows = Counter(re.findall(r'<tbody role="rowgroup" class="endpoint (\w+)"', page))
    assert rows == {name: count for name, count in numbers.items() if name in OUTCOMES and count}
    return {"endpoints": rows.total(), **numbers, "connections": int(connections)}


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
    others = {"endpoints": summary["endpoints"], "connections": summary["connections"]}
    return {**counted, **summary["failures"], **others}


def _of_junit(report: Report) -> Numbers:
    root = ElementTree.fromstring(_written(junit.write, report).encode())
    told = {each.attrib["name"]: each.attrib["value"] for each in root.findall("testsuite[1]/properties/property")}
    return {
        name.removeprefix("endpoints.").removeprefix("findings."): int(value)
        for name, value in told.items()
        if name.partition(".")[0] in ("endpoints", "findings", "connections")
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
    return dict(numbers)


def _of_a_list() -> Report:
    """With each word, two of some: a number that is counted twice or by another word is another one."""
    (endpoint, owed, seen, *_), *_ = samples.parts()
    weak = finding("tls-version", "high", "fail", "weak")
    excused = [replace(weak, status=status) for status in ("readiness", "waived", "converging", "pending-rotation")]
    rows = [endpoint_row(*part) for part in samples.parts()]
    rows += [endpoint_row(endpoint, owed, seen, "fail", each.status, (each, each)) for each in excused]
    rows += [endpoint_row(endpoint, owed, seen, "fail", "violation", (weak, *excused[:2]))] * 2
    return samples.report(rows, findings=(finding("profile-custom", "low", "fail", "of an object"), excused[0]))


@pytest.mark.parametrize("report", [_of_a_list(), cluster_samples.report()], ids=["targets", "cluster"])
def test_every_format_has_the_same_numbers(report: Report) -> None:
    told = {
        name: {each: count for each, count in of(report).items() if count}
        for name, of in {
            "text": _of_text, "html": _of_html, "json": _of_json, "junit": _of_junit, "metrics": _of_metrics,
        }.items()
    }  # fmt: skip
    assert {*told["json"]} >= {"endpoints", "fail", "deviates", "pass", "connections", "high"}
    assert {*told["json"]} <= {"endpoints", "connections", *OUTCOMES, *SEVERITIES}
    for name, numbers in told.items():
        assert numbers == told["json"], name
