"""Options of ``scan``, ``explain``, ``whatif`` and ``doctor`` that select the cluster and how it is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import click

from scanner.cli.running import run_trio
from scanner.cli.shared_options import PREVIOUS, SECRETS, earlier, needed_secrets, with_secrets_option
from scanner.cli.streams import say
from scanner.errors import UsageError
from scanner.files.source_positions import shown
from scanner.kube.cluster_facts import identity
from scanner.kube.kinds import CONFIG_MAP, LINTED, LOCAL_KINDS, SECRET, Kind
from scanner.kube.rbac import Review
from scanner.kube.snapshot import Snapshot, with_local_files
from scanner.kube.tls_profile import Profile
from scanner.model.scan_policy import ScanPolicy, Selector
from scanner.report.escape import plain

_FIELDS: Mapping[str, str] = {
    "namespace": "namespaces",
    "kind": "kinds",
    "name": "names",
    "component": "components",
    "label": "labels",
    "port": "ports",
    "endpoint": "endpoints",
}
"""Key of a selector -> field of ``Selector``."""

_HINT = "write it as in --exclude 'namespace=test-*,port=8443'; keys: " + ", ".join(_FIELDS)


def parse_selector(text: str, option: str) -> Selector:
    """Parse ``namespace=openshift-*,label=app=web,port=8443``; a repeated key has alternatives. Raises
    ``UsageError``."""
    found: dict[str, list[object]] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = part.partition("=")
        if not equals or not value or key not in _FIELDS:
            raise UsageError(f"{option}: invalid selector '{plain(part, 60)}'", hint=_HINT)
        field = _FIELDS[key]
        found.setdefault(field, []).append(_VALUES.get(field, _text)(value, option))
    if not found:
        raise UsageError(f"{option} is empty", hint=_HINT)
    known = {each.name for each in fields(Selector)}
    return Selector(**{name: tuple(values) for name, values in found.items() if name in known})  # type: ignore[arg-type]


def _text(value: str, _: str) -> object:
    return value


def _port(value: str, option: str) -> object:
    if not value.isdecimal() or not 0 < int(value) < 65536:
        raise UsageError(f"{option}: invalid port '{plain(value, 20)}'", hint="write a number from 1 to 65535")
    return int(value)


def _label(value: str, option: str) -> object:
    name, equals, text = value.partition("=")
    if not name or not equals:
        raise UsageError(f"{option}: invalid label '{plain(value, 60)}'", hint="write label=NAME=VALUE")
    return name, text


_VALUES: Mapping[str, Callable[[str, str], object]] = {"ports": _port, "labels": _label}


if TYPE_CHECKING:
    from scanner.assessment import Viewpoint
    from scanner.cluster import Access

Command = TypeVar("Command", bound=Callable[..., object])


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAsked:
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

    @property
    def meant(self) -> bool:
        """True if a cluster is selected."""
        return bool(self.cluster or self.contexts or self.snapshot or self.kubeconfig)

    def refuse_cluster_options(self) -> None:
        """Raise ``UsageError`` for an option of clusters beside a list of targets."""
        for each in fields(self):
            value = getattr(self, each.name)
            if value != each.default:
                option = f"--{'no-' if value is False else ''}{each.name.replace('_', '-')}"
                raise UsageError(f"{option} needs a cluster, and none is selected", hint="add --cluster")


def _split(_: click.Context, __: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(filter(None, (name.strip() for part in value for name in part.split(","))))


_WHICH = (
    click.option("--kubeconfig", metavar="FILE", help="Kubeconfig file.  [default: as kubectl finds it]"),
    click.option(
        "--context",
        "--contexts",
        "contexts",
        metavar="NAME[,NAME]...",
        multiple=True,
        callback=_split,
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
        callback=_split,
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


def read_cluster(command: Command) -> Command:
    """Add the options for ``certs``, which reads objects only."""
    return _add(command, (_CLUSTER, *_WHICH, SECRETS, PREVIOUS))


def _add(command: Command, options: tuple[Callable[[Command], Command], ...]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def viewpoint(asked: ClusterAsked, policy: ScanPolicy, default_profile: Profile | None) -> Viewpoint:
    """Return the viewpoint for the options. Raises ``UsageError`` for an invalid selector."""
    from scanner.assessment import Viewpoint  # noqa: PLC0415 - only clusters need what is behind it

    return Viewpoint(
        policy=policy,
        component_files=asked.components,
        include=_included(asked),
        exclude=tuple(parse_selector(text, "--exclude") for text in asked.exclude),
        allow_external=asked.allow_external,
        loopback=asked.allow_loopback,
        port_forward=asked.via == "port-forward",
        default_profile=default_profile,
        earlier=earlier(asked.previous),
    )


def _included(asked: ClusterAsked) -> tuple[Selector, ...]:
    """Return the selectors of ``--include``, each limited to the namespaces of ``--namespace``."""
    selectors = tuple(parse_selector(text, "--include") for text in asked.include)
    if not asked.namespace:
        return selectors
    if any(each.namespaces for each in selectors):
        raise UsageError("--namespace and namespaces in --include cannot be combined", hint="use one of the two")
    return tuple(replace(each, namespaces=asked.namespace) for each in selectors or (Selector(),))


Referred: TypeAlias = Callable[[Kind, Snapshot], Iterable[tuple[str, str]]]
"""Returns the Secrets or ConfigMaps to read after everything else, by namespace and name."""


Reviewed: TypeAlias = Callable[[Snapshot], Iterable[Review]]
"""Returns the access reviews to ask the API server for."""


def snapshots(
    asked: ClusterAsked, reads: tuple[Kind, ...], referred: Referred | None = None, reviewed: Reviewed | None = None
) -> list[Snapshot]:
    """Return a snapshot of each selected cluster, live or saved. Secrets are read if ``reads`` has the kind and the
    user allows it: those of ``referred``, else those that a scan needs. Raises ``ScannerError``."""
    if asked.snapshot is not None:
        if asked.contexts or asked.cluster:
            raise UsageError("--snapshot cannot be combined with --cluster or --context", hint="remove one of them")
        found = with_local_files(_replayed(asked.snapshot, (*reads, *LOCAL_KINDS)))
        found = found if referred is not None else _without_other_maps(found)
        return [with_secrets_option(found, secrets=asked.secrets) if SECRET in reads else found]
    return _live(asked, reads, referred, reviewed)


def bundles(found: Snapshot) -> Iterator[tuple[str, str]]:
    """Return the ConfigMaps that objects name as CAs, by namespace and name."""
    from scanner.linting import referred  # noqa: PLC0415 - as long as everything else of a help text

    return referred(None, CONFIG_MAP, found)


def _without_other_maps(found: Snapshot) -> Snapshot:
    """Remove the ConfigMaps that a live cluster would not have been asked for."""
    needed = {*CONFIG_MAP.named, *bundles(found)}
    kept = tuple(each for each in found.objects.get(CONFIG_MAP, ()) if (each.namespace or "", each.name) in needed)
    return replace(found, objects={**found.objects, CONFIG_MAP: kept})


def _replayed(directory: str, reads: tuple[Kind, ...]) -> Snapshot:
    """Load a directory with all its ConfigMaps."""
    from scanner.cluster import load  # noqa: PLC0415 - the HTTP client takes longer than most commands

    unnamed = replace(CONFIG_MAP, named=())
    found = load(directory, [unnamed if kind == CONFIG_MAP else kind for kind in reads])
    objects = {CONFIG_MAP if kind == unnamed else kind: each for kind, each in found.objects.items()}
    objects[CONFIG_MAP] = tuple(replace(each, kind=CONFIG_MAP) for each in objects.get(CONFIG_MAP, ()))
    gaps = {CONFIG_MAP if kind == unnamed else kind: each for kind, each in found.unreadable.items()}
    return replace(found, objects=objects, unreadable=gaps)


def _live(
    asked: ClusterAsked, reads: tuple[Kind, ...], referred: Referred | None, reviewed: Reviewed | None
) -> list[Snapshot]:
    from scanner.cluster import read  # noqa: PLC0415 - see above

    permitted = {"configz"} if asked.configz else set[str]()
    permitted |= {"lint"} if set(reads) & set(LINTED) else set()  # no scan reads them
    reading = partial(
        read,
        no_secrets=asked.secrets is False,
        secrets=partial(referred, SECRET) if referred and asked.secrets else needed_secrets(secrets=asked.secrets),
        config_maps=partial(referred, CONFIG_MAP) if referred else bundles,
        config_maps_by="lint" if referred else "configmaps",
        permitted=permitted,
        reviews=reviewed,
        notice=lambda text: say(f"adhere: {plain(text, 500)}"),
    )
    found = [run_trio(partial(reading, way_in, reads)) for way_in in accesses(asked)]
    _none_twice(found)
    for snapshot in found:
        for warning in snapshot.warnings:
            say(f"adhere: {plain(snapshot.origin.name)}: {plain(warning, 500)}")
    return found


def accesses(asked: ClusterAsked) -> list[Access]:
    """Return access to the API of each selected cluster. Raises ``ScannerError``."""
    from scanner.cluster import access  # noqa: PLC0415 - see above

    for name, times in Counter(asked.contexts).items():
        if times > 1:
            raise UsageError(f"the context {shown(name)} appears {times} times", hint="list each context once")
    return [access(asked.kubeconfig, context) for context in asked.contexts or (None,)]


def _none_twice(found: list[Snapshot]) -> None:
    """Raise ``UsageError`` for two contexts of one cluster, which would be scanned and counted twice. A cluster without
    an identity is different from all others."""
    names: dict[str, str] = {}
    for snapshot in found:
        who, name = identity(snapshot), snapshot.origin.name
        if who and who in names:
            raise UsageError(
                f"the contexts {shown(names[who])} and {shown(name)} are the same cluster ({plain(who, 60)})",
                hint="list each cluster once",
            )
        names[who] = name
