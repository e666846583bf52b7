"""Contour's HTTPProxies: a name on its Envoys' TLS listener, and backends reached by TLS (projectcontour.io/v1)."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.discover.balanced import READS, Service, ServicePort, published
from scanner.discover.claims import backend, frontend
from scanner.discover.draft import Claim, Draft, Found, Omission, Place, Source, reached
from scanner.discover.names import address, port, server_name, sound
from scanner.discover.view import View
from scanner.kube.kinds import CONTOUR_CONFIGURATION, HTTP_PROXY
from scanner.kube.objects import Fields, KubeObject
from scanner.model.endpoint import Origin, Owner

MAX_SERVICES = 200
"""Services behind one HTTPProxy."""
_DEFAULT_ENVOY = ("projectcontour", "envoy")
"""Where Contour's Envoys are where no ContourConfiguration says otherwise."""
_INERT = ("invalid", "orphaned")
_TLS = ("tls", "h2")
_UPSTREAM = "projectcontour.io/upstream-protocol."
"""Annotations of Services, each with the ports by number or name to which Envoy speaks that protocol."""


def _find(view: View) -> Iterator[Found]:
    envoys = list(_envoys(view))
    for proxy in view.snapshot.every(HTTP_PROXY):
        if proxy.text("status", "currentStatus").lower() in _INERT:
            yield Omission("HTTPProxies that Contour does not serve")
            continue
        behind = list(_backends(view, proxy))
        yield from behind
        if proxy.has("spec", "virtualhost", "tls") and sound(proxy.name, proxy.namespace or ""):
            yield from _front(view, proxy, envoys, samples=not reached(behind))


def _front(view: View, proxy: KubeObject, envoys: list[Service], *, samples: bool) -> Iterator[Found]:
    name = server_name(proxy.text("spec", "virtualhost", "fqdn"))
    if name is None:
        yield Omission("server names that are no DNS names")
        return
    tls = proxy.fields("spec", "virtualhost", "tls")
    claim = frontend(Origin(role="frontend", reference=proxy.reference), name, proxy)
    # One filter chain a name: without a name Envoy closes, unless some virtual host wants the fallback certificate.
    claim.naming = "also" if tls.flag("enableFallbackCertificate") else "only"
    claim.sampled = tls.flag("passthrough") and samples
    if tls.has("clientValidation"):
        claim.expects = "requested" if _optional(tls.fields("clientValidation")) else "required"
    yield from _at(view, proxy, envoys, claim)
    if tls.flag("enableFallbackCertificate"):
        yield from _at(view, proxy, envoys, _fallback(proxy))


def _fallback(proxy: KubeObject) -> Claim:
    """What Envoy shows to whoever gives no name, whatever other virtual hosts say."""
    return Claim(
        certainty="declared",
        origin=Origin(role="fallback", reference=proxy.reference),
        naming="also",
        segment="Frontend",
        writer=proxy.namespace,
        beyond="fronts",
    )


def _optional(validation: Fields) -> bool:
    """Without a CA and with nothing to verify by, Envoy asks for a certificate and takes none as well."""
    skipped = validation.flag("skipClientCertValidation") and not validation.text("caSecret")
    return skipped or validation.flag("optionalClientCertificate")


def _at(view: View, proxy: KubeObject, envoys: list[Service], claim: Claim) -> Iterator[Found]:
    hosts = list(published(proxy, view.cuts))
    for host in hosts:
        behind = list(view.behind(host, 443, claim))
        if behind:
            yield from behind
            return
    for service in envoys:
        wanted = service.port(443)
        if wanted:
            yield from view.through(service, wanted, claim)
            return
    owner = Owner(kind="HTTPProxy", name=proxy.name, namespace=proxy.namespace)
    for host in hosts:
        where = address(host)
        yield Draft(claim, Place(where or "", 443, host="" if where else host, owner=owner, sampled=True))
    if not hosts:
        yield Omission("HTTPProxies without an address")


def _envoys(view: View) -> Iterator[Service]:
    named = [each.fields("spec", "envoy", "service") for each in view.snapshot.every(CONTOUR_CONFIGURATION)]
    keys = [(each.text("namespace"), each.text("name")) for each in named if each.has("name")]
    for namespace, name in (*keys, _DEFAULT_ENVOY):
        service = view.balanced.get(namespace, name)
        if service:
            yield service


def _backends(view: View, proxy: KubeObject) -> Iterator[Found]:
    """Services that Envoy reaches by TLS, and those behind a passed-through connection."""
    passed = proxy.flag("spec", "virtualhost", "tls", "passthrough")
    fqdn = server_name(proxy.text("spec", "virtualhost", "fqdn")) if passed else None
    chosen = [(each, False) for route in proxy.each("spec", "routes") for each in route.each("services")]
    chosen += [(each, passed) for each in proxy.each("spec", "tcpproxy", "services")]
    for each, through in view.cuts.first(chosen, MAX_SERVICES, "services of one HTTPProxy", proxy):
        service = view.balanced.get(proxy.namespace or "", each.text("name"))
        wanted = service.port(port(each.at("port"))) if service else None
        if service and wanted and (through or _by_tls(each, service, wanted)):
            name = server_name(each.text("validation", "subjectName")) or fqdn
            origin = Origin(role="backend", reference=proxy.reference)
            yield from view.through(service, wanted, backend(origin, name, proxy.namespace))


def _by_tls(given: Fields, service: Service, wanted: ServicePort) -> bool:
    """Whether Envoy speaks TLS there: the HTTPProxy says so, else an annotation of the Service does."""
    if given.text("protocol"):
        return given.text("protocol") in _TLS
    named = (service.raw.annotations.get(f"{_UPSTREAM}{each}", "") for each in _TLS)
    ports = {each.strip() for text in named for each in text.split(",")}
    return bool(ports & {str(wanted.number), wanted.name or "-"})


SOURCE = Source(name="HTTPProxies", reads=(HTTP_PROXY, CONTOUR_CONFIGURATION, *READS), find=_find)
