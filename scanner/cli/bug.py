"""``adhere explain --bug``: the report to file where a component of the platform does not follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scanner.cli.cluster_options import ClusterAsked
from scanner.cli.doctor import ALL_READS, maps
from scanner.cli.hearing import hearing
from scanner.cli.naming import names
from scanner.cli.saved import Subject, subjects
from scanner.doctor import Hear, diagnosis_of, served
from scanner.errors import UsageError
from scanner.model.component_tally import honours
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Expectation
from scanner.model.observation_record import Seen
from scanner.model.row import EndpointRow
from scanner.report.bug import Bug
from scanner.report.escape import plain
from scanner.survey import Survey, survey

_HINT = "adhere scan --cluster --save DIR, then adhere explain LISTENER --bug --results DIR"
_MOST = 20
"""Listeners that are looked at; whoever means more says which."""


def bugs(
    listener: str, asked: ClusterAsked, *, results: str | None, profile: str | None, policy_file: str | None
) -> list[Bug]:
    """A report for each listener that is meant, the platform's, and does not follow.

    Raises ``UsageError`` where there is nothing to report, with the reason.
    """
    if results is None:
        raise UsageError("--bug needs what the listener served, and --results is missing", hint=_HINT)
    found: list[Bug | str] = []
    for subject in subjects(asked, ALL_READS, results=results, profile=profile, policy_file=policy_file):
        found += _of(subject, listener, asked)
    reports = [each for each in found if isinstance(each, Bug)]
    if reports:
        return reports
    if not found:
        raise UsageError(f"no listener of the cluster is '{plain(listener, 100)}'", hint="as adhere explain takes it")
    excuses = "\n".join(dict.fromkeys(each for each in found if isinstance(each, str)))
    raise UsageError(f"there is no bug to report\n{excuses}", hint="adhere explain LISTENER says what it owes, and why")


def _of(subject: Subject, listener: str, asked: ClusterAsked) -> Iterator[Bug | str]:
    looked_at = survey(subject.snapshot, subject.view)
    meant = _meant(looked_at, listener)
    if len(meant) > _MOST:
        raise UsageError(f"{len(meant)} listeners are '{plain(listener, 100)}'", hint="say which, by the id of one")
    told: dict[str, list[tuple[Seen, EndpointRow]]] = {name: [] for name in meant}
    for seen, row in subject.judged() or () if meant else ():
        for name in meant:
            if seen.endpoint.id in (name, f"{subject.saved_as}/{name}"):
                told[name].append((seen, row))
    for name, endpoint in meant.items():
        excuse = _excuse(looked_at.expectations.of(endpoint), told[name])
        hear = hearing(asked, subject)
        yield f"{plain(name, 200)}: {excuse}" if excuse else _bug(looked_at, endpoint, told[name], asked, hear)


def _meant(looked_at: Survey, listener: str) -> dict[str, Endpoint]:
    """The listeners by id, with one replica each."""
    own = listener.removeprefix(f"{looked_at.facts.name}/")  # of several clusters, ids begin with the name of theirs
    return {each.id: each for each in reversed(looked_at.discovery.endpoints) if {listener, own} & names(each)}


def _excuse(owed: Expectation, told: Sequence[tuple[Seen, EndpointRow]]) -> str:
    """Why it is no bug of a component of the platform; empty where it is."""
    if owed.standing != "platform":
        return "it is no component of the platform: its owner decides what it serves"
    if owed.binding == "not-enforced":
        return "nothing holds it to the cluster's profile (adhere doctor says at which step)"
    if owed.binding == "settling":
        return "a change is being rolled out, and it may still follow"
    if not told:
        return "the saved scan has not seen it"
    if not _failing(told):
        return "the saved scan has not seen it serve anything else than it owes"
    return ""


def _failing(told: Sequence[tuple[Seen, EndpointRow]]) -> list[tuple[Seen, EndpointRow]]:
    return [(seen, row) for seen, row in told if honours(row) == "no"]


def _bug(
    looked_at: Survey, endpoint: Endpoint, told: Sequence[tuple[Seen, EndpointRow]], asked: ClusterAsked, hear: Hear
) -> Bug:
    failing = _failing(told)
    seen = [served(row) for _, row in told]
    return Bug(
        cluster=looked_at.facts,
        diagnosis=diagnosis_of(looked_at, endpoint, maps=maps(asked), seen=seen, hear=hear),
        rows=[row for _, row in failing],
        at=min(seen.observation.at for seen, _ in failing),
    )
