"""Compare the served certificate and chain with the Secrets that objects declare, and check the grants for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from msgspec import Struct

from scanner.judge import remediation, served
from scanner.judge.verdicts import Tally, Words, conclude, inconclusive, listed, promised, remark, status_of_failure
from scanner.kube.maybe import Unknown
from scanner.model.expectation import DeclaredCertificates, DeclaredIssuer, DeclaredLeaf, MissingGrant
from scanner.model.finding import Finding, Severity
from scanner.model.rule import Case, Rule
from scanner.tls.certificate import CertificateFacts
from scanner.values import replace

_ROLLOUT: Final = timedelta(minutes=10)
"""Time after a renewal: a kubelet needs a minute or two to write a Secret's new content into a pod, and processes that
watch their files reload it some time later."""
_BACKDATED: Final = timedelta(hours=1)
"""Many issuers, mainly public ACME issuers, set notBefore this much earlier than the time of issue."""
_CLOCK_SKEW: Final = timedelta(minutes=5)
"""Accepted difference between the clocks of the signer and the scanner."""


def check_declared(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener serves the certificate that objects declare for it."""
    declared = case.expectation.certificate.declared
    if declared is None:
        return
    if not declared.wanted:
        message = "the served certificate is not compared with its Secret: no Secret was read (--secrets)"
        yield remark(rule, message, verdict="not_applicable")
        return
    leaf = served.leaf(case)
    if isinstance(leaf, Unknown):
        yield _undecided(rule, _UNDECIDED, (leaf.reason,))
    else:
        found = _compared(rule, case, declared, leaf)
        yield promised(found) if declared.exact else found


def _compared(rule: Rule, case: Case, declared: DeclaredCertificates, leaf: CertificateFacts) -> Finding:
    same = next((each for each in declared.leaves if each.sha256 == leaf.sha256), None)
    if same is not None:
        message = f"it serves the certificate of {same.place}"
        return Finding(rule=rule.id, severity=rule.severity, verdict="pass", status="ok", message=message)
    default = declared.default if declared.default is not None and declared.default.sha256 == leaf.sha256 else None
    twin = None if default else _twin(declared, leaf)
    if twin is not None:
        return _failed(rule, case, twin, leaf, _difference(twin, leaf), renewed=True)
    if declared.exact and declared.leaves and not declared.unread:
        message = _DEFAULT if default else f"it does not serve the certificate of {declared.leaves[0].place}"
        found = _failed(rule, case, declared.leaves[0], leaf, message)
        return _by_status(found, declared) if default else found
    reasons = declared.unread or (
        f"the served certificate has another issuer or other names than the one of {declared.leaves[0].place}",
    )
    if default:
        message = f"{_DEFAULT}; whether this is correct could not be determined"
        return _by_status(_undecided(rule, message, reasons), declared)
    return _undecided(rule, _UNDECIDED, reasons)


_UNDECIDED: Final = "whether it serves the certificate of its Secret could not be determined"
_DEFAULT: Final = "it serves the router's default certificate instead of the Route's certificate"


def _by_status(finding: Finding, declared: DeclaredCertificates) -> Finding:
    """``finding`` with the condition of the Route's status, which shows the cause."""
    fix = "correct the cause in status.ingress of the Route: the Secret, or the router's permission to read it"
    condition = (declared.condition,) if declared.condition else ()
    return replace(finding, fix=fix, evidence=(*finding.evidence, *condition))


def _twin(declared: DeclaredCertificates, leaf: CertificateFacts) -> DeclaredLeaf | None:
    """The newest declared certificate with the same names and the same issuer."""
    sans = leaf.sans
    alike = [
        each
        for each in declared.leaves
        if sans and each.names == frozenset(sans) and _signer(each.issuer) == _signer(leaf.issuer)
    ]
    return max(alike, key=lambda each: each.not_before.timestamp() if each.not_before else 0.0, default=None)


def _signer(issuer: str | None) -> str | None:
    """The issuer's name without the time that operators append, so that a rotated signer is the same one."""
    return None if issuer is None else issuer.partition("@")[0]


