"""The listener's versions, cipher suites and key-exchange groups, compared with the profile's."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Final

from scanner.judge import remediation
from scanner.judge.verdicts import Tally, Words, conclude, forbidden, inconclusive, promised, remark
from scanner.kube.maybe import Unknown
from scanner.kube.tls_profile import Profile
from scanner.model.expectation import Expectation
from scanner.model.finding import SEVERITIES, Finding, Severity
from scanner.model.observation import ENOUGH, Answers, Observation
from scanner.model.rule import Case, Rule
from scanner.model.weak_suites import weakness
from scanner.tls import codepoints, names
from scanner.tls.codepoints import TLS12, TLS13
from scanner.values import replace

_SEVERE: Mapping[int, Severity] = {codepoints.SSL2: "critical", codepoints.SSL3: "critical"}
"""SSLv2 and SSLv3 let others read the traffic (DROWN, POODLE; RFC 6176 and RFC 7568 prohibit both)."""
_NOT_REFUSED = "neither accepted nor clearly refused"


def check_version(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener accepts no protocol version below the profile's minimum."""
    profile = case.expectation.profile
    if isinstance(profile, Unknown):
        yield _without_profile(rule, profile)
        return
    answers = case.observation.versions
    split = forbidden(answers, (v for v in answers.accepted if v >= profile.min_version), _below(profile))
    least = names.version_name(profile.min_version)
    no_better = not any(version >= profile.min_version for version in answers.accepted)
    reason = answers.unasked or _NOT_REFUSED
    unknown = [f"{names.version_name(v)} ({reason})" for v in _below(profile) if answers.state(v) == "unknown"]
    if no_better:
        unknown.append("no allowed version is known to be accepted, so a refusal proves nothing")
    yield conclude(
        rule,
        case,
        Tally(seen=tuple(map(names.version_label, sorted(split.accepted))), unknown=tuple(unknown)),
        Words(
            passed=f"no version below {least} is accepted",
            failed=f"it accepts versions below {least}" + (", and no allowed version" if no_better else ""),
            unclear=f"whether versions below {least} are refused could not be determined",
        ),
        severity=version_severity(split.accepted),
        expected=(f"{least} or later ({profile.name})",),
        fix=remediation.minimum(case.endpoint, case.expectation, profile.min_version),
        reproduce=_reproduce_version(case, split.accepted),
    )


def _without_profile(rule: Rule, profile: Unknown) -> Finding:
    return inconclusive(rule, f"the profile is unknown: {profile.reason}", [profile.reason])


def version_severity(accepted: tuple[int, ...]) -> Severity:
    """The highest severity among accepted versions."""
    return max((_SEVERE.get(version, "high") for version in accepted), key=SEVERITIES.index, default="high")


def _below(profile: Profile) -> list[int]:
    return [version for version in codepoints.VERSIONS if version < profile.min_version]


def _undecided(answers: Answers, least: int) -> list[str]:
    """Versions from ``least`` on that may be accepted or refused: what they allow is then unknown too."""
    reason = answers.unasked or _NOT_REFUSED
    unknown = (v for v in codepoints.VERSIONS if v >= least and answers.state(v) == "unknown")
    return [f"unknown whether {names.version_name(version)} is accepted ({reason})" for version in unknown]


VERSION = Rule(id="tls-version", check=check_version)


TLS13_ALWAYS = (0x1301, 0x1302, 0x1303)
"""The three suites of RFC 8446, appendix B.4, that every TLS 1.3 library enables; Go's cannot disable them."""


