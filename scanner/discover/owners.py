"""Whose a pod is: the object that somebody wrote, above ReplicaSets and Jobs that come and go."""

from __future__ import annotations

import re

from scanner.discover.names import sound
from scanner.model.endpoint import Owner
from scanner.model.objects import Fields, KubeObject

MIRROR = "kubernetes.io/config.mirror"
"""The kubelet's annotation on the API object of a static pod (Kubernetes, pkg/kubelet/types)."""

_HASHES = (("pod-template-hash", "Deployment"), ("rollouts-pod-template-hash", "Rollout"))
"""Which label of a ReplicaSet's pods ends the ReplicaSet's name, and what made it."""
_SCHEDULED = re.compile(r"(.+)-[0-9]{8,10}\Z")
"""A CronJob's Job carries the minute for which it was made (pkg/controller/cronjob)."""
_DEPLOYED = "openshift.io/deployment-config.name"
_ATTEMPT = re.compile(r"(.+)-[0-9]{1,9}\Z")


def owner_of(pod: KubeObject, node: str | None) -> Owner:
    """Whose ``pod`` is; a static pod is ``StaticPod`` of its name without the node's."""
    above = _controller(pod)
    kind, name = above.text("kind"), above.text("name")
    if MIRROR in pod.annotations:
        kind, name = "StaticPod", pod.name.removesuffix(f"-{node}") if node else pod.name
    elif not sound(kind, name):
        kind, name = "Pod", pod.name
    elif kind == "ReplicaSet":
        kind, name = _above_replicas(pod, name)
    elif kind == "ReplicationController":
        kind, name = _above_controller(pod, name)
    elif kind == "Job":
        scheduled = _SCHEDULED.match(name)
        kind, name = ("CronJob", scheduled[1]) if scheduled else (kind, name)
    return Owner(kind=kind, name=name, namespace=pod.namespace)


def _controller(pod: KubeObject) -> Fields:
    first = Fields({})
    for each in pod.each("metadata", "ownerReferences"):
        if each.flag("controller"):
            return each
        first = first if first.raw else each
    return first


def _above_replicas(pod: KubeObject, name: str) -> tuple[str, str]:
    labels = pod.labels
    for label, kind in _HASHES:
        ending = f"-{labels.get(label)}"
        if label in labels and name.endswith(ending) and name != ending:
            return kind, name.removesuffix(ending)
    return "ReplicaSet", name


def _above_controller(pod: KubeObject, name: str) -> tuple[str, str]:
    config = pod.annotations.get(_DEPLOYED, "")
    attempt = _ATTEMPT.match(name)
    if attempt and attempt[1] == config:
        return "DeploymentConfig", config
    return "ReplicationController", name
