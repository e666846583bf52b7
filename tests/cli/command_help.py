"""``docs/commands.md``: the help of every command. ``python -m tests.cli.command_help`` writes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from scanner.cli import adhere

PAGE: Final = Path(__file__).parents[2] / "docs" / "commands.md"
WIDTH: Final = 110
_HEAD = """# Commands

The help of every command, as `adhere COMMAND --help` prints it. `python -m tests.cli.command_help` writes this page.
"""


def page() -> str:
    """The page with the help that the program prints now."""
    return _HEAD + "".join(f"\n## {name}\n\n```text\n{text}\n```\n" for name, text in _helps(adhere, "adhere", None))


def _helps(command: click.Command, name: str, parent: click.Context | None) -> Iterator[tuple[str, str]]:
    # click keeps the help option of the first context that asked for it, which can be a test's.
    command._help_option = None
    here = click.Context(
        command,
        parent=parent,
        info_name=command.name,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        help_option_names=["-h", "--help"],
    )
    yield name, command.get_help(here)
    if isinstance(command, click.Group):
        for each in command.list_commands(here):
            found = command.get_command(here, each)
            assert found is not None
            yield from _helps(found, f"{name} {each}", here)
    command._help_option = None


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
