"""The inventory of certificates in a report (``docs/schema/scan-v1.json``): one row a certificate, and the sums.

Each certificate is there once, however often the cluster holds or serves it. Rows are made as they are read, as those
of endpoints are; the sums stay small, whatever the cluster holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, TypedDict

from scanner.model.row import FindingRow, KeyRow

CATEGORIES: Final = ("signer", "serving", "client", "peer", "unknown")
"""In the order of the enhancement; ``unknown``: the certificate itself does not tell."""

NOT_JUDGED: Final = ("not-required", "not-governed", "superseded", "unattributed")
"""Statuses of certificates that are not judged. ``not-required``: the platform's, and nothing is required of its key.
``not-governed``: others'. ``superseded``: a signer that a bundle keeps beside its successor. ``unattributed``: unknown
whose it is."""

HORIZONS: Final[tuple[int, ...]] = (0, 7, 30, 90, 180, 365, 730, 1825, 3650)
"""Days to the end of each step of the expiry chart; the last step has no end."""

MOST_KEYS: Final = 40
"""Different keys that are counted apart: anybody can make certificates with keys of odd sizes."""
OTHER_KEYS: Final = "(others)"


class RenewalRow(TypedDict):
    """How a certificate of the platform is made again."""

    rotates: str
    """``operator``: by itself. ``day-1``: an operator's takes its place within a day of installation. ``never``: only
    if somebody makes it happen."""
    by: str | None
    """When it is made again at the latest, RFC 3339; null where nobody can tell, or it is never."""


class InventoryRow(TypedDict):
    """One certificate."""

    sha256: str
    cluster: str | None
    """Only where a report has several."""
    names: list[str]
    """The well-known names that it may have; empty for all that the platform did not make, or nobody knows."""
    category: str
    """One of ``CATEGORIES``."""
    governed: bool | None
    """Whether the PKI object says what its key must be; null where nobody can tell."""
    why: str
    """The reason for ``governed``."""
    component: str | None
    """The operator that makes it, where its name is known."""
    namespace: str | None
    """Of the Secret in which its operator keeps it, else where it was found."""
    subject: str | None
    issuer: str | None
    key: KeyRow
    """Empty of all that could not be read."""
    not_before: str | None
    not_after: str | None
    verdict: str
    status: str
    """Of the finding that matters most, remarks left out; else one of ``NOT_JUDGED``."""
    renewal: RenewalRow | None
    """Null where its name is not known."""
    findings: list[FindingRow]
    places: list[str]
    """Objects, listeners and files that have it, the first few."""
    found: int
    """How many there are."""


class KeyCountRow(TypedDict):
    """How many certificates of one category have keys of one kind."""

    key: str
    """``RSA 2048``, ``ECDSA P256``, ``unreadable``, ``(others)``."""
    category: str
    count: int


class EndsRow(TypedDict):
    """How many certificates end in a step of time, by category."""

    from_days: int | None
    """From the day of the scan; null for what has ended."""
    to_days: int | None
    """Null for the last step."""
    categories: dict[str, int]


class NamesRow(TypedDict):
    """The certificate names of which the PKI configuration of a cluster requires something."""

    cluster: str | None
    """Only where a report has several."""
    judged: list[str]
    """Seen, and compared with what is required."""
    unknown: list[str]
    """Seen, and whether they are as required is not known."""
    never_seen: list[str]
    elsewhere: list[str]
    """Not seen, and not in the cluster: nodes or people keep them, or this cluster has none."""
    complete: bool
    """Whether every name that is in the cluster was judged."""
    why: str
    """Why not; empty where it is complete."""


class InventorySummary(TypedDict):
    certificates: int
    governed: int
    not_governed: int
    unattributed: int
    configurations: list[str]
    """What the PKI configuration of each cluster asks for, a line each."""
    keys: list[KeyCountRow]
    statuses: dict[str, int]
    ends: list[EndsRow]
    ends_unknown: int
    """Certificates whose end cannot be read."""
    pending: int
    """Certificates that are to be made again as the configuration asks."""
    pending_until: str | None
    """When the last of these will be, RFC 3339; null where there is none, or nobody can tell."""
    names: list[NamesRow]
    """One for each cluster whose configuration requires something."""


def key_name(key: KeyRow) -> str:
    """``RSA 2048``, ``ECDSA P256``, or ``unreadable``."""
    parts = (key["algorithm"], key["size"] or key["curve"])
    return " ".join(str(part) for part in parts if part) or "unreadable"


def moment(text: str | None) -> datetime | None:
    """A row's timestamp; None where there is none, or it is not one."""
    try:
        found = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return None if found is None or found.tzinfo is None else found


