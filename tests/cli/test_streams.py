"""Where the words cannot go: closed, full and broken streams change nothing that a command answers with."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest

from scanner.cli.streams import mute, say, show
from scanner.model.saved_scan import HEAD
from tests.cli.calling import COMMAND, PATIENCE, Call, environment
from tests.servers import closed_port


def in_shell(line: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """``line`` with ``adhere`` in it, in a shell that tells of every part of a pipe."""
    line = f"set -o pipefail; {line}".replace("adhere", " ".join(COMMAND))
    return subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, cwd=cwd, env=environment(), timeout=PATIENCE, check=False
    )


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("adhere scan CLOSED | true", 3),
        ("adhere scan CLOSED --verbose >&- 2>&- <&-", 3),
        ("adhere scan CLOSED >/dev/full", 2),
        *(
            pytest.param(line, code, marks=pytest.mark.slow)
            for line, code in (
                ("adhere scan CLOSED --format json | head -c 10", 3),
                ("adhere scan CLOSED --verbose 2>&1 | true", 3),
                ("adhere ask CLOSED | true", 3),
                ("adhere rules | true", 0),
                ("adhere --help | true", 0),
                ("adhere scan CLOSED --verbose >&-", 3),
                ("adhere scan CLOSED --verbose 2>&-", 3),
                ("adhere scan --profile nothing CLOSED 2>&-", 2),
                ("adhere scan CLOSED --verbose 2>/dev/full", 3),
                ("adhere --version >/dev/full", 2),
                ("adhere scan --targets - <&-", 4),
            )
        ),
    ],
)
def test_where_the_words_cannot_go(line: str, code: int) -> None:
    if "/dev/full" in line and not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with closed_port() as (address, port):
        ended = in_shell(line.replace("CLOSED", f"{address}:{port}"))
    assert ended.returncode == code
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr
    assert "internal error" not in ended.stderr


def test_a_closed_descriptor_is_not_handed_to_a_report(tmp_path: Path) -> None:
    """Where descriptor 1 is free, the report's file would get it, and what is printed would land in the report."""
    with closed_port() as (address, port):
        line = f"adhere scan {address}:{port} --format json=report.json --format text >&- 2>&-"
        ended = in_shell(line, cwd=tmp_path)
    assert ended.returncode == 3
    assert (tmp_path / "report.json").read_text().startswith('{\n"schema": "adhere.scan/v1",')
    assert (tmp_path / "report.json").read_text().endswith("\n]\n}\n")


def test_what_was_muted_goes_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with path.open("w") as stream:
        stream.write("before ")
        stream.flush()
        mute(stream)
        stream.write("after")
        assert os.fstat(stream.fileno()).st_size == 0
    assert path.read_text() == "before "


def test_a_stream_without_a_descriptor_cannot_be_muted_and_needs_not() -> None:
    stream = StringIO()
    mute(stream)
    assert stream.write("still there") == 11


class Broken(StringIO):
    """Nobody reads it."""

    def write(self, _: str) -> int:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")


def test_what_cannot_be_said_is_left_unsaid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Broken())
    say("to nobody")
    closed = StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    say("to nobody")


def test_a_reader_that_has_gone_has_seen_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Broken())
    show("a result")


def test_each_has_its_stream(capsys: pytest.CaptureFixture[str]) -> None:
    say("words")
    show("results")
    assert capsys.readouterr() == ("results\n", "words\n")


def test_texts_of_others_are_escaped_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    say("adhere: \x1b[2J##[error]a\n::error::b")
    assert capsys.readouterr().err == "adhere: \\x1b[2J# #[error]a\n: :error::b\n"


def test_the_end_of_a_saved_scan_is_escaped(call: Call, tmp_path: Path) -> None:
    with closed_port() as (address, port):
        call("scan", f"{address}:{port}", "--save", tmp_path)
    head = json.loads((tmp_path / HEAD).read_text())
    (tmp_path / HEAD).write_text(json.dumps({**head, "interrupted": "\x1b]0;a\x07\n::error::b\nexit 0: complete"}))
    answer = call("merge", tmp_path)
    assert "adhere: stopped by \\x1b]0;a\\x07\\n: :error::b\\nexit 0: complete; the report has" in answer.err
    assert not {"\x1b", "\x07"} & set(answer.err + answer.out)
    assert not re.search("^(::|exit 0)", answer.err + answer.out, re.MULTILINE)
