"""The command line: argv -> a command -> an exit code. No exception leaves as a traceback, and none as exit 1."""

from __future__ import annotations

import errno
import os
import re
import sys
import traceback
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from keyword import iskeyword
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from scanner import __version__
from scanner.cli.shared_options import long_name, quiet
from scanner.cli.streams import NO_SPACE, hush, mute, say
from scanner.errors import ResourceError, ScannerError, UsageError
from scanner.model.report import EXIT_INCOMPLETE, EXIT_INTERNAL, EXIT_OK, EXIT_USAGE

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS: dict[str, str] = {
    "scan": "Probe the TLS listeners of a cluster or a list, and report violations.",
    "node": "Probe the listeners of a node that no object declares, or that are on loopback.",
    "serve": "Scan a cluster repeatedly, and serve metrics and the report.",
    "lint": "Check the TLS settings in manifests or in a cluster's objects.",
    "diff": "List what is new, fixed or gone between two results.",
    "baseline": "Write the findings of a run as known ones, for --baseline.",
    "waive": "Print the waiver of a finding, for a policy file.",
    "explain": "Show the requirements of a listener, and the objects that set them.",
    "merge": "Make one report of the shards of a scan, or of several clusters.",
    "whatif": "Judge a saved scan again with another profile, release or policy.",
    "doctor": "Find out why the TLS profile does not reach a component.",
    "demo": "Scan a demo of an OpenShift cluster on this machine.",
    "ask": "Send one ClientHello and print the answer.",
    "certs": "List and judge certificates in files and in a cluster.",
    "profiles": "List the TLS profiles, or show one.",
    "rules": "List the rules, or show the page of one.",
    "snapshot": "Save the objects of a cluster, without private keys.",
    "import": "Read results or the policy of openshift/tls-scanner.",
    "tls-scanner": "Scan with the flags of openshift/tls-scanner.",
    "rbac": "Print the ClusterRole that a scan needs.",
    "completion": "Print the completion script of a shell.",
    "help": "Show the help text of a command.",
}
"""Name of a command -> what it does. Its module in ``scanner.cli.commands`` has a click command of the same name, and
is imported when it is used: a list of commands must not wait for what a scan imports."""

_LINKS = re.compile(r"SERVICE_(HOST|PORT)|PORT(_|$)")
"""Variables that Kubernetes sets in a pod for a Service with a name such as ``adhere-scan``."""


