"""KubeletConfigs: the MachineConfigPools that they select, and their TLS fields (kubelet.config.k8s.io/v1beta1)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from scanner.files.problems import did_you_mean
from scanner.files.source_positions import Steps, shown
from scanner.kube import tls_profile
from scanner.kube.kinds import API_SERVER, KUBELET_CONFIG, MACHINE_CONFIG_POOL
from scanner.kube.kubelet import SUFFIX, KubeletConfig, KubeletConfiguration, in_merge_order, selects_pool
from scanner.kube.maybe import Known, Unknown
from scanner.kube.meta import is_empty
from scanner.kube.objects import KubeObject
from scanner.kube.profile_catalogue import load_profile
from scanner.kube.tls_profile import LIBRARY_GO, MACHINE_CONFIG, PROFILE, VERSIONS, Profile
from scanner.model.declared import Declared, Missing
from scanner.model.finding import Severity
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided
from scanner.model.weak_suites import weakness
from scanner.tls.names import GO_SUITES, HTTP2_SUITES, is_tls13, suite_name, suite_named, version_code

_SELECTOR: Final = ("spec", "machineConfigPoolSelector")
_SPEC: Final = ("spec",)
_SHOWN: Final = 5
_OTHERS: Final = 10
"""KubeletConfigs of one pool that are checked: the operator accepts no more."""
_MOST_POOLS: Final = 100
"""Pools that are checked. A cluster has a handful; each is compared with each KubeletConfig."""


def check_pool(subject: Subject) -> Iterator[Flaw]:
    """A KubeletConfig with TLS settings selects a pool."""
    config = KubeletConfig.of(subject.object)
    if not config.sets_tls:
        return
    at = _SELECTOR if config.has_pool_selector else _SPEC
    label = "pools.operator.machineconfiguration.openshift.io/worker"
    correction = f'machineConfigPoolSelector:\n  matchLabels:\n    {label}: ""'
    fix = "select a pool by a label that a MachineConfigPool has"
    if is_empty(config.pool_selector):
        message = "it selects no pool, so its TLS settings apply to no kubelet"
        yield Flaw(message=message, at=at, fix=fix, correction=correction)
        return
    pools, gap = known_pools(subject.declared)
    if any(selects_pool(config, each) for each in pools):
        return
    if gap:
        yield undecided(Missing(name=MACHINE_CONFIG_POOL.name, gap=gap), at, "whether it selects a pool")
        return
    message = "its selector matches no MachineConfigPool, so its TLS settings apply to no kubelet"
    observed = tuple(str(each.reference) for each in pools[:5])
    yield Flaw(message=message, at=at, observed=observed, fix=fix, correction=correction)


def known_pools(declared: Declared) -> tuple[tuple[KubeObject, ...], str | None]:
    """The pools that are checked, and the reason if there may be others."""
    every = declared.every(MACHINE_CONFIG_POOL)
    gap = f"there are more than {_MOST_POOLS}" if len(every) > _MOST_POOLS else declared.gap(MACHINE_CONFIG_POOL)
    return every[:_MOST_POOLS], gap


POOL = ObjectRule(id="kubelet-config-pool", subjects=(KUBELET_CONFIG,), check=check_pool, reads=(MACHINE_CONFIG_POOL,))


def check_conflict(subject: Subject) -> Iterator[Flaw]:
    """A pool has one KubeletConfig, if that has TLS settings."""
    config, declared = KubeletConfig.of(subject.object), subject.declared
    if not config.sets_tls or is_empty(config.pool_selector):
        return
    known = declared.once(_choices)
    seen = {config.name}
    for what in known.of.get(config.name, ()):
        others = [each for each in known.by[what][:_OTHERS] if each.name not in seen]
        seen.update(each.name for each in others)
        if others:
            yield _conflict(config, others, what)
    unclear = next((each for each in known.every if each.name not in seen), None)
    if unclear is not None and known.gap:
        missing = Missing(name=MACHINE_CONFIG_POOL.name, gap=known.gap)
        yield undecided(missing, _SELECTOR, f"whether {unclear.reference} selects the same pool")


class _Choices(Struct, frozen=True):
    """KubeletConfigs and the pools that they select, by pool and by selector."""

    every: tuple[KubeletConfig, ...]
    by: Mapping[str, list[KubeletConfig]]
    of: Mapping[str, list[str]]
    gap: str | None
    """The reason if there may be other pools."""


def _choices(declared: Declared) -> _Choices:
    every = tuple(
        each for each in map(KubeletConfig.of, declared.every(KUBELET_CONFIG)) if not is_empty(each.pool_selector)
    )
    pools, gap = known_pools(declared)
    by: dict[str, list[KubeletConfig]] = {}
    of: dict[str, list[str]] = {}
    for config in every:
        selector = f"pools by the same selector {json.dumps(config.pool_selector.raw)[:200]}"
        for what in (selector, *(str(pool.reference) for pool in pools if selects_pool(config, pool))):
            by.setdefault(what, []).append(config)
            of.setdefault(config.name, []).append(what)
    return _Choices(every, by, of, gap)


def _conflict(config: KubeletConfig, others: Sequence[KubeletConfig], shared: str) -> Flaw:
    every = in_merge_order((config, *others))
    known = any(each.annotations.get(SUFFIX) for each in every)  # the operator's own count
    last = f"only {every[-1].reference}, the later one, takes effect"
    if not known:
        last = "only the one that is created last takes effect"
    names = ", ".join(str(each.reference) for each in others[:_SHOWN]) + (" and others" if others[_SHOWN:] else "")
    return Flaw(
        message=f"{names} {'selects' if len(others) == 1 else 'select'} {shared} too; {last}",
        at=_SELECTOR,
        observed=tuple(str(each.reference) for each in others[:_SHOWN]),
        fix="combine the settings in one KubeletConfig for each pool",
    )


CONFLICT = ObjectRule(
    id="kubelet-config-conflict",
    subjects=(KUBELET_CONFIG,),
    check=check_conflict,
    reads=(MACHINE_CONFIG_POOL,),
)


# --- TLS fields of kubeletConfig --------------------------------------------------------------------------------------

RAW: Final = ("spec", "kubeletConfig")
_MINIMUM: Final = (*RAW, "tlsMinVersion")
_SUITES: Final = (*RAW, "tlsCipherSuites")
_FILES: Final = ("tlsCertFile", "tlsPrivateKeyFile")
_SWITCHES: Final = ("rotateCertificates", "serverTLSBootstrap")
_GO: Final = GO_SUITES | {0x0005, 0xC007, 0xC011}
"""The suites of crypto/tls: library-go maps all but those with RC4, which component-base accepts too."""
_NAMES: Final = tuple(suite_name(code) for code in sorted(_GO))
_VERSIONS: Final = {version_code(name): name for name in VERSIONS}
_MOST_NAMES: Final = 200


def check_raw(subject: Subject) -> Iterator[Flaw]:
    """The TLS fields of `kubeletConfig` are valid, and no weaker than the profile."""
    raw = KubeletConfig.of(subject.object).configuration
    yield from _minimum(raw)
    yield from _suites(raw)
    yield from _overrides(subject, raw)
    yield from _files(raw)
    for name, value in zip(_SWITCHES, (raw.rotate_certificates, raw.server_tls_bootstrap), strict=True):
        if value is False:
            message = f"{name}: false has no effect: the operator merges it as unset, and true remains"
            yield Flaw(message=message, at=(*RAW, name), severity="low", fix=f"remove {name}")
    port = raw.read_only_port
    if isinstance(port, int) and port:
        message = f"on port {port} the kubelet serves plain HTTP without authentication"
        yield Flaw(message=message, at=(*RAW, "readOnlyPort"), severity="medium", fix="remove readOnlyPort")


def _minimum(raw: KubeletConfiguration) -> Iterator[Flaw]:
    version = raw.raw_min_version
    if version in (None, "") or version in VERSIONS[2:]:
        return
    old = version in VERSIONS
    yield Flaw(
        message=f"{version} allows deprecated TLS versions" if old else f"no kubelet starts with {shown(version)}",
        at=_MINIMUM,
        severity="medium" if old else "high",
        expected=VERSIONS[2:],
        observed=(shown(version),),
        fix="set VersionTLS12" if old or not isinstance(version, str) else did_you_mean(version, VERSIONS),
        correction="tlsMinVersion: VersionTLS12",
    )


def _suites(raw: KubeletConfiguration) -> Iterator[Flaw]:
    value = raw.raw_cipher_suites
    if value in (None, []):
        return
    if not isinstance(value, list):
        message = f"no kubelet starts with {shown(value)}: it must be a list"
        yield Flaw(message=message, at=_SUITES, severity="high", fix="set a list of IANA suite names")
        return
    only_tls13 = raw.tls_min_version == VERSIONS[-1]
    if only_tls13:
        message = "tlsCipherSuites has no effect with VersionTLS13: Go always uses the three suites of TLS 1.3"
        yield Flaw(message=message, at=_SUITES, severity="low", fix="remove tlsCipherSuites")
    for index, name in enumerate(value[:_MOST_NAMES]):
        yield from _suite(name, (*_SUITES, index))
    names = {suite_name(code) for code in HTTP2_SUITES}
    if not only_tls13 and names.isdisjoint(each for each in value if isinstance(each, str)):
        message = "no kubelet starts with these suites: HTTP/2 requires one that is not listed"
        yield Flaw(message=message, at=_SUITES, severity="high", fix=f"add {' or '.join(sorted(names))}")


def _suite(name: object, at: Steps) -> Iterator[Flaw]:
    code = suite_named(name) if isinstance(name, str) else None
    if code is None or code not in _GO or suite_name(code) != name:
        known = code is not None and code in _GO
        fix = f"use {suite_name(code)}" if known and code is not None else did_you_mean(str(name), _NAMES)
        message = f"no kubelet starts with {shown(name)}: Go has no suite with that name"
        yield Flaw(message=message, at=at, severity="high", fix=fix)
    elif is_tls13(code):
        yield Flaw(message=f"{name} is always enabled with TLS 1.3", at=at, severity="low", fix="remove it")
    elif found := weakness(code):
        yield Flaw(message=f"{name} {found.why}", at=at, severity=found.severity, fix="remove it")


def _files(raw: KubeletConfiguration) -> Iterator[Flaw]:
    files = zip(_FILES, (raw.tls_cert_file, raw.tls_private_key_file), strict=True)
    named = [name for name, value in files if value]
    if len(named) == 1:
        other = next(name for name in _FILES if name not in named)
        message = f"no kubelet starts with {named[0]} but without {other}"
        yield Flaw(message=message, at=(*RAW, named[0]), severity="high", fix=f"remove {named[0]}")
    elif named:
        message = "a certificate from a file replaces the cluster's: it is not renewed"
        yield Flaw(message=message, at=(*RAW, named[0]), severity="medium", fix=f"remove {' and '.join(named)}")


# --- Overrides of the profile: the operator merges ``kubeletConfig`` over it ------------------------------------------


def _overrides(subject: Subject, raw: KubeletConfiguration) -> Iterator[Flaw]:
    """Report fields that override the object's own profile, or else the cluster's."""
    config, version = subject.object, raw.tls_min_version
    own = tls_profile.declared(config, PROFILE, MACHINE_CONFIG, str(config.reference), _meaning)
    if own.profile is not None:
        yield from _minimum_override(own, version, "tlsSecurityProfile")
        if raw.raw_cipher_suites:
            message = f"tlsCipherSuites overrides tlsSecurityProfile ({own.said})"
            yield Flaw(message=message, at=_SUITES, severity="medium", fix="remove tlsCipherSuites")
    elif version in VERSIONS:
        yield from _inherited(subject, version)


def _meaning(name: str) -> Known[Profile]:
    return load_profile(name, release="4.23")  # the versions are the same in every release


def _inherited(subject: Subject, version: str) -> Iterator[Flaw]:
    server = subject.declared.find(API_SERVER, "cluster")
    if not isinstance(server, Missing):
        name = str(server.reference)
        profile = tls_profile.declared(server, PROFILE, LIBRARY_GO, name, _meaning)
        yield from _minimum_override(profile, version, name)
    elif server.gap:
        flaw = undecided(server, _MINIMUM, f"whether {version} is the minimum of the cluster's profile")
        yield Flaw(message=flaw.message, at=flaw.at, verdict=flaw.verdict, severity="info")


def _minimum_override(found: tls_profile.Declared, version: str, source: str) -> Iterator[Flaw]:
    if version not in VERSIONS or found.profile is None:
        return
    if isinstance(found.profile, Unknown):
        message = f"unknown: whether {version} is the minimum of {source}; {found.profile.reason}"
        yield Flaw(message=message, at=_MINIMUM, verdict="inconclusive", severity="info")
        return
    least = found.profile.min_version
    severity: Severity = "low" if version_code(version) > least else "medium"
    if version_code(version) != least:
        yield Flaw(
            message=f"{version} overrides {_VERSIONS[least]} of {source} ({found.said})",
            at=_MINIMUM,
            severity=severity,
            expected=(_VERSIONS[least],),
            observed=(version,),
            fix="remove tlsMinVersion",
        )


RAW_FIELDS = ObjectRule(id="kubelet-config-tls", subjects=(KUBELET_CONFIG,), check=check_raw, reads=(API_SERVER,))
