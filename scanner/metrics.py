"""Report -> metric families for Prometheus: pure. ``--format metrics=FILE.prom`` writes them for node_exporter, and
``--push`` sends them to a Pushgateway.

Every family begins with ``adhere_``, except those that the PKI enhancement names ("Metrics and Observability", and the
list under "Alternative 5: Additional Certificate Metrics"). Labels are bounded: no address becomes one, components and
certificates are capped, and the number of those left out is itself a metric. ``docs/metrics.md`` has example queries.

A family of the enhancement has one series for each set of labels, and no label distinguishes replicas: the series shows
the worst of them. It has only certificates with a recognised well-known name, because its queries are about those.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from heapq import nsmallest
from operator import itemgetter
from typing import Final, Literal, TextIO

from msgspec import Struct, field
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from scanner.model.component_tally import HONOURS, honours, is_excused
from scanner.model.finding import OUTCOMES, SEVERITIES, outcome
from scanner.model.inventory import CertificateReport, InventoryRow, moment
from scanner.model.report import VERDICTS, EndpointRow, FindingRow, Report, exit_code, post_quantum

MOST_COMPONENTS = 500
"""Components with series of their own; the others are counted under ``(others)``."""
MOST_CERTIFICATES = 5000
"""Listeners with a series for the expiry of their certificate: those that expire first."""
MOST_FORBIDDEN = 1000
"""Series of each family of forbidden suites and groups: those that most endpoints accept."""
MOST_ENDPOINTS = 20_000
"""Series for single endpoints, which are optional: the worst outcomes first."""
_OTHERS = "(others)"
_POST_QUANTUM: Final[Mapping[bool | None, str]] = {True: "yes", False: "no", None: "unknown"}
_FORBIDDEN: Final = (("suite", "tls-cipher-suite"), ("group", "tls-group"))
"""Kinds of TLS parameters, with the rule that compares them with the profile."""


class ReportCollector(Collector):
    """A report as a source of metrics; it leaves no series of an earlier report."""

    def __init__(self, report: Report, *, detail: bool = False) -> None:
        self.report = report
        self.detail = detail

    def describe(self) -> list[GaugeMetricFamily]:
        """Return nothing, because registering must not read all rows."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield every family."""
        return families(self.report, detail=self.detail)


def write(report: Report, out: TextIO, *, detail: bool = False) -> None:
    """Write the text format, version 0.0.4 (prometheus.io, "Exposition formats")."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(ReportCollector(report, detail=detail))
    out.write(generate_latest(registry).decode())


def write_detail(report: Report, out: TextIO) -> None:
    """Write the same with a series for each endpoint."""
    write(report, out, detail=True)


def families(report: Report, *, detail: bool = False) -> Iterator[GaugeMetricFamily]:
    """Yield all metrics of a report, in one pass over its rows. ``detail``: also a series for each endpoint."""
    counts = _counted(report.rows(), detail=detail)
    counts.add(report.findings)
    yield from _of_the_scan(report)
    yield from _of_endpoints(report, counts)
    if detail:
        yield from _of_each_endpoint(counts)
    yield from _of_parameters(counts)
    yield from _of_components(report, counts)
    yield from _of_findings(report, counts)
    yield from _of_certificates(counts)
    yield from _of_coverage(report)
    if report.certificates is not None:
        yield from pki_families(report.certificates)


# --- counting -------------------------------------------------------------------------------------------------------


class _Counts(Struct):
    endpoints: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Count by verdict, component and ``standing``."""
    outcomes: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Count by outcome, component and ``standing``."""
    statuses: Counter[str] = field(default_factory=Counter)
    versions: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Endpoints that accept a version, by version and component."""
    findings: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Failing findings by rule, severity and status."""
    expiries: dict[tuple[str, str, str], tuple[float, float | None]] = field(default_factory=dict)
    """By id, component and namespace: end and start of validity of the leaf of the replicas that expires first."""
    reaches: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Count by reach, outcome and ``standing``."""
    post_quantum: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Count of endpoints with TLS by answer, component and ``standing``."""
    forbidden: dict[str, Counter[tuple[str, str]]] = field(
        default_factory=lambda: {rule: Counter() for _, rule in _FORBIDDEN}
    )
    """Endpoints that accept something outside their profile, by rule; then by its name and component."""
    applied: dict[str, list[bool]] = field(default_factory=dict)
    """By component: all its listeners follow; all others are excused."""
    each: Counter[tuple[str, str, str, str]] | None = None
    """Replicas by id, component, namespace and outcome; None: not counted."""
    components: set[str] = field(default_factory=set)

    def component(self, row: EndpointRow) -> str:
        """Return the label of a row's component."""
        return self.named(_component(row["component"], row["owner"]["namespace"], row["standing"]))

    def named(self, component: str) -> str:
        """Return the label of a component; two long names may be cut to the same one."""
        name = label(component)
        if name and name not in self.components and len(self.components) >= MOST_COMPONENTS:
            return _OTHERS
        if name:
            self.components.add(name)
        return name

    def parameters(self, row: EndpointRow, component: str) -> None:
        """Count the endpoint's TLS parameters, and if it follows its profile."""
        if row["verdict"] != "not_applicable" and row["reach"] != "plaintext":
            self.post_quantum[_POST_QUANTUM[post_quantum(row)], component, row["standing"]] += 1
        for finding in row["findings"]:
            if finding["rule"] in self.forbidden:
                for name in _forbidden(row, finding):
                    self.forbidden[finding["rule"]][label(name), component] += 1
        answer = honours(row)
        if answer is not None and component:
            state = self.applied.setdefault(component, [True, True])
            follows = answer == "yes"
            state[:] = state[0] and follows, state[1] and (follows or is_excused(row))

    def add(self, findings: Iterable[FindingRow]) -> None:
        """Count the failing findings."""
        for finding in findings:
            if finding["verdict"] == "fail":
                self.findings[label(finding["rule"]), finding["severity"], finding["status"]] += 1


