"""Does a listener serve the certificate that objects name for it, or a former one, or the router's default?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Final

from scanner.judge import remediation, served
from scanner.judge.verdicts import inconclusive, listed, promised, remark, status_of_failure
from scanner.kube.maybe import Unknown
from scanner.model.expectation import Stored, StoredLeaf
from scanner.model.finding import Finding
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
        yield _open(rule, "whether it serves the certificate of its Secret could not be told", (leaves.reason,))
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
        return _by_status(_open(rule, f"{_DEFAULT}, and whether it should could not be told", reasons), stored)
    return _open(rule, "whether it serves the certificate of its Secret could not be told", reasons)


_DEFAULT: Final = "it serves the router's default certificate instead of the Route's own"


def _by_status(finding: Finding, stored: Stored) -> Finding:
    """With what the Route says of its rejection, which is where to begin."""
    fix = "mend what status.ingress of the Route complains of: the Secret, or the router's permission to read it"
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


STORED = Rule(
    id="cert-stored",
    check=check_stored,
)
