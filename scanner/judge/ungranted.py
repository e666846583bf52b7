"""Does a listener serve the certificate of a Secret that nobody has let its object name?"""

from __future__ import annotations

from collections.abc import Iterator

from scanner.judge import remediation, served
from scanner.judge.verdicts import Tally, Words, conclude, promised, remark
from scanner.kube.maybe import Unknown
from scanner.model.expectation import Ungranted
from scanner.model.finding import Finding
from scanner.model.rule import Case, Rule
from scanner.tls.certificate import CertificateFacts


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
            unclear="whether it serves a certificate that its owner has not let it have could not be told",
        ),
        expected=(f"not the certificate of {each.secret}, which {each.who} names" for each in named),
        fix="remove the reference or restart the proxy, and let who owns the Secret allow it or not",
        reproduce=remediation.scan(case.endpoint),
    )
    yield promised(finding)


_NOT_ASKED = "no Secret was looked at (--secrets), so nobody can tell whose certificate is served"


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


UNGRANTED = Rule(
    id="cert-not-granted",
    check=check_ungranted,
)
