"""API versions of kinds, and suggestions for an apiVersion or kind that no API has.

Only of groups with known kinds: any project may define a ``Gateway`` or a ``Service`` in its own group, as istio and
Knative do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Final, NamedTuple

from scanner.files.source_positions import shown


class Misnamed(NamedTuple):
    """An error in ``apiVersion`` or ``kind``."""

    field: str
    """The wrong field."""
    message: str
    hint: str


_GATEWAY: Final = "gateway.networking.k8s.io"
_EXPERIMENTAL: Final = "gateway.networking.x-k8s.io"

VERSIONS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "": dict.fromkeys(("ConfigMap", "Namespace", "Pod", "Secret", "Service"), ("v1",)),
    "admissionregistration.k8s.io": dict.fromkeys(
        ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"), ("v1", "v1beta1")
    ),
    "apiextensions.k8s.io": {"CustomResourceDefinition": ("v1", "v1beta1")},
    "apiregistration.k8s.io": {"APIService": ("v1", "v1beta1")},
    "apps": {
        "DaemonSet": ("v1", "v1beta2"),
        "Deployment": ("v1", "v1beta2", "v1beta1"),
        "StatefulSet": ("v1", "v1beta2", "v1beta1"),
    },
    "extensions": {},  # nothing is left in it since Kubernetes 1.22
    "networking.k8s.io": dict.fromkeys(("Ingress", "IngressClass"), ("v1", "v1beta1")),
    "rbac.authorization.k8s.io": dict.fromkeys(
        ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"), ("v1", "v1beta1", "v1alpha1")
    ),
    # gateway-api, config/crd of every release since v0.4.0
    _GATEWAY: {
        "BackendTLSPolicy": ("v1", "v1alpha3", "v1alpha2"),
        "GRPCRoute": ("v1", "v1alpha2"),
        "Gateway": ("v1", "v1beta1", "v1alpha2"),
        "GatewayClass": ("v1", "v1beta1", "v1alpha2"),
        "HTTPRoute": ("v1", "v1beta1", "v1alpha2"),
        "ListenerSet": ("v1",),
        "ReferenceGrant": ("v1", "v1beta1", "v1alpha2"),
        "TCPRoute": ("v1", "v1alpha2"),
        "TLSRoute": ("v1", "v1alpha3", "v1alpha2"),
        "UDPRoute": ("v1", "v1alpha2"),
    },
    _EXPERIMENTAL: dict.fromkeys(("XBackend", "XListenerSet"), ("v1alpha1",)),
    "gateway.envoyproxy.io": {"EnvoyProxy": ("v1alpha1",)},
    # openshift/api; PKI also as the enhancement has it
    "config.openshift.io": {
        **dict.fromkeys(("APIServer", "ClusterVersion", "FeatureGate", "Infrastructure", "Ingress", "OAuth"), ("v1",)),
        **dict.fromkeys(("PKI", "PKICertificateDefinition"), ("v1alpha1", "v1")),
    },
    "machineconfiguration.openshift.io": dict.fromkeys(("KubeletConfig", "MachineConfigPool"), ("v1",)),
    "operator.openshift.io": dict.fromkeys(("Console", "IngressController"), ("v1",)),
    "route.openshift.io": {"Route": ("v1",)},
    "hypershift.openshift.io": dict.fromkeys(("HostedCluster", "HostedControlPlane"), ("v1beta1", "v1alpha1")),
    "contour.heptio.com": dict.fromkeys(("IngressRoute", "TLSCertificateDelegation"), ("v1beta1",)),
    "contour.vmware.com": {"TLSCertificateDelegation": ("v1",)},
    "projectcontour.io": {
        **dict.fromkeys(("HTTPProxy", "TLSCertificateDelegation"), ("v1",)),
        **dict.fromkeys(("ContourConfiguration", "ContourDeployment", "ExtensionService"), ("v1alpha1",)),
    },
    "monitoring.coreos.com": {
        **dict.fromkeys(("PodMonitor", "Probe", "ServiceMonitor"), ("v1",)),
        "ScrapeConfig": ("v1alpha1",),
    },
    "cert-manager.io": dict.fromkeys(
        ("Certificate", "ClusterIssuer", "Issuer"), ("v1", "v1beta1", "v1alpha3", "v1alpha2")
    ),
}
"""Versions by group and kind, of all kinds that lint reads: those of every release, the newest first."""

_OTHERS: Final[Mapping[str, frozenset[str]]] = {
    "": frozenset({"Config", "Endpoints", "Node", "PodTemplate", "ServiceAccount"}),
    _GATEWAY: frozenset({"BackendLBPolicy", "ReferencePolicy"}),
    "apps": frozenset({"ReplicaSet"}),
    "cert-manager.io": frozenset({"CertificateRequest"}),
    "config.openshift.io": frozenset({"Console"}),
    "machineconfiguration.openshift.io": frozenset({"MachineConfig"}),
    "operator.openshift.io": frozenset({"Ingress", "KubeAPIServer", "OpenShiftAPIServer"}),
}
"""Other kinds of these groups with similar names, which are correct."""

_PROPOSED: Final[Mapping[tuple[str, str], str]] = {
    (_GATEWAY, "FrontendTLSPolicy"): "client certificates are validated by spec.tls.frontend of the Gateway",
}
"""Kinds of proposals that no release has, and their replacement (GEP-91, alternatives)."""

_KNOWN: Final = {kind.casefold(): kind for kinds in VERSIONS.values() for kind in kinds}
_NEAR: Final = 0.85
"""Similarity of names: ``HttpRoute`` and ``Routes`` are above it, ``TCPRoute`` and ``UDPRoute`` are not."""
_NEAR_GROUP: Final = 0.9


@lru_cache(1024)
def misnamed(version: str, kind: str) -> Misnamed | None:
    """The error in ``apiVersion`` and ``kind`` of an object, or None if they are known or not similar to known ones."""
    group, _, number = version.rpartition("/")
    if not version:
        return _without_version(kind)
    if not kind:
        kinds = VERSIONS.get(group) if group else None
        hint = f"kinds of {group} are {', '.join(kinds or ())}"
        return Misnamed("apiVersion", f"an object of {shown(version)} without kind", hint) if kinds else None
    if group not in VERSIONS:
        return _in_unknown_group(version, kind)
    versions = VERSIONS[group].get(kind)
    if versions is not None:
        hint = _did_you_mean([_joined(group, each) for each in _nearest(number, versions)])
        message = f"{kind} has no version {shown(version)} in any known release"
        return None if number in versions else Misnamed("apiVersion", message, hint)
    return None if kind in _OTHERS.get(group, ()) else _in_known_group(group, version, kind)


def _without_version(kind: str) -> Misnamed | None:
    meant = _like(kind, _KNOWN.values())
    if meant is None:
        return None
    hint = f"apiVersion is GROUP/VERSION, or VERSION for the core; write {_homes(meant)}"
    return Misnamed("kind", f"{shown(kind)} without apiVersion", hint)


def _in_unknown_group(version: str, kind: str) -> Misnamed | None:
    """The error of a known kind in a group with a similar name."""
    meant, group = _KNOWN.get(kind.casefold()), version.rpartition("/")[0]
    homes = [each for each, kinds in VERSIONS.items() if meant in kinds]
    if group == "" or "/" not in version or meant is None:
        return None
    near = [each for each in homes if each.startswith(f"{group}.") or (each == "" and group == "core")]
    near = near or get_close_matches(group[:80].lower(), [each for each in homes if each], n=1, cutoff=_NEAR_GROUP)
    return _unknown("apiVersion", version, kind, [f"{_latest(each, meant)} {meant}" for each in near]) if near else None


def _in_known_group(group: str, version: str, kind: str) -> Misnamed | None:
    """The error of an unknown kind in a known group: it was proposed, is misspelt, or belongs to another group."""
    if instead := _PROPOSED.get((group, kind)):
        return Misnamed("kind", f"no release has {shown(kind)} in {shown(version)}", instead)
    meant = _like(kind, VERSIONS[group])
    if meant is not None:
        return _unknown("kind", version, kind, [f"{_latest(group, meant)} {meant}"])
    elsewhere = _KNOWN.get(kind.casefold())
    return _unknown("apiVersion", version, kind, [_homes(elsewhere)]) if elsewhere else None


def _unknown(field: str, version: str, kind: str, meant: Iterable[str]) -> Misnamed:
    return Misnamed(field, f"no known API has {shown(kind)} in {shown(version)}", _did_you_mean(meant))


def _homes(kind: str) -> str:
    return " or ".join(f"{_latest(group, kind)} {kind}" for group, kinds in VERSIONS.items() if kind in kinds)


def _like(kind: str, known: Iterable[str]) -> str | None:
    spellings = {each.casefold(): each for each in known}
    close = get_close_matches(kind[:80].casefold(), spellings, n=1, cutoff=_NEAR)
    return spellings[close[0]] if close else None


def _nearest(number: str, versions: tuple[str, ...]) -> list[str]:
    return get_close_matches(number[:80].lower(), versions, n=1, cutoff=0.6) or list(versions[:1])


def _latest(group: str, kind: str) -> str:
    return _joined(group, VERSIONS[group][kind][0])


def _joined(group: str, number: str) -> str:
    return f"{group}/{number}" if group else number


def _did_you_mean(meant: Iterable[str]) -> str:
    return f"did you mean {' or '.join(meant)}?"