def _difference(twin: DeclaredLeaf, leaf: CertificateFacts) -> str:
    if twin.not_before is None or leaf.not_before is None or twin.not_before == leaf.not_before:
        return "it serves another certificate for the same names than its Secret contains"
    if twin.not_before > leaf.not_before:
        return (
            f"it still serves the previous certificate, although its Secret was rotated {served.date(twin.not_before)}"
        )
    return "it serves a newer certificate than its Secret contains"


_RELOAD: Final = "find out why the process did not reload the certificate, and restart it"
_MANAGED: Final = "cert-manager writes the Secret for {}, so do not edit the Secret; "


def _failed(
    rule: Rule, case: Case, twin: DeclaredLeaf, leaf: CertificateFacts, message: str, *, renewed: bool = False
) -> Finding:
    ages = [case.now - each for each in (twin.not_before, leaf.not_before if renewed else None) if each is not None]
    settling = any(-_CLOCK_SKEW <= age < _ROLLOUT + (_BACKDATED if renewed else timedelta(0)) for age in ages)
    return Finding(
        rule=rule.id,
        severity=rule.severity,
        verdict="fail",
        status="converging" if settling else status_of_failure(case),
        message=message,
        expected=(f"{twin.place}: serial number {_serial(twin.serial)}, SHA-256 {twin.sha256}",),
        observed=(f"served: serial number {_serial(leaf.serial)}, SHA-256 {leaf.sha256}",),
        fix=f"{_MANAGED.format(twin.kept_by) if twin.kept_by else ''}{_RELOAD}",
        reproduce=remediation.scan(case.endpoint),
    )


def _undecided(rule: Rule, message: str, reasons: tuple[str, ...]) -> Finding:
    """Inconclusive and informational, because most certificates of a cluster come from no known Secret."""
    return replace(inconclusive(rule, f"{message}: {reasons[0]}", listed(reasons)), severity="info")


def _serial(number: int | None) -> str:
    return "not readable" if number is None else f"{number:x}"[:60]


DECLARED_CERTIFICATE = Rule(id="cert-stored", check=check_declared)


def check_missing_grant(rule: Rule, case: Case) -> Iterator[Finding]:
    """A Secret of another namespace is served only with a grant."""
    missing = case.expectation.certificate.missing_grants
    if not missing:
        return
    if not any(each.asked for each in missing):
        message = "whether a certificate without a grant is served was not checked: no Secret was read (--secrets)"
        yield remark(rule, message, verdict="not_applicable")
        return
    leaf = served.leaf(case)
    results = [_served_without_grant(each, leaf, case) for each in missing]
    tally = Tally(
        seen=tuple(each for each in results if isinstance(each, str)),
        unknown=tuple(each.reason for each in results if isinstance(each, Unknown)),
    )
    finding = conclude(
        rule,
        case,
        tally,
        Words(
            passed="no certificate of another namespace is served without a grant",
            failed="it serves a certificate of another namespace without a grant",
            unclear="whether it serves a certificate without a grant could not be determined",
        ),
        expected=(f"not the certificate of {each.secret}: {each.who} refers to it without a grant" for each in missing),
        fix="remove the reference and restart the proxy, or have the owner of the Secret create the grant",
        reproduce=remediation.scan(case.endpoint),
    )
    yield promised(finding)


def _served_without_grant(missing: MissingGrant, leaf: CertificateFacts | Unknown, case: Case) -> str | Unknown | None:
    if isinstance(leaf, Unknown):
        return leaf
    declared = case.expectation.certificate.declared
    allowed = {each.sha256 for each in declared.leaves if not missing.doubt} if declared else set()
    shown = leaf.sha256
    if shown in allowed or shown in case.expectation.certificate.beside:
        return None
    if isinstance(missing.leaf, Unknown):
        return Unknown(f"{missing.secret}: {missing.leaf.reason}")
    if missing.leaf.sha256 != shown:
        return None
    if missing.doubt:
        return Unknown(f"it serves the certificate of {missing.secret}: {missing.doubt}")
    return f"the certificate of {missing.secret} (SHA-256 {shown}), to which {missing.who} refers without a grant"


