"""Report -> metric families for Prometheus: pure. ``--format metrics=FILE.prom`` writes them for node_exporter.

Every family begins with ``adhere_``, except those that the PKI enhancement names ("Metrics and Observability", and the
list under "Alternative 5: Additional Certificate Metrics"). Labels are bounded: no address becomes one, components and
certificates are capped, and the number of those left out is itself a metric. ``docs/metrics.md`` has example queries.

A family of the enhancement has one series for each set of labels, and no label distinguishes replicas: the series shows
the worst of them. It has only certificates with a recognised well-known name, because its queries are about those.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import islice
from typing import Final, Literal, TextIO

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from scanner.model.component_tally import HONOURS
from scanner.model.finding import OUTCOMES, SEVERITIES, outcome
from scanner.model.inventory import CertificateReport, InventoryRow, moment
from scanner.model.report import VERDICTS, EndpointRow, FindingRow, Report, exit_code

MOST_COMPONENTS = 500
"""Components with series of their own; the others are counted under ``(others)``."""
MOST_CERTIFICATES = 5000
"""Listeners with a series for the expiry of their certificate: those that expire first."""
_OTHERS = "(others)"


class ReportCollector(Collector):
    """A report as a source of metrics; it leaves no series of an earlier report."""

    def __init__(self, report: Report) -> None:
        self.report = report

    def describe(self) -> list[GaugeMetricFamily]:
        """Return nothing, because registering must not read all rows."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield every family."""
        return families(self.report)


def write(report: Report, out: TextIO) -> None:
    """Write the text format, version 0.0.4 (prometheus.io, "Exposition formats")."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(ReportCollector(report))
    out.write(generate_latest(registry).decode())


def families(report: Report) -> Iterator[GaugeMetricFamily]:
    """Yield all metrics of a report, in one pass over its rows."""
    counts = _counted(report.rows())
    counts.add(report.findings)
    yield from _of_the_scan(report)
    yield from _of_endpoints(report, counts)
    yield from _of_components(report)
    yield from _of_findings(report, counts)
    yield from _of_certificates(counts)
    yield from _of_coverage(report)
    if report.certificates is not None:
        yield from pki_families(report.certificates)


# --- counting -------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Counts:
    endpoints: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Count by verdict, component and ``standing``."""
    outcomes: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Count by outcome, component and ``standing``."""
    statuses: Counter[str] = field(default_factory=Counter)
    versions: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Endpoints that accept a version, by version and component."""
    findings: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Failing findings by rule, severity and status."""
    expiries: dict[tuple[str, str, str], float] = field(default_factory=dict)
    """By id, component and namespace: when the first leaf of the replicas expires."""
    components: set[str] = field(default_factory=set)

    def component(self, row: EndpointRow) -> str:
        """Return the label of a row's component."""
        name = label(_component(row["component"], row["owner"]["namespace"], row["standing"]))
        if name not in self.components and len(self.components) >= MOST_COMPONENTS:
            return _OTHERS
        self.components.add(name)
        return name

    def add(self, findings: Iterable[FindingRow]) -> None:
        """Count the failing findings."""
        for finding in findings:
            if finding["verdict"] == "fail":
                self.findings[label(finding["rule"]), finding["severity"], finding["status"]] += 1


def _component(component: str | None, namespace: str | None, standing: str) -> str:
    """Component name; for a layered product outside the catalogue its namespace, for user workloads "" because they may
    have any number of namespaces."""
    return component or (f"namespace {namespace}" if standing == "layered" and namespace else "")


def _counted(rows: Iterable[EndpointRow]) -> _Counts:
    counts = _Counts()
    for row in rows:
        component = counts.component(row)
        counts.endpoints[row["verdict"], component, row["standing"]] += 1
        counts.outcomes[outcome(row["verdict"], row["status"]), component, row["standing"]] += 1
        counts.statuses[row["status"]] += 1
        for version, answer in (row["observed"]["versions"] or {}).items():
            if answer is not None and answer["suites"] != []:
                counts.versions[version, component] += 1
        counts.add(row["findings"])
        chain = row["observed"]["chain"]
        expiry = seconds(chain[0]["not_after"]) if chain else None
        if expiry is not None:
            key = (label(row["id"]), component, label(row["owner"]["namespace"] or ""))
            counts.expiries[key] = min(expiry, counts.expiries.get(key, expiry))
    return counts


