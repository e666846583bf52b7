"""Text for a cluster: components, findings by owner, coverage and certificates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec import Struct

from scanner.model.component_tally import ComponentRow, Honours, name_of
from scanner.model.finding import Outcome
from scanner.model.inventory import CertificateReport, InventoryRow, InventorySummary, NamesRow, key_name, moment
from scanner.model.report import DiscoveryRow
from scanner.report import certificates, headline
from scanner.report.coverage import Missing, missing
from scanner.report.escape import plain
from scanner.report.escape import width as columns
from scanner.report.page import Page, counted, pad
from scanner.values import replace

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
    "a listener is a port of a workload, an endpoint is one address of a listener",
    "FOLLOWS PROFILE counts the listeners whose endpoints all accept only allowed versions, suites and groups",
    "~ differs, not counted in the exit code (profile not enforced, known, waived, rollout in progress)",
    "? inconclusive   – not applicable: no TLS requirement   (0 of 3 TLS): 3 of the listeners must use TLS",
)
_WIDE = 120
"""Columns of the page from which the table has all its columns."""
_ROOMY = 100
"""Columns of the page from which the table has the number of listeners."""
_LONGEST_NAME = 81
"""Columns of a component's name: a namespace (63, RFC 1123) and the words around it."""
_NAME_COLUMN = 44
"""Most columns for names; a longer name gets a line of its own."""
_MOST_LINES = {False: 20, True: 4}
"""Components in the table, by whether the text is brief."""
_MOST_NAMES = {False: 30, True: 10}
"""Components in a line of those with the same answer, likewise."""
_NOTEWORTHY: tuple[tuple[Outcome, tuple[str, str]], ...] = (
    ("fail", ("more fails", "more fail")),
    ("inconclusive", ("more is inconclusive", "more are inconclusive")),
    ("deviates", ("more differs", "more differ")),
)
"""Outcomes of a component that has a line of its own, and the words for one and for several beyond the last line."""
_REST: tuple[tuple[Honours | None, tuple[str, str]], ...] = (
    ("no", ("does not follow its profile", "do not follow their profile")),
    ("not-determined", ("could not be determined", "could not be determined")),
    ("yes", ("follows its profile", "follow their profile")),
    (None, ("has no TLS", "have no TLS")),
)
_PROOFS = 2
"""Lines of evidence for a component that does not follow its profile."""
_NAMES = ("name", "distribution", "version", "platform", "topology")
"""Facts of a cluster in the head of the page; the JSON document has the others."""


def names(cluster: dict[str, object]) -> Iterator[str]:
    """Yield the lines of each cluster of the report."""
    several = cluster.get("clusters")
    for each in several if isinstance(several, list) else [cluster]:
        if isinstance(each, dict):
            words = [plain(str(each[key]), 60) for key in _NAMES if each.get(key) not in (None, "", "None")]
            yield " ".join(words if "read" in each and "distribution" not in each else ["cluster", *words])
            if adherence := each.get("adherence"):
                yield f"  {plain(str(adherence), 160)}"
            if read := each.get("read"):
                yield f"  {plain(str(read), 160)}"


# --- Components -----------------------------------------------------------------------------------------------------


class _Table(Struct, frozen=True):
    """Widths of the table, and the adherence that all lines share."""

    page: Page
    name: int
    adherence: list[str]
    wide: bool
    roomy: bool

    def head(self, row: Sequence[str], counts: Sequence[str], worst: str) -> str:
        """Return the columns before the answer."""
        name, listeners, endpoints = row
        numbers = f" {listeners:>9}" * self.roomy + f" {endpoints:>9}" * self.wide
        return f"{pad(name, self.name)}{numbers}{''.join(f'{count:>5}' for count in counts)}  {worst}"


def write_components(page: Page, rows: list[ComponentRow], *, verbose: bool, brief: bool) -> None:
    """Write a line for each component that does not pass, and one for the others; with ``verbose`` a line for each.
    ``brief``: without evidence and the meaning of words."""
    noteworthy = sorted((row for row in rows if _worst(row)), key=lambda row: _PLACES[_worst(row)])
    shown = rows if verbose else noteworthy[: _MOST_LINES[brief]]
    spellings = {tuple(row["adherence"]) for row in rows if row["adherence"]}
    common = list(spellings.pop()) if len(spellings) == 1 else []
    table = _fitted(page, shown, common)
    titles = [title for _, title in _COUNTS]
    head = table.head(("COMPONENT", "LISTENERS", "ENDPOINTS"), titles, f"{'WORST':<9}" if table.wide else "")
    if shown:
        page.line(page.paint("quiet", f"  {head} FOLLOWS PROFILE"))
    for row in shown:
        _component(table, row, 0 if brief else _PROOFS)
    if not verbose:
        for outcome, words in _NOTEWORTHY:
            more = [row for row in noteworthy[len(shown) :] if _worst(row) == outcome]
            _enumerated(page, (headline.SYMBOLS[outcome], outcome), words, more, _MOST_NAMES[brief])
        for honours, words in _REST:
            others = [row for row in rows if row["honours"] == honours and not _worst(row)]
            _enumerated(page, _SYMBOLS[honours], words, others, _MOST_NAMES[brief])
    for line in (*_LEGEND, *headline.legend(rows)) if shown and not brief else ():
        page.folded(4, "  ", line)
    if common and not brief:  # the head of the page has it
        page.line(f"  spec.tlsAdherence of the cluster: {plain(', '.join(common), 60)}")
    page.line()


