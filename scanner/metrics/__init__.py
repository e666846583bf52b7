"""Report -> metric families for Prometheus: pure. ``--format metrics=FILE.prom`` writes them for node_exporter.

Every family begins with ``adhere_``, but for those that the PKI enhancement has named (``certificates``). Labels are
bounded: no address ever becomes one, components and certificates are capped, and what was left out is itself a metric.
``docs/metrics.md`` lists the families with example queries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import islice
from typing import TextIO

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from scanner.metrics import certificates
from scanner.metrics.family import family, label, seconds, single
from scanner.model.component_tally import HONOURS
from scanner.model.finding import OUTCOMES, SEVERITIES, outcome
from scanner.model.report import VERDICTS, EndpointRow, FindingRow, Report, exit_code

MOST_COMPONENTS = 500
"""Components that get series of their own; the others are counted under ``(others)``."""
MOST_CERTIFICATES = 5000
"""Listeners whose certificate's end is a series: those that end first."""
_OTHERS = "(others)"


class ReportCollector(Collector):
    """A report as a source of metrics. Nothing of an earlier report is left behind when this one is replaced."""

    def __init__(self, report: Report) -> None:
        self.report = report

    def describe(self) -> list[GaugeMetricFamily]:
        """Nothing: registering must not read the whole report."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Every family."""
        return families(self.report)


def write(report: Report, out: TextIO) -> None:
    """The text format, version 0.0.4 (prometheus.io, "Exposition formats")."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(ReportCollector(report))
    out.write(generate_latest(registry).decode())


def families(report: Report) -> Iterator[GaugeMetricFamily]:
    """All metrics of a report, in one pass over its rows."""
    counts = _counted(report.rows())
    counts.hear(report.findings)
    yield from _of_the_scan(report)
    yield from _of_endpoints(report, counts)
    yield from _of_components(report)
    yield from _of_findings(report, counts)
    yield from _of_certificates(counts)
    yield from _of_coverage(report)
    if report.certificates is not None:
        yield from certificates.families(report.certificates)


# --- counting -------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Counts:
    endpoints: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """By verdict, component, standing."""
    outcomes: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """The same by outcome."""
    statuses: Counter[str] = field(default_factory=Counter)
    versions: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Endpoints that accept one, by version and component."""
    findings: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Failing ones by rule, severity, status."""
    ends: dict[tuple[str, str, str], float] = field(default_factory=dict)
    """Of the leaf that ends first among the replicas: by id, component and namespace."""
    components: set[str] = field(default_factory=set)

    def component(self, row: EndpointRow) -> str:
        """The label of a row's component."""
        name = label(_component(row["component"], row["owner"]["namespace"], row["standing"]))
        if name not in self.components and len(self.components) >= MOST_COMPONENTS:
            return _OTHERS
        self.components.add(name)
        return name

    def hear(self, findings: Iterable[FindingRow]) -> None:
        """Count the failing ones."""
        for finding in findings:
            if finding["verdict"] == "fail":
                self.findings[label(finding["rule"]), finding["severity"], finding["status"]] += 1


def _component(component: str | None, namespace: str | None, standing: str) -> str:
    """A layered product that the catalogue does not know goes by its namespace; what is a user's has no name here: he
    may have any number of namespaces."""
    return component or (f"namespace {namespace}" if standing == "layered" and namespace else "")


def _counted(rows: Iterable[EndpointRow]) -> _Counts:
    counts = _Counts()
    for row in rows:
        component = counts.component(row)
        counts.endpoints[row["verdict"], component, row["standing"]] += 1
        counts.outcomes[outcome(row["verdict"], row["status"]), component, row["standing"]] += 1
        counts.statuses[row["status"]] += 1
        for version, told in (row["observed"]["versions"] or {}).items():
            if told is not None and told["suites"] != []:
                counts.versions[version, component] += 1
        counts.hear(row["findings"])
        end = _end(row)
        if end is not None:
            key = (label(row["id"]), component, label(row["owner"]["namespace"] or ""))
            counts.ends[key] = min(end, counts.ends.get(key, end))
    return counts


def _end(row: EndpointRow) -> float | None:
    chain = row["observed"]["chain"]
    return seconds(chain[0]["not_after"]) if chain else None


# --- families -------------------------------------------------------------------------------------------------------


def _of_the_scan(report: Report) -> Iterator[GaugeMetricFamily]:
    scanner, cluster = report.scanner, (report.cluster or {}).get("name")
    words = (scanner["version"], scanner["mode"], scanner["profile"], cluster if isinstance(cluster, str) else "")
    info = [(tuple(map(label, words)), 1.0)]
    yield family("adhere_scan_info", "What scanned, and what.", ("version", "mode", "profile", "cluster"), info)
    started, finished = seconds(report.started), seconds(report.finished)
    if started is not None and finished is not None:
        yield single("adhere_scan_start_timestamp_seconds", "When the scan began.", started)
        yield single("adhere_scan_end_timestamp_seconds", "When the scan ended.", finished)
        yield single("adhere_scan_duration_seconds", "How long the scan took.", max(finished - started, 0))
    yield single("adhere_scan_connections", "TCP connections that the scan made.", report.summary.connections)
    yield single("adhere_scan_exit_code", "The exit code of adhere scan.", exit_code(report, report.fail_on))
    complete = report.coverage["complete"] and not report.summary.unsettled
    yield single("adhere_scan_complete", "1 if nothing that should have been judged is missing.", float(complete))


