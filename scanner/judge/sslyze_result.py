"""Apply sslyze's results (``--confirm``, ``--deep``): what to scan, how it changes a finding, and vulnerability rules.

A violation that sslyze could have confirmed and did not becomes inconclusive, never a pass: adhere saw the listener
accept something. The finding contains the evidence of both scanners.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Struct

from scanner.judge.reach import unfinished
from scanner.judge.tls_parameters import TLS13_ALWAYS
from scanner.judge.verdicts import Tally, Words, conclude, forbidden, listed
from scanner.kube.maybe import Known, Unknown
from scanner.model.finding import Finding, SecondOpinion, Severity
from scanner.model.observation import JUDGEABLE, Answers, Flaw, Inquiry, Opinion
from scanner.model.report import NEVER_FAILS
from scanner.model.rule import Case, Rule
from scanner.tls import names
from scanner.tls.codepoints import SSL2
from scanner.values import replace


def vulnerability_findings(case: Case) -> tuple[Finding, ...]:
    """The findings of ``DEEP_RULES`` with ``--deep``; none if the endpoint did not speak TLS.

    Without a result of sslyze (deadline, signal) each is inconclusive.
    """
    if case.observation.reach not in JUDGEABLE:
        return ()
    return tuple(finding for rule in DEEP_RULES for finding in rule.check(rule, case))


def check_heartbleed(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener answers a heartbeat with no more bytes than were sent."""
    yield _judged(
        rule,
        case,
        {"heartbleed": "memory content in a heartbeat response"},
        "update the TLS library and replace the key",
    )


