"""``adhere doctor``: find the step at which the TLS configuration of a component stopped."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from scanner.assessment import READS as ASSESSED
from scanner.assessment import Assessment, assess
from scanner.cli.inputs import accesses
from scanner.cli.results_directory import Subject, subjects
from scanner.cli.shared_options import ClusterAsked, which_cluster
from scanner.cli.streams import colors, width
from scanner.cli.trio_run import run_trio
from scanner.doctor import INJECTED_MAPS, NO_EVENTS, NOT_READ, READS, ReadEvents, diagnose, injected, served
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


@click.command()
@click.argument("component", required=False)
@which_cluster
@click.option("--results", metavar="DIR", help="Directory of 'adhere scan --save DIR', for the last step.")
@click.option("--policy", "policy_file", metavar="FILE", help="Policy file of the scan (kind: ScanPolicy).")
def doctor(component: str | None, results: str | None, policy_file: str | None, **options: object) -> int:
    """Follow the TLS configuration from the APIServer object to the listeners, and name the step at which it stopped.

    COMPONENT is a name, such as kube-apiserver or metrics-server. Without it, all components are checked, and those
    with a stopped configuration are shown. Nothing is dialled. With --results and no cluster, doctor uses the state of
    the cluster at the time of that scan.

    Exit codes: 0 no problem found in the checked steps · 1 a configuration stopped · 2 usage or configuration
    error · 3 it could not be determined
    """
    asked = ClusterAsked(**options)  # type: ignore[arg-type] # click has checked the types
    page, found, names = Page(out=sys.stdout, color=colors(sys.stdout), width=width()), list[Diagnosis](), set[str]()
    for subject in subjects(asked, ALL_READS, results=results, profile=None, policy_file=policy_file):
        assessed = assess(subject.snapshot, subject.view)
        judged = subject.judged()
        seen = None if judged is None else [served(row) for _, row in judged]
        events = events_of(asked, subject)
        diagnoses = list(diagnose(assessed, component, maps=maps(asked), seen=seen, read_events=events))
        if diagnoses or component is None:
            write(page, assessed.facts, diagnoses, whole=component is not None)
        found += diagnoses
        names |= _components(assessed)
    if not found and component is not None:
        hint = did_you_mean(component, names, otherwise=f"components here: {', '.join(sorted(names)[:30]) or 'none'}")
        raise UsageError(f"the cluster has no listener of a component '{plain(component, 60)}'", hint=hint)
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


def _components(assessed: Assessment) -> set[str]:
    return {each.component for each in assessed.discovery.endpoints if each.component}


def exit_code(found: list[Diagnosis]) -> int:
    """Return 1 if something stopped, else 3 if something is unknown or there is no component, else 0."""
    conclusions = {each.conclusion for each in found}
    if "stopped" in conclusions:
        return EXIT_FINDINGS
    return EXIT_INCOMPLETE if "unknown" in conclusions or not found else EXIT_OK


def events_of(asked: ClusterAsked, subject: Subject) -> ReadEvents:
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
    namespaces_read = {each.namespace for each in found}
    missed = {name: f"{directory} has none" for name in namespaces if name not in namespaces_read}
    return Events(found=found, missed=missed)


def gathered(directory: str, kind: Kind, otherwise: Unknown) -> Known[tuple[KubeObject, ...]]:
    """Read the objects of a kind that snapshots do not have, from a must-gather or manifests."""
    from scanner.cluster import load  # noqa: PLC0415 - see above
    from scanner.cluster.snapshot_directory import HEAD  # noqa: PLC0415 - see above

    if (Path(directory) / HEAD).is_file():
        return otherwise
    try:
        found = load(directory, (kind,))
    except InputError as error:  # only objects of other kinds, or unreadable files of this kind
        return Unknown(f"no {kind.name} was read: {error.message}")
    objects, gap = found.every(kind), found.gap(kind)
    # A directory never has those of every namespace: use those that it has.
    return Unknown(gap) if gap and not objects else objects
