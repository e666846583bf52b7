"""What the listener asks of a client."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from scanner.judge import remedy
from scanner.judge.verdicts import Tally, Words, conclude, promised, remark
from scanner.model.finding import Finding, Severity
from scanner.model.known import Known, Unknown
from scanner.model.observation import ClientCertificate, Observation, Reach
from scanner.model.rule import Case, Rule

_STRENGTH: tuple[ClientCertificate, ...] = ("none", "requested", "required")


def check_client_certificate(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener asks for a client certificate exactly as it should.

    ## What it requires

    `none`, `requested` or `required`, as the expectation says. Where nothing is expected, nothing is reported, but for
    an HTTPS listener of a Gateway and a virtual host of an HTTPProxy, of which the object says how clients are dealt
    with: that they are asked for a certificate of which it says nothing is noted. Where a certificate is requested and
    not required, as by `AllowInsecureFallback`, a pass notes that whoever has none is let in.

    ## Why

    Where the certificate is the only authentication, a listener that merely requests one lets everybody in. One that
    requires what nobody has locks its clients out.

    ## What fails

    A listener that asks for less than it should: high. One that asks for more: medium.

    ## What is inconclusive

    A handshake that did not get far enough to see the request. In TLS 1.3 a requirement shows only after the
    handshake, when the missing certificate is answered with an alert.

    ## Example that fails

    A listener that is in order but for this:

    ```yaml
    # spec of its IngressController
    clientTLS: {clientCertificatePolicy: Required}
    # What the listener does
    clientCertificate: requested
    ```

    ## Example that passes

    ```yaml
    clientTLS: {clientCertificatePolicy: Required}
    clientCertificate: required
    ```

    ```yaml
    # Whoever has no certificate is let in, which is noted
    clientTLS: {clientCertificatePolicy: Optional}
    clientCertificate: requested
    ```

    ## How to fix

    `ssl_verify_client` in nginx, `verify` on HAProxy's bind line, `ClientAuth` in Go, `--client-ca-file` in a
    Kubernetes component.
    """
    expected = case.expectation.client_certificate
    if expected is None:
        yield from _undeclared(rule, case)
        return
    asked = found(case.observation)
    deviates = not isinstance(asked, Unknown) and asked != expected
    finding = conclude(
        rule,
        case,
        Tally(
            seen=(str(asked),) if deviates else (),
            unknown=(asked.reason,) if isinstance(asked, Unknown) else (),
        ),
        Words(
            passed=f"a client certificate is {expected}"
            if expected != "none"
            else "no client certificate is asked for",
            failed=f"the client certificate is {asked}, and should be {expected}",
            unclear="whether a client certificate is asked for could not be told",
        ),
        severity=_severity(expected, asked),
        expected=(expected,),
        fix=_fix(case, expected),
        reproduce=remedy.scan(case.endpoint),
    )
    if finding.verdict == "pass" and expected == "requested":
        finding = replace(finding, status="informational", evidence=("clients without a certificate are let in, too",))
    # That one is merely requested nobody but an object says.
    yield promised(finding) if case.expectation.client_trust or expected == "requested" else finding


def _fix(case: Case, expected: ClientCertificate) -> str:
    source = case.expectation.client_trust
    if source:  # an object has said it already
        return f"see why the listener does not apply {source}: what its status says, and what its controller supports"
    return remedy.client_certificate(case.endpoint, case.expectation, expected)


def _undeclared(rule: Rule, case: Case) -> Iterator[Finding]:
    """By whatever else configures a gateway: it may be meant, and no object that is read says so."""
    source, asked = case.expectation.client_unasked, found(case.observation)
    if source and asked in ("requested", "required"):
        message = f"a client certificate is {asked}, of which {source} says nothing"
        yield remark(rule, message, observed=(str(asked),))


def found(observation: Observation) -> Known[ClientCertificate]:
    """What a listener asks of its clients, as far as it was seen."""
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
