"""What the listener asks of a client."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.judge import remedy
from scanner.judge.verdicts import Tally, Words, conclude, promised
from scanner.model.finding import Finding, Severity
from scanner.model.known import Known, Unknown
from scanner.model.observation import ClientCertificate, Observation, Reach
from scanner.model.rule import Case, Rule

_STRENGTH: tuple[ClientCertificate, ...] = ("none", "requested", "required")


def check_client_certificate(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener asks for a client certificate exactly as it should.

    ## What it requires

    `none`, `requested` or `required`, as the expectation says. Where nothing is expected, nothing is reported.

    ## Why

    Where the certificate is the only authentication, a listener that merely requests one lets everybody in. One that
    requires what nobody has locks its clients out.

    ## What fails

    A listener that asks for less than it should: high. One that asks for more: medium.

    ## What is inconclusive

    A handshake that did not get far enough to see the request. In TLS 1.3 a requirement shows only after the
    handshake, when the missing certificate is answered with an alert.

    ## How to fix

    `ssl_verify_client` in nginx, `verify` on HAProxy's bind line, `ClientAuth` in Go, `--client-ca-file` in a
    Kubernetes component.
    """
    expected = case.expectation.client_certificate
    if expected is None:
        return
    found = _found(case.observation)
    deviates = not isinstance(found, Unknown) and found != expected
    finding = conclude(
        rule,
        case,
        Tally(
            seen=(str(found),) if deviates else (),
            unknown=(found.reason,) if isinstance(found, Unknown) else (),
        ),
        Words(
            passed=f"a client certificate is {expected}"
            if expected != "none"
            else "no client certificate is asked for",
            failed=f"the client certificate is {found}, and should be {expected}",
            unclear="whether a client certificate is asked for could not be told",
        ),
        severity=_severity(expected, found),
        expected=(expected,),
        fix=remedy.in_the_listener(case.endpoint, case.expectation, f"set the client certificate to {expected}"),
        reproduce=remedy.scan(case.endpoint),
    )
    yield promised(finding) if case.expectation.client_trust else finding


def _found(observation: Observation) -> Known[ClientCertificate]:
    if isinstance(observation.client_certificate, Unknown) and observation.reach is Reach.CLIENT_CERTIFICATE_REQUIRED:
        return "required"
    return observation.client_certificate


def _severity(expected: ClientCertificate, found: Known[ClientCertificate]) -> Severity:
    if isinstance(found, Unknown):
        return "high"
    return "high" if _STRENGTH.index(found) < _STRENGTH.index(expected) else "medium"


CLIENT_CERTIFICATE = Rule(
    id="tls-client-certificate",
    title="The client certificate is asked for as expected",
    severity="high",
    check=check_client_certificate,
    references=("RFC 8446, sections 4.3.2 and 4.4.2", "RFC 5246, section 7.4.4"),
)
