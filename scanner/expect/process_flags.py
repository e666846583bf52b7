"""TLS settings of a process in Kubernetes' own words: flags of static pods, and the kubelet's configuration.

Where no object of a platform says what is required, they bound each other: a process may be stricter than the profile
that is asked for, never weaker.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from scanner.expect.facts import Facts
from scanner.expect.partial_expectation import Draft
from scanner.files.source_positions import shown
from scanner.kube.kinds import POD
from scanner.kube.kubelet import KubeletConfiguration
from scanner.kube.maybe import Known, Unknown
from scanner.kube.pod import Pod
from scanner.kube.tls_profile import Profile
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Lever
from scanner.tls.codepoints import TLS12
from scanner.tls.names import GO_SUITES, TLS13_SUITES, is_tls13, suite_named, version_code, version_name

_ECDHE = (0xC02B, 0xC02F, 0xC02C, 0xC030, 0xCCA9, 0xCCA8, 0xC009, 0xC013, 0xC00A, 0xC014)
"""What Go enables by default since 1.22 (crypto/tls ``cipher_suites.go``)."""
_STATIC_RSA = (0x009C, 0x009D, 0x002F, 0x0035, 0x000A, 0xC012)
"""What it enabled before, beside those."""
_GO_1_22 = 30
"""Kubernetes 1.30 is the first that is built with Go 1.22."""

_TIGHTENED = ", tightened"
_MOST = 200
"""Flags and suites that are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSettings:
    """Settings of a process; empty where it has none."""

    minimum: str = ""
    suites: tuple[str, ...] = ()

    @property
    def anything(self) -> bool:
        """Whether anything is set."""
        return bool(self.minimum or self.suites)

    @property
    def said(self) -> str:
        """For people."""
        count = len(self.suites)
        suites = f"{count} cipher {'suite' if count == 1 else 'suites'}" if count else "Go's default cipher suites"
        return f"{shown(self.minimum).strip(chr(39)) if self.minimum else 'no minimum version'}, {suites}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """How a program spells it."""

    minimum: str
    suites: str


COMPONENT_BASE = Flags(minimum="tls-min-version", suites="tls-cipher-suites")
"""k8s.io/component-base ``cli/flag``: ``VersionTLS12``, and IANA's names."""
ETCD = Flags(minimum="tls-min-version", suites="cipher-suites")
"""etcd ``server/etcdmain``: ``TLS1.2``, and IANA's names."""


def by_flags(pod: Pod, flags: Flags) -> ProcessSettings:
    """What the containers' commands and arguments say; the last of equal flags counts."""
    found: dict[str, str] = {}
    for container in pod.spec.containers:
        found.update(_flags(container.arguments[:_MOST]))
    return _told(found, flags)


def by_arguments(arguments: Mapping[str, str], flags: Flags) -> ProcessSettings:
    """What ``extraArgs`` of a section of kubeadm's ClusterConfiguration say."""
    return _told(arguments, flags)


def _told(found: Mapping[str, str], flags: Flags) -> ProcessSettings:
    names = tuple(name.strip() for name in found.get(flags.suites, "").split(",") if name.strip())
    return ProcessSettings(minimum=found.get(flags.minimum, "").strip(), suites=names[:_MOST])


def by_configuration(kubelet: KubeletConfiguration) -> ProcessSettings:
    """What a KubeletConfiguration says (kubelet.config.k8s.io/v1beta1)."""
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
        elif waiting:
            found[waiting], waiting = word, ""
    return found


