"""The text report: what a person sees first, and what a terminal must never see."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO

import pytest

from scanner.model.report import EndpointRow, Report
from scanner.report.escape import width as columns
from scanner.report.formats import text
from scanner.report.page import Page
from scanner.report.rows import endpoint_row
from scanner.values import replace
from tests.report import samples
from tests.report.golden import assert_golden
from tests.report.samples import finding


def _text(report: Report, **more: object) -> str:
    out = StringIO()
    text.write(report, out, **more)  # type: ignore[arg-type]
    return out.getvalue()


def test_golden() -> None:
    assert_golden("report.txt", _text(samples.report(), width=110))


def test_without_color_no_control_character_is_written() -> None:
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", _text(samples.report()))


def test_color_adds_only_our_own_sequences() -> None:
    painted = _text(samples.report(), color=True)
    assert "\x1b[1;31m" in painted
    assert re.sub(r"\x1b\[[0-9;]+m", "", painted) == _text(samples.report())


@pytest.mark.parametrize("width", [1, 40, 80, 120, 200])
def test_the_table_keeps_to_the_width_of_the_terminal(width: int) -> None:
    rows = [endpoint_row(*part) for part in samples.parts()]
    lines = _text(samples.report(rows), width=width).splitlines()
    table = lines[2 : lines.index("", 3)]
    assert len([line for line in table if not line.startswith(" ")]) == 15, "a line for every endpoint"
    if width >= 80:
        assert max(columns(line) for line in table) <= width


def test_no_line_is_a_command_of_a_ci_system() -> None:
    for width in (None, 40, 80):
        for line in _text(samples.report(), width=width).splitlines():
            assert not line.strip().startswith("::")
            assert "##vso[" not in line
            assert "##[" not in line


def test_every_failing_item_and_its_command_is_there() -> None:
    report = _text(samples.report(), width=80, verbose=True)
    assert "TLS_RSA_WITH_AES_128_CBC_SHA (AES128-SHA, 0x002F)" in report
    assert "adhere ask tls://127.0.0.2:8442#legacy.demo.example --version 1.0\n" in report


def test_a_long_list_is_cut_and_says_so() -> None:
    many = finding("tls-cipher-suite", "medium", "fail", "too many", observed=tuple(f"S{n}" for n in range(100)))
    row = endpoint_row(*next(samples.parts())[:3], "fail", "violation", (many,))
    assert "S0, S1, S2 and 97 more" in _text(samples.report([row]))
    assert "and 92 more" in _text(samples.report([row]), verbose=True)


def test_of_many_targets_only_those_that_did_not_pass_have_a_line() -> None:
    passed = [endpoint_row(*next(samples.parts())) for _ in range(60)]
    failed = [endpoint_row(*part) for part in samples.parts() if part[3] == "fail"][:2]
    unclear = [endpoint_row(*part) for part in samples.parts() if part[3] == "inconclusive"][:1] * 30
    told = _text(samples.report([*passed, *unclear, *failed]))
    table = told[: told.index("FAILED")].splitlines()
    assert len([each for each in table if each.startswith("✗ fail")]) == len(failed) == 2
    assert len([each for each in table if each.startswith("? inconclusive")]) == 18
    assert "  and 72 more endpoints (--verbose and the JSON report list all)" in table
    assert "more endpoints" not in _text(samples.report([*passed, *failed]), verbose=True)
    assert "  60 endpoints that pass or are not applicable (--verbose" in _text(samples.report(passed))


def test_replicas_are_told_apart_by_their_address() -> None:
    rows = [endpoint_row(*next(samples.parts())) for _ in range(2)]
    rows[1]["address"] = "127.0.0.99"
    assert "at 127.0.0.99:8441" in _text(samples.report(rows), width=100)


def test_findings_on_no_endpoint_come_after_those_of_endpoints() -> None:
    report = _text(samples.report(findings=(finding("profile-custom", "low", "fail", "of an object"),)))
    assert report.index("FAILED") < report.index("of an object") < report.index("SUMMARY")


def test_an_interrupted_and_an_empty_scan_say_so() -> None:
    assert "NOT COMPLETE: stopped by SIGTERM: 0 judged" in _text(samples.report([], interrupted="SIGTERM"))
    assert "endpoints  none" in _text(samples.report([]))


def test_rows_are_written_as_they_are_read() -> None:
    """Ten thousand rows pass through; never more of them are alive than decide the widths."""
    row = endpoint_row(*next(samples.parts()))
    out, behind = StringIO(), []

    def rows() -> Iterator[EndpointRow]:
        for number in range(1000):
            behind.append(number - out.getvalue().count("\n"))
            yield row

    report = samples.report([row])
    text._table(Page(out, color=False, width=100), replace(report, rows=rows), None)
    assert report.summary.endpoints == 1
    assert max(behind) <= text._SAMPLE


def test_importing_the_formats_loads_no_template_engine() -> None:
    """``adhere --help`` and a plain scan must not pay for HTML."""
    code = "import sys, scanner.report; sys.exit(any(name in sys.modules for name in ('jinja2', 'rich', 'markupsafe')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_could_not_have_failed_takes_no_room() -> None:
    found = (finding("tls-group", "info", "inconclusive", "of little use"), finding("r", "low", "fail", "broken"))
    row = endpoint_row(*next(samples.parts())[:3], "fail", "violation", found)
    assert "of little use" not in _text(samples.report([row]))


def test_what_would_be_right_is_named_briefly() -> None:
    wrong = finding("r", "low", "fail", "broken", expected=tuple(f"right{n}" for n in range(9)))
    row = endpoint_row(*next(samples.parts())[:3], "fail", "violation", (wrong,))
    assert "right0, right1, right2 and 6 more" in _text(samples.report([row]))
