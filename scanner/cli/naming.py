"""What users may call a listener on the command line."""

from __future__ import annotations

from collections.abc import Iterable

from scanner.model.endpoint import Endpoint, host_port


def names(endpoint: Endpoint) -> set[str]:
    """Everything that a user may call this endpoint."""
    found = {endpoint.id, endpoint.component or "", *endpoint.aliases}
    for each in (endpoint.owner, endpoint.subject):
        if each is not None:
            short = "/".join(filter(None, (each.namespace, each.name)))
            found |= {short, f"{each.kind}/{short}", f"{short}:{endpoint.port}"}
    for host in filter(None, (endpoint.address, endpoint.host, endpoint.server_name)):
        shown = host_port(host, endpoint.port)
        found |= {shown, f"{endpoint.transport}://{shown}", host}
    return _without_empty(found)


def _without_empty(names: Iterable[str]) -> set[str]:
    return {name for name in names if name}
