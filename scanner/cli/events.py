"""Where a diagnosis has events from: the API of the cluster that is looked at, or a must-gather."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from scanner.cli.cluster_options import ClusterAsked, accesses
from scanner.cli.results_directory import Subject
from scanner.cli.running import run_trio
from scanner.doctor import NO_EVENTS, Hear
from scanner.errors import InputError
from scanner.kube.kinds import Kind
from scanner.kube.maybe import Known, Unknown
from scanner.kube.objects import KubeObject
from scanner.model.diagnosis import EVENT, Events


def hearing(asked: ClusterAsked, subject: Subject) -> Hear:
    """Asked for the namespaces of a diagnosis; a saved scan alone has no events."""
    if asked.snapshot is not None:
        return partial(_of_directory, asked.snapshot)
    if not asked.meant and subject.results is not None:
        return lambda _: NO_EVENTS
    return partial(_live, asked, subject.snapshot.origin.name)


def _live(asked: ClusterAsked, name: str, namespaces: Sequence[str]) -> Known[Events]:
    from scanner.cluster.events import warnings  # noqa: PLC0415 - the HTTP client takes longer than most commands

    way_in = next((each for each in accesses(asked) if each.name == name), None)
    return NO_EVENTS if way_in is None else run_trio(partial(warnings, way_in, namespaces))


def _of_directory(directory: str, namespaces: Sequence[str]) -> Known[Events]:
    found = gathered(directory, EVENT, NO_EVENTS)
    if isinstance(found, Unknown):
        return found
    there = {each.namespace for each in found}
    missed = {name: f"{directory} holds none" for name in namespaces if name not in there}
    return Events(found=found, missed=missed)


def gathered(directory: str, kind: Kind, otherwise: Unknown) -> Known[tuple[KubeObject, ...]]:
    """The objects of a kind that no snapshot has, in a must-gather or manifests that were read before; else why none
    are there."""
    from scanner.cluster import load  # noqa: PLC0415 - see above
    from scanner.cluster.snapshot_directory import HEAD  # noqa: PLC0415 - see above

    if (Path(directory) / HEAD).is_file():
        return otherwise
    try:
        found = load(directory, (kind,))
    except InputError as error:  # what there is, is of other kinds; or its files of this kind cannot be read
        return Unknown(f"no {kind.name} was read: {error.message}")
    objects, gap = found.every(kind), found.gap(kind)
    # A directory never has those of every namespace; what it has is what can be looked at.
    return Unknown(gap) if gap and not objects else objects
