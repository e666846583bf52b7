"""``adhere scan --publish``: write the reports of a scan into the clusters that it scanned."""

from __future__ import annotations

import json
from collections.abc import Iterator

from msgspec import Struct

from scanner.assessment import Assessment, surroundings
from scanner.cli.streams import note, say
from scanner.cluster import Access
from scanner.cluster.report_writer import publish
from scanner.errors import ScannerError
from scanner.model.report import Coverage, EndpointRow, FindingRow, OwnerRow, Report
from scanner.model.saved_scan import cluster_of
from scanner.report.coverage import discovery_row
from scanner.report.escape import plain
from scanner.report.formats.policy_reports import APIS, MANAGED_BY, encoded, place, with_earlier
from scanner.report.page import counted
from scanner.report.rows import finding_row
from scanner.report.stream import dumps
from scanner.values import replace

_SHOWN = 10
"""Errors that are printed; the others are counted."""
_KINDS = 3


class Destination(Struct, frozen=True, kw_only=True):
    """A scanned cluster that gets the reports of its objects."""

    cluster: Assessment
    access: Access
    api: str
    """``openreports`` or ``policyreport``."""


async def publish_all(report: Report, destinations: tuple[Destination, ...]) -> bool:
    """Write the reports into each cluster. Prints errors, and returns True if there were none."""
    failures = list[tuple[str, ScannerError]]()
    for each in destinations:
        name, gap = plain(each.cluster.facts.name, 100), _gap(each.cluster, report)
        api, kept = APIS[each.api], (endpoint.owner for endpoint in each.cluster.discovery.unasked)
        try:
            done = await publish(
                each.access,
                api.kinds,
                api.version,
                MANAGED_BY,
                (json.loads(text) for text in encoded(_of_cluster(report, each, destinations), api)),
                keep={place(OwnerRow(kind=one.kind, namespace=one.namespace, name=one.name)) for one in kept},
                merge=with_earlier if gap else None,
            )
        except ScannerError as error:
            failures.append((name, error))
            continue
        note(f"adhere: wrote {counted(done.written, 'report')} into {name}, removed {done.removed}")
        if gap:
            note(f"adhere: kept all earlier reports in {name}: {gap}")
        failures += [(name, failure) for failure in done.failures]
    for name, failure in failures[:_SHOWN]:
        say(f"adhere: {name}: {plain(failure.message, 1000)}")
        if failure.hint:
            say(f"        {plain(failure.hint, 300)}")
    if len(failures) > _SHOWN:
        say(f"adhere: and {counted(len(failures) - _SHOWN, 'more report')}")
    return not failures


def _gap(cluster: Assessment, report: Report) -> str:
    """Return why objects may exist that the scan has not seen; "" if it has seen all of the cluster."""
    unread = [each.kind.resource for each in cluster.snapshot.unreadable.values() if each.gap != "not-asked"]
    selected = cluster.view.policy.scope.include, cluster.view.policy.scope.exclude
    if report.coverage["interrupted"]:
        return "the scan was stopped"
    if unread:
        return f"{', '.join(unread[:_KINDS])}{' ...' if unread[_KINDS:] else ''} could not be read"
    if cluster.discovery.truncated:
        return "an object or a namespace has more listeners than are scanned"
    if cluster.discovery.unasked and any((cluster.view.include, cluster.view.exclude, *selected)):
        return "the scan leaves out listeners (--namespace, --include, --exclude, or the policy's scope)"
    return "" if cluster.discovery.endpoints else "no listener was found"


def _of_cluster(report: Report, here: Destination, every: tuple[Destination, ...]) -> Report:
    """Return the part of the report that is about one of several clusters, as if it had been scanned alone."""
    if len(every) == 1:
        return report
    name = here.cluster.facts.name
    own = {each.cluster.facts.name: _own_findings(each.cluster) for each in every}

    def alone(finding: FindingRow) -> FindingRow:
        return {**finding, "about": finding["about"].removeprefix(f"{name}/")} if finding["about"] else finding

    def rows() -> Iterator[EndpointRow]:
        for row in report.rows():
            if cluster_of(row["id"], own) == name:
                findings = [alone(each) for each in row["findings"]]
                yield {**row, "id": row["id"].removeprefix(f"{name}/"), "findings": findings}

    def is_here(finding: FindingRow) -> bool:
        """True also for one of no cluster, such as a requirement of the policy file."""
        homes = [each for each, findings in own.items() if dumps(finding) in findings]
        return name in homes or (not homes and cluster_of(finding["about"] or "", own) in (name, None))

    findings = [alone(each) for each in report.findings if is_here(each)]
    return replace(report, rows=rows, findings=findings, coverage=_coverage(report, here.cluster))


def _own_findings(cluster: Assessment) -> set[str]:
    """Return the findings of a cluster without an endpoint, as JSON: these do not name their cluster."""
    around = surroundings([cluster])
    return {dumps(finding_row(each)) for each in (*around.findings, *(one for late in around.late for one in late()))}


def _coverage(report: Report, cluster: Assessment) -> Coverage:
    """Return the coverage of the scan with the kinds that could not be read in one cluster."""
    unreadable, accepted = cluster.snapshot.unreadable.values(), cluster.view.policy.scope.accept_unreadable
    alone = discovery_row(report.summary, discovered=0, unreadable=unreadable, accepted=accepted)
    discovery = report.coverage.get("discovery")
    return {**report.coverage, "discovery": {**discovery, "unreadable": alone["unreadable"]} if discovery else None}
