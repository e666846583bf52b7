"""Is a client certificate refused that none of the authorities has signed which an object has the listener trust?"""

from __future__ import annotations

from collections.abc import Iterator

from scanner.judge import remedy
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

    The certificate is made for the run and is valid for clients by everything but its signer. No request is sent.

    ## Why

    A listener that asks for a certificate and takes any is open to everybody, and looks closed to whoever only watches
    it ask.

    ## What fails

    A listener that goes on after it has seen the certificate: high. TLS 1.3 shows the refusal on the first read after
    the handshake, so it is waited for. A proxy that completes the handshake and would answer the request with an error
    has let the client in, as far as TLS is concerned, and fails too.

    ## What is inconclusive

    A listener that asked for no certificate (`tls-client-certificate` fails it), a silence, and in TLS 1.3 an end of
    the connection without an alert, which may be an answer to the client's goodbye.

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
    or `optional` with a `ca-file` in HAProxy, a validation context with `trusted_ca` in Envoy.
    """
    source = case.expectation.client_trust
    if source is None:
        return
    found = case.observation.untrusted_client
    finding = conclude(
        rule,
        case,
        Tally(
            seen=("it was accepted",) if found == "accepted" else (),
            unknown=(found.reason,) if isinstance(found, Unknown) else (),
        ),
        Words(
            passed="a client certificate that nobody trusts is refused",
            failed="a client certificate that nobody has signed but itself is accepted",
            unclear="whether a client certificate that nobody trusts is refused could not be told",
        ),
        expected=(f"only client certificates that {source} has it trust",),
        fix=f"see why the listener does not apply {source}: what its status says, and what its controller supports",
        reproduce=remedy.as_a_stranger(case.endpoint),
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
