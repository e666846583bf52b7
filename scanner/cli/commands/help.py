"""``adhere help``: the same as ``--help``, where people look for it first."""

from __future__ import annotations

import click


@click.command(name="help")
@click.argument("command", metavar="[COMMAND]...", nargs=-1)
@click.pass_context
def help(context: click.Context, command: tuple[str, ...]) -> None:  # noqa: A001 - the command is called so
    """Show the help text of COMMAND, or the list of commands."""
    root = context.find_root()
    root.command.main([*command, "--help"], prog_name=root.info_name, standalone_mode=False)
