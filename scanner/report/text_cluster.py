"""Text for a cluster: components, findings by owner, certificates, and what the scan did not see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from scanner.model.component_tally import ComponentRow, Honours, name_of
from scanner.model.finding import Outcome
from scanner.model.inventory import CertificateReport, InventoryRow, InventorySummary, NamesRow, key_name, moment
from scanner.model.report import DiscoveryRow, Report
from scanner.report import certificates, headline
from scanner.report.coverage import Missing, missing
from scanner.report.escape import plain
from scanner.report.escape import width as columns
from scanner.report.grouping import Group, Listener, by_severity, grouped
from scanner.report.page import Page, counted, findings, pad

_SYMBOLS: dict[Honours | None, tuple[str, str]] = {
    "no": ("✗", "fail"),
    "not-determined": ("?", "inconclusive"),
    "yes": ("✓", "pass"),
    None: ("–", "not_applicable"),
}
_ANSWERS: dict[Honours | None, str] = {
    "no": "no",
    "not-determined": "not determined",
    "yes": "yes",
    None: "no TLS",
}
_COUNTS: tuple[tuple[Outcome, str], ...] = (
    ("pass", "PASS"),
    ("fail", "FAIL"),
    ("deviates", "~"),
    ("inconclusive", "?"),
    ("not_applicable", "–"),
)
_LEGEND = (
    "~ differs, not counted in the exit code (user workload, waived, rollout)",
    "? inconclusive   – no TLS requirement: not among the 'of N TLS'",
)
_WIDE = 120
"""Columns of a page that has room for all columns of the table."""
_ROOMY = 100
"""Columns of a page that has room for the number of listeners, too."""
_LONGEST_NAME = 81
"""Columns of a component's name: that of a namespace (63, RFC 1123) and what stands around it."""
_NAME_COLUMN = 44
"""Columns for names at most; a longer one gets a line of its own."""
_NAMESPACES = 20
"""Namespaces of users shown without a failure; the JSON document has them all."""
_PROOFS = 2
"""Lines of evidence for a component that does not honour its profile."""


_NAMES = ("name", "distribution", "version", "platform", "topology")
"""What the head of a page says of a cluster; the JSON document has the rest."""


def names(cluster: dict[str, object]) -> Iterator[str]:
    """A line for each cluster of the report."""
    several = cluster.get("clusters")
    for each in several if isinstance(several, list) else [cluster]:
        if isinstance(each, dict):
            yield "cluster " + " ".join(
                plain(str(each[key]), 60) for key in _NAMES if each.get(key) not in (None, "", "None")
            )
            if said := each.get("adherence"):
                yield f"  {plain(str(said), 160)}"


def write(page: Page, report: Report) -> None:
    """The component table, and the coverage of the cluster."""
    if report.summary.components:
        _components(page, report.summary.components.rows())
    told = report.coverage.get("discovery")
    if told:
        _coverage(page, told)


# --- Components -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Table:
    """How wide the names are, and what is left out of each line because it is the same for all, or has no room."""

    page: Page
    name: int
    adherence: list[str]
    wide: bool
    roomy: bool

    def head(self, row: Sequence[str], counts: Sequence[str], worst: str) -> str:
        """The columns before the answer."""
        name, listeners, endpoints = row
        numbers = f" {listeners:>9}" * self.roomy + f" {endpoints:>9}" * self.wide
        return f"{pad(name, self.name)}{numbers}{''.join(f'{count:>5}' for count in counts)}  {worst}"


def _components(page: Page, rows: list[ComponentRow]) -> None:
    shown = _worth_a_line(rows)
    spellings = {tuple(row["adherence"]) for row in rows if row["adherence"]}
    common = list(spellings.pop()) if len(spellings) == 1 else []
    table = _fitted(page, shown, common)
    titles = [title for _, title in _COUNTS]
    head = table.head(("COMPONENT", "LISTENERS", "ENDPOINTS"), titles, f"{'WORST':<9}" if table.wide else "")
    page.line(page.paint("quiet", f"  {head} FOLLOWS PROFILE"))
    for row in shown:
        _component(table, row)
    if len(rows) > len(shown):
        more = counted(len(rows) - len(shown), "more namespace", "more namespaces")
        page.line(f"  and {more} of users in which nothing fails that counts")
    for line in _LEGEND:
        page.line(page.paint("quiet", f"  {line}"))
    if common:
        page.line(f"  components must follow the cluster's profile: {plain(', '.join(common), 60)}")
    page.line()


def _fitted(page: Page, shown: list[ComponentRow], adherence: list[str]) -> _Table:
    """The table with names as wide as the page lets them be."""
    wide, roomy = (page.width is None or page.width >= least for least in (_WIDE, _ROOMY))
    table = _Table(page, 0, adherence, wide, roomy)
    answers = max((columns(_answer(table, row)) for row in shown), default=0)
    taken = 2 + columns(table.head(("", "", ""), [""] * len(_COUNTS), " " * 9 * wide)) + 1 + answers
    most = _NAME_COLUMN if page.width is None else min(max(page.width - taken, 15), _NAME_COLUMN)
    names = [columns(plain(_called(row), _LONGEST_NAME)) for row in shown]
    return replace(table, name=max([len("COMPONENT"), *(each for each in names if each <= most)]))


