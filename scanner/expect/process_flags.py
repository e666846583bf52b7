"""TLS settings of Kubernetes processes: flags of static pods, and the kubelet's configuration.

On plain Kubernetes a process may be stricter than the selected profile, never weaker.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from scanner.expect.facts import Facts
from scanner.expect.partial_expectation import Partial
from scanner.files.source_positions import shown
from scanner.kube.kinds import POD
from scanner.kube.kubelet import KubeletConfiguration
from scanner.kube.maybe import Known, Unknown
from scanner.kube.pod import Pod
from scanner.kube.tls_profile import VERSIONS, Profile
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Lever, StatedGroups
from scanner.tls.codepoints import TLS12
from scanner.tls.names import (
    GO_GROUPS,
    GO_SUITES,
    TLS13_SUITES,
    group_name,
    is_tls13,
    suite_named,
    version_code,
    version_name,
)
from scanner.values import replace

_ECDHE = (0xC02B, 0xC02F, 0xC02C, 0xC030, 0xCCA9, 0xCCA8, 0xC009, 0xC013, 0xC00A, 0xC014)
"""Go's default suites since 1.22 (crypto/tls ``cipher_suites.go``)."""
_STATIC_RSA = (0x009C, 0x009D, 0x002F, 0x0035, 0x000A, 0xC012)
"""Further default suites before Go 1.22."""
_GO_1_22 = 30
"""Kubernetes 1.30 is the first release that is built with Go 1.22."""

_TIGHTENED = ", tightened"
_MOST = 200
"""Most flags and suites that are read."""


class ProcessSettings(Struct, frozen=True, kw_only=True):
    """TLS settings of a process; empty if not set."""

    minimum: str = ""
    suites: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    """Go's numbers of groups, as they are written."""

    @property
    def anything(self) -> bool:
        """True if any setting is set."""
        return bool(self.minimum or self.suites or self.groups)

    def equals(self, other: ProcessSettings) -> bool:
        """True for the same settings in any order."""
        lists = zip((self.suites, self.groups), (other.suites, other.groups), strict=True)
        return self.minimum == other.minimum and all(set(one) == set(two) for one, two in lists)

    @property
    def said(self) -> str:
        """The settings as text."""
        count = len(self.suites)
        suites = f"{count} cipher {'suite' if count == 1 else 'suites'}" if count else "Go's default cipher suites"
        groups = [group_name(code) if (code := _group(each)) is not None else shown(each) for each in self.groups[:10]]
        more = f", groups {' '.join(groups)}" if groups else ""
        return f"{shown(self.minimum).strip(chr(39)) if self.minimum else 'no minimum version'}, {suites}{more}"


class Flags(Struct, frozen=True, kw_only=True):
    """Flag names of a program."""

    minimum: str
    suites: str
    groups: str = ""
    """Empty if there is none."""


COMPONENT_BASE = Flags(minimum="tls-min-version", suites="tls-cipher-suites", groups="tls-curve-preferences")
"""k8s.io/component-base ``cli/flag``: ``VersionTLS12``, IANA's names, and since 0.36 Go's numbers of groups."""
ETCD = Flags(minimum="tls-min-version", suites="cipher-suites")
"""etcd ``server/etcdmain``: ``TLS1.2``, and IANA's names."""


GROUPS_FLAG, GROUPS_FIELD = f"--{COMPONENT_BASE.groups}", "tlsCurvePreferences"
"""The settings for groups: of processes, and of kubelets."""


def by_flags(pod: Pod, flags: Flags) -> ProcessSettings:
    """Settings of the containers' commands and arguments; the last of equal flags counts."""
    found: dict[str, str] = {}
    for container in pod.spec.containers:
        pairs = list(_flags(container.arguments[:_MOST]))
        found.update(pairs)
        if lists := [value for name, value in pairs if name == flags.groups]:
            found[flags.groups] = ",".join(lists)  # pflag appends equal flags of numbers
    return _settings_of(found, flags)