def _component(component: str | None, namespace: str | None, standing: str) -> str:
    """Component name; for a layered product outside the catalogue its namespace, for user workloads "" because they may
    have any number of namespaces."""
    return component or (f"namespace {namespace}" if standing == "layered" and namespace else "")


def _forbidden(row: EndpointRow, finding: FindingRow) -> set[str]:
    """The names of the suites or groups that the finding is about. It lists some only if there are many, and the rest
    may be the worst: a server prefers the better ones."""
    # "TLS_RSA_WITH_AES_128_CBC_SHA (AES128-SHA, 0x002F) in TLSv1.2", or "and 3 more".
    found = {item.partition(" ")[0] for item in finding["observed"]}
    if "and" not in found:
        return found
    found.remove("and")
    key: Literal["suites", "groups"] = "suites" if finding["rule"] == "tls-cipher-suite" else "groups"
    versions = (row["observed"]["versions"] or {}).items()
    accepted = {name for version, of in versions if of and version != "SSLv2" for name in of[key] or ()}
    rest = accepted - found - {item.partition(" ")[0] for item in finding["expected"]}
    return found | (rest or {_OTHERS})


def _counted(rows: Iterable[EndpointRow], *, detail: bool = False) -> _Counts:
    counts = _Counts(each=Counter() if detail else None)
    for row in rows:
        component, standing = counts.component(row), row["standing"]
        result, namespace = outcome(row["verdict"], row["status"]), label(row["owner"]["namespace"] or "")
        counts.endpoints[row["verdict"], component, standing] += 1
        counts.outcomes[result, component, standing] += 1
        counts.reaches[row["reach"], result, standing] += 1
        counts.statuses[row["status"]] += 1
        counts.parameters(row, component)
        if counts.each is not None:
            counts.each[label(row["id"]), component, namespace, result] += 1
        for version, answer in (row["observed"]["versions"] or {}).items():
            if answer is not None and answer["suites"] != []:
                counts.versions[version, component] += 1
        counts.add(row["findings"])
        chain = row["observed"]["chain"]
        expiry = seconds(chain[0]["not_after"]) if chain else None
        if chain and expiry is not None:
            key, found = (label(row["id"]), component, namespace), (expiry, seconds(chain[0]["not_before"]))
            counts.expiries[key] = min(found, counts.expiries.get(key, found), key=itemgetter(0))
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
    yield family(
        "adhere_endpoint_reaches",
        "Endpoints by reach (tls, plaintext, closed, filtered ...), outcome and class of owner.",
        ("reach", "outcome", "standing"),
        [(tuple(map(label, key)), float(count)) for key, count in sorted(counts.reaches.items())],
    )
    statuses = [((status,), float(count)) for status, count in sorted(counts.statuses.items())]
    yield family("adhere_endpoint_statuses", "Endpoints by status.", ("status",), statuses)
    versions = [(key, float(count)) for key, count in sorted(counts.versions.items())]
    yield family("adhere_accepting_endpoints", "Endpoints that accept a version.", ("version", "component"), versions)


