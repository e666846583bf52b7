"""Judging: what an endpoint owes and what it did, as findings. Pure; nothing is dialled and no clock is read.

``RULES`` lists every rule; ``judge`` applies them to one ``Case``. The logic that turns "not known" into "not a pass"
is in ``verdicts``, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from scanner.judge import transition
from scanner.judge.certificates import CA_AS_LEAF, EXPIRED, EXPIRING, KEY_SIZE, NAME, NOT_YET_VALID, SIGNATURE
from scanner.judge.chain import CHAIN
from scanner.judge.client_certificate import CLIENT_CERTIFICATE, UNTRUSTED_CLIENT
from scanner.judge.client_trust import CALLERS
from scanner.judge.custom_profiles import OVERRIDE
from scanner.judge.declared_certificate import STORED, STORED_CHAIN, UNGRANTED
from scanner.judge.groups import GROUP, PQ_READINESS
from scanner.judge.http_redirect import CLEARTEXT, FROM_PLAINTEXT
from scanner.judge.misdirected_request import MISDIRECTED
from scanner.judge.reach import REACH, unfinished
from scanner.judge.rejected_listener import WITHHELD
from scanner.judge.suites import SUITE
from scanner.judge.unmatched_sni import OTHER_NAMES, SUBDOMAIN
from scanner.judge.upstreams import BACKEND_IDENTITY, FAIL_OPEN
from scanner.judge.versions import VERSION
from scanner.kube.maybe import Unknown
from scanner.model.finding import SEVERITIES, Finding, Status, Verdict
from scanner.model.observation import JUDGEABLE
from scanner.model.report import NEVER_FAILS
from scanner.model.rule import Case, Rule

__all__ = ["RULES", "Judgement", "judge", "judgement", "rule"]

RULES: tuple[Rule, ...] = (
    REACH,
    VERSION,
    SUITE,
    GROUP,
    PQ_READINESS,
    CLIENT_CERTIFICATE,
    UNTRUSTED_CLIENT,
    OTHER_NAMES,
    SUBDOMAIN,
    CLEARTEXT,
    FROM_PLAINTEXT,
    MISDIRECTED,
    EXPIRED,
    NOT_YET_VALID,
    EXPIRING,
    NAME,
    KEY_SIZE,
    SIGNATURE,
    CA_AS_LEAF,
    CHAIN,
    CALLERS,
    STORED,
    STORED_CHAIN,
    UNGRANTED,
    WITHHELD,
    BACKEND_IDENTITY,
    FAIL_OPEN,
    OVERRIDE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What all rules together say of one endpoint."""

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
    """What these findings amount to; for more of them, or others, than ``judge`` found by itself."""
    every = tuple(findings)
    verdict = _verdict(every)
    return Judgement(verdict=verdict, status=_status(verdict, every), findings=every)


def _findings(case: Case) -> Iterator[Finding]:
    """Without a conversation only ``REACH`` has something to say, except for a violation seen before it broke off."""
    judgeable = case.observation.reach in JUDGEABLE
    for each in RULES:
        for finding in transition.findings(each, case, check):
            if judgeable or each is REACH or finding.verdict == "fail":
                yield finding


def check(rule: Rule, case: Case) -> Iterable[Finding]:
    """What one rule says, of every chain that was served if it is about certificates: the worst of them counts."""
    findings = list(rule.check(rule, case))
    if not rule.id.startswith("cert-"):
        return findings
    for chain in case.observation.other_chains:
        other = replace(case, observation=replace(case.observation, chain=chain))
        unseen = isinstance(case.observation.chain, Unknown)
        where = "in one of the chains that were seen" if unseen else "in a chain that is served beside the one shown"
        findings = [_worse(*pair, where) for pair in zip(findings, rule.check(rule, other), strict=True)]
    return findings


def _worse(first: Finding, other: Finding, where: str) -> Finding:
    """The finding that weighs more; two failures become one with what both have seen. ``where`` the other one is."""
    if first.verdict == other.verdict == "fail":
        if SEVERITIES.index(other.severity) > SEVERITIES.index(first.severity):
            first, other = other, first
        return replace(first, observed=tuple(dict.fromkeys((*first.observed, *other.observed))))
    if _BY_WEIGHT.index(other.verdict) < _BY_WEIGHT.index(first.verdict):
        return replace(other, evidence=(*other.evidence, where))
    return first


def _verdict(findings: Iterable[Finding]) -> Verdict:
    """Fail by any failure, else inconclusive by anything that matters and is not known, else pass.

    What is merely informational (severity info) never makes an endpoint inconclusive: no answer to it could fail.
    """
    verdicts = {f.verdict for f in findings if f.verdict != "inconclusive" or f.severity != "info"}
    for verdict in _BY_WEIGHT:
        if verdict in verdicts:
            return verdict
    return "inconclusive"


_BY_WEIGHT: tuple[Verdict, ...] = ("fail", "inconclusive", "pass", "not_applicable")


def _status(verdict: Verdict, findings: Iterable[Finding]) -> Status:
    """Of the worst finding that the verdict comes from; one that counts goes before one that does not."""
    if verdict == "pass":
        return "ok"
    deciding = [f for f in findings if f.verdict == verdict]
    worst = max(deciding, key=lambda f: (f.status not in NEVER_FAILS, SEVERITIES.index(f.severity)), default=None)
    return worst.status if worst else "not-tested"
