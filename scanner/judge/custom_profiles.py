"""Rules on configured profiles: Custom profiles, unknown ``tlsAdherence`` values, and overrides of the policy file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scanner.judge.verdicts import listed
from scanner.kube.maybe import Unknown
from scanner.kube.tls_profile import CustomUse, Declared, DroppedName
from scanner.model.expectation import UnknownAdherence
from scanner.model.finding import Finding
from scanner.model.observation import JUDGEABLE
from scanner.model.rule import Case, Rule, ScanRule
from scanner.tls.names import suite_name, version_name


def adherence_findings(values: Iterable[UnknownAdherence]) -> Iterator[Finding]:
    """One finding for each unknown value."""
    for each in values:
        yield from UNKNOWN_ADHERENCE.check(UNKNOWN_ADHERENCE, each)


def check_unknown_adherence(rule: ScanRule, value: UnknownAdherence) -> Iterator[Finding]:
    """`tlsAdherence` has a value that the API knows."""
    yield Finding(
        rule=rule.id,
        severity=rule.severity,
        verdict="fail",
        status="violation",
        message=f"{value.source} has an unknown {value.field.rpartition('.')[2]}: components treat it as strict",
        expected=tuple(value.known),
        observed=(f"{value.source} {value.field}: {value.said}",),
        fix=f"set {value.source} {value.field} to {' or '.join(value.known)}",
        about=f"{value.source} {value.field}",
    )


UNKNOWN_ADHERENCE = ScanRule(id="adherence-unknown", check=check_unknown_adherence)


_SHOWN = 12
"""Suites or names in one sentence."""


def custom_findings(uses: Iterable[CustomUse]) -> Iterator[Finding]:
    """One finding for each Custom profile, and another if components drop names of its list."""
    for use in uses:
        yield from CUSTOM.check(CUSTOM, use)
        yield from DROPPED.check(DROPPED, use)


def check_custom(rule: ScanRule, use: CustomUse) -> Iterator[Finding]:
    """Every component accepts the Custom profile."""
    refused = [(name, read.refused) for name, read in use.readings if read.refused]
    notes = [line for name, read in use.readings for line in _notes(name, read)]
    message = f"{use.reference} has a Custom profile: components apply different parts of it"
    if refused:
        message = f"{use.reference} has a Custom profile that {refused[0][0]} rejects: {refused[0][1]}"
    yield Finding(
        rule=rule.id,
        severity="medium" if refused else "info",
        verdict="fail",
        status="violation" if refused else "informational",
        message=message,
        observed=listed(f"{name}: {_applied(read)}" for name, read in use.readings),
        fix=f"set a separate profile for {refused[0][0]}" if refused else None,
        evidence=listed(notes),
        about=f"{use.reference} {use.field}",
    )


def check_dropped(rule: ScanRule, use: CustomUse) -> Iterator[Finding]:
    """Every component applies every cipher name of a Custom profile."""
    dropping = [(name, read) for name, read in use.readings if read.dropped and not read.refused]
    losses: dict[str, DroppedName] = {}
    for each in (each for _, read in dropping for each in read.dropped):
        losses[each.name] = each if each.certain else losses.get(each.name, each)
    if not losses:
        return
    certain = _certain(losses.values())
    drop = "drop" if certain else "may drop"
    yield Finding(
        rule=rule.id,
        severity=rule.severity,
        verdict="fail" if certain else "inconclusive",
        status="violation" if certain else "not-tested",
        message=f"{use.reference} lists cipher names that components {drop} without an error: {_some(losses)}",
        expected=("OpenSSL names of suites that every component supports",),
        observed=listed(
            f"{name} {'drops' if _certain(read.dropped) else 'may drop'} {_some(each.name for each in read.dropped)}; "
            f"remaining: {_applied(read)}"
            for name, read in dropping
        ),
        fix="; ".join(f"{each.name}: {each.fix}" for each in list(losses.values())[:_SHOWN]),
        evidence=listed(dict.fromkeys(f"{name}: {each.reason}" for name, read in dropping for each in read.dropped)),
        about=f"{use.reference} {use.field}.ciphers",
    )


def _certain(losses: Iterable[DroppedName]) -> bool:
    return any(each.certain for each in losses)


def _some(names: Iterable[str]) -> str:
    every = list(names)
    return ", ".join(every[:_SHOWN]) + (f" and {len(every) - _SHOWN} more" if len(every) > _SHOWN else "")


def _applied(read: Declared) -> str:
    if read.refused:
        return "rejected"
    profile = read.profile
    if profile is None or isinstance(profile, Unknown):
        return profile.reason if isinstance(profile, Unknown) else "uses the profile of the next object"
    suites = ", ".join(suite_name(code) for code in profile.suites[:_SHOWN])
    more = f" and {len(profile.suites) - _SHOWN} more" if len(profile.suites) > _SHOWN else ""
    return f"{version_name(profile.min_version)} or later with {suites or 'no suite'}{more}"


def _notes(name: str, read: Declared) -> Iterator[str]:
    profile = read.profile
    remarks = () if profile is None or isinstance(profile, Unknown) else profile.notes
    for remark in dict.fromkeys((*read.remarks, *remarks)):
        yield f"{name}: {remark}"


CUSTOM = ScanRule(id="profile-custom", check=check_custom)

DROPPED = ScanRule(id="profile-names-dropped", check=check_dropped)

OBJECT_RULES: tuple[ScanRule, ...] = (CUSTOM, DROPPED, UNKNOWN_ADHERENCE)
"""Rules on objects of the cluster, independent of the listeners."""


_LISTENERS = {"metrics": "a metrics listener", "webhook": "a webhook listener", "api": "an aggregated API"}


def check_override(rule: Rule, case: Case) -> Iterator[Finding]:
    """The policy file does not override the cluster's profile for a metrics or webhook listener."""
    role = case.expectation.overridden
    if role is None or case.observation.reach not in JUDGEABLE:  # without TLS there is no profile to deviate from
        return
    decided = next((step for step in case.expectation.because if step.decides), None)
    where = decided.source if decided else "the policy file"
    yield Finding(
        rule=rule.id,
        severity=rule.severity,
        verdict="fail",
        status="violation",
        message=f"the policy file overrides the cluster's profile for {_LISTENERS[role]}",
        expected=("the profile of the cluster",),
        observed=(f"{where}: {decided.said}" if decided else where,),
        fix=f"exclude {_LISTENERS[role]} from the override at {where}",
    )


OVERRIDE = Rule(id="policy-override", check=check_override)
