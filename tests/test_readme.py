"""README and docs/report.md say what the program does; docs/commands.md has the help of every command."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from scanner.cli import COMMANDS
from scanner.cli.commands.scan import scan
from scanner.model import report
from scanner.model.finding import SEVERITIES
from tests.cli import command_help
from tests.cli.calling import context

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
LIMITS = (ROOT / "docs/limits.md").read_text()
MOST_LINES = 150


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= MOST_LINES


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_there(name: str) -> None:
    assert any(f"{before}adhere {name}" in README for before in ("`", "$ ", "$ .venv/bin/"))


def test_the_help_is_what_the_program_prints() -> None:
    assert command_help.PAGE.read_text(encoding="utf-8") == command_help.page(), "python -m tests.cli.command_help"


@pytest.mark.parametrize("page", ["README.md", "docs/report.md"])
def test_the_exit_codes_are_those_of_the_program(page: str) -> None:
    section = (ROOT / page).read_text().split("## Exit codes", 1)[1].split("\n## ", 1)[0]
    told = {int(code) for code in re.findall(r"^\| *(\d+) *\|", section, re.MULTILINE)}
    assert told == {value for name, value in vars(report).items() if name.startswith("EXIT_")}


def test_the_default_threshold_is_a_severity() -> None:
    told = re.search(r"`--fail-on` \(default: (\w+)\)", README)
    assert told is not None
    assert told[1] in SEVERITIES
    assert f"[default: {told[1]}]" in " ".join(scan.get_help(click.Context(scan, parent=context())).split())


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\((?!https?:|#)([^)#]+)", README))))
def test_every_file_that_it_points_to_is_there(path: str) -> None:
    assert (ROOT / path).exists()


def test_the_limits_say_what_a_listener_that_recognises_a_scanner_can_do() -> None:
    (said,) = [each for each in re.split(r"\n\* ", LIMITS) if "recognises a scanner" in each]
    words = " ".join(said.split())
    assert "can refuse to it what it accepts from others, and then it passes" in words
    for mark in ("many suites", "padding", "ALPN", "number of connections", "server name", "source address"):
        assert mark in words
