"""Steps on plain Kubernetes: kubeadm's ConfigMaps, then the settings of each process, against the required profile.

kubeadm writes the manifests of the control plane from ``kubeadm-config`` (ClusterConfiguration), and each node's
``/var/lib/kubelet/config.yaml`` from ``kubelet-config``. Changing a ConfigMap changes no node until kubeadm runs there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from scanner.doctor.diagnosed_component import Component
from scanner.expect.process_flags import (
    COMPONENT_BASE,
    FLAGS,
    Flags,
    ProcessSettings,
    by_arguments,
    by_configuration,
    by_flags,
    pod_of,
    profile_of_process,
    weaker,
)
from scanner.kube.kinds import KUBELET_CONFIGZ, POD
from scanner.kube.kubelet import Configz, KubeletConfiguration
from scanner.kube.maybe import Known, Unknown
from scanner.kube.objects import Fields
from scanner.kube.tls_profile import Profile
from scanner.kube.view import Part, Parts, Present, Text, View, Words
from scanner.model.diagnosis import Answer, Outcome
from scanner.model.endpoint import Endpoint


class _Argument(View):
    name = Text()
    value = Text()


class _Section(View):
    by_name = Words("extraArgs")
    """Up to v1beta3."""
    listed = Parts(_Argument, "extraArgs")


def extra_arguments(configuration: Fields, *steps: str) -> Mapping[str, str]:
    """Return ``extraArgs`` of the section at ``steps``: a mapping up to v1beta3, then a list."""
    section = Part(_Section, *steps).read(configuration)
    return section.by_name | {each.name: each.value for each in section.listed}


_EXTERNAL_ETCD = Present("etcd", "external")
_NO_OPERATOR = "plain Kubernetes has no operator that applies a profile: process flags and kubeadm's ConfigMaps set it"
_MOST = 5
"""Most processes in a list."""


class ControlPlanePart(Struct, frozen=True, kw_only=True):
    """A component of kubeadm's control plane."""

    steps: tuple[str, ...]
    """Section of the ClusterConfiguration."""
    phase: str
    """Phase of ``kubeadm init`` that writes its manifest."""


_PARTS: Mapping[str, ControlPlanePart] = {
    "kube-apiserver": ControlPlanePart(steps=("apiServer",), phase="control-plane apiserver"),
    "kube-controller-manager": ControlPlanePart(steps=("controllerManager",), phase="control-plane controller-manager"),
    "kube-scheduler": ControlPlanePart(steps=("scheduler",), phase="control-plane scheduler"),
    "etcd": ControlPlanePart(steps=("etcd", "local"), phase="etcd local"),
}
_KUBELET = "kubelet"


def declared(component: Component) -> Answer:
    """Check that kubeadm's ConfigMap has the required settings."""
    settings = _declared(component)
    if settings is None:
        why = "an external etcd" if _external(component) else component.name
        why = f"kubeadm does not configure {why}"
        return Answer(outcome="not-applicable", lines=(_NO_OPERATOR, why))
    if isinstance(settings, Unknown):
        return Answer(outcome="unknown", lines=(settings.reason,))
    line = f"{_place(component)}: {_words(settings)}"
    weaker_than = (_weaker(component, settings, _floor(component, each)) for each in component.endpoints)
    weak = next(filter(None, weaker_than), "")
    if not weak:
        return Answer(outcome="ok", lines=(line,))
    others = [_weaker(component, own, _floor(component, each)) for each, _, own in _running(component)]
    if len(others) == len(component.endpoints) and not any(others):
        overwritten = "its processes have the required settings, but the next kubeadm upgrade overwrites them"
        return Answer(outcome="ok", lines=(line, weak, overwritten))
    return Answer(outcome="stopped", lines=(f"{line}: {weak}",))


def running(component: Component) -> Answer:
    """Check that each process has the settings of kubeadm's ConfigMap; without one, those of the profile."""
    settings, found = _declared(component), list(_running(component))
    if not found:
        return _unseen(component)
    reference = settings if isinstance(settings, ProcessSettings) else None
    stopped, passed = list[str](), list[str]()
    for endpoint, name, own in found:
        floor = _floor(component, endpoint)
        if reference is not None and not _weaker(component, reference, floor):
            floor = _profile(component, reference)
        weak = "" if reference is not None and own.equals(reference) else _weaker(component, own, floor)
        line = f"{name}: {_words(own)}" + (f": {weak}" if weak else "")
        if not weak and reference is not None and not own.equals(reference):
            line += f"; the next kubeadm upgrade overwrites this ({_place(component)}: {_words(reference)})"
        (stopped if weak else passed).append(line)
    lines = tuple(dict.fromkeys((*stopped, *passed)))
    more = [f"and {len(lines) - _MOST} more"] if len(lines) > _MOST else []
    if missing := len(component.endpoints) - len(found):
        more.append(f"the settings of {missing} of its listeners could not be read")
    outcome: Outcome = "stopped" if stopped else "unknown" if missing else "ok"
    return Answer(outcome=outcome, lines=(*lines[:_MOST], *more))


