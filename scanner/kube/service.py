"""Services and EndpointSlices: ports that lead to pods, and the TLS that names and protocols of ports suggest (core/v1,
discovery.k8s.io/v1)."""

from __future__ import annotations

import re
from typing import Final

from scanner.kube.kinds import SERVICE
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Snapshot
from scanner.kube.view import Number, Parts, Text, Texts, Value, View, Words

SERVICE_NAME: Final = "kubernetes.io/service-name"
"""Label of an EndpointSlice: the name of its Service."""


class ServicePort(View):
    """A port of a Service."""

    name = Text()
    port = Number()
    node_port = Number()
    app_protocol = Text()
    target_port = Value()

    @property
    def protocol(self) -> str:
        """``protocol``, by default TCP."""
        return self.text("protocol") or "TCP"

    @property
    def target(self) -> int | str | None:
        """Number or name of the pod's port; the Service's own port if ``targetPort`` is not set."""
        target = self.target_port
        if isinstance(target, bool) or not isinstance(target, int | str) or not target:
            return self.port
        return target


class Published(View):
    """An address of a load balancer, in the status of a Service, Ingress or HTTPProxy."""

    ip = Text()
    hostname = Text()


class Service(KubeObject):
    type = Text("spec", "type")
    selector = Words("spec", "selector")
    ports = Parts(ServicePort, "spec", "ports")
    cluster_ip = Text("spec", "clusterIP")
    cluster_ips = Texts("spec", "clusterIPs")
    external_ips = Texts("spec", "externalIPs")

    @property
    def is_external_name(self) -> bool:
        """True for an alias of another host, which has no addresses of its own."""
        return self.type == "ExternalName"

    @property
    def dns(self) -> str:
        """Its name inside the cluster, which clients verify in its certificate."""
        return f"{self.name}.{self.namespace or ''}.svc"


PUBLISHED: Final = Parts(Published, "status", "loadBalancer", "ingress")
"""The field is the same in Services, Ingresses and HTTPProxies."""


def service_of(snapshot: Snapshot, host: str) -> Service | None:
    """The Service with the name ``NAME.NAMESPACE.svc``, with or without the cluster's domain."""
    name, namespace, *domain = (*host.split("."), "", "")
    found = snapshot.get(SERVICE, name, namespace) if domain[0] == "svc" else None
    return Service.of(found) if found else None


class SlicePort(View):
    """A port of an EndpointSlice; without a number, all ports."""

    name = Text()
    """Name of the Service's port that leads here."""
    port = Number()

    @property
    def protocol(self) -> str:
        """``protocol``, by default TCP."""
        return self.text("protocol") or "TCP"


class Backend(View):
    """An endpoint of an EndpointSlice."""

    addresses = Texts()
    target = Text("targetRef", "name")
    """Name of the pod."""

    @property
    def is_ready(self) -> bool:
        """False if the cluster reports that it is not ready."""
        return self.at("conditions", "ready") is not False


class EndpointSlice(KubeObject):
    """Some of the backends of a Service."""

    ports = Parts(SlicePort, "ports")
    endpoints = Parts(Backend, "endpoints")

    @property
    def service_name(self) -> str:
        """The Service that it belongs to; empty if none."""
        return self.text("metadata", "labels", SERVICE_NAME)


_TLS_PROTOCOLS = frozenset({"https", "tls", "ssl", "wss", "grpcs", "kubernetes.io/wss", "ldaps", "amqps", "mqtts"})
"""``appProtocol`` of Service ports (Kubernetes, core/v1 ServicePort; IANA service names) that mean TLS."""
_PLAIN_PROTOCOLS = frozenset({"http", "ws", "h2c", "kubernetes.io/h2c", "kubernetes.io/ws"})
"""Values that mean HTTP without TLS."""
_TLS_PORT_NAME = re.compile(r"https|(^|-)(tls|ssl|wss|grpcs|ldaps|amqps|mqtts|webhook)(-|$)|^webhook")
"""Port names: ``https``, ``https-metrics``, ``metrics-tls``, ``webhook-server``."""
_PLAIN_PORT_NAME = re.compile(r"(^|-)(http|h2c|ws)(-|$)")


def protocol_suggests_tls(app_protocol: str) -> bool | None:
    """True if an ``appProtocol`` means TLS; None if it means neither TLS nor plain HTTP."""
    protocol = app_protocol.lower()
    return True if protocol in _TLS_PROTOCOLS else False if protocol in _PLAIN_PROTOCOLS else None


def name_suggests_tls(name: str) -> bool | None:
    """True if a port's name suggests TLS; None if it suggests neither TLS nor plain HTTP. A name is only a hint."""
    lower = name.lower()
    return True if _TLS_PORT_NAME.search(lower) else False if _PLAIN_PORT_NAME.search(lower) else None
