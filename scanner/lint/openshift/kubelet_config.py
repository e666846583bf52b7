"""KubeletConfigs and the MachineConfigPools that they select: none, or one that another selects too."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scanner.files.problems import did_you_mean
from scanner.files.source_positions import Steps, shown
from scanner.kube import tls_profile
from scanner.kube.kinds import API_SERVER, KUBELET_CONFIG, MACHINE_CONFIG_POOL
from scanner.kube.kubelet import SUFFIX, KubeletConfig, KubeletConfiguration, in_order, is_for
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
"""KubeletConfigs of one pool that are looked at: the operator takes no more."""
_MOST_POOLS: Final = 100
"""Pools that are looked at. A cluster has a handful; each is held against each KubeletConfig."""


def check_pool(subject: Subject) -> Iterator[Flaw]:
    """A KubeletConfig that says something of TLS selects a pool."""
    config = KubeletConfig.of(subject.object)
    if not config.speaks_of_tls:
        return
    at, label = _at(config), "pools.operator.machineconfiguration.openshift.io/worker"
    correction = f'machineConfigPoolSelector:\n  matchLabels:\n    {label}: ""'
    fix = "select a pool by a label that a MachineConfigPool has"
    if is_empty(config.pool_selector):
        message = "it selects no pool, so its TLS settings apply to no kubelet"
        yield Flaw(message=message, at=at, fix=fix, correction=correction)
        return
    pools, gap = known_pools(subject.declared)
    if any(is_for(config, each) for each in pools):
        return
    if gap:
        yield undecided(Missing(name=MACHINE_CONFIG_POOL.name, gap=gap), at, "whether it selects a pool")
        return
    message = "its selector matches no MachineConfigPool, so its TLS settings apply to no kubelet"
    observed = tuple(str(each.reference) for each in pools[:5])
    yield Flaw(message=message, at=at, observed=observed, fix=fix, correction=correction)


def known_pools(declared: Declared) -> tuple[tuple[KubeObject, ...], str | None]:
    """The pools that are looked at, and why there may be others."""
    every = declared.every(MACHINE_CONFIG_POOL)
    return every[:_MOST_POOLS], f"there are more than {_MOST_POOLS}" if len(every) > _MOST_POOLS else declared.gap(
        MACHINE_CONFIG_POOL
    )


def _at(config: KubeletConfig) -> Steps:
    return _SELECTOR if config.has_pool_selector else _SPEC


POOL = ObjectRule(id="kubelet-config-pool", subjects=(KUBELET_CONFIG,), check=check_pool, reads=(MACHINE_CONFIG_POOL,))


def check_conflict(subject: Subject) -> Iterator[Flaw]:
    """One KubeletConfig for each pool, where TLS matters."""
    config, declared = KubeletConfig.of(subject.object), subject.declared
    if not config.speaks_of_tls or is_empty(config.pool_selector):
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


@dataclass(frozen=True, slots=True)
class _Choices:
    """Who selects what: a pool, or the pools of one selector, wherever they are."""

    every: tuple[KubeletConfig, ...]
    by: Mapping[str, list[KubeletConfig]]
    of: Mapping[str, list[str]]
    gap: str | None
    """Why there may be other pools."""


def _choices(declared: Declared) -> _Choices:
    """Made once, the pools first: what is known of a pair by a pool is told by it."""
    every = tuple(
        each for each in map(KubeletConfig.of, declared.every(KUBELET_CONFIG)) if not is_empty(each.pool_selector)
    )
    pools, gap = known_pools(declared)
    by: dict[str, list[KubeletConfig]] = {}
    of: dict[str, list[str]] = {}
    for config in every:
        selector = f"the pools of the selector {json.dumps(config.pool_selector.raw)[:200]}"
        for what in (selector, *(str(pool.reference) for pool in pools if is_for(config, pool))):
            by.setdefault(what, []).append(config)
            of.setdefault(config.name, []).append(what)
    return _Choices(every, by, of, gap)


def _conflict(config: KubeletConfig, others: Sequence[KubeletConfig], shared: str) -> Flaw:
    every = in_order((config, *others))
    known = any(each.annotations.get(SUFFIX) for each in every)  # the operator's own count
    last = f"{every[-1].reference}, the later one, takes effect alone"
    names = ", ".join(str(each.reference) for each in others[:_SHOWN]) + (" and others" if others[_SHOWN:] else "")
    return Flaw(
        message=f"{names}: for {shared}, too: {last if known else 'only the one that is created last takes effect'}",
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


RAW: Final = ("spec", "kubeletConfig")
_MINIMUM: Final = (*RAW, "tlsMinVersion")
_SUITES: Final = (*RAW, "tlsCipherSuites")
_FILES: Final = ("tlsCertFile", "tlsPrivateKeyFile")
_SWITCHES: Final = ("rotateCertificates", "serverTLSBootstrap")
_GO: Final = GO_SUITES | {0x0005, 0xC007, 0xC011}
"""What crypto/tls has: library-go maps all but those with RC4, and component-base takes these as well."""
_NAMES: Final = tuple(suite_name(code) for code in sorted(_GO))
_VERSIONS: Final = {version_code(name): name for name in VERSIONS}
_MOST_NAMES: Final = 200


def check_raw(subject: Subject) -> Iterator[Flaw]:
    """What `kubeletConfig` says of TLS is what a kubelet takes, and no less than the profile."""
    raw = KubeletConfig.of(subject.object).configuration
    yield from _minimum(raw)
    yield from _suites(raw)
    yield from _overrides(subject, raw)
    yield from _files(raw)
    for name, value in zip(_SWITCHES, (raw.rotate_certificates, raw.server_tls_bootstrap), strict=True):
        if value is False:
            message = f"{name}: false counts as not said when the operator merges it: true stays"
            yield Flaw(message=message, at=(*RAW, name), severity="low", fix=f"remove {name}")
    port = raw.read_only_port
    if isinstance(port, int) and port:
        message = f"on port {port} the kubelet serves plain HTTP without authentication"
        yield Flaw(message=message, at=(*RAW, "readOnlyPort"), severity="medium", fix="remove readOnlyPort")


def _minimum(raw: KubeletConfiguration) -> Iterator[Flaw]:
    said = raw.said_min_version
    if said in (None, "") or said in VERSIONS[2:]:
        return
    old = said in VERSIONS
    yield Flaw(
        message=f"{said} allows deprecated TLS versions" if old else f"no kubelet starts with {shown(said)}",
        at=_MINIMUM,
        severity="medium" if old else "high",
        expected=VERSIONS[2:],
        observed=(shown(said),),
        fix="write VersionTLS12" if old or not isinstance(said, str) else did_you_mean(said, VERSIONS),
        correction="tlsMinVersion: VersionTLS12",
    )


def _suites(raw: KubeletConfiguration) -> Iterator[Flaw]:
    value = raw.listed_cipher_suites
    if value in (None, []):
        return
    if not isinstance(value, list):
        message = f"no kubelet starts with {shown(value)}: it must be a list"
        yield Flaw(message=message, at=_SUITES, severity="high", fix="write a list of IANA's names")
        return
    alone = raw.tls_min_version == VERSIONS[-1]
    if alone:
        message = "with VersionTLS13 tlsCipherSuites means nothing: Go speaks the three suites of TLS 1.3"
        yield Flaw(message=message, at=_SUITES, severity="low", fix="remove tlsCipherSuites")
    for index, name in enumerate(value[:_MOST_NAMES]):
        yield from _suite(name, (*_SUITES, index))
    names = {suite_name(code) for code in HTTP2_SUITES}
    if not alone and names.isdisjoint(each for each in value if isinstance(each, str)):
        message = "no kubelet starts with these suites: HTTP/2 requires one that is not listed"
        yield Flaw(message=message, at=_SUITES, severity="high", fix=f"add {' or '.join(sorted(names))}")


def _suite(name: object, at: Steps) -> Iterator[Flaw]:
    code = suite_named(name) if isinstance(name, str) else None
    if code is None or code not in _GO or suite_name(code) != name:
        known = code is not None and code in _GO
        fix = f"write {suite_name(code)}" if known and code is not None else did_you_mean(str(name), _NAMES)
        message = f"no kubelet starts with {shown(name)}: Go has no suite of that name"
        yield Flaw(message=message, at=at, severity="high", fix=fix)
    elif is_tls13(code):
        yield Flaw(message=f"{name} is always on with TLS 1.3", at=at, severity="low", fix="remove it")
    elif found := weakness(code):
        yield Flaw(message=f"{name} {found.why}", at=at, severity=found.severity, fix="remove it")


def _files(raw: KubeletConfiguration) -> Iterator[Flaw]:
    files = zip(_FILES, (raw.tls_cert_file, raw.tls_private_key_file), strict=True)
    given = [name for name, value in files if value]
    if len(given) == 1:
        other = next(name for name in _FILES if name not in given)
        message = f"no kubelet starts with {given[0]} and without {other}"
        yield Flaw(message=message, at=(*RAW, given[0]), severity="high", fix=f"remove {given[0]}")
    elif given:
        message = "a certificate from a file replaces the one that the cluster signs: it is not renewed"
        yield Flaw(message=message, at=(*RAW, given[0]), severity="medium", fix=f"remove {' and '.join(given)}")


# --- What takes the place of a profile: the operator merges ``kubeletConfig`` over it ---------------------------------


def _overrides(subject: Subject, raw: KubeletConfiguration) -> Iterator[Flaw]:
    """What of ``raw`` takes the place of the object's own profile, or else the cluster's."""
    config, said = subject.object, raw.tls_min_version
    own = tls_profile.declared(config, PROFILE, MACHINE_CONFIG, str(config.reference), _meaning)
    if own.profile is not None:
        yield from _least(own, said, "tlsSecurityProfile")
        if raw.listed_cipher_suites:
            message = f"tlsCipherSuites overrides tlsSecurityProfile ({own.said})"
            yield Flaw(message=message, at=_SUITES, severity="medium", fix="remove tlsCipherSuites")
    elif said in VERSIONS:
        yield from _inherited(subject, said)


def _meaning(name: str) -> Known[Profile]:
    return load_profile(name, release="4.23")  # of every release the versions are the same


def _inherited(subject: Subject, said: str) -> Iterator[Flaw]:
    server = subject.declared.find(API_SERVER, "cluster")
    if not isinstance(server, Missing):
        called = str(server.reference)
        yield from _least(tls_profile.declared(server, PROFILE, LIBRARY_GO, called, _meaning), said, called)
    elif server.gap:
        flaw = undecided(server, _MINIMUM, f"whether {said} is what the cluster's profile says")
        yield Flaw(message=flaw.message, at=flaw.at, verdict=flaw.verdict, severity="info")


def _least(found: tls_profile.Declared, said: str, source: str) -> Iterator[Flaw]:
    if said not in VERSIONS or found.profile is None:
        return
    if isinstance(found.profile, Unknown):
        message = f"not decided: whether {said} is what {source} says; {found.profile.reason}"
        yield Flaw(message=message, at=_MINIMUM, verdict="inconclusive", severity="info")
        return
    least = found.profile.min_version
    severity: Severity = "low" if version_code(said) > least else "medium"
    if version_code(said) != least:
        yield Flaw(
            message=f"{said} overrides {source} ({found.said}), {_VERSIONS[least]}",
            at=_MINIMUM,
            severity=severity,
            expected=(_VERSIONS[least],),
            observed=(said,),
            fix="remove tlsMinVersion",
        )


RAW_FIELDS = ObjectRule(id="kubelet-config-tls", subjects=(KUBELET_CONFIG,), check=check_raw, reads=(API_SERVER,))
