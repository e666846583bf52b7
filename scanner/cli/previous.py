"""``--previous DIR``: what was known of a cluster earlier, from a snapshot of adhere's or from a saved scan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

from scanner.errors import InputError, UsageError
from scanner.kube import cluster_facts, kinds
from scanner.kube.cluster_facts import same_cluster
from scanner.kube.snapshot import Snapshot, union
from scanner.model.saved_scan import HEAD
from scanner.report.escape import plain
from scanner.report.rows import timestamp

PREVIOUS = click.option(
    "--previous",
    metavar="DIR",
    multiple=True,
    help="An earlier snapshot or saved scan: what was configured when older certificates were made.",
)


def earlier(directories: Iterable[str]) -> tuple[Snapshot, ...]:
    """The snapshots in them. Raises ``InputError`` for what does not tell when it was taken, as manifests do not."""
    return tuple(snapshot for directory in directories for snapshot in _in(directory))


def _in(directory: str) -> Iterator[Snapshot]:
    from scanner.cluster import load  # noqa: PLC0415 - the HTTP client takes longer than most commands
    from scanner.pki import governing  # noqa: PLC0415

    reads = union((governing.READS, cluster_facts.READS, (kinds.NAMESPACE,)))
    return (load(place, reads) for place in _places(directory))


def _places(directory: str) -> Iterator[Path]:
    """Where the snapshots are."""
    from scanner.archive import load_head, snapshot_places  # noqa: PLC0415 - see above
    from scanner.cluster.saving import HEAD as SNAPSHOT  # noqa: PLC0415

    if (Path(directory) / SNAPSHOT).is_file():
        yield Path(directory)
    elif (Path(directory) / HEAD).is_file():
        found = load_head(directory)
        if not found.clusters:
            raise UsageError(f"{directory}: a scan of a list of targets, and no cluster", hint="leave it out")
        yield from snapshot_places(Path(directory), len(found.clusters))
    else:
        hint = "it takes what adhere snapshot save, or scan --save, has filled: others do not say when they were made"
        raise InputError(f"{directory}: neither a snapshot of adhere's nor a saved scan", hint=hint)


def check(found: Sequence[Snapshot], clusters: Sequence[Snapshot]) -> None:
    """Raise ``UsageError`` for an earlier snapshot that is of none of the clusters, of nobody knows which, or not
    earlier."""
    for each in found:
        name, of = plain(each.origin.name, 60), [one for one in clusters if same_cluster(each, one)]
        if not of:
            told = ", ".join(plain(one.origin.name, 60) for one in clusters)
            raise UsageError(f"--previous has the cluster {name}, and this is {told}", hint="it must be the same one")
        if len(of) > 1:
            what = f"--previous has the cluster {name}, and nothing tells which of {len(of)} clusters that is"
            raise UsageError(what, hint="look at one cluster at a time")
        if each.taken_at > of[0].taken_at:
            what = f"--previous is of {timestamp(each.taken_at)}, and the cluster as of {timestamp(of[0].taken_at)}"
            raise UsageError(what, hint="it must be the earlier one: exchange the two")
