"""Backends of BackendTLSPolicies: can the Gateways that call them do so, and do they do it by TLS?"""

from __future__ import annotations

from collections.abc import Iterator

from scanner.judge import remediation
from scanner.judge.client_certificate import found as asked_for
from scanner.judge.verdicts import Tally, Words, conclude, promised
from scanner.model.expectation import Upstream
from scanner.model.finding import Finding
from scanner.model.known import Unknown
from scanner.model.observation import Observation
from scanner.model.rule import Case, Rule


def check_identity(rule: Rule, case: Case) -> Iterator[Finding]:
    """A backend asks for the client certificate that its Gateway has.

    ## What it requires

    Of a backend to which a BackendTLSPolicy leads, and each Gateway that the policy's `status.ancestors` names: if the
    Gateway has a client certificate (`spec.tls.backend.clientCertificateRef`, granted where the Secret is in another
    namespace), the backend asks for one; if it has none, the backend does not require one. Where no status names a
    Gateway, nothing is reported.

    ## Why

    A backend that never asks lets everybody in who reaches it, and the Gateway's certificate proves nothing to anybody.
    One that requires what the Gateway does not have refuses every request.

    ## What fails

    A backend that requires a certificate of a Gateway without one: medium. A backend that does not ask for the one that
    the Gateway has: low.

    ## What is inconclusive

    A handshake that did not get far enough to see the request, and a Secret of which nobody can tell whether the
    Gateway may use it.

    ## Example that fails

    A listener that is in order but for this:

    ```yaml
    # The Gateway has no clientCertificateRef
    calledBy: {gateway: Gateway/edge/front}
    clientCertificate: required
    ```

    ```yaml
    calledBy: {gateway: Gateway/edge/front, clientCertificateRef: Secret/edge/me}
    clientCertificate: none
    ```

    ## Example that passes

    ```yaml
    calledBy: {gateway: Gateway/edge/front, clientCertificateRef: Secret/edge/me}
    clientCertificate: required
    ```

    ## How to fix

    Give the Gateway a client certificate that the backend trusts, or have the backend verify clients.
    """
    upstreams = case.expectation.upstreams
    if not upstreams:
        return
    told = [_mismatch(each, case.observation) for each in upstreams]
    broken = any(isinstance(each, str) and not one.identity for each, one in zip(told, upstreams, strict=True))
    finding = conclude(
        rule,
        case,
        Tally(
            seen=tuple(each for each in told if isinstance(each, str)),
            unknown=tuple(each.reason for each in told if isinstance(each, Unknown)),
        ),
        Words(
            passed="what the backend asks of clients is what its Gateways have",
            failed="the backend requires a client certificate that its Gateway does not have"
            if broken
            else "the backend does not ask for the client certificate that its Gateway has",
            unclear="whether the backend asks for what its Gateways have could not be told",
        ),
        severity=None if broken else "low",
        expected=(f"{each.gateway}: {each.identity or 'no client certificate'}" for each in upstreams),
        fix="set spec.tls.backend.clientCertificateRef of the Gateway, or have the backend verify clients",
        reproduce=remediation.scan(case.endpoint),
    )
    yield promised(finding)


def _mismatch(upstream: Upstream, seen: Observation) -> str | Unknown | None:
    asked = asked_for(seen, at_least=bool(upstream.identity and not upstream.doubt))
    who = f"{upstream.gateway} (by {upstream.policy})"
    if isinstance(asked, Unknown):
        return Unknown(f"{who}: {asked.reason}")
    wrong = asked == "none" if upstream.identity else asked == "required"
    if wrong and upstream.doubt:
        return Unknown(f"{who}: {upstream.doubt}")
    if not wrong:
        # Where it may have none after all, a requirement may be too much.
        return Unknown(f"{who}: {upstream.doubt}") if upstream.doubt and asked == "required" else None
    return f"{who}: a client certificate is {asked}, and it has {upstream.identity or 'none'}"


def check_fail_open(rule: Rule, case: Case) -> Iterator[Finding]:
    """A Gateway that cannot apply a BackendTLSPolicy does not go on in plaintext.

    ## What it requires

    That the backend of a BackendTLSPolicy is called by no Gateway of Contour (`projectcontour.io/gateway-controller`).
    The Gateway API wants requests to fail where a policy cannot be applied; Contour leaves the policy out, and
    speaks to the backend without TLS. It also takes `hostname` for the name alone, whatever `subjectAltNames` has, and
    looks at policies for HTTPRoutes alone.

    ## Why

    The policy reads as if the way to the backend was always encrypted and verified. With Contour that holds as long as
    the ConfigMap is there and can be read: when somebody deletes it, requests go on, in plaintext, and no client sees
    it. What a handshake with the backend shows is no proof of what Contour does.

    ## What fails

    A policy that Contour does not apply: its status says so, it names no CA (`wellKnownCACertificates`), or its CA is
    not there: high. Any other policy of which Contour's Gateway is an ancestor: low, as a warning.

    ## What is inconclusive

    Nothing: it stands in objects. A CA that could not be read counts as one that is there, and the policy is low. Where
    the policy's status names no Gateway, nothing is reported.

    ## Example that fails

    A listener that is in order but for this:

    ```yaml
    # Of the BackendTLSPolicy, and of the Gateway that calls its backend
    calledBy:
      policy: BackendTLSPolicy/shop/web
      wellKnownCACertificates: System
      gateway: Gateway/edge/front
      controllerName: projectcontour.io/gateway-controller
    ```

    ## Example that passes

    ```yaml
    # Nothing is reported
    calledBy:
      policy: BackendTLSPolicy/shop/web
      wellKnownCACertificates: System
      gateway: Gateway/edge/front
      controllerName: openshift.io/gateway-controller/v1
    ```

    ## How to fix

    Mend the policy; have the backend speak nothing but TLS and require a client certificate, so that plaintext fails.
    """
    open_ = [each for each in case.expectation.upstreams if each.fails_open]
    if not open_:
        return
    plain = [each for each in open_ if each.plaintext]
    seen = [f"{each.gateway} does not apply {each.policy}: {each.plaintext}" for each in plain]
    seen += [
        f"{each.gateway} goes on in plaintext if it cannot apply {each.policy}" for each in open_ if each not in plain
    ]
    finding = conclude(
        rule,
        case,
        Tally(seen=tuple(seen)),
        Words(
            passed="every Gateway fails where it cannot apply a policy",
            failed="a Gateway speaks to this backend in plaintext, whatever its policy says"
            if plain
            else "a Gateway may go on in plaintext: that it applies the policy cannot be relied on",
            unclear="",
        ),
        severity="high" if plain else None,
        expected=("a controller that fails requests where a BackendTLSPolicy cannot be applied",),
        fix="mend the policy, and let the backend refuse plaintext and whoever has no client certificate",
    )
    yield promised(finding)


BACKEND_IDENTITY = Rule(
    id="backend-identity",
    title="A backend asks for the client certificate that its Gateway has",
    severity="medium",
    check=check_identity,
    references=("Gateway API apis/v1/gateway_types.go (GatewayBackendTLS)", "GEP-3155, Complete Backend mutual TLS"),
)
FAIL_OPEN = Rule(
    id="backend-fail-open",
    title="A Gateway that cannot apply a policy does not go on in plaintext",
    severity="low",
    check=check_fail_open,
    references=(
        "GEP-1897, BackendTLSPolicy",
        "Contour internal/dag/gatewayapi_processor.go (computeBackendTLSPolicies)",
    ),
)
