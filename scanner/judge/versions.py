"""Versions below the profile's minimum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scanner.judge import remediation
from scanner.judge.verdicts import Tally, Words, conclude, forbidden, inconclusive
from scanner.kube.maybe import Unknown
from scanner.kube.tls_profile import Profile
from scanner.model.finding import SEVERITIES, Finding, Severity
from scanner.model.observation import Answers
from scanner.model.rule import Case, Rule
from scanner.tls import codepoints, names

_SEVERE: Mapping[int, Severity] = {codepoints.SSL2: "critical", codepoints.SSL3: "critical"}
"""SSLv2 and SSLv3 let others read the traffic (DROWN, POODLE; RFC 6176 and RFC 7568 prohibit both)."""


def check_version(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener accepts no protocol version below the profile's minimum."""
    profile = case.expectation.profile
    if isinstance(profile, Unknown):
        yield inconclusive(rule, f"the profile is not known: {profile.reason}", [profile.reason])
        return
    answers = case.observation.versions
    split = forbidden(answers, (v for v in answers.accepted if v >= profile.min_version), _below(profile))
    least = names.version_name(profile.min_version)
    yield conclude(
        rule,
        case,
        Tally(seen=tuple(map(names.version_label, sorted(split.accepted))), unknown=_unknown(answers, profile)),
        Words(
            passed=f"no version below {least} is accepted",
            failed=f"it accepts versions below {least}" + _nothing_better(answers, profile),
            unclear=f"whether versions below {least} are refused could not be determined",
        ),
        severity=severity(split.accepted),
        expected=(f"{least} or later ({profile.name})",),
        fix=remediation.minimum(case.endpoint, case.expectation, profile.min_version),
        reproduce=remediation.ask(case.endpoint, min(split.accepted)) if split.accepted else None,
    )


def severity(accepted: tuple[int, ...]) -> Severity:
    """Of the worst among accepted versions."""
    return max((_SEVERE.get(version, "high") for version in accepted), key=SEVERITIES.index, default="high")


def undecided(answers: Answers, least: int) -> list[str]:
    """Versions from ``least`` on that the listener may or may not speak: whatever they allow is not known either."""
    reason = answers.unasked or "neither accepted nor soundly refused"
    unknown = (v for v in codepoints.VERSIONS if v >= least and answers.state(v) == "unknown")
    return [f"{names.version_name(version)}: whether it is spoken ({reason})" for version in unknown]


def _below(profile: Profile) -> list[int]:
    return [version for version in codepoints.VERSIONS if version < profile.min_version]


def _unknown(answers: Answers, profile: Profile) -> tuple[str, ...]:
    reason = answers.unasked or "neither accepted nor soundly refused"
    unknown = [f"{names.version_name(v)} ({reason})" for v in _below(profile) if answers.state(v) == "unknown"]
    if _nothing_better(answers, profile):
        unknown.append("no allowed version is known to be accepted, so that a refusal proves nothing")
    return tuple(unknown)


def _nothing_better(answers: Answers, profile: Profile) -> str:
    allowed = any(version >= profile.min_version for version in answers.accepted)
    return "" if allowed else ", and none that is allowed"


VERSION = Rule(id="tls-version", check=check_version)
