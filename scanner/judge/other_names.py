"""What a listener does with server names that no object gives to it."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.judge import remediation, served
from scanner.judge.verdicts import Tally, Words, conclude, promised
from scanner.model.expectation import OtherName
from scanner.model.finding import Finding
from scanner.model.known import Known, Unknown
from scanner.model.observation import Stray
from scanner.model.rule import Case, Rule


def check_other_names(rule: Rule, case: Case) -> Iterator[Finding]:
    """Names that nobody configured lead nowhere, and around no client validation.

    ## What it requires

    One endpoint of each port is also asked with a name that nobody can have, and with no server name, where objects say
    what the port owes them:

    * a port of a Gateway whose listeners are all of protocol TLS, and have a hostname if they terminate it or if a
      TLSRoute without hostnames leads through: the connection ends before a certificate is shown;
    * a port of a Gateway whose HTTPS listeners validate clients: it ends so too, or a client certificate is asked for;
    * Contour's port as long as no HTTPProxy wants the fallback certificate: it ends so. Of none of these three anything
      is expected where Gateways and other objects (Ingresses, HTTPProxies) share a port;
    * names of which an object's status says that they are not served, and that nobody else at the place answers: of
      listeners with `Accepted` False or `Conflicted` True and of HTTPProxies with errors in their TLS or virtual host,
      it ends before a certificate is shown; of Routes that a router has not admitted, it ends so, or the router's
      default certificate is shown, as for every name that it does not know (with a 503 behind it);
    * of OpenShift's router, a name that no Route has: likewise.

    Up to 20 names that are not served are asked for at one place. Everywhere else such names may be answered (an HTTPS
    listener may complete the handshake and answer 404), and nothing is reported.

    ## Why

    A port that serves names which no object mentions serves something that nobody has configured: a default backend,
    the gateway's own certificate, the first virtual host. And a client that reaches a listener without client
    validation can ask it for the names that have one, on the same connection.

    ## What fails

    A certificate for a name that must be refused, another one than the default where that may be shown: medium. A
    handshake without a request for a client certificate where
    all listeners of the port validate: high.

    ## What is inconclusive

    Silence. An end of the connection without an alert, or with one that need not mean the name (internal_error), is a
    refusal only if it comes five times in a row and the port's own name is served afterwards. Names beyond those that
    are asked for.

    ## Example that fails

    A listener that is in order but for this:

    ```yaml
    # All listeners of this port are of protocol TLS, and none has the name
    notServed: {name: nobody.example, object: Gateway/edge/front}
    serverNames:
    - {name: nobody.example, subject: CN=default}
    ```

    ```yaml
    # All listeners of this port validate clients
    clientsValidated: {name: nobody.example, object: Gateway/edge/front}
    serverNames:
    - {name: nobody.example, subject: CN=default, clientCertificate: none}
    ```

    ## Example that passes

    ```yaml
    notServed: {name: nobody.example, object: Gateway/edge/front}
    serverNames:
    - {name: nobody.example, alert: unrecognized_name}
    ```

    ```yaml
    clientsValidated: {name: nobody.example, object: Gateway/edge/front}
    serverNames:
    - {name: nobody.example, subject: CN=default, clientCertificate: required}
    ```

    ## How to fix

    Remove the listener or virtual host that answers every name, and see whether the controller has a default
    certificate of its own that can be turned off.
    """
    owed = [each for each in case.expectation.other_names if each.owed not in ("compared", "same")]
    if not owed:
        return
    found = {each.name: each for each in case.observation.strays}
    readings = [(each, _wrong(each, found.get(each.name), case)) for each in owed]
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
        reproduce=remediation.scan_as(case.endpoint, [each.name for each, wrong in readings if isinstance(wrong, str)]),
    )
    yield promised(finding)


def _wrong(owed: OtherName, seen: Stray | None, case: Case) -> str | Unknown | None:
    if owed.owed == "unasked":
        return Unknown(owed.because)
    called = f"the name {owed.name}" if owed.name else "no server name"
    if seen is None or isinstance(seen.answer, Unknown):
        return Unknown(f"{called}: {seen.answer.reason if seen and isinstance(seen.answer, Unknown) else 'not tested'}")
    if seen.answer == "refused":
        return None
    if owed.owed == "default" and (same := as_its_own(seen, case)) is not False:
        return Unknown(f"{called}: {same.reason}") if isinstance(same, Unknown) else None
    if owed.owed in ("refused", "default"):
        subject = served.short(seen.leaf.subject or seen.leaf.sha256) if seen.leaf else "a certificate"
        return f"{called} is answered with the certificate {subject}"
    if isinstance(seen.client_certificate, Unknown):
        return Unknown(f"{called}: {seen.client_certificate.reason}")
    return f"{called}: no client certificate is asked for" if seen.client_certificate == "none" else None


def as_its_own(seen: Stray, case: Case) -> Known[bool]:
    """Whether the name is answered with one of the certificates that the endpoint itself shows."""
    chains = case.observation.chain
    if isinstance(chains, Unknown):
        return chains
    leaves = {each[0].sha256 for each in (chains, *case.observation.other_chains) if each}
    return seen.leaf is not None and seen.leaf.sha256 in leaves


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