def _worth_a_line(rows: list[ComponentRow]) -> list[ComponentRow]:
    quiet = [row for row in rows if row["component"] is None and row["standing"] == "user" and not row["failures"]]
    left_out = {id(row) for row in quiet[_NAMESPACES:]}
    return [row for row in rows if id(row) not in left_out]


def _called(row: ComponentRow) -> str:
    return name_of(row) + {"layered": " (layered)", "user": " (users)"}.get(row["standing"], "")


def _component(table: _Table, row: ComponentRow) -> None:
    symbol, style = _symbol(row)
    page, worst = table.page, max(row["failures"], key=headline.severity_rank, default="")
    name = plain(_called(row), min(_LONGEST_NAME, (page.width or _LONGEST_NAME + 2) - 2))
    if columns(name) > table.name:  # a narrow page: the name gets a line of its own
        page.line(page.paint(style, symbol), f" {name}")
        symbol, name = " ", ""
    cells = (name, str(row["listeners"]), str(row["endpoints"]))
    counts = [str(row["outcomes"][each] or "·") for each, _ in _COUNTS]
    mark = page.paint(worst, f"{worst or '·':<9}") if table.wide else ""
    page.line(
        page.paint(style, symbol), " ", table.head(cells, counts, mark), " ", page.paint(style, _answer(table, row))
    )
    for proof in row["evidence"][:_PROOFS] if row["honours"] == "no" else ():
        page.line("    ", page.paint("quiet", plain(proof, None if page.width is None else page.width - 4)))


def _symbol(row: ComponentRow) -> tuple[str, str]:
    """A component whose deviations break nothing is not marked as failing."""
    if row["honours"] == "no" and row["outcomes"]["deviates"] and not row["outcomes"]["fail"]:
        return headline.SYMBOLS["deviates"], "deviates"
    return _SYMBOLS[row["honours"]]


def _answer(table: _Table, row: ComponentRow) -> str:
    """``does not (2 of 3, not-enforced)``."""
    answer = row["honours"]
    if answer is None:
        return _ANSWERS[answer]
    under = [] if row["bindings"] == ["must-follow"] else row["bindings"]
    adherence = [] if row["adherence"] == table.adherence else row["adherence"]
    asked = sum(row["honouring"].values())
    words = [f"{row['honouring'][answer]} of {asked}" + (" TLS" if asked < row["listeners"] else "")]
    if table.wide or adherence:
        words += [*adherence, *under]
    return f"{_ANSWERS[answer]} ({', '.join(plain(word, 60) for word in words)})"


# --- What failed, by owner ------------------------------------------------------------------------------------------


def details(page: Page, report: Report, outcome: str) -> None:
    """The endpoints with this outcome: under their component and owner, equal replicas together.
    Those that were in progress when the scan was stopped have one block of their own."""
    rows = (row for row in report.rows() if headline.outcome(row) == outcome and not headline.in_progress(row))
    for group in grouped(rows):
        _heading(page, group)
        for listener in by_severity(group):
            _listener(page, listener, outcome)


def _heading(page: Page, group: Group) -> None:
    whose = f"{plain(group.component)}: " if group.component else ""
    standing = "" if group.standing in ("platform", "listed") else f", {plain(group.standing)}"
    page.title(f"{whose}{plain(group.name, 120)}  ({counted(group.count, 'endpoint')}{standing})")


def _listener(page: Page, listener: Listener, outcome: str) -> None:
    evidence = f"  {page.paint('quiet', plain(headline.status_line(listener.detail), 120))}" if listener.detail else ""
    mark = page.paint(outcome, f"{headline.SYMBOLS[outcome]} {plain(listener.id, 120)}")
    page.line(mark, f"  {plain(listener.speaks, 40)}", evidence)
    more = listener.count - len(listener.places)
    places = ", ".join(plain(place, 80) for place in listener.places)
    page.folded(4, "    ", f"{'at' if listener.count == 1 else f'{listener.count} replicas:'} {places}"
                + (f" and {more} more" if more else ""))  # fmt: skip
    if not listener.open:
        page.folded(2, "  ", plain(listener.reason, 600))
    findings(page, listener.open)
    page.line()


# --- Coverage -------------------------------------------------------------------------------------------------------


def _coverage(page: Page, told: DiscoveryRow) -> None:
    page.title("COVERAGE")
    aside = sum(each["count"] for each in told["left_out"])
    parts = [(told["probed"], "probed"), (aside, "left out"), (told["not_reached"], "not reached")]
    page.line(
        f"  found        {counted(told['discovered'], 'listener')}: ",
        ", ".join(f"{n} {what}" for n, what in parts if n),
    )
    parts = [
        (told["judged"], "pass or fail"),
        (told["undetermined"], "inconclusive"),
        (told["not_applicable"], "without a TLS requirement"),
    ]
    page.line("  probed       ", ", ".join(f"{n} {what}" for n, what in parts if n) or "none")
    label = "left out"
    for part in told["left_out"]:
        page.folded(15, f"  {label:<13}", f"{part['count']} × {plain(part['reason'], 120)}")
        label = ""
    for gap in missing(told):
        page.folded(15, "  not read     ", _gap(gap))
    for each in told["network_policies"][:10]:
        page.line(f"  closed by    NetworkPolicy {plain(each['policy'], 130)}: {each['endpoints']} did not answer")
    page.line()


