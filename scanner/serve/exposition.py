"""``/metrics``: the families of the last report, and those of the exporter itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from heapq import nlargest
from operator import itemgetter

from msgspec import Struct, field
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.openmetrics import exposition
from prometheus_client.registry import Collector

from scanner.kube.kinds import Kind
from scanner.metrics import family, label, single
from scanner.model.inventory import InventoryRow, moment
from scanner.serve.cycles import RESULTS, Tally

__all__ = ["EOF", "OPEN_METRICS", "TEXT", "Rotations", "encoded", "own_families", "wants_open_metrics"]

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPEN_METRICS = exposition.CONTENT_TYPE_LATEST
EOF = b"# EOF\n"
"""Last line of OpenMetrics."""
_MOST_SETS = 1000
"""Sets of labels of rotations; the others are not counted."""
_MOST_KNOWN = 1000
"""Former certificates of one set of labels that are remembered: those that expire last."""
_BACK_DATED = timedelta(hours=1)
"""Issuers set notBefore earlier than now, so that clocks may differ."""


class _Families(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = list(families)

    def collect(self) -> Iterator[Metric]:
        return iter(self._families)


def encoded(families: Iterable[Metric], *, open_metrics: bool) -> bytes:
    """Encode families. The last line of OpenMetrics, ``# EOF``, is left out: several results can be joined."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Families(families))
    if open_metrics:
        made: bytes = exposition.generate_latest(registry)  # type: ignore[no-untyped-call]
        return made.removesuffix(EOF)
    return generate_latest(registry)


def wants_open_metrics(accept: str) -> bool:
    """True if the header Accept names OpenMetrics, as Prometheus does."""
    return any(each.partition(";")[0].strip() == "application/openmetrics-text" for each in accept.split(","))


def own_families(
    tally: Tally, every: float, watches: Mapping[Kind, Counter[str]], rotations: Rotations
) -> Iterator[Metric]:
    """Yield the families about the exporter, and what it counts over several scans. ``every``: its period;
    ``watches``: number of clusters by state."""
    cycles = CounterMetricFamily("adhere_serve_cycles", "Scans by result.", labels=("result",))
    for result in RESULTS:
        cycles.add_metric((result,), tally.results[result])
    yield cycles
    yield family(
        "adhere_serve_last_error",
        "1 for the error of the last cycle; no series if it succeeded.",
        ("error",),
        [((tally.error,), 1.0)] if tally.error else [],
    )
    yield single("adhere_serve_period_seconds", "Period of complete scans: --every.", every)
    yield family(
        "adhere_serve_endpoints",
        "Endpoints of the last report: asked for it, or reused from an earlier cycle because nothing changed.",
        ("observation",),
        [(("asked",), float(tally.asked)), (("reused",), float(tally.reused))],
    )
    if tally.oldest is not None:
        yield single(
            "adhere_serve_oldest_observation_timestamp_seconds",
            "Time of the oldest observation in the last report.",
            tally.oldest.timestamp(),
        )
    yield family(
        "adhere_serve_watches",
        "Clusters by the state of their watch of each kind. Without a watch, changes are seen in the next period only.",
        ("resource", "state"),
        [((kind.resource, state), float(count)) for kind, of in watches.items() for state, count in of.items()],
    )
    yield rotations.family()


Labels = tuple[str, str, str, str]


class Rotations(Struct):
    """Counts the well-known certificates that were replaced while the exporter ran."""

    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    """Start of the exporter."""
    _known: dict[Labels, dict[str, datetime]] = field(default_factory=dict)
    """Digests, each with the end of its validity."""
    _counts: Counter[Labels] = field(default_factory=Counter)

    def see(self, rows: Iterable[InventoryRow], now: datetime) -> None:
        """Compare the certificates of a report with the earlier ones.

        A certificate counts if it is new under a known name, and was issued since the exporter started: one that was
        only not seen before is older.
        """
        found = dict[Labels, dict[str, datetime]]()
        for row in rows:
            issued, expires = moment(row["not_before"]), moment(row["not_after"])
            if not row["names"] or issued is None or expires is None:
                continue
            names = " or ".join(row["names"])
            key = (label(names), label(row["category"]), label(row["component"] or ""), label(row["namespace"] or ""))
            is_first = key not in self._known and key not in found
            if is_first and len(self._known.keys() | found.keys()) >= _MOST_SETS:
                continue
            known = self._known.get(key)
            new = row["sha256"] not in found.get(key, {}) and known is not None and row["sha256"] not in known
            if new and issued >= self.now - _BACK_DATED:
                self._counts[key] += 1
            found.setdefault(key, {})[row["sha256"]] = expires
        for key, digests in found.items():
            valid = [one for one in self._known.get(key, {}).items() if one[1] > now and one[0] not in digests]
            self._known[key] = {**dict(nlargest(_MOST_KNOWN, valid, key=itemgetter(1))), **digests}
            self._counts[key] += 0

    def family(self) -> CounterMetricFamily:
        """Return the counter."""
        made = CounterMetricFamily(
            "adhere_pki_certificate_rotations_observed",
            "Certificates with a well-known name that were replaced while adhere serve ran.",
            labels=("certificate_name", "category", "component", "namespace"),
        )
        for key, count in sorted(self._counts.items()):
            made.add_metric(key, count)
        return made
