"""Results of an earlier run: ``--results DIR``, a saved scan of the selected cluster; and the argument RESULTS."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from scanner.assessment import Viewpoint
from scanner.cli.commands.whatif import viewpoint as as_then
from scanner.cli.inputs import load_policy, snapshots, viewpoint
from scanner.cli.shared_options import ClusterAsked
from scanner.errors import InputError, UsageError
from scanner.judge.waivers import WaiverLedger
from scanner.kube.cluster_facts import READS as IDENTITY
from scanner.kube.cluster_facts import ClusterFacts, cluster_facts
from scanner.kube.kinds import Kind
from scanner.kube.profile_catalogue import load_profile
from scanner.kube.snapshot import Snapshot
from scanner.model.row import EndpointRow
from scanner.model.saved_scan import FINDINGS, OBSERVATIONS, ROWS, Head, Seen, cluster_of, read
from scanner.report import results as earlier
from scanner.report.escape import plain
from scanner.report.stream import read_findings, read_rows
from scanner.saved_scan import load_head, rejudge, snapshot_places
from scanner.values import replace


class Results(Struct, frozen=True, kw_only=True):
    """A saved scan of clusters."""

    directory: str
    head: Head
    view: Viewpoint
    """Viewpoint of the scan, with the options of this run."""

    def judged(self, cluster: str) -> Iterator[tuple[Seen, EndpointRow]]:
        """Yield the observations of one cluster with their rows, judged again. Raises ``InputError`` for a damaged
        directory."""
        once, ledger = rejudge(self.directory, self.head, self.view), None
        for seen in read(Path(self.directory) / OBSERVATIONS):
            ledger = ledger or WaiverLedger(self.view.policy.waivers, seen.observation.at.date())
            if cluster_of(seen.endpoint.id, self.head.clusters) == cluster:
                yield seen, once.judged(seen, ledger)

    def snapshots(self, reads: tuple[Kind, ...]) -> Iterator[tuple[str, Snapshot]]:
        """Yield the snapshots of the clusters at the time of the scan, by name."""
        from scanner.cluster import load  # noqa: PLC0415 - the HTTP client takes longer than most commands

        for name, place in zip(self.head.clusters, self._places, strict=True):
            yield name, load(place, reads)

    def called(self, facts: ClusterFacts) -> str:
        """Return the name of this cluster in the scan. Raises ``UsageError`` if the scan has other clusters only."""
        known = {name: cluster_facts(each) for name, each in self.snapshots(IDENTITY)}
        found = [name for name, each in known.items() if each.id and each.id == facts.id]
        found += [name for name, each in known.items() if name == facts.name and not (each.id and facts.id)]
        if not found and len(known) == 1 and not facts.id:
            found = list(known)
        if found:
            return found[0]
        raise UsageError(
            f"{self.directory}: the saved scan is of {', '.join(plain(each, 60) for each in known)}, "
            f"but this cluster is {plain(facts.name, 60)}",
            hint="use the results of a scan of this cluster, or only --results: then its own cluster is used",
        )

    @property
    def _places(self) -> list[Path]:
        return snapshot_places(Path(self.directory), len(self.head.clusters))


def load_results(directory: str, asked: ClusterAsked, policy_file: str | None) -> Results:
    """Load a saved scan of clusters. Raises ``ScannerError`` for anything else."""
    head = load_head(directory)
    if not head.clusters:
        raise UsageError(
            f"{directory}: this is a scan of a list of targets, which have no components",
            hint="save a scan of a cluster: adhere scan --cluster --save DIR",
        )
    then = as_then(
        directory,
        head,
        profile=None,
        adherence=None,
        pki=None,
        release=None,
        policy_file=policy_file,
        components=asked.components,
    )
    return Results(directory=directory, head=head, view=then)


class Subject(Struct, frozen=True, kw_only=True):
    """A selected cluster, and a saved scan of it."""

    snapshot: Snapshot
    view: Viewpoint
    results: Results | None = None
    saved_as: str = ""

    def judged(self) -> Iterator[tuple[Seen, EndpointRow]] | None:
        """Yield observations and rows of the saved scan; None without a saved scan."""
        return None if self.results is None else self.results.judged(self.saved_as)


def subjects(
    asked: ClusterAsked,
    reads: tuple[Kind, ...],
    *,
    results: str | None,
    profile: str | None,
    policy_file: str | None,
) -> Iterator[Subject]:
    """Yield the selected clusters. With ``results`` and no cluster: those of the saved scan.

    Raises ``ScannerError``.
    """
    if results is None:
        view = viewpoint(asked, load_policy(policy_file), load_profile(profile) if profile else None)
        for snapshot in snapshots(asked, reads):
            yield Subject(snapshot=snapshot, view=view)
        return
    found = load_results(results, asked, policy_file)
    view = viewpoint(asked, found.view.policy, load_profile(profile) if profile else found.view.default_profile)
    view = replace(view, component_files=found.view.component_files)
    if asked.meant:
        for snapshot in snapshots(asked, reads):
            yield Subject(snapshot=snapshot, view=view, results=found, saved_as=found.called(cluster_facts(snapshot)))
    else:
        for name, snapshot in found.snapshots(reads):
            yield Subject(snapshot=snapshot, view=view, results=found, saved_as=name)


def read_results(path: str) -> earlier.Results:
    """Read a saved scan, or a JSON report of a scan or of lint. Raises ``InputError``."""
    if not Path(path).is_dir():
        return earlier.read_report(Path(path))
    head = load_head(path)
    if head.coverage is None:
        hint = "use its JSON report (--format json), or scan again"
        raise InputError(f"{path}: an earlier release saved it, without its coverage", hint=hint)
    found = earlier.of_scan(path, head.started, head.coverage)
    found.add_endpoints(read_rows(Path(path) / ROWS))
    found.add_findings(read_findings(Path(path) / FINDINGS))
    return found