# --- families -------------------------------------------------------------------------------------------------------


def _of_the_scan(report: Report) -> Iterator[GaugeMetricFamily]:
    scanner, cluster = report.scanner, (report.cluster or {}).get("name")
    words = (scanner["version"], scanner["mode"], scanner["profile"], cluster if isinstance(cluster, str) else "")
    info = [(tuple(map(label, words)), 1.0)]
    yield family(
        "adhere_scan_info",
        "The version of adhere, its mode and profile, and the cluster.",
        ("version", "mode", "profile", "cluster"),
        info,
    )
    started, finished = seconds(report.started), seconds(report.finished)
    if started is not None and finished is not None:
        yield single("adhere_scan_start_timestamp_seconds", "Start of the scan.", started)
        yield single("adhere_scan_end_timestamp_seconds", "End of the scan.", finished)
        yield single("adhere_scan_duration_seconds", "Duration of the scan.", max(finished - started, 0))
    yield single("adhere_scan_connections", "TCP connections that the scan made.", report.summary.connections)
    yield single("adhere_scan_exit_code", "The exit code of adhere scan.", exit_code(report, report.fail_on))
    complete = report.coverage["complete"] and not report.summary.unsettled
    yield single("adhere_scan_complete", "1 if everything that should be judged was judged.", float(complete))