MISSING_GRANT = Rule(id="cert-not-granted", check=check_missing_grant)


def check_declared_chain(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener sends the chain of its Secret."""
    declared = case.expectation.certificate.declared
    if declared is None or not declared.wanted or not declared.leaves:
        return
    chain = served.everything(case)
    if isinstance(chain, Unknown):
        message = f"whether it sends the chain of its Secret could not be determined: {chain.reason}"
        yield replace(inconclusive(rule, message, (chain.reason,)), severity="info")
        return
    same = [each for each in declared.leaves if each.sha256 == chain[0].sha256]
    if not same:
        message = "the chain is not compared, because the listener serves another certificate than its Secret contains"
        yield remark(rule, message, verdict="not_applicable")
        return
    best = min((_compared_chain(each, chain[1:]) for each in same), key=lambda each: each.weight)
    found = _chain_finding(rule, case, best, chain[1:])
    yield promised(found) if declared.exact else found


class _Difference(Struct, frozen=True, kw_only=True):
    """The difference between the declared and the sent chain."""

    declared: DeclaredLeaf
    severity: Severity | None
    """None if there is no difference that matters."""
    message: str = ""
    weight: int = 0


def _compared_chain(declared: DeclaredLeaf, sent: Sequence[CertificateFacts]) -> _Difference:
    expected, seen = [each.sha256 for each in declared.issuers], [each.sha256 for each in sent]
    missing = [each for each in declared.issuers if each.sha256 not in seen]
    needed = [each for each in missing if _needed(each, declared, sent)]
    if needed:
        message = f"it does not send the intermediate {_named(needed)} of {declared.place}"
        return _Difference(declared=declared, severity="medium", message=message, weight=3)
    if _without_roots(declared.issuers) != _without_roots(sent):
        message = f"it sends other intermediates than {declared.place} contains, or in another order"
        return _Difference(declared=declared, severity="low", message=message, weight=2)
    if expected == seen:
        return _Difference(declared=declared, severity=None)
    root = (
        "also sends a self-signed certificate that is not in"
        if len(seen) > len(expected)
        else "does not send the root of"
    )
    return _Difference(declared=declared, severity=None, message=f"it {root} {declared.place}", weight=1)


def _needed(issuer: DeclaredIssuer, declared: DeclaredLeaf, sent: Sequence[CertificateFacts]) -> bool:
    """True if clients need ``issuer``: it is no root, signed a certificate here, and no sent one replaces it."""
    if issuer.self_issued:
        return False
    signed = {declared.issuer, *(each.issuer for each in declared.issuers if each.sha256 != issuer.sha256)}
    return issuer.subject in signed - {None, *(each.subject for each in sent)}


def _without_roots(issuers: Sequence[DeclaredIssuer] | Sequence[CertificateFacts]) -> list[str]:
    return [each.sha256 for each in issuers if not each.self_issued]


def _named(issuers: Sequence[DeclaredIssuer]) -> str:
    names = [served.short(each.subject) if each.subject else each.sha256 for each in issuers[:3]]
    return ", ".join(names) + (f" and {len(issuers) - 3} more" if len(issuers) > 3 else "")


def _chain_finding(rule: Rule, case: Case, found: _Difference, sent: Sequence[CertificateFacts]) -> Finding:
    if found.severity is None:
        message = found.message or f"it sends the chain of {found.declared.place}"
        passed = Finding(rule=rule.id, severity=rule.severity, verdict="pass", status="ok", message=message)
        return replace(passed, severity="info", status="informational") if found.message else passed
    return Finding(
        rule=rule.id,
        severity=found.severity,
        verdict="fail",
        status=status_of_failure(case),
        message=found.message,
        expected=listed(f"{served.short(each.subject or '')} {each.sha256}".strip() for each in found.declared.issuers),
        observed=listed(f"{served.short(each.subject or '')} {each.sha256}".strip() for each in sent),
        fix=f"configure the proxy to send all certificates of {found.declared.place}, and reload it",
        reproduce=remediation.scan(case.endpoint),
    )


DECLARED_CHAIN = Rule(id="cert-stored-chain", check=check_declared_chain)