def _gap(gap: Missing) -> str:
    waived = "; the policy file accepts that" if gap.accepted else ""
    remedy = f" ({plain(gap.remedy, 300)})" if gap.remedy and not waived else ""
    names = ", ".join(plain(each, 120) for each in gap.resources)
    if len(gap.resources) == 1:
        return f"{names}: {plain(gap.reason, 300)}{waived}{remedy}"
    return f"{len(gap.resources)} kinds: {plain(gap.reason, 300)}{waived}{remedy}: {names}"


_LABEL = 15
"""Columns before the text."""
_ENDING = 5
"""Certificates that are named because they end first; the JSON document has them all."""
_PENDING = 5
_KEYS = 12
"""Lines of keys."""
_NAME = 60
_SAID = frozenset({"not-governed", "unattributed"})
"""Statuses that the first line has counted."""


def write_certificates(page: Page, found: CertificateReport, now: str) -> None:
    """The section; ``now`` is the end of the scan, RFC 3339."""
    told = found.summary
    if not told["certificates"] and not told["names"]:
        return
    page.title("CERTIFICATES")
    page.folded(_LABEL, "  found        ", _whose(told))
    for line in told["configurations"][:20]:
        page.folded(_LABEL, "  configured   ", plain(line, 400))
    if told["certificates"]:
        _keys(page, told)
    judged = (one for one in certificates.statuses(told) if one[0] not in _SAID)
    said = ", ".join(f"{count} {plain(certificates.words(status), 40)}" for status, count in judged)
    page.folded(_LABEL, "  judged       ", said or "none")
    for names in told["names"][:20]:
        page.folded(_LABEL, "  names        ", _governed(names, 30))
    if told["pending"]:
        page.folded(_LABEL, "  pending      ", _pending_line(found))
    for number, row in enumerate(certificates.ending(found.rows(), moment(now), _ENDING)):
        page.folded(_LABEL, " " * _LABEL if number else "  expires next ", _ends(row))
    page.line()


def _governed(row: NamesRow, most: int) -> str:
    where = f"{plain(row['cluster'], 60)}: " if row["cluster"] else ""
    return f"{where}{plain(certificates.names_line(row, most), 2000)}"


def certificate_coverage(page: Page, found: CertificateReport) -> None:
    """What the summary of a report says of the names."""
    for row in found.summary["names"][:20]:
        page.folded(13, "  PKI names  ", _governed(row, 0))


def _whose(told: InventorySummary) -> str:
    parts = (
        (told["governed"], "governed by the PKI configuration"),
        (told["not_governed"], "of others"),
        (told["unattributed"], "owner unknown"),
    )
    return f"{told['certificates']}: {', '.join(f'{count} {what}' for count, what in parts if count)}"


def _keys(page: Page, told: InventorySummary) -> None:
    """A line for each key, a column for each category."""
    columns = certificates.used_categories(told)
    lines = certificates.by_key(told["keys"])
    width = max(len(plain(key, 20)) for key in lines)
    head = "".join(f"{each:>9}" for each in columns)
    page.line("  keys         ", page.paint("quiet", f"{'':<{width}}{head}"))
    for key, counts in islice(lines.items(), _KEYS):
        cells = "".join(f"{counts.get(each) or '·':>9}" for each in columns)
        page.line(" " * _LABEL, f"{plain(key, 20):<{width}}{cells}")
    if len(lines) > _KEYS:
        page.line(" " * _LABEL, f"and {len(lines) - _KEYS} more keys (all of them are in the JSON report)")


def _pending_line(found: CertificateReport) -> str:
    """How many, until when, and which first."""
    told = found.summary
    until = f", the last of them renewed by {told['pending_until'][:10]}" if told["pending_until"] else ""
    names = ", ".join(islice(_waiting(found), _PENDING))
    more = told["pending"] - _PENDING
    return f"{counted(told['pending'], 'certificate')}{until}: {names}{f' and {more} more' if more > 0 else ''}"


def _waiting(found: CertificateReport) -> Iterator[str]:
    for row in found.rows():
        if row["status"] == "pending-rotation":
            by = row["renewal"]["by"] if row["renewal"] else None
            yield f"{plain(certificates.name(row), _NAME)}{f' by {by[:10]}' if by else ''}"


def _ends(row: InventoryRow) -> str:
    where = f", {plain(row['places'][0], 120)}" if row["places"] else ""
    more = f" and {counted(row['found'] - 1, 'more place')}" if row["found"] > 1 else ""
    what = f"{plain(certificates.name(row), _NAME)} ({row['category']}, {plain(key_name(row['key']), 30)})"
    return f"{(row['not_after'] or '')[:10]} {what}{where}{more}"
