"""Judge a saved scan with another profile, adherence, release or policy, without a handshake."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from scanner.assessment import READS, Survey, Viewpoint, surroundings, survey
from scanner.cross_endpoint import CrossEndpoint, cross_endpoint, with_finding
from scanner.errors import InputError
from scanner.jobs import Owed, Surroundings
from scanner.judge import RULES, judge, judgement
from scanner.judge.network_policy import NetworkPolicies, explain
from scanner.judge.sslyze_result import DEEP_RULES, heard
from scanner.judge.suites import SUITE
from scanner.judge.versions import VERSION
from scanner.judge.waivers import WaiverLedger
from scanner.kube.kinds import LOCAL_KINDS, NETWORK_POLICY, SECRET
from scanner.kube.maybe import Unknown
from scanner.kube.snapshot import with_local_files
from scanner.kube.tls_profile import Profile
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Expectation
from scanner.model.inventory import InventoryRow
from scanner.model.observation import Observation
from scanner.model.report import EndpointRow, FindingRow
from scanner.model.rule import Case
from scanner.model.saved_scan import HEAD, OBSERVATIONS, ROWS, Head, Seen, cluster_of, read
from scanner.model.scan_policy import Scope, any_matches
from scanner.report.rows import endpoint_row, finding_row
from scanner.report.stream import read_rows
from scanner.report.whatif import Outlook
from scanner.saved_scan import snapshot_places
from scanner.tls.codepoints import VERSIONS
from scanner.tls.names import version_name


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
    outlooks: dict[str, Outlook] = field(default_factory=dict)
    """By instance, of those that would not meet a profile which is asked about; known after ``rows``."""
    _verdicts: Counter[str] = field(default_factory=Counter)
    _across: CrossEndpoint | None = None

    def rows(self) -> Iterator[EndpointRow]:
        """The rows that the scan would have had, in the order in which it saw them; those whose judgement waits for
        other endpoints come last.

        Certificates are judged by the day on which they were seen. Raises ``InputError`` for a directory that is
        damaged.
        """
        waiting: list[EndpointRow] = []
        kept = map(_then, read_rows(Path(self.directory) / ROWS))
        then = {instance: (profile, met) for instance, profile, met in kept}
        for seen in read(Path(self.directory) / OBSERVATIONS):
            of_all = self._across = self._across or cross_endpoint(self.view.policy, seen.observation.at.date())
            survey, own = self._own(seen.endpoint)
            if survey and not in_scope(own, self.view.policy.scope):
                self.out_of_scope += 1
                continue
            expectation = self._expectation(survey, own)
            if survey:
                survey.certificates.serve(seen.endpoint, seen.observation, expectation)
            profile_then, met_then = then.get(seen.endpoint.instance) or (None, False)
            owed_then = profile_then or ""
            of_all.replicas.add(seen.endpoint, expectation, seen.observation, owed_then=owed_then)
            of_all.passages.add(seen.endpoint, expectation, seen.observation)
            of_all.sharing.add(seen.endpoint, expectation, seen.observation)
            told = self._row(seen, survey, expectation, of_all.ledger)
            if self.view.profile and (found := outlook(expectation, seen.observation, met_then=met_then)):
                self.outlooks[seen.endpoint.instance] = found
            if expectation.passed_on is not None:
                waiting.append(told)
                continue
            self._verdicts[told["verdict"]] += 1
            yield told
        late = self._across.on_endpoints() if self._across else {}
        for each in waiting:
            told = with_finding(each, late.get(each["instance"]))
            self._verdicts[told["verdict"]] += 1
            yield told

    def judged(self, seen: Seen, ledger: WaiverLedger) -> EndpointRow:
        """One observation by itself. Raises ``InputError`` for an endpoint that is of none of the scan's clusters."""
        survey, own = self._own(seen.endpoint)
        return self._row(seen, survey, self._expectation(survey, own), ledger)

    def _row(self, seen: Seen, survey: Survey | None, expectation: Expectation, ledger: WaiverLedger) -> EndpointRow:
        endpoint, observation = seen.endpoint, seen.observation
        case = Case(
            endpoint=endpoint,
            expectation=expectation,
            observation=observation,
            policy=self.view.policy.thresholds,
            now=observation.at,
            opinion=seen.opinion,
        )
        told = heard(judge(case).findings, case, confirmed=bool(self.head.confirm), deep=bool(self.head.deep))
        explained = explain(survey.policies if survey else NetworkPolicies(()), endpoint, observation, told)
        result = judgement(ledger.waive(explained.findings, endpoint))
        said = (endpoint, expectation, observation, result.verdict, result.status, result.findings)
        return endpoint_row(*said, blocked_by=explained.blocked_by)

    def not_judged(self) -> tuple[str, ...]:
        """What the scan may have said and cannot be judged again, for want of what it needs, with the reason."""
        return tuple(self._gaps())

    def _gaps(self) -> Iterator[str]:
        if self.head.deep is None:
            yield "what --confirm and --deep had sslyze say: the release that saved the scan did not keep its answers"
        if self.head.confirm:
            yield "whether sslyze confirms what did not violate then: it was asked of violations alone, so they count"
        for name, each in self.surveys.items():
            if gap := each.snapshot.gap(NETWORK_POLICY):
                yield f"which NetworkPolicies close a port in {name}: {gap}"

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
        of_all = self._across or cross_endpoint(self.view.policy, datetime.now(UTC).date())
        around = surroundings(list(self.surveys.values())) if self.surveys else Surroundings()
        rules = (*RULES, *(DEEP_RULES if self.head.deep else ()))
        told, _ = of_all.findings(around, self._verdicts, applied=rules, interrupted=self.head.interrupted)
        return [finding_row(each) for each in told]

    def certificates(self) -> Iterator[InventoryRow]:
        """The certificates of its clusters as they would be judged; after all ``rows``."""
        alone = len(self.surveys) == 1
        for name, each in self.surveys.items():
            yield from each.certificates.rows(None if alone else name)

    def newly_in_scope(self, then: Scope) -> int:
        """Listeners that the policy of the viewpoint lets a scan ask, and that of the scan, ``then``, did not."""
        found = (each for one in self.surveys.values() for each in one.discovery.endpoints)
        return sum(not in_scope(each, then) for each in found)


