"""Rule that a certificate's key is the one that the PKI configuration required when it was issued. No I/O.

A configuration applies at the next rotation only (the enhancement, "Non-Goals"): a certificate that is older than the
last change of the configuration counts as correct when it was issued, unless an earlier configuration is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from typing import get_args

from scanner.kube.maybe import Unknown
from scanner.model.expectation import Because
from scanner.model.finding import Finding, Severity, Status, Verdict
from scanner.model.pki_config import RSA_2048, Algorithm, Key, Required, key_of
from scanner.model.rule import ScanRule
from scanner.model.well_known import Owner, WellKnown
from scanner.pki.config import RECOMMENDED
from scanner.pki.governing import Past, in_force
from scanner.pki.renewal import fix_of, renewal
from scanner.pki.resolution import Category, required
from scanner.pki.subject import LONGEST_NAME, Subject, finding
from scanner.tls.certificate import CertificateFacts
from scanner.values import replace

BACK_DATED = timedelta(hours=1)
"""Most time by which a signer sets notBefore into the past because of clock differences (library-go ``pkg/crypto``: one
second; others use minutes)."""


def check_key(rule: ScanRule, subject: Subject) -> Iterator[Finding]:
    """The key of every certificate of the platform is the one that the PKI configuration requires."""
    classified = subject.classified
    if not classified.governed and not classified.judged:
        return
    key = key_of(subject.held.facts)
    if subject.successor is not None:
        yield _superseded(rule, subject, subject.successor)
        return
    if isinstance(key, Unknown):
        yield _finding(rule, subject, Required(), "inconclusive", "not-tested", key.reason)
        return
    category: Category = classified.category
    requirement, named = required(subject.config, category, _called(subject)), classified.governed is True
    match requirement.fit(key):
        case "unrequired":
            return
        case "met" | "stronger" if not named:
            return  # another name may ask for another key: it is not known to be as required
        case "met":
            yield _finding(rule, subject, requirement, "pass", "ok", f"its key is {key}, as it should be")
        case "stronger":
            text = f"its key is {key}, stronger than what is configured ({_described(requirement)})"
            yield _finding(rule, subject, requirement, "pass", "informational", text, severity="info")
        case "unknown":
            text = f"its key is {key}, and it is unknown whether that is correct: {_doubt(requirement)}"
            yield _finding(rule, subject, requirement, "inconclusive", "not-tested", text)
        case "violated" if not named and not classified.likely:
            text = (
                f"its key is {key}; if the platform issued it, {_described(requirement)} is required: {classified.why}"
            )
            yield _finding(rule, subject, requirement, "inconclusive", "not-tested", text)
        case "violated":
            yield _deviation(rule, subject, requirement, key)


def _deviation(rule: ScanRule, subject: Subject, requirement: Required, key: Key) -> Finding:
    """The finding for a key that differs from the required one."""
    deviation = _wrong(subject, requirement, key)
    by_installer = subject.config.shape == "install-config"  # the installer creates all of them
    makers = subject.classified.makers
    if makers and not by_installer and not any(each.implements for each in makers):
        return _not_implemented(rule, subject, requirement, f"{deviation}; {_unready(makers[0])}")
    if key.algorithm not in get_args(Algorithm):
        text = f"{deviation}; no earlier configuration can have required {key}"
        return _finding(rule, subject, requirement, "fail", "violation", text, fix=fix_of(subject))
    recommended = not _configured(requirement) and subject.config.platform == RECOMMENDED
    if not _configured(requirement) and not recommended:
        return _finding(rule, subject, requirement, "fail", "violation", deviation, fix=fix_of(subject))
    made, since = subject.made, subject.config.since
    then = None if made is None else _then(subject, made)
    # The API's text says that mode Default changes nothing yet, so the usual key of operators is no violation.
    usual = recommended and Required(key=RSA_2048).fit(key) == "met"
    if usual and (made is None or (then is None if since is None else made - since > BACK_DATED)):
        text = f"{deviation}; its operator does not follow the PKI object yet, which the API's documentation allows"
        return _not_implemented(rule, subject, requirement, text)
    if made is None or (since is None and then is None):
        text = f"{deviation}; it is unknown whether it was issued before this was configured"
        return _finding(rule, subject, requirement, "inconclusive", "not-tested", text)
    before = None if then is None else required(then.config, subject.classified.category, _called(subject))
    # An object may have had no effect for a while, because the feature gate was off.
    was_right = before is not None and before.fit(key) in ("unrequired", "met", "stronger")
    if since is not None and made - since > BACK_DATED and not was_right:
        until = subject.config.until
        if subject.config.since_vague and (until is None or made - until <= BACK_DATED):
            return _unclear(rule, subject, requirement, key, then, before, since)
        text = f"{deviation}; {subject.config.since_said or 'it was issued after this was configured'}"
        return _finding(rule, subject, requirement, "fail", "violation", text, fix=fix_of(subject))
    return _older(rule, subject, requirement, key, then, before)


def _unclear(
    rule: ScanRule,
    subject: Subject,
    requirement: Required,
    key: Key,
    then: Past | None,
    before: Required | None,
    since: datetime,
) -> Finding:
    """A certificate that was issued after the object was created, while the time of its last change is unknown."""
    if before is not None and before.fit(key) == "violated":
        return _older(rule, subject, requirement, key, then, before)
    until = subject.config.until
    latest = f" and by {until.date().isoformat()}" if until else ""
    text = (
        f"{_wrong(subject, requirement, key)}; {subject.config.source} was changed after {since.date().isoformat()}"
        f"{latest}, and its managedFields do not show whether it was issued after that"
    )
    return _finding(rule, subject, requirement, "inconclusive", "not-tested", text)


def _then(subject: Subject, made: datetime) -> Past | None:
    """The configuration for such a certificate at that time; an install-config configures signers only."""
    found = in_force(subject.history, made, BACK_DATED)
    only_signers = found is not None and found.config.shape == "install-config"
    return None if only_signers and subject.classified.category != "signer" else found


def _older(
    rule: ScanRule, subject: Subject, requirement: Required, key: Key, then: Past | None, before: Required | None
) -> Finding:
    """The finding for a certificate from before the configuration: the requirement then, and the rotation."""
    names, deviation = subject.classified.names, _wrong(subject, requirement, key)
    if then is not None and before is not None and before.fit(key) == "violated":
        text = f"{deviation}; it was issued before that, when {_described(before)} was required ({then.text})"
        return _finding(rule, subject, requirement, "fail", "violation", text, fix=fix_of(subject))
    known = _known(then, before)
    if names and all(each.rotates == "never" for each in names):
        text = f"{deviation}; it was issued before that, and no component renews it"
        found = _finding(
            rule, subject, requirement, "fail", "needs-forced-rotation", text, severity="low", fix=fix_of(subject)
        )
    else:
        text = f"{deviation}; it was issued before that{_renewal(subject, names)}"
        found = _finding(rule, subject, requirement, "fail", "pending-rotation", text)
    return replace(found, evidence=(*found.evidence, known))


def _known(then: Past | None, before: Required | None) -> str:
    """The requirement when it was issued, as far as it is known."""
    if then is None or before is None or before.unknown is not None:
        return "the requirement when it was issued is unknown (--previous)"
    asked = _described(before) if before.key or before.all_of or before.one_of else "nothing"
    return f"when it was issued, {asked} was required ({then.text})"


def _superseded(rule: ScanRule, subject: Subject, successor: CertificateFacts) -> Finding:
    """A signer that a bundle keeps until everything that it signed is renewed."""
    named = (successor.subject or "no readable subject")[:LONGEST_NAME]
    text = f"a bundle contains it and its successor ({named}): it no longer signs"
    return _finding(rule, subject, Required(), "not_applicable", "informational", text, severity="info")


def _not_implemented(rule: ScanRule, subject: Subject, requirement: Required, text: str) -> Finding:
    """A key that its operator does not support; the severity is higher if an override names the certificate."""
    if subject.policy.require.pki_not_implemented:
        text += "; the policy requires it (require.pkiNotImplemented)"
        return _finding(rule, subject, requirement, "fail", "violation", text)
    by_name = any(name in subject.config.overrides for name in _called(subject))
    text += "; an override asks for it by name" if by_name else ""
    severity: Severity = "low" if by_name else "info"
    return _finding(rule, subject, requirement, "fail", "not-implemented", text, severity=severity)


def _unready(maker: Owner) -> str:
    when = "no release that is known" if maker.since in ("", "never") else f"releases from {maker.since} on only"
    return f"{maker.name} follows the PKI object in {when}{f' ({maker.source})' if maker.source else ''}"


def _wrong(subject: Subject, requirement: Required, key: Key) -> str:
    """The key and the required key; without a well-known name also why it counts as the platform's."""
    text = f"its key is {key}, and {_described(requirement)} is required"
    likely = subject.classified.likely
    return f"{text} of its category: it has no known name, and {likely}" if likely else text


