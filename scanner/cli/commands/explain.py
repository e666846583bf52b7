"""``adhere explain``: the requirements of a listener and the objects that set them; ``--bug`` writes a bug report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import click

from scanner.assessment import READS, Assessment, assess
from scanner.cli.commands.doctor import ALL_READS, events_of, maps
from scanner.cli.inputs import load_policy, snapshots, viewpoint
from scanner.cli.results_directory import Subject, subjects
from scanner.cli.shared_options import PROFILES, ClusterAsked, completion, which_cluster
from scanner.doctor import ReadEvents, diagnosis_of, served
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
from scanner.values import replace


def names(endpoint: Endpoint) -> set[str]:
    """Return all names by which a user may select this endpoint."""
    found = {endpoint.id, endpoint.component or "", *endpoint.aliases}
    for each in (endpoint.owner, endpoint.subject):
        if each is not None:
            short = "/".join(filter(None, (each.namespace, each.name)))
            found |= {short, f"{each.kind}/{short}", f"{short}:{endpoint.port}", f"{each.kind}/{short}:{endpoint.port}"}
    for host in filter(None, (endpoint.address, endpoint.host, endpoint.server_name)):
        shown = host_port(host, endpoint.port)
        found |= {shown, f"{endpoint.transport}://{shown}", host}
    return _without_empty(found)


def _without_empty(names: Iterable[str]) -> set[str]:
    return {name for name in names if name}


_MOST = 20
"""Most listeners in one run."""


def _listeners(context: click.Context) -> Iterator[str]:
    """Yield the ids of the listeners of the cluster or snapshot that the options select."""
    asked = ClusterAsked(
        **{each: context.params[each] for each in ClusterAsked.__struct_fields__ if each in context.params}
    )
    view = viewpoint(asked, load_policy(None), None)
    for snapshot in snapshots(asked, READS):
        yield from sorted({each.id for each in assess(snapshot, view).discovery.endpoints})


@click.command()
@click.argument("listener", metavar="LISTENER", shell_complete=completion(_listeners))
@click.option("--cluster", is_flag=True, help="Use the cluster of the kubeconfig, or of this pod: the default.")
@which_cluster
@click.option(
    "--profile",
    metavar="NAME|FILE",
    shell_complete=PROFILES,
    help="Required profile on plain Kubernetes.  [default: mozilla/intermediate]",
)
@click.option("--policy", "policy_file", metavar="FILE", help="Policy file of the scan (kind: ScanPolicy).")
@click.option("--bug", is_flag=True, help="Print a bug report in Markdown for a platform component that fails.")
@click.option("--results", metavar="DIR", help="Directory of 'adhere scan --save DIR', for --bug.")
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

    LISTENER is an address with its port (10.0.0.7:8443, shop.example:443), an owner or object (shop/web,
    Route/shop/checkout), a component (kubelet), or an endpoint's id from a report. Nothing is dialled.

    With --bug --results DIR it prints a bug report for a component of the platform that does not follow its profile.
    The report contains objects, addresses and pods of the cluster: read it before you publish it.
    """
    asked = ClusterAsked(**options)  # type: ignore[arg-type] # click has checked the types
    if bug:
        return _report(bugs(listener, asked, results=results, profile=profile, policy_file=policy_file))
    if results is not None:
        raise UsageError("--results works only with --bug", hint="add --bug, or remove --results")
    view = viewpoint(asked, load_policy(policy_file), load_profile(profile) if profile else None)
    view = replace(view, everything=True)
    shown = 0
    every = snapshots(asked, READS)
    for snapshot in every:
        for lines in pages(assess(snapshot, view, every), listener):
            if shown:
                click.echo()
            for line in lines:
                click.echo(line)
            shown += 1
    if not shown:
        raise _no_match(listener)
    result = f"{counted(shown, 'listener')} explained, nothing judged"
    click.echo(f"\n{exit_text(EXIT_OK, [result])}")
    return EXIT_OK


def _no_match(listener: str) -> UsageError:
    hint = "write an address with its port, namespace/name, Kind/namespace/name or an endpoint's id from a report"
    return UsageError(f"no listener of the cluster matches '{plain(listener, 100)}'", hint=hint)


def _report(found: list[Bug]) -> int:
    for number, each in enumerate(found):
        if number:
            click.echo()
        for line in bug_report(each):
            click.echo(line)
    return EXIT_OK


