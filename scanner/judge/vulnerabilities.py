"""Known vulnerabilities of TLS implementations, as the second witness found them (``--deep``).

adhere itself sends nothing but ClientHellos and one ordinary handshake. What it takes to see these, malformed messages
and repeated decryption failures among it, is left to sslyze, on request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from scanner.judge.verdicts import Tally, Words, conclude
from scanner.kube.maybe import Known, Unknown
from scanner.model.finding import Finding, Severity
from scanner.model.observation import JUDGEABLE
from scanner.model.opinion import Flaw
from scanner.model.rule import Case, Rule


def deep_findings(case: Case) -> tuple[Finding, ...]:
    """What ``DEEP_RULES`` say of ``case.opinion``; nothing where there was no TLS to ask for.

    Call it where they were wanted: without an answer (the deadline came first, or a signal) each is inconclusive.
    """
    if case.observation.reach not in JUDGEABLE:
        return ()
    return tuple(finding for rule in DEEP_RULES for finding in rule.check(rule, case))


def check_heartbleed(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener does not answer a heartbeat with more than it was sent."""
    yield _judged(
        rule, case, {"heartbleed": "memory in the answer to a heartbeat"}, "replace the TLS library and the key"
    )


def check_robot(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener gives no sign by which an RSA decryption can be guessed."""
    yield _judged(rule, case, {"robot": "an oracle for RSA decryption"}, "switch off suites with RSA key exchange")


def check_ccs_injection(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener refuses a ChangeCipherSpec that comes too early."""
    yield _judged(rule, case, {"ccs-injection": "an early ChangeCipherSpec is accepted"}, "replace the TLS library")


def check_renegotiation(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener renegotiates securely, and not whenever a client wants to."""
    flaws: Mapping[Flaw, str] = {
        "insecure-renegotiation": "no secure renegotiation (RFC 5746)",
        "client-renegotiation": "a client can renegotiate again and again",
    }
    secure = case.opinion is not None and case.opinion.flaws.get("insecure-renegotiation") is False
    yield _judged(rule, case, flaws, "switch renegotiation off", severity="low" if secure else None)


def check_compression(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener does not compress."""
    yield _judged(rule, case, {"compression": "TLS compression"}, "switch TLS compression off")


def check_fallback_scsv(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener notices a client that was made to fall back to an older version."""
    yield _judged(rule, case, {"no-fallback-scsv": "a fallback is accepted"}, "switch off the old versions")


def _judged(
    rule: Rule, case: Case, flaws: Mapping[Flaw, str], fix: str, *, severity: Severity | None = None
) -> Finding:
    """One finding on one or more flaws, each with what to call it."""
    witness = case.opinion.witness if case.opinion is not None else "nobody"
    told = {flaw: _told(case, flaw) for flaw in flaws}
    return conclude(
        rule,
        case,
        Tally(
            seen=tuple(words for flaw, words in flaws.items() if told[flaw] is True),
            unknown=tuple(_reasons(told.values())),
        ),
        Words(
            passed=f"{witness} found it not vulnerable",
            failed=f"{witness} found it vulnerable",
            unclear="whether it is vulnerable could not be told",
        ),
        severity=severity,
        fix=fix,
        evidence=(f"asked by {witness}",),
    )


def _told(case: Case, flaw: Flaw) -> Known[bool]:
    if case.opinion is None:
        return Unknown("sslyze had not answered when the time was over")
    return case.opinion.flaws.get(flaw, Unknown(case.opinion.failure or "not asked"))


def _reasons(told: Iterable[Known[bool]]) -> Iterator[str]:
    return (each.reason for each in told if isinstance(each, Unknown))


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
"""Every rule that needs the second witness."""
