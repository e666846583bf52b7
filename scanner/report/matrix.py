"""The matrix of components: how many endpoints accept each version, weak suites and post-quantum groups, answer in
plaintext, or have a certificate that expires.

``traits`` decides it for one endpoint; the page filters its list by the same words: a cell lists what it counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Final, Literal

from scanner.model.component_tally import called
from scanner.model.finding import Outcome
from scanner.model.finding import outcome as outcome_of
from scanner.model.inventory import moment
from scanner.model.report import EndpointRow, VersionRow
from scanner.model.weak_suites import weakness
from scanner.report import headline
from scanner.report.certificates import SOON
from scanner.tls.codepoints import SUITES
from scanner.tls.names import is_tls13, needs_credentials, suite_code

WEAK: Final = "weak suites"
POST_QUANTUM: Final = "post-quantum"
PLAINTEXT: Final = "plaintext"
EXPIRED: Final = "expired"
EXPIRING: Final = "expires in 30 days"
_OLDEST: Final = ("SSLv2", "SSLv3")
"""Versions that have a column only if an endpoint accepts them."""
COLUMNS: Final = (*headline.SHORT_VERSIONS.values(), WEAK, POST_QUANTUM, PLAINTEXT, EXPIRED, EXPIRING)

Answer = Literal["yes", "no", "unknown"]


@dataclass(frozen=True, slots=True)
class Trait:
    """The answer of one endpoint in one column. ``against``: the outcome if its requirement forbids it, else None."""

    answer: Answer
    against: Outcome | None = None


def traits(row: EndpointRow, now: datetime | None) -> dict[str, Trait]:
    """Return the endpoint's trait in each of ``COLUMNS``. ``now``: the end of the scan."""
    failed = dict(_failed(row))
    without_tls = row["verdict"] == "not_applicable" or row["reach"] == "plaintext"
    versions, spoken = row["observed"]["versions"] or {}, headline.spoken(row)
    found: dict[str, Trait] = {}
    for name, short in headline.SHORT_VERSIONS.items():
        unknown = versions.get(name) is None and not without_tls
        answer: Answer = "yes" if name in spoken else "unknown" if unknown else "no"
        found[short] = Trait(answer, failed.get(name))
    weak = [name for name in _accepted(row) if _is_weak(name)]
    if weak or without_tls:
        found[WEAK] = Trait("yes" if weak else "no", next((failed[name] for name in weak if name in failed), None))
    else:
        found[WEAK] = Trait("no" if versions and all(map(_settled, versions.items())) else "unknown")
    found[POST_QUANTUM] = Trait("no" if without_tls else _post_quantum(row))
    found[PLAINTEXT] = Trait("yes" if row["reach"] == "plaintext" else "no", failed.get("plaintext"))
    return found | _expiry(row, now, failed, without_tls=without_tls)


def _failed(row: EndpointRow) -> Iterator[tuple[str, Outcome]]:
    """Yield what failing findings observed, by its first word, and the ids of their rules; the worst last."""
    failing = [each for each in row["findings"] if each["verdict"] == "fail"]
    for each in sorted(failing, key=headline.importance, reverse=True):
        outcome = outcome_of(each["verdict"], each["status"])
        yield each["rule"], outcome
        for item in each["observed"]:
            yield item.split(" ", 1)[0], outcome
        if row["reach"] == "plaintext" and each["rule"] in ("tls-reach", "tls-cleartext"):
            yield "plaintext", outcome


def _accepted(row: EndpointRow) -> Iterator[str]:
    for version in (row["observed"]["versions"] or {}).values():
        yield from (version["suites"] or []) if version else []


@cache
def _is_weak(name: str) -> bool:
    try:
        return weakness(suite_code(name)) is not None
    except KeyError:
        return False


@cache
def _weak_names(*, tls13: bool) -> frozenset[str]:
    """The known weak suites of a version, without those that need credentials, which are not always tested."""
    codes = (each.code for each in SUITES if is_tls13(each.code) == tls13 and not needs_credentials(each.code))
    names = {each.code: each.iana for each in SUITES}
    return frozenset(names[code] for code in codes if weakness(code))


