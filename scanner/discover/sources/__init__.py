"""The sources of discovery: each looks at some kinds of objects and says where they lead. Their order is that of the
origins of an endpoint."""

from __future__ import annotations

from scanner.discover.index import Source
from scanner.discover.sources import (
    api_server_calls,
    control_plane,
    flags,
    gateways,
    http_proxies,
    ingresses,
    mounts,
    pods,
    prometheus,
    routes,
    service_ports,
)

SOURCES: tuple[Source, ...] = (
    control_plane.API_SERVER_SOURCE,
    api_server_calls.WEBHOOKS,
    api_server_calls.CONVERSIONS,
    api_server_calls.API_SERVICES,
    routes.ROUTERS,
    routes.SOURCE,
    gateways.SOURCE,
    gateways.POLICIES,
    http_proxies.SOURCE,
    ingresses.SOURCE,
    prometheus.SERVICES,
    prometheus.PODS,
    prometheus.PROBES,
    service_ports.ANNOTATED,
    service_ports.PORTS,
    flags.SOURCE,
    pods.SOURCE,
    mounts.SOURCE,
    control_plane.NODES,
)
