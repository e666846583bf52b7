"""Client certificates: the listener requests them as required, and rejects untrusted ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.judge import remediation
from scanner.judge.verdicts import Tally, Words, conclude, promised, remark
from scanner.kube.kinds import GATEWAY, LISTENER_SET, X_LISTENER_SET
from scanner.kube.maybe import Known, Unknown
from scanner.model.finding import Finding, Severity
from scanner.model.observation import ClientCertificate, Observation, Reach
from scanner.model.rule import Case, Rule
from scanner.values import replace

_STRENGTH: tuple[ClientCertificate, ...] = ("none", "requested", "required")


def check_client_certificate(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener requests or requires a client certificate exactly as expected."""
    expected = case.expectation.client_certificate
    if expected is None:
        yield from _undeclared(rule, case)
        return
    asked = found(case.observation, at_least=expected == "none")
    deviates = not isinstance(asked, Unknown) and asked != expected
    answer = case.observation.request_without_certificate
    in_http = refused_in_http(case, answer) if (expected, asked) == ("required", "requested") else False
    if isinstance(in_http, Unknown):
        in_http = Unknown(f"unknown whether a request without a client certificate is refused: {in_http.reason}")
    finding = conclude(
        rule,
        case,
        Tally(
            seen=(str(asked),) if deviates and in_http is False else (),
            unknown=tuple(each.reason for each in (asked, in_http) if isinstance(each, Unknown)),
        ),
        Words(
            passed=f"requests without a client certificate are refused ({answer})"
            if in_http is True
            else f"a client certificate is {expected}"
            if expected != "none"
            else "no client certificate is requested",
            failed=_asked_wrongly(expected, asked),
            unclear="whether a client certificate is requested could not be determined",
        ),
        severity=_severity(expected, asked),
        expected=(expected,),
        fix=_fix(case, expected),
        reproduce=remediation.scan(case.endpoint),
        evidence=(f"a request without a client certificate is answered with {answer}",)
        if deviates and isinstance(answer, str)
        else (),
    )
    if finding.verdict == "pass" and expected == "requested":
        finding = replace(finding, status="informational", evidence=("clients without a certificate are accepted",))
    # Only objects declare "requested".
    yield promised(finding) if case.expectation.client_trust or expected == "requested" else finding


def _asked_wrongly(expected: ClientCertificate, asked: Known[ClientCertificate]) -> str:
    if asked == "none":
        return f"no client certificate is requested, but it must be {expected}"
    wish = "none must be requested" if expected == "none" else f"it must be {expected}"
    return f"a client certificate is {asked}, but {wish}"


def _fix(case: Case, expected: ClientCertificate) -> str:
    source = case.expectation.client_trust
    if source:
        return _NOT_APPLIED.format(source)
    return remediation.client_certificate(case.endpoint, case.expectation, expected)


_NOT_APPLIED: Final = "{} requires it already: check the object's status, and that its controller supports the field"


def _undeclared(rule: Rule, case: Case) -> Iterator[Finding]:
    """Remark on a client certificate that no object mentions: another part of the gateway may configure it."""
    source, asked = case.expectation.client_unasked, found(case.observation, at_least=True)
    if source and asked in ("requested", "required"):
        message = f"a client certificate is {asked}, but {source} does not configure it"
        yield remark(rule, message, observed=(str(asked),))


def found(observation: Observation, *, at_least: bool = False) -> Known[ClientCertificate]:
    """The client certificate that a listener asks for. ``at_least``: "requested" may mean "required"."""
    if isinstance(observation.client_certificate, Unknown) and observation.reach is Reach.CLIENT_CERTIFICATE_REQUIRED:
        return "required"
    if isinstance(observation.client_certificate, Unknown) and at_least and observation.certificate_requested:
        return "requested"
    return observation.client_certificate


_IN_HTTP: Final = frozenset({GATEWAY.name, LISTENER_SET.name, X_LISTENER_SET.name})
"""Kinds whose controllers may enforce client certificates after the handshake (NGINX Gateway Fabric does)."""
_REFUSALS: Final = frozenset({"400", "403", "495", "496", "closed"})
"""nginx: 400 by default; ``error_page 495 496`` may lead to another status, or to a closed connection (444)."""
_UNDECIDED: Final = frozenset({"408", "421", "425", "429"})
"""Answers that have nothing to do with the client's certificate."""


def refused_in_http(case: Case, answer: Known[str]) -> Known[bool]:
    """True if the request is refused after a completed handshake. False also for listeners that must refuse in TLS."""
    subject = case.endpoint.subject
    if subject is None or subject.kind not in _IN_HTTP:
        return False
    if isinstance(answer, Unknown):
        return answer
    if answer in _REFUSALS:
        return True
    undecided = answer in _UNDECIDED or answer.startswith("5")
    return Unknown(f"the answer is {answer}") if undecided else False


def _severity(expected: ClientCertificate, found: Known[ClientCertificate]) -> Severity:
    if isinstance(found, Unknown):
        return "high"
    return "high" if _STRENGTH.index(found) < _STRENGTH.index(expected) else "medium"


CLIENT_CERTIFICATE = Rule(id="tls-client-certificate", check=check_client_certificate)


def check_untrusted_client(rule: Rule, case: Case) -> Iterator[Finding]:
    """A client certificate that no trusted CA signed is refused."""
    source = case.expectation.client_trust
    if source is None:
        return
    found, answer = case.observation.untrusted_client, case.observation.request_untrusted
    in_http = refused_in_http(case, answer) if found == "accepted" else False
    if isinstance(in_http, Unknown):
        in_http = Unknown(f"TLS accepts it; unknown whether the request is refused: {in_http.reason}")
    finding = conclude(
        rule,
        case,
        Tally(
            seen=("a self-signed client certificate was accepted",) if found == "accepted" and in_http is False else (),
            unknown=tuple(each.reason for each in (found, in_http) if isinstance(each, Unknown)),
        ),
        Words(
            passed="an untrusted client certificate is rejected" + (f" in HTTP ({answer})" if in_http is True else ""),
            failed="an untrusted (self-signed) client certificate is accepted",
            unclear="whether an untrusted client certificate is rejected could not be determined",
        ),
        expected=(f"only client certificates that {source} trusts",),
        fix=_NOT_APPLIED.format(source),
        reproduce=remediation.with_untrusted_certificate(case.endpoint),
        evidence=(f"the request with this certificate is answered with {answer}",)
        if found == "accepted" and isinstance(answer, str)
        else (),
    )
    yield promised(finding)


UNTRUSTED_CLIENT = Rule(id="tls-untrusted-client", check=check_untrusted_client)
