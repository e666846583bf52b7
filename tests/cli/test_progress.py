"""What a user sees while a scan runs: a live line on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

import io
import sys

import pytest

from scanner.cli.progress import Loudness, colors, progress
from scanner.model.report import EndpointRow
from tests.report import samples


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
    shown("normal", rows)
    lines = capsys.readouterr().err.splitlines()
    assert 0 < len(lines) < len(rows)
    assert lines[0] == f"adhere: 3 endpoints so far, {sum(row['verdict'] == 'fail' for row in rows[:3])} fail"


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
    ("stream", "no_color", "expected"),
    [(Terminal(), "", True), (Terminal(), "1", False), (io.StringIO(), "", False), (object(), "", False),
     (None, "", False)],
)  # fmt: skip
def test_colours(monkeypatch: pytest.MonkeyPatch, stream: object, no_color: str, *, expected: bool) -> None:
    monkeypatch.setenv("NO_COLOR", no_color)
    assert colors(stream) is expected
