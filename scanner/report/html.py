"""HTML: one file that needs no network, with the sums first and the evidence of each endpoint.

Its Content-Security-Policy allows our script and our style sheet by hash, and nothing else: text that was not escaped
could neither run nor connect anywhere.
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
"""Rows that a browser can show; the page has the worst and says how many are left out."""
MOST_COMPONENTS = 500
"""Lines of the component table; users may have any number of namespaces."""
MOST_FINDINGS = 500
"""Cluster-wide findings, without those in the table of certificates."""
_SECONDS = re.compile(r"(?<=T\d\d:\d\d:\d\d)(?:\.\d+)?\+00:00$")
"""End of a timestamp, behind its seconds."""
DETAIL_FOR_ALL = 500
"""Endpoints of a report from which only failed and inconclusive ones have their evidence on the page."""


def write(report: Report, out: TextIO) -> None:
    """Write the page, row by row."""
    from markupsafe import Markup  # noqa: PLC0415 - jinja2 is slow to import

    environment = _environment()
    rows = report.summary.components.rows()
    common = _common(rows)
    discovery = report.coverage.get("discovery")
    certificates = report.certificates and certificates_view(report.certificates, report.finished)
    shown = certificates.shown if certificates else frozenset()
    others = [one for one in report.findings if headline.same(one) not in shown]
    objects = nsmallest(MOST_FINDINGS, others, key=headline.importance)
    style, script = _source("report.css"), _source("report.js")
    page = environment.get_template("report.html.j2").generate(
        report=report,
        views=_views(report),
        clusters=list(_clusters(report.cluster)),
        components=[_component(row, common) for row in rows[:MOST_COMPONENTS]],
        components_left_out=max(len(rows) - MOST_COMPONENTS, 0),
        common=common,
        legend=headline.legend(rows),
        certificates=certificates,
        chart_base=BASE,
        objects=objects,
        objects_left_out=len(others) - len(objects),
        outcomes=report.summary.outcomes,
        binding=report.summary.outcomes["fail"],
        discovery=discovery,
        unread=missing(discovery) if discovery else [],
        unseen=len(unseen(report.coverage)),
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

    environment = Environment(
        loader=FunctionLoader(_source),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    own = (pieces, headline.details, headline.label, headline.status_words)
    environment.globals |= {each.__name__: each for each in own}
    return environment


def pieces(text: str) -> list[str]:
    """Cut ``text`` where a line may break: after ``/``, ``:`` and ``#``."""
    return re.findall(r"[^/:#]*[/:#]+|[^/:#]+\Z", text)


def _finalize(value: object) -> object:
    """Make control characters visible in the result of every expression of the templates."""
    return visible(value) if type(value) is str else value


def _source(name: str) -> str:
    return data("templates").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Hash for ``script-src`` and ``style-src`` (Content Security Policy 3, 2.3.1)."""
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


def _views(report: Report) -> Iterator[RowView]:
    """Yield the worst rows first: one pass for each verdict that occurs, until the page is full."""
    detail_for_all = report.summary.endpoints <= DETAIL_FOR_ALL
    number = 0
    for verdict in VERDICTS:
        for row in report.rows() if report.summary.verdicts[verdict] else ():
            if row["verdict"] != verdict:
                continue
            if number == MOST_ROWS:
                return
            number += 1
            yield view(row, number, detailed=detail_for_all or verdict in {"fail", "inconclusive"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentView:
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


_MOST_SUITES = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionView:
    """A version above the matrix of suites."""

    name: str
    short: str
    state: Literal["accepted", "refused", "unknown"]
    offending: bool
    note: str
    """Reason why it is unknown or not enumerated, or the side whose order of suites is used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteView:
    """A line of the matrix: a suite, and for each accepted version whether it was accepted."""

    name: str
    accepted: tuple[bool, ...]
    offending: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FactView:
    """A line of the list of facts. ``unknown``: the reason if there is no value."""

    name: str
    value: str = ""
    unknown: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupKeys:
    """Keys for groups and filters; empty for a target of a list."""

    component: str = ""
    namespace: str = ""
    owner: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowView:
    """One row, for the templates."""

    row: EndpointRow
    number: int
    detailed: bool
    """True if the page has the evidence."""
    outcome: str
    """One of ``OUTCOMES``."""
    place: str
    owner: str
    group: GroupKeys
    speaks: str
    reason: str
    severity: str
    """Severity of the worst failing finding, or empty."""
    order: int
    """Sort key of the column of verdicts: outcome, then severity."""
    leaf: CertificateRow | None
    rules: str
    """Rules that failed or were inconclusive, separated by spaces."""
    open: list[FindingRow]
    """Failed or inconclusive findings, the worst first."""
    settled: list[FindingRow]
    """The other findings."""
    versions: list[VersionView]
    spoken: list[VersionView]
    suites: list[SuiteView]
    suites_left_out: int
    groups: list[tuple[str, bool]]
    """Name, and whether the profile forbids it."""
    facts: list[FactView]