def check_suites(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener accepts no cipher suite outside the profile's set."""
    profile = case.expectation.profile
    if isinstance(profile, Unknown):
        yield _without_profile(rule, profile)
        return
    observation, allowed = case.observation, _allowed_suites(profile, case.expectation)
    seen: dict[int, list[int]] = {}
    for version in _accepted_versions(observation):
        for code in forbidden(_suite_answers(observation, version), allowed, ()).accepted:
            seen.setdefault(code, []).append(version)
    more = ("perhaps more",) if any(each.unasked == ENOUGH for each in observation.suites.values()) else ()
    text = f"it accepts cipher suites outside {profile.name}"
    if all(max(versions) < profile.min_version for versions in seen.values()):
        text += ", but only in versions that are not allowed (see tls-version)"
    yield conclude(
        rule,
        case,
        Tally(seen=(*_items(seen, names.suite_label), *more), unknown=_unknown_suites(observation, profile, allowed)),
        Words(
            passed="no suite outside the profile is accepted",
            failed=text,
            unclear="whether every suite outside the profile is refused could not be determined",
        ),
        severity=suite_severity(seen),
        expected=allowed.values(),
        fix=remediation.suites(case.endpoint, case.expectation, profile.suites),
        reproduce=_reproduce(case, seen, "suites"),
    )


def suite_severity(accepted: Mapping[int, object]) -> Severity:
    """High if an eavesdropper can read or alter the traffic of one of them today, else medium."""
    worst = any(each.severity == "high" for each in filter(None, map(weakness, accepted)))
    return "high" if worst else "medium"


@cache
def _known_suites(version: int) -> frozenset[int]:
    """TLS 1.3 has suites of its own; the earlier versions share the others (RFC 8446, appendix B.4)."""
    return frozenset(s.code for s in codepoints.ALL_SUITES if names.is_tls13(s.code) == (version >= TLS13))


def _allowed_suites(profile: Profile, expectation: Expectation) -> Mapping[int, str]:
    """The allowed suites with their names: in the profile's order, then those that are always allowed."""
    always = () if expectation.tls13_suites_configurable else TLS13_ALWAYS
    return _labelled_suites((*profile.suites, *always))


@lru_cache(maxsize=64)
def _labelled_suites(suites: tuple[int, ...]) -> Mapping[int, str]:
    """Cached, because the listeners of a scan have few different profiles."""
    return {code: names.suite_label(code) for code in suites}


def _accepted_versions(observation: Observation) -> list[int]:
    """Versions that were accepted or in which a suite was, newest first. SSLv2 has suites of another kind."""
    versions = {*observation.versions.accepted, *(v for v, answers in observation.suites.items() if answers.accepted)}
    return sorted((v for v in versions if v > codepoints.SSL2), reverse=True)


def _suite_answers(observation: Observation, version: int) -> Answers:
    return observation.suites.get(version, Answers(unasked=f"no suites were asked for {names.version_name(version)}"))


def _unknown_suites(observation: Observation, profile: Profile, allowed: Mapping[int, str]) -> tuple[str, ...]:
    versions = [v for v in _accepted_versions(observation) if v >= profile.min_version]
    unknown = [] if versions else ["no version that the profile allows is known to be accepted"]
    unknown += _undecided(observation.versions, profile.min_version)
    for version in versions:
        answers = _suite_answers(observation, version)
        if codes := forbidden(answers, allowed, _known_suites(version)).unknown:
            unknown.append(_unanswered(version, "suites", list(map(names.suite_label, codes)), answers))
        if not answers.accepted:
            unknown.append(f"{names.version_name(version)}: no suite is known to be accepted")
    return tuple(unknown)


def _unanswered(version: int, what: str, labels: Sequence[str], answers: Answers) -> str:
    some = ", ".join(labels[:3]) + (", ..." if len(labels) > 3 else "")
    return f"{names.version_name(version)}: {len(labels)} {what} ({answers.unasked or 'no clear refusal'}): {some}"


def _items(seen: Mapping[int, list[int]], label: Callable[[int], str]) -> tuple[str, ...]:
    return tuple(f"{label(code)} in {', '.join(map(names.version_name, versions))}" for code, versions in seen.items())


def _reproduce(case: Case, seen: Mapping[int, list[int]], what: str) -> str | None:
    """The command that asks for the items in the newest version that accepted one."""
    if not seen:
        return None
    version = max(v for versions in seen.values() for v in versions)
    codes = [code for code, versions in seen.items() if version in versions]
    return remediation.ask(case.endpoint, version, **{what: codes}, attempts=case.observation.attempts)


def _reproduce_version(case: Case, accepted: Collection[int]) -> str | None:
    return remediation.ask(case.endpoint, min(accepted), attempts=case.observation.attempts) if accepted else None


SUITE = Rule(id="tls-cipher-suite", check=check_suites)


_FIRST_FINITE_FIELD = 0x0100
"""Lower numbers are elliptic curves: up to TLS 1.2 only those can be distinguished, as few servers follow RFC 7919."""


@cache
def known_groups(version: int) -> frozenset[int]:
    """Every known group that can be asked for in ``version``."""
    known = frozenset(group.code for group in codepoints.GROUPS)
    if version >= TLS13:
        return known - codepoints.OBSOLETE_GROUPS
    return frozenset(code for code in known if code < _FIRST_FINITE_FIELD).difference(codepoints.EXPLICIT_CURVES)


def check_groups(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener accepts no key-exchange group outside the profile's list."""
    stated, profile = case.expectation.stated_groups, case.expectation.profile
    required = case.policy.groups == "enforced" or stated is not None
    enforced = required and case.expectation.groups_configurable
    if isinstance(profile, Unknown):
        finding = _without_profile(rule, profile)
    elif stated is not None and stated.unknown:
        finding = inconclusive(rule, f"the required groups are unknown: {stated.unknown}", [stated.unknown])
    elif profile.groups is None:
        finding = remark(rule, f"{profile.name} does not restrict groups", verdict="not_applicable")
    else:
        finding = _compared_groups(rule, case, profile, profile.groups)
        if not enforced and finding.verdict == "fail":
            finding = _not_enforced(case, finding, required=required)
    yield finding if enforced else replace(finding, severity="info")


def _not_enforced(case: Case, failure: Finding, *, required: bool) -> Finding:
    """A failure that is no violation: nothing requires groups, or the program cannot restrict them."""
    program = case.expectation.without_groups
    if not (required and program):
        return replace(failure, verdict="pass", status="informational")
    return replace(failure, status="not-implemented", message=f"{failure.message}; {program} has no setting for groups")


def _compared_groups(rule: Rule, case: Case, profile: Profile, allowed: tuple[int, ...]) -> Finding:
    observation = case.observation
    versions = [v for v in (TLS13, TLS12) if v in observation.versions.accepted or v in observation.groups]
    seen: dict[int, list[int]] = {}
    unknown = [] if versions else ["neither TLSv1.3 nor TLSv1.2 is known to be accepted"]
    unknown += _undecided(observation.versions, TLS12)
    for version in versions:
        answers = _group_answers(observation, version)
        split = forbidden(answers, allowed, known_groups(version))
        for code in split.accepted:
            seen.setdefault(code, []).append(version)
        if split.unknown:
            unknown.append(_unanswered(version, "groups", list(map(names.group_label, split.unknown)), answers))
        if not answers.accepted:
            reason = answers.unasked or "no clear refusal"
            unknown.append(f"{names.version_name(version)}: no group is known to be accepted ({reason})")
    return conclude(
        rule,
        case,
        Tally(seen=_items(seen, names.group_label), unknown=tuple(unknown)),
        Words(
            passed="no group outside the profile is accepted",
            failed=f"it accepts groups outside {profile.name}",
            unclear="whether every group outside the profile is refused could not be determined",
        ),
        expected=_group_labels(allowed),
        fix=remediation.groups(case.endpoint, case.expectation, allowed),
        reproduce=_reproduce(case, seen, "groups"),
    )


@lru_cache(maxsize=64)
def _group_labels(groups: tuple[int, ...]) -> tuple[str, ...]:
    """Cached, because the listeners of a scan have few different profiles."""
    return tuple(map(names.group_label, groups))


def _group_answers(observation: Observation, version: int) -> Answers:
    return observation.groups.get(version, Answers(unasked="not asked"))


GROUP = Rule(id="tls-group", check=check_groups)


def check_pq_readiness(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener offers a post-quantum key exchange."""
    if case.policy.post_quantum:
        yield _required_ml_kem(rule, case, case.policy.post_quantum)
        return
    accepted, unknown = _accepted_of(case.observation, _post_quantum_groups())
    if accepted:
        message = "it accepts a post-quantum group"
        yield remark(rule, message, verdict="not_applicable", observed=map(names.group_label, accepted))
    elif unknown:
        message = f"whether a post-quantum group is accepted could not be determined: {unknown}"
        yield inconclusive(rule, message, [unknown])
    else:
        yield remark(rule, "no post-quantum group is accepted", verdict="not_applicable")


def _required_ml_kem(rule: Rule, case: Case, severity: Severity) -> Finding:
    """The finding if the policy requires ML-KEM. The drafts with Kyber are no ML-KEM, and do not count."""
    accepted, unknown = _accepted_of(case.observation, _post_quantum_groups("MLKEM"))
    refused = case.observation.versions.state(TLS13) == "refused"
    missing = "TLSv1.3 is refused" if refused else "no group with ML-KEM is accepted"
    finding = conclude(
        rule,
        case,
        Tally(unknown=(unknown,)) if unknown else Tally(seen=() if accepted else (missing,)),
        Words(
            passed="it accepts a group with ML-KEM",
            failed="it accepts no group with ML-KEM, which the policy requires",
            unclear="whether a group with ML-KEM is accepted could not be determined",
        ),
        expected=(f"TLSv1.3 with {names.group_label(_X25519MLKEM768)} or another group with ML-KEM",),
        fix=remediation.post_quantum(case.endpoint, case.expectation),
    )
    return replace(promised(finding), severity=severity)


_X25519MLKEM768: Final = 0x11EC


@cache
def _post_quantum_groups(*kinds: str) -> tuple[int, ...]:
    """The known groups with ML-KEM, and those of its draft unless ``kinds`` excludes them."""
    known = ((code, names.group_name(code).upper()) for code in sorted(known_groups(TLS13)))
    return tuple(code for code, name in known if any(kind in name for kind in kinds or ("MLKEM", "KYBER")))


@cache
def classical_groups() -> frozenset[int]:
    """Every known group that is not post-quantum."""
    return known_groups(TLS13).difference(_post_quantum_groups())


def _accepted_of(observation: Observation, codes: Sequence[int]) -> tuple[list[int], str | None]:
    """The accepted groups among ``codes``, and the reason why there may be some if none is known."""
    answers, negotiated = _group_answers(observation, TLS13), observation.negotiated
    accepted = list(answers.accepted)
    if not isinstance(negotiated, Unknown) and negotiated.group is not None:
        accepted.append(negotiated.group)
    found = [code for code in dict.fromkeys(accepted) if code in codes]
    if found or observation.versions.state(TLS13) == "refused":
        return found, None
    if any(answers.state(code) == "unknown" for code in codes):
        return found, answers.unasked or "no clear refusal"
    return found, None


PQ_READINESS = Rule(id="tls-pq-readiness", check=check_pq_readiness)
