"""ServiceMonitors and PodMonitors that scrape by HTTPS (monitoring.coreos.com/v1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scanner.discover import balanced, workloads
from scanner.discover.draft import Claim, Found, Omission, Source
from scanner.discover.labels import Item
from scanner.discover.names import port, server_name
from scanner.discover.view import View
from scanner.model.kinds import POD_MONITOR, SERVICE_MONITOR
from scanner.model.objects import Fields, KubeObject

MAX_MATCHES = 1000
"""Services or pods that one monitor may select, and namespaces that it may name."""


def _services(view: View) -> Iterator[Found]:
    for monitor in view.snapshot.every(SERVICE_MONITOR):
        for endpoint in _secure(monitor, "endpoints"):
            chosen = _selected(monitor, view.balanced.select)
            if len(chosen) > MAX_MATCHES:
                yield Omission(
                    f"Services beyond the first {MAX_MATCHES} of a ServiceMonitor", len(chosen) - MAX_MATCHES
                )
            for service in chosen[:MAX_MATCHES]:
                by_name = service.port(endpoint.text("port")) if endpoint.text("port") else None
                wanted = by_name or service.targeting(endpoint.at("targetPort"))
                if wanted:
                    yield from view.through(service, wanted, _claim(monitor, endpoint))


def _pods(view: View) -> Iterator[Found]:
    for monitor in view.snapshot.every(POD_MONITOR):
        for endpoint in _secure(monitor, "podMetricsEndpoints"):
            chosen = _selected(monitor, view.workloads.select)
            if len(chosen) > MAX_MATCHES:
                yield Omission(f"pods beyond the first {MAX_MATCHES} of a PodMonitor", len(chosen) - MAX_MATCHES)
            for pod in chosen[:MAX_MATCHES]:
                wanted = endpoint.text("port") or endpoint.at("portNumber") or endpoint.at("targetPort")
                number = pod.number(wanted)
                if number:
                    yield from view.said_of(pod, number, _claim(monitor, endpoint))


def _secure(monitor: KubeObject, field: str) -> Iterator[Fields]:
    """Its endpoints with HTTPS; newer CRDs take the scheme in upper case too."""
    return (each for each in monitor.each("spec", field) if each.text("scheme").lower() == "https")


def _selected(monitor: KubeObject, select: Callable[[str | None, Fields], list[Item]]) -> list[Item]:
    selector, namespaces = monitor.fields("spec", "selector"), monitor.fields("spec", "namespaceSelector")
    if namespaces.flag("any"):
        return select(None, selector)
    named = namespaces.texts("matchNames")[:MAX_MATCHES] or (monitor.namespace or "",)
    return [found for each in dict.fromkeys(named) for found in select(each, selector)]


def _claim(monitor: KubeObject, endpoint: Fields) -> Claim:
    name = server_name(endpoint.text("tlsConfig", "serverName"))
    wanted = endpoint.at("port") or port(endpoint.at("portNumber")) or endpoint.at("targetPort")
    return Claim(
        certainty="declared",
        origin=f"{monitor.reference} port {wanted}"[:300],
        name=name,
        writer=monitor.namespace,
        beyond="users",
    )


SERVICES = Source(name="ServiceMonitors", reads=(SERVICE_MONITOR, *balanced.READS), find=_services)
PODS = Source(name="PodMonitors", reads=(POD_MONITOR, *workloads.READS), find=_pods)
