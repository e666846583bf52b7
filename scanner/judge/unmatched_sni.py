"""Server names beside the endpoint's own: unconfigured ones, names below a wildcard Route, and rejected ones."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.judge import remediation, served
from scanner.judge.verdicts import Tally, Words, conclude, promised
from scanner.kube.maybe import Known, Unknown
from scanner.model.expectation import OtherName
from scanner.model.finding import Finding
from scanner.model.observation import Stray
from scanner.model.rule import Case, Rule


def check_unmatched_sni(rule: Rule, case: Case) -> Iterator[Finding]:
    """Server names that no object configures are rejected, and do not bypass client certificate validation."""
    names = [each for each in case.expectation.other_names if each.owed not in ("compared", "same")]
    if not names:
        return
    found = {each.name: each for each in case.observation.strays}
    readings = [(each, _unmatched(each, found.get(each.name), case)) for each in names]
    open_door = any(isinstance(wrong, str) and each.owed == "validated" for each, wrong in readings)
    finding = conclude(
        rule,
        case,
        Tally(
            seen=tuple(wrong for _, wrong in readings if isinstance(wrong, str)),
            unknown=tuple(wrong.reason for _, wrong in readings if isinstance(wrong, Unknown)),
        ),
        Words(
            passed="server names that no object configures are rejected",
            failed="server names that no object configures are served"
            + (" without a client certificate" if open_door else ""),
            unclear="whether server names that no object configures are rejected could not be determined",
        ),
        severity="high" if open_door else None,
        expected=dict.fromkeys(each.because for each in names),
        fix="find the listener, virtual host or default certificate that serves every name, and remove it",
        reproduce=remediation.scan_as(case.endpoint, [each.name for each, wrong in readings if isinstance(wrong, str)]),
    )
    yield promised(finding)


def _unmatched(name: OtherName, seen: Stray | None, case: Case) -> str | Unknown | None:
    if name.owed == "unasked":
        return Unknown(name.because)
    label = f"server name {name.name}" if name.name else "no server name"
    answer = seen.answer if seen else Unknown("not tested")
    if seen is None or isinstance(answer, Unknown):
        return Unknown(f"{label}: {answer.reason if isinstance(answer, Unknown) else answer}")
    if answer == "refused":
        return None
    if name.owed == "default" and (same := has_own_certificate(seen, case)) is not False:
        return Unknown(f"{label}: {same.reason}") if isinstance(same, Unknown) else None
    if name.owed in ("refused", "default"):
        subject = served.short(seen.leaf.subject or seen.leaf.sha256) if seen.leaf else "a certificate"
        return f"{label}: served with the certificate {subject}"
    if isinstance(seen.client_certificate, Unknown):
        return Unknown(f"{label}: {seen.client_certificate.reason}")
    return f"{label}: no client certificate is requested" if seen.client_certificate == "none" else None


def has_own_certificate(seen: Stray, case: Case) -> Known[bool]:
    """True if the name is served with one of the endpoint's own certificates."""
    chains = case.observation.chain
    if isinstance(chains, Unknown):
        return chains
    leaves = {each[0].sha256 for each in (chains, *case.observation.other_chains) if each}
    return seen.leaf is not None and seen.leaf.sha256 in leaves


UNMATCHED_SNI = Rule(id="tls-other-names", check=check_unmatched_sni)


def check_subdomain(rule: Rule, case: Case) -> Iterator[Finding]:
    """A Route for a subdomain serves the same certificate for every name below it."""
    names = [each for each in case.expectation.other_names if each.owed == "same"]
    if not names:
        return
    found = {each.name: each for each in case.observation.strays}
    readings = [_other_certificate(each, found.get(each.name), case) for each in names]
    wrong = [each.name for each, reading in zip(names, readings, strict=True) if isinstance(reading, str)]
    finding = conclude(
        rule,
        case,
        Tally(
            seen=tuple(each for each in readings if isinstance(each, str)),
            unknown=tuple(each.reason for each in readings if isinstance(each, Unknown)),
        ),
        Words(
            passed="every tested name of the Route's subdomain serves the same certificate",
            failed="a name of the Route's subdomain does not serve the same certificate",
            unclear="whether every name of the Route's subdomain serves the same certificate could not be determined",
        ),
        expected=(each.because for each in names),
        fix="check that the IngressController admits wildcards (spec.routeAdmission.wildcardPolicy), and recreate the "
        "Route",
        reproduce=remediation.scan_as(case.endpoint, wrong),
    )
    yield promised(finding)


def _other_certificate(name: OtherName, seen: Stray | None, case: Case) -> str | Unknown | None:
    if seen is None or isinstance(seen.answer, Unknown):
        reason = seen.answer.reason if seen and isinstance(seen.answer, Unknown) else "not tested"
        return Unknown(f"{name.name}: {reason}")
    if seen.answer == "refused":
        return f"{name.name} is refused"
    same = has_own_certificate(seen, case)
    if isinstance(same, Unknown):
        return Unknown(f"{name.name}: {same.reason}")
    subject = served.short(seen.leaf.subject or seen.leaf.sha256) if seen.leaf else "none"
    return None if same else f"{name.name} is served with the certificate {subject}"


SUBDOMAIN = Rule(id="tls-subdomain", check=check_subdomain)


def check_rejected_name(rule: Rule, case: Case) -> Iterator[Finding]:
    """No certificate is served for a server name that an object declares and the controller rejected."""
    why = case.expectation.rejection
    if not why:
        return
    leaf = served.leaf(case)
    if isinstance(leaf, Unknown):
        tally: Tally[str] = Tally(unknown=(leaf.reason,))
    else:
        tally = Tally(seen=(f"the certificate {served.short(leaf.subject or leaf.sha256)}",))
    finding = conclude(
        rule,
        case,
        tally,
        Words(
            passed="",  # a certificate is seen or unknown
            failed=f"a certificate is served for a rejected server name: {why}",
            unclear="whether a certificate is served for this rejected server name could not be determined",
        ),
        expected=(f"no certificate: {why}",),
        fix="correct what the object's status reports, and find out why the proxy serves the name",
        reproduce=remediation.scan(case.endpoint) if tally.seen else None,
    )
    yield promised(finding)


REJECTED_NAME = Rule(id="tls-withheld", check=check_rejected_name)
