"""Whose a pod is: the object that somebody wrote, above ReplicaSets and Jobs that come and go."""

from __future__ import annotations

import re

from scanner.discover.alike import Alike
from scanner.discover.names import sound
from scanner.kube.objects import Fields
from scanner.model.endpoint import Owner

MIRROR = "kubernetes.io/config.mirror"
"""The kubelet's annotation on the API object of a static pod (Kubernetes, pkg/kubelet/types)."""

_HASHES = (("pod-template-hash", "Deployment"), ("rollouts-pod-template-hash", "Rollout"))
"""Which label of a ReplicaSet's pods ends the ReplicaSet's name, and what made it."""
_SCHEDULED = re.compile(r"(.+)-[0-9]{8,10}\Z")
"""A CronJob's Job carries the minute for which it was made (pkg/controller/cronjob)."""
_DEPLOYED = "openshift.io/deployment-config.name"
_ATTEMPT = re.compile(r"(.+)-[0-9]{1,9}\Z")
_NOBODY = Fields({})


class Owners:
    """Whose pods are. Replicas have one owner, which is one value."""

    def __init__(self) -> None:
        self._above = Alike(_above)

    def of(self, metadata: Fields, node: str | None) -> Owner:
        """Whose the pod with this metadata is; a static pod is ``StaticPod`` of its name without the node's."""
        mirror, deployed = metadata.at("annotations", MIRROR), metadata.at("annotations", _DEPLOYED)
        raw = metadata.raw
        found = self._above(raw.get("ownerReferences"), raw.get("labels"), raw.get("namespace"), mirror, deployed)
        if found:
            return found
        kind, name = "Pod", metadata.text("name")
        if mirror is not None:
            kind, name = "StaticPod", name.removesuffix(f"-{node}") if node else name
        return Owner(kind=kind, name=name, namespace=metadata.text("namespace") or None)


def _above(references: object, labels: object, namespace: object, mirror: object, deployed: object) -> Owner | None:
    """The owner that is not known by the pod's own name. ``mirror`` and ``deployed``: annotations."""
    metadata = Fields({"ownerReferences": references, "labels": labels, "deployed": deployed})
    above = _controller(metadata)
    kind, name = above.text("kind"), above.text("name")
    if mirror is not None or not sound(kind, name):
        return None
    if kind == "ReplicaSet":
        kind, name = _above_replicas(metadata, name)
    elif kind == "ReplicationController":
        kind, name = _above_controller(metadata, name)
    elif kind == "Job":
        scheduled = _SCHEDULED.match(name)
        kind, name = ("CronJob", scheduled[1]) if scheduled else (kind, name)
    return Owner(kind=kind, name=name, namespace=Fields({"namespace": namespace}).text("namespace") or None)


def _controller(metadata: Fields) -> Fields:
    first = _NOBODY
    for each in metadata.each("ownerReferences"):
        if each.flag("controller"):
            return each
        first = first if first.raw else each
    return first


def _above_replicas(metadata: Fields, name: str) -> tuple[str, str]:
    for label, kind in _HASHES:
        ending = f"-{metadata.text('labels', label)}"
        if ending != "-" and name.endswith(ending) and name != ending:
            return kind, name.removesuffix(ending)
    return "ReplicaSet", name


def _above_controller(metadata: Fields, name: str) -> tuple[str, str]:
    config = metadata.text("deployed")
    attempt = _ATTEMPT.match(name)
    if attempt and attempt[1] == config:
        return "DeploymentConfig", config
    return "ReplicationController", name
