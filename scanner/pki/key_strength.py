"""Rules on the strength of keys: for their lifetime, beside their signers', and by the policy file's minimums."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Final, TypeAlias

from scanner.kube.maybe import Known, Unknown
from scanner.model.certificate_faults import MIN_CURVE_BITS, weak_key
from scanner.model.finding import Finding
from scanner.model.pki_config import RSA_2048, Key, PkiConfig, key_of
from scanner.model.rule import ScanRule
from scanner.model.scan_policy import CertificateMinimums, ScanPolicy
from scanner.model.well_known import Names, WellKnown, fits
from scanner.pki.object_rules import Configuration
from scanner.pki.resolution import required
from scanner.pki.subject import Subject, finding
from scanner.tls.certificate import CertificateFacts
from scanner.values import replace

_YEARS: Final = timedelta(days=2 * 366)
"""A life of years: longer than that of what the service CA makes for Services."""
_SHOWN: Final = 10


def check_configured(rule: ScanRule, about: Configuration) -> Iterator[Finding]:
    """The keys that are configured suit each other, and the time that certificates live."""
    config = about.config
    if not config.in_force:
        return
    if weak := [each.name for each in about.names.all if _weak_signer(config, each)]:
        text = f"RSA 2048 is configured for signers that are valid for years: {_listed(weak)}"
        fix = f"configure a stronger key for signers in {config.source}"
        yield _of_config(rule, config, text, fix)
    if pairs := [pair for each in about.names.all for pair in _stronger(config, about.names, each)]:
        text = f"configured keys are stronger than the keys of their signers: {_listed(pairs)}"
        fix = f"configure keys for signers in {config.source} that are as strong as those that they sign"
        yield _of_config(rule, config, text, fix)


def check_strength(rule: ScanRule, subject: Subject) -> Iterator[Finding]:
    """A key that lasts for years is stronger than RSA 2048."""
    facts, classified = subject.held.facts, subject.classified
    key = key_of(facts)
    if not classified.names or isinstance(key, Unknown) or facts.not_before is None or facts.not_after is None:
        return
    life = facts.not_after - facts.not_before
    if life <= _YEARS or key.strength is None or key.strength > (RSA_2048.strength or 0):
        return
    text = f"its key is {key}, and it is valid for {life.days // 365} years"
    requirement = required(subject.config, classified.category, tuple(each.name for each in classified.names))
    if requirement.exact and requirement.fit(key) == "met":
        fix = f"configure a stronger key in {subject.config.source}"
        yield finding(rule, subject, "fail", "violation", f"{text}, as it is configured", fix=fix)
    else:
        yield finding(rule, subject, "pass", "informational", text, severity="info")


def signers_of(name: WellKnown, names: Names) -> Iterator[WellKnown]:
    """The signers that a certificate of that name may have."""
    for each in names.all:
        if each.category == "signer" and any(
            _meets(one, name.recognition.issuers) for one in each.recognition.subjects
        ):
            yield each


def _meets(subject: str, issuers: tuple[str, ...]) -> bool:
    """True if a signer's subject (or pattern) is among the issuers (or patterns)."""
    return subject in issuers or fits(subject, issuers)


def _key(config: PkiConfig, name: WellKnown) -> Key | None:
    """The configured key; None if it is the platform's default, or unknown."""
    requirement = required(config, name.category, (name.name,))
    return requirement.key if requirement.exact else None


def _weak_signer(config: PkiConfig, name: WellKnown) -> bool:
    lasting = name.category == "signer" and (name.days or 0) > _YEARS.days
    return lasting and name.owner.implements and _key(config, name) == RSA_2048


def _stronger(config: PkiConfig, names: Names, name: WellKnown) -> Iterator[str]:
    """Text on the certificate and its weaker signer."""
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


def _of_config(rule: ScanRule, config: PkiConfig, text: str, fix: str) -> Finding:
    return rule.finding(config.source, f"{config.source}: {text}", fix)


CONFIGURED = ScanRule(id="pki-configured-strength", check=check_configured)
STRENGTH = ScanRule(id="pki-strength", check=check_strength)


def check_minimum(rule: ScanRule, subject: Subject) -> Iterator[Finding]:
    """Certificates that no PKI object governs comply with the policy file's minimums."""
    outside = _outside(subject)
    if outside is None or subject.held.place.role == "trusted":
        return
    wrong, unclear, asked = _weighed(subject.held.facts, _minimums(subject.policy))
    if wrong:
        fix = "have its issuer renew it as the policy requires"
        yield finding(
            rule,
            subject,
            "fail",
            "violation",
            f"{'; '.join(wrong)}. {outside}",
            expected=asked,
            fix=fix,
            evidence=unclear,
        )
    elif unclear:
        text = f"{'; '.join(unclear)}. {outside}"
        yield finding(rule, subject, "inconclusive", "not-tested", text, expected=asked)
    elif asked:
        yield finding(rule, subject, "pass", "ok", f"it is as the policy asks. {outside}", expected=asked)


