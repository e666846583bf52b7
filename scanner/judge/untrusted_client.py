"""Is a client certificate refused that none of the authorities has signed which an object has the listener trust?"""

from __future__ import annotations

from collections.abc import Iterator

from scanner.judge import remediation
from scanner.judge.client_certificate import refused_in_http
from scanner.judge.verdicts import Tally, Words, conclude, promised
from scanner.model.finding import Finding
from scanner.model.known import Unknown
from scanner.model.rule import Case, Rule


def check_untrusted_client(rule: Rule, case: Case) -> Iterator[Finding]:
    """A client certificate that no trusted authority has signed is refused.

    ## What it requires

    Where an object says whose client certificates a listener accepts, a handshake with one that nobody has signed but
    itself is refused. Objects say so: `spec.tls.frontend` of a Gateway with the mode `AllowValidOnly` (the default),
    for its HTTPS listeners; `spec.clientTLS` of an IngressController, for everything that is not passed through;
    `clientValidation` of an HTTPProxy with a `caSecret` and without `skipClientCertValidation`. Where no object says
    so, nobody shows a certificate, and nothing is reported.

    The certificate is made for the run and is valid for clients by everything but its signer. Without `--active-http`
    no request is sent. With it, a listener of a Gateway or ListenerSet that lets the certificate through gets one
    `HEAD /`: some proxies complete every handshake and refuse the request (nginx with `ssl_verify_client on`). 400,
    403, 495, 496 and a connection that is closed without an answer five times in a row are refusals.

    ## Why

    A listener that asks for a certificate and takes any is open to everybody, and looks closed to whoever only watches
    it ask.

    ## What fails

    A listener that goes on after it has seen the certificate: high. TLS 1.3 shows the refusal on the first read after
    the handshake, so it is waited for. A Gateway's listener fails where it also answers the request.

    ## What is inconclusive

    A listener that asked for no certificate (`tls-client-certificate` fails it), a silence, and in TLS 1.3 an end of
    the connection without an alert, which may be an answer to the client's goodbye. A Gateway's listener that goes on,
    without `--active-http`, or one that answers 408, 421, 425, 429 or 5xx, or nothing.

    ## Example that fails

    A listener that is in order but for this:

    ```yaml
    # spec of its IngressController
    clientTLS: {clientCertificatePolicy: Required}
    # What the listener asks for, and does with one that nobody has signed but itself
    clientCertificate: required
    untrustedClientCertificate: accepted
    ```

    ## Example that passes

    ```yaml
    clientTLS: {clientCertificatePolicy: Required}
    clientCertificate: required
    untrustedClientCertificate: refused
    ```

    ## How to fix

    See whether the controller supports what the object asks for, and what the object's status says; `verify required`
    or `optional` with a `ca-file` in HAProxy, a validation context with `trusted_ca` in Envoy, `ssl_verify_client on`
    in nginx (scan with `--active-http`: nginx refuses requests, not handshakes).
    """
    source = case.expectation.client_trust
    if source is None:
        return
    found, answer = case.observation.untrusted_client, case.observation.request_untrusted
    in_http = refused_in_http(case, answer) if found == "accepted" else False
    if isinstance(in_http, Unknown):
        in_http = Unknown(f"TLS lets it through; whether a request is refused then: {in_http.reason}")
    finding = conclude(
        rule,
        case,
        Tally(
            seen=("it was accepted",) if found == "accepted" and in_http is False else (),
            unknown=tuple(each.reason for each in (found, in_http) if isinstance(each, Unknown)),
        ),
        Words(
            passed="a client certificate that nobody trusts is refused"
            + (f" in HTTP ({answer})" if in_http is True else ""),
            failed="a client certificate that nobody has signed but itself is accepted",
            unclear="whether a client certificate that nobody trusts is refused could not be told",
        ),
        expected=(f"only client certificates that {source} has it trust",),
        fix=f"see why the listener does not apply {source}: what its status says, and what its controller supports",
        reproduce=remediation.as_a_stranger(case.endpoint),
        evidence=(f"its request is answered with {answer}",) if found == "accepted" and isinstance(answer, str) else (),
    )
    yield promised(finding)


UNTRUSTED_CLIENT = Rule(
    id="tls-untrusted-client",
    title="A client certificate that nobody trusts is refused",
    severity="high",
    check=check_untrusted_client,
    references=(
        "RFC 8446, section 4.4.2.4, and RFC 5246, section 7.4.6",
        "Gateway API, GatewayTLSConfig and GEP-91",
        "openshift/api operator/v1 ClientTLS; Contour, Client Certificate Validation",
    ),
)
