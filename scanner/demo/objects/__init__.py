"""The resources of the demo's API server and their objects: JSON, built from ``Layout``.

Shapes follow the API of Kubernetes 1.35 and OpenShift 4.22 (openshift/api), with the fields that such objects have on a
cluster, not only those that adhere reads. No object holds a private key.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from scanner.demo.api.store import Object, Resource, Store
from scanner.demo.layout import Layout
from scanner.demo.objects import platform, pods, published
from scanner.kube import kinds
from scanner.kube.kinds import Kind
from scanner.model.diagnosis import EVENT

FORBIDDEN = frozenset({kinds.SECRET.resource, kinds.NETWORK_POLICY.resource})
"""Resources that the demo's role does not allow."""

_crd = partial(Resource, server="crd")

RESOURCES: tuple[Resource, ...] = (
    Resource(kind=kinds.POD, short_names=("po",), subresources=("portforward", "status")),
    Resource(kind=kinds.SERVICE, short_names=("svc",)),
    Resource(kind=kinds.NODE, short_names=("no",)),
    Resource(kind=kinds.NAMESPACE, short_names=("ns",)),
    Resource(kind=kinds.SECRET),
    Resource(kind=EVENT, short_names=("ev",)),
    Resource(kind=kinds.CONFIG_MAP, short_names=("cm",)),
    Resource(kind=kinds.ENDPOINT_SLICE),
    Resource(kind=kinds.INGRESS, short_names=("ing",)),
    Resource(kind=kinds.INGRESS_CLASS),
    Resource(kind=kinds.NETWORK_POLICY, short_names=("netpol",)),
    *(Resource(kind=each) for each in (kinds.ROLE, kinds.ROLE_BINDING, kinds.CLUSTER_ROLE, kinds.CLUSTER_ROLE_BINDING)),
    Resource(kind=kinds.VALIDATING_WEBHOOK),
    Resource(kind=kinds.MUTATING_WEBHOOK),
    Resource(kind=kinds.VALIDATING_ADMISSION_POLICY),
    Resource(kind=kinds.VALIDATING_ADMISSION_POLICY_BINDING),
    Resource(kind=kinds.CUSTOM_RESOURCE_DEFINITION, short_names=("crd", "crds")),
    Resource(kind=kinds.API_SERVICE),
    _crd(kind=kinds.API_SERVER),
    _crd(kind=kinds.CLUSTER_VERSION),
    _crd(kind=kinds.CLUSTER_OPERATOR, short_names=("co",)),
    _crd(kind=kinds.FEATURE_GATE),
    _crd(kind=kinds.INFRASTRUCTURE),
    _crd(kind=kinds.NETWORK),
    _crd(kind=kinds.INGRESS_CONFIG),
    _crd(kind=kinds.INGRESS_CONTROLLER),
    Resource(kind=kinds.ROUTE, server="aggregated"),
    _crd(kind=kinds.KUBELET_CONFIG),
    _crd(kind=kinds.MACHINE_CONFIG_POOL, short_names=("mcp",)),
    _crd(kind=kinds.CLUSTER_SERVICE_VERSION, versions=("v1alpha1",), short_names=("csv",)),
    _crd(kind=kinds.GATEWAY, versions=("v1", "v1beta1"), short_names=("gtw",)),
    _crd(kind=kinds.GATEWAY_CLASS, versions=("v1", "v1beta1"), short_names=("gc",)),
    _crd(kind=kinds.SERVICE_MONITOR, short_names=("smon",)),
    _crd(kind=kinds.POD_MONITOR, short_names=("pmon",)),
    *(_crd(kind=each) for each in platform.operators()),
)
"""Resources of OpenShift 4.22. HyperShift, Contour and the newer Gateway API kinds are absent, not empty."""


def objects(layout: Layout) -> dict[Kind, Iterable[Object]]:
    """Every object of the cluster, by kind."""
    return {
        kinds.POD: (pods.pod(layout, each) for each in layout.replicas),
        kinds.SERVICE: pods.services(layout),
        kinds.ENDPOINT_SLICE: pods.endpoint_slices(layout),
        kinds.NODE: platform.nodes(layout),
        kinds.NAMESPACE: platform.namespaces(),
        kinds.CONFIG_MAP: published.config_maps(layout),
        EVENT: published.events(layout),
        kinds.VALIDATING_WEBHOOK: published.validating_webhooks(layout),
        kinds.MUTATING_WEBHOOK: published.mutating_webhooks(layout),
        kinds.CUSTOM_RESOURCE_DEFINITION: published.custom_resource_definitions(layout, RESOURCES),
        kinds.API_SERVICE: published.api_services(layout, RESOURCES),
        kinds.API_SERVER: [platform.api_server()],
        kinds.CLUSTER_VERSION: [platform.cluster_version()],
        kinds.CLUSTER_OPERATOR: platform.cluster_operators(),
        kinds.FEATURE_GATE: [platform.feature_gate()],
        kinds.INFRASTRUCTURE: [platform.infrastructure()],
        kinds.NETWORK: [platform.network(layout)],
        kinds.INGRESS_CONFIG: [platform.ingress_config()],
        kinds.INGRESS_CONTROLLER: published.ingress_controllers(),
        kinds.ROUTE: published.routes(),
        kinds.ROLE: published.certificate_roles(),
        kinds.ROLE_BINDING: published.certificate_role_bindings(),
        kinds.KUBELET_CONFIG: platform.kubelet_configs(),
        kinds.MACHINE_CONFIG_POOL: platform.machine_config_pools(),
        kinds.CLUSTER_SERVICE_VERSION: published.cluster_service_versions(),
        kinds.GATEWAY: published.gateways(layout),
        kinds.GATEWAY_CLASS: published.gateway_classes(),
        kinds.SERVICE_MONITOR: published.service_monitors(),
        **{kind: [found] for kind, found in platform.operators().items()},
    }


def store(layout: Layout) -> Store:
    """All objects, as the API server stores them."""
    return Store(RESOURCES, objects(layout), now=layout.now, revision=48_210)
