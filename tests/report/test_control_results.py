"""The report of controls: unknown, untested and unread is never "holds"."""

from __future__ import annotations

import re
from collections import Counter
from io import StringIO
from typing import Any

import pytest

from scanner.model.controls import Answer, catalogues
from scanner.model.report import EndpointRow, Report
from scanner.report import FORMATS
from scanner.report.formats import control_results
from scanner.values import replace
from tests.report import cluster_samples, samples
from tests.report.markdown_reader import cells, tokens
from tests.report.page_data import endpoints
from tests.report.sample_reports import row

PASSED = row("a:443", *samples.PASSED, verdict="pass")
"""SSLv2 was not tested."""


def every_version(seen: EndpointRow) -> EndpointRow:
    versions: Any = dict(seen["observed"]["versions"] or {})
    versions["SSLv2"] = {**versions["SSLv3"]}
    copied: Any = {**seen, "observed": {**seen["observed"], "versions": versions}}
    return copied  # type: ignore[no-any-return]


def written(report: Report) -> str:
    out = StringIO()
    control_results.write(report, out)
    return out.getvalue()


def results(report: Report, title: str = "NIST") -> dict[str, list[str]]:
    """Lines of a catalogue, by control."""
    text = written(report).split(f"## {title}")[1].split("\n## ")[0]
    return {each[0]: each[2:6] for each in cells(text) if each[0] != "control"}


def test_a_control_holds_only_if_everything_was_determined() -> None:
    complete = every_version(PASSED)
    assert results(samples.report([complete]))["3.1"] == ["holds", "1", "0", "0"]
    assert results(samples.report([PASSED]))["3.1"][0] == "not determined: 1 endpoint"
    assert results(samples.report([complete, PASSED]))["3.1"] == ["not determined: 1 endpoint", "1", "0", "1"]
    assert results(samples.report([]))["3.1"][0] == "not tested: no such endpoint"


def test_a_scan_that_is_not_complete_holds_nothing() -> None:
    made = samples.report([every_version(PASSED)], interrupted="SIGTERM")
    assert results(made)["3.1"] == ["not determined: the scan is not complete", "1", "0", "0"]
    assert "no control holds: `not complete" in written(made) or "no control holds: `stopped" in written(made)
    assert "| holds |" not in written(cluster_samples.report())
    partial = replace(made, coverage={**made.coverage, "complete": False, "interrupted": None})
    assert "| holds |" not in written(partial)


def test_a_failure_is_named_and_wins() -> None:
    made = samples.report()
    assert results(made)["3.1"][0] == "does not hold"
    assert "`legacy.demo.example:8442`" in written(made)


def test_a_part_that_no_scan_shows_keeps_it_from_holding() -> None:
    (second,) = [each for one in catalogues() for each in one.controls if each.not_tested == "revocation"]
    good: Counter[Answer] = Counter({"pass": 5})
    assert control_results.result(second, good, complete=True) == "not determined: revocation not tested"
    assert control_results.result(replace(second, not_tested=""), good, complete=True) == "holds"


def test_a_profile_that_allows_a_weak_suite_makes_no_control_hold() -> None:
    passed = (samples.finding(rule, "high", "pass", "m") for rule in ("cert-key-size", "cert-signature"))
    weak: Any = every_version(row("a:443", *samples.PASSED, *passed, verdict="pass"))
    weak["observed"]["versions"]["TLSv1.2"]["suites"] = ["TLS_RSA_WITH_NULL_SHA256"]
    (found,) = [each for name, each in results(samples.report([weak]), "PCI").items() if name.endswith("item 3")]
    assert found[0] == "not determined: cipher suites, algorithms and key sizes not tested"


@pytest.mark.parametrize("report", [samples.report(), cluster_samples.report(), samples.report([])])
def test_foreign_text_is_only_in_code_spans(report: Report) -> None:
    text = written(report)
    assert not [each for each in tokens(text) if each.type.startswith("html") or each.type in ("image", "fence")]
    rows = sum(len(each.controls) + 1 for each in catalogues())
    assert len(cells(text)) == rows
    assert {len(each) for each in cells(text)} == {7}
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)


def test_findings_refer_to_the_controls_of_their_rules() -> None:
    name = "NIST SP 800-52 Revision 2 3.1"
    rules: list[Any] = [{**each, "controls": [name]} for each in samples.RULES]
    report = replace(samples.report(), rules=rules)
    said: dict[str, str] = {}
    for format_ in ("text", "html", "csv", "json"):
        out = StringIO()
        FORMATS[format_].write(report, out, **({"verbose": True} if format_ == "text" else {}))
        said[format_] = out.getvalue()
    assert all(name in text for text in said.values())
    shown = [one for row in endpoints(said["html"]) for one in row["findings"] if one["rule"] == "tls-cipher-suite"]
    assert shown
    assert all(["controls", [name]] in one["details"] for one in shown)
    assert said["html"].count('<div class="controls"><h4>controls</h4>') > 1, "in the details of what failed"
    short = StringIO()
    FORMATS["text"].write(report, short)
    assert name not in short.getvalue()