def _of_each_endpoint(counts: _Counts) -> Iterator[GaugeMetricFamily]:
    each = counts.each or Counter[tuple[str, str, str, str]]()
    worst = nsmallest(MOST_ENDPOINTS, each.items(), key=lambda one: (OUTCOMES.index(one[0][3]), one[0]))
    yield family(
        "adhere_endpoint_outcome",
        "Replicas of one endpoint by outcome.",
        ("endpoint", "component", "namespace", "outcome"),
        ((key, float(count)) for key, count in worst),
    )
    yield single(
        "adhere_endpoints_left_out", "Endpoints and outcomes without a series of their own.", len(each) - len(worst)
    )


def _of_parameters(counts: _Counts) -> Iterator[GaugeMetricFamily]:
    for name, rule in _FORBIDDEN:
        found = counts.forbidden[rule]
        kept = dict(nsmallest(MOST_FORBIDDEN, found.items(), key=lambda one: (-one[1], one[0])))
        if left_out := found.total() - sum(kept.values()):
            kept[_OTHERS, _OTHERS] = left_out
        yield family(
            f"adhere_forbidden_{name}_endpoints",
            f"Endpoints that accept a {name} outside their profile, also where the profile is not enforced.",
            (name, "component"),
            ((key, float(count)) for key, count in sorted(kept.items())),
        )
    yield family(
        "adhere_post_quantum_endpoints",
        "Endpoints with TLS, by whether they accept a post-quantum key exchange.",
        ("ready", "component", "standing"),
        ((key, float(count)) for key, count in sorted(counts.post_quantum.items())),
    )


def _changed(report: Report) -> float | None:
    """Time of the last change of the profile; of several clusters the earliest, so that the change of one does not
    excuse another. None if it is not known of each cluster."""
    cluster = report.cluster or {}
    rows = cluster.get("clusters", [cluster])
    texts = [row.get("profile_changed") for row in (rows if isinstance(rows, list) else ()) if isinstance(row, dict)]
    times = [seconds(text if isinstance(text, str) else None) for text in texts]
    return _least(*times) if None not in times else None


def _of_components(report: Report, counted: _Counts) -> Iterator[GaugeMetricFamily]:
    changed = _changed(report)
    if changed is not None:
        yield single(
            "adhere_profile_changed_timestamp_seconds",
            "Last change of the cluster's TLS profile or its adherence. No series if that is not known.",
            changed,
        )
    applied = sorted(counted.applied.items())
    yield family(
        "adhere_component_applied",
        "1 if every listener of the component follows its required profile; 0 if one does not, or this is not known.",
        ("component",),
        (((name,), float(follows)) for name, (follows, _) in applied),
    )
    yield family(
        "adhere_component_excused",
        "1 if every listener that does not follow is excused: not enforced, waived, known, or a rollout in progress.",
        ("component",),
        (((name,), float(excused)) for name, (_, excused) in applied),
    )
    counts: Counter[tuple[str, ...]] = Counter()
    rows = (
        (_component(row["component"], row["namespace"], row["standing"]), row)
        for row in report.summary.components.rows()
    )
    for name, row in ((counted.named(name), row) for name, row in rows if name):
        for answer in HONOURS:
            counts[name, row["standing"], answer] += row["honouring"][answer]
    yield family(
        "adhere_component_listeners",
        "Listeners by whether they follow the required profile (yes, no, not-determined).",
        ("component", "standing", "honours"),
        sorted(counts.items()),
    )


def _of_certificates(counts: _Counts) -> Iterator[GaugeMetricFamily]:
    first = nsmallest(MOST_CERTIFICATES, counts.expiries.items(), key=lambda one: (one[1][0], one[0]))
    labels = ("endpoint", "component", "namespace")
    yield family(
        "adhere_certificate_not_after_timestamp_seconds",
        "Expiry of the served leaf certificate: the first of all replicas.",
        labels,
        ((key, end) for key, (end, _) in first),
    )
    yield family(
        "adhere_certificate_not_before_timestamp_seconds",
        "Start of validity of the same certificate.",
        labels,
        ((key, start) for key, (_, start) in first if start is not None),
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


class _Series(Struct):
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


def _least(*values: float | None) -> float | None:
    return min((each for each in values if each is not None), default=None)


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
