"""Backends of BackendTLSPolicies: their Gateways use TLS, and have the client certificate that a backend asks for."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.judge import remediation
from scanner.judge.client_certificate import found as asked_for
from scanner.judge.verdicts import Tally, Words, conclude, promised
from scanner.kube.maybe import Unknown
from scanner.model.expectation import Upstream
from scanner.model.finding import Finding
from scanner.model.observation import Observation
from scanner.model.rule import Case, Rule


def check_identity(rule: Rule, case: Case) -> Iterator[Finding]:
    """A backend asks for a client certificate exactly if its Gateways have one."""
    upstreams = case.expectation.upstreams
    if not upstreams:
        return
    results = [_mismatch(each, case.observation) for each in upstreams]
    broken = any(isinstance(each, str) and not one.identity for each, one in zip(results, upstreams, strict=True))
    finding = conclude(
        rule,
        case,
        Tally(
            seen=tuple(each for each in results if isinstance(each, str)),
            unknown=tuple(each.reason for each in results if isinstance(each, Unknown)),
        ),
        Words(
            passed="the backend asks for a client certificate exactly if its Gateways have one",
            failed="the backend requires a client certificate that its Gateway does not have"
            if broken
            else "the backend does not ask for the client certificate that its Gateway has",
            unclear="whether the backend asks for a client certificate exactly if its Gateways have one could not be "
            "determined",
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
        # If the Gateway may have no certificate, the requirement may be a mismatch.
        return Unknown(f"{who}: {upstream.doubt}") if upstream.doubt and asked == "required" else None
    identity = f"has {upstream.identity}" if upstream.identity else "has none"
    if asked == "none":
        return f"{who}: the backend requests no client certificate, but the Gateway {identity}"
    return f"{who}: a client certificate is {asked}, but the Gateway {identity}"


def check_fail_open(rule: Rule, case: Case) -> Iterator[Finding]:
    """A Gateway that cannot apply a BackendTLSPolicy does not use plaintext instead."""
    open_ = [each for each in case.expectation.upstreams if each.fails_open]
    if not open_:
        return
    plain = [each for each in open_ if each.plaintext]
    seen = [f"{each.gateway} does not apply {each.policy}: {each.plaintext}" for each in plain]
    seen += [f"{each.gateway} uses plaintext if it cannot apply {each.policy}" for each in open_ if each not in plain]
    finding = conclude(
        rule,
        case,
        Tally(seen=tuple(seen)),
        Words(
            passed="",  # no tally without a Gateway that fails open
            failed="a Gateway connects to this backend in plaintext, although a BackendTLSPolicy requires TLS"
            if plain
            else "a Gateway would connect in plaintext if it could not apply the BackendTLSPolicy",
            unclear="",
        ),
        severity="high" if plain else None,
        expected=("a controller that rejects requests if it cannot apply a BackendTLSPolicy",),
        fix="correct the BackendTLSPolicy, and have the backend reject plaintext and clients without a certificate",
    )
    yield promised(finding)


BACKEND_IDENTITY = Rule(id="backend-identity", check=check_identity)
FAIL_OPEN = Rule(id="backend-fail-open", check=check_fail_open)
