"""Is every name of a subdomain answered as the Route that has the whole of it?"""

from __future__ import annotations

from collections.abc import Iterator

from scanner.judge import remediation, served
from scanner.judge.other_names import as_its_own
from scanner.judge.verdicts import Tally, Words, conclude, promised
from scanner.kube.maybe import Unknown
from scanner.model.expectation import OtherName
from scanner.model.finding import Finding
from scanner.model.observation import Stray
from scanner.model.rule import Case, Rule


def check_subdomain(rule: Rule, case: Case) -> Iterator[Finding]:
    """A Route for a whole subdomain shows its certificate under any name of it."""
    owed = [each for each in case.expectation.other_names if each.owed == "same"]
    if not owed:
        return
    found = {each.name: each for each in case.observation.strays}
    readings = [_wrong(each, found.get(each.name), case) for each in owed]
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
            unclear="whether any name of its subdomain shows the same certificate could not be told",
        ),
        expected=(each.because for each in owed),
        fix="see whether the IngressController admits wildcards, and renew the Route",
        reproduce=remediation.scan_as(case.endpoint, wrong),
    )
    yield promised(finding)


def _wrong(owed: OtherName, seen: Stray | None, case: Case) -> str | Unknown | None:
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


SUBDOMAIN = Rule(
    id="tls-subdomain",
    check=check_subdomain,
)
