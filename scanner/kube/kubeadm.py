"""kubeadm's ClusterConfiguration (kubeadm.k8s.io), of which it makes the control plane's manifests."""

from __future__ import annotations

from collections.abc import Mapping

from scanner.kube.objects import Fields
from scanner.kube.view import Parts, Text, View, Words


class _Argument(View):
    name = Text()
    value = Text()


class _Section(View):
    by_name = Words("extraArgs")
    """Up to v1beta3."""
    listed = Parts(_Argument, "extraArgs")


def extra_arguments(configuration: Fields, *steps: str) -> Mapping[str, str]:
    """``extraArgs`` of the section at ``steps``: a mapping up to v1beta3, then a list."""
    section = _Section(configuration.fields(*steps).raw, steps)
    return section.by_name | {each.name: each.value for each in section.listed}


def has_external_etcd(configuration: Fields) -> bool:
    """Whether kubeadm does not run etcd itself."""
    return configuration.has("etcd", "external")
