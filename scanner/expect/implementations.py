"""Limits of each implementation and their effect on a profile, and every Custom profile with its effect.

From the source code of Go's crypto/tls and library-go ``pkg/crypto/crypto.go``, the router's HAProxy template and
cluster-ingress-operator ``deployment.go``, hypershift ``support/config/cipher.go``, Istio and Contour.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from scanner.expect.facts import Facts
from scanner.expect.partial_expectation import Partial
from scanner.expect.release import meaning
from scanner.kube.kinds import API_SERVER, HOSTED_CLUSTER, INGRESS_CONTROLLER, KUBELET_CONFIG, Kind
from scanner.kube.maybe import Unknown
from scanner.kube.objects import KubeObject
from scanner.kube.tls_profile import (
    HOSTED_PROFILE,
    HYPERSHIFT,
    INGRESS_OPERATOR,
    INHERITED_BY_INGRESS,
    LIBRARY_GO,
    MACHINE_CONFIG,
    PROFILE,
    CustomUse,
    Declared,
    Profile,
    Reader,
    declared,
    profile_of,
)
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
from scanner.values import replace


class Implementation(Struct, frozen=True, kw_only=True):
    """The limits of one TLS implementation."""

    called: str
    floor: int | None = None
    """Lowest possible version."""
    suites: frozenset[int] | None = None
    """Supported suites up to TLS 1.2; None for all."""
    tls13: Literal["fixed", "listed", "absent"] = "fixed"
    """``fixed``: the three suites of RFC 8446 are always enabled. ``listed``: the listed ones, if there are any.
    ``absent``: TLS 1.3 is disabled."""
    maps_openssl: bool = False
    """True if it accepts OpenSSL's names only."""


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
"""Limits by the resolvers' name of the implementation; ``other`` is an unknown one."""


class Effective(Struct, frozen=True, kw_only=True):
    """The effective profile, and one clause for each change."""

    profile: Profile
    tls13_configurable: bool
    changes: tuple[str, ...]


def resolve(facts: Facts, partial: Partial) -> Partial:
    """Keep the listed profile, and add a remark on each change by the implementation."""
    kind, fips = partial.implementation, facts.fips
    if isinstance(fips, Unknown):
        partial = partial.remark(fips.reason)
    listed = partial.profile
    if isinstance(listed, Unknown):
        return partial
    found = effective(listed, kind, spelt=partial.spelt, fips=fips is True)
    partial = partial.remark(*(f"{IMPLEMENTATIONS[kind].called} {change}" for change in found.changes))
    if doubt := not_admitted(listed, found, kind):
        return replace(partial, profile=doubt).remark(*listed.notes)
    return replace(partial, tls13_suites_configurable=found.tls13_configurable)


def not_admitted(listed: Profile, found: Effective, kind: str) -> Unknown | None:
    """The reason why the ingress operator rejects ``listed``, if FIPS mode leaves no TLS 1.3 suite; it then keeps the
    previous profile."""
    if IMPLEMENTATIONS[kind].tls13 != "listed" or any(map(is_tls13, found.profile.suites)):
        return None
    return Unknown(f"{listed.name} has no TLS 1.3 suite that FIPS approves, so the ingress operator rejects it")


def effective(profile: Profile, kind: str, *, spelt: Iterable[int] = (), fips: bool = False) -> Effective:
    """Apply the limits of implementation ``kind`` to ``profile``. ``spelt``: suites listed by IANA's name only."""
    limits, changes = IMPLEMENTATIONS[kind], list[str]()
    minimum = _minimum(profile, limits, changes)
    suites = _spoken(minimum, _suites(profile, limits, frozenset(spelt), changes), changes)
    if limits.maps_openssl and minimum <= TLS12 and all(map(is_tls13, suites)):
        changes.append("has no cipher suite left for TLS 1.2, and its behaviour is then undefined")
    listed = limits.tls13 == "absent" or (limits.tls13 == "listed" and any(map(is_tls13, suites)))
    if not listed and limits.tls13 == "listed":
        changes.append("gets no TLS 1.3 suite, so OpenSSL's default suites stay enabled")
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
    changes.append(f"does not support versions below {version_name(limits.floor)}, although {allowed} is allowed")
    return limits.floor


