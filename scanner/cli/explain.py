"""``adhere explain``: what a listener owes, and who says so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import click

from scanner.cli.bug import bugs
from scanner.cli.cluster_options import ClusterAsked, snapshots, viewpoint, which_cluster
from scanner.cli.naming import names
from scanner.cli.policies import load_policy
from scanner.errors import UsageError
from scanner.model.catalogue import load_profile
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Expectation
from scanner.model.report import EXIT_OK
from scanner.report.bug import Bug, bug_report
from scanner.report.escape import plain
from scanner.report.explanation import explain as explanation
from scanner.report.wording import counted, exit_text
from scanner.survey import READS, Survey, survey

_MOST = 20
"""Listeners that are explained at once; whoever means more says which."""


@click.command(short_help="Say what a listener of the cluster owes, and why.")
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
    """Print what a listener of the cluster owes: the objects and fields that say so, and what each one beat.

    The listener is an address with its port as one would dial it (10.0.0.7:8443, shop.example:443), an owner or
    object (shop/web, Route/shop/checkout, kubelet), or an endpoint's id from a report. Nothing is dialled.

    With --bug --results DIR: what to file where a component of the platform was seen not to follow. It names objects,
    addresses and pods of the cluster: read it before you publish it.
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
        looked_at = survey(snapshot, view, every)
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


def pages(looked_at: Survey, listener: str) -> Iterator[Iterator[str]]:
    """The explanation of each listener that is meant, replicas that owe the same together.

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


def _every(looked_at: Survey) -> Iterator[tuple[Endpoint, str]]:
    """Each listener, and why a scan leaves it out, or ""."""
    found = looked_at.discovery
    yield from ((each, "") for each in found.endpoints)
    yield from zip(found.unasked, found.why_unasked, strict=True)
    yield from found.omitted
