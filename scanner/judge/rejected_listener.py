"""Names that an object's status says are not served."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.judge import remediation, served
from scanner.judge.verdicts import Tally, Words, conclude, promised
from scanner.kube.maybe import Unknown
from scanner.model.finding import Finding
from scanner.model.rule import Case, Rule


def check_withheld(rule: Rule, case: Case) -> Iterator[Finding]:
    """What cannot be served as it is declared is not served at all."""
    why = case.expectation.withheld
    if not why:
        return
    leaves = served.leaf(case)
    unseen = isinstance(leaves, Unknown)
    shown = () if isinstance(leaves, Unknown) else (served.short(leaves[0].subject or leaves[0].sha256),)
    finding = conclude(
        rule,
        case,
        Tally(
            seen=tuple(f"the certificate {each}" for each in shown),
            unknown=(leaves.reason,) if isinstance(leaves, Unknown) else (),
        ),
        Words(
            passed="nothing is served that is not to be",
            failed=f"a certificate is served under a name that nothing is to be served under: {why}",
            unclear="whether a certificate is served that must not be could not be determined",
        ),
        expected=(f"no certificate: {why}",),
        fix="correct what the object's status reports, and find out why the proxy serves the name",
        reproduce=None if unseen else remediation.scan(case.endpoint),
    )
    yield promised(finding)


WITHHELD = Rule(id="tls-withheld", check=check_withheld)
