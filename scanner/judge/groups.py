"""Key-exchange groups: the profile's list, and readiness for post-quantum key exchange."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache, lru_cache

from scanner.judge import remediation
from scanner.judge.verdicts import Tally, Words, conclude, forbidden, inconclusive, remark
from scanner.judge.versions import undecided
from scanner.kube.maybe import Unknown
from scanner.kube.tls_profile import Profile
from scanner.model.finding import Finding
from scanner.model.observation import Answers, Observation
from scanner.model.rule import Case, Rule
from scanner.tls import codepoints, names
from scanner.tls.codepoints import TLS12, TLS13

_FIRST_FINITE_FIELD = 0x0100
"""Below are the elliptic curves, which alone can be told apart up to TLS 1.2: few servers follow RFC 7919 there."""


@cache
def known_groups(version: int) -> frozenset[int]:
    """Every known group that can be asked for in ``version``."""
    known = frozenset(g.code for g in codepoints.GROUPS if version >= TLS13 or g.code < _FIRST_FINITE_FIELD)
    return known - frozenset(codepoints.EXPLICIT_CURVES)


def check_groups(rule: Rule, case: Case) -> Iterator[Finding]:
    """The listener accepts no key-exchange group outside the profile's list."""
    enforced = case.policy.groups == "enforced" and case.expectation.groups_configurable
    profile = case.expectation.profile
    if isinstance(profile, Unknown):
        finding = inconclusive(rule, f"the profile is not known: {profile.reason}", [profile.reason])
    elif profile.groups is None:
        finding = remark(rule, f"{profile.name} has no opinion on groups", verdict="not_applicable")
    else:
        finding = _judge(rule, case, profile, profile.groups)
        finding = finding if enforced or finding.verdict != "fail" else _noted(finding)
    yield finding if enforced else replace(finding, severity="info")


def check_pq_readiness(rule: Rule, case: Case) -> Iterator[Finding]:
    """Whether the listener offers a post-quantum key exchange."""
    accepted, unknown = _post_quantum(case.observation)
    if accepted:
        yield remark(rule, "it accepts a post-quantum group", observed=map(names.group_label, accepted))
    elif unknown:
        message = f"whether a post-quantum group is accepted could not be determined: {unknown}"
        yield inconclusive(rule, message, [unknown])
    else:
        yield remark(rule, "no post-quantum group is accepted")


def _judge(rule: Rule, case: Case, profile: Profile, allowed: tuple[int, ...]) -> Finding:
    versions = [v for v in (TLS13, TLS12) if v in case.observation.versions.accepted or v in case.observation.groups]
    seen: dict[int, list[int]] = {}
    unknown = [] if versions else ["neither TLSv1.3 nor TLSv1.2 is known to be accepted"]
    unknown += undecided(case.observation.versions, TLS12)
    for version in versions:
        answers = _answers(case.observation, version)
        split = forbidden(answers, allowed, known_groups(version))
        for code in split.accepted:
            seen.setdefault(code, []).append(version)
        unknown += _untold(version, answers, split.unknown)
    return conclude(
        rule,
        case,
        Tally(seen=tuple(map(_item, seen, seen.values())), unknown=tuple(unknown)),
        Words(
            passed="no group outside the profile is accepted",
            failed=f"it accepts groups outside {profile.name}",
            unclear="whether every group outside the profile is refused could not be determined",
        ),
        expected=_labels(allowed),
        fix=remediation.groups(case.endpoint, case.expectation, allowed),
        reproduce=_reproduce(case, seen),
    )


@lru_cache(maxsize=64)
def _labels(groups: tuple[int, ...]) -> tuple[str, ...]:
    """Cached, because all listeners of a scan owe one of a few profiles."""
    return tuple(map(names.group_label, groups))


def _noted(finding: Finding) -> Finding:
    """What would be a violation, where the policy does not enforce groups."""
    return replace(finding, verdict="pass", status="informational")


def _answers(observation: Observation, version: int) -> Answers:
    return observation.groups.get(version, Answers(unasked="not asked"))


def _untold(version: int, answers: Answers, codes: Iterable[int]) -> Iterator[str]:
    label, reason = names.version_name(version), answers.unasked or "no sound refusal"
    if some := list(codes):
        listed = ", ".join(map(names.group_label, some[:3])) + (", ..." if len(some) > 3 else "")
        yield f"{label}: {len(some)} groups ({reason}): {listed}"
    if not answers.accepted:
        yield f"{label}: no group is known to be accepted ({reason})"


def _item(code: int, versions: list[int]) -> str:
    return f"{names.group_label(code)} in {', '.join(map(names.version_name, versions))}"


def _reproduce(case: Case, seen: dict[int, list[int]]) -> str | None:
    if not seen:
        return None
    version = max(v for versions in seen.values() for v in versions)
    return remediation.ask(
        case.endpoint, version, groups=[code for code, versions in seen.items() if version in versions]
    )


def _is_post_quantum(code: int) -> bool:
    name = names.group_name(code).upper()
    return "MLKEM" in name or "KYBER" in name


@cache
def _known_post_quantum() -> tuple[int, ...]:
    return tuple(filter(_is_post_quantum, known_groups(TLS13)))


def _post_quantum(observation: Observation) -> tuple[list[int], str | None]:
    """The accepted groups with ML-KEM (or its draft), and what is not known where there are none."""
    answers, negotiated = _answers(observation, TLS13), observation.negotiated
    accepted = list(answers.accepted)
    if not isinstance(negotiated, Unknown) and negotiated.group is not None:
        accepted.append(negotiated.group)
    found = [code for code in dict.fromkeys(accepted) if _is_post_quantum(code)]
    if found or observation.versions.state(TLS13) == "refused":
        return found, None
    if any(answers.state(code) == "unknown" for code in _known_post_quantum()):
        return found, answers.unasked or "no sound refusal"
    return found, None


GROUP = Rule(id="tls-group", check=check_groups)

PQ_READINESS = Rule(id="tls-pq-readiness", check=check_pq_readiness)