@dataclass(slots=True)
class InventoryTally:
    """The sums, kept while rows pass by."""

    now: datetime
    certificates: int = 0
    governed: Counter[bool | None] = field(default_factory=Counter)
    keys: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By key and category."""
    statuses: Counter[str] = field(default_factory=Counter)
    ends: Counter[tuple[int, str]] = field(default_factory=Counter)
    """By step of ``HORIZONS`` and category."""
    ends_unknown: int = 0
    pending: int = 0
    pending_until: str | None = None
    _names: set[str] = field(default_factory=set)

    def add(self, row: InventoryRow) -> None:
        """Count one certificate."""
        self.certificates += 1
        self.governed[row["governed"]] += 1
        self.keys[self._key(row["key"]), row["category"]] += 1
        self.statuses[row["status"]] += 1
        end = moment(row["not_after"])
        if end is None:
            self.ends_unknown += 1
        else:
            self.ends[_step(end - self.now), row["category"]] += 1
        if row["status"] == "pending-rotation":
            self.pending += 1
            by = row["renewal"]["by"] if row["renewal"] else row["not_after"]
            self.pending_until = max(filter(None, (self.pending_until, by)), default=None)

    def _key(self, key: KeyRow) -> str:
        name = key_name(key)
        if name not in self._names and len(self._names) >= MOST_KEYS:
            return OTHER_KEYS
        self._names.add(name)
        return name

    def summary(self, configurations: list[str], names: list[NamesRow]) -> InventorySummary:
        """The sums as the report has them."""
        kinds = sorted(self.keys.items(), key=lambda one: (one[0][0], CATEGORIES.index(one[0][1])))
        return InventorySummary(
            certificates=self.certificates,
            governed=self.governed[True],
            not_governed=self.governed[False],
            unattributed=self.governed[None],
            configurations=configurations,
            keys=[KeyCountRow(key=key, category=category, count=count) for (key, category), count in kinds],
            statuses=dict(sorted(self.statuses.items())),
            ends=[self._ends(step) for step in range(len(HORIZONS) + 1)],
            ends_unknown=self.ends_unknown,
            pending=self.pending,
            pending_until=self.pending_until,
            names=names,
        )

    def _ends(self, step: int) -> EndsRow:
        return EndsRow(
            from_days=HORIZONS[step - 1] if step else None,
            to_days=HORIZONS[step] if step < len(HORIZONS) else None,
            categories={each: self.ends[step, each] for each in CATEGORIES if self.ends[step, each]},
        )


def _step(left: timedelta) -> int:
    """The step of ``HORIZONS`` in which a certificate ends."""
    return next((step for step, days in enumerate(HORIZONS) if left < timedelta(days=days)), len(HORIZONS))


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateReport:
    """The certificates of a report."""

    summary: InventorySummary
    rows: Callable[[], Iterator[InventoryRow]]
    """Can be called any number of times."""


def certificate_report(
    rows: Callable[[], Iterator[InventoryRow]], configurations: list[str], now: datetime, names: Iterable[NamesRow] = ()
) -> CertificateReport:
    """With the sums as of ``now``, and what was seen of the names that each cluster's configuration governs."""
    tally = InventoryTally(now)
    for row in rows():
        tally.add(row)
    return CertificateReport(summary=tally.summary(configurations, list(names)), rows=rows)