def by_arguments(arguments: Mapping[str, str], flags: Flags) -> ProcessSettings:
    """Settings in ``extraArgs`` of a section of kubeadm's ClusterConfiguration."""
    return _settings_of(arguments, flags)


def _settings_of(found: Mapping[str, str], flags: Flags) -> ProcessSettings:
    names = tuple(name.strip() for name in found.get(flags.suites, "").split(",") if name.strip())
    stated = found.get(flags.groups) if flags.groups else None
    groups = () if stated is None else tuple(stated.split(","))[:_MOST]
    return ProcessSettings(minimum=found.get(flags.minimum, "").strip(), suites=names[:_MOST], groups=groups)


def by_configuration(kubelet: KubeletConfiguration) -> ProcessSettings:
    """Settings of a KubeletConfiguration (kubelet.config.k8s.io/v1beta1)."""
    groups = numbers(kubelet.tls_curve_preferences)
    return ProcessSettings(minimum=kubelet.tls_min_version, suites=kubelet.tls_cipher_suites[:_MOST], groups=groups)


def numbers(value: object) -> tuple[str, ...]:
    """The items of a list of Go's numbers, as they are written; a field without a value is an empty list."""
    items = value[:_MOST] if isinstance(value, list) else [] if value is None else [value]
    return tuple(str(each) if type(each) is int else repr(each)[:40] for each in items)


def _flags(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    waiting = ""
    for word in words:
        match = re.match(r"--?([a-z][a-z0-9-]*)(?:=(.*))?\Z", word, re.DOTALL)
        if match and match[2] is not None:
            waiting = ""
            yield match[1], match[2]
        elif match:
            waiting = match[1]
        elif waiting:
            yield waiting, word
            waiting = ""


_OF_ETCD = ("TLS1.2", "TLS1.3")
"""etcd's names of its minimum versions (etcd-io/etcd ``client/pkg/tlsutil/versions.go``)."""


def profile_of_process(settings: ProcessSettings, source: str, git_version: str) -> Known[Profile]:
    """The profile of a Kubernetes program with these settings; ``git_version`` (``v1.34.2``) selects Go's defaults."""
    if settings.minimum and settings.minimum not in (*VERSIONS, *_OF_ETCD):
        return Unknown(f"{source} has the invalid minimum version {shown(settings.minimum)}; no server starts with it")
    minimum = version_code(settings.minimum or VERSIONS[-2])
    codes = [code for name in settings.suites if (code := suite_named(name)) is not None]
    suites = [code for code in codes if code in GO_SUITES and not is_tls13(code)]
    notes = tuple(
        f"{source} lists {shown(name)}, which Go does not support" for name in settings.suites if not _go(name)
    )
    if settings.suites and not suites and minimum <= TLS12:
        return Unknown(f"{source} lists no TLS 1.2 cipher suite that Go supports")
    groups = groups_of(settings.groups, source) if settings.groups else None
    return Profile(
        name=f"{version_name(minimum)} or later ({source})",
        min_version=minimum,
        suites=(*TLS13_SUITES, *((dict.fromkeys(suites) or _defaults(git_version)) if minimum <= TLS12 else ())),
        groups=None if isinstance(groups, Unknown) else groups,
        source=source,
        notes=notes[:5],
    )


def groups_of(written: Iterable[str], setting: str) -> Known[tuple[int, ...]]:
    """The groups with these numbers; no server starts with others (component-base ``cli/flag/curves_flag.go``)."""
    found: list[int] = []
    for each in written:
        code = _group(each)
        if code is None or code in found:
            why = ", which is no group of Go 1.26" if code is None else " twice; no server starts with it"
            return Unknown(f"{setting} has {shown(each)}{why}")
        found.append(code)
    return tuple(found)


_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,4}|[1-9][0-9]{0,4}", re.ASCII)


