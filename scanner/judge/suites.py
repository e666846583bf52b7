"""Cipher suites outside the profile's list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache

from scanner.judge import remediation
from scanner.judge.verdicts import Tally, Words, conclude, forbidden, inconclusive
from scanner.judge.versions import undecided
from scanner.kube.maybe import Unknown
from scanner.kube.tls_profile import Profile
from scanner.model.expectation import Expectation
from scanner.model.finding import Finding, Severity
from scanner.model.observation import Answers, Observation
from scanner.model.rule import Case, Rule
from scanner.model.weak_suites import weakness
from scanner.tls import codepoints, names

TLS13_ALWAYS = (0x1301, 0x1302, 0x1303)
"""The three suites of RFC 8446, appendix B.4, that every TLS 1.3 library enables; Go's cannot switch them off."""


def check_suites(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener accepts no cipher suite outside the profile's set."""
    profile = case.expectation.profile
    if isinstance(profile, Unknown):
        yield inconclusive(rule, f"the profile is not known: {profile.reason}", [profile.reason])
        return
    seen = _seen(case, profile)
    yield conclude(
        rule,
        case,
        Tally(seen=tuple(map(_item, seen, seen.values())), unknown=_unknown(case, profile)),
        Words(
            passed="no suite outside the profile is accepted",
            failed=_failed(seen, profile),
            unclear="whether every suite outside the profile is refused could not be determined",
        ),
        severity=severity(seen),
        expected=_allowed(profile, case.expectation).values(),
        fix=remediation.suites(case.endpoint, case.expectation, profile.suites),
        reproduce=_reproduce(case, seen),
    )


def severity(accepted: Mapping[int, object]) -> Severity:
    """High where a bystander can read or alter one of them today. The others are medium, however weak: wrong under the
    profile."""
    worst = any(each.severity == "high" for each in filter(None, map(weakness, accepted)))
    return "high" if worst else "medium"


@cache
def _known(version: int) -> frozenset[int]:
    """TLS 1.3 has suites of its own, and the earlier versions share the others (RFC 8446, appendix B.4)."""
    return frozenset(s.code for s in codepoints.ALL_SUITES if names.is_tls13(s.code) == (version >= codepoints.TLS13))


def _allowed(profile: Profile, expectation: Expectation) -> Mapping[int, str]:
    """The allowed suites with their names: in the profile's order, then those that are always allowed."""
    return _labelled((*profile.suites, *(() if expectation.tls13_suites_configurable else TLS13_ALWAYS)))


@lru_cache(maxsize=64)
def _labelled(suites: tuple[int, ...]) -> Mapping[int, str]:
    """Cached, because all listeners of a scan owe one of a few profiles."""
    return {code: names.suite_label(code) for code in suites}


def _spoken(observation: Observation) -> list[int]:
    """Versions that were accepted or in which a suite was, newest first. SSLv2 has suites of another kind."""
    spoken = {*observation.versions.accepted, *(v for v, answers in observation.suites.items() if answers.accepted)}
    return sorted((v for v in spoken if v > codepoints.SSL2), reverse=True)


def _answers(observation: Observation, version: int) -> Answers:
    return observation.suites.get(version, Answers(unasked=f"no suites were asked for {names.version_name(version)}"))


def _seen(case: Case, profile: Profile) -> dict[int, list[int]]:
    """Suite outside the set to the versions in which it was accepted."""
    allowed = _allowed(profile, case.expectation)
    seen: dict[int, list[int]] = {}
    for version in _spoken(case.observation):
        for code in forbidden(_answers(case.observation, version), allowed, ()).accepted:
            seen.setdefault(code, []).append(version)
    return seen


def _unknown(case: Case, profile: Profile) -> tuple[str, ...]:
    allowed = _allowed(profile, case.expectation)
    versions = [v for v in _spoken(case.observation) if v >= profile.min_version]
    unknown = [] if versions else ["no version that the profile allows is known to be accepted"]
    unknown += undecided(case.observation.versions, profile.min_version)
    for version in versions:
        answers = _answers(case.observation, version)
        if codes := forbidden(answers, allowed, _known(version)).unknown:
            unknown.append(_untold(version, codes, answers.unasked))
        if not answers.accepted:
            unknown.append(f"{names.version_name(version)}: no suite is known to be accepted")
    return tuple(unknown)


def _untold(version: int, codes: tuple[int, ...], reason: str | None) -> str:
    some = ", ".join(map(names.suite_label, codes[:3])) + (", ..." if len(codes) > 3 else "")
    return f"{names.version_name(version)}: {len(codes)} suites ({reason or 'no sound refusal'}): {some}"


def _item(code: int, versions: list[int]) -> str:
    return f"{names.suite_label(code)} in {', '.join(map(names.version_name, versions))}"


def _failed(seen: Mapping[int, list[int]], profile: Profile) -> str:
    text = f"it accepts cipher suites outside {profile.name}"
    if seen and all(max(versions) < profile.min_version for versions in seen.values()):
        return f"{text}, all in versions that are not allowed (tls-version)"
    return text


def _reproduce(case: Case, seen: Mapping[int, list[int]]) -> str | None:
    if not seen:
        return None
    version = max(v for versions in seen.values() for v in versions)
    return remediation.ask(
        case.endpoint, version, suites=[code for code, versions in seen.items() if version in versions]
    )


SUITE = Rule(id="tls-cipher-suite", check=check_suites)
