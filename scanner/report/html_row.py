"""What the HTML page shows of one row, worked out here so that the templates only place it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from scanner.model.component_tally import called
from scanner.model.finding import OUTCOMES, SEVERITIES, Outcome
from scanner.model.report import CertificateRow, EndpointRow, FindingRow
from scanner.report import headline
from scanner.report.grouping import owner_name

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
