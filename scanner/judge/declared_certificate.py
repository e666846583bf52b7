"""Compare the served certificate and chain with those that objects name, and with the grants for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from scanner.judge import remediation, served
from scanner.judge.verdicts import Tally, Words, conclude, inconclusive, listed, promised, remark, status_of_failure
from scanner.kube.maybe import Unknown
from scanner.model.expectation import Stored, StoredIssuer, StoredLeaf, Ungranted
from scanner.model.finding import Finding, Severity
from scanner.model.rule import Case, Rule
from scanner.tls.certificate import CertificateFacts

_SETTLES: Final = timedelta(minutes=10)
"""After a certificate was made: a kubelet takes a minute or two to write a Secret's new content into a pod, and
processes that watch their files read it again some time later."""
_DATED_BACK: Final = timedelta(hours=1)
"""By many issuers, the public ones of ACME above all: a renewal begins that much before it is made."""
_CLOCKS: Final = timedelta(minutes=5)
"""How far those of a signer and of the scanner may differ."""


def check_stored(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener serves the certificate that objects name for it."""
    stored = case.expectation.certificate.stored
    if stored is None:
        return
    if not stored.wanted:
        message = "no Secret was looked at (--secrets), so the served certificate is not compared with the stored one"
        yield remark(rule, message, verdict="not_applicable")
        return
    leaves = served.leaf(case)
    if isinstance(leaves, Unknown):
        yield _open(rule, "whether it serves the certificate of its Secret could not be determined", (leaves.reason,))
    else:
        found = _compared(rule, case, stored, leaves[0])
        yield promised(found) if stored.exact else found


def _compared(rule: Rule, case: Case, stored: Stored, leaf: CertificateFacts) -> Finding:
    same = next((each for each in stored.leaves if each.sha256 == leaf.sha256), None)
    if same is not None:
        message = f"it serves the certificate of {same.place}"
        return Finding(rule=rule.id, severity=rule.severity, verdict="pass", status="ok", message=message)
    default = stored.default if stored.default is not None and stored.default.sha256 == leaf.sha256 else None
    twin = None if default else _twin(stored, leaf)
    if twin is not None:
        return _failed(rule, case, twin, leaf, _difference(twin, leaf), renewed=True)
    if stored.exact and stored.leaves and not stored.unread:
        said = _DEFAULT if default else f"it serves another certificate than {stored.leaves[0].place} has"
        found = _failed(rule, case, stored.leaves[0], leaf, said)
        return _by_status(found, stored) if default else found
    reasons = stored.unread or (
        f"it serves one with other names, or by another signer, than {stored.leaves[0].place} has",
    )
    if default:
        return _by_status(_open(rule, f"{_DEFAULT}, and whether it should could not be determined", reasons), stored)
    return _open(rule, "whether it serves the certificate of its Secret could not be determined", reasons)


_DEFAULT: Final = "it serves the router's default certificate instead of the Route's own"


def _by_status(finding: Finding, stored: Stored) -> Finding:
    """With what the Route says of its rejection, which is where to begin."""
    fix = "correct what status.ingress of the Route reports: the Secret, or the router's permission to read it"
    said = (stored.condition,) if stored.condition else ()
    return replace(finding, fix=fix, evidence=(*finding.evidence, *said))


def _twin(stored: Stored, leaf: CertificateFacts) -> StoredLeaf | None:
    """The stored certificate for the same names by the same signer, the newest of several."""
    sans = leaf.sans
    alike = [
        each
        for each in stored.leaves
        if sans and each.names == frozenset(sans) and _signer(each.issuer) == _signer(leaf.issuer)
    ]
    return max(alike, key=lambda each: each.not_before.timestamp() if each.not_before else 0.0, default=None)


def _signer(issuer: str | None) -> str | None:
    """Its name without the time that operators put behind it: a signer that was rotated is the same one."""
    return None if issuer is None else issuer.partition("@")[0]


def _difference(twin: StoredLeaf, leaf: CertificateFacts) -> str:
    if twin.not_before is None or leaf.not_before is None or twin.not_before == leaf.not_before:
        return "it serves another certificate than its Secret has, for the same names"
    if twin.not_before > leaf.not_before:
        return f"its Secret was rotated ({served.date(twin.not_before)}), and it still serves the former certificate"
    return "it serves a newer certificate than its Secret has"


_RELOAD: Final = "find out why the process did not load the certificate again, and restart it"
_KEPT: Final = "the Secret is written by cert-manager for {}, so change nothing but that; "


