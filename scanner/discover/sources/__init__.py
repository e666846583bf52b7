"""The sources of discovery: each looks at some kinds of objects and says where they lead. Their order is that of the
origins of an endpoint."""

from __future__ import annotations

from scanner.discover.draft import Source
from scanner.discover.sources import (
    api_server,
    api_services,
    backend_tls,
    conversion,
    flags,
    gateways,
    http_proxies,
    ingresses,
    monitors,
    mounts,
    nodes,
    pods,
    probes,
    routes,
    service_ca,
    services,
    webhooks,
)

SOURCES: tuple[Source, ...] = (
    api_server.SOURCE,
    webhooks.SOURCE,
    conversion.SOURCE,
    api_services.SOURCE,
    routes.ROUTERS,
    routes.SOURCE,
    gateways.SOURCE,
    backend_tls.SOURCE,
    http_proxies.SOURCE,
    ingresses.SOURCE,
    monitors.SERVICES,
    monitors.PODS,
    probes.SOURCE,
    service_ca.SOURCE,
    services.SOURCE,
    flags.SOURCE,
    pods.SOURCE,
    mounts.SOURCE,
    nodes.SOURCE,
)
