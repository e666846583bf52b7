"""What a user sees while a scan runs: a live line on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

import io
import re
import sys
from itertools import count

import pytest

from scanner.cli.progress import Loudness, _Count, progress
from scanner.cli.streams import colors
from scanner.model.report import EndpointRow
from tests.report import samples

LEFT = re.compile(r"about (\d+) (s|min) left")


class Terminal(io.StringIO):
    """Says that it is one."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def rows() -> list[EndpointRow]:
    return list(samples.report().rows())


def shown(loudness: Loudness, rows: list[EndpointRow]) -> None:
    with progress(loudness) as tell:
        for row in rows:
            tell(row)


def test_quiet(rows: list[EndpointRow], capsys: pytest.CaptureFixture[str]) -> None:
    shown("quiet", rows)
    assert capsys.readouterr() == ("", "")


def test_verbose_is_a_line_a_row_whatever_a_row_says(
    rows: list[EndpointRow], capsys: pytest.CaptureFixture[str]
) -> None:
    rows[0]["detail"] = "\x1b[2Jgone\r\n::error::owned"
    shown("verbose", rows)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert [line.split()[0] for line in lines] == [row["verdict"] for row in rows]
    assert all(line.isprintable() for line in lines)
    assert "::error::" not in err


def test_a_pipe_gets_a_plain_line_now_and_then(
    rows: list[EndpointRow], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 1000, 4))
    monkeypatch.setattr("scanner.cli.progress.time.monotonic", lambda: next(clock))
    shown("normal", rows[:1] * 60)
    lines = capsys.readouterr().err.splitlines()
    assert 0 < len(lines) < 60
    assert re.fullmatch(r"adhere: \d endpoints, \d pass", lines[0])


def test_the_total_and_the_time_left_are_said(
    rows: list[EndpointRow], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every look at the clock is a second later, and each row has two or three."""
    clock = count(0.0)
    monkeypatch.setattr("scanner.cli.progress.time.monotonic", lambda: next(clock))
    with progress("normal", 100) as show_row:
        for _ in range(100):
            show_row(rows[0])
    lines = capsys.readouterr().err.splitlines()
    left = [int(found[1]) * (60 if found[2] == "min" else 1) for line in lines if (found := LEFT.search(line))]
    assert len(left) >= 5
    assert left == sorted(left, reverse=True)
    assert left[0] > left[-1]
    assert all(re.match(r"adhere: \d+ of 100 endpoints, \d+ pass", line) for line in lines)


def test_more_rows_than_expected_have_no_total(rows: list[EndpointRow], monkeypatch: pytest.MonkeyPatch) -> None:
    """A name with two addresses."""
    found = _Count(1)
    assert found.add(rows[0]).startswith("1 of 1 endpoints, ")
    assert found.add(rows[0]).startswith("2 endpoints, ")


def test_a_short_scan_says_nothing_on_a_pipe(rows: list[EndpointRow], capsys: pytest.CaptureFixture[str]) -> None:
    shown("normal", rows)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("no_color", ["", "1"])
def test_a_terminal_gets_one_live_line(rows: list[EndpointRow], monkeypatch: pytest.MonkeyPatch, no_color: str) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "200")
    rows[-1]["id"] = "tls://\x07bell:443"
    shown("normal", rows)
    told = terminal.getvalue()
    assert f"{len(rows)} endpoints" in told
    assert "\x07" not in told
    assert "\x1b[3" not in told  # no colour; moving the cursor is what makes it live


@pytest.mark.parametrize(
    ("stream", "no_color", "force_color", "expected"),
    [(Terminal(), "", "", True), (Terminal(), "1", "", False), (io.StringIO(), "", "", False),
     (object(), "", "", False),
     (None, "", "", False), (io.StringIO(), "", "1", True), (Terminal(), "1", "1", False)],
)  # fmt: skip
def test_colours(
    monkeypatch: pytest.MonkeyPatch, stream: object, no_color: str, force_color: str, *, expected: bool
) -> None:
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("FORCE_COLOR", force_color)
    assert colors(stream) is expected