def _failed(
    rule: Rule, case: Case, twin: StoredLeaf, leaf: CertificateFacts, said: str, *, renewed: bool = False
) -> Finding:
    ages = [case.now - each for each in (twin.not_before, leaf.not_before if renewed else None) if each is not None]
    settling = any(-_CLOCKS <= age < _SETTLES + (_DATED_BACK if renewed else timedelta(0)) for age in ages)
    return Finding(
        rule=rule.id,
        severity=rule.severity,
        verdict="fail",
        status="converging" if settling else status_of_failure(case),
        message=said,
        expected=(f"{twin.place}: serial number {_serial(twin.serial)}, SHA-256 {twin.sha256}",),
        observed=(f"served: serial number {_serial(leaf.serial)}, SHA-256 {leaf.sha256}",),
        fix=f"{_KEPT.format(twin.kept_by) if twin.kept_by else ''}{_RELOAD}",
        reproduce=remediation.scan(case.endpoint),
    )


def _open(rule: Rule, message: str, reasons: tuple[str, ...]) -> Finding:
    """Not decided; informational, because most of what a cluster serves comes from no Secret that is known."""
    return replace(inconclusive(rule, f"{message}: {reasons[0]}", listed(reasons)), severity="info")


def _serial(number: int | None) -> str:
    return "not to be read" if number is None else f"{number:x}"[:60]


STORED = Rule(id="cert-stored", check=check_stored)


def check_ungranted(rule: Rule, case: Case) -> Iterator[Finding]:
    """A Secret of another namespace is not served without its owner's permission."""
    named = case.expectation.certificate.ungranted
    if not named:
        return
    if not any(each.asked for each in named):
        yield remark(rule, _NOT_ASKED, verdict="not_applicable")
        return
    leaves = served.leaf(case)
    told = [_wrong(each, leaves, case) for each in named]
    tally = Tally(
        seen=tuple(each for each in told if isinstance(each, str)),
        unknown=tuple(each.reason for each in told if isinstance(each, Unknown)),
    )
    finding = conclude(
        rule,
        case,
        tally,
        Words(
            passed="no certificate of another namespace is served without permission",
            failed="it serves a certificate that its owner has not let it have",
            unclear="whether it serves a certificate that is not granted to it could not be determined",
        ),
        expected=(f"not the certificate of {each.secret}, which {each.who} names" for each in named),
        fix="remove the reference or restart the proxy, and let who owns the Secret allow it or not",
        reproduce=remediation.scan(case.endpoint),
    )
    yield promised(finding)


_NOT_ASKED = "no Secret was read (--secrets), so it is unknown whose certificate is served"


def _wrong(named: Ungranted, leaves: tuple[CertificateFacts, ...] | Unknown, case: Case) -> str | Unknown | None:
    if isinstance(leaves, Unknown):
        return Unknown(leaves.reason)
    mine = case.expectation.certificate.stored
    may = {each.sha256 for each in mine.leaves if not named.doubt} if mine else set()
    shown = leaves[0].sha256
    if shown in may or shown in case.expectation.certificate.beside:
        return None
    if isinstance(named.leaf, Unknown):
        return Unknown(f"{named.secret}: {named.leaf.reason}")
    if named.leaf.sha256 != shown:
        return None
    if named.doubt:
        return Unknown(f"it serves the certificate of {named.secret}: {named.doubt}")
    return f"the certificate of {named.secret} (SHA-256 {shown}), which {named.who} names without permission"


UNGRANTED = Rule(id="cert-not-granted", check=check_ungranted)


def check_stored_chain(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener sends the chain that is stored with its certificate."""
    stored = case.expectation.certificate.stored
    if stored is None or not stored.wanted or not stored.leaves:
        return
    chain = served.everything(case)
    if isinstance(chain, Unknown):
        message = f"whether it sends the chain that is stored could not be determined: {chain.reason}"
        yield replace(inconclusive(rule, message, (chain.reason,)), severity="info")
        return
    same = [each for each in stored.leaves if each.sha256 == chain[0].sha256]
    if not same:
        message = "it serves another certificate than is stored, so what it sends behind it is not compared"
        yield remark(rule, message, verdict="not_applicable")
        return
    best = min((_compared_chain(each, chain[1:]) for each in same), key=lambda each: each.weight)
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


def _compared_chain(stored: StoredLeaf, sent: Sequence[CertificateFacts]) -> _Difference:
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


STORED_CHAIN = Rule(id="cert-stored-chain", check=check_stored_chain)
