"""Server names that no object configures, and every name below a wildcard Route."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.judge import remediation, served
from scanner.judge.verdicts import Tally, Words, conclude, promised
from scanner.kube.maybe import Known, Unknown
from scanner.model.expectation import OtherName
from scanner.model.finding import Finding
from scanner.model.observation import Stray
from scanner.model.rule import Case, Rule


def check_other_names(rule: Rule, case: Case) -> Iterator[Finding]:
    """Names that nobody configured lead nowhere, and around no client validation."""
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
            unclear="what the port does with names that no object gives to it could not be determined",
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


OTHER_NAMES = Rule(id="tls-other-names", check=check_other_names)


def check_subdomain(rule: Rule, case: Case) -> Iterator[Finding]:
    """A Route for a whole subdomain shows its certificate under any name of it."""
    owed = [each for each in case.expectation.other_names if each.owed == "same"]
    if not owed:
        return
    found = {each.name: each for each in case.observation.strays}
    readings = [_wrong_answers(each, found.get(each.name), case) for each in owed]
    wrong = [each.name for each, reading in zip(owed, readings, strict=True) if isinstance(reading, str)]
    finding = conclude(
        rule,
        case,
        Tally(
            seen=tuple(each for each in readings if isinstance(each, str)),
            unknown=tuple(each.reason for each in readings if isinstance(each, Unknown)),
        ),
        Words(
            passed="any name of its subdomain shows the same certificate",
            failed="a name of its subdomain does not show the same certificate",
            unclear="whether any name of its subdomain shows the same certificate could not be determined",
        ),
        expected=(each.because for each in owed),
        fix="see whether the IngressController admits wildcards, and renew the Route",
        reproduce=remediation.scan_as(case.endpoint, wrong),
    )
    yield promised(finding)


def _wrong_answers(owed: OtherName, seen: Stray | None, case: Case) -> str | Unknown | None:
    if seen is None or isinstance(seen.answer, Unknown):
        return Unknown(
            f"{owed.name}: {seen.answer.reason if seen and isinstance(seen.answer, Unknown) else 'not tested'}"
        )
    if seen.answer == "refused":
        return f"{owed.name} is refused"
    same = as_its_own(seen, case)
    if isinstance(same, Unknown):
        return Unknown(f"{owed.name}: {same.reason}")
    subject = served.short(seen.leaf.subject or seen.leaf.sha256) if seen.leaf else "none"
    return None if same else f"{owed.name} is answered with the certificate {subject}"


SUBDOMAIN = Rule(id="tls-subdomain", check=check_subdomain)
