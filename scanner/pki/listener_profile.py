"""A listener's certificate and its TLS profile together: suites up to TLS 1.2 are for one kind of key. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from scanner.kube.maybe import Unknown
from scanner.kube.tls_profile import Profile
from scanner.model.finding import Finding
from scanner.model.pki_config import Key, PkiConfig, Required, key_of
from scanner.model.rule import ScanRule
from scanner.pki.recognition import Classified
from scanner.pki.resolution import required
from scanner.tls.certificate import CertificateFacts
from scanner.tls.codepoints import TLS13
from scanner.tls.names import authentication, is_tls13

_AUTHENTICATES: Final = {
    "RSA": "RSA",
    "RSA-PSS": "RSA",  # RFC 8446 section 4.2.3, for TLS 1.2 too
    "ECDSA": "ECDSA",
    "Ed25519": "ECDSA",  # RFC 8422 section 5.10
    "Ed448": "ECDSA",
}
"""Algorithm of a certificate's key, and of the suites up to TLS 1.2 with which it can be used. None for any other."""


class Serving(Struct, frozen=True, kw_only=True):
    """One listener."""

    endpoint: str
    """Its id."""
    profile: Profile
    leaves: tuple[tuple[CertificateFacts, Classified], ...]
    """The first certificate of each chain that it serves, and what each is."""
    config: PkiConfig
    """The one that governs it."""


def check_profile(rule: ScanRule, serving: Serving) -> Iterator[Finding]:
    """The keys of the platform's certificates fit the TLS 1.2 suites that their listeners' profiles allow."""
    governed = [(facts, classified) for facts, classified in serving.leaves if classified.governed]
    kinds = _kinds(serving.profile)
    if not governed or not kinds:
        return
    now = [_kind(key_of(facts)) for facts, _ in serving.leaves]
    then = [_after(facts, classified, serving.config) for facts, classified in governed]
    stuck_now, stuck_then = (not any(each is None or each in kinds for each in found) for found in (now, then))
    if stuck_now or stuck_then:
        yield _finding(rule, serving, kinds, stuck_now=stuck_now, stuck_then=stuck_then, then=then)
    elif not any(each in kinds for each in now):
        text = "the type of the served key cannot be read, and its profile has TLS 1.2 suites for one type only"
        if len(kinds) == 1:
            yield rule.finding(serving.endpoint, f"{serving.endpoint}: {text}", verdict="inconclusive")


def _kinds(profile: Profile) -> frozenset[str]:
    """The authentication algorithms of the suites up to TLS 1.2; none if only TLS 1.3 is allowed."""
    if profile.min_version >= TLS13:
        return frozenset()
    return frozenset(authentication(code) for code in profile.suites if not is_tls13(code))


def _kind(key: Key | Unknown) -> str | None:
    """``RSA``, ``ECDSA``, or the algorithm itself, which no suite up to TLS 1.2 has; None where it cannot be read."""
    return None if isinstance(key, Unknown) else _AUTHENTICATES.get(key.algorithm, key.algorithm)


def _after(facts: CertificateFacts, classified: Classified, config: PkiConfig) -> str | None:
    """The kind of the key that the next certificate will have: another one only where another is configured, and its
    operator follows that."""
    own = _kind(key_of(facts))
    if not any(each.owner.implements for each in classified.names):
        return own
    requirement = required(config, classified.category, tuple(each.name for each in classified.names))
    kinds = {_kind(each.key) for each in _alternatives(requirement) if each.key is not None and each.exact}
    return own if not kinds else kinds.pop() if len(kinds) == 1 else None


def _alternatives(requirement: Required) -> Iterator[Required]:
    yield requirement
    for each in (*requirement.all_of, *requirement.one_of):
        yield from _alternatives(each)


def _finding(
    rule: ScanRule,
    serving: Serving,
    kinds: frozenset[str],
    *,
    stuck_now: bool,
    stuck_then: bool,
    then: list[str | None],
) -> Finding:
    when = "now and after its next rotation" if stuck_now and stuck_then else "now" if stuck_now else ""
    when = when or "after its next rotation, which the PKI configuration decides"
    have = " and ".join(sorted({str(key_of(facts)) for facts, _ in serving.leaves}))
    later = " or ".join(sorted({each for each in then if each is not None}))
    will = f", {later} after the next rotation" if later else ""
    suites = " and ".join(sorted(kinds))
    return Finding(
        rule=rule.id,
        severity=rule.severity,
        verdict="fail",
        status="violation",
        message=f"{serving.endpoint}: no client of TLS 1.2 can connect {when}: its profile {serving.profile.name} has "
        f"suites for {suites} keys only",
        expected=(f"TLS 1.2 suites for the kind of key that is served: {have} now{will}",),
        observed=(f"TLS 1.2 suites for {suites} keys only",),
        fix=f"add suites of that kind to the profile ({serving.profile.source}), or ask for the other algorithm in "
        f"{serving.config.source}",
        evidence=tuple(dict.fromkeys(classified.because for _, classified in serving.leaves)),
        about=serving.endpoint,
    )


PROFILE = ScanRule(id="pki-profile", check=check_profile)
