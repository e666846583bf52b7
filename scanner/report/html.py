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
from typing import TYPE_CHECKING, Literal, TextIO

from scanner.data import data
from scanner.model.component_tally import ComponentRow, called, name_of
from scanner.model.finding import OUTCOMES, SEVERITIES, Outcome
from scanner.model.report import NEVER_FAILS, VERDICTS, CertificateRow, EndpointRow, FindingRow, Report
from scanner.report import headline
from scanner.report.certificates import BASE, certificates_view
from scanner.report.coverage import exit_line, missing, stopped, trust_line, unseen
from scanner.report.escape import visible
from scanner.report.grouping import owner_name

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
    certificates = report.certificates and certificates_view(report.certificates, report.finished)
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
        chart_base=BASE,
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


_MOST_SUITES = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionView:
    """One version in the strip over the matrix."""

    name: str
    short: str
    state: Literal["accepted", "refused", "unknown"]
    offending: bool
    note: str
    """Why it is unknown or not fully enumerated, whose order of suites decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteView:
    """One line of the matrix: a suite, and in which of the spoken versions it was accepted."""

    name: str
    accepted: tuple[bool, ...]
    offending: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FactView:
    """One line of the list of facts; ``unknown`` is the reason where there is no value."""

    name: str
    value: str = ""
    unknown: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupKeys:
    """By what the page can group and filter; empty for a target of a list."""

    component: str = ""
    namespace: str = ""
    owner: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowView:
    """Everything that the templates need of one row."""

    row: EndpointRow
    number: int
    detailed: bool
    """Whether the evidence is embedded."""
    outcome: str
    """One of ``OUTCOMES``."""
    place: str
    owner: str
    group: GroupKeys
    speaks: str
    reason: str
    severity: str
    """Of the worst failing finding, or empty."""
    order: int
    """Sort key of the verdict column: outcome, then severity."""
    leaf: CertificateRow | None
    rules: str
    """Rules that failed or could not be judged, separated by spaces."""
    open: list[FindingRow]
    """Findings that need a reader, the worst first."""
    settled: list[FindingRow]
    """The others."""
    versions: list[VersionView]
    spoken: list[VersionView]
    suites: list[SuiteView]
    suites_left_out: int
    groups: list[tuple[str, bool]]
    """Name and whether it is offending."""
    facts: list[FactView]


def view(row: EndpointRow, number: int, *, detailed: bool) -> RowView:
    """The view of one row; ``number`` makes its anchor."""
    failed = [one for one in row["findings"] if one["verdict"] == "fail"]
    offending = {item.split(" ", 1)[0] for one in failed for item in one["observed"]}
    severity = min(failed, key=headline.rank)["severity"] if failed else ""
    versions = _versions(row, offending)
    suites = _suites(row, offending)
    unsettled = sorted(
        (one for one in row["findings"] if headline.open_question(one)),
        key=lambda one: (one["verdict"] != "fail", headline.rank(one)),
    )
    return RowView(
        row=row,
        number=number,
        detailed=detailed,
        outcome=headline.outcome(row),
        place=headline.place(row),
        owner=_owner(row),
        group=_group(row),
        speaks=headline.speaks(row),
        reason=headline.reason(row),
        severity=severity,
        order=_order(headline.outcome(row), severity),
        leaf=next(iter(row["observed"]["chain"] or []), None),
        rules=" ".join(dict.fromkeys(one["rule"] for one in unsettled)),
        open=unsettled,
        settled=[one for one in row["findings"] if not headline.open_question(one)],
        versions=versions,
        spoken=[version for version in versions if version.state == "accepted"],
        suites=suites[:_MOST_SUITES],
        suites_left_out=max(len(suites) - _MOST_SUITES, 0),
        groups=[(name, name in offending) for name in row["observed"]["groups"] or []],
        facts=_facts(row),
    )


def _owner(row: EndpointRow) -> str:
    """The owning object, where the id does not name it: a target of a list is its own owner."""
    owner = row["owner"]
    if owner["name"] in row["id"] and (owner["namespace"] is None or owner["namespace"] in row["id"]):
        return ""
    return "/".join(filter(None, (owner["namespace"], owner["kind"], owner["name"])))


def _group(row: EndpointRow) -> GroupKeys:
    if row["standing"] == "listed" and row["component"] is None:
        return GroupKeys()
    namespace = row["owner"]["namespace"]
    return GroupKeys(
        component=called(row["component"], namespace),
        namespace=namespace or called(None, None),
        owner=owner_name(row["owner"]),
    )


def _order(outcome: Outcome, severity: str) -> int:
    severe = SEVERITIES[::-1].index(severity) if severity in SEVERITIES else len(SEVERITIES)
    return OUTCOMES.index(outcome) * 10 + severe


def _versions(row: EndpointRow, offending: set[str]) -> list[VersionView]:
    views = []
    for name, told in (row["observed"]["versions"] or {}).items():
        state: Literal["accepted", "refused", "unknown"]
        state = "unknown" if told is None else "refused" if told["suites"] == [] else "accepted"
        notes = [row["reasons"].get(f"versions.{name}", "") if state == "unknown" else ""]
        if told is not None and state == "accepted":
            notes.append(f"{told['preference']} order" if told["preference"] else "")
            notes.append("" if told["enumerated"] else "not every suite was asked")
        views.append(
            VersionView(
                name=name,
                short=headline.SHORT_VERSIONS.get(name, name),
                state=state,
                offending=name in offending and state == "accepted",
                note=", ".join(filter(None, notes)),
            )
        )
    return views


def _suites(row: EndpointRow, offending: set[str]) -> list[SuiteView]:
    """Every accepted suite once, the newest version's first, with a mark for each spoken version."""
    versions = row["observed"]["versions"] or {}
    accepted = [versions[name] for name in headline.spoken(row)]
    by_version = [told["suites"] or [] if told is not None else [] for told in accepted]
    return [
        SuiteView(name=name, accepted=tuple(name in suites for suites in by_version), offending=name in offending)
        for name in dict.fromkeys(name for suites in reversed(by_version) for name in suites)
    ]


