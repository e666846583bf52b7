"""The commands, their help, and the last line of defence."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import click
import pytest

from scanner import __version__
from scanner.cli import COMMANDS, adhere, run
from scanner.cli.streams import mute
from tests.cli.calling import COMMAND, PATIENCE, Call, environment
from tests.servers import closed_port


def test_every_command_is_what_its_name_says() -> None:
    context = click.Context(adhere)
    assert adhere.list_commands(context) == list(COMMANDS)
    for name in COMMANDS:
        command = adhere.get_command(context, name)
        assert command is not None
        assert command.name == name
    assert adhere.get_command(context, "nothing") is None


@pytest.mark.parametrize("words", [[], *([name] for name in COMMANDS), ["profiles", "show"], ["rules", "show"]])
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help(call: Call, words: list[str], option: str) -> None:
    answer = call(*words, option)
    assert answer.code == 0
    assert answer.err == ""
    assert answer.out.startswith(f"Usage: {' '.join(['adhere', *words])} ")


def test_every_option_is_explained() -> None:
    context = click.Context(adhere)
    for name in COMMANDS:
        command = adhere.get_command(context, name)
        assert command is not None
        assert command.help
        options = [each for each in command.params if isinstance(each, click.Option)]
        assert [each.name for each in options if not each.help] == [], name


def test_version(call: Call) -> None:
    answer = call("--version")
    assert (answer.code, answer.out, answer.err) == (0, f"adhere {__version__}\n", "")


def test_no_command_prints_the_help_and_is_a_usage_error(call: Call) -> None:
    answer = call()
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("Usage: adhere ")


@pytest.mark.parametrize(
    ("raised", "code", "says"),
    [
        (KeyboardInterrupt(), 3, ""),
        (click.Abort(), 3, ""),
        (BrokenPipeError(32, "Broken pipe"), 0, ""),
        (OSError(28, "No space left on device"), 2, "adhere: cannot write the output: No space left on device"),
        (OSError(9, "Bad file descriptor"), 70, "adhere: internal error: OSError: [Errno 9] Bad file descriptor"),
        (ValueError("a\nb"), 70, "adhere: internal error: ValueError: a\\nb"),
        (RecursionError(), 70, "adhere: internal error: RecursionError"),
        (MemoryError(), 70, "adhere: internal error: MemoryError"),
        (AssertionError(), 70, "adhere: internal error: AssertionError"),
        (
            ExceptionGroup("many", [ValueError("a")]),
            70,
            "adhere: internal error: ExceptionGroup: many (1 sub-exception)",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_no_exception_leaves_as_1(
    call: Call, monkeypatch: pytest.MonkeyPatch, raised: BaseException, code: int, says: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr(adhere, "main", fail)
    monkeypatch.setattr("scanner.cli.mute", lambda _: None)  # the streams are pytest's here
    monkeypatch.delenv("ADHERE_DEBUG", raising=False)
    answer = call("--version")
    assert answer.code == code
    assert answer.err.partition("\n")[0] == says
    assert "Traceback" not in answer.err


def test_debugging_shows_where(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("here")

    monkeypatch.setattr(adhere, "main", fail)
    monkeypatch.setenv("ADHERE_DEBUG", "1")
    answer = call("--version")
    assert answer.code == 70
    assert "Traceback" in answer.err


def test_an_unimportable_command_is_an_internal_error(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COMMANDS, "ask", "scanner.cli.gone")
    assert call("ask", "127.0.0.1").code == 70


def test_the_arguments_default_to_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["adhere", "--version"])
    assert run() == 0
    assert __version__ in capsys.readouterr().out


# --- streams ----------------------------------------------------------------------------------------------------------


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
        ("adhere scan CLOSED --format json | head -c 10", 3),
        ("adhere scan CLOSED --verbose 2>&1 | true", 3),
        ("adhere ask CLOSED | true", 3),
        ("adhere rules | true", 0),
        ("adhere --help | true", 0),
        ("adhere scan CLOSED --verbose >&-", 3),
        ("adhere scan CLOSED --verbose 2>&-", 3),
        ("adhere scan CLOSED --verbose >&- 2>&- <&-", 3),
        ("adhere scan --profile nothing CLOSED 2>&-", 2),
        ("adhere scan CLOSED --verbose 2>/dev/full", 3),
        ("adhere scan CLOSED >/dev/full", 2),
        ("adhere --version >/dev/full", 2),
        ("adhere scan --targets - <&-", 4),
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
    from io import StringIO

    stream = StringIO()
    mute(stream)
    assert stream.write("still there") == 11
