"""HTML: one file that needs no network: sums, what failed, a matrix of components, and the evidence of each endpoint.

Its Content-Security-Policy allows our script and our style sheet by hash, and nothing else: text that was not escaped
could neither run nor connect anywhere. Endpoints are data (``endpoint_data``); the script makes a row
when it comes into view.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache, partial
from hashlib import sha256
from heapq import nsmallest
from io import StringIO
from itertools import islice
from typing import TYPE_CHECKING, TextIO
from urllib.parse import quote

from msgspec import Struct

from scanner.data import data
from scanner.model.component_tally import ComponentRow, name_of
from scanner.model.finding import OUTCOMES, SEVERITIES, Outcome
from scanner.model.finding import outcome as outcome_of
from scanner.model.inventory import moment
from scanner.model.report import NEVER_FAILS, VERDICTS, EndpointRow, FindingRow, Posture, Report
from scanner.report import headline
from scanner.report.certificates import BASE, certificates_view
from scanner.report.coverage import exit_line, missing, stopped, trust_line, unseen
from scanner.report.escape import visible
from scanner.report.formats.endpoint_data import Pack, view
from scanner.report.formats.matrix import SHOWN, Matrix
from scanner.report.grouping import Group, group_keys, groups, merged

MOST_ROWS = 5000
"""Endpoints on the page; it has the worst and says how many are left out."""
MOST_COMPONENTS = 500
"""Lines of the component table; users may have any number of namespaces."""
MOST_LINES = 150
"""Lines of the matrix."""
MOST_FINDINGS = 200
"""Groups of findings; cluster-wide findings without those in the table of certificates."""
_POSTURE: tuple[Outcome, ...] = ("fail", "inconclusive", "deviates")
"""Outcomes of the chart over time: those to bring to zero."""
_SECONDS = re.compile(r"(?<=T\d\d:\d\d:\d\d)(?:\.\d+)?\+00:00$")
"""End of a timestamp, behind its seconds."""


def write(report: Report, out: TextIO) -> None:
    """Write the page, row by row."""
    from markupsafe import Markup  # noqa: PLC0415 - jinja2 is slow to import

    matrix = Matrix(now=moment(report.finished))
    served: dict[str, FindingRow] = {}
    found = groups(_certificates(matrix.watch(report.rows()), served))
    rows = report.summary.components.rows()
    common = _common(rows)
    discovery = report.coverage.get("discovery")
    certificates = report.certificates and certificates_view(report.certificates, report.finished, served)
    shown = certificates.shown if certificates else frozenset()
    others = [one for one in report.findings if headline.same(one) not in shown]
    wide = sorted(filter(headline.open_question, others), key=headline.importance)
    notes = [one for one in others if not headline.open_question(one)]
    style, script = _source("report.css"), _source("report.js")
    page = (
        _environment()
        .get_template("report.html.j2")
        .generate(
            report=report,
            details=partial(headline.details, controls=headline.controls_of(report)),
            data=lambda: Markup(_data(report, found)),  # noqa: S704 - escaped for its element
            clusters=list(_clusters(report.cluster)),
            failures=list(_failures(found[:MOST_FINDINGS], wide[:MOST_FINDINGS])),
            failures_left_out=max(len(found) - MOST_FINDINGS, 0) + max(len(wide) - MOST_FINDINGS, 0),
            posture=posture(report),
            matrix=matrix,
            matrix_lines=matrix.lines(MOST_LINES),
            states=SHOWN,
            components=[_component(row, common) for row in rows[:MOST_COMPONENTS]],
            components_left_out=max(len(rows) - MOST_COMPONENTS, 0),
            common=common,
            legend=headline.legend(rows),
            certificates=certificates,
            chart_base=BASE,
            notes=nsmallest(MOST_FINDINGS, notes, key=headline.importance),
            notes_left_out=max(len(notes) - MOST_FINDINGS, 0),
            outcomes=report.summary.outcomes,
            binding=report.summary.outcomes["fail"],
            discovery=discovery,
            unread=missing(discovery) if discovery else [],
            unseen=len(unseen(report.coverage)),
            stopped=stopped(report.coverage),
            shown=min(report.summary.endpoints, MOST_ROWS),
            severities=SEVERITIES[::-1],
            symbols=headline.SYMBOLS,
            words=headline.WORDS,
            order=OUTCOMES,
            never_fails=NEVER_FAILS,
            plain_statuses=headline.PLAIN_STATUSES,
            trust=trust_line(report.summary),
            exit=exit_line(report),
            excused=headline.excused(report.summary),
            rules_by_count=sorted(report.summary.rules.items(), key=lambda item: (-item[1], item[0])),
            style=Markup(style),  # noqa: S704 - our own files, not data
            script=Markup(script),  # noqa: S704
            style_hash=_hash(style),
            script_hash=_hash(script),
        )
    )
    for piece in page:
        out.write(piece)


def _certificates(rows: Iterable[EndpointRow], worst: dict[str, FindingRow]) -> Iterator[EndpointRow]:
    """Yield the rows, and keep the worst open finding on the certificate of each leaf, by SHA-256."""
    for row in rows:
        for leaf in (row["observed"]["chain"] or [])[:1]:
            found = [one for one in row["findings"] if one["rule"].startswith("cert-") and headline.open_question(one)]
            known = worst.get(leaf["sha256"])
            if found:
                worst[leaf["sha256"]] = min([*([known] if known else []), *found], key=headline.badness)
        yield row


def _data(report: Report, found: list[Group]) -> str:
    """Return the endpoints as JSON: the worst ones of a report with too many."""
    numbers = {each.key: number for number, each in enumerate(found)}
    pack, now, controls = Pack(), moment(report.finished), headline.controls_of(report)
    rows = [
        pack.add(view(row, (numbers[key] for key, _, _ in group_keys(row)), now, controls))
        for row in islice(_worst_first(report), MOST_ROWS)
    ]
    text = StringIO()
    pack.write(text, {"words": headline.WORDS, "symbols": headline.SYMBOLS, "rows": rows})
    return text.getvalue()


def _worst_first(report: Report) -> Iterator[EndpointRow]:
    """Yield the rows; if they are too many for the page, the worst first: one pass for each verdict that occurs."""
    if report.summary.endpoints <= MOST_ROWS:
        yield from report.rows()
        return
    for verdict in VERDICTS:
        if report.summary.verdicts[verdict]:
            yield from (row for row in report.rows() if row["verdict"] == verdict)


class FailureView(Struct, frozen=True, kw_only=True):
    """One line of what failed: a group of findings of endpoints, or a cluster-wide finding."""

    finding: FindingRow
    outcome: Outcome
    differ: frozenset[str] = frozenset()
    """Parts that differ between the endpoints."""
    endpoints: int = 0
    """0 for a cluster-wide finding."""
    places: list[str]
    more: int = 0
    """Listeners that ``places`` does not name."""
    number: int | None = None
    """The filter that lists the endpoints."""


class PostureView(Struct, frozen=True, kw_only=True):
    """The chart of outcomes over time. Coordinates are percent of its width, and of its height from above."""

    scans: tuple[Posture, ...]
    """Oldest first, with this one."""
    lines: dict[Outcome, list[tuple[float, float, Posture]]]
    """Points of an outcome, for those that a scan has."""
    most: int
    """Endpoints at the top."""


def posture(report: Report) -> PostureView | None:
    """Return the chart of the earlier scans and this one; None without earlier ones."""
    at = moment(report.started)
    if not report.history or at is None:
        return None
    now = Posture(at=at, outcomes=report.summary.outcomes)
    scans = tuple(sorted((*report.history, now), key=lambda each: each.at))
    times = [each.at.timestamp() for each in scans]
    first, span = times[0], max(times[-1] - times[0], 1.0)
    shown = [each for each in _POSTURE if any(scan.outcomes[each] for scan in scans)]
    most = max((scan.outcomes[each] for each in shown for scan in scans), default=0)
    lines = {
        each: [
            (round((when - first) / span * 96 + 2, 2), round(96 - 90 * scan.outcomes[each] / max(most, 1), 2), scan)
            for when, scan in zip(times, scans, strict=True)
        ]
        for each in shown
    }
    return PostureView(scans=scans, lines=lines, most=most)


def _failures(found: list[Group], wide: list[FindingRow]) -> Iterator[FailureView]:
    """Yield the failures, the most important first; of cluster-wide findings those that differ only in the object are
    one."""
    views = [
        FailureView(
            finding=each.shown,
            outcome=each.outcome,
            differ=frozenset(each.differ),
            endpoints=each.endpoints,
            places=[name for name, _ in each.examples],
            more=each.listeners - len(each.examples),
            number=number,
        )
        for number, each in enumerate(found)
    ]
    for one in merged(wide):
        views.append(
            FailureView(
                finding=one,
                outcome=outcome_of(one["verdict"], one["status"]),
                places=[one["about"]] if one["about"] else [],
            )
        )
    yield from sorted(views, key=lambda one: (*headline.importance(one.finding), -one.endpoints))


@cache
def _environment() -> Environment:
    """Return the compiled templates: ``adhere serve`` renders them after each cycle."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined  # noqa: PLC0415

    environment = Environment(
        loader=FunctionLoader(_source),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    own = (pieces, filtered, headline.label, headline.status_words)
    environment.globals |= {each.__name__: each for each in own}
    return environment


def pieces(text: str) -> list[str]:
    """Cut ``text`` where a line may break: after ``/``, ``:`` and ``#``."""
    return re.findall(r"[^/:#]*[/:#]+|[^/:#]+\Z", text)


def filtered(**facets: str | int) -> str:
    """Return a link that lists the endpoints with these facets: ``#component=dns&has=TLS%201.0``."""
    return "#" + "&".join(f"{name}={quote(visible(str(value)), safe='')}" for name, value in facets.items())


def _finalize(value: object) -> object:
    """Make control characters visible in the result of every expression of the templates."""
    return visible(value) if type(value) is str else value


def _source(name: str) -> str:
    return data("templates").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Hash for ``script-src`` and ``style-src`` (Content Security Policy 3, 2.3.1)."""
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


class ComponentView(Struct, frozen=True, kw_only=True):
    """One line of the component table."""

    row: ComponentRow
    name: str
    answer: str
    outcomes: dict[Outcome, int]
    under: str
    """Adherence, profile and binding, if they are not the same for all components."""
    worst: str


_ANSWERS = {"no": "no", "not-determined": "not determined", "yes": "yes", None: "no TLS"}


def _common(rows: list[ComponentRow]) -> list[str]:
    """Return the profile and adherence of most components, which their lines need not repeat."""
    kinds = (
        Counter(tuple(row["profiles"]) for row in rows if row["profiles"]),
        Counter(tuple(row["adherence"]) for row in rows if row["adherence"]),
    )
    return [word for kind in kinds for words, _ in kind.most_common(1) for word in words]


def _component(row: ComponentRow, common: list[str]) -> ComponentView:
    bindings = [headline.BINDINGS.get(each, each) for each in row["bindings"] if each != "must-follow"]
    profiles = row["profiles"][:3]
    unusual = []
    if any(each not in common for each in (*row["adherence"], *(profiles or ["unknown"]))):
        unusual = [*row["adherence"], f"required: {' or '.join(profiles) or 'unknown'}"]
    return ComponentView(
        row=row,
        name=name_of(row),
        answer=_ANSWERS[row["honours"]],
        outcomes=row["outcomes"],
        under=" · ".join([*unusual, *bindings]),
        worst=max(row["failures"], key=headline.severity_rank, default=""),
    )


def _clusters(cluster: dict[str, object] | None) -> Iterator[dict[str, str]]:
    """Yield the facts of each cluster of the report as texts."""
    several = (cluster or {}).get("clusters")
    for each in several if isinstance(several, list) else [cluster]:
        if isinstance(each, dict):
            facts = {key: str(value) for key, value in each.items() if key == "name" or value not in (None, "", "None")}
            yield {key.replace("_", " ").capitalize(): _SECONDS.sub("Z", value) for key, value in facts.items()}


if TYPE_CHECKING:
    from jinja2 import Environment
