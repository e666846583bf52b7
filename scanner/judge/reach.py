"""Whether there was TLS to judge at all: the outcome taxonomy (``Reach``) as verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from scanner.judge import remediation
from scanner.judge.verdicts import promised, status_of_failure
from scanner.model.endpoint import Endpoint
from scanner.model.finding import Finding, Severity, Status, Verdict
from scanner.model.observation import JUDGEABLE, Reach
from scanner.model.rule import Case, Rule

_SHOWS_NOTHING = frozenset({Reach.CLOSED, Reach.HUNG_UP, Reach.RESET, Reach.REJECTED, Reach.NAME_REQUIRED})
"""What a proxy does that has no listener for a name, or nothing on a port. Silence shows nothing either way."""
_SHOWN = 3
"""Objects named that lead to one endpoint."""


class _Obstacle(NamedTuple):
    """Why nothing could be asked, and what to do next."""

    status: Status
    happened: str
    next_step: str


_OBSTACLES: Mapping[Reach, _Obstacle] = {
    Reach.CLOSED: _Obstacle("unreachable", "port is closed", "start the listener, or take the address off the list"),
    Reach.FILTERED: _Obstacle(
        "unreachable",
        "the connection was never answered",
        "open the firewall or NetworkPolicy for the scanner, or scan from another place",
    ),
    Reach.UNREACHABLE: _Obstacle(
        "unreachable", "there is no way there", "check the name, DNS and routing from where the scan runs"
    ),
    Reach.HUNG_UP: _Obstacle(
        "not-tested",
        "every connection was accepted and closed without a byte",
        "look into the listener's log: it may restrict source addresses or expect a PROXY header",
    ),
    Reach.RESET: _Obstacle(
        "not-tested",
        "the connection was reset on the ClientHello",
        "look for a firewall or load balancer in between, and into the listener's log",
    ),
    Reach.SILENT: _Obstacle(
        "not-tested",
        "the connection was accepted and nothing was ever said",
        "check that it is a TLS port; a slow listener needs a longer --timeout",
    ),
    Reach.REJECTED: _Obstacle(
        "not-tested",
        "it refused every offer",
        "try another server name (--sni) and look into the listener's log for the reason",
    ),
    Reach.NAME_REQUIRED: _Obstacle(
        "not-tested",
        "it speaks TLS only for a server name that it knows",
        "give that name: tls://address:port#name, or --sni NAME",
    ),
    Reach.MALFORMED: _Obstacle(
        "not-tested",
        "it answered with bytes that are neither TLS nor a protocol that adhere knows",
        "check which protocol the port speaks",
    ),
    Reach.INTERRUPTED: _Obstacle("not-tested", "not finished", "the deadline was reached; raise --deadline"),
}


def check_reach(rule: Rule, case: Case) -> Iterator[Finding]:
    """A listener that should speak TLS does, and can be asked."""
    reach = case.observation.reach
    if reach in JUDGEABLE and case.endpoint.sampled:
        yield _finding(rule, case, "inconclusive", "sampled", _SAMPLED)
    elif reach in JUDGEABLE:
        yield _finding(rule, case, "pass", "ok", "it speaks TLS")
    elif reach in (Reach.PLAINTEXT, Reach.STARTTLS_NEEDED):
        yield _plaintext(rule, case)
    elif reach in _SHOWS_NOTHING and case.expectation.withheld:
        said = f"nothing is served there, as it must be: {case.expectation.withheld}"
        yield _finding(rule, case, "not_applicable", "informational", said)
    elif reach is Reach.CLOSED and _may_be_closed(case.endpoint):
        yield _finding(
            rule, case, "not_applicable", "unreachable", "port is closed; no object declares a listener here"
        )
    elif not case.observation.dialled:
        yield _not_dialled(rule, case)
    else:
        obstacle = _OBSTACLES[reach]
        message = f"{obstacle.happened}: {obstacle.next_step}"
        yield _finding(rule, case, "inconclusive", obstacle.status, message)


def _not_dialled(rule: Rule, case: Case) -> Finding:
    """There is nothing that a command could show again: whoever runs it dials what this scan was not to."""
    leading = dict.fromkeys(each.named for each in case.endpoint.origins)
    origins = ", ".join(list(leading)[:_SHOWN])
    outside = case.endpoint.tunnel is None and origins
    fix = f"check the address in {origins}, which refers to it" if outside else None
    found = _finding(rule, case, "inconclusive", "unreachable", case.observation.detail, fix=fix)
    return replace(found, observed=("not dialled",), reproduce=None, evidence=())


def _may_be_closed(endpoint: Endpoint) -> bool:
    """A port of which nobody says that somebody listens: a container's that is merely listed, a Service's without ready
    endpoints. What an object declares as TLS should be there."""
    return endpoint.certainty == "candidate" or (not endpoint.ready and endpoint.certainty == "hinted")


_SAMPLED = (
    "this address is balanced, and only one of its backends has answered: scan from where they can be dialled, or with "
    "--via port-forward"
)

_CANDIDATE: Mapping[str, tuple[Verdict, Severity]] = {
    "not_applicable": ("not_applicable", "info"),
    "warn": ("fail", "low"),
    "fail": ("fail", "high"),
}


def _plaintext(rule: Rule, case: Case) -> Finding:
    protocol = case.observation.protocol or "an unknown protocol"
    if case.observation.reach is Reach.STARTTLS_NEEDED:
        said = f"it speaks {protocol}, which upgrades to TLS by a command"
        fix = f"give the target as {protocol}://host:port, or serve TLS from the first byte there"
    else:
        said = f"it answers in plaintext ({protocol})"
        declaring = next((each.named for each in case.endpoint.origins if each.reference and not each.foreign), None)
        fix = "enable TLS on the listener, or " + (
            f"correct {declaring}, which declares TLS there" if declaring else "remove it from the targets"
        )
    if case.endpoint.certainty == "hinted":
        hint = f"{said}, and only its name or port suggests that it should: declare it, or name it otherwise"
        return _finding(rule, case, "inconclusive", "not-tls", hint)
    verdict: Verdict = "fail"
    severity = rule.severity
    if case.endpoint.certainty == "candidate":
        verdict, severity = _CANDIDATE[case.policy.plaintext_candidate]
    if verdict != "fail":
        return _finding(rule, case, verdict, "not-tls", f"{said}; no object requires TLS here", severity=severity)
    # An object or the policy file requires TLS here, not the cluster's profile: users are bound too.
    status = status_of_failure(case, "not-tls")
    return promised(_finding(rule, case, "fail", status, said, severity=severity, fix=fix), "not-tls")


def _finding(
    rule: Rule,
    case: Case,
    verdict: Verdict,
    status: Status,
    message: str,
    *,
    severity: Severity | None = None,
    fix: str | None = None,
) -> Finding:
    detail = case.observation.detail
    return Finding(
        rule=rule.id,
        severity=severity or rule.severity,
        verdict=verdict,
        status=status,
        message=message,
        expected=("TLS",),
        observed=(case.observation.reach.value,),
        fix=fix,
        reproduce=remediation.ask(case.endpoint) if verdict in ("fail", "inconclusive") else None,
        evidence=(detail,) if detail else (),
    )


REACH = Rule(id="tls-reach", check=check_reach)


def unfinished(findings: Iterable[Finding], case: Case) -> tuple[Finding, ...]:
    """``findings``, with one in place of all that are open because the scan was stopped during this endpoint."""
    told = tuple(findings)
    is_open = any(each.verdict == "inconclusive" and each.severity != "info" for each in told)
    if case.observation.stopped is None or not is_open:
        return told
    message = f"not finished: the scan was stopped ({case.observation.stopped})"
    stopped = Finding(
        rule=REACH.id, severity=REACH.severity, verdict="inconclusive", status="interrupted", message=message
    )
    settled = (
        each for each in told if each.verdict == "fail" or (each.verdict != "inconclusive" and each.rule != REACH.id)
    )
    return (stopped, *settled)