def _facts(row: EndpointRow) -> list[FactView]:
    observed, reasons = row["observed"], row["reasons"]
    negotiated = observed["negotiated"]
    negotiated_text = negotiated and ", ".join(
        filter(None, (negotiated["version"], negotiated["suite"], negotiated["group"]))
    )
    stapled = observed["ocsp_stapled"]
    values: tuple[tuple[str, str, str | None], ...] = (
        ("negotiated", "Negotiated", negotiated_text),
        ("client_certificate", "Client certificate", observed["client_certificate"]),
        ("alpn", "ALPN", observed["alpn"] if observed["alpn"] or "alpn" in reasons else "none selected"),
        ("ocsp_stapled", "OCSP staple", None if stapled is None else "yes" if stapled else "no"),
    )
    told = [
        FactView(name=name, value=value) if value else FactView(name=name, unknown=reasons.get(key, "not tested"))
        for key, name, value in values
    ]
    return [
        FactView(name="Reach", value=row["reach"] + (f": {row['detail']}" if row["detail"] else "")),
        FactView(name="Dialled", value=f"{row['address']} port {row['port']}, {row['transport']}"),
        FactView(name="Server name sent", value=row["server_name"] or "none"),
        *told,
        FactView(name="Binding", value=row["binding"]),
        *(FactView(name=key.capitalize(), value=value) for key, value in _optional(row)),
        FactView(name="Found by", value=", ".join(row["origins"]))
        if row["origins"]
        else FactView(name="Found by", value="–"),
        FactView(name="Cost", value=f"{observed['connections']} connections"),
    ]


def _optional(row: EndpointRow) -> list[tuple[str, str]]:
    """What only some endpoints have: those of a cluster, of a node, behind a gateway."""
    listed = row["standing"] == "listed"
    named = {name: owner_name(one) if one else "" for name, one in (("subject", row["subject"]), ("pod", row["pod"]))}
    pairs = (
        ("component", row["component"]),
        ("standing", "" if listed else row["standing"]),
        ("certainty", "" if row["certainty"] == "declared" else row["certainty"]),
        ("segment", row["segment"]),
        ("subject", named["subject"]),
        ("node", row["node"]),
        ("pod", named["pod"]),
        ("may belong to", ", ".join(map(owner_name, row["candidates"]))),
        ("also reached by", ", ".join(row["aliases"])),
        ("sampled", "one of several listeners behind this address answered" if row["sampled"] else ""),
        ("closed by", ", ".join(f"NetworkPolicy {name}" for name in row["blocked_by"])),
    )
    return [(key, value) for key, value in pairs if value]


if TYPE_CHECKING:
    from jinja2 import Environment
