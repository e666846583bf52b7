"""The command line: argv -> a command -> an exit code. No exception leaves as a traceback, and none as exit 1."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

import click

from scanner import __version__
from scanner.errors import ScannerError
from scanner.model.report import EXIT_INCOMPLETE, EXIT_INTERNAL, EXIT_OK, EXIT_USAGE

COMMANDS: dict[str, str] = {
    "scan": "scanner.cli.scan",
    "demo": "scanner.cli.demo",
    "ask": "scanner.cli.ask",
    "profiles": "scanner.cli.profiles",
    "rules": "scanner.cli.rules",
}
"""Name of a command -> its module, which has a click command of the same name; imported when it is used."""


class Commands(click.Group):
    """The commands of the table above."""

    def list_commands(self, _: click.Context) -> list[str]:
        """In the table's order: what one needs first comes first."""
        return list(COMMANDS)

    def get_command(self, _: click.Context, name: str) -> click.Command | None:
        """The command of this name."""
        if name not in COMMANDS:
            return None
        command = getattr(import_module(COMMANDS[name]), name)
        assert isinstance(command, click.Command)  # noqa: S101 - the table above and nothing else decides
        return command


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="adhere", message="%(prog)s %(version)s")
def adhere() -> None:
    """Ask TLS listeners what they speak, judge it by a profile, and name what has to change.

    \b
    Exit codes: 0 everything complies · 1 findings at or above --fail-on · 2 usage or configuration error ·
    3 something could not be judged · 4 nothing was scanned · 70 internal error
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code (design, "Exit codes")."""
    try:
        code = adhere.main(arguments, prog_name="adhere", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else EXIT_OK
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        return _complain(error)
    except ScannerError as error:
        return _refuse(error)
    except (click.Abort, KeyboardInterrupt):
        return EXIT_INCOMPLETE
    except BrokenPipeError:
        # The reader has gone (| head). Nothing more can be said, also not by the interpreter when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_INCOMPLETE
    except Exception:  # noqa: BLE001 - the last line of defence: 70, never Python's 1
        return _internal()


def _complain(error: click.ClickException) -> int:
    context = getattr(error, "ctx", None)
    click.echo(f"adhere: {error.format_message()}", err=True)
    if isinstance(context, click.Context):
        click.echo(f"see: {context.command_path} --help", err=True)
    return EXIT_USAGE


def _refuse(error: ScannerError) -> int:
    click.echo(f"adhere: {error.message}", err=True)
    if error.hint:
        click.echo(f"        {error.hint}", err=True)
    return EXIT_USAGE


def _internal() -> int:
    summary = traceback.format_exception_only(*sys.exc_info()[:2])[-1].strip()
    click.echo(f"adhere: internal error: {summary}", err=True)
    if os.environ.get("ADHERE_DEBUG"):
        click.echo(traceback.format_exc(), err=True)
    else:
        click.echo("        this is a bug; ADHERE_DEBUG=1 prints where it happened, for a report", err=True)
    return EXIT_INTERNAL