def _of_endpoints(report: Report, counts: _Counts) -> Iterator[GaugeMetricFamily]:
    groups = sorted({(component, standing) for _, component, standing in counts.endpoints})
    yield family(
        "adhere_endpoints",
        "Endpoints by verdict. Includes failures that are not counted in the exit code: see adhere_endpoint_outcomes.",
        ("verdict", "component", "standing"),
        (((verdict, *group), counts.endpoints[verdict, *group]) for group in groups for verdict in VERDICTS),
    )
    yield family(
        "adhere_endpoint_outcomes",
        "Endpoints by outcome, as all reports count them: deviates is a failure that is not counted in the exit code.",
        ("outcome", "component", "standing"),
        (((each, *group), counts.outcomes[each, *group]) for group in groups for each in OUTCOMES),
    )
    summary = report.summary
    unchecked = {"self-signed": summary.self_signed, "issued": summary.trust_unchecked - summary.self_signed}
    yield family(
        "adhere_trust_unchecked_endpoints",
        "Endpoints whose chain was not verified because no CA is known, by kind of leaf.",
        ("leaf",),
        (((leaf,), float(count)) for leaf, count in unchecked.items()),
    )
    yield family(
        "adhere_name_unchecked_endpoints",
        "Endpoints whose certificate names were not checked because the target is an IP address without a name.",
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
        for answer in HONOURS:  # summed, because two long names may be cut to the same label
            counts[label(name), row["standing"], answer] += row["honouring"][answer]
    yield family(
        "adhere_component_listeners",
        "Listeners by whether they follow the required profile (yes, no, not-determined).",
        ("component", "standing", "honours"),
        sorted(counts.items()),
    )


def _of_certificates(counts: _Counts) -> Iterator[GaugeMetricFamily]:
    first = nsmallest(MOST_CERTIFICATES, counts.expiries.items(), key=lambda one: (one[1], one[0]))
    yield family(
        "adhere_certificate_not_after_timestamp_seconds",
        "Expiry of the served leaf certificate: the first of all replicas.",
        ("endpoint", "component", "namespace"),
        first,
    )
    left_out = len(counts.expiries) - len(first)
    yield single(
        "adhere_certificates_left_out",
        "Listeners without a series for their certificate, because it expires later.",
        left_out,
    )


def _of_findings(report: Report, counts: _Counts) -> Iterator[GaugeMetricFamily]:
    found = [(key, float(count)) for key, count in sorted(counts.findings.items())]
    yield family(
        "adhere_findings",
        "Failing findings, including those that are not counted in the exit code.",
        ("rule", "severity", "status"),
        found,
    )
    failures = report.summary.failures
    totals = [((severity,), float(failures[severity])) for severity in SEVERITIES]
    yield family(
        "adhere_counted_findings",
        "Failing findings that are counted in the exit code, if --fail-on includes their severity.",
        ("severity",),
        totals,
    )


def _of_coverage(report: Report) -> Iterator[GaugeMetricFamily]:
    discovery = report.coverage.get("discovery")
    verdicts = report.summary.verdicts
    states: dict[str, int] = {
        "probed": report.summary.endpoints,
        "judged": verdicts["pass"] + verdicts["fail"],
        "undetermined": verdicts["inconclusive"],
        "not_applicable": verdicts["not_applicable"],
    }
    if discovery:
        left_out = sum(each["count"] for each in discovery["left_out"])
        states |= {
            "discovered": discovery["discovered"],
            "left_out": left_out,
            "not_reached": discovery["not_reached"],
        }
    samples = [((state,), float(count)) for state, count in sorted(states.items())]
    yield family(
        "adhere_coverage_endpoints", "Listeners that were found, by what the scan did with them.", ("state",), samples
    )
    gaps = [((label(gap["resource"]), gap["gap"]), 1.0) for gap in discovery["unreadable"]] if discovery else []
    yield family("adhere_unreadable_resources", "Resources that could not be read.", ("resource", "gap"), gaps)


# --- certificates of the platform -----------------------------------------------------------------------------------

MOST_SERIES: Final = 1000
"""Series of each family. The enhancement expects 50 to 100 certificates."""

LABELS: Final = ("certificate_name", "category", "algorithm", "key_size", "curve", "component", "namespace")
"""Labels, in the enhancement's order."""
_NAMES: Final = 5
"""Names in the label of a certificate that may have several."""
_CATEGORIES: Final = {
    "signer": "SignerCertificate",
    "serving": "ServingCertificate",
    "client": "ClientCertificate",
    "peer": "PeerCertificate",  # not in the enhancement's list; its later text says Peer
}
_RULE: Final = "pki-key"
"""Rule that compares a key with the configuration."""

_NAME_STATES: Final[tuple[Literal["judged", "unknown", "never_seen", "elsewhere"], ...]] = (
    "judged", "unknown", "never_seen", "elsewhere",
)  # fmt: skip

Labels = tuple[str, ...]


@dataclass(slots=True)
class _Series:
    """Certificates with the same labels."""

    expiry: float | None = None
    """Expiry of the first of them."""
    not_before: float | None = None
    """Start of the oldest of them."""
    answers: set[bool | None] = field(default_factory=set)
    """True for a key as configured, False for another, None where this is unknown."""
    statuses: Counter[str] = field(default_factory=Counter)

    def add(self, row: InventoryRow) -> None:
        self.expiry = _least(self.expiry, seconds(row["not_after"]))
        self.not_before = _least(self.not_before, seconds(row["not_before"]))
        self.answers.add(_complies(row))
        self.statuses[row["status"]] += 1

    @property
    def complies(self) -> bool | None:
        """False if one key is not as configured; else None if one is unknown."""
        return False if False in self.answers else None if None in self.answers else True

    @property
    def importance(self) -> tuple[bool, float]:
        """Sort key: keys that do not comply first, then certificates that expire first."""
        return self.complies is not False, float("inf") if self.expiry is None else self.expiry


def pki_families(found: CertificateReport) -> Iterator[GaugeMetricFamily]:
    """Yield all metrics of the certificates, in one pass over their rows."""
    every = _series(found.rows())
    kept = dict(sorted(every.items(), key=lambda one: (one[1].importance, one[0]))[:MOST_SERIES])
    yield from _of_the_enhancement(kept)
    yield _statuses(kept)
    yield single(
        "adhere_pki_series_left_out", "Sets of labels of certificates that have no series.", len(every) - len(kept)
    )
    yield from _of_the_inventory(found)


def _series(rows: Iterable[InventoryRow]) -> dict[Labels, _Series]:
    found: dict[Labels, _Series] = {}
    for row in rows:
        if row["names"]:
            found.setdefault(_labels(row), _Series()).add(row)
    return found


def _labels(row: InventoryRow) -> Labels:
    key = row["key"]
    values = (
        " or ".join(row["names"][:_NAMES]),
        _CATEGORIES.get(row["category"], ""),
        key["algorithm"] or "",
        str(key["size"] or "") if key["algorithm"] == "RSA" else "",
        (key["curve"] or "") if key["algorithm"] == "ECDSA" else "",
        row["component"] or "",
        row["namespace"] or "",
    )
    return tuple(map(label, values))


def _complies(row: InventoryRow) -> bool | None:
    """True if the key is as configured now: a key whose rotation is pending is not."""
    verdicts = {each["verdict"] for each in row["findings"] if each["rule"] == _RULE}
    return False if "fail" in verdicts else True if verdicts == {"pass"} else None


def _least(one: float | None, other: float | None) -> float | None:
    return min((each for each in (one, other) if each is not None), default=None)


def _of_the_enhancement(kept: dict[Labels, _Series]) -> Iterator[GaugeMetricFamily]:
    yield family(
        "openshift_pki_certificate_info", "Certificates of the platform, and their keys.", LABELS,
        ((labels, 1.0) for labels in kept),
    )  # fmt: skip
    yield family(
        "openshift_pki_certificate_expiry_timestamp_seconds", "Expiry of the certificate that expires first.", LABELS,
        _known((labels, each.expiry) for labels, each in kept.items()),
    )  # fmt: skip
    yield family(
        "openshift_pki_certificate_not_before_timestamp_seconds", "Start date of the oldest certificate.", LABELS,
        _known((labels, each.not_before) for labels, each in kept.items()),
    )  # fmt: skip
    yield family(
        "openshift_pki_certificate_config_compliant",
        "1 if the key is as the current PKI configuration requires, 0 if not; no series where this is unknown.",
        LABELS,
        _known((labels, each.complies) for labels, each in kept.items()),
    )


def _known(samples: Iterable[tuple[Labels, float | None]]) -> Iterator[Sample]:
    return ((labels, float(value)) for labels, value in samples if value is not None)


def _statuses(kept: dict[Labels, _Series]) -> GaugeMetricFamily:
    """Counts include replicas. The key is no label, because a rotation would look like two certificates."""
    counts: Counter[Labels] = Counter()
    for (name, category, _, _, _, component, namespace), each in kept.items():
        for status, count in each.statuses.items():
            counts[name, category, component, namespace, label(status)] += count
    labels = ("certificate_name", "category", "component", "namespace", "status")
    samples = [(values, float(count)) for values, count in sorted(counts.items())]
    return family("adhere_pki_certificates", "Certificates of the platform, by status.", labels, samples)


def _of_the_inventory(found: CertificateReport) -> Iterator[GaugeMetricFamily]:
    summary = found.summary
    yield family(
        "adhere_pki_inventory_certificates", "All certificates that were found, by key and category.",
        ("key", "category"), (((label(one["key"]), one["category"]), float(one["count"])) for one in summary["keys"]),
    )  # fmt: skip
    whose = {"yes": summary["governed"], "no": summary["not_governed"], "unknown": summary["unattributed"]}
    yield family(
        "adhere_pki_inventory_governed", "All certificates, by whether the PKI configuration governs their keys.",
        ("governed",), (((answer,), float(count)) for answer, count in whose.items()),
    )  # fmt: skip
    yield family(
        "adhere_pki_names",
        "Certificate names that the PKI configuration governs, by whether a certificate of that name was judged.",
        ("state",),
        (
            ((state,), float(sum(len(row[state]) for row in summary["names"])))
            for state in _NAME_STATES
            if summary["names"]
        ),
    )
    if summary["names"]:
        complete = all(row["complete"] for row in summary["names"])
        yield single("adhere_pki_names_complete", "1 if a certificate of each of these names was judged.", complete)
    until = seconds(summary["pending_until"])
    if until is not None:
        text = "Latest time at which the last pending certificate is renewed."
        yield single("adhere_pki_pending_until_timestamp_seconds", text, until)


# --- samples and labels ---------------------------------------------------------------------------------------------

Sample = tuple[tuple[str, ...], float]
"""The values of the labels, in the order of their names, and the value."""

_LONGEST = 200
"""Characters of the value of a label."""


def family(name: str, help_text: str, labels: tuple[str, ...], samples: Iterable[Sample]) -> GaugeMetricFamily:
    """Return a gauge with all its series."""
    made = GaugeMetricFamily(name, help_text, labels=labels)
    for values, value in samples:
        made.add_metric(values, value)
    return made


def single(name: str, help_text: str, value: float) -> GaugeMetricFamily:
    """Return a gauge with one series."""
    return family(name, help_text, (), [((), value)])


def seconds(text: str | None) -> float | None:
    """Return seconds since 1970 for a timestamp of a row; None for none, and for one of a saved row that is invalid."""
    found = moment(text)
    return None if found is None else found.timestamp()


def label(text: str) -> str:
    """Escape text of a server or an object for a label: printable ASCII only."""
    shown = text.encode("unicode_escape").decode()
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 3]}..."
