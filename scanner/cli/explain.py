"""``adhere explain``: what a listener must do and which object says so; ``--bug`` writes a bug report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import click

from scanner.assessment import READS, Assessment, assess
from scanner.cli.cluster_options import ClusterAsked, snapshots, viewpoint, which_cluster
from scanner.cli.doctor import ALL_READS, hearing, maps
from scanner.cli.results_directory import Subject, subjects
from scanner.cli.shared_options import load_policy
from scanner.doctor import Hear, diagnosis_of, served
from scanner.errors import UsageError
from scanner.kube.profile_catalogue import load_profile
from scanner.model.component_tally import honours
from scanner.model.endpoint import Endpoint, host_port
from scanner.model.expectation import Expectation
from scanner.model.report import EXIT_OK
from scanner.model.row import EndpointRow
from scanner.model.saved_scan import Seen
from scanner.report.bug import Bug, bug_report
from scanner.report.escape import plain
from scanner.report.explanation import explain as explanation
from scanner.report.page import counted, exit_text


def names(endpoint: Endpoint) -> set[str]:
    """Return all names by which a user may select this endpoint."""
    found = {endpoint.id, endpoint.component or "", *endpoint.aliases}
    for each in (endpoint.owner, endpoint.subject):
        if each is not None:
            short = "/".join(filter(None, (each.namespace, each.name)))
            found |= {short, f"{each.kind}/{short}", f"{short}:{endpoint.port}"}
    for host in filter(None, (endpoint.address, endpoint.host, endpoint.server_name)):
        shown = host_port(host, endpoint.port)
        found |= {shown, f"{endpoint.transport}://{shown}", host}
    return _without_empty(found)


def _without_empty(names: Iterable[str]) -> set[str]:
    return {name for name in names if name}


_MOST = 20
"""Most listeners in one run."""


@click.command(short_help="Show what a listener of the cluster must do, and which object says so.")
@click.argument("listener", metavar="TARGET|NAMESPACE/NAME")
@click.option(
    "--cluster", is_flag=True, help="The cluster of the kubeconfig, or the one that this pod is in: the default."
)
@which_cluster
@click.option(
    "--profile", metavar="NAME|FILE", help="Profile to meet on plain Kubernetes.  [default: mozilla/intermediate]"
)
@click.option("--policy", "policy_file", metavar="FILE", help="The scan's policy (kind: ScanPolicy).")
@click.option("--bug", is_flag=True, help="Instead: a bug report in Markdown, where a platform component fails.")
@click.option("--results", metavar="DIR", help="For --bug: what 'adhere scan --save DIR' has seen.")
def explain(
    listener: str,
    profile: str | None,
    policy_file: str | None,
    results: str | None,
    *,
    bug: bool,
    **options: object,
) -> int:
    """Print the requirements of a listener, the objects and fields that set them, and what each one overrides.

    The listener is an address with its port as one would dial it (10.0.0.7:8443, shop.example:443), an owner or object
    (shop/web, Route/shop/checkout, kubelet), or an endpoint's id from a report. Nothing is dialled.

    With --bug --results DIR: a bug report for a component of the platform that does not follow its profile. It contains
    objects, addresses and pods of the cluster: read it before you publish it.
    """
    asked = ClusterAsked(**options)  # type: ignore[arg-type] # click has checked the types
    if bug:
        return _report(bugs(listener, asked, results=results, profile=profile, policy_file=policy_file))
    if results is not None:
        raise UsageError("--results is for --bug: an expectation needs no scan", hint="add --bug, or leave it out")
    view = viewpoint(asked, load_policy(policy_file), load_profile(profile) if profile else None)
    view = replace(view, everything=True)
    shown = 0
    every = snapshots(asked, READS)
    for snapshot in every:
        looked_at = assess(snapshot, view, every)
        for lines in pages(looked_at, listener):
            if shown:
                click.echo()
            for line in lines:
                click.echo(line)
            shown += 1
    if not shown:
        raise UsageError(
            f"no listener of the cluster is '{plain(listener, 100)}'",
            hint="an address with its port, namespace/name, Kind/namespace/name or an endpoint's id from a report",
        )
    told = f"{counted(shown, 'listener')} explained, nothing judged"
    click.echo(f"\n{exit_text(EXIT_OK, [told])}")
    return EXIT_OK


def _report(found: list[Bug]) -> int:
    for number, each in enumerate(found):
        if number:
            click.echo()
        for line in bug_report(each):
            click.echo(line)
    return EXIT_OK


def pages(looked_at: Assessment, listener: str) -> Iterator[Iterator[str]]:
    """Yield the explanation of each selected listener; replicas with the same requirements are one.

    Raises ``UsageError`` for too many.
    """
    groups: dict[tuple[str, ...], tuple[Expectation, str, list[Endpoint]]] = {}
    for endpoint, left_out in _every(looked_at):
        if listener in names(endpoint):
            owed = looked_at.expectations.of(endpoint)
            key = (endpoint.id, owed.binding, str(owed.profile), left_out)
            groups.setdefault(key, (owed, left_out, []))[2].append(endpoint)
    if len(groups) > _MOST:
        raise UsageError(
            f"{len(groups)} listeners are '{plain(listener, 100)}'",
            hint=f"say which: {', '.join(plain(name, 80) for name, *_ in list(groups)[:3])} ...",
        )
    for owed, left_out, replicas in groups.values():
        yield explanation(replicas, owed, left_out=left_out)


def _every(looked_at: Assessment) -> Iterator[tuple[Endpoint, str]]:
    """Yield each listener, and the reason why a scan leaves it out, or ""."""
    found = looked_at.discovery
    yield from ((each, "") for each in found.endpoints)
    yield from zip(found.unasked, found.why_unasked, strict=True)
    yield from found.omitted


_HINT = "adhere scan --cluster --save DIR, then adhere explain LISTENER --bug --results DIR"
_MOST_REPORTED = 20
"""Most listeners in one run with ``--bug``."""


def bugs(
    listener: str, asked: ClusterAsked, *, results: str | None, profile: str | None, policy_file: str | None
) -> list[Bug]:
    """Return a bug report for each selected listener of the platform that does not follow.

    Raises ``UsageError`` with the reason if there is nothing to report.
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
    hint = "adhere explain LISTENER shows what is required, and why"
    raise UsageError(f"there is no bug to report\n{excuses}", hint=hint)


