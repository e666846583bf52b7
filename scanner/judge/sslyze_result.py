"""Apply sslyze's result (``--deep``): what to ask it, what it changes in a finding, and the rules that only it answers.

A violation that the witness could have repeated and did not is no longer certain, so it becomes inconclusive, never a
pass: adhere saw the listener accept something, and that stays true. Both sides' evidence is in the finding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from scanner.judge.reach import unfinished
from scanner.judge.suites import TLS13_ALWAYS
from scanner.judge.verdicts import Tally, Words, conclude, forbidden, listed
from scanner.kube.maybe import Known, Unknown
from scanner.model.finding import Finding, SecondOpinion, Severity
from scanner.model.observation import JUDGEABLE, Answers, Flaw, Inquiry, Opinion
from scanner.model.report import NEVER_FAILS
from scanner.model.rule import Case, Rule
from scanner.tls import names
from scanner.tls.codepoints import SSL2


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
            unclear="whether it is vulnerable could not be determined",
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


Seen = tuple[int, int]
"""A version, and a suite or group that was accepted in it."""


@dataclass(frozen=True, slots=True)
class Testimony:
    """What the witness says of the items of one finding."""

    confirmed: tuple[str, ...] = ()
    """It saw them too."""
    denied: tuple[str, ...] = ()
    """It asked for the same and was refused, or was shown something else."""
    blind: tuple[str, ...] = ()
    """It could not have seen them, or did not look."""


def inquiry(findings: Iterable[Finding], case: Case, *, confirm: bool, deep: bool) -> Inquiry | None:
    """What to ask the witness of this endpoint; None where there is nothing that it could answer."""
    if case.observation.reach not in JUDGEABLE:
        return None
    rules = {finding.rule for finding in findings if _counts(finding)} & set(WITNESSES) if confirm else set()
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
    """The findings, each violation with what ``case.opinion`` says of it.

    One that the witness saw, even in part, is ``confirmed``. One of which it was refused every item is
    ``contradicted`` and inconclusive. Everything else is ``not-visible-to-sslyze`` and stays a violation: sslyze 6.3
    knows no post-quantum group and not every suite, and always sends a server name. The same goes where there is
    no opinion: ``inquiry`` had nothing to ask.
    """
    opinion = case.opinion or Opinion(witness="sslyze", failure="it was not asked")
    return tuple(_heard(finding, case, opinion) if _counts(finding) else finding for finding in findings)


def _counts(finding: Finding) -> bool:
    return finding.verdict == "fail" and finding.status not in NEVER_FAILS


def _heard(finding: Finding, case: Case, opinion: Opinion) -> Finding:
    says = _testimony(finding, case, opinion)
    if says.confirmed:
        return _noted(finding, f"{opinion.witness} saw it too", says.confirmed, "confirmed")
    if says.blind or not says.denied:
        return _noted(finding, f"{opinion.witness} cannot determine it", says.blind, "not-visible-to-sslyze")
    seen_by_us = ", ".join(finding.observed[:5]) or finding.message
    doubted = _noted(finding, f"{opinion.witness} did not see it", says.denied, "contradicted")
    return replace(
        doubted,
        verdict="inconclusive",
        status="not-tested",
        message=f"{finding.message}, but {opinion.witness} did not see that again",
        evidence=(f"adhere saw: {seen_by_us}", *doubted.evidence),
    )


def _noted(finding: Finding, what: str, items: Iterable[str], opinion: SecondOpinion) -> Finding:
    note = ": ".join(filter(None, (what, "; ".join(listed(items)))))
    return replace(finding, second_opinion=opinion, evidence=(*finding.evidence, note))


def _testimony(finding: Finding, case: Case, opinion: Opinion) -> Testimony:
    ask = WITNESSES.get(finding.rule)
    if ask is None:
        return Testimony(blind=("it does not judge this",))
    if opinion.failure is not None:
        return Testimony(blind=(opinion.failure,))
    says = ask(case, opinion)
    if says.denied and case.endpoint.server_name is None:
        return replace(says, denied=(), blind=(*says.blind, "it sends a server name, and adhere sent none"))
    return says


# --- one witness for each rule ----------------------------------------------------------------------------------------


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
        for version, told in answers.items()
        if version > SSL2
        for code in forbidden(told, allowed, ()).accepted
    )


def _versions(case: Case, opinion: Opinion) -> Testimony:
    """It saw a version where any suite was accepted. A refusal counts where it tried a suite that adhere got."""
    confirmed, denied, blind = [], [], []
    for version in _accepted_versions(case):
        told, label = opinion.suites.get(version, Answers()), names.version_name(version)
        ours = case.observation.suites.get(version, Answers()).accepted
        if told.accepted:
            confirmed.append(label)
        elif told.refused and (version == SSL2 or set(ours) & told.refused):
            denied.append(f"{label}, {len(told.refused)} suites refused")
        else:
            blind.append(f"{label} (none of the suites that were accepted is known to it)")
    return Testimony(tuple(confirmed), tuple(denied), tuple(blind))


def _suites(case: Case, opinion: Opinion) -> Testimony:
    return _compared(_accepted_suites(case), opinion.suites, names.suite_label)


def _groups(case: Case, opinion: Opinion) -> Testimony:
    told = {opinion.highest: opinion.groups} if opinion.highest is not None else {}
    return _compared(_accepted_groups(case), told, names.group_label)


def _compared(seen: tuple[Seen, ...], told: Mapping[int, Answers], label: Callable[[int], str]) -> Testimony:
    """Each item by what the witness was answered to the same."""
    by_state: dict[str, list[str]] = {"accepted": [], "refused": [], "unknown": []}
    for version, code in seen:
        state = told.get(version, Answers()).state(code)
        by_state[state].append(f"{label(code)} in {names.version_name(version)}")
    return Testimony(tuple(by_state["accepted"]), tuple(by_state["refused"]), tuple(by_state["unknown"]))


def _client_certificate(case: Case, opinion: Opinion) -> Testimony:
    ours, told = case.observation.client_certificate, opinion.client_certificate
    if isinstance(told, Unknown):
        return Testimony(blind=(told.reason,))
    item = (f"a client certificate is {told}" if told != "none" else "no client certificate is asked for",)
    return Testimony(confirmed=item) if told == ours else Testimony(denied=item)


def _certificate(case: Case, opinion: Opinion) -> Testimony:
    """The same leaf was served to it. What is wrong with a certificate does not depend on who reads it."""
    first, told = case.observation.chain, opinion.certificates
    if isinstance(told, Unknown):
        return Testimony(blind=(told.reason,))
    chains = case.observation.other_chains if isinstance(first, Unknown) else (first,)
    leaves = [each[0].sha256 for each in chains if each]
    if not leaves:
        return Testimony(blind=("there is no chain to compare",))
    if same := [each for each in leaves if each in told]:
        return Testimony(confirmed=(f"the certificate with SHA-256 {same[0]}",))
    return Testimony(denied=tuple(f"it was served the certificate with SHA-256 {each}" for each in sorted(told)))


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

WITNESSES: Mapping[str, Callable[[Case, Opinion], Testimony]] = {
    "tls-version": _versions,
    "tls-cipher-suite": _suites,
    "tls-group": _groups,
    "tls-client-certificate": _client_certificate,
    **dict.fromkeys(CERTIFICATE_RULES, _certificate),
}
"""Rules whose violations sslyze can repeat, and how its opinion bears on each."""


def heard(findings: Iterable[Finding], case: Case, *, confirmed: bool, deep: bool) -> tuple[Finding, ...]:
    """The findings, with what ``case.opinion`` says of violations (``confirmed``) and of flaws (``deep``)."""
    told = confirm(findings, case) if confirmed else tuple(findings)
    return unfinished((*told, *(deep_findings(case) if deep else ())), case)
