"""ServiceMonitors and PodMonitors that scrape by HTTPS (monitoring.coreos.com/v1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scanner.discover import balanced, workloads
from scanner.discover.draft import Claim, Found, Source
from scanner.discover.labels import Item
from scanner.discover.names import port, server_name
from scanner.discover.view import View
from scanner.kube.kinds import POD_MONITOR, SERVICE_MONITOR
from scanner.kube.objects import Fields, KubeObject
from scanner.model.endpoint import Origin

MAX_ENDPOINTS = 100
"""Of one monitor, those that differ."""
MAX_MATCHES = 1000
"""Services or pods that one monitor may select, and namespaces that it may name."""


def _services(view: View) -> Iterator[Found]:
    for monitor in view.snapshot.every(SERVICE_MONITOR):
        endpoints = _secure(view, monitor, "endpoints")
        chosen = selected(view, monitor, monitor.fields("spec"), view.balanced.select) if endpoints else []
        for endpoint in endpoints:
            claim = _claim(monitor, endpoint)
            for service in chosen:
                by_name = service.port(endpoint.text("port")) if endpoint.text("port") else None
                wanted = by_name or service.targeting(endpoint.at("targetPort"))
                if wanted:
                    yield from view.through(service, wanted, claim)


def _pods(view: View) -> Iterator[Found]:
    for monitor in view.snapshot.every(POD_MONITOR):
        endpoints = _secure(view, monitor, "podMetricsEndpoints")
        chosen = selected(view, monitor, monitor.fields("spec"), view.workloads.select) if endpoints else []
        for endpoint in endpoints:
            claim = _claim(monitor, endpoint)
            for pod in chosen:
                number = pod.number(endpoint.text("port") or endpoint.at("portNumber") or endpoint.at("targetPort"))
                if number:
                    yield from view.said_of(pod, number, claim)


def _secure(view: View, monitor: KubeObject, field: str) -> list[Fields]:
    """Its endpoints with HTTPS, equal ones once; newer CRDs take the scheme in upper case too."""
    https = (each for each in monitor.each("spec", field) if each.text("scheme").lower() == "https")
    different = {_key(each): each for each in https}
    return view.cuts.first(different.values(), MAX_ENDPOINTS, f"endpoints of one {monitor.kind.name}", monitor)


def _key(endpoint: Fields) -> tuple[str, ...]:
    ports = (endpoint.at(field) for field in ("port", "targetPort", "portNumber"))
    return (*(repr(each) if isinstance(each, int | str) else "" for each in ports), _name(endpoint) or "")


def _name(endpoint: Fields) -> str | None:
    return server_name(endpoint.text("tlsConfig", "serverName"))


def selected(
    view: View, monitor: KubeObject, by: Fields, select: Callable[[str | None, Fields], list[Item]]
) -> list[Item]:
    """What a monitor selects: ``by`` has its ``selector`` and ``namespaceSelector``, whose default is its own one."""
    selector, namespaces = by.fields("selector"), by.fields("namespaceSelector")
    what = f"of one {monitor.kind.name}"
    if namespaces.flag("any"):
        found = select(None, selector)
    else:
        named = dict.fromkeys(namespaces.texts("matchNames") or (monitor.namespace or "",))
        chosen = view.cuts.first(named, MAX_MATCHES, f"namespaces {what}", monitor)
        found = [each for namespace in chosen for each in select(namespace, selector)]
    return view.cuts.first(found, MAX_MATCHES, f"targets {what}", monitor)


def _claim(monitor: KubeObject, endpoint: Fields) -> Claim:
    wanted = endpoint.at("port") or port(endpoint.at("portNumber")) or endpoint.at("targetPort")
    return Claim(
        certainty="declared",
        origin=Origin(role="port", reference=monitor.reference, part=str(wanted)[:300]),
        name=_name(endpoint),
        writer=monitor.namespace,
        beyond="users",
    )


SERVICES = Source(name="ServiceMonitors", reads=(SERVICE_MONITOR, *balanced.READS), find=_services)
PODS = Source(name="PodMonitors", reads=(POD_MONITOR, *workloads.READS), find=_pods)
