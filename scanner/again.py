"""A saved scan judged again, by another profile, adherence, release or policy: no handshake is made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from scanner.archive import snapshot_places
from scanner.jobs import Owed, Owes
from scanner.judge import judge, judgement
from scanner.judge.waivers import WaiverLedger
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Expectation
from scanner.model.local_files import LOCAL_KINDS, with_local_files
from scanner.model.observation_record import Seen, read
from scanner.model.profile import Profile
from scanner.model.report import EndpointRow
from scanner.model.rule import Case
from scanner.model.saved_scan import OBSERVATIONS, Head
from scanner.model.scan_policy import ScanPolicy
from scanner.report.rows import endpoint_row
from scanner.survey import READS, Survey, Viewpoint, survey


def judged_again(directory: str, head: Head, view: Viewpoint) -> Iterator[EndpointRow]:
    """The rows that the scan in ``directory`` would have had from ``view``, in the order in which it saw them.

    Certificates are judged by the day on which they were seen. Raises ``InputError`` for a directory that is damaged.
    """
    owes = owed_again(directory, head, view)
    ledger: WaiverLedger | None = None
    for seen in read(Path(directory) / OBSERVATIONS):
        ledger = ledger or WaiverLedger(view.policy.waivers, seen.observation.at.date())
        yield row(seen, owes(seen.endpoint), view.policy, ledger)


def row(seen: Seen, expectation: Expectation, policy: ScanPolicy, ledger: WaiverLedger) -> EndpointRow:
    """One observation, judged by ``expectation``."""
    observation = seen.observation
    case = Case(
        endpoint=seen.endpoint,
        expectation=expectation,
        observation=observation,
        policy=policy.thresholds,
        now=observation.at,
    )
    result = judgement(ledger.waive(judge(case).findings, seen.endpoint))
    return endpoint_row(seen.endpoint, expectation, observation, result.verdict, result.status, result.findings)


def owed_again(directory: str, head: Head, view: Viewpoint) -> Owes:
    """What each endpoint of the saved scan owes, seen from ``view``."""
    if head.clusters:
        return _of_clusters(surveyed_again(directory, head, view))
    return _of_targets(head, view)


def surveyed_again(directory: str, head: Head, view: Viewpoint) -> dict[str, Survey]:
    """The clusters of the saved scan by name, looked at from ``view``."""
    from scanner.cluster import load  # noqa: PLC0415 - target lists have no snapshot

    places = zip(head.clusters, snapshot_places(Path(directory), len(head.clusters)), strict=True)
    kept = {name: with_local_files(load(place, (*READS, *LOCAL_KINDS))) for name, place in places}
    return {name: survey(snapshot, view) for name, snapshot in kept.items()}


def _of_clusters(surveys: dict[str, Survey]) -> Owes:
    """With several clusters, the ids of a scan begin with the name of each."""
    if len(surveys) == 1:
        (only,) = surveys.values()
        return only.expectations.of

    def owes(endpoint: Endpoint) -> Expectation:
        name = next(name for name in surveys if endpoint.id.startswith(f"{name}/"))
        return surveys[name].expectations.of(replace(endpoint, id=endpoint.id.removeprefix(f"{name}/")))

    return owes


def _of_targets(head: Head, view: Viewpoint) -> Owes:
    profile: Profile | None = view.profile or head.profile
    assert profile is not None  # noqa: S101 - a scan of targets always has one
    return Owed(
        profile=profile,
        profile_source="--profile" if view.profile else "the saved scan",
        anchors=head.anchors,
        anchor_source=head.anchor_source,
    )