def _settled(version: tuple[str, VersionRow | None]) -> bool:
    """True if it is known which weak suites the version accepts."""
    name, answer = version
    if answer is None:
        return name in _OLDEST
    if answer["enumerated"]:
        return True
    return _weak_names(tls13=name == "TLSv1.3") <= {*answer["refused"], *(answer["suites"] or [])}


def _post_quantum(row: EndpointRow) -> Answer:
    for each in row["findings"]:
        if each["rule"] == "tls-pq-readiness":
            return "unknown" if each["verdict"] == "inconclusive" else "yes" if each["observed"] else "no"
    return "unknown"


def _expiry(
    row: EndpointRow, now: datetime | None, failed: dict[str, Outcome], *, without_tls: bool
) -> dict[str, Trait]:
    chain = row["observed"]["chain"]
    expired, expiring = failed.get("cert-expired"), failed.get("cert-expiring")
    end = moment(chain[0]["not_after"]) if chain else None
    if end is None or now is None:
        answer: Answer = "no" if without_tls or chain == [] else "unknown"
        return {
            EXPIRED: Trait("yes" if expired else answer, expired),
            EXPIRING: Trait("yes" if expiring else answer, expiring),
        }
    past, soon = end < now or expired is not None, now <= end < now + SOON or expiring is not None
    return {
        EXPIRED: Trait("yes" if past else "no", expired),
        EXPIRING: Trait("yes" if soon and not past else "no", expiring),
    }


def component_of(row: EndpointRow) -> str:
    """Return the name of the endpoint's line in the matrix and in the table of components."""
    if row["standing"] == "listed" and row["component"] is None:
        return "targets"
    return called(row["component"], row["owner"]["namespace"])


@dataclass(slots=True)
class Cell:
    """Endpoints of a component in one column."""

    yes: int = 0
    unknown: int = 0
    against: Counter[Outcome] = field(default_factory=Counter)
    """Endpoints whose requirement forbids it, by outcome."""

    def add(self, trait: Trait) -> None:
        """Count one endpoint."""
        self.yes += trait.answer == "yes"
        self.unknown += trait.answer == "unknown"
        if trait.answer == "yes" and trait.against:
            self.against[trait.against] += 1

    @property
    def outcome(self) -> str:
        """Its colour: the worst outcome of what is forbidden, else empty."""
        return next((each for each in ("fail", "deviates") if self.against[each]), "")


@dataclass(slots=True)
class Matrix:
    """Counts over all endpoints."""

    now: datetime | None
    total: dict[str, Cell] = field(default_factory=lambda: {each: Cell() for each in COLUMNS})
    components: dict[str, dict[str, Cell]] = field(default_factory=dict)

    def watch(self, rows: Iterable[EndpointRow]) -> Iterator[EndpointRow]:
        """Yield the rows, and count each."""
        for row in rows:
            line = self.components.setdefault(component_of(row), {each: Cell() for each in COLUMNS})
            for column, trait in traits(row, self.now).items():
                line[column].add(trait)
                self.total[column].add(trait)
            yield row

    @property
    def columns(self) -> list[str]:
        """The columns to show: old SSL versions only if an endpoint accepts them."""
        old = [headline.SHORT_VERSIONS[each] for each in _OLDEST]
        return [each for each in COLUMNS if each not in old or self.total[each].yes]

    def lines(self, most: int) -> list[tuple[str, dict[str, Cell]]]:
        """Return the components with what is forbidden first, by number of endpoints, then by name."""

        def forbidden(cells: dict[str, Cell], outcome: Outcome) -> int:
            return sum(cell.against[outcome] for cell in cells.values())

        order = sorted(
            self.components.items(),
            key=lambda one: (-forbidden(one[1], "fail"), -forbidden(one[1], "deviates"), one[0]),
        )
        return order[:most]