def _group(number: str) -> int | None:
    """The group of Go's number; None for another value."""
    code = int(number, 0) if _NUMBER.fullmatch(number) else None
    return code if code in GO_GROUPS else None


def stating(partial: Partial, settings: ProcessSettings, setting: str) -> Partial:
    """Require the groups that the process is configured with, if any."""
    if not settings.groups:
        return partial
    found, stated = groups_of(settings.groups, setting), StatedGroups(setting=setting)
    stated = replace(stated, unknown=found.reason) if isinstance(found, Unknown) else replace(stated, codes=found)
    return replace(partial, stated_groups=stated, groups_configurable=True)


_GROUPS_SINCE = 36
"""Kubernetes 1.36 is the first release with a setting for groups."""


def bounded(
    facts: Facts,
    partial: Partial,
    settings: ProcessSettings,
    source: str,
    field: str,
    lever: Lever,
    version: str = "",
) -> Partial:
    """The required profile, tightened where the process is stricter; weaker settings are recorded as a cause.
    ``version`` is the Kubernetes release of the process, if it has one."""
    floor = partial.profile
    partial = replace(partial, lever=partial.lever or lever)
    if isinstance(floor, Unknown):
        return partial
    setting = GROUPS_FLAG if lever.minimum.startswith("--") else GROUPS_FIELD
    if settings.groups and 0 < _minor(version) < _GROUPS_SINCE:
        text = f"{source} sets {setting}, which exists since Kubernetes 1.36, but its release is {version}"
        partial, settings = partial.remark(text), replace(settings, groups=())
    field = f"{field}, {setting}" if settings.groups else field
    own = profile_of_process(settings, source, facts.snapshot.origin.git_version)
    if isinstance(own, Unknown):
        return partial.step(source, field, settings.said).remark(own.reason)
    partial = partial.remark(*own.notes) if settings.anything else partial
    required = facts.policy.thresholds.groups == "enforced" or partial.stated_groups is not None
    partial = stating(partial, settings, f"{source} {setting}")
    if own.groups and floor.groups and (beyond := [code for code in own.groups if code not in floor.groups]):
        effect = "they are not allowed" if required else "groups: enforced in the policy would forbid them"
        names = ", ".join(map(group_name, beyond))
        partial = partial.remark(f"{source} {setting} has groups that {floor.name} does not list ({names}): {effect}")
    found = tightened(floor, own, floor.groups if required else None)
    text = settings.said if settings.anything else "not set, which means Go's defaults"
    if more := weaker(floor, own):
        text = f"{text}: weaker than {floor.name}, with {more}"
        partial = replace(partial, lever=replace(lever, told=settings.said if settings.anything else "not set"))
    if not _overlap(floor, own):
        partial = partial.remark(
            f"{source} lists no cipher suite of {floor.name}; the suites of the profile are required"
        )
    if not settings.anything or found is floor:
        return partial.step(source, field, text)
    return partial.requires(found, source, field, text)


def tightened(floor: Profile, own: Profile, required: tuple[int, ...] | None) -> Profile:
    """The higher minimum and the suites that both allow; if they share none, those of ``floor``. Groups are those of
    ``own``, if it has any, and of ``required``, if they are."""
    minimum = max(floor.min_version, own.min_version)
    shared = tuple(code for code in floor.suites if code in own.suites)
    suites = shared if minimum > TLS12 or _overlap(floor, own) else floor.suites
    groups = floor.groups
    if own.groups is not None and set(own.groups) != set(groups or ()):
        groups = own.groups if required is None else tuple(each for each in required if each in own.groups) or required
    if (minimum, suites, groups) == (floor.min_version, floor.suites, floor.groups):
        return floor
    name = f"{floor.name.removesuffix(_TIGHTENED)}{_TIGHTENED}"
    return replace(floor, name=name, min_version=minimum, suites=suites, groups=groups)


