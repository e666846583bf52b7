"""HTML: one file that opens anywhere, offline, and leads from the sum to the evidence.

Its Content-Security-Policy allows our one script and our one style sheet by hash and nothing else, no network at all:
even text that slipped through escaping could neither run nor call home.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from heapq import nsmallest
from typing import TYPE_CHECKING, TextIO

from scanner.data import data
from scanner.model.component_tally import ComponentRow, name_of
from scanner.model.finding import OUTCOMES, SEVERITIES, Outcome
from scanner.model.report import NEVER_FAILS, VERDICTS, EndpointRow, Report
from scanner.report import headline, html_certificates
from scanner.report.coverage import exit_line, missing, stopped, trust_line, unseen
from scanner.report.escape import visible
from scanner.report.html_row import RowView, view

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_ROWS = 5000
"""More rows than a browser's table is good for; the worst are kept, and the page says what was left out."""
MOST_COMPONENTS = 500
"""Lines of the component table; users may have more namespaces than that."""
MOST_FINDINGS = 500
"""Findings on no single endpoint that the table of certificates does not show."""
_SECONDS = re.compile(r"(?<=T\d\d:\d\d:\d\d)(?:\.\d+)?\+00:00$")
"""What a time has behind its seconds; all others of the page have none."""
DETAIL_FOR_ALL = 500
"""In larger reports only what failed or could not be judged carries its evidence."""


def write(report: Report, out: TextIO) -> None:
    """The whole page, rendered row by row."""
    from markupsafe import Markup  # noqa: PLC0415 - jinja2's import time is only for those who want HTML

    environment = _environment()
    common = _common(report.summary.components.rows())
    components = [_component(row, common) for row in report.summary.components.rows()]
    outcomes = report.summary.outcomes
    discovery = report.coverage.get("discovery")
    certificates = report.certificates and html_certificates.view(report.certificates, report.finished)
    told = certificates.told if certificates else frozenset()
    others = [one for one in report.findings if headline.same(one) not in told]
    objects = nsmallest(MOST_FINDINGS, others, key=headline.importance)
    style, script = _source("report.css"), _source("report.js")
    page = environment.get_template("report.html.j2").generate(
        report=report,
        views=_views(report),
        clusters=list(_clusters(report.cluster)),
        components=components[:MOST_COMPONENTS],
        components_left_out=max(len(components) - MOST_COMPONENTS, 0),
        common=common,
        certificates=certificates,
        chart_base=html_certificates.BASE,
        objects=objects,
        objects_left_out=len(others) - len(objects),
        outcomes=outcomes,
        binding=outcomes["fail"],
        discovery=discovery,
        unread=missing(discovery) if discovery else [],
        unseen=unseen(report.coverage),
        stopped=stopped(report.coverage),
        shown=min(report.summary.endpoints, MOST_ROWS),
        detail_for_all=DETAIL_FOR_ALL,
        verdicts=VERDICTS,
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
    for piece in page:
        out.write(piece)


def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined  # noqa: PLC0415

    made = Environment(
        loader=FunctionLoader(_source),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["pieces"] = pieces
    return made


def pieces(text: str) -> list[str]:
    """``text`` cut where an id may be broken to the next line: behind ``/``, ``:`` and ``#``."""
    return re.findall(r"[^/:#]*[/:#]+|[^/:#]+\Z", text)


def _finalize(value: object) -> object:
    """Every expression of the templates passes here before it is escaped, so none can forget to be cleaned."""
    return visible(value) if type(value) is str else value


def _source(name: str) -> str:
    return data("templates").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """For ``script-src`` and ``style-src`` (Content Security Policy 3, 2.3.1)."""
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


def _views(report: Report) -> Iterator[RowView]:
    """The worst first: one pass for each verdict that occurs, until the page is full."""
    detail_for_all = report.summary.endpoints <= DETAIL_FOR_ALL
    number = 0
    for verdict in VERDICTS:
        for row in _having(report, verdict):
            if number == MOST_ROWS:
                return
            number += 1
            yield view(row, number, detailed=detail_for_all or verdict in {"fail", "inconclusive"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentView:
    """One line of the component table."""

    row: ComponentRow
    key: str
    """As the rows of the endpoints have it, to show only those."""
    name: str
    answer: str
    outcomes: dict[Outcome, int]
    under: str
    """Under which adherence, profile and binding, as far as it is not the same for all."""
    worst: str


_ANSWERS = {"no": "no", "not-determined": "not determined", "yes": "yes", None: "no TLS"}


def _common(rows: list[ComponentRow]) -> list[str]:
    """Profile and adherence of most components: said once, so that the lines can say what differs."""
    kinds = (
        Counter(tuple(row["profiles"]) for row in rows if row["profiles"]),
        Counter(tuple(row["adherence"]) for row in rows if row["adherence"]),
    )
    return [word for kind in kinds for words, _ in kind.most_common(1) for word in words]


def _component(row: ComponentRow, common: list[str]) -> ComponentView:
    bindings = [each for each in row["bindings"] if each != "must-follow"]
    told = [*row["adherence"], *(row["profiles"][:3] or ["profile not known"])]
    unusual = told if any(each not in common for each in told) else []
    words = [*unusual, *bindings]
    return ComponentView(
        row=row,
        key=name_of(row),
        name=name_of(row),
        answer=_ANSWERS[row["honours"]],
        outcomes=row["outcomes"],
        under=" · ".join(words),
        worst=max(row["failures"], key=headline.severity_rank, default=""),
    )


def _clusters(cluster: dict[str, object] | None) -> Iterator[dict[str, str]]:
    """What is known of each cluster of the report, as texts."""
    several = (cluster or {}).get("clusters")
    for each in several if isinstance(several, list) else [cluster]:
        if isinstance(each, dict):
            said = {key: str(value) for key, value in each.items() if key == "name" or value not in (None, "", "None")}
            yield {key.replace("_", " ").capitalize(): _SECONDS.sub("Z", value) for key, value in said.items()}


def _having(report: Report, verdict: str) -> Iterator[EndpointRow]:
    if report.summary.verdicts[verdict]:
        yield from (row for row in report.rows() if row["verdict"] == verdict)