def _of_endpoints(report: Report, counts: _Counts) -> Iterator[GaugeMetricFamily]:
    groups = sorted({(component, standing) for _, component, standing in counts.endpoints})
    yield family(
        "adhere_endpoints",
        "Endpoints by verdict. Includes failures that do not count: see adhere_endpoint_outcomes.",
        ("verdict", "component", "standing"),
        (((verdict, *group), counts.endpoints[verdict, *group]) for group in groups for verdict in VERDICTS),
    )
    yield family(
        "adhere_endpoint_outcomes",
        "Endpoints by outcome, as all reports count them: a failure that does not count is deviates.",
        ("outcome", "component", "standing"),
        (((each, *group), counts.outcomes[each, *group]) for group in groups for each in OUTCOMES),
    )
    summary = report.summary
    unchecked = {"self-signed": summary.self_signed, "issued": summary.trust_unchecked - summary.self_signed}
    yield family(
        "adhere_trust_unchecked_endpoints",
        "Endpoints whose chain was not verified because no trust anchor is known, by kind of leaf.",
        ("leaf",),
        (((leaf,), float(count)) for leaf, count in unchecked.items()),
    )
    yield family(
        "adhere_name_unchecked_endpoints",
        "Endpoints whose certificate's names were not checked because the target is an IP address without a name.",
        (),
        [((), float(summary.names_unchecked))],
    )
    statuses = [((status,), float(count)) for status, count in sorted(counts.statuses.items())]
    yield family("adhere_endpoint_statuses", "Endpoints by status.", ("status",), statuses)
    versions = [(key, float(count)) for key, count in sorted(counts.versions.items())]
    yield family("adhere_accepting_endpoints", "Endpoints that accept a version.", ("version", "component"), versions)


def _of_components(report: Report) -> Iterator[GaugeMetricFamily]:
    counts: Counter[tuple[str, ...]] = Counter()
    rows = (
        (_component(row["component"], row["namespace"], row["standing"]), row)
        for row in report.summary.components.rows()
    )
    for name, row in islice(((name, row) for name, row in rows if name), MOST_COMPONENTS):
        for answer in HONOURS:  # added up: two long names may have become the same label
            counts[label(name), row["standing"], answer] += row["honouring"][answer]
    yield family(
        "adhere_component_listeners",
        "Listeners by whether they follow the required profile (yes, no, not-determined).",
        ("component", "standing", "honours"),
        sorted(counts.items()),
    )


def _of_certificates(counts: _Counts) -> Iterator[GaugeMetricFamily]:
    first = nsmallest(MOST_CERTIFICATES, counts.ends.items(), key=lambda one: (one[1], one[0]))
    yield family(
        "adhere_certificate_not_after_timestamp_seconds",
        "End of the served leaf certificate, of the replica whose ends first.",
        ("endpoint", "component", "namespace"),
        first,
    )
    left_out = len(counts.ends) - len(first)
    yield single(
        "adhere_certificates_left_out", "Listeners whose certificate has no series: theirs end later.", left_out
    )


def _of_findings(report: Report, counts: _Counts) -> Iterator[GaugeMetricFamily]:
    found = [(key, float(count)) for key, count in sorted(counts.findings.items())]
    yield family(
        "adhere_findings", "Failing findings, those that break no build too.", ("rule", "severity", "status"), found
    )
    failures = report.summary.failures
    totals = [((severity,), float(failures[severity])) for severity in SEVERITIES]
    yield family("adhere_counted_findings", "Failing findings that --fail-on looks at.", ("severity",), totals)


def _of_coverage(report: Report) -> Iterator[GaugeMetricFamily]:
    told = report.coverage.get("discovery")
    verdicts = report.summary.verdicts
    states: dict[str, int] = {
        "probed": report.summary.endpoints,
        "judged": verdicts["pass"] + verdicts["fail"],
        "undetermined": verdicts["inconclusive"],
        "not_applicable": verdicts["not_applicable"],
    }
    if told:
        aside = sum(each["count"] for each in told["left_out"])
        states |= {"discovered": told["discovered"], "left_out": aside, "not_reached": told["not_reached"]}
    samples = [((state,), float(count)) for state, count in sorted(states.items())]
    yield family("adhere_coverage_endpoints", "What became of the listeners that were found.", ("state",), samples)
    gaps = [((label(gap["resource"]), gap["gap"]), 1.0) for gap in told["unreadable"]] if told else []
    yield family("adhere_unreadable_resources", "Kinds that could not be read.", ("resource", "gap"), gaps)