def pages(assessed: Assessment, listener: str) -> Iterator[Iterator[str]]:
    """Yield the explanation of each selected listener; replicas with the same requirements are one.

    Raises ``UsageError`` for too many.
    """
    groups: dict[tuple[str, ...], tuple[Expectation, str, list[Endpoint]]] = {}
    for endpoint, left_out in _every(assessed):
        if listener in names(endpoint):
            expected = assessed.expectations.of(endpoint)
            key = (endpoint.id, expected.binding, str(expected.profile), left_out)
            groups.setdefault(key, (expected, left_out, []))[2].append(endpoint)
    if len(groups) > _MOST:
        raise UsageError(
            f"'{plain(listener, 100)}' matches {len(groups)} listeners",
            hint=f"give the id of one: {', '.join(plain(name, 80) for name, *_ in list(groups)[:3])} ...",
        )
    for expected, left_out, replicas in groups.values():
        yield explanation(replicas, expected, left_out=left_out)


def _every(assessed: Assessment) -> Iterator[tuple[Endpoint, str]]:
    """Yield each listener, and the reason why a scan leaves it out, or ""."""
    found = assessed.discovery
    yield from ((each, "") for each in found.endpoints)
    yield from zip(found.unasked, found.why_unasked, strict=True)
    yield from found.omitted


_HINT = "run adhere scan --cluster --save DIR, then adhere explain LISTENER --bug --results DIR"
_MOST_REPORTED = 20
"""Most listeners in one run with ``--bug``."""


def bugs(
    listener: str, asked: ClusterAsked, *, results: str | None, profile: str | None, policy_file: str | None
) -> list[Bug]:
    """Return a bug report for each selected listener of the platform that does not follow.

    Raises ``UsageError`` with the reason if there is nothing to report.
    """
    if results is None:
        raise UsageError("--bug needs the results of a scan, and --results is missing", hint=_HINT)
    found: list[Bug | str] = []
    for subject in subjects(asked, ALL_READS, results=results, profile=profile, policy_file=policy_file):
        found += _of(subject, listener, asked)
    reports = [each for each in found if isinstance(each, Bug)]
    if reports:
        return reports
    if not found:
        raise _no_match(listener)
    reasons = "\n".join(dict.fromkeys(each for each in found if isinstance(each, str)))
    hint = "adhere explain LISTENER shows the requirements and the objects that set them"
    raise UsageError(f"there is no bug to report\n{reasons}", hint=hint)


def _of(subject: Subject, listener: str, asked: ClusterAsked) -> Iterator[Bug | str]:
    assessed = assess(subject.snapshot, subject.view)
    selected = _selected(assessed, listener)
    if len(selected) > _MOST_REPORTED:
        raise UsageError(f"'{plain(listener, 100)}' matches {len(selected)} listeners", hint="give the id of one")
    results: dict[str, list[tuple[Seen, EndpointRow]]] = {name: [] for name in selected}
    for seen, row in subject.judged() or () if selected else ():
        for name in selected:
            if seen.endpoint.id in (name, f"{subject.saved_as}/{name}"):
                results[name].append((seen, row))
    for name, endpoint in selected.items():
        reason = _no_bug(assessed.expectations.of(endpoint), results[name])
        events = events_of(asked, subject)
        yield f"{plain(name, 200)}: {reason}" if reason else _bug(assessed, endpoint, results[name], asked, events)


def _selected(assessed: Assessment, listener: str) -> dict[str, Endpoint]:
    """Return the selected listeners by id, with one replica each."""
    own = listener.removeprefix(f"{assessed.facts.name}/")  # of several clusters, ids begin with the name of theirs
    return {each.id: each for each in reversed(assessed.discovery.endpoints) if {listener, own} & names(each)}


def _no_bug(expected: Expectation, results: Sequence[tuple[Seen, EndpointRow]]) -> str:
    """Return why it is no bug of a platform component, or "" if it is one."""
    if expected.standing != "platform":
        return "it is no component of the platform: its owner configures it"
    if expected.binding == "not-enforced":
        return "the cluster's profile is not enforced on it (adhere doctor shows the step)"
    if expected.binding == "settling":
        return "a change is being rolled out: scan again when the rollout is complete"
    if not results:
        return "the saved scan did not probe it"
    if not _failing(results):
        return "it follows its profile in the saved scan"
    return ""


def _failing(results: Sequence[tuple[Seen, EndpointRow]]) -> list[tuple[Seen, EndpointRow]]:
    return [(seen, row) for seen, row in results if honours(row) == "no"]


def _bug(
    assessed: Assessment,
    endpoint: Endpoint,
    results: Sequence[tuple[Seen, EndpointRow]],
    asked: ClusterAsked,
    read_events: ReadEvents,
) -> Bug:
    failing = _failing(results)
    seen = [served(row) for _, row in results]
    return Bug(
        cluster=assessed.facts,
        diagnosis=diagnosis_of(assessed, endpoint, maps=maps(asked), seen=seen, read_events=read_events),
        rows=[row for _, row in failing],
        at=min(seen.observation.at for seen, _ in failing),
    )