def outlook(expectation: Expectation, observation: Observation, *, met_then: bool) -> Outlook | None:
    """What becomes of a listener to which an object of the cluster would bring a profile that is only asked about;
    ``met_then``: whether it met the profile of today. None where no object would."""
    profile, lever = expectation.profile, expectation.lever
    decided = next((each for each in expectation.because if each.decides), None)
    if isinstance(profile, Unknown) or decided is None or decided.source != "--profile":
        return None
    if lever is None or not (lever.field and lever.applied_by):
        return None
    source = f"{lever.where} {lever.field}"
    if not met_then:
        return Outlook(kind="does-not-follow", source=source, why="does not follow today's profile")
    if all(observation.versions.state(each) == "refused" for each in VERSIONS if each >= profile.min_version):
        least = version_name(profile.min_version)
        return Outlook(kind="cannot", source=source, why=f"follows today, and refuses {least} and later")
    return Outlook(kind="follows", source=source, why="follows today, and will get the new profile")


_PROFILE_RULES = frozenset({VERSION.id, SUITE.id})


def _then(row: EndpointRow) -> tuple[str, str | None, bool]:
    """An endpoint's instance, the profile that it had to meet, and whether it did."""
    deviates = any(
        each["rule"] in _PROFILE_RULES and each["verdict"] in ("fail", "inconclusive") for each in row["findings"]
    )
    known = row["expected"]["profile"] is not None and row["reach"] in ("tls", "client-certificate-required")
    return row["instance"], row["expected"]["profile"], known and not deviates


def again(directory: str, head: Head, view: Viewpoint) -> Again:
    """The scan in ``directory``, seen from ``view``. Raises ``InputError`` for a directory that is damaged."""
    surveys = surveyed_again(directory, head, view) if head.clusters else {}
    of_targets = None if head.clusters else owed_by_targets(head, view)
    return Again(directory=directory, head=head, view=view, surveys=surveys, of_targets=of_targets)


def in_scope(endpoint: Endpoint, scope: Scope) -> bool:
    """Whether a policy lets a scan ask ``endpoint``, as discovery decides it."""
    included = not scope.include or any_matches(scope.include, endpoint)
    return included and not any_matches(scope.exclude, endpoint)


def surveyed_again(directory: str, head: Head, view: Viewpoint) -> dict[str, Survey]:
    """The clusters of the saved scan by name, looked at from ``view``."""
    from scanner.cluster import load  # noqa: PLC0415 - target lists have no snapshot

    places = zip(head.clusters, snapshot_places(Path(directory), len(head.clusters)), strict=True)
    kept = {name: with_local_files(load(place, (*READS, SECRET, *LOCAL_KINDS))) for name, place in places}
    return {name: survey(snapshot, view, kept.values()) for name, snapshot in kept.items()}


def owed_by_targets(head: Head, view: Viewpoint) -> Owed:
    """What the targets of the saved scan owe, seen from ``view``. Raises ``InputError`` where nothing says it."""
    profile: Profile | None = view.profile or head.profile
    if profile is None:
        raise InputError(f"{HEAD}: profile: a list of targets needs one", hint="was the file changed?")
    return Owed(
        profile=profile,
        profile_source="--profile" if view.profile else "the saved scan",
        anchors=head.anchors,
        anchor_source=head.anchor_source,
    )