def _suites(profile: Profile, limits: Implementation, spelt: frozenset[int], changes: list[str]) -> tuple[int, ...]:
    old = [code for code in profile.suites if not is_tls13(code)]
    lost = [code for code in old if limits.suites is not None and code not in limits.suites]
    unread = [code for code in old if limits.maps_openssl and code in spelt and code not in lost]
    if lost:
        changes.append(f"does not support {_names(lost)}")
    if unread:
        changes.append(f"accepts OpenSSL names only, and drops {_names(unread)}")
    gone = {*lost, *unread}
    return tuple(code for code in profile.suites if code not in gone)


def _spoken(minimum: int, suites: tuple[int, ...], changes: list[str]) -> tuple[int, ...]:
    """Remove the suites of TLS 1.2 if that version is disabled."""
    idle = [code for code in suites if not is_tls13(code)] if minimum > TLS12 else []
    if idle:
        changes.append(f"uses TLS 1.3 only, without {_names(idle)}")
    return tuple(code for code in suites if code not in idle)


def _fips(
    suites: tuple[int, ...], groups: tuple[int, ...] | None, changes: list[str]
) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """Remove what the libraries disable in FIPS mode; if no group is left, they use the NIST curves."""
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


_READERS: tuple[tuple[Kind, Reader], ...] = (
    (INGRESS_CONTROLLER, INGRESS_OPERATOR),
    (KUBELET_CONFIG, MACHINE_CONFIG),
)


def custom_uses(facts: Facts) -> Iterator[CustomUse]:
    """The Custom profile of the APIServer first, then those of IngressControllers and KubeletConfigs."""
    for each in facts.snapshot.every(API_SERVER):
        inherited = any(not _typed(other) for other in facts.snapshot.every(INGRESS_CONTROLLER))
        yield from _use(facts, each, (LIBRARY_GO, *((INHERITED_BY_INGRESS,) if inherited else ())))
    for kind, reader in _READERS:
        for each in facts.snapshot.every(kind):
            yield from _use(facts, each, (reader,))
    for each in facts.snapshot.every(HOSTED_CLUSTER):
        yield from _use(facts, each, (HYPERSHIFT,), HOSTED_PROFILE)


def _typed(controller: KubeObject) -> bool:
    return bool(profile_of(controller).type)


def _use(
    facts: Facts, each: KubeObject, readers: tuple[Reader, ...], steps: tuple[str, ...] = PROFILE
) -> Iterator[CustomUse]:
    if profile_of(each, steps).type != "Custom":
        return
    means = meaning(facts.cluster.releases.desired)
    called = str(each.reference)
    readings = tuple(
        (reader.name, _taken(declared(each, steps, reader, called, means), _kind(reader), fips=facts.fips is True))
        for reader in readers
    )
    yield CustomUse(reference=each.reference, field=".".join((*steps, "custom")), readings=readings)


def _kind(reader: Reader) -> str:
    """The implementation (in ``implementations``) that serves what this reader configures."""
    if reader is HYPERSHIFT:
        return "hypershift"
    return "haproxy" if reader.is_router else "go"


def _taken(read: Declared, kind: str, *, fips: bool) -> Declared:
    """The profile that is really served, with the changes by the implementation."""
    if read.profile is None or isinstance(read.profile, Unknown):
        return read
    found = effective(read.profile, kind, spelt=read.spelt, fips=fips)
    changes = (f"{IMPLEMENTATIONS[kind].called} {each}" for each in found.changes)
    return replace(
        read,
        profile=not_admitted(read.profile, found, kind) or found.profile,
        remarks=(*read.remarks, *read.profile.notes, *changes),
    )
