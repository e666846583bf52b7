"""The README says what the program does: every command and option, and the exit codes."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from scanner.cli import COMMANDS
from scanner.cli.lint import lint
from scanner.cli.scan import scan
from scanner.model import report
from scanner.model.finding import SEVERITIES
from tests.cli.calling import context

README = (Path(__file__).parents[1] / "README.md").read_text()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_there(name: str) -> None:
    assert f"`adhere {name}" in README


@pytest.mark.parametrize("option", [name for each in scan.params for name in each.opts if name.startswith("--")])
def test_every_option_of_scan_is_there(option: str) -> None:
    assert re.search(rf"(?<![\w-]){option}(?![\w-])", README)


@pytest.mark.parametrize(("command", "mark"), [(scan, "help"), (lint, "lint-help")], ids=["scan", "lint"])
def test_the_help_is_what_the_program_prints(
    command: click.Command, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        command, "_help_option", None
    )  # which click keeps of the first context that asked, a test's too
    told = README.split(f"<!-- {mark} -->\n```text\n")[1].split(f"\n```\n<!-- /{mark} -->")[0]
    name = f"adhere {command.name}"
    wide = click.Context(
        command, info_name=name, terminal_width=110, max_content_width=110, help_option_names=["-h", "--help"]
    )
    assert told == command.get_help(wide)


def test_no_option_is_invented() -> None:
    known = {name for each in scan.params for name in each.opts}
    commands = re.findall(r"adhere scan ([^`\n]*)", README)
    used = {word.partition("=")[0] for line in commands for word in line.split() if word.startswith("--")}
    assert used <= known


@pytest.mark.parametrize("page", ["README.md", "docs/lint.md"])
def test_no_option_of_lint_is_invented(page: str) -> None:
    known = {name for each in lint.params for name in each.opts}
    commands = re.findall(r"adhere lint ([^`\n]*)", (Path(__file__).parents[1] / page).read_text())
    used = {word.partition("=")[0] for line in commands for word in line.split() if word.startswith("--")}
    assert used
    assert used <= known


def test_the_exit_codes_are_those_of_the_program() -> None:
    section = README.split("## Exit codes", 1)[1].split("\n## ", 1)[0]
    told = {int(code) for code in re.findall(r"^\| *(\d+) *\|", section, re.MULTILINE)}
    assert told == {value for name, value in vars(report).items() if name.startswith("EXIT_")}


def test_the_default_threshold_is_a_severity() -> None:
    told = re.search(r"`--fail-on` \(default: (\w+)\)", README)
    assert told is not None
    assert told[1] in SEVERITIES
    assert f"[default: {told[1]}]" in " ".join(scan.get_help(click.Context(scan, parent=context())).split())


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\((?!https?:|#)([^)#]+)", README))))
def test_every_file_that_it_points_to_is_there(path: str) -> None:
    assert (Path(__file__).parents[1] / path).exists()


def test_the_limits_say_what_a_listener_that_recognises_a_scanner_can_do() -> None:
    limits = README.split("\n## Limits")[1].split("\n## ")[0]
    (said,) = [each for each in re.split(r"\n\* ", limits) if "recognises a scanner" in each]
    words = " ".join(said.split())
    assert "can refuse to it what it accepts from others, and then it passes" in words
    for mark in ("many suites", "padding", "ALPN", "number of connections", "server name", "source address"):
        assert mark in words