def _overlap(floor: Profile, own: Profile) -> bool:
    """True if both allow a common suite of TLS 1.2, or one does not allow TLS 1.2."""
    return max(floor.min_version, own.min_version) > TLS12 or any(
        not is_tls13(code) and code in own.suites for code in floor.suites
    )


def weaker(floor: Profile, own: Profile) -> str:
    """Text of what ``own`` allows beyond ``floor``; empty if nothing."""
    return " and ".join(_weaker(floor, own))


def _weaker(floor: Profile, own: Profile) -> Iterator[str]:
    """Each item that ``own`` allows beyond ``floor``."""
    if own.min_version < floor.min_version:
        yield version_name(own.min_version)
    if floor.min_version <= TLS12 and (beyond := set(own.suites) - set(floor.suites)):
        yield f"{len(beyond)} more cipher {'suite' if len(beyond) == 1 else 'suites'}"


def _go(name: str) -> bool:
    return suite_named(name) in GO_SUITES


def _defaults(git_version: str) -> tuple[int, ...]:
    return (*_ECDHE, *_STATIC_RSA) if 0 < _minor(git_version) < _GO_1_22 else _ECDHE


def _minor(git_version: str) -> int:
    """34 of ``v1.34.2``; 0 if it is unknown."""
    match = re.match(r"v?1\.([0-9]{1,3})", git_version, re.ASCII)
    return int(match[1]) if match else 0


FLAGS = {"etcd": ETCD}
"""Flags by component; all others use ``COMPONENT_BASE``."""
_OF_KUBERNETES = frozenset({"kube-apiserver", "kube-controller-manager", "kube-scheduler"})
"""Components that have the cluster's release."""


def resolve(facts: Facts, partial: Partial) -> Partial:
    """The required profile, tightened by the flags of the process."""
    if partial.entry is None or partial.entry.governor != "flags":
        return partial
    flags = FLAGS.get(partial.entry.component, COMPONENT_BASE)
    pod = pod_of(facts, partial.endpoint)
    if pod is None:
        gap = facts.snapshot.gap(POD) or "its pod was not found"
        return partial.remark(f"the flags of {partial.endpoint.owner.name} could not be read: {gap}")
    settings = by_flags(pod, flags)
    lever = _lever(pod, partial.entry.component, partial.endpoint, flags)
    version = facts.snapshot.origin.git_version if partial.entry.component in _OF_KUBERNETES else ""
    field = f"--{flags.minimum}, --{flags.suites}"
    return bounded(facts, partial, settings, str(pod.reference), field, lever, version)


def _lever(pod: Pod, component: str, endpoint: Endpoint, flags: Flags) -> Lever:
    """The place of the flags: for a static pod a file of its node, for other pods the owner."""
    static = pod.is_static
    containers = [each.name for each in pod.spec.containers]
    owner = endpoint.owner
    return Lever(
        where=str(pod.reference) if static else "/".join(filter(None, (owner.kind, owner.namespace, owner.name))),
        container=component if component in containers else next(iter(containers), ""),
        minimum=f"--{flags.minimum}",
        suites=f"--{flags.suites}",
        spelling="etcd" if flags is ETCD else "component-base",
        files=(f"/etc/kubernetes/manifests/{component}.yaml",) if static else (),
        others=("ConfigMap/kube-system/kubeadm-config",) if static else (),
    )


def pod_of(facts: Facts, endpoint: Endpoint) -> Pod | None:
    """The listening pod; any static pod of the component, if the endpoint has none."""
    if endpoint.pod is not None:
        found = facts.snapshot.get(POD, endpoint.pod.name, endpoint.pod.namespace)
        return Pod.of(found) if found else None
    entry = facts.entry(endpoint)
    names = {endpoint.owner.name, entry.component if entry else ""}
    for pod in facts.static_pods:
        mine = pod.labels.get("component") in names and pod.namespace == endpoint.owner.namespace
        if mine and endpoint.node in (None, pod.spec.node_name):
            return pod
    return None