def _enumerated(
    page: Page, style: tuple[str, str], words: tuple[str, str], rows: list[ComponentRow], most: int
) -> None:
    """Write one line with the number and the names of components; ``words`` for one and for several."""
    if not rows:
        return
    names = ", ".join(plain(_called(row), _LONGEST_NAME) for row in rows[:most])
    more = f" and {len(rows) - most} more" if len(rows) > most else ""
    page.folded(2, f"{page.paint(style[1], style[0])} ", f"{counted(len(rows), *words)}: {names}{more}")


def _worst(row: ComponentRow) -> Outcome | None:
    """Return the outcome for which a component has a line of its own; None for one that has nothing to look at."""
    return next((outcome for outcome, _ in _NOTEWORTHY if row["outcomes"][outcome]), None)


_PLACES: dict[Outcome | None, int] = {outcome: place for place, (outcome, _) in enumerate(_NOTEWORTHY)}


def _fitted(page: Page, shown: list[ComponentRow], adherence: list[str]) -> _Table:
    """Return the table with the name column as wide as the page allows."""
    wide, roomy = (page.width is None or page.width >= least for least in (_WIDE, _ROOMY))
    table = _Table(page, 0, adherence, wide, roomy)
    answers = max((columns(_answer(table, row)) for row in shown), default=0)
    taken = 2 + columns(table.head(("", "", ""), [""] * len(_COUNTS), " " * 9 * wide)) + 1 + answers
    most = _NAME_COLUMN if page.width is None else min(max(page.width - taken, 15), _NAME_COLUMN)
    names = [columns(plain(_called(row), _LONGEST_NAME)) for row in shown]
    return replace(table, name=max([len("COMPONENT"), *(each for each in names if each <= most)]))


def _called(row: ComponentRow) -> str:
    return name_of(row) + {"layered": " (layered)", "user": " (user)"}.get(row["standing"], "")


def _component(table: _Table, row: ComponentRow, proofs: int) -> None:
    symbol, style = _symbol(row)
    page, worst = table.page, max(row["failures"], key=headline.severity_rank, default="")
    name = plain(_called(row), min(_LONGEST_NAME, (page.width or _LONGEST_NAME + 2) - 2))
    if columns(name) > table.name:  # a narrow page
        page.line(page.paint(style, symbol), f" {name}")
        symbol, name = " ", ""
    cells = (name, str(row["listeners"]), str(row["endpoints"]))
    counts = [str(row["outcomes"][each] or "·") for each, _ in _COUNTS]
    mark = page.paint(worst, f"{worst or '·':<9}") if table.wide else ""
    page.line(
        page.paint(style, symbol), " ", table.head(cells, counts, mark), " ", page.paint(style, _answer(table, row))
    )
    for proof in row["evidence"][:proofs] if row["honours"] == "no" else ():
        page.line("    ", page.paint("quiet", plain(proof, None if page.width is None else page.width - 4)))


def _symbol(row: ComponentRow) -> tuple[str, str]:
    """Return symbol and style of its worst outcome, else of its answer."""
    worst = _worst(row)
    return (headline.SYMBOLS[worst], worst) if worst else _SYMBOLS[row["honours"]]


def _answer(table: _Table, row: ComponentRow) -> str:
    """``no (2 of 3, profile not enforced)``: 2 follow."""
    if row["honours"] is None:
        return _ANSWERS[None]
    adherence = [] if row["adherence"] == table.adherence else row["adherence"]
    tls = sum(row["honouring"].values())
    words = [f"{row['honouring']['yes']} of {tls}" + (" TLS" if tls < row["listeners"] else "")]
    if table.wide or adherence:
        words += [*adherence, *(headline.BINDINGS.get(each, each) for each in row["bindings"] if each != "must-follow")]
    return f"{_ANSWERS[row['honours']]} ({', '.join(plain(word, 60) for word in words)})"


# --- Coverage -------------------------------------------------------------------------------------------------------