def _of(subject: Subject, listener: str, asked: ClusterAsked) -> Iterator[Bug | str]:
    looked_at = assess(subject.snapshot, subject.view)
    meant = _meant(looked_at, listener)
    if len(meant) > _MOST_REPORTED:
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


def _meant(looked_at: Assessment, listener: str) -> dict[str, Endpoint]:
    """Return the selected listeners by id, with one replica each."""
    own = listener.removeprefix(f"{looked_at.facts.name}/")  # of several clusters, ids begin with the name of theirs
    return {each.id: each for each in reversed(looked_at.discovery.endpoints) if {listener, own} & names(each)}


def _excuse(owed: Expectation, told: Sequence[tuple[Seen, EndpointRow]]) -> str:
    """Return why it is no bug of a platform component, or "" if it is one."""
    if owed.standing != "platform":
        return "it is no component of the platform: its owner decides what it serves"
    if owed.binding == "not-enforced":
        return "nothing holds it to the cluster's profile (adhere doctor says at which step)"
    if owed.binding == "settling":
        return "a change is being rolled out, and it may still follow"
    if not told:
        return "the saved scan has not seen it"
    if not _failing(told):
        return "in the saved scan it serves what is required"
    return ""


def _failing(told: Sequence[tuple[Seen, EndpointRow]]) -> list[tuple[Seen, EndpointRow]]:
    return [(seen, row) for seen, row in told if honours(row) == "no"]


def _bug(
    looked_at: Assessment, endpoint: Endpoint, told: Sequence[tuple[Seen, EndpointRow]], asked: ClusterAsked, hear: Hear
) -> Bug:
    failing = _failing(told)
    seen = [served(row) for _, row in told]
    return Bug(
        cluster=looked_at.facts,
        diagnosis=diagnosis_of(looked_at, endpoint, maps=maps(asked), seen=seen, hear=hear),
        rows=[row for _, row in failing],
        at=min(seen.observation.at for seen, _ in failing),
    )
