"""Reachability: each outcome of connecting (``Reach``) as a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from scanner.judge import remediation
from scanner.judge.verdicts import promised, status_of_failure
from scanner.kube.hostnames import parse_zoned_address
from scanner.model.endpoint import Endpoint
from scanner.model.finding import Finding, Severity, Status, Verdict
from scanner.model.observation import JUDGEABLE, Reach
from scanner.model.rule import Case, Rule
from scanner.values import replace

_SHOWS_NOTHING = frozenset({Reach.CLOSED, Reach.HUNG_UP, Reach.RESET, Reach.REJECTED, Reach.NAME_REQUIRED})
"""Outcomes that prove that no listener serves the name. Silence proves nothing."""
_SHOWN = 3
"""Objects named that lead to one endpoint."""


class _Obstacle(NamedTuple):
    """Reason why there is no TLS to judge, and the next step."""

    status: Status
    happened: str
    next_step: str


_OBSTACLES: Mapping[Reach, _Obstacle] = {
    Reach.CLOSED: _Obstacle("unreachable", "port is closed", "start the listener, or take the address off the list"),
    Reach.FILTERED: _Obstacle(
        "unreachable",
        "no answer to the connection attempt",
        "open the firewall or NetworkPolicy for the scanner, or scan from another place",
    ),
    Reach.UNREACHABLE: _Obstacle(
        "unreachable", "no route to the address", "check the name, DNS and routing on the machine that scans"
    ),
    Reach.HUNG_UP: _Obstacle(
        "not-tested",
        "connections are accepted and closed without a byte",
        "check the listener's log: it may restrict source addresses or expect a PROXY header",
    ),
    Reach.RESET: _Obstacle(
        "not-tested",
        "the connection was reset after the ClientHello",
        "check firewalls and load balancers in the path, and the listener's log",
    ),
    Reach.SILENT: _Obstacle(
        "not-tested",
        "the connection was accepted, but no byte was received",
        "check that it is a TLS port; for a slow listener raise --timeout",
    ),
    Reach.REJECTED: _Obstacle(
        "not-tested",
        "it refused every ClientHello",
        "try another server name (--sni), and check the listener's log for the reason",
    ),
    Reach.NAME_REQUIRED: _Obstacle(
        "not-tested",
        "it accepts TLS only with a server name that it knows",
        "add that name: tls://address:port#name, or --sni NAME",
    ),
    Reach.MALFORMED: _Obstacle(
        "not-tested",
        "it answered with bytes of an unknown protocol, not TLS",
        "check which protocol the port uses",
    ),
    Reach.INTERRUPTED: _Obstacle(
        "not-tested", "not finished", "the deadline was reached; raise --deadline, or --time-limit of adhere node"
    ),
}


def check_reach(rule: Rule, case: Case) -> Iterator[Finding]:
    """A listener that should speak TLS is reachable and speaks TLS."""
    reach = case.observation.reach
    if reach in JUDGEABLE and case.endpoint.sampled:
        yield _finding(rule, case, "inconclusive", "sampled", _SAMPLED)
    elif reach in JUDGEABLE:
        yield _finding(rule, case, "pass", "ok", "it speaks TLS")
    elif reach in (Reach.PLAINTEXT, Reach.STARTTLS_NEEDED):
        yield _plaintext(rule, case)
    elif reach in _SHOWS_NOTHING and (why := case.expectation.rejection or case.expectation.refusal):
        message = f"not served, as expected: {why}"
        yield _finding(rule, case, "not_applicable", "informational", message)
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
    """An endpoint outside the dial scope, or for which no time was left. No reproduce command: it would connect to an
    address that the scope excludes."""
    if case.observation.reach is Reach.INTERRUPTED:
        found = _finding(rule, case, "inconclusive", "not-tested", case.observation.detail)
        return replace(found, observed=("no connection attempted",), reproduce=None, evidence=())
    named = dict.fromkeys(each.named for each in case.endpoint.origins)
    origins = ", ".join(list(named)[:_SHOWN])
    outside = case.endpoint.tunnel is None and origins
    fix = f"if the address in {origins} is intended, use --allow-external; otherwise correct it" if outside else None
    meant = parse_zoned_address(case.endpoint.address)
    if outside and meant is not None and meant.is_loopback:
        fix = f"use --allow-loopback if the cluster runs on this machine; otherwise correct the address in {origins}"
    found = _finding(rule, case, "inconclusive", "unreachable", case.observation.detail, fix=fix)
    return replace(found, observed=("no connection attempted",), reproduce=None, evidence=())


def _may_be_closed(endpoint: Endpoint) -> bool:
    """True for a port that need not have a listener: a mere container port, or a Service's without ready endpoints."""
    if endpoint.network is not None:  # its socket was seen to listen
        return False
    return endpoint.certainty == "candidate" or (not endpoint.ready and endpoint.certainty == "hinted")


_SAMPLED = (
    "this address is a load balancer, so only one of its backends was tested: scan from a place that reaches every "
    "backend, or with --via port-forward"
)

_CANDIDATE: Mapping[str, tuple[Verdict, Severity]] = {
    "not_applicable": ("not_applicable", "info"),
    "warn": ("fail", "low"),
    "fail": ("fail", "high"),
}


def _plaintext(rule: Rule, case: Case) -> Finding:
    protocol = case.observation.protocol or "an unknown protocol"
    if case.observation.reach is Reach.STARTTLS_NEEDED:
        message = f"it speaks {protocol}, which starts TLS with a command (STARTTLS)"
        fix = f"write the target as {protocol}://host:port, or serve TLS from the first byte"
    else:
        message = f"it answers in plaintext ({protocol})"
        declaring = next((each.named for each in case.endpoint.origins if each.reference and not each.foreign), None)
        fix = "enable TLS on the listener, or " + (
            f"correct {declaring}, which declares TLS there" if declaring else "remove it from the targets"
        )
    if case.endpoint.certainty == "hinted":
        hint = f"{message}, but its name or port suggests TLS: declare TLS in an object, or rename the port"
        return _finding(rule, case, "inconclusive", "not-tls", hint)
    verdict: Verdict = "fail"
    severity = rule.severity
    if case.endpoint.certainty == "candidate":
        verdict, severity = _CANDIDATE[case.policy.plaintext_candidate]
    if verdict != "fail":
        return _finding(rule, case, verdict, "not-tls", f"{message}; no object requires TLS here", severity=severity)
    # An object or the policy file requires TLS here, not the cluster's profile, so it is enforced for users too.
    status = status_of_failure(case, "not-tls")
    return promised(_finding(rule, case, "fail", status, message, severity=severity, fix=fix), "not-tls")


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
    """``findings``; if the scan of this endpoint was stopped, one "not finished" replaces all inconclusive ones."""
    every = tuple(findings)
    undecided = any(each.verdict == "inconclusive" and each.severity != "info" for each in every)
    if case.observation.stopped is None or not undecided:
        return every
    message = f"not finished: the scan was stopped ({case.observation.stopped})"
    stopped = Finding(
        rule=REACH.id, severity=REACH.severity, verdict="inconclusive", status="interrupted", message=message
    )
    decided = (
        each for each in every if each.verdict == "fail" or (each.verdict != "inconclusive" and each.rule != REACH.id)
    )
    return (stopped, *decided)
