"""The sources of discovery: each looks at some kinds of objects and says where they lead. Their order is that of the
origins of an endpoint."""

from __future__ import annotations

from scanner.discover.draft import Source
from scanner.discover.sources import (
    api_server,
    api_server_calls,
    backend_tls,
    flags,
    gateways,
    http_proxies,
    ingresses,
    mounts,
    nodes,
    pods,
    prometheus,
    routes,
    service_ca,
    services,
)

SOURCES: tuple[Source, ...] = (
    api_server.SOURCE,
    api_server_calls.WEBHOOKS,
    api_server_calls.CONVERSIONS,
    api_server_calls.API_SERVICES,
    routes.ROUTERS,
    routes.SOURCE,
    gateways.SOURCE,
    backend_tls.SOURCE,
    http_proxies.SOURCE,
    ingresses.SOURCE,
    prometheus.SERVICES,
    prometheus.PODS,
    prometheus.PROBES,
    service_ca.SOURCE,
    services.SOURCE,
    flags.SOURCE,
    pods.SOURCE,
    mounts.SOURCE,
    nodes.SOURCE,
)
