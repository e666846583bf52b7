"""Does a listener send what stands behind the certificate that objects name for it, in that order?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from scanner.judge import remediation, served
from scanner.judge.verdicts import inconclusive, listed, promised, remark, status_of_failure
from scanner.kube.maybe import Unknown
from scanner.model.expectation import StoredIssuer, StoredLeaf
from scanner.model.finding import Finding, Severity
from scanner.model.rule import Case, Rule
from scanner.tls.certificate import CertificateFacts


def check_stored_chain(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener sends the chain that is stored with its certificate."""
    stored = case.expectation.certificate.stored
    if stored is None or not stored.wanted or not stored.leaves:
        return
    chain = served.everything(case)
    if isinstance(chain, Unknown):
        message = f"whether it sends the chain that is stored could not be told: {chain.reason}"
        yield replace(inconclusive(rule, message, (chain.reason,)), severity="info")
        return
    same = [each for each in stored.leaves if each.sha256 == chain[0].sha256]
    if not same:
        message = "it serves another certificate than is stored, so what it sends behind it is not compared"
        yield remark(rule, message, verdict="not_applicable")
        return
    best = min((_compared(each, chain[1:]) for each in same), key=lambda each: each.weight)
    found = _told(rule, case, best, chain[1:])
    yield promised(found) if stored.exact else found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Difference:
    """Between what is stored and what is sent."""

    stored: StoredLeaf
    severity: Severity | None
    """None: there is none, or none that matters."""
    said: str = ""
    weight: int = 0


def _compared(stored: StoredLeaf, sent: Sequence[CertificateFacts]) -> _Difference:
    wanted, seen = [each.sha256 for each in stored.issuers], [each.sha256 for each in sent]
    missing = [each for each in stored.issuers if each.sha256 not in seen]
    needed = [each for each in missing if _needed(each, stored, sent)]
    if needed:
        said = f"it does not send {_named(needed)}, which {stored.place} has behind its certificate"
        return _Difference(stored=stored, severity="medium", said=said, weight=3)
    if _without_roots(stored.issuers) != _without_roots(sent):
        said = f"it sends other certificates behind its own than {stored.place} has, or in another order"
        return _Difference(stored=stored, severity="low", said=said, weight=2)
    more = "more" if len(seen) > len(wanted) else "less"
    said = f"it sends a self-signed certificate {more} than {stored.place} has" if wanted != seen else ""
    return _Difference(stored=stored, severity=None, said=said, weight=1 if said else 0)


def _needed(issuer: StoredIssuer, stored: StoredLeaf, sent: Sequence[CertificateFacts]) -> bool:
    """Whether the way of a client leads over ``issuer``: no root, signed something here, and nobody takes its place."""
    if issuer.self_issued:
        return False
    signed = {stored.issuer, *(each.issuer for each in stored.issuers if each.sha256 != issuer.sha256)}
    return issuer.subject in signed - {None, *(each.subject for each in sent)}


def _without_roots(issuers: Sequence[StoredIssuer] | Sequence[CertificateFacts]) -> list[str]:
    return [each.sha256 for each in issuers if not each.self_issued]


def _named(issuers: Sequence[StoredIssuer]) -> str:
    names = [served.short(each.subject) if each.subject else each.sha256 for each in issuers[:3]]
    return ", ".join(names) + (f" and {len(issuers) - 3} more" if len(issuers) > 3 else "")


def _told(rule: Rule, case: Case, found: _Difference, sent: Sequence[CertificateFacts]) -> Finding:
    if found.severity is None:
        message = found.said or f"it sends the chain of {found.stored.place}"
        passed = Finding(rule=rule.id, severity=rule.severity, verdict="pass", status="ok", message=message)
        return replace(passed, severity="info", status="informational") if found.said else passed
    return Finding(
        rule=rule.id,
        severity=found.severity,
        verdict="fail",
        status=status_of_failure(case),
        message=found.said,
        expected=listed(f"{served.short(each.subject or '')} {each.sha256}".strip() for each in found.stored.issuers),
        observed=listed(f"{served.short(each.subject or '')} {each.sha256}".strip() for each in sent),
        fix=f"have the proxy read all certificates of {found.stored.place}, and load them again",
        reproduce=remediation.scan(case.endpoint),
    )


STORED_CHAIN = Rule(
    id="cert-stored-chain",
    check=check_stored_chain,
)
