"""Listeners that Prometheus scrapes by TLS: ServiceMonitors, PodMonitors, and the targets and exporters of Probes
(monitoring.coreos.com/v1).

Targets of Probes may be anywhere. A target outside of the cluster is only a candidate: a monitored external site need
not be judged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from scanner.discover.index import Index, Source
from scanner.discover.listener_claims import Claim, Found, PlacedClaim
from scanner.discover.sources.ingresses import ingress_claims
from scanner.discover.truncation import Omission
from scanner.kube.contour import HTTPProxy
from scanner.kube.hostnames import address, https_place, port, server_name, valid_names
from scanner.kube.ingress import Ingress, Route
from scanner.kube.kinds import HTTP_PROXY, INGRESS, POD_MONITOR, PROBE, ROUTE, SERVICE_MONITOR, Kind
from scanner.kube.meta import Item, LabelIndex, LabelSelector
from scanner.kube.service_callers import Monitor, Probe, Scrape, Selection
from scanner.model.endpoint import Certainty, Origin, Owner

MAX_ENDPOINTS = 100
"""Limit of different endpoints per monitor."""
_LONGEST = 300
MAX_MATCHES = 1000
"""Limit of Services, pods or Ingresses that one object selects, of its namespaces, and of targets of a Probe."""


def _services(view: Index) -> Iterator[Found]:
    for monitor, scrapes in _secure(view, SERVICE_MONITOR):
        chosen = _selected(view, monitor, monitor.selection, view.services.select)
        for scrape in scrapes:
            claim = _of_scrape(monitor, scrape)
            for service in chosen:
                by_name = service.port(scrape.port) if scrape.port else None
                service_port = by_name or service.targeting(scrape.target_port)
                if service_port:
                    yield from view.through(service, service_port, claim)


def _pods(view: Index) -> Iterator[Found]:
    for monitor, scrapes in _secure(view, POD_MONITOR):
        chosen = _selected(view, monitor, monitor.selection, view.workloads.select)
        for scrape in scrapes:
            claim = _of_scrape(monitor, scrape)
            for pod in chosen:
                number = pod.port_number(scrape.port or scrape.port_number or scrape.target_port)
                if number:
                    yield from view.at_pod(pod, number, claim)


def _secure(view: Index, kind: Kind) -> Iterator[tuple[Monitor, list[Scrape]]]:
    """Monitors with distinct endpoints that are scraped by HTTPS; newer CRDs also allow an upper-case scheme."""
    for monitor in map(Monitor.of, view.snapshot.every(kind)):
        https = (each for each in monitor.scrapes if each.written_scheme.lower() == "https")
        different = {_key(each): each for each in https}
        if different:
            what = f"endpoints of one {kind.name}"
            yield monitor, view.cuts.first(different.values(), MAX_ENDPOINTS, what, monitor)


def _key(scrape: Scrape) -> tuple[str, ...]:
    ports = (scrape.port, scrape.target_port, scrape.port_number)
    name = server_name(scrape.tls_config.server_name) or ""
    return (*(repr(each) if isinstance(each, int | str) else "" for each in ports), name)


def _selected(
    view: Index, monitor: Monitor, by: Selection, select: Callable[[str | None, LabelSelector], list[Item]]
) -> list[Item]:
    what = f"of one {monitor.kind.name}"
    if by.namespace_selector.any:
        found = select(None, by.selector)
    else:
        named = dict.fromkeys(by.namespace_selector.match_names or (monitor.namespace,))
        chosen = view.cuts.first(named, MAX_MATCHES, f"namespaces {what}", monitor)
        found = [each for namespace in chosen for each in select(namespace, by.selector)]
    return view.cuts.first(found, MAX_MATCHES, f"targets {what}", monitor)


def _of_scrape(monitor: Monitor, scrape: Scrape) -> Claim:
    port_name = scrape.port or port(scrape.port_number) or scrape.target_port
    origin = Origin(role="port", reference=monitor.reference, part=str(port_name)[:_LONGEST])
    return _claim(monitor, origin, "declared", server_name(scrape.tls_config.server_name))


def _claim(monitor: Monitor, origin: Origin, certainty: Certainty, name: str | None) -> Claim:
    return Claim(certainty=certainty, origin=origin, name=name, writer=monitor.namespace, beyond="users")


_TLS_MODULE = re.compile(r"(?:^|[_.-])(?:tls|ssl|https)(?:[_.-]|$)")
"""Names of modules that use TLS, by convention: ``tcp_tls``, ``http_https_2xx``; but not ``smtp_starttls``."""


class _Target(NamedTuple):
    """A target that is probed by TLS."""

    host: str
    port: int
    certainty: Certainty


def _probes(view: Index) -> Iterator[Found]:
    probes = [Probe.of(each) for each in view.snapshot.every(PROBE) if valid_names(each.name, each.namespace)]
    if not probes:
        return
    ingresses = LabelIndex(view.snapshot.every(INGRESS), lambda each: (each.namespace, each.labels))
    known = _published_names(view)
    for probe in probes:
        yield from _prober(view, probe)
        static = probe.has_static or not probe.has_ingress  # of both, the operator uses the static ones
        for ingress in () if static else _selected(view, probe, probe.ingresses, ingresses.select):
            # Omissions of the Ingress are counted by its own source.
            origin = Origin(role="ingress", reference=probe.reference, through=ingress.reference)
            found = ingress_claims(view, Ingress.of(ingress), origin)
            yield from (each for each in found if isinstance(each, PlacedClaim))
        for target in _targets(view, probe):
            yield from _static(view, probe, target, known)


def _published_names(view: Index) -> frozenset[str | None]:
    """Published names, which other sources claim: a Probe of one adds nothing."""
    named = [Route.of(each).host for each in view.snapshot.every(ROUTE)]
    named += [HTTPProxy.of(each).fqdn for each in view.snapshot.every(HTTP_PROXY)]
    tls = (one for each in view.snapshot.every(INGRESS) for one in Ingress.of(each).tls)
    named += [host for each in tls for host in each.hosts]
    return frozenset(filter(None, map(server_name, named)))


def _prober(view: Index, probe: Probe) -> Iterator[Found]:
    """The exporter, if Prometheus connects to it by HTTPS."""
    if probe.prober_scheme.lower() != "https":
        return
    host, number = _host_port(probe.prober_url)
    name = server_name(probe.server_name)
    claim = _claim(probe, Origin(role="prober", reference=probe.reference), "declared", name)
    claims = (list(view.behind(each, number or 443, claim)) for each in _in_cluster(host, probe))
    found = next(filter(None, claims), [])
    yield from found or [Omission("probers of Probes outside of the cluster")]


def _in_cluster(host: str, probe: Probe) -> tuple[str, ...]:
    """Possible full names of a host: resolvers append the namespace and the cluster's domain to a short name."""
    return (host, f"{host}.{probe.namespace}.svc", f"{host}.svc")


