"""The sources of discovery, each for some kinds of objects. An endpoint's origins have their order."""

from __future__ import annotations

from scanner.discover.index import Source
from scanner.discover.sources import (
    api_server_calls,
    control_plane,
    declared_ports,
    flags,
    gateways,
    http_proxies,
    ingresses,
    mounts,
    prometheus,
    routes,
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
    declared_ports.ANNOTATED,
    declared_ports.PORTS,
    flags.SOURCE,
    declared_ports.SOURCE,
    mounts.SOURCE,
    control_plane.NODES,
)
