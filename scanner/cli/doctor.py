"""``adhere doctor``: where a cluster's configuration stopped on its way to a component's listeners."""

from __future__ import annotations

import sys

import click

from scanner.assessment import READS as SURVEYED
from scanner.assessment import Survey, survey
from scanner.cli.cluster_options import ClusterAsked, which_cluster
from scanner.cli.events import gathered, hearing
from scanner.cli.progress import colors
from scanner.cli.results_directory import subjects
from scanner.cli.streams import width
from scanner.doctor import INJECTED_MAPS, NOT_READ, READS, diagnose, injected, served
from scanner.errors import UsageError
from scanner.files.problems import did_you_mean
from scanner.kube.maybe import Known, Unknown
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import union
from scanner.model.diagnosis import Diagnosis
from scanner.model.report import EXIT_FINDINGS, EXIT_INCOMPLETE, EXIT_OK
from scanner.report.diagnosis import exit_line, write
from scanner.report.escape import plain
from scanner.report.page import Page

ALL_READS = union((SURVEYED, READS))


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
        looked_at = survey(subject.snapshot, subject.view)
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
    """The ConfigMaps that the platform fills in, where a directory may hold them."""
    if asked.snapshot is None:
        return NOT_READ
    # One of adhere's own snapshots has certain ConfigMaps by name, and none of these.
    found = gathered(asked.snapshot, INJECTED_MAPS, NOT_READ)
    return found if isinstance(found, Unknown) else injected(found)


def _components(looked_at: Survey) -> set[str]:
    return {each.component for each in looked_at.discovery.endpoints if each.component}


def exit_code(found: list[Diagnosis]) -> int:
    """What stopped weighs more than what could not be determined; nothing at all was told of no component."""
    conclusions = {each.conclusion for each in found}
    if "stopped" in conclusions:
        return EXIT_FINDINGS
    return EXIT_INCOMPLETE if "unknown" in conclusions or not found else EXIT_OK
