"""``adhere doctor``: where a cluster's configuration stopped on its way to a component's listeners."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from scanner.assessment import READS as ASSESSED
from scanner.assessment import Assessment, assess
from scanner.cli.cluster_options import ClusterAsked, accesses, which_cluster
from scanner.cli.progress import colors
from scanner.cli.results_directory import Subject, subjects
from scanner.cli.running import run_trio
from scanner.cli.streams import width
from scanner.doctor import INJECTED_MAPS, NO_EVENTS, NOT_READ, READS, Hear, diagnose, injected, served
from scanner.errors import InputError, UsageError
from scanner.files.problems import did_you_mean
from scanner.kube.kinds import Kind
from scanner.kube.maybe import Known, Unknown
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import union
from scanner.model.diagnosis import EVENT, Diagnosis, Events
from scanner.model.report import EXIT_FINDINGS, EXIT_INCOMPLETE, EXIT_OK
from scanner.report.diagnosis import exit_line, write
from scanner.report.escape import plain
from scanner.report.page import Page

ALL_READS = union((ASSESSED, READS))


@click.command(short_help="Name the step at which the configuration stopped.")
@click.argument("component", required=False)
@which_cluster
@click.option("--results", metavar="DIR", help="What 'adhere scan --save DIR' has seen: the last step, what is served.")
@click.option("--policy", "policy_file", metavar="FILE", help="The scan's policy (kind: ScanPolicy).")
def doctor(component: str | None, results: str | None, policy_file: str | None, **options: object) -> int:
    """Walk the steps from the APIServer object to what is served, and name the one at which the configuration stopped.

    For one component (kube-apiserver, metrics-server), or for all: then those whose configuration stopped are shown.
    Nothing is dialled. With --results and no cluster, the cluster is the one of the results, as it was then.

    Exit codes: 0 nothing stopped in any step that was looked at · 1 something stopped · 2 usage or configuration
    error · 3 it could not be determined
    """
    asked = ClusterAsked(**options)  # type: ignore[arg-type] # click has checked the types
    page, found, names = Page(out=sys.stdout, color=colors(sys.stdout), width=width()), list[Diagnosis](), set[str]()
    for subject in subjects(asked, ALL_READS, results=results, profile=None, policy_file=policy_file):
        looked_at = assess(subject.snapshot, subject.view)
        judged = subject.judged()
        seen = None if judged is None else [served(row) for _, row in judged]
        hear = hearing(asked, subject)
        diagnoses = list(diagnose(looked_at, component, maps=maps(asked), seen=seen, hear=hear))
        if diagnoses or component is None:
            write(page, looked_at.facts, diagnoses, whole=component is not None)
        found += diagnoses
        names |= _components(looked_at)
    if not found and component is not None:
        hint = did_you_mean(component, names, otherwise=f"known here: {', '.join(sorted(names)[:30]) or 'none'}")
        raise UsageError(f"no listener of the cluster is of a component '{plain(component, 60)}'", hint=hint)
    code = exit_code(found)
    page.line()
    page.folded(8, "", exit_line(code, found))
    return code


def maps(asked: ClusterAsked) -> Known[tuple[KubeObject, ...]]:
    """Return the ConfigMaps into which the platform writes a profile, if a directory has them."""
    if asked.snapshot is None:
        return NOT_READ
    # One of adhere's own snapshots has certain ConfigMaps by name, and none of these.
    found = gathered(asked.snapshot, INJECTED_MAPS, NOT_READ)
    return found if isinstance(found, Unknown) else injected(found)


def _components(looked_at: Assessment) -> set[str]:
    return {each.component for each in looked_at.discovery.endpoints if each.component}


def exit_code(found: list[Diagnosis]) -> int:
    """Return 1 if something stopped, else 3 if something is unknown or there is no component, else 0."""
    conclusions = {each.conclusion for each in found}
    if "stopped" in conclusions:
        return EXIT_FINDINGS
    return EXIT_INCOMPLETE if "unknown" in conclusions or not found else EXIT_OK


def hearing(asked: ClusterAsked, subject: Subject) -> Hear:
    """Return the reader of events for the selected cluster; a saved scan has no events."""
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
    """Read the objects of a kind that snapshots do not have, from a must-gather or manifests."""
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