def _called(subject: Subject) -> tuple[str, ...]:
    """Names that an override may use for it. HyperShift's Secrets have the same names as in other clusters."""
    if subject.classified.maker is not None:
        return tuple(name for name in (subject.secret.rpartition("/")[2],) if name in subject.config.overrides)
    return tuple(each.name for each in subject.classified.names)


def _configured(requirement: Required) -> bool:
    """True if a user configured it, so that older certificates may differ; the platform's minimum always applied."""
    return requirement.exact or any(_configured(each) for each in (*requirement.all_of, *requirement.one_of))


def _described(requirement: Required) -> str:
    every = (*requirement.all_of, *requirement.one_of)
    if every:
        return (" and " if requirement.all_of else " or ").join(dict.fromkeys(map(_described, every)))
    return f"{requirement.key}{'' if requirement.exact else ' or stronger'}"


def _doubt(requirement: Required) -> str:
    return requirement.unknown or f"{_described(requirement)} may be required"


def _renewal(subject: Subject, names: tuple[WellKnown, ...]) -> str:
    """The latest date of its renewal, by its well-known name or its expiry."""
    if not names:
        return ", and it is unknown whether a component renews it"
    found = renewal(names, subject.held.facts.not_before, subject.held.facts.not_after)
    if found.rotates == "day-1":
        return ", and is renewed within a day of installation"
    if found.by is None:
        return ""
    day = found.by.date().isoformat()
    if found.by < subject.now:
        return f", and should have been renewed by {day}"
    return f", and is renewed {'before it expires on' if found.ends else 'by'} {day}"


def _finding(
    rule: ScanRule,
    subject: Subject,
    requirement: Required,
    verdict: Verdict,
    status: Status,
    text: str,
    *,
    severity: Severity | None = None,
    fix: str | None = None,
) -> Finding:
    expected = (_described(requirement),) if requirement.key or requirement.all_of or requirement.one_of else ()
    steps = map(_step, requirement.because)
    return finding(rule, subject, verdict, status, text, severity=severity, expected=expected, fix=fix, evidence=steps)


@lru_cache(maxsize=1024)  # 50,000 certificates share a few steps, and their texts
def _step(step: Because) -> str:
    return str(step)


KEY = ScanRule(id="pki-key", check=check_key)
