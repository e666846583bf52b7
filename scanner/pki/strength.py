"""Keys that do not suit: too weak for the time that they last, or stronger than what vouches for them. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from scanner.kube.maybe import Unknown
from scanner.model.finding import Finding
from scanner.model.key import RSA_2048, Key, key_of
from scanner.model.pki_config import PkiConfig
from scanner.model.rule import ScanRule
from scanner.model.well_known import Names, WellKnown, fits
from scanner.pki.configuration import Configuration
from scanner.pki.resolution import required
from scanner.pki.subject import Subject, finding

_YEARS: Final = timedelta(days=2 * 366)
"""A life of years: longer than that of what the service CA makes for Services."""
_SHOWN: Final = 10


def check_configured(rule: ScanRule, about: Configuration) -> Iterator[Finding]:
    """The keys that are configured suit each other, and the time that certificates live."""
    config = about.config
    if not config.in_force:
        return
    if weak := [each.name for each in about.names.all if _weak_signer(config, each)]:
        said = f"RSA 2048 is configured for signers that live for years: {_listed(weak)}"
        fix = f"configure a stronger key for signers in {config.source}"
        yield _of_config(rule, config, said, fix)
    if pairs := [pair for each in about.names.all for pair in _stronger(config, about.names, each)]:
        said = f"keys are configured that are stronger than their signers': {_listed(pairs)}"
        fix = f"configure keys for signers in {config.source} that are as strong as those that they sign"
        yield _of_config(rule, config, said, fix)


def check_strength(rule: ScanRule, subject: Subject) -> Iterator[Finding]:
    """A key that lasts for years is stronger than RSA 2048."""
    facts, classified = subject.held.facts, subject.classified
    key = key_of(facts)
    if not classified.names or isinstance(key, Unknown) or facts.not_before is None or facts.not_after is None:
        return
    life = facts.not_after - facts.not_before
    if life <= _YEARS or key.strength is None or key.strength > (RSA_2048.strength or 0):
        return
    said = f"its key is {key}, and it is valid for {life.days // 365} years"
    wanted = required(subject.config, classified.category, tuple(each.name for each in classified.names))
    if wanted.exact and wanted.fit(key) == "met":
        fix = f"configure a stronger key in {subject.config.source}"
        yield finding(rule, subject, "fail", "violation", f"{said}, as it is configured", fix=fix)
    else:
        yield finding(rule, subject, "pass", "informational", said, severity="info")


def signers_of(name: WellKnown, names: Names) -> Iterator[WellKnown]:
    """The signers that a certificate of that name may have."""
    for each in names.all:
        if each.category == "signer" and any(
            _meets(one, name.recognition.issuers) for one in each.recognition.subjects
        ):
            yield each


def _meets(subject: str, issuers: tuple[str, ...]) -> bool:
    """Whether a signer's subject, which may be a pattern, is among the issuers, which may be the same pattern."""
    return subject in issuers or fits(subject, issuers)


def _key(config: PkiConfig, name: WellKnown) -> Key | None:
    """What is configured for it; None where that is the platform's own, or not known."""
    wanted = required(config, name.category, (name.name,))
    return wanted.key if wanted.exact else None


def _weak_signer(config: PkiConfig, name: WellKnown) -> bool:
    lasting = name.category == "signer" and (name.days or 0) > _YEARS.days
    return lasting and name.owner.implements and _key(config, name) == RSA_2048


def _stronger(config: PkiConfig, names: Names, name: WellKnown) -> Iterator[str]:
    """For people: the certificate and the signer that it outdoes."""
    own = _key(config, name)
    if own is None or name.category == "signer" or not name.owner.implements:
        return
    for signer in signers_of(name, names):
        theirs = _key(config, signer)
        if theirs is not None and (theirs.strength or 0) < (own.strength or 0):
            yield f"{name.name} ({own}) under {signer.name} ({theirs})"
            return


def _listed(items: list[str]) -> str:
    more = f" and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
    return f"{', '.join(items[:_SHOWN])}{more}"


def _of_config(rule: ScanRule, config: PkiConfig, said: str, fix: str) -> Finding:
    return rule.finding(config.source, f"{config.source}: {said}", fix)


CONFIGURED = ScanRule(
    id="pki-configured-strength",
    check=check_configured,
)
STRENGTH = ScanRule(
    id="pki-strength",
    check=check_strength,
)
