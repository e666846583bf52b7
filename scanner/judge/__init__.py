"""Judge endpoints: compare the expectation with the observation and return findings. No I/O, no clock.

``RULES`` lists every rule; ``judge`` applies them to one ``Case``. ``verdicts`` ensures that unknown is never a pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from scanner.judge import transition
from scanner.judge.certificates import CA_AS_LEAF, EXPIRED, EXPIRING, KEY_SIZE, NAME, NOT_YET_VALID, SIGNATURE
from scanner.judge.chain import CHAIN, CLIENTS
from scanner.judge.client_certificate import CLIENT_CERTIFICATE, UNTRUSTED_CLIENT
from scanner.judge.connection_coalescing import COALESCING
from scanner.judge.custom_profiles import OBJECT_RULES, OVERRIDE
from scanner.judge.declared_certificate import DECLARED_CERTIFICATE, DECLARED_CHAIN, MISSING_GRANT
from scanner.judge.gateway_backends import BACKEND_IDENTITY, FAIL_OPEN
from scanner.judge.http_redirect import CLEARTEXT, HTTP_REDIRECT
from scanner.judge.misdirected_request import MISDIRECTED_REQUEST
from scanner.judge.passthrough import PASSTHROUGH
from scanner.judge.reach import REACH, unfinished
from scanner.judge.replicas import REPLICAS
from scanner.judge.require import REQUIRE_RULES
from scanner.judge.sslyze_result import DEEP_RULES
from scanner.judge.tls_parameters import GROUP, PQ_READINESS, SUITE, VERSION
from scanner.judge.unmatched_sni import REJECTED_NAME, SUBDOMAIN, UNMATCHED_SNI
from scanner.judge.waivers import WAIVER_RULES
from scanner.kube.maybe import Unknown
from scanner.model.finding import SEVERITIES, Finding, Status, Verdict
from scanner.model.observation import JUDGEABLE
from scanner.model.report import NEVER_FAILS
from scanner.model.rule import Case, Rule, ScanRule
from scanner.values import replace

__all__ = ["CROSS_ENDPOINT_RULES", "RULES", "SCAN_RULES", "WAIVABLE", "Judgement", "judge", "judgement", "rule"]

RULES: tuple[Rule, ...] = (
    REACH,
    VERSION,
    SUITE,
    GROUP,
    PQ_READINESS,
    CLIENT_CERTIFICATE,
    UNTRUSTED_CLIENT,
    UNMATCHED_SNI,
    SUBDOMAIN,
    CLEARTEXT,
    HTTP_REDIRECT,
    MISDIRECTED_REQUEST,
    EXPIRED,
    NOT_YET_VALID,
    EXPIRING,
    NAME,
    KEY_SIZE,
    SIGNATURE,
    CA_AS_LEAF,
    CHAIN,
    CLIENTS,
    DECLARED_CERTIFICATE,
    DECLARED_CHAIN,
    MISSING_GRANT,
    REJECTED_NAME,
    BACKEND_IDENTITY,
    FAIL_OPEN,
    OVERRIDE,
)
"""Rules on one endpoint, in the order of its findings."""

CROSS_ENDPOINT_RULES: tuple[ScanRule, ...] = (REPLICAS, PASSTHROUGH, COALESCING)
"""Rules across endpoints, in the order of a report's findings."""

SCAN_RULES: tuple[ScanRule, ...] = (*CROSS_ENDPOINT_RULES, *OBJECT_RULES, *REQUIRE_RULES, *WAIVER_RULES)
"""Rules without an endpoint, in the order of ``adhere rules``."""

WAIVABLE: tuple[str, ...] = tuple(each.id for each in (*RULES, *DEEP_RULES, *CROSS_ENDPOINT_RULES))
"""Ids of the rules that a waiver may name. Requirements of the policy (``require``) are waived by removing them."""


class Judgement(Struct, frozen=True, kw_only=True):
    """The result of all rules for one endpoint."""

    verdict: Verdict
    status: Status
    findings: tuple[Finding, ...]


def rule(rule_id: str) -> Rule:
    """The rule with this id. Raises ``KeyError``."""
    return {each.id: each for each in RULES}[rule_id]


def judge(case: Case) -> Judgement:
    """Apply every rule to ``case``."""
    return judgement(unfinished(_findings(case), case))


def judgement(findings: Iterable[Finding]) -> Judgement:
    """The judgement that follows from ``findings``, for callers that add or change findings of ``judge``."""
    every = tuple(findings)
    verdict = _verdict(every)
    return Judgement(verdict=verdict, status=_status(verdict, every), findings=every)


def _findings(case: Case) -> Iterator[Finding]:
    """Findings of every rule. Without TLS only ``REACH`` counts, except for a violation seen before the abort, also if
    a rollout or an upgrade explains it."""
    applied = check if case.observation.reach in JUDGEABLE else _violations
    changing = transition.applies(case)  # nearly never
    for each in RULES:
        yield from transition.findings(each, case, applied) if changing else applied(each, case)


def _violations(rule: Rule, case: Case) -> Iterable[Finding]:
    return [finding for finding in check(rule, case) if rule is REACH or finding.verdict == "fail"]


def check(rule: Rule, case: Case) -> Iterable[Finding]:
    """Apply one rule. A rule on certificates is applied to every served chain, and the worst result counts."""
    findings = list(rule.check(rule, case))
    if not rule.id.startswith("cert-"):
        return findings
    for chain in case.observation.other_chains:
        other = replace(case, observation=replace(case.observation, chain=chain))
        unseen = isinstance(case.observation.chain, Unknown)
        where = "in one of the served chains" if unseen else "in another chain that the listener also serves"
        found = list(rule.check(rule, other))
        both = [_worse(*pair, where) for pair in zip(findings, found, strict=False)]
        findings = [*both, *findings[len(found) :], *found[len(findings) :]]  # one may be of no chain
    return findings


def _worse(first: Finding, other: Finding, where: str) -> Finding:
    """The worse of two findings; two failures become one that lists both. ``where`` describes the other's chain."""
    if first.verdict == other.verdict == "fail":
        if SEVERITIES.index(other.severity) > SEVERITIES.index(first.severity):
            first, other = other, first
        return replace(first, observed=tuple(dict.fromkeys((*first.observed, *other.observed))))
    if _BY_WEIGHT.index(other.verdict) < _BY_WEIGHT.index(first.verdict):
        return replace(other, evidence=(*other.evidence, where))
    return first


def _verdict(findings: Iterable[Finding]) -> Verdict:
    """Fail if any finding fails, else inconclusive if any is inconclusive, else pass.

    Findings of severity info never make an endpoint inconclusive: no answer to them could fail.
    """
    verdicts = {f.verdict for f in findings if f.verdict != "inconclusive" or f.severity != "info"}
    for verdict in _BY_WEIGHT:
        if verdict in verdicts:
            return verdict
    return "inconclusive"


_BY_WEIGHT: tuple[Verdict, ...] = ("fail", "inconclusive", "pass", "not_applicable")


def _status(verdict: Verdict, findings: Iterable[Finding]) -> Status:
    """The status of the worst finding with this verdict; findings that count for the exit code go first."""
    if verdict == "pass":
        return "ok"
    deciding = [f for f in findings if f.verdict == verdict]
    worst = max(deciding, key=lambda f: (f.status not in NEVER_FAILS, SEVERITIES.index(f.severity)), default=None)
    return worst.status if worst else "not-tested"
