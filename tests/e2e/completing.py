"""What an API server wants of every object of a kind, and an example leaves out where no rule looks at it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.e2e.test_demo_objects import CLUSTER_VERSION, filled
from tests.e2e.writing import Object

_CALLED = {"sideEffects": "None", "admissionReviewVersions": ["v1"]}
_BACKEND = {"service": {"name": "web", "port": {"number": 443}}}


def completed(item: Object) -> Object:
    """The object with all of that; what the example says stays as it is."""
    complete = _COMPLETE.get(item["kind"])
    found: Object = filled(item)
    return {**found, **complete(found)} if complete else found


def _cluster_version(item: Object) -> Object:
    status = item.get("status", {})
    desired = {"image": "", "version": "", **status.get("desired", {})}
    return {
        "spec": {"clusterID": "00000000-0000-4000-8000-000000000000", **item.get("spec", {})},
        "status": CLUSTER_VERSION | status | {"desired": desired},
    }


def _ingress(item: Object) -> Object:
    spec = item.get("spec", {})
    needed = item["apiVersion"].startswith("networking") and not {"rules", "defaultBackend"} & spec.keys()
    return {"spec": {"defaultBackend": _BACKEND, **spec}} if needed else {}


def _webhooks(item: Object) -> Object:
    return {"webhooks": [_CALLED | each for each in item.get("webhooks", [])]}


def _definition(item: Object) -> Object:
    """A CustomResourceDefinition of the name that it has."""
    plural, _, group = item["metadata"]["name"].partition(".")
    kind = plural.removesuffix("s").title()
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    needed = {"group": group, "scope": "Namespaced", "versions": [version], "names": {"plural": plural, "kind": kind}}
    return {"spec": needed | item.get("spec", {})}


def _api_service(item: Object) -> Object:
    version, _, group = item["metadata"]["name"].partition(".")
    needed = {"group": group, "version": version, "groupPriorityMinimum": 100, "versionPriority": 10}
    spec = needed | item.get("spec", {})
    service = spec.get("service")
    return {"spec": {**spec, **({"service": {"namespace": "shop", "name": "web", **service}} if service else {})}}


def _route(item: Object) -> Object:
    return {"spec": {"rules": [{"backendRefs": [{"name": "web", "port": 443}]}], **item.get("spec", {})}}


def _workload(item: Object) -> Object:
    template = item["spec"]["template"]
    labels = template.get("metadata", {}).get("labels") or {"app": "web"}
    whole = {**template, "metadata": {**template.get("metadata", {}), "labels": labels}, **_pod(template)}
    return {"spec": {"selector": {"matchLabels": labels}, **item["spec"], "template": whole}}


def _monitor(item: Object) -> Object:
    return {"spec": {"selector": {}, **item["spec"]}}


def _pod(item: Object) -> Object:
    containers = [{"name": "web", "image": "web"} | each for each in item["spec"].get("containers", [])]
    return {"spec": {**item["spec"], "containers": containers}}


_COMPLETE: Mapping[str, Callable[[Any], Object]] = {
    "ClusterVersion": _cluster_version,
    "Ingress": _ingress,
    "ValidatingWebhookConfiguration": _webhooks,
    "MutatingWebhookConfiguration": _webhooks,
    "APIService": _api_service,
    "CustomResourceDefinition": _definition,
    "TLSRoute": _route,
    "TCPRoute": _route,
    "Deployment": _workload,
    "DaemonSet": _workload,
    "StatefulSet": _workload,
    "Pod": _pod,
    "ServiceMonitor": _monitor,
    "PodMonitor": _monitor,
}
