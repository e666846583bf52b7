"""The inventory of certificates in a report (``docs/schema/scan-v1.json``): one row for each certificate, and the sums.

Each certificate occurs once, however often the cluster has or serves it. Rows are produced one by one, like those of
endpoints; the sums stay small.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final, TypedDict

from msgspec import Struct, field

from scanner.model.row import FindingRow, KeyRow

CATEGORIES: Final = ("signer", "serving", "client", "peer", "unknown")
"""Categories in the order of the enhancement; ``unknown``: the certificate has no purpose."""

NOT_JUDGED: Final = ("not-required", "not-governed", "superseded", "unattributed")
"""Statuses of certificates that are not judged. ``not-required``: of the platform, without a requirement on its key.
``not-governed``: not of the platform. ``superseded``: a signer in a bundle with its successor. ``unattributed``:
unknown owner."""

HORIZONS: Final[tuple[int, ...]] = (0, 7, 30, 90, 180, 365, 730, 1825, 3650)
"""Days to the end of each step of the expiry chart; the last step has no end."""

MOST_KEYS: Final = 40
"""Different keys that are counted separately: certificates may have keys of odd sizes."""
OTHER_KEYS: Final = "(others)"


class RenewalRow(TypedDict):
    """The renewal of a certificate of the platform."""

    rotates: str
    """``operator``: automatic. ``day-1``: replaced by an operator within a day of installation. ``never``: manual
    only."""
    by: str | None
    """Latest time of renewal, RFC 3339; null if unknown or never."""


class InventoryRow(TypedDict):
    """One certificate."""

    sha256: str
    cluster: str | None
    """Only if a report has several clusters."""
    names: list[str]
    """Its possible well-known names; empty if it is not of the platform, or unknown."""
    category: str
    """One of ``CATEGORIES``."""
    governed: bool | None
    """True if the PKI object governs its key; null if unknown."""
    why: str
    """The reason for ``governed``."""
    component: str | None
    """The operator that issues it, if its name is known."""
    namespace: str | None
    """Namespace of its operator's Secret, else of its place."""
    subject: str | None
    issuer: str | None
    key: KeyRow
    """Fields that cannot be read are null."""
    not_before: str | None
    not_after: str | None
    verdict: str
    status: str
    """Status of the most important finding, without remarks; else one of ``NOT_JUDGED``."""
    renewal: RenewalRow | None
    """Null if its name is unknown."""
    findings: list[FindingRow]
    places: list[str]
    """The first few objects, listeners and files with it."""
    found: int
    """Number of places."""


class KeyCountRow(TypedDict):
    """Number of certificates by key and category."""

    key: str
    """``RSA 2048``, ``ECDSA P256``, ``unreadable``, ``(others)``."""
    category: str
    count: int


class EndsRow(TypedDict):
    """Number of certificates that expire in a step of time, by category."""

    from_days: int | None
    """Days from the scan; null for expired ones."""
    to_days: int | None
    """Null for the last step."""
    categories: dict[str, int]


class NamesRow(TypedDict):
    """The certificate names that a cluster's PKI configuration governs."""

    cluster: str | None
    """Only if a report has several clusters."""
    judged: list[str]
    """Names of certificates that were judged."""
    unknown: list[str]
    """Names of certificates whose compliance is unknown."""
    never_seen: list[str]
    elsewhere: list[str]
    """Names without a certificate in the cluster: nodes or people keep it, or this cluster has none."""
    complete: bool
    """True if every name in the cluster was judged."""
    why: str
    """The reason if not complete, else empty."""


class InventorySummary(TypedDict):
    certificates: int
    governed: int
    not_governed: int
    unattributed: int
    configurations: list[str]
    """The PKI configuration of each cluster, one line each."""
    keys: list[KeyCountRow]
    statuses: dict[str, int]
    ends: list[EndsRow]
    ends_unknown: int
    """Certificates with an unreadable expiry."""
    pending: int
    """Certificates that must be renewed to follow the configuration."""
    pending_until: str | None
    """Renewal of the last of these, RFC 3339; null if there is none, or unknown."""
    names: list[NamesRow]
    """One for each cluster with requirements."""


def key_name(key: KeyRow) -> str:
    """``RSA 2048``, ``ECDSA P256``, or ``unreadable``."""
    parts = (key["algorithm"], key["size"] or key["curve"])
    return " ".join(str(part) for part in parts if part) or "unreadable"


def moment(text: str | None) -> datetime | None:
    """A row's timestamp; None if there is none, or it is invalid."""
    try:
        found = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return None if found is None or found.tzinfo is None else found


class InventoryTally(Struct):
    """The sums, counted row by row."""

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
        """The sums of the report."""
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
    """The step of ``HORIZONS`` of a remaining lifetime."""
    return next((step for step, days in enumerate(HORIZONS) if left < timedelta(days=days)), len(HORIZONS))


class CertificateReport(Struct, frozen=True, kw_only=True):
    """The certificates of a report."""

    summary: InventorySummary
    rows: Callable[[], Iterator[InventoryRow]]
    """Can be called several times."""


def certificate_report(
    rows: Callable[[], Iterator[InventoryRow]], configurations: list[str], now: datetime, names: Iterable[NamesRow] = ()
) -> CertificateReport:
    """The report with its sums as of ``now``, and the coverage of governed names."""
    tally = InventoryTally(now)
    for row in rows():
        tally.add(row)
    return CertificateReport(summary=tally.summary(configurations, list(names)), rows=rows)
