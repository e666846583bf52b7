"""Options that several commands share: ``--previous``, ``--policy``, ``--secrets``, and numbers within limits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scanner.errors import InputError, UsageError
from scanner.kube import cluster_facts, kinds
from scanner.kube.cluster_facts import hosted_namespaces, same_cluster
from scanner.kube.kinds import SECRET
from scanner.kube.snapshot import Snapshot, Unreadable, union
from scanner.model.saved_scan import HEAD
from scanner.model.scan_policy import ScanPolicy
from scanner.report.escape import plain
from scanner.report.rows import timestamp

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


def earlier(directories: Iterable[str]) -> tuple[Snapshot, ...]:
    """Load the snapshots in directories. Raises ``InputError`` for a directory without a date, such as manifests."""
    return tuple(snapshot for directory in directories for snapshot in _in(directory))


def _in(directory: str) -> Iterator[Snapshot]:
    from scanner.cluster import load  # noqa: PLC0415 - the HTTP client takes longer than most commands
    from scanner.pki import governing  # noqa: PLC0415

    reads = union((governing.READS, cluster_facts.READS, (kinds.NAMESPACE,)))
    return (load(place, reads) for place in _places(directory))


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


if TYPE_CHECKING:
    from scanner.cluster.snapshot_reader import NeededNames

SECRETS = click.option(
    "--secrets/--no-secrets",
    default=None,
    help="Read the certificates in Secrets; --no-secrets requests no Secret.  [default: --no-secrets]",
)


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
