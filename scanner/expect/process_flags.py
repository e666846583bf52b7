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
from scanner.model.expectation import Lever
from scanner.tls.codepoints import TLS12
from scanner.tls.names import GO_SUITES, TLS13_SUITES, is_tls13, suite_named, version_code, version_name
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

    @property
    def anything(self) -> bool:
        """True if any setting is set."""
        return bool(self.minimum or self.suites)

    @property
    def said(self) -> str:
        """The settings as text."""
        count = len(self.suites)
        suites = f"{count} cipher {'suite' if count == 1 else 'suites'}" if count else "Go's default cipher suites"
        return f"{shown(self.minimum).strip(chr(39)) if self.minimum else 'no minimum version'}, {suites}"


class Flags(Struct, frozen=True, kw_only=True):
    """Flag names of a program."""

    minimum: str
    suites: str


COMPONENT_BASE = Flags(minimum="tls-min-version", suites="tls-cipher-suites")
"""k8s.io/component-base ``cli/flag``: ``VersionTLS12``, and IANA's names."""
ETCD = Flags(minimum="tls-min-version", suites="cipher-suites")
"""etcd ``server/etcdmain``: ``TLS1.2``, and IANA's names."""


def by_flags(pod: Pod, flags: Flags) -> ProcessSettings:
    """Settings of the containers' commands and arguments; the last of equal flags counts."""
    found: dict[str, str] = {}
    for container in pod.spec.containers:
        found.update(_flags(container.arguments[:_MOST]))
    return _settings_of(found, flags)


def by_arguments(arguments: Mapping[str, str], flags: Flags) -> ProcessSettings:
    """Settings in ``extraArgs`` of a section of kubeadm's ClusterConfiguration."""
    return _settings_of(arguments, flags)


def _settings_of(found: Mapping[str, str], flags: Flags) -> ProcessSettings:
    names = tuple(name.strip() for name in found.get(flags.suites, "").split(",") if name.strip())
    return ProcessSettings(minimum=found.get(flags.minimum, "").strip(), suites=names[:_MOST])


def by_configuration(kubelet: KubeletConfiguration) -> ProcessSettings:
    """Settings of a KubeletConfiguration (kubelet.config.k8s.io/v1beta1)."""
    return ProcessSettings(minimum=kubelet.tls_min_version, suites=kubelet.tls_cipher_suites[:_MOST])


def _flags(words: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    waiting = ""
    for word in words:
        match = re.match(r"--?([a-z][a-z0-9-]*)(?:=(.*))?\Z", word, re.DOTALL)
        if match and match[2] is not None:
            found[match[1]], waiting = match[2], ""
        elif match:
            waiting = match[1]
        else:  # without a flag before it, it has an empty name
            found[waiting], waiting = word, ""
    return found


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
    return Profile(
        name=f"{version_name(minimum)} or later ({source})",
        min_version=minimum,
        suites=(*TLS13_SUITES, *((dict.fromkeys(suites) or _defaults(git_version)) if minimum <= TLS12 else ())),
        groups=None,
        source=source,
        notes=notes[:5],
    )


def bounded(
    partial: Partial, settings: ProcessSettings, source: str, field: str, lever: Lever, git_version: str
) -> Partial:
    """The required profile, tightened where the process is stricter; weaker settings are recorded as a cause."""
    floor = partial.profile
    partial = replace(partial, lever=partial.lever or lever)
    if isinstance(floor, Unknown):
        return partial
    own = profile_of_process(settings, source, git_version)
    if isinstance(own, Unknown):
        return partial.step(source, field, settings.said).remark(own.reason)
    partial = partial.remark(*own.notes) if settings.anything else partial
    found = tightened(floor, own)
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


def tightened(floor: Profile, own: Profile) -> Profile:
    """The higher minimum and the suites that both allow; if they share none, those of ``floor``."""
    minimum = max(floor.min_version, own.min_version)
    shared = tuple(code for code in floor.suites if code in own.suites)
    suites = shared if minimum > TLS12 or _overlap(floor, own) else floor.suites
    if (minimum, suites) == (floor.min_version, floor.suites):
        return floor
    name = f"{floor.name.removesuffix(_TIGHTENED)}{_TIGHTENED}"
    return replace(floor, name=name, min_version=minimum, suites=suites)


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
    match = re.match(r"v?1\.([0-9]{1,3})", git_version, re.ASCII)
    return (*_ECDHE, *_STATIC_RSA) if match and int(match[1]) < _GO_1_22 else _ECDHE


FLAGS = {"etcd": ETCD}
"""Flags by component; all others use ``COMPONENT_BASE``."""


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
    return bounded(
        partial,
        settings,
        str(pod.reference),
        f"--{flags.minimum}, --{flags.suites}",
        lever,
        facts.snapshot.origin.git_version,
    )


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