def check_robot(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener is no oracle for RSA decryption."""
    yield _judged(rule, case, {"robot": "an oracle for RSA decryption"}, "disable suites with RSA key exchange")


def check_ccs_injection(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener refuses a ChangeCipherSpec that comes too early."""
    yield _judged(rule, case, {"ccs-injection": "an early ChangeCipherSpec is accepted"}, "update the TLS library")


def check_renegotiation(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener supports secure renegotiation only, and limits renegotiation by clients."""
    flaws: Mapping[Flaw, str] = {
        "insecure-renegotiation": "no secure renegotiation (RFC 5746)",
        "client-renegotiation": "a client can renegotiate without limit",
    }
    secure = case.opinion is not None and case.opinion.flaws.get("insecure-renegotiation") is False
    yield _judged(rule, case, flaws, "disable renegotiation", severity="low" if secure else None)


def check_compression(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener does not use TLS compression."""
    yield _judged(rule, case, {"compression": "TLS compression"}, "disable TLS compression")


def check_fallback_scsv(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener rejects a client that was forced to fall back to an older version."""
    fix = "disable the old versions"
    yield _judged(rule, case, {"no-fallback-scsv": "a fallback to an older version is accepted"}, fix)


def _judged(
    rule: Rule, case: Case, flaws: Mapping[Flaw, str], fix: str, *, severity: Severity | None = None
) -> Finding:
    """One finding for one or more flaws, each with its description."""
    scanner = case.opinion.witness if case.opinion is not None else "sslyze"
    results = {flaw: _result(case, flaw) for flaw in flaws}
    seen = tuple(words for flaw, words in flaws.items() if results[flaw] is True)
    return conclude(
        rule,
        case,
        Tally(
            seen=seen,
            unknown=tuple(each.reason for each in results.values() if isinstance(each, Unknown)),
        ),
        Words(
            passed=f"not vulnerable, according to {scanner}",
            failed=f"vulnerable, according to {scanner}: {', '.join(seen)}",
            unclear="whether it is vulnerable could not be determined",
        ),
        severity=severity,
        fix=fix,
        evidence=(f"tested by {scanner}",),
    )


def _result(case: Case, flaw: Flaw) -> Known[bool]:
    if case.opinion is None:
        return Unknown("sslyze did not finish before the deadline")
    return case.opinion.flaws.get(flaw, Unknown(case.opinion.failure or "not tested"))


DEEP_RULES: tuple[Rule, ...] = (
    Rule(
        id="vuln-heartbleed",
        check=check_heartbleed,
    ),
    Rule(
        id="vuln-robot",
        check=check_robot,
    ),
    Rule(
        id="vuln-ccs-injection",
        check=check_ccs_injection,
    ),
    Rule(
        id="vuln-renegotiation",
        check=check_renegotiation,
    ),
    Rule(
        id="vuln-compression",
        check=check_compression,
    ),
    Rule(
        id="vuln-fallback-scsv",
        check=check_fallback_scsv,
    ),
)
"""Rules on vulnerabilities, which only sslyze tests."""


Seen = tuple[int, int]
"""A version, and a suite or group that was accepted in it."""


class SslyzeEvidence(Struct, frozen=True):
    """sslyze's results for the items of one finding."""

    confirmed: tuple[str, ...] = ()
    """Items that sslyze saw too."""
    denied: tuple[str, ...] = ()
    """Items that were refused or different for sslyze."""
    not_visible: tuple[str, ...] = ()
    """Items that sslyze cannot see or did not test."""


def inquiry(findings: Iterable[Finding], case: Case, *, confirm: bool, deep: bool) -> Inquiry | None:
    """The scan to request from sslyze for this endpoint; None if sslyze can add nothing."""
    if case.observation.reach not in JUDGEABLE:
        return None
    rules = {finding.rule for finding in findings if _counts(finding)} & set(SSLYZE_EVIDENCE) if confirm else set()
    if not rules and not deep:
        return None
    versions = _accepted_versions(case) if "tls-version" in rules else ()
    suites = (version for version, _ in _accepted_suites(case)) if "tls-cipher-suite" in rules else ()
    return Inquiry(
        versions=frozenset((*versions, *suites)),
        groups="tls-group" in rules,
        certificate=bool(rules & set(CERTIFICATE_RULES)),
        flaws=deep,
    )


def confirm(findings: Iterable[Finding], case: Case) -> tuple[Finding, ...]:
    """The findings, each violation with sslyze's result (``case.opinion``).

    A violation that sslyze saw, even in part, is ``confirmed``. If every item was refused for sslyze, it is
    ``contradicted`` and inconclusive. Everything else is ``not-visible-to-sslyze`` and stays a violation: sslyze 6.3
    knows no post-quantum group and not every suite, and always sends a server name. So does a violation without a
    result, because ``inquiry`` requested none.
    """
    opinion = case.opinion or Opinion(witness="sslyze", failure="not tested")
    return tuple(_compared_with(opinion, finding, case) if _counts(finding) else finding for finding in findings)


def _counts(finding: Finding) -> bool:
    return finding.verdict == "fail" and finding.status not in NEVER_FAILS


def _compared_with(opinion: Opinion, finding: Finding, case: Case) -> Finding:
    result = _evidence(finding, case, opinion)
    if result.confirmed:
        return _noted(finding, f"confirmed by {opinion.witness}", result.confirmed, "confirmed")
    if result.not_visible or not result.denied:
        return _noted(finding, f"{opinion.witness} cannot determine it", result.not_visible, "not-visible-to-sslyze")
    seen_by_us = ", ".join(finding.observed[:5]) or finding.message
    doubted = _noted(finding, f"{opinion.witness} did not see it", result.denied, "contradicted")
    return replace(
        doubted,
        verdict="inconclusive",
        status="not-tested",
        message=f"{finding.message}, but {opinion.witness} did not confirm it",
        evidence=(f"adhere saw: {seen_by_us}", *doubted.evidence),
    )


def _noted(finding: Finding, what: str, items: Iterable[str], opinion: SecondOpinion) -> Finding:
    note = ": ".join(filter(None, (what, "; ".join(listed(items)))))
    return replace(finding, second_opinion=opinion, evidence=(*finding.evidence, note))


def _evidence(finding: Finding, case: Case, opinion: Opinion) -> SslyzeEvidence:
    compare = SSLYZE_EVIDENCE.get(finding.rule)
    if compare is None:
        return SslyzeEvidence(not_visible=("it does not test this",))
    if opinion.failure is not None:
        return SslyzeEvidence(not_visible=(opinion.failure,))
    result = compare(case, opinion)
    if result.denied and case.endpoint.server_name is None:
        reason = "it sends a server name, and adhere sent none"
        return replace(result, denied=(), not_visible=(*result.not_visible, reason))
    return result


# --- comparison for each rule -----------------------------------------------------------------------------------------


def _accepted_versions(case: Case) -> tuple[int, ...]:
    """Versions below the minimum that the listener accepts."""
    profile = case.expectation.profile
    if isinstance(profile, Unknown):
        return ()
    return tuple(version for version in case.observation.versions.accepted if version < profile.min_version)


def _accepted_suites(case: Case) -> tuple[Seen, ...]:
    """Suites outside the profile that the listener accepts."""
    profile = case.expectation.profile
    if isinstance(profile, Unknown):
        return ()
    always = () if case.expectation.tls13_suites_configurable else TLS13_ALWAYS
    return _outside(case.observation.suites, (*profile.suites, *always))


def _accepted_groups(case: Case) -> tuple[Seen, ...]:
    """Groups outside the profile that the listener accepts."""
    profile = case.expectation.profile
    if isinstance(profile, Unknown) or profile.groups is None:
        return ()
    return _outside(case.observation.groups, profile.groups)


def _outside(answers: Mapping[int, Answers], allowed: tuple[int, ...]) -> tuple[Seen, ...]:
    return tuple(
        (version, code)
        for version, each in answers.items()
        if version > SSL2
        for code in forbidden(each, allowed, ()).accepted
    )


def _versions(case: Case, opinion: Opinion) -> SslyzeEvidence:
    """A version is confirmed by any accepted suite. It is denied if a suite that adhere negotiated was refused."""
    confirmed, denied, not_visible = [], [], []
    for version in _accepted_versions(case):
        theirs, label = opinion.suites.get(version, Answers()), names.version_name(version)
        ours = case.observation.suites.get(version, Answers()).accepted
        if theirs.accepted:
            confirmed.append(label)
        elif theirs.refused and (version == SSL2 or set(ours) & theirs.refused):
            denied.append(f"{label}, {len(theirs.refused)} suites refused")
        else:
            not_visible.append(f"{label} (it does not know the accepted suites)")
    return SslyzeEvidence(tuple(confirmed), tuple(denied), tuple(not_visible))


def _suites(case: Case, opinion: Opinion) -> SslyzeEvidence:
    return _compared(_accepted_suites(case), opinion.suites, names.suite_label)


def _groups(case: Case, opinion: Opinion) -> SslyzeEvidence:
    theirs = {opinion.highest: opinion.groups} if opinion.highest is not None else {}
    return _compared(_accepted_groups(case), theirs, names.group_label)


def _compared(seen: tuple[Seen, ...], theirs: Mapping[int, Answers], label: Callable[[int], str]) -> SslyzeEvidence:
    """Sort the items by sslyze's result for each."""
    by_state: dict[str, list[str]] = {"accepted": [], "refused": [], "unknown": []}
    for version, code in seen:
        state = theirs.get(version, Answers()).state(code)
        by_state[state].append(f"{label(code)} in {names.version_name(version)}")
    return SslyzeEvidence(tuple(by_state["accepted"]), tuple(by_state["refused"]), tuple(by_state["unknown"]))


def _client_certificate(case: Case, opinion: Opinion) -> SslyzeEvidence:
    ours, theirs = case.observation.client_certificate, opinion.client_certificate
    if isinstance(theirs, Unknown):
        return SslyzeEvidence(not_visible=(theirs.reason,))
    item = (f"a client certificate is {theirs}" if theirs != "none" else "no client certificate is requested",)
    return SslyzeEvidence(confirmed=item) if theirs == ours else SslyzeEvidence(denied=item)


def _certificate(case: Case, opinion: Opinion) -> SslyzeEvidence:
    """Confirmed if sslyze received the same leaf, whatever the rule."""
    first, theirs = case.observation.chain, opinion.certificates
    if isinstance(theirs, Unknown):
        return SslyzeEvidence(not_visible=(theirs.reason,))
    chains = case.observation.other_chains if isinstance(first, Unknown) else (first,)
    leaves = [each[0].sha256 for each in chains if each]
    if not leaves:
        return SslyzeEvidence(not_visible=("there is no chain to compare",))
    if same := [each for each in leaves if each in theirs]:
        return SslyzeEvidence(confirmed=(f"the certificate with SHA-256 {same[0]}",))
    return SslyzeEvidence(denied=tuple(f"it received the certificate with SHA-256 {each}" for each in sorted(theirs)))


CERTIFICATE_RULES = (
    "cert-expired",
    "cert-not-yet-valid",
    "cert-expiring",
    "cert-name",
    "cert-key-size",
    "cert-signature",
    "cert-ca-as-leaf",
    "cert-chain",
    "cert-clients",
    "cert-stored",
    "cert-not-granted",
)

SSLYZE_EVIDENCE: Mapping[str, Callable[[Case, Opinion], SslyzeEvidence]] = {
    "tls-version": _versions,
    "tls-cipher-suite": _suites,
    "tls-group": _groups,
    "tls-client-certificate": _client_certificate,
    **dict.fromkeys(CERTIFICATE_RULES, _certificate),
}
"""Rules whose violations sslyze can confirm, and the comparison for each."""


def apply_sslyze_result(findings: Iterable[Finding], case: Case, *, confirmed: bool, deep: bool) -> tuple[Finding, ...]:
    """The findings, with sslyze's results for violations (``confirmed``) and vulnerabilities (``deep``)."""
    every = confirm(findings, case) if confirmed else tuple(findings)
    return unfinished((*every, *(vulnerability_findings(case) if deep else ())), case)
