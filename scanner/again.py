"""A saved scan judged again, by another profile, adherence, release or policy: no handshake is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from scanner.archive import snapshot_places
from scanner.errors import InputError
from scanner.jobs import Owed, Surroundings
from scanner.judge import RULES, judge, judgement
from scanner.judge.waivers import WaiverLedger
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Expectation
from scanner.model.kinds import SECRET
from scanner.model.local_files import LOCAL_KINDS, with_local_files
from scanner.model.observation_record import Seen, read
from scanner.model.profile import Profile
from scanner.model.report import EndpointRow, FindingRow
from scanner.model.rule import Case
from scanner.model.saved_scan import OBSERVATIONS, ROWS, Head, cluster_of
from scanner.model.scan_policy import ScanPolicy, Scope
from scanner.model.selector import any_matches
from scanner.report.rows import endpoint_row, finding_row
from scanner.report.stream import read_rows
from scanner.survey import READS, Survey, Viewpoint, surroundings, survey
from scanner.whole import Whole, whole


@dataclass(slots=True)
class Again:
    """A saved scan, as it would have come out from another viewpoint."""

    directory: str
    head: Head
    view: Viewpoint
    surveys: Mapping[str, Survey]
    """By the names of the clusters; none for a list of targets."""
    of_targets: Owed | None
    """What every target of a list owes; None for clusters."""
    out_of_scope: int = 0
    """Endpoints that the scan saw, and that the policy of the viewpoint would not let it ask."""
    _verdicts: Counter[str] = field(default_factory=Counter)
    _whole: Whole | None = None

    def rows(self) -> Iterator[EndpointRow]:
        """The rows that the scan would have had, in the order in which it saw them.

        Certificates are judged by the day on which they were seen. Raises ``InputError`` for a directory that is
        damaged.
        """
        then = {each["instance"]: each["expected"]["profile"] for each in read_rows(Path(self.directory) / ROWS)}
        for seen in read(Path(self.directory) / OBSERVATIONS):
            of_all = self._whole = self._whole or whole(self.view.policy, seen.observation.at.date())
            survey, own = self._own(seen.endpoint)
            if survey and not in_scope(own, self.view.policy.scope):
                self.out_of_scope += 1
                continue
            expectation = self._expectation(survey, own)
            if survey:
                survey.certificates.serve(seen.endpoint, seen.observation, expectation)
            owed_then = then.get(seen.endpoint.instance) or ""
            of_all.replicas.add(seen.endpoint, expectation, seen.observation, owed_then=owed_then)
            told = row(seen, expectation, self.view.policy, of_all.ledger)
            self._verdicts[told["verdict"]] += 1
            yield told

    def owes(self, endpoint: Endpoint) -> Expectation:
        """What an endpoint of the saved scan owes. Raises ``InputError`` for one that is of none of its clusters."""
        return self._expectation(*self._own(endpoint))

    def _expectation(self, survey: Survey | None, own: Endpoint) -> Expectation:
        if survey:
            return survey.expectations.of(own)
        assert self.of_targets  # noqa: S101 - a scan without clusters is one of targets
        return self.of_targets(own)

    def _own(self, endpoint: Endpoint) -> tuple[Survey | None, Endpoint]:
        """The cluster that an endpoint is of, and the endpoint by the id that it has there; None for a target.

        Raises ``InputError`` for an endpoint that is of none of the clusters.
        """
        if self.of_targets:
            return None, endpoint
        name = cluster_of(endpoint.id, self.surveys)
        if name is None:
            what = f"{OBSERVATIONS}: {endpoint.id} is of no cluster of this scan"
            raise InputError(what, hint="was the file changed?")
        alone = len(self.surveys) == 1
        return self.surveys[name], endpoint if alone else replace(endpoint, id=endpoint.id.removeprefix(f"{name}/"))

    def findings(self) -> list[FindingRow]:
        """What would have been said of no single endpoint, by the rules on a scan as a whole; after all ``rows``."""
        of_all = self._whole or whole(self.view.policy, datetime.now(UTC).date())
        around = surroundings(list(self.surveys.values())) if self.surveys else Surroundings()
        told, _ = of_all.findings(around, self._verdicts, applied=RULES, interrupted=self.head.interrupted)
        return [finding_row(each) for each in told]

    def newly_in_scope(self, then: Scope) -> int:
        """Listeners that the policy of the viewpoint lets a scan ask, and that of the scan, ``then``, did not."""
        found = (each for one in self.surveys.values() for each in one.discovery.endpoints)
        return sum(not in_scope(each, then) for each in found)


def again(directory: str, head: Head, view: Viewpoint) -> Again:
    """The scan in ``directory``, seen from ``view``. Raises ``InputError`` for a directory that is damaged."""
    surveys = surveyed_again(directory, head, view) if head.clusters else {}
    of_targets = None if head.clusters else owed_by_targets(head, view)
    return Again(directory=directory, head=head, view=view, surveys=surveys, of_targets=of_targets)


def in_scope(endpoint: Endpoint, scope: Scope) -> bool:
    """Whether a policy lets a scan ask ``endpoint``, as discovery decides it."""
    included = not scope.include or any_matches(scope.include, endpoint)
    return included and not any_matches(scope.exclude, endpoint)


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


def surveyed_again(directory: str, head: Head, view: Viewpoint) -> dict[str, Survey]:
    """The clusters of the saved scan by name, looked at from ``view``."""
    from scanner.cluster import load  # noqa: PLC0415 - target lists have no snapshot

    places = zip(head.clusters, snapshot_places(Path(directory), len(head.clusters)), strict=True)
    kept = {name: with_local_files(load(place, (*READS, SECRET, *LOCAL_KINDS))) for name, place in places}
    return {name: survey(snapshot, view) for name, snapshot in kept.items()}


def owed_by_targets(head: Head, view: Viewpoint) -> Owed:
    """What the targets of the saved scan owe, seen from ``view``."""
    profile: Profile | None = view.profile or head.profile
    assert profile is not None  # noqa: S101 - a scan of targets always has one
    return Owed(
        profile=profile,
        profile_source="--profile" if view.profile else "the saved scan",
        anchors=head.anchors,
        anchor_source=head.anchor_source,
    )
