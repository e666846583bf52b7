"""Options that several commands share, how a help text groups them, and values for completion.

Imports nothing of a scan: a help text and completion need only the declarations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import click
from click.core import ParameterSource
from msgspec import Struct

from scanner.cli import streams
from scanner.errors import UsageError

DEFAULT_PROFILE = "intermediate"
"""The profile of targets without one."""


def long_name(option: click.Parameter) -> str:
    """Return the first long name of an option: ``--quiet`` of ``-q, --quiet``."""
    return next((each for each in option.opts if each.startswith("--")), option.opts[0])


class Group(Struct, frozen=True):
    """Options that belong together in a help text."""

    title: str
    example: str
    options: str
    """The long options, separated by spaces."""


class Grouped(click.Command):
    """A command whose help text lists the options in groups, each with an example; the others are last."""

    def __init__(self, *args: Any, groups: Sequence[Group] = (), **options: Any) -> None:  # noqa: ANN401 - as click
        """``groups``: in the order of the help text."""
        super().__init__(*args, **options)
        self.groups = groups

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the groups."""
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        left = {long_name(each): each.get_help_record(ctx) for each in options}
        for group in self.groups:
            with formatter.section(group.title):
                formatter.write_text(f"Example: {group.example}")
                formatter.write_paragraph()
                formatter.write_dl([record for name in group.options.split() if (record := left.pop(name, None))])
        if rest := [record for record in left.values() if record]:
            with formatter.section("Other options"):
                formatter.write_dl(rest)


def refuse_empty(values: Mapping[str, str | None]) -> None:
    """Raise ``UsageError`` for an option with an empty value: ``--profile "$PROFILE"`` without that variable must not
    use the default."""
    for option, value in values.items():
        if value == "":
            raise UsageError(f"{option} is empty", hint="set a value, or remove the option for its default")


Completion = Callable[[click.Context, click.Parameter, str], list[str]]


