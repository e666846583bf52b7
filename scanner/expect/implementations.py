"""What each implementation makes of a profile. Allowed stays what the profile lists; what cannot be done is remarked.

Facts by reading the code: Go's crypto/tls and library-go ``pkg/crypto/crypto.go``, the router's HAProxy template and
cluster-ingress-operator ``deployment.go``, hypershift ``support/config/cipher.go``, Istio and Contour.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from scanner.expect.facts import Facts
from scanner.expect.partial_expectation import Draft
from scanner.kube.maybe import Unknown
from scanner.kube.tls_profile import Profile
from scanner.tls.codepoints import TLS11, TLS12
from scanner.tls.names import (
    CHACHA20,
    GO_SUITES,
    HYPERSHIFT_SUITES,
    NOT_FIPS_GROUPS,
    TLS13_SUITES,
    group_label,
    is_tls13,
    suite_name,
    version_name,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Implementation:
    """One way in which profiles are limited on their way to a socket."""

    called: str
    floor: int | None = None
    """No lower version can be had."""
    suites: frozenset[int] | None = None
    """What it knows, without TLS 1.3; None: anything."""
    tls13: Literal["fixed", "listed", "absent"] = "fixed"
    """``fixed``: the three of RFC 8446 are on, whatever is listed. ``listed``: those that are listed, if any is.
    ``absent``: TLS 1.3 is switched off."""
    maps_openssl: bool = False
    """It takes OpenSSL's names only."""


_GO = Implementation(called="Go", suites=GO_SUITES, maps_openssl=True)

IMPLEMENTATIONS: Mapping[str, Implementation] = {
    "go": _GO,
    "etcd": replace(_GO, called="etcd", floor=TLS12),
    "hypershift": replace(_GO, called="HyperShift", suites=HYPERSHIFT_SUITES),
    "haproxy": Implementation(called="the router", floor=TLS11, tls13="listed", maps_openssl=True),
    "istio": Implementation(called="Istio", floor=TLS12),
    "contour": Implementation(called="Contour", floor=TLS12),
    "contour-1.2": Implementation(called="Contour", floor=TLS12, tls13="absent"),
    "other": Implementation(called="the listener"),
}
"""By the name that a resolver gives; of ``other`` nothing is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effective:
    """A profile as it arrives, and what was lost or added on the way, one clause each."""

    profile: Profile
    tls13_configurable: bool
    changes: tuple[str, ...]


def resolve(facts: Facts, draft: Draft) -> Draft:
    """The profile as it is listed, with a remark on each thing that the implementation makes of it."""
    kind, fips = draft.implementation, facts.fips
    if isinstance(fips, Unknown):
        draft = draft.remark(fips.reason)
    listed = draft.profile
    if isinstance(listed, Unknown):
        return draft
    found = effective(listed, kind, spelt=draft.spelt, fips=fips is True)
    draft = draft.remark(*(f"{IMPLEMENTATIONS[kind].called} {change}" for change in found.changes))
    if doubt := not_admitted(listed, found, kind):
        return replace(draft, profile=doubt).remark(*listed.notes)
    return replace(draft, tls13_suites_configurable=found.tls13_configurable)


def not_admitted(listed: Profile, found: Effective, kind: str) -> Unknown | None:
    """Why the operator keeps what was in force before, where FIPS mode leaves it nothing of ``listed`` for TLS 1.3."""
    if not found.tls13_configurable or IMPLEMENTATIONS[kind].tls13 != "listed":
        return None
    if any(map(is_tls13, found.profile.suites)):
        return None
    return Unknown(
        f"{listed.name} has no TLS 1.3 suite that FIPS approves, and the ingress operator does not admit that"
    )


def effective(profile: Profile, kind: str, *, spelt: Iterable[int] = (), fips: bool = False) -> Effective:
    """``profile`` as implementation ``kind`` can have it. ``spelt``: suites listed by IANA's name only."""
    limits, changes = IMPLEMENTATIONS[kind], list[str]()
    minimum = _minimum(profile, limits, changes)
    suites = _spoken(minimum, _suites(profile, limits, frozenset(spelt), changes), changes)
    if limits.maps_openssl and minimum <= TLS12 and all(map(is_tls13, suites)):
        changes.append("is left no cipher suite for TLS 1.2, and what it serves then is not defined")
    listed = limits.tls13 == "absent" or (limits.tls13 == "listed" and any(map(is_tls13, suites)))
    if not listed and limits.tls13 == "listed":
        changes.append("lists no TLS 1.3 suite, so that OpenSSL's own stay on")
    if not listed and kind != "other":
        suites = (*suites, *(code for code in TLS13_SUITES if code not in suites))
    groups = profile.groups
    if fips:
        suites, groups = _fips(suites, groups, changes)
    kept = replace(profile, min_version=minimum, suites=suites, groups=groups)
    return Effective(profile=kept, tls13_configurable=listed, changes=tuple(changes))


def _minimum(profile: Profile, limits: Implementation, changes: list[str]) -> int:
    if limits.floor is None or profile.min_version >= limits.floor:
        return profile.min_version
    allowed = version_name(profile.min_version)
    changes.append(f"never goes below {version_name(limits.floor)}, although {allowed} is allowed")
    return limits.floor


def _suites(profile: Profile, limits: Implementation, spelt: frozenset[int], changes: list[str]) -> tuple[int, ...]:
    old = [code for code in profile.suites if not is_tls13(code)]
    lost = [code for code in old if limits.suites is not None and code not in limits.suites]
    unread = [code for code in old if limits.maps_openssl and code in spelt and code not in lost]
    if lost:
        changes.append(f"does not have {_names(lost)}")
    if unread:
        changes.append(f"takes OpenSSL's names only, without {_names(unread)}")
    gone = {*lost, *unread}
    return tuple(code for code in profile.suites if code not in gone)


def _spoken(minimum: int, suites: tuple[int, ...], changes: list[str]) -> tuple[int, ...]:
    """Where TLS 1.2 is not spoken, none of its suites is."""
    idle = [code for code in suites if not is_tls13(code)] if minimum > TLS12 else []
    if idle:
        changes.append(f"speaks TLS 1.3 alone, without {_names(idle)}")
    return tuple(code for code in suites if code not in idle)


def _fips(
    suites: tuple[int, ...], groups: tuple[int, ...] | None, changes: list[str]
) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """In FIPS mode these are gone from the libraries; where no group is left, the NIST curves are."""
    if not CHACHA20.isdisjoint(suites):
        changes.append(f"is in FIPS mode, without {_names(code for code in suites if code in CHACHA20)}")
        suites = tuple(code for code in suites if code not in CHACHA20)
    if groups is not None and not NOT_FIPS_GROUPS.isdisjoint(groups):
        lost = ", ".join(group_label(code) for code in groups if code in NOT_FIPS_GROUPS)
        changes.append(f"is in FIPS mode, without {lost}")
        groups = tuple(code for code in groups if code not in NOT_FIPS_GROUPS) or (0x0017, 0x0018, 0x0019)
    return suites, groups


def _names(codes: Iterable[int]) -> str:
    every = list(codes)
    more = f" and {len(every) - 6} more" if len(every) > 6 else ""
    return ", ".join(suite_name(code) for code in every[:6]) + more