def profile_of_process(told: ProcessSettings, source: str, git_version: str) -> Known[Profile]:
    """What a program of Kubernetes speaks with these settings; ``git_version`` (``v1.34.2``) decides Go's defaults."""
    minimum = TLS12
    if told.minimum:
        try:
            minimum = version_code(told.minimum[:40])
        except KeyError:
            return Unknown(f"{source} has the minimum version {shown(told.minimum)}, with which no server starts")
    codes = [code for name in told.suites if (code := suite_named(name)) is not None]
    suites = [code for code in codes if code in GO_SUITES and not is_tls13(code)]
    notes = tuple(f"{source} lists {shown(name)}, which Go does not have" for name in told.suites if not _go(name))
    if told.suites and not suites and minimum <= TLS12:
        return Unknown(f"{source} lists no cipher suite of TLS 1.2 that Go has")
    return Profile(
        name=f"{version_name(minimum)} or later ({source})",
        min_version=minimum,
        suites=(*TLS13_SUITES, *((dict.fromkeys(suites) or _defaults(git_version)) if minimum <= TLS12 else ())),
        groups=None,
        source=source,
        notes=notes[:5],
    )


def bounded(draft: Draft, told: ProcessSettings, source: str, field: str, lever: Lever, git_version: str) -> Draft:
    """The profile that is asked for, tightened where the process is stricter; what is weaker is named as a cause."""
    floor = draft.profile
    draft = replace(draft, lever=draft.lever or lever)
    if isinstance(floor, Unknown):
        return draft
    own = profile_of_process(told, source, git_version)
    if isinstance(own, Unknown):
        return draft.says(source, field, told.said).remark(own.reason)
    draft = draft.remark(*own.notes) if told.anything else draft
    found = tightened(floor, own)
    said = told.said if told.anything else "not set, which means Go's defaults"
    if more := weaker(floor, own):
        said = f"{said}: weaker than {floor.name}, with {more}"
        draft = replace(draft, lever=replace(lever, told=told.said if told.anything else "not set"))
    if not _overlap(floor, own):
        draft = draft.remark(f"{source} lists no cipher suite of {floor.name}: the suites of the profile are required")
    if not told.anything or found is floor:
        return draft.says(source, field, said)
    return draft.requires(found, source, field, said)


def tightened(floor: Profile, own: Profile) -> Profile:
    """The higher minimum and the suites that both allow; where they share none, the floor's."""
    minimum = max(floor.min_version, own.min_version)
    shared = tuple(code for code in floor.suites if code in own.suites)
    suites = shared if minimum > TLS12 or _overlap(floor, own) else floor.suites
    if (minimum, suites) == (floor.min_version, floor.suites):
        return floor
    name = f"{floor.name.removesuffix(_TIGHTENED)}{_TIGHTENED}"
    return replace(floor, name=name, min_version=minimum, suites=suites)


def _overlap(floor: Profile, own: Profile) -> bool:
    """Whether both allow a suite of TLS 1.2, where both speak that."""
    return max(floor.min_version, own.min_version) > TLS12 or any(
        not is_tls13(code) and code in own.suites for code in floor.suites
    )


def weaker(floor: Profile, own: Profile) -> str:
    """What a process allows and the floor does not, in words; empty where it allows no more."""
    return " and ".join(_weaker(floor, own))


def _weaker(floor: Profile, own: Profile) -> Iterator[str]:
    """Each thing that the process allows and the floor does not."""
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
"""By component; the others are Kubernetes' own programs."""


def resolve(facts: Facts, draft: Draft) -> Draft:
    """The profile that is asked for, tightened by what the flags of the process say."""
    if draft.entry is None or draft.entry.governor != "flags":
        return draft
    flags = FLAGS.get(draft.entry.component, COMPONENT_BASE)
    pod = pod_of(facts, draft.endpoint)
    if pod is None:
        gap = facts.snapshot.gap(POD) or "its pod is not among the cluster's objects"
        return draft.remark(f"the flags of {draft.endpoint.owner.name} could not be read: {gap}")
    told = by_flags(pod, flags)
    lever = _lever(pod, draft.entry.component, draft.endpoint, flags)
    return bounded(
        draft,
        told,
        str(pod.reference),
        f"--{flags.minimum}, --{flags.suites}",
        lever,
        facts.snapshot.origin.git_version,
    )


def _lever(pod: Pod, component: str, endpoint: Endpoint, flags: Flags) -> Lever:
    """A static pod's flags are in a file of its node, where the kubelet reads them; others' in their owner."""
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
    """The pod that listens; any of the component's, where the endpoint does not say which."""
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