def completion(values: Callable[[click.Context], Iterable[str]]) -> Completion:
    """Return what completes a value in a shell. An error gives no values, because a shell shows it amid the line."""

    def complete(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
        streams.hush(hushed=True)
        try:
            return [each for each in values(context) if each.startswith(begun)]
        except Exception:  # noqa: BLE001 - see above
            return []

    return complete


def either(formats: Iterable[str]) -> str:
    """Join the names of formats for a help text: ``text, json or junit``."""
    *first, last = formats
    return f"{', '.join(first)} or {last}"


def formats_option(formats: Iterable[str]) -> Callable[[Command], Command]:
    """Return the option ``--format`` of a command that writes reports in these formats."""
    return click.option(
        "--format",
        "formats",
        metavar="FMT[=PATH]",
        multiple=True,
        shell_complete=completion(lambda _: formats),
        help=f"{either(formats)}; repeatable.  [default: text]",
    )


def _profiles(_: click.Context) -> Iterable[str]:
    from scanner.kube.profile_catalogue import profiles  # noqa: PLC0415 - only completion needs it here

    return (each.name for each in profiles())


def _contexts(context: click.Context) -> Iterable[str]:
    from scanner.cluster.kubeconfig import contexts  # noqa: PLC0415 - see above

    return contexts(context.params.get("kubeconfig"))


PROFILES = completion(_profiles)
CONTEXTS = completion(_contexts)


def _hush(_: click.Context, __: click.Parameter, value: bool) -> bool:  # noqa: FBT001 - as click passes it
    streams.hush(hushed=value)
    return value


_QUIET = ("-q", "--quiet")
_QUIET_IS: dict[str, Any] = {"is_flag": True, "callback": _hush, "help": "Print only errors on stderr."}
QUIET = click.option(*_QUIET, **_QUIET_IS)


def quiet() -> click.Option:
    """Return the same option for a command that has no use for its value."""
    return click.Option(_QUIET, expose_value=False, **_QUIET_IS)


PREVIOUS = click.option(
    "--previous",
    metavar="DIR",
    multiple=True,
    help="Judge certificates from before the last change of PKI/cluster by an earlier snapshot or saved scan.",
)


POLICY = click.option(
    "--policy", "policy_file", metavar="FILE", help="Policy file: waivers, overrides ... (kind: ScanPolicy)."
)
BASELINE = click.option(
    "--baseline",
    metavar="FILE",
    help="Known findings, written by adhere baseline: they do not count in the exit code.",
)


def _gateway(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value is None:
        return None
    from scanner.cli.push_gateway import parse_gateway  # noqa: PLC0415 - few scans need it

    given = context.get_parameter_source(parameter.name or "")
    return parse_gateway(value, is_visible=given is ParameterSource.COMMANDLINE)


PUSH = click.option(
    "--push",
    metavar="URL",
    callback=_gateway,
    help="Also send the metrics to the Prometheus Pushgateway at URL.",
)


SECRETS = click.option(
    "--secrets/--no-secrets",
    default=None,
    help="Read the certificates in Secrets; --no-secrets requests no Secret.  [default: --no-secrets]",
)


class Amount(click.FloatRange):
    """A positive number; ``nan`` is refused, although it is outside no range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401
        """Return the number. Raises click's usage error for anything else."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


SECONDS = Amount(min=0, min_open=True, max=86_400)
RATE = Amount(min=0, min_open=True, max=1_000_000)
COUNT = click.IntRange(min=1, max=100_000)


Command = TypeVar("Command", bound=Callable[..., object])


class ClusterAsked(Struct, frozen=True, kw_only=True):
    """The options as click passes them."""

    cluster: bool = False
    kubeconfig: str | None = None
    contexts: tuple[str, ...] = ()
    snapshot: str | None = None
    components: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    namespace: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    via: str | None = None
    allow_external: bool = False
    allow_loopback: bool = False
    secrets: bool | None = None
    previous: tuple[str, ...] = ()
    configz: bool = False
    publish: str | None = None

    @property
    def meant(self) -> bool:
        """True if a cluster is selected."""
        return bool(self.cluster or self.contexts or self.snapshot or self.kubeconfig)

    def refuse_cluster_options(self) -> None:
        """Raise ``UsageError`` for an option of clusters beside a list of targets."""
        usual = ClusterAsked()
        for each in self.__struct_fields__:
            value = getattr(self, each)
            if value != getattr(usual, each):
                option = f"--{'no-' if value is False else ''}{each.replace('_', '-')}"
                raise UsageError(f"{option} needs a cluster, and none is selected", hint="add --cluster")


def split(_: click.Context, __: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Split each value of a repeatable option at its commas."""
    return tuple(filter(None, (name.strip() for part in value for name in part.split(","))))


_WHICH = (
    click.option("--kubeconfig", metavar="FILE", help="Kubeconfig file.  [default: as kubectl finds it]"),
    click.option(
        "--context",
        "--contexts",
        "contexts",
        metavar="NAME[,NAME]...",
        multiple=True,
        callback=split,
        shell_complete=CONTEXTS,
        help="Contexts of the kubeconfig; several clusters make one report.",
    ),
    click.option("--snapshot", metavar="DIR", help="Read a snapshot, a must-gather or manifests, not the API."),
)


_HOW = (
    click.option("--components", metavar="FILE", multiple=True, help="File with more catalogue entries."),
    click.option(
        "--include", metavar="SELECTOR", multiple=True, help="Scan what matches all: 'namespace=shop,port=8443'."
    ),
    click.option(
        "--namespace",
        metavar="NS[,NS]...",
        multiple=True,
        callback=split,
        help="Scan these namespaces only: short for --include.",
    ),
    click.option("--exclude", metavar="SELECTOR", multiple=True, help="Skip what matches; same syntax as --include."),
    click.option(
        "--allow-external", is_flag=True, help="Also dial addresses of the objects that are outside of the cluster."
    ),
    click.option(
        "--allow-loopback", is_flag=True, help="Also dial loopback addresses, if the cluster runs on this machine."
    ),
    click.option("--configz", is_flag=True, help="Ask kubelets for their configuration (needs nodes/proxy)."),
)


_CLUSTER = click.option(
    "--cluster", is_flag=True, help="Use the cluster of the kubeconfig, or the one that this pod is in."
)


_DIAL = (
    _CLUSTER,
    *_WHICH,
    *_HOW,
    click.option("--via", type=click.Choice(["port-forward"]), help="Reach pods that cannot be dialled directly."),
    SECRETS,
    PREVIOUS,
)


def which_cluster(command: Command) -> Command:
    """Add the options that select the cluster and how it is read."""
    return _add(command, (*_WHICH, *_HOW))


def dialled_cluster(command: Command) -> Command:
    """Add the options for ``scan``, which also dials."""
    return _add(command, _DIAL)


def one_cluster(command: Command) -> Command:
    """Add the options for ``node``, which reads the objects of its own cluster."""
    return _add(command, (_CLUSTER, *_WHICH))


def read_cluster(command: Command) -> Command:
    """Add the options for ``certs``, which reads objects only."""
    return _add(command, (_CLUSTER, *_WHICH, SECRETS, PREVIOUS))


def _add(command: Command, options: tuple[Callable[[Command], Command], ...]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command
