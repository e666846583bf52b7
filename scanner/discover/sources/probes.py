"""Probes: what a blackbox exporter is told to ask by TLS, and the exporter itself (monitoring.coreos.com/v1 Probe).

Targets may be anything in the world. What is not the cluster's is a candidate: whoever watches a site of others does
not make it a listener that a scan has to judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

from scanner.discover import balanced
from scanner.discover.draft import Claim, Draft, Found, Omission, Place, Source
from scanner.discover.labels import Labelled
from scanner.discover.names import address, port, server_name, sound
from scanner.discover.sources.ingresses import fronts
from scanner.discover.sources.monitors import MAX_MATCHES, selected
from scanner.discover.view import View
from scanner.kube.contour import HTTPProxy
from scanner.kube.ingress import Ingress
from scanner.kube.kinds import HTTP_PROXY, INGRESS, PROBE, ROUTE
from scanner.kube.objects import KubeObject
from scanner.kube.route import Route
from scanner.model.endpoint import Certainty, Origin, Owner

_TLS_MODULE = re.compile(r"(?:^|[_.-])(?:tls|ssl|https)(?:[_.-]|$)")
"""Names of modules are their administrator's: ``tcp_tls``, ``http_https_2xx``; ``smtp_starttls`` is another matter."""


class _Target(NamedTuple):
    """What is asked by TLS."""

    host: str
    port: int
    certainty: Certainty


def _find(view: View) -> Iterator[Found]:
    probes = [each for each in view.snapshot.every(PROBE) if sound(each.name, each.namespace or "")]
    if not probes:
        return
    ingresses = Labelled(view.snapshot.every(INGRESS), lambda each: (each.namespace or "", each.labels))
    known = _published_names(view)
    for probe in probes:
        yield from _prober(view, probe)
        by = probe.fields("spec", "targets")
        static = by.has("staticConfig") or not by.has("ingress")  # of both, the operator takes the static ones
        for ingress in () if static else selected(view, probe, by.fields("ingress"), ingresses.select):
            # What the Ingress itself leaves out is its own source's to count.
            origin = Origin(role="ingress", reference=probe.reference, through=ingress.reference)
            found = fronts(view, Ingress.of(ingress), origin)
            yield from (each for each in found if isinstance(each, Draft))
        for target in _targets(view, probe):
            yield from _static(view, probe, target, known)


def _published_names(view: View) -> frozenset[str | None]:
    """Names that are asked because somebody publishes them: a Probe of one leads to nothing new."""
    named = [Route.of(each).host for each in view.snapshot.every(ROUTE)]
    named += [HTTPProxy.of(each).fqdn for each in view.snapshot.every(HTTP_PROXY)]
    tls = (one for each in view.snapshot.every(INGRESS) for one in Ingress.of(each).tls)
    named += [host for each in tls for host in each.hosts]
    return frozenset(filter(None, map(server_name, named)))


def _prober(view: View, probe: KubeObject) -> Iterator[Found]:
    """The exporter, where Prometheus asks it by HTTPS."""
    if probe.text("spec", "prober", "scheme").lower() != "https":
        return
    host, number = _host_port(probe.text("spec", "prober", "url"))
    name = server_name(probe.text("spec", "tlsConfig", "serverName"))
    claim = _claim(probe, Origin(role="prober", reference=probe.reference), "declared", name)
    found = next(filter(None, (_behind(view, each, number or 443, claim) for each in _in_cluster(host, probe))), [])
    yield from found or [Omission("probers of Probes that lead to nothing in the cluster")]


def _in_cluster(host: str, probe: KubeObject) -> tuple[str, ...]:
    """What a host may be called in full: resolvers try the namespace and the cluster's domain behind a short name."""
    return (host, f"{host}.{probe.namespace}.svc", f"{host}.svc")


def _targets(view: View, probe: KubeObject) -> list[_Target]:
    """Static targets that are asked by TLS, equal ones once: URLs say so, of others the module may."""
    named = bool(_TLS_MODULE.search(probe.text("spec", "module").lower()))
    given = dict.fromkeys(probe.texts("spec", "targets", "staticConfig", "static"))
    chosen = view.cuts.first(given, MAX_MATCHES, "static targets of one Probe", probe)
    return list(dict.fromkeys(filter(None, (_target(each, by_module=named) for each in chosen))))


def _target(text: str, *, by_module: bool) -> _Target | None:
    if "://" not in text:
        host, number = _host_port(text)
        return _Target(host, number, "hinted") if by_module and number else None
    try:
        parts = urlsplit(text[:2048])
        host, number = parts.hostname or "", parts.port or 443
    except ValueError:
        return None
    return _Target(host, number, "declared") if parts.scheme.lower() == "https" else None


def _host_port(text: str) -> tuple[str, int | None]:
    host, _, number = text[:2048].rpartition(":")
    found = port(number)
    return (host.strip("[]"), found) if found else (text[:2048].strip("[]"), None)


def _static(view: View, probe: KubeObject, target: _Target, known: frozenset[str | None]) -> Iterator[Found]:
    """``known``: names that are asked anyway. Anybody may publish one, so it hides nothing that is in the cluster."""
    name, where = server_name(target.host), address(target.host)
    if not (name or where) or view.router_at(target.host):
        return
    origin = Origin(role="target", reference=probe.reference, part=target.host[:300])
    claim = _claim(probe, origin, target.certainty, name)
    found = _behind(view, where or name or "", target.port, claim)
    if found:
        yield from found
        return
    if name in known:
        return
    claim.certainty = "candidate"
    owner = Owner(kind="Probe", name=probe.name, namespace=probe.namespace)
    host = "" if where else name or ""
    yield Draft(claim, Place(where or "", target.port, host=host, owner=owner, apart=where or host))


def _behind(view: View, host: str, number: int, claim: Claim) -> list[Found]:
    return list(view.behind(host, number, claim))


def _claim(probe: KubeObject, origin: Origin, certainty: Certainty, name: str | None) -> Claim:
    return Claim(certainty=certainty, origin=origin, name=name, writer=probe.namespace, beyond="users")


SOURCE = Source(name="Probes", reads=(PROBE, INGRESS, ROUTE, HTTP_PROXY, *balanced.READS), find=_find)
