"""Is a client certificate refused that none of the authorities has signed which an object has the listener trust?"""

from __future__ import annotations

from collections.abc import Iterator

from scanner.judge import remediation
from scanner.judge.client_certificate import refused_in_http
from scanner.judge.verdicts import Tally, Words, conclude, promised
from scanner.kube.maybe import Unknown
from scanner.model.finding import Finding
from scanner.model.rule import Case, Rule


def check_untrusted_client(rule: Rule, case: Case) -> Iterator[Finding]:
    """A client certificate that no trusted authority has signed is refused."""
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
    check=check_untrusted_client,
)
