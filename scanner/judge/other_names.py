"""What a listener does with server names that no object gives to it."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.judge import remedy, served
from scanner.judge.verdicts import Tally, Words, conclude, promised
from scanner.model.expectation import OtherName
from scanner.model.finding import Finding
from scanner.model.known import Unknown
from scanner.model.observation import Stray
from scanner.model.rule import Case, Rule


def check_other_names(rule: Rule, case: Case) -> Iterator[Finding]:
    """Names that nobody configured lead nowhere, and around no client validation.

    ## What it requires

    One endpoint of each port is also asked with a name that nobody can have, and with no server name, where objects say
    what the port owes them:

    * a port of a Gateway whose listeners are all of protocol TLS, and Contour's port as long as no HTTPProxy wants the
      fallback certificate: the connection ends before a certificate is shown;
    * a port of a Gateway whose HTTPS listeners validate clients: it ends so too, or a client certificate is asked for.

    Everywhere else such names may be answered (an HTTPS listener may complete the handshake and answer 404), and
    nothing is reported.

    ## Why

    A port that serves names which no object mentions serves something that nobody has configured: a default backend,
    the gateway's own certificate, the first virtual host. And a client that reaches a listener without client
    validation can ask it for the names that have one, on the same connection.

    ## What fails

    A certificate for a name that must be refused: medium. A handshake without a request for a client certificate where
    all listeners of the port validate: high.

    ## What is inconclusive

    Silence. An end of the connection without an alert is a refusal only if it comes five times in a row.

    ## How to fix

    Remove the listener or virtual host that answers every name, and see whether the controller has a default
    certificate of its own that can be turned off.
    """
    owed = [each for each in case.expectation.other_names if each.owed != "compared"]
    if not owed:
        return
    found = {each.name: each for each in case.observation.strays}
    readings = [(each, _wrong(each, found.get(each.name))) for each in owed]
    open_door = any(isinstance(wrong, str) and each.owed == "validated" for each, wrong in readings)
    finding = conclude(
        rule,
        case,
        Tally(
            seen=tuple(wrong for _, wrong in readings if isinstance(wrong, str)),
            unknown=tuple(wrong.reason for _, wrong in readings if isinstance(wrong, Unknown)),
        ),
        Words(
            passed="names that no object gives to this port lead nowhere",
            failed="names that no object gives to this port are served"
            + (" without client validation" if open_door else ""),
            unclear="what the port does with names that no object gives to it could not be told",
        ),
        severity="high" if open_door else None,
        expected=dict.fromkeys(each.because for each in owed),
        fix="find the listener, virtual host or default certificate that answers every name, and take it away",
        reproduce=remedy.scan(case.endpoint),
    )
    yield promised(finding)


def _wrong(owed: OtherName, seen: Stray | None) -> str | Unknown | None:
    called = f"the name {owed.name}" if owed.name else "no server name"
    if seen is None or isinstance(seen.answer, Unknown):
        return Unknown(f"{called}: {seen.answer.reason if seen and isinstance(seen.answer, Unknown) else 'not tested'}")
    if seen.answer == "refused":
        return None
    if owed.owed == "refused":
        subject = served.short(seen.leaf.subject or seen.leaf.sha256) if seen.leaf else "a certificate"
        return f"{called} is answered with the certificate {subject}"
    if isinstance(seen.client_certificate, Unknown):
        return Unknown(f"{called}: {seen.client_certificate.reason}")
    return f"{called}: no client certificate is asked for" if seen.client_certificate == "none" else None


OTHER_NAMES = Rule(
    id="tls-other-names",
    title="Names that no object gives to a port lead nowhere",
    severity="medium",
    check=check_other_names,
    references=(
        "RFC 6066, section 3",
        "Gateway API conformance, tlsroute-hostname-intersection; GEP-91",
        "Contour, Fallback Certificate",
    ),
)
