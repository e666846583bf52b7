"""Convert model values to rows, the public form of a result. Unknown becomes null; ``reasons`` has the reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, TypedDict, TypeVar, cast

from scanner.kube.maybe import Known, Unknown
from scanner.kube.objects import Reference
from scanner.model.controls import controls_of_rules
from scanner.model.endpoint import Endpoint, Origin, Owner, Role
from scanner.model.expectation import Expectation
from scanner.model.finding import Finding, Status, Verdict, outcome
from scanner.model.observation import Answers, Negotiated, Observation
from scanner.model.report import (
    CertificateRow,
    EndpointRow,
    ExpectedRow,
    FindingRow,
    NegotiatedRow,
    ObservedRow,
    OwnerRow,
    RuleRow,
    VersionRow,
)
from scanner.model.rule import AnyRule
from scanner.model.scan_policy import CustomRule
from scanner.tls.certificate import CertificateFacts
from scanner.tls.names import group_name, suite_name, version_name
from scanner.values import replace

_LONGEST_ORIGIN: Final = 300
_MOST_ORIGINS: Final = 20
"""Origins that a row lists; all of them decide."""
_OBJECT: Final = "{object} {container} "
_FORMS: Final[Mapping[Role, str]] = {
    "frontend": _OBJECT + "{part}",
    "backend": _OBJECT + "{part} backend",
    "listener": _OBJECT + "listener {part} {through}",
    "fallback": _OBJECT + "fallback",
    "policy": _OBJECT,
    "webhook": _OBJECT + "webhook {part}",
    "conversion": _OBJECT + "conversion",
    "aggregation": _OBJECT,
    "port": _OBJECT + "port {part}",
    "probe": _OBJECT + "{part}",
    "flag": _OBJECT + "--{part}",
    "mount": _OBJECT + "mounts {through} {part}",
    "service-ca": _OBJECT + "service-ca annotation",
    "prober": _OBJECT + "prober",
    "target": _OBJECT + "target {part}",
    "ingress": _OBJECT + "of {through}",
    "kubelet": _OBJECT + "kubeletEndpoint",
    "well-known": _OBJECT + "well-known {part}",
    "api-server": "the API server, by {object} {part}",
    "catalogue": "catalogue: {part}",
    "user": "{part}",
    "socket": "{part}",
}


def origin_text(origin: Origin) -> str:
    """Return an origin in one line."""
    text = _FORMS[origin.role].format(
        object=origin.reference or "",
        container=f"container {origin.container}" if origin.container else "",
        part=origin.part,
        through=origin.through or "",
    )
    return " ".join((*(["of another namespace:"] if origin.foreign else []), *text.split()))[:_LONGEST_ORIGIN]


def origin_texts(origins: tuple[Origin, ...]) -> list[str]:
    """Return the first origins, and the number of the others."""
    shown = [origin_text(each) for each in origins[:_MOST_ORIGINS]]
    more = len(origins) - len(shown)
    return [*shown, f"and {more} more"] if more else shown


T = TypeVar("T")

MOST = 50
"""Aliases and candidates that a row lists; a tenant may name a pod in any number of Services."""

VERSIONS: tuple[int, ...] = (0x0002, 0x0300, 0x0301, 0x0302, 0x0303, 0x0304)
"""All versions of a row, SSLv2 to TLS 1.3: the keys of ``observed.versions``, in this order."""


def endpoint_row(
    endpoint: Endpoint,
    expectation: Expectation,
    observation: Observation,
    verdict: Verdict,
    status: Status,
    findings: Iterable[Finding],
    *,
    blocked_by: Iterable[Reference] = (),
) -> EndpointRow:
    """Return the row of an endpoint. ``blocked_by``: NetworkPolicies that explain why it did not answer.

    Keys of ``reasons`` are paths: ``chain`` and ``versions.TLSv1.2.preference`` below ``observed``,
    ``expected.profile`` otherwise.
    """
    reasons: dict[str, str] = {}
    return EndpointRow(
        id=endpoint.id,
        instance=endpoint.instance,
        owner=_object(endpoint.owner),
        component=expectation.component or endpoint.component,
        segment=endpoint.segment,
        origins=origin_texts(endpoint.origins),
        binding=expectation.binding,
        address=endpoint.address,
        port=endpoint.port,
        server_name=endpoint.server_name,
        transport=endpoint.transport,
        verdict=verdict,
        status=status,
        outcome=outcome(verdict, status),
        reach=observation.reach.value,
        detail=_detail(observation),
        expected=_expected(expectation, reasons),
        observed=_observed(observation, reasons),
        reasons=reasons,
        findings=[finding_row(_where_to_run(endpoint, finding)) for finding in findings],
        standing=expectation.standing,
        certainty=endpoint.certainty,
        subject=None if endpoint.subject is None else _object(endpoint.subject),
        node=endpoint.node,
        pod=None if endpoint.pod is None else _object(endpoint.pod),
        candidates=[_object(each) for each in endpoint.candidates[:MOST]],
        aliases=list(endpoint.aliases[:MOST]),
        sampled=endpoint.sampled,
        blocked_by=["/".join(filter(None, (each.namespace, each.name))) for each in blocked_by],
    )


def _where_to_run(endpoint: Endpoint, finding: Finding) -> Finding:
    """Add to the command that reproduces the finding the network that it needs, as a comment of the shell."""
    if endpoint.network is None or finding.reproduce is None:
        return finding
    return replace(finding, reproduce=f"{finding.reproduce}  # in the network of {endpoint.network}")


def _object(named: Owner | Reference) -> OwnerRow:
    return OwnerRow(kind=named.kind, namespace=named.namespace, name=named.name)


def finding_row(finding: Finding) -> FindingRow:
    """Return the row of a finding."""
    return FindingRow(
        rule=finding.rule,
        severity=finding.severity,
        verdict=finding.verdict,
        status=finding.status,
        message=finding.message,
        expected=list(finding.expected),
        observed=list(finding.observed),
        fix=finding.fix,
        reproduce=finding.reproduce,
        evidence=list(finding.evidence),
        second_opinion=finding.second_opinion,
        waiver=finding.waiver,
        about=finding.about,
    )


def finding_of(row: FindingRow) -> Finding:
    """Return the finding of a row of this scan."""
    lists = {key: tuple(row[key]) for key in ("expected", "observed", "evidence")}
    return Finding(**cast("dict[str, Any]", {**row, **lists}))


def rule_row(rule: AnyRule | CustomRule) -> RuleRow:
    """Return the row of a rule, with its page in Markdown."""
    row = RuleRow(
        id=rule.id, title=rule.title, severity=rule.severity, page=rule.page, references=list(rule.references)
    )
    if named := controls_of_rules().get(rule.id):
        row["controls"] = list(named)
    return row


def timestamp(moment: datetime) -> str:
    """Format a time as RFC 3339 in UTC, in seconds."""
    return moment.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat() + "Z"


def _detail(observation: Observation) -> str:
    """Return the evidence of ``reach``, else the protocol."""
    return observation.detail or observation.protocol or ""


def _expected(expectation: Expectation, reasons: dict[str, str]) -> ExpectedRow:
    said = _Said(
        because=[str(step) for step in expectation.because],
        alternatives=[each.name for each in expectation.alternatives],
        remarks=list(expectation.remarks),
        adherence=expectation.adherence,
    )
    profile = expectation.profile
    if isinstance(profile, Unknown):
        reasons["expected.profile"] = profile.reason
        return ExpectedRow(profile=None, min_version=None, suites=[], groups=None, **said)
    if profile.groups is None:
        reasons["expected.groups"] = "the profile has no opinion on groups"
    return ExpectedRow(
        profile=profile.name,
        min_version=version_name(profile.min_version),
        suites=[suite_name(code) for code in profile.suites],
        groups=None if profile.groups is None else [group_name(code) for code in profile.groups],
        **said,
    )


class _Said(TypedDict):
    because: list[str]
    alternatives: list[str]
    remarks: list[str]
    adherence: str | None


def _observed(observation: Observation, reasons: dict[str, str]) -> ObservedRow:
    negotiated = _known("negotiated", observation.negotiated, reasons)
    chain = _known("chain", observation.chain, reasons)
    return ObservedRow(
        versions=_versions(observation, reasons),
        groups=_groups(observation, reasons),
        client_certificate=_known("client_certificate", observation.client_certificate, reasons),
        alpn=_known("alpn", observation.alpn, reasons),
        ocsp_stapled=_known("ocsp_stapled", observation.ocsp_stapled, reasons),
        negotiated=None if negotiated is None else _negotiated(negotiated),
        chain=None if chain is None else [certificate_row(certificate) for certificate in chain],
        connections=observation.connections,
        attempts=[f"{one.offer}: {one.reply} ({one.seconds * 1000:.0f} ms)" for one in observation.attempts],
    )


def _negotiated(ended: Negotiated) -> NegotiatedRow:
    group = None if ended.group is None else group_name(ended.group)
    return NegotiatedRow(version=version_name(ended.version), suite=suite_name(ended.suite), group=group)


def _known(key: str, value: Known[T], reasons: dict[str, str]) -> T | None:
    if isinstance(value, Unknown):
        reasons[key] = value.reason
        return None
    return value


def _versions(observation: Observation, reasons: dict[str, str]) -> dict[str, VersionRow | None] | None:
    """Return all versions if one was tested. A key of ``suites`` is an accepted version."""
    answers = observation.versions
    if not (answers.accepted or answers.refused or observation.suites):
        reasons["versions"] = answers.unasked or "no version was asked"
        return None
    rows: dict[str, VersionRow | None] = {}
    for version in VERSIONS:
        name, state = version_name(version), answers.state(version)
        if state == "accepted" or (state == "unknown" and version in observation.suites):
            rows[name] = _spoken(name, version, observation, reasons)
        elif state == "refused":
            rows[name] = VersionRow(suites=[], refused=[], enumerated=True, preference=None, groups=None)
            reasons[f"versions.{name}"] = "the version is refused"
        else:
            rows[name] = None
            reasons[f"versions.{name}"] = answers.unasked or "no answer allows a conclusion"
    return rows


def _spoken(name: str, version: int, observation: Observation, reasons: dict[str, str]) -> VersionRow:
    key = f"versions.{name}"
    suites = observation.suites.get(version, Answers(unasked="only the version was tested, not its suites"))
    if suites.unasked is not None:
        reasons[f"{key}.suites"] = suites.unasked
    unknown = Unknown("not tested")
    groups = observation.groups.get(version)
    return VersionRow(
        suites=None if suites.unasked and not suites.accepted else [suite_name(code) for code in suites.accepted],
        refused=list(_suite_names(suites.refused)),
        enumerated=suites.unasked is None,
        preference=_known(f"{key}.preference", observation.preference.get(version, unknown), reasons),
        groups=_group_names(f"{key}.groups", groups, reasons),
    )


@lru_cache(maxsize=64)
def _suite_names(codes: frozenset[int]) -> tuple[str, ...]:
    """Return names by code point. Most listeners of a scan refuse the same few hundred suites."""
    return tuple(suite_name(code) for code in sorted(codes))


def _group_names(key: str, answers: Answers | None, reasons: dict[str, str]) -> list[str] | None:
    if answers is None or (answers.unasked and not answers.accepted):
        reasons[key] = (answers and answers.unasked) or "not tested"
        return None
    if answers.unasked:
        reasons[key] = answers.unasked
    return [group_name(code) for code in answers.accepted]


def _groups(observation: Observation, reasons: dict[str, str]) -> list[str] | None:
    """Return the groups that any version accepted, those of the newest version first."""
    newest_first = [observation.groups[version] for version in sorted(observation.groups, reverse=True)]
    told = [answers for answers in newest_first if answers.accepted or not answers.unasked]
    unasked = next((answers.unasked for answers in newest_first if answers.unasked), None)
    if not told or unasked:
        reasons["groups"] = unasked or "not tested"
    if not told:
        return None
    return list(dict.fromkeys(group_name(code) for answers in told for code in answers.accepted))


def certificate_row(facts: CertificateFacts) -> CertificateRow:
    """Return the row of a certificate; unreadable fields are null and named in ``unreadable``."""
    return CertificateRow(
        subject=facts.subject,
        issuer=facts.issuer,
        sans=None if facts.sans is None else list(facts.sans),
        not_before=None if facts.not_before is None else timestamp(facts.not_before),
        not_after=None if facts.not_after is None else timestamp(facts.not_after),
        key={"algorithm": facts.key_algorithm, "size": facts.key_size, "curve": facts.curve},
        signature=facts.signature,
        sha256=facts.sha256,
        unreadable=dict(facts.unreadable),
    )
