"""The clusters, snapshots, Secrets and policy that the options select."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from scanner.cli.shared_options import ClusterAsked
from scanner.cli.streams import note
from scanner.cli.trio_run import run_trio
from scanner.errors import InputError, UsageError
from scanner.files.source_positions import shown
from scanner.kube import cluster_facts, kinds
from scanner.kube.cluster_facts import hosted_namespaces, identity, same_cluster
from scanner.kube.kinds import CONFIG_MAP, LINTED, LOCAL_KINDS, SECRET, Kind
from scanner.kube.rbac import Review
from scanner.kube.snapshot import Snapshot, Unreadable, union, with_local_files
from scanner.kube.tls_profile import Profile
from scanner.model.saved_scan import HEAD
from scanner.model.scan_policy import ScanPolicy, Selector
from scanner.report.escape import plain
from scanner.report.rows import timestamp
from scanner.values import replace

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
    known = set(Selector.__struct_fields__)
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
    from scanner.cluster.snapshot_reader import NeededNames


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
        notice=lambda text: note(f"adhere: {plain(text, 500)}"),
    )
    found = [run_trio(partial(reading, way_in, reads)) for way_in in accesses(asked)]
    _none_twice(found)
    for snapshot in found:
        for warning in snapshot.warnings:
            note(f"adhere: {plain(snapshot.origin.name)}: {plain(warning, 500)}")
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


def earlier(directories: Iterable[str]) -> tuple[Snapshot, ...]:
    """Load the snapshots in directories. Raises ``InputError`` for a directory without a date, such as manifests."""
    return tuple(snapshot for directory in directories for snapshot in _in(directory))


def _in(directory: str) -> Iterator[Snapshot]:
    from scanner.cluster import load  # noqa: PLC0415 - the HTTP client takes longer than most commands

    reads = _of_earlier()
    return (load(place, reads) for place in _places(directory))


def _of_earlier() -> tuple[Kind, ...]:
    """Return the kinds of an earlier snapshot that are looked at."""
    from scanner.pki import governing  # noqa: PLC0415 - few commands need it

    return union((governing.READS, cluster_facts.READS, (kinds.NAMESPACE,)))


def only_governing(found: Snapshot) -> Snapshot:
    """Return a snapshot with what is looked at when it is an earlier one."""
    return replace(found, objects={kind: found.objects[kind] for kind in _of_earlier() if kind in found.objects})


def _places(directory: str) -> Iterator[Path]:
    """Yield the directories of the snapshots."""
    from scanner.cluster.snapshot_directory import HEAD as SNAPSHOT  # noqa: PLC0415
    from scanner.saved_scan import load_head, snapshot_places  # noqa: PLC0415 - see above

    if (Path(directory) / SNAPSHOT).is_file():
        yield Path(directory)
    elif (Path(directory) / HEAD).is_file():
        found = load_head(directory)
        if not found.clusters:
            raise UsageError(f"{directory}: this is a scan of a list of targets, not of a cluster", hint="remove it")
        yield from snapshot_places(Path(directory), len(found.clusters))
    else:
        hint = "use a directory of adhere snapshot save or adhere scan --save: others have no date"
        raise InputError(f"{directory}: this is neither a snapshot nor a saved scan of adhere", hint=hint)


def check(found: Sequence[Snapshot], clusters: Sequence[Snapshot]) -> None:
    """Raise ``UsageError`` for an earlier snapshot of another cluster, of an unknown one, or that is not earlier."""
    for each in found:
        name, of = plain(each.origin.name, 60), [one for one in clusters if same_cluster(each, one)]
        if not of:
            names = ", ".join(plain(one.origin.name, 60) for one in clusters)
            hint = "use an earlier snapshot of the same cluster"
            raise UsageError(f"--previous has the cluster {name}, but this is {names}", hint=hint)
        if len(of) > 1:
            what = f"--previous has the cluster {name}, which can be any of {len(of)} selected clusters"
            raise UsageError(what, hint="select one cluster: --context NAME")
        if each.taken_at > of[0].taken_at:
            what = f"--previous is of {timestamp(each.taken_at)}, later than the cluster ({timestamp(of[0].taken_at)})"
            raise UsageError(what, hint="exchange the two: --previous must be the earlier one")


def load_policy(path: str | None) -> ScanPolicy:
    """Load the policy file; without one the default policy. Raises ``InputError`` with all errors of the file."""
    if path is None:
        return ScanPolicy()
    from scanner.config.scan_policy import load_scan_policy  # noqa: PLC0415
    from scanner.judge import WAIVABLE  # noqa: PLC0415 - most scans have no such file
    from scanner.lint import READS  # noqa: PLC0415
    from scanner.lint.ignores import WAIVABLE as OF_LINT  # noqa: PLC0415

    return load_scan_policy(path, (*WAIVABLE, *OF_LINT), tuple(each.name for each in READS))


def needed_secrets(*, secrets: bool | None) -> NeededNames:
    """Return the parameter ``secrets`` of ``cluster.read``."""
    return _needed if secrets else ()


def _needed(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Return the Secrets with certificates that matter, by namespace and name."""
    from scanner.config.certificate_names import load_names  # noqa: PLC0415 - few scans read Secrets
    from scanner.pki.secret_references import secret_references  # noqa: PLC0415

    return secret_references(snapshot, load_names(hosted=hosted_namespaces(snapshot)))


def with_secrets_option(found: Snapshot, *, secrets: bool | None) -> Snapshot:
    """Apply ``--secrets`` to a saved snapshot. Missing Secrets are a gap only with ``--secrets``."""
    gap = found.unreadable.get(SECRET)
    if secrets is False:
        not_asked = Unreadable(kind=SECRET, gap="not-asked", reason="Secrets are not read (--no-secrets)")
        objects = {**found.objects, SECRET: ()}
        return replace(found, objects=objects, unreadable={**found.unreadable, SECRET: not_asked})
    if gap is None:
        return found
    return replace(found, unreadable={**found.unreadable, SECRET: _gap(gap, requested=secrets is True)})


def _gap(gap: Unreadable, *, requested: bool) -> Unreadable:
    """Return the gap as it is with or without ``--secrets``. A gap with an ``option`` is the same in a live cluster."""
    if requested and gap.gap == "not-asked" and not gap.option:
        return replace(gap, gap="not-saved", reason="the snapshot was taken without --secrets")
    return replace(gap, gap="not-asked") if gap.gap == "not-saved" and not requested else gap