def _targets(view: Index, probe: Probe) -> list[_Target]:
    """Distinct static targets that are probed by TLS, by the scheme of a URL, else by the module."""
    named = bool(_TLS_MODULE.search(probe.module.lower()))
    targets = dict.fromkeys(probe.static)
    chosen = view.cuts.first(targets, MAX_MATCHES, "static targets of one Probe", probe)
    return list(dict.fromkeys(filter(None, (_target(each, by_module=named) for each in chosen))))


def _target(text: str, *, by_module: bool) -> _Target | None:
    if "://" not in text:
        host, number = _host_port(text)
        return _Target(host, number, "hinted") if by_module and number else None
    found = https_place(text)
    return _Target(*found, "declared") if found else None


def _host_port(text: str) -> tuple[str, int | None]:
    host, _, number = text.rpartition(":")
    found = port(number)
    return (host.strip("[]"), found) if found else (text.strip("[]"), None)


def _static(view: Index, probe: Probe, target: _Target, known: frozenset[str | None]) -> Iterator[Found]:
    """Claims of a static target. ``known``: published names. Any user may publish one, so it hides nothing in the
    cluster."""
    name = server_name(target.host)
    host = address(target.host) or name
    if host is None or view.router_at(host):
        return
    origin = Origin(role="target", reference=probe.reference, part=host)
    claim = _claim(probe, origin, target.certainty, name)
    found = list(view.behind(host, target.port, claim))
    if not found and name not in known:
        claim.certainty = "candidate"
        owner = Owner(kind="Probe", name=probe.name, namespace=probe.namespace)
        yield from view.behind_or_at(host, target.port, claim, owner, sampled=False, apart=host)
    yield from found


SERVICES = Source(name="ServiceMonitors", reads=(SERVICE_MONITOR,), find=_services)
PODS = Source(name="PodMonitors", reads=(POD_MONITOR,), find=_pods)
PROBES = Source(name="Probes", reads=(PROBE, INGRESS, ROUTE, HTTP_PROXY), find=_probes)
