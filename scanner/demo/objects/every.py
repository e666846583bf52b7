"""All of it: which resources the demo's API server serves, and their objects."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from scanner.demo.api.store import Object, Resource, Store
from scanner.demo.objects import platform, pods, published, registered
from scanner.demo.world import World
from scanner.kube import kinds
from scanner.kube.kinds import Kind
from scanner.model.diagnosis import EVENT

FORBIDDEN = frozenset({kinds.SECRET.resource, kinds.NETWORK_POLICY.resource})
"""What the demo's role does not allow."""

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
"""As OpenShift 4.22 has them. HyperShift, Contour and the newer Gateway API kinds are not there: absent, not empty."""


def objects(world: World) -> dict[Kind, Iterable[Object]]:
    """Every object of the cluster, by kind."""
    return {
        kinds.POD: pods.pods(world),
        kinds.SERVICE: pods.services(world),
        kinds.ENDPOINT_SLICE: pods.endpoint_slices(world),
        kinds.NODE: platform.nodes(world),
        kinds.NAMESPACE: platform.namespaces(),
        kinds.CONFIG_MAP: registered.config_maps(world),
        EVENT: registered.events(world),
        kinds.VALIDATING_WEBHOOK: registered.validating_webhooks(world),
        kinds.MUTATING_WEBHOOK: registered.mutating_webhooks(world),
        kinds.CUSTOM_RESOURCE_DEFINITION: registered.custom_resource_definitions(world, RESOURCES),
        kinds.API_SERVICE: registered.api_services(world, RESOURCES),
        kinds.API_SERVER: [platform.api_server()],
        kinds.CLUSTER_VERSION: [platform.cluster_version()],
        kinds.CLUSTER_OPERATOR: platform.cluster_operators(),
        kinds.FEATURE_GATE: [platform.feature_gate()],
        kinds.INFRASTRUCTURE: [platform.infrastructure()],
        kinds.NETWORK: [platform.network(world)],
        kinds.INGRESS_CONFIG: [platform.ingress_config()],
        kinds.INGRESS_CONTROLLER: published.ingress_controllers(),
        kinds.ROUTE: published.routes(),
        kinds.ROLE: published.certificate_roles(),
        kinds.ROLE_BINDING: published.certificate_role_bindings(),
        kinds.KUBELET_CONFIG: platform.kubelet_configs(),
        kinds.MACHINE_CONFIG_POOL: platform.machine_config_pools(),
        kinds.CLUSTER_SERVICE_VERSION: registered.cluster_service_versions(),
        kinds.GATEWAY: published.gateways(world),
        kinds.GATEWAY_CLASS: published.gateway_classes(),
        kinds.SERVICE_MONITOR: registered.service_monitors(),
        **{kind: [found] for kind, found in platform.operators().items()},
    }


def store(world: World) -> Store:
    """The demo's etcd."""
    return Store(RESOURCES, objects(world), now=world.now, revision=48_210)