class Commands(click.Group):
    """The commands of the table above."""

    def list_commands(self, _: click.Context) -> list[str]:
        """Return them in the table's order: the most used first."""
        return list(COMMANDS)

    def get_command(self, _: click.Context, name: str) -> click.Command | None:
        """Return the command of this name, whose options can also be set in the environment."""
        if name not in COMMANDS:
            return None
        module = f"{name}_" if iskeyword(name) else name.replace("-", "_")
        command = getattr(import_module(f"scanner.cli.commands.{module}"), module)
        assert isinstance(command, click.Command)  # noqa: S101 - the table above and nothing else decides
        command.short_help = COMMANDS[name]
        _complete(command, _prefix(name))
        return command

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands that begin so, and the options of ``adhere``."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only a shell's TAB needs it

        found = [CompletionItem(name, help=what) for name, what in COMMANDS.items() if name.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command to run. Raises click's error, with a similar command, if there is none."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            close = get_close_matches(name.lower(), COMMANDS, n=1)
            raise click.UsageError(
                f"no command '{name}'" + (f"; did you mean adhere {close[0]}?" if close else ""), ctx=ctx
            )
        found = super().resolve_command(ctx, args)
        if found[1] is not None and not {"-h", "--help"} & set(args):
            _check_environment(f"{_prefix(name)}_", _variables(found[1]))
        return found


def _prefix(name: str) -> str:
    return f"ADHERE_{name.upper().replace('-', '_')}"


def _complete(command: click.Command, prefix: str) -> None:
    """Add what every command has: variables of the environment, and ``--quiet``."""
    if isinstance(command, click.Group):
        for name, each in command.commands.items():
            _complete(each, f"{prefix}_{name.upper().replace('-', '_')}")
    elif all(each.name != "quiet" for each in command.params):
        command.params.append(quiet())
    for option in command.params:
        if isinstance(option, click.Option):
            option.envvar = f"{prefix}_{long_name(option).removeprefix('--').upper().replace('-', '_')}"


def _variables(command: click.Command) -> set[str]:
    own = {each.envvar for each in command.params if isinstance(each.envvar, str)}
    below = command.commands.values() if isinstance(command, click.Group) else ()
    return own.union(*map(_variables, below))


def _check_environment(prefix: str, known: set[str]) -> None:
    """Raise ``UsageError`` for a variable of no option or without a value: a gate must not be laxer because of a
    spelling mistake."""
    for name in sorted(os.environ):
        if name in known and not os.environ[name]:
            raise UsageError(f"{name} is empty", hint="set a value, or remove it from the environment")
        if name.startswith(prefix) and name not in known and not _LINKS.match(name.removeprefix(prefix)):
            raise _no_option(name, get_close_matches(name, known, n=1))
        full = name.replace("ADHERE_", prefix, 1)  # ADHERE_FAIL_ON for ADHERE_SCAN_FAIL_ON
        if full in known and not name.startswith((*map(_prefix, COMMANDS), "ADHERE_PORT")):
            raise _no_option(name, [full])


def _no_option(name: str, close: Sequence[str]) -> UsageError:
    hint = f"did you mean {close[0]}?" if close else "remove it"
    return UsageError(f"{name} is set in the environment, and is no option", hint=hint)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="adhere", message="%(prog)s %(version)s")
def adhere() -> None:
    """Probe TLS listeners, compare them with the required profile, and name the object to change.

    Exit codes: 0 everything complies · 1 findings at or above --fail-on · 2 usage or configuration error ·
    3 something could not be judged · 4 nothing was scanned · 70 internal error

    Every option can also be set in the environment: --fail-on of adhere scan by ADHERE_SCAN_FAIL_ON.
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code (design, "Exit codes")."""
    hush(hushed=False)
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
    except (click.Abort, KeyboardInterrupt) as stopped:
        return stopped_early(stopped)
    except (BrokenPipeError, SystemExit):
        # The reader of a list or help text has seen enough (| head); click's own answer to that is to exit with 1.
        # A scan never gets here: ``output`` knows its code.
        mute(sys.stdout)
        return EXIT_OK
    except OSError as error:
        return _unwritten(error)
    except Exception:  # noqa: BLE001 - the last line of defence: 70, never Python's 1
        return _internal()


def stopped_early(stopped: BaseException) -> int:
    """Say that a signal came before the results; returns the exit code. Its name is in ``stopped``, or in the cause of
    click's ``Abort``, if it is not SIGINT."""
    cause = stopped.__cause__ or stopped
    name = cause.args[0] if cause.args else "SIGINT"
    say(f"adhere: stopped by {name}; there is no report")
    say(f"exit {EXIT_INCOMPLETE}: not complete: stopped by {name}")
    return EXIT_INCOMPLETE


def _complain(error: click.ClickException) -> int:
    context = getattr(error, "ctx", None)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        say(error.format_message())
        return EXIT_USAGE
    say(f"adhere: {error.format_message()}{_variable(error, context)}")
    if isinstance(context, click.Context):
        say(f"see: {context.command_path} --help")
    return EXIT_USAGE


def _variable(error: click.ClickException, context: object) -> str:
    """Return the variable of the environment that has the value of ``error``, or ""."""
    param = getattr(error, "param", None)
    if not isinstance(context, click.Context) or not isinstance(param, click.Option) or param.name is None:
        return ""
    from_environment = context.get_parameter_source(param.name) is ParameterSource.ENVIRONMENT
    return f" (from {param.envvar} in the environment)" if from_environment else ""


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