def _unseen(component: Component) -> Answer:
    if component.name == _KUBELET:
        return Answer(outcome="not-read", lines=("not read without --configz (role: adhere rbac --with configz)",))
    if all(_governor(component, each) != "flags" for each in component.endpoints):
        return Answer(outcome="not-applicable", lines=("this component has no known flags for TLS",))
    gap = component.facts.snapshot.gap(POD) or "its pod was not found"
    return Answer(outcome="unknown", lines=(f"the flags of {component.name} could not be read: {gap}",))


def _running(component: Component) -> Iterator[tuple[Endpoint, str, ProcessSettings]]:
    """Yield the settings of each process: a pod's flags, or a kubelet's configz."""
    snapshot = component.facts.snapshot
    for each in component.endpoints:
        if component.name == _KUBELET:
            node = each.node or each.owner.name
            found = snapshot.get(KUBELET_CONFIGZ, node) if KUBELET_CONFIGZ in snapshot.objects else None
            if found is not None:
                yield each, f"configz of Node/{node}", by_configuration(Configz.of(found).configuration)
        elif _governor(component, each) == "flags" and (pod := pod_of(component.facts, each)) is not None:
            yield each, str(pod.reference), by_flags(pod, _flags(component))


def _governor(component: Component, endpoint: Endpoint) -> str:
    entry = component.facts.entry(endpoint)
    return entry.governor if entry else ""


def _flags(component: Component) -> Flags:
    return FLAGS.get(component.name, COMPONENT_BASE)


def _declared(component: Component) -> Known[ProcessSettings] | None:
    """Return the settings in kubeadm's ConfigMap; None if kubeadm does not configure it."""
    if component.name == _KUBELET:
        kubelets = component.facts.kubelet_config
        return by_configuration(kubelets) if isinstance(kubelets, KubeletConfiguration) else kubelets
    part, config = _PARTS.get(component.name), component.facts.kubeadm_config
    if part is None or config is None:
        return None
    if isinstance(config, Unknown):
        return config
    if _external(component):
        return None
    return by_arguments(extra_arguments(config, *part.steps), _flags(component))


def _external(component: Component) -> bool:
    """True for an etcd that kubeadm does not run."""
    config = component.facts.kubeadm_config
    return component.name == "etcd" and isinstance(config, Fields) and _EXTERNAL_ETCD.read(config)


def _place(component: Component) -> str:
    if component.name == _KUBELET:
        return "ConfigMap/kube-system/kubelet-config data[kubelet]"
    return f"ConfigMap/kube-system/kubeadm-config {'.'.join(_PARTS[component.name].steps)}.extraArgs"


def _words(settings: ProcessSettings) -> str:
    return settings.said if settings.anything else "not set, so Go's defaults apply"


def _profile(component: Component, settings: ProcessSettings) -> Known[Profile]:
    return profile_of_process(settings, _place(component), component.facts.snapshot.origin.git_version)


def _floor(component: Component, endpoint: Endpoint) -> Known[Profile]:
    """Return the required profile: the policy's override, or that of the cluster."""
    for each in component.facts.policy.overrides:
        if each.selector.matches(endpoint):
            overrides = component.facts.overrides
            return overrides[each.profile] if each.binding else Unknown("the policy does not enforce a profile")
    return component.authority.declared().profile or Unknown("no profile is required")


def _weaker(component: Component, settings: ProcessSettings, floor: Known[Profile]) -> str:
    """Return why ``settings`` are less strict than ``floor``, or "" if they are not, or if either is unknown."""
    own = profile_of_process(settings, component.name, component.facts.snapshot.origin.git_version)
    if isinstance(own, Unknown):
        return own.reason
    more = "" if isinstance(floor, Unknown) else weaker(floor, own)
    return f"weaker than {floor.name}, with {more}" if more and not isinstance(floor, Unknown) else ""


def declared_commands(component: Component) -> tuple[str, ...]:
    """Return the command for kubeadm's ConfigMap."""
    name = "kubelet-config" if component.name == _KUBELET else "kubeadm-config"
    if component.name != _KUBELET and component.name not in _PARTS:
        return ()
    return (f"kubectl -n kube-system get cm {name} -o yaml",)


def running_commands(component: Component) -> tuple[str, ...]:
    """Return the commands for the settings of each process, and to apply the ConfigMap to a node."""
    if component.name == _KUBELET:
        return (
            "kubectl get --raw /api/v1/nodes/NODE/proxy/configz",
            "grep -A 20 tls /var/lib/kubelet/config.yaml   # on each node",
            "kubeadm upgrade node phase kubelet-config && systemctl restart kubelet   # on a node that is behind",
        )
    part = _PARTS.get(component.name)
    if part is None:
        return ()
    flags = _flags(component)
    pods = f"kubectl -n kube-system get pods -l component={component.name} -o yaml"
    if _external(component):
        return (pods,)
    return (
        pods,
        (
            f"grep -e --{' -e --'.join(filter(None, (flags.minimum, flags.suites, flags.groups)))}"
            f" /etc/kubernetes/manifests/{component.name}.yaml"
            "   # on each node of the control plane"
        ),
        "kubectl -n kube-system get cm kubeadm-config -o jsonpath='{.data.ClusterConfiguration}' > kubeadm.yaml",
        f"kubeadm init phase {part.phase} --config kubeadm.yaml   # on each node that is behind",
    )
