"""The matrix of components: how many endpoints accept each version, weak suites and post-quantum groups, answer in
plaintext, or have a certificate that expires.

``traits`` decides it for one endpoint; the page filters its list by the same words: a cell lists what it counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import Final, Literal

from msgspec import Struct, field

from scanner.model.component_tally import called
from scanner.model.finding import NEVER_FAILS
from scanner.model.inventory import moment
from scanner.model.report import EndpointRow, VersionRow, post_quantum
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

State = Literal["fail", "deviates", "yes", "unknown", "no"]
"""``fail`` and ``deviates``: its requirement forbids it, by the outcome of the finding. ``yes``: nothing forbids it."""
_KNOWN: Final[Mapping[bool | None, State]] = {True: "yes", False: "no", None: "unknown"}
SHOWN: Final[Mapping[State, str]] = {"fail": ": fail", "deviates": ": differs", "yes": "", "unknown": ": unknown"}
"""States that are counted, with the end of the filter's word: ``TLS 1.0: fail``."""


def traits(row: EndpointRow, now: datetime | None) -> dict[str, State]:
    """Return the endpoint's state in each of ``COLUMNS``. ``now``: the end of the scan."""
    failed = dict(_failed(row))
    without_tls = row["verdict"] == "not_applicable" or row["reach"] == "plaintext"
    versions, spoken = row["observed"]["versions"] or {}, headline.spoken(row)
    found: dict[str, State] = {}
    for name, short in headline.SHORT_VERSIONS.items():
        known = without_tls or versions.get(name) is not None
        found[short] = failed.get(name, "yes") if name in spoken else "no" if known else "unknown"
    weak = [name for name in _accepted(row) if _is_weak(name)]
    if weak:
        found[WEAK] = next((failed[name] for name in weak if name in failed), "yes")
    else:
        known = without_tls or bool(versions and all(map(_settled, versions.items())))
        found[WEAK] = "no" if known else "unknown"
    found[POST_QUANTUM] = "no" if without_tls else _KNOWN[post_quantum(row)]
    found[PLAINTEXT] = failed.get("plaintext", "yes") if row["reach"] == "plaintext" else "no"
    found[EXPIRED], found[EXPIRING] = _expiry(row, now, failed, without_tls=without_tls)
    return found


def _failed(row: EndpointRow) -> Iterator[tuple[str, State]]:
    """Yield what failing findings observed, by its first word, and the ids of their rules; the worst last."""
    failing = [each for each in row["findings"] if each["verdict"] == "fail"]
    for each in sorted(failing, key=headline.importance, reverse=True):
        outcome: State = "deviates" if each["status"] in NEVER_FAILS else "fail"
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


def _expiry(
    row: EndpointRow, now: datetime | None, failed: Mapping[str, State], *, without_tls: bool
) -> tuple[State, State]:
    """Return the states of ``EXPIRED`` and ``EXPIRING``."""
    chain = row["observed"]["chain"]
    expired, expiring = failed.get("cert-expired"), failed.get("cert-expiring")
    end = moment(chain[0]["not_after"]) if chain else None
    if end is None or now is None:
        other: State = "no" if without_tls or chain == [] else "unknown"
        return expired or other, expiring or other
    past: State = "yes" if end < now else "no"
    soon: State = "yes" if now <= end < now + SOON else "no"
    return expired or past, expiring or soon


def component_of(row: EndpointRow) -> str:
    """Return the name of the endpoint's line in the matrix and in the table of components."""
    if row["standing"] == "listed" and row["component"] is None:
        return "targets"
    return called(row["component"], row["owner"]["namespace"])


Cells = dict[str, Counter[State]]
"""Column -> endpoints by state."""


def _cells() -> Cells:
    return {column: Counter() for column in COLUMNS}


class Matrix(Struct):
    """Counts over all endpoints."""

    now: datetime | None
    total: Cells = field(default_factory=_cells)
    components: dict[str, Cells] = field(default_factory=dict)

    def watch(self, rows: Iterable[EndpointRow]) -> Iterator[EndpointRow]:
        """Yield the rows, and count each."""
        for row in rows:
            line = self.components.setdefault(component_of(row), _cells())
            for column, state in traits(row, self.now).items():
                line[column][state] += 1
                self.total[column][state] += 1
            yield row

    @property
    def columns(self) -> list[str]:
        """The columns to show: old SSL versions only if an endpoint accepts them."""
        old = [headline.SHORT_VERSIONS[each] for each in _OLDEST]
        return [each for each in COLUMNS if each not in old or self.total[each].keys() - {"no", "unknown"}]

    def lines(self, most: int) -> list[tuple[str, Cells]]:
        """Return the components, those with most that is forbidden first, then by name."""

        def rank(line: tuple[str, Cells]) -> tuple[int, int, str]:
            fail, deviates = (-sum(cell[each] for cell in line[1].values()) for each in ("fail", "deviates"))
            return fail, deviates, line[0]

        return sorted(self.components.items(), key=rank)[:most]
