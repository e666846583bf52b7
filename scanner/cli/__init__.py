"""The command line: argv -> a command -> an exit code. No exception leaves as a traceback, and none as exit 1."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

import click

from scanner import __version__
from scanner.cli.streams import NO_SPACE, mute, say
from scanner.errors import ResourceError, ScannerError
from scanner.model.report import EXIT_INCOMPLETE, EXIT_INTERNAL, EXIT_OK, EXIT_USAGE

COMMANDS: dict[str, str] = {
    "scan": "scanner.cli.scan",
    "lint": "scanner.cli.lint",
    "diff": "scanner.cli.diff",
    "baseline": "scanner.cli.baseline",
    "waive": "scanner.cli.waive",
    "explain": "scanner.cli.explain",
    "whatif": "scanner.cli.whatif",
    "doctor": "scanner.cli.doctor",
    "demo": "scanner.cli.demo",
    "ask": "scanner.cli.ask",
    "certs": "scanner.cli.certs",
    "profiles": "scanner.cli.profiles",
    "rules": "scanner.cli.rules",
    "snapshot": "scanner.cli.snapshot",
    "rbac": "scanner.cli.rbac",
}
"""Name of a command -> its module, which has a click command of the same name; imported when it is used."""


class Commands(click.Group):
    """The commands of the table above."""

    def list_commands(self, _: click.Context) -> list[str]:
        """Return them in the table's order: the most used first."""
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
    """Probe TLS listeners, compare them with the required profile, and name the object to change.

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
    except (BrokenPipeError, SystemExit):
        # The reader of a list or help text has seen enough (| head); click's own answer to that is to exit with 1.
        # A scan never gets here: ``output`` knows its code.
        mute(sys.stdout)
        return EXIT_OK
    except OSError as error:
        return _unwritten(error)
    except Exception:  # noqa: BLE001 - the last line of defence: 70, never Python's 1
        return _internal()


def _complain(error: click.ClickException) -> int:
    context = getattr(error, "ctx", None)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        say(error.format_message())
        return EXIT_USAGE
    say(f"adhere: {error.format_message()}")
    if isinstance(context, click.Context):
        say(f"see: {context.command_path} --help")
    return EXIT_USAGE


def _refuse(error: ScannerError) -> int:
    say(f"adhere: {error.message}")
    if error.hint:
        say(f"        {error.hint}")
    return EXIT_USAGE


_NOTHING_LEFT = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""No descriptors and no memory, wherever it was noticed."""


def _unwritten(error: OSError) -> int:
    """A full disk below standard output and a machine at its limits are no bugs of ours; all else unforeseen is."""
    if error.errno in _NOTHING_LEFT:
        return _refuse(
            ResourceError(f"this machine is at a limit: {error.strerror}", hint="raise it: ulimit -a shows the limits")
        )
    if error.errno not in NO_SPACE:
        return _internal()
    mute(sys.stdout)
    return _refuse(ResourceError(f"cannot write the output: {error.strerror}", hint="free space on the disk"))


def _internal() -> int:
    from scanner.report.escape import plain  # noqa: PLC0415 - the formats behind it take longer than most commands

    summary = traceback.format_exception_only(*sys.exc_info()[:2])[-1].strip()
    say(f"adhere: internal error: {plain(summary, 300)}")
    if os.environ.get("ADHERE_DEBUG"):
        say(traceback.format_exc())
    else:
        say("        this is a bug: run it again with ADHERE_DEBUG=1, and report the traceback")
    return EXIT_INTERNAL
