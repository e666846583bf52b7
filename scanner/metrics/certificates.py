"""Metrics of certificates, by the names that the enhancement gives them ("Metrics and Observability", and what it lists
under "Alternative 5: Additional Certificate Metrics"). Pure.

Its families have a series for each set of labels, and no label tells one replica's certificate from another's: what is
said of several is said of the one that matters most. Only certificates whose well-known name was recognised are in
them: its queries ask for what the platform makes, and everything else would answer them wrongly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from prometheus_client.core import GaugeMetricFamily

from scanner.metrics.family import Sample, family, label, seconds, single
from scanner.model.inventory import CertificateReport, InventoryRow, NamesRow

MOST_SERIES: Final = 1000
"""Series of each family. The enhancement reckons with 50 to 100 certificates."""

LABELS: Final = ("certificate_name", "category", "algorithm", "key_size", "curve", "component", "namespace")
"""In the enhancement's order."""
_NAMES: Final = 5
"""Candidates for one certificate's name that its label has."""
_CATEGORIES: Final = {
    "signer": "SignerCertificate",
    "serving": "ServingCertificate",
    "client": "ClientCertificate",
    "peer": "PeerCertificate",  # the enhancement has none of the kind; its later text calls it Peer
}
_RULE: Final = "pki-key"
"""The rule that compares a key with the configuration."""

Labels = tuple[str, ...]


@dataclass(slots=True)
class _Series:
    """What is known of the certificates that have the same labels."""

    end: float | None = None
    """Of the one that ends first."""
    made: float | None = None
    """Of the oldest."""
    answers: set[bool | None] = field(default_factory=set)
    """Whether their keys are as configured; None where nobody can tell."""
    statuses: Counter[str] = field(default_factory=Counter)

    def add(self, row: InventoryRow) -> None:
        self.end = _least(self.end, seconds(row["not_after"]))
        self.made = _least(self.made, seconds(row["not_before"]))
        self.answers.add(_complies(row))
        self.statuses[row["status"]] += 1

    @property
    def complies(self) -> bool | None:
        """One that does not is enough; and one of which nobody can tell is enough to say nothing."""
        return False if False in self.answers else None if None in self.answers else True

    @property
    def importance(self) -> tuple[bool, float]:
        """What does not comply first, then what ends first."""
        return self.complies is not False, float("inf") if self.end is None else self.end


def families(found: CertificateReport) -> Iterator[GaugeMetricFamily]:
    """All metrics of the certificates, in one pass over their rows."""
    every = _series(found.rows())
    kept = dict(sorted(every.items(), key=lambda one: (one[1].importance, one[0]))[:MOST_SERIES])
    yield from _of_the_enhancement(kept)
    yield _statuses(kept)
    yield single("adhere_pki_series_left_out", "Label sets of certificates without series.", len(every) - len(kept))
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
    """Whether the key is as configured. Pending rotation is not: the family compares with the present configuration."""
    verdicts = {each["verdict"] for each in row["findings"] if each["rule"] == _RULE}
    return False if "fail" in verdicts else True if verdicts == {"pass"} else None


def _least(one: float | None, other: float | None) -> float | None:
    return min((each for each in (one, other) if each is not None), default=None)


def _of_the_enhancement(kept: dict[Labels, _Series]) -> Iterator[GaugeMetricFamily]:
    yield family(
        "openshift_pki_certificate_info", "Certificates that the platform makes, and their keys.", LABELS,
        ((labels, 1.0) for labels in kept),
    )  # fmt: skip
    yield family(
        "openshift_pki_certificate_expiry_timestamp_seconds", "End of the certificate that ends first.", LABELS,
        _known((labels, each.end) for labels, each in kept.items()),
    )  # fmt: skip
    yield family(
        "openshift_pki_certificate_not_before_timestamp_seconds", "Beginning of the oldest certificate.", LABELS,
        _known((labels, each.made) for labels, each in kept.items()),
    )  # fmt: skip
    yield family(
        "openshift_pki_certificate_config_compliant",
        "1 if the key is what the present PKI configuration requires, 0 if not; no series where this is unknown.",
        LABELS,
        _known((labels, each.complies) for labels, each in kept.items()),
    )


def _known(samples: Iterable[tuple[Labels, float | None]]) -> Iterator[Sample]:
    return ((labels, float(value)) for labels, value in samples if value is not None)


def _statuses(kept: dict[Labels, _Series]) -> GaugeMetricFamily:
    """Counted, so that replicas show too; without the key, so that a rotation does not look like two certificates."""
    counts: Counter[Labels] = Counter()
    for (name, category, _, _, _, component, namespace), each in kept.items():
        for status, count in each.statuses.items():
            counts[name, category, component, namespace, label(status)] += count
    labels = ("certificate_name", "category", "component", "namespace", "status")
    samples = [(values, float(count)) for values, count in sorted(counts.items())]
    return family("adhere_pki_certificates", "Certificates that the platform makes, by status.", labels, samples)


def _states(row: NamesRow) -> Iterator[tuple[str, int]]:
    yield "judged", len(row["judged"])
    yield "unknown", len(row["unknown"])
    yield "never_seen", len(row["never_seen"])
    yield "elsewhere", len(row["elsewhere"])


def _summed(samples: Iterable[tuple[str, int]]) -> Iterator[Sample]:
    counts = Counter[str]()
    for state, count in samples:
        counts[state] += count
    return (((state,), float(count)) for state, count in counts.items())


def _of_the_inventory(found: CertificateReport) -> Iterator[GaugeMetricFamily]:
    """Of all certificates, whoever made them."""
    told = found.summary
    yield family(
        "adhere_pki_inventory_certificates", "All certificates that were found, by key and category.",
        ("key", "category"), (((label(one["key"]), one["category"]), float(one["count"])) for one in told["keys"]),
    )  # fmt: skip
    whose = {"yes": told["governed"], "no": told["not_governed"], "unknown": told["unattributed"]}
    yield family(
        "adhere_pki_inventory_governed", "All certificates, by whether the PKI configuration governs their keys.",
        ("governed",), (((answer,), float(count)) for answer, count in whose.items()),
    )  # fmt: skip
    yield family(
        "adhere_pki_names", "Certificate names that the PKI configuration governs, by what was seen of them.",
        ("state",), _summed(each for row in told["names"] for each in _states(row)),
    )  # fmt: skip
    if told["names"]:
        complete = all(row["complete"] for row in told["names"])
        yield single("adhere_pki_names_complete", "1 if each of these names was seen and judged.", complete)
    until = seconds(told["pending_until"])
    if until is not None:
        text = "Latest time at which the last pending certificate is renewed."
        yield single("adhere_pki_pending_until_timestamp_seconds", text, until)