def write_coverage(page: Page, discovery: DiscoveryRow, *, brief: bool) -> None:
    """Write what was found, probed, left out and not read; ``brief``: a line for each."""
    page.title("COVERAGE")
    left_out = sum(each["count"] for each in discovery["left_out"])
    parts = [(discovery["probed"], "probed"), (left_out, "left out"), (discovery["not_reached"], "not reached")]
    counts = ", ".join(f"{n} {what}" for n, what in parts if n)
    page.line(f"  found        {counted(discovery['discovered'], 'endpoint')}: {counts}")
    parts = [
        (discovery["judged"], "pass, fail or differ"),
        (discovery["undetermined"], "inconclusive"),
        (discovery["not_applicable"], "not applicable"),
    ]
    if not brief:  # the summary has these counts
        page.line("  probed       ", ", ".join(f"{n} {what}" for n, what in parts if n) or "none")
    label, reasons = "left out", [f"{each['count']} × {plain(each['reason'], 120)}" for each in discovery["left_out"]]
    for text in [", ".join(reasons)] if brief and reasons else reasons:
        page.folded(15, f"  {label:<13}", text)
        label = ""
    for gap in missing(discovery):
        page.folded(15, "  not read     ", _gap(gap))
    for each in discovery["network_policies"][: 2 if brief else 10]:
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
_EXPIRING = {False: 5, True: 1}
"""Certificates in the list of those that have expired or expire next, by whether the text is brief."""
_PENDING = 5
_KEYS = 12
"""Lines of keys."""
_NAME = 60
_SAID = frozenset({"not-governed", "unattributed"})
"""Statuses that the first line counts."""


def write_certificates(page: Page, found: CertificateReport, end: str, *, brief: bool) -> None:
    """Write the section. ``end``: the end of the scan, RFC 3339; ``brief``: without configuration and keys."""
    summary, now = found.summary, moment(end)
    if not summary["certificates"] and not summary["names"]:
        return
    page.title("CERTIFICATES")
    parts = (
        (summary["governed"], "of kinds that PKI/cluster can configure"),
        (summary["not_governed"], "of other kinds"),
        (summary["unattributed"], "of unknown origin"),
    )
    whose = ", ".join(f"{count} {what}" for count, what in parts if count)
    page.folded(_LABEL, "  found        ", f"{summary['certificates']}: {whose}")
    for line in summary["configurations"][: 0 if brief else 20]:
        page.folded(_LABEL, "  PKI config   ", plain(line, 400))
    if summary["certificates"] and not brief:
        _keys(page, summary)
    judged = (each for each in certificates.statuses(summary) if each[0] not in _SAID)
    counts = ", ".join(f"{plain(certificates.words(status), 40)} {count}" for status, count in judged)
    page.folded(_LABEL, "  judged       ", counts or "none")
    for names in summary["names"][:20]:
        page.folded(_LABEL, "  names        ", _governed(names, 30))
    if summary["pending"]:
        page.folded(_LABEL, "  pending      ", _pending_line(found))
    before = ""
    for row in certificates.expiring(found.rows(), now, _EXPIRING[brief]):
        label = "expired" if now and certificates.expiry(row) < now.timestamp() else "expires next"
        page.folded(_LABEL, f"  {'' if label == before else label:<12} ", _expiry_line(row))
        before = label
    page.line()


def _governed(row: NamesRow, most: int) -> str:
    where = f"{plain(row['cluster'], 60)}: " if row["cluster"] else ""
    return f"{where}{plain(certificates.names_line(row, most), 2000)}"


def certificate_coverage(page: Page, found: CertificateReport) -> None:
    """Write the coverage of certificate names for the summary of the report."""
    for row in found.summary["names"][:20]:
        page.folded(13, "  PKI names  ", _governed(row, 0))


def _keys(page: Page, summary: InventorySummary) -> None:
    """A line for each key, a column for each category."""
    columns = certificates.used_categories(summary)
    lines = certificates.by_key(summary["keys"])
    width = max(len(plain(key, 20)) for key in lines)
    head = "".join(f"{each:>9}" for each in columns)
    page.line("  keys         ", page.paint("quiet", f"{'':<{width}}{head}"))
    for key, counts in islice(lines.items(), _KEYS):
        cells = "".join(f"{counts.get(each) or '·':>9}" for each in columns)
        page.line(" " * _LABEL, f"{plain(key, 20):<{width}}{cells}")
    if len(lines) > _KEYS:
        page.line(" " * _LABEL, f"and {len(lines) - _KEYS} more keys (all of them are in the JSON report)")


def _pending_line(found: CertificateReport) -> str:
    """Count the certificates whose rotation is pending, with the last date and the first names."""
    summary = found.summary
    until = f", all renewed before {summary['pending_until'][:10]}" if summary["pending_until"] else ""
    waiting = []
    for row in islice((row for row in found.rows() if row["status"] == "pending-rotation"), _PENDING):
        by = row["renewal"]["by"] if row["renewal"] else None
        waiting.append(f"{plain(certificates.name(row), _NAME)}{f' before {by[:10]}' if by else ''}")
    more = summary["pending"] - _PENDING
    names = ", ".join(waiting) + (f" and {more} more" if more > 0 else "")
    return f"{counted(summary['pending'], 'certificate')}{until}: {names}"


def _expiry_line(row: InventoryRow) -> str:
    where = f", {plain(row['places'][0], 120)}" if row["places"] else ""
    more = f" and {counted(row['found'] - 1, 'more place')}" if row["found"] > 1 else ""
    what = f"{plain(certificates.name(row), _NAME)} ({row['category']}, {plain(key_name(row['key']), 30)})"
    return f"{(row['not_after'] or '')[:10]} {what}{where}{more}"
