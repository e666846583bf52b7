"""The commands, their help, and the last line of defence."""

from __future__ import annotations

import re

import click
import pytest

from scanner import __version__
from scanner.cli import COMMANDS, adhere, run
from tests.cli.calling import Call


def test_every_command_is_what_its_name_says() -> None:
    context = click.Context(adhere)
    assert adhere.list_commands(context) == list(COMMANDS)
    for name in COMMANDS:
        command = adhere.get_command(context, name)
        assert command is not None
        assert command.name == name
    assert adhere.get_command(context, "nothing") is None


@pytest.mark.parametrize(
    "words", ["", *COMMANDS, "profiles show", "rules show", "snapshot save"], ids=lambda words: words or "adhere"
)
def test_help_fits_a_terminal_of_eighty_columns_and_ends_no_sentence_in_dots(call: Call, words: str) -> None:
    answer = call(*words.split(), "--help")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith(f"Usage: {' '.join(['adhere', *words.split()])} ")
    assert [line for line in answer.out.splitlines() if len(line) > 80 or re.match(r"  [a-z].*\.\.\.$", line)] == []
    assert call(*words.split(), "-h") == answer


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
        (KeyboardInterrupt(), 3, "adhere: stopped by SIGINT; there is no report"),
        (click.Abort(), 3, "adhere: stopped by SIGINT; there is no report"),
        (KeyboardInterrupt("SIGTERM"), 3, "adhere: stopped by SIGTERM; there is no report"),
        (BrokenPipeError(32, "Broken pipe"), 0, ""),
        (OSError(28, "No space left on device"), 2, "adhere: cannot write the output: No space left on device"),
        (OSError(24, "Too many open files"), 2, "adhere: this machine is at a limit: Too many open files"),
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
    monkeypatch.setitem(COMMANDS, "gone", "A command without a module.")
    assert call("gone", "127.0.0.1").code == 70


def test_the_arguments_default_to_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["adhere", "--version"])
    assert run() == 0
    assert __version__ in capsys.readouterr().out