def view(row: EndpointRow, number: int, *, detailed: bool) -> RowView:
    """Return the view of a row. ``number``: its anchor on the page."""
    failed = [one for one in row["findings"] if one["verdict"] == "fail"]
    offending = {item.split(" ", 1)[0] for one in failed for item in one["observed"]}
    severity = min(failed, key=headline.rank)["severity"] if failed else ""
    versions, suites, outcome = _versions(row, offending), _suites(row, offending), headline.outcome(row)
    unsettled = sorted(
        (one for one in row["findings"] if headline.open_question(one)),
        key=lambda one: (one["verdict"] != "fail", headline.rank(one)),
    )
    return RowView(
        row=row,
        number=number,
        detailed=detailed,
        outcome=outcome,
        place=headline.place(row),
        owner=_owner(row),
        group=_group(row),
        speaks=headline.speaks(row),
        reason=headline.reason(row),
        severity=severity,
        order=OUTCOMES.index(outcome) * 10 + len(SEVERITIES) - 1 - headline.severity_rank(severity),
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
    """Return the owner, or "" if the id has it: a target of a list is its own owner."""
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


def _versions(row: EndpointRow, offending: set[str]) -> list[VersionView]:
    views = []
    for name, answer in (row["observed"]["versions"] or {}).items():
        state: Literal["accepted", "refused", "unknown"]
        state = "unknown" if answer is None else "refused" if answer["suites"] == [] else "accepted"
        notes = [row["reasons"].get(f"versions.{name}", "") if state == "unknown" else ""]
        if answer is not None and state == "accepted":
            notes.append(f"{answer['preference']} order" if answer["preference"] else "")
            notes.append("" if answer["enumerated"] else "not every suite was tested")
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
    """Return each accepted suite once, those of the newest version first."""
    versions = row["observed"]["versions"] or {}
    accepted = [versions[name] for name in headline.spoken(row)]
    by_version = [answer["suites"] or [] if answer is not None else [] for answer in accepted]
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
    seen = [
        FactView(name=name, value=value) if value else FactView(name=name, unknown=reasons.get(key, "not tested"))
        for key, name, value in values
    ]
    return [
        FactView(name="Reach", value=row["reach"] + (f": {row['detail']}" if row["detail"] else "")),
        FactView(name="Dialled", value=f"{row['address']} port {row['port']}, {row['transport']}"),
        FactView(name="Server name sent", value=row["server_name"] or "none"),
        *seen,
        FactView(name="Enforcement", value=headline.BINDINGS.get(row["binding"], row["binding"])),
        *(FactView(name=key.capitalize(), value=value) for key, value in _optional(row)),
        FactView(name="Found by", value=", ".join(row["origins"]) or "–"),
        FactView(name="Cost", value=f"{observed['connections']} connections"),
    ]


def _optional(row: EndpointRow) -> list[tuple[str, str]]:
    """Return the facts that only some endpoints have."""
    listed = row["standing"] == "listed"
    named = {name: owner_name(one) if one else "" for name, one in (("subject", row["subject"]), ("pod", row["pod"]))}
    pairs = (
        ("component", row["component"]),
        ("workload", "" if listed else headline.STANDINGS.get(row["standing"], "")),
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