def _minimums(policy: ScanPolicy) -> CertificateMinimums:
    """The policy's minimums for certificates; its general RSA minimum applies if they have none."""
    asked = policy.certificates
    return replace(asked, rsa_bits=asked.rsa_bits or policy.thresholds.min_rsa_bits)


def _outside(subject: Subject) -> str | None:
    """The reason, as a sentence, why no PKI object requires a key; None if one does."""
    classified = subject.classified
    if not classified.governed:
        return subject.outside
    requirement = required(subject.config, classified.category, tuple(each.name for each in classified.names))
    if requirement.asks:
        return None
    why = subject.config.platform_said or "it does not configure such certificates"
    return f"The PKI object has no requirement: {why}"


_Weighed: TypeAlias = Known[bool] | None
"""True if it complies; None if no requirement applies."""


def _weighed(facts: CertificateFacts, minimums: CertificateMinimums) -> tuple[list[str], list[str], list[str]]:
    """Violations, unknown items, and requirements."""
    wrong, unclear, asked = [], [], []
    for look, words, has in _LOOKS:
        met = look(facts, minimums)
        if met is None:
            continue
        asked.append(words(minimums))
        if isinstance(met, Unknown):
            unclear.append(met.reason)
        elif not met:
            wrong.append(has(facts))
    return wrong, unclear, asked


def _weigh_key(facts: CertificateFacts, algorithm: str) -> Known[Key] | None:
    """Its key if it has that algorithm; unknown if it may have it."""
    if facts.key_algorithm not in (None, algorithm):
        return None
    return key_of(facts)


def _rsa(facts: CertificateFacts, minimums: CertificateMinimums) -> _Weighed:
    """RSA keys, including those for RSASSA-PSS only (RFC 4055)."""
    if minimums.rsa_bits is None or facts.key_algorithm not in (None, "RSA", "RSA-PSS"):
        return None
    if facts.key_size is None:
        key = key_of(facts)
        return key if isinstance(key, Unknown) else Unknown("the size of the key cannot be read")
    return facts.key_size >= minimums.rsa_bits


def _rsa_text(facts: CertificateFacts) -> str:
    return f"its key is {facts.key_algorithm} {facts.key_size}"


def _curve(facts: CertificateFacts, minimums: CertificateMinimums) -> _Weighed:
    if not minimums.curves:
        return None
    key = _weigh_key(facts, "ECDSA")
    return key if key is None or isinstance(key, Unknown) else key.curve in minimums.curves


def _other(facts: CertificateFacts, minimums: CertificateMinimums) -> _Weighed:
    """Keys that the policy does not mention: only weak ones are reported."""
    if facts.key_algorithm in (None, "RSA", "RSA-PSS") or (facts.key_algorithm == "ECDSA" and minimums.curves):
        return None
    weak = weak_key(facts, 0)
    return False if isinstance(weak, str) else weak


def _weak(facts: CertificateFacts) -> str:
    return f"its key is weak: {weak_key(facts, 0)}"


def _signature(facts: CertificateFacts, minimums: CertificateMinimums) -> _Weighed:
    if not minimums.signatures or facts.self_issued:
        return None
    if facts.signature is None:
        return Unknown(f"the signature cannot be read ({facts.unreadable.get('signature', 'no reason stated')})")
    return facts.signature in minimums.signatures


def _life(facts: CertificateFacts, minimums: CertificateMinimums) -> _Weighed:
    if minimums.longest_days is None or facts.is_ca:
        return None
    if facts.not_before is None or facts.not_after is None:
        return Unknown("how long it is valid cannot be read")
    return facts.not_after - facts.not_before <= timedelta(days=minimums.longest_days, seconds=1)


def _days(facts: CertificateFacts) -> str:
    if facts.not_before is None or facts.not_after is None:
        return "how many days is unknown"
    return f"{(facts.not_after - facts.not_before).days} days"


_LOOKS: Final[
    tuple[
        tuple[
            Callable[[CertificateFacts, CertificateMinimums], _Weighed],
            Callable[[CertificateMinimums], str],
            Callable[[CertificateFacts], str],
        ],
        ...,
    ]
] = (
    (_rsa, lambda asked: f"RSA keys of {asked.rsa_bits} bits or more", _rsa_text),
    (_curve, lambda asked: f"ECDSA keys on {', '.join(asked.curves)}", lambda facts: f"its key is {key_of(facts)}"),
    (_other, lambda _: f"no DSA key, and curves of {MIN_CURVE_BITS} bits or more", _weak),
    (
        _signature,
        lambda asked: f"signed with {', '.join(asked.signatures)}",
        lambda facts: f"it is signed with {facts.signature}",
    ),
    (
        _life,
        lambda asked: f"valid for {asked.longest_days} days or less",
        lambda facts: f"it is valid for {_days(facts)}",
    ),
)
"""For each aspect: the check, the text of the requirement, and the text of the observed value."""

MINIMUM = ScanRule(id="pki-minimum", check=check_minimum)
