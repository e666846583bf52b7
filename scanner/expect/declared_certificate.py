"""Secrets and certificates that objects declare for a listener, and those that it must not serve without a grant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Final, TypeAlias

from msgspec import Struct

from scanner.config.certificate_names import load_names
from scanner.expect.contour import everywhere, fallback_users
from scanner.expect.facts import Facts, gateway_listeners, led
from scanner.expect.ingress_controller import route_of, router_name
from scanner.expect.partial_expectation import Partial
from scanner.files.source_positions import shown
from scanner.kube import references as links
from scanner.kube.api_server import api_server_config
from scanner.kube.gateway import Listener
from scanner.kube.ingress import (
    CONFIG_NAMESPACE,
    ROUTER_NAMESPACE,
    TLS_CERT_NAMESPACE,
    Route,
    ingress_class,
    ingress_controller,
    is_served_by_contour,
)
from scanner.kube.kinds import API_SERVER, HTTP_PROXY, INGRESS, ROUTE, SECRET, Kind
from scanner.kube.maybe import Known, Unknown
from scanner.kube.objects import KubeObject
from scanner.kube.references import Link
from scanner.kube.secrets import CERTIFICATE_NAME, Secret, service_ca_secret
from scanner.kube.service import service_of
from scanner.kube.snapshot import Snapshot
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import DeclaredCertificates, DeclaredIssuer, DeclaredLeaf, MissingGrant
from scanner.model.pem import decoded_text, trusted_certificates
from scanner.model.well_known import fits
from scanner.tls.certificate import parsed_once
from scanner.values import replace

_FIELD: Final = "tls.crt"
_MOST: Final = 200
"""Most Secrets that match one pattern of a well-known name: one for each control plane node and revision."""
_LONGEST: Final = 100
"""Most certificates of one chain: more than clients accept."""
_LENGTH: Final = 64 * 1024
"""Most bytes of one chain, two thirds of OpenSSL's limit. They are parsed during the scan."""
_SERVICE_CA: Final = "service-ca"
_API_SERVER: Final = "kube-apiserver"


def declared_certificates(facts: Facts, partial: Partial, named: DeclaredSecrets | None) -> DeclaredCertificates | None:
    """The certificates that ``partial``'s endpoint may serve; ``named``: the Secrets that objects declare. None if no
    object declares any."""
    if named is not None:
        return _exactly(facts.snapshot, named) if named.secrets or named.inline else None
    names = tuple(dict.fromkeys((*_of_services(facts, partial), *_well_known(facts, partial))))
    return _any(facts.snapshot, names) if names else None


def _any(snapshot: Snapshot, names: tuple[Name, ...]) -> DeclaredCertificates:
    found = [leaf_of(snapshot, each) for each in names]
    return DeclaredCertificates(
        leaves=tuple(each for each in found if not isinstance(each, Unknown)),
        unread=tuple(each.reason for each in found if isinstance(each, Unknown)),
        wanted=reads_secrets(snapshot),
    )


def reads_secrets(snapshot: Snapshot) -> bool:
    """True if the user asked to read Secrets (``--secrets``): all of them, or only those that objects name."""
    gap = snapshot.unreadable.get(SECRET)
    return SECRET in snapshot.objects and (gap is None or gap.gap != "not-asked" or bool(gap.option))


def _exactly(snapshot: Snapshot, named: DeclaredSecrets) -> DeclaredCertificates:
    """The declared certificates, from Secrets or inline in the object."""
    of_secrets = _any(snapshot, named.secrets)
    inline = [_of_pem(pem, place) for place, pem in named.inline]
    behind = _issuers(trusted_certificates(named.behind))
    default = leaf_of(snapshot, named.default) if named.default else None
    unsure = (each for each in named.refused if isinstance(each.allowed, Unknown))
    return replace(
        of_secrets,
        leaves=(
            *(replace(each, issuers=(*each.issuers, *behind)) for each in of_secrets.leaves),
            *(each for each in inline if not isinstance(each, Unknown)),
        ),
        unread=(
            *of_secrets.unread,
            *(each.reason for each in inline if isinstance(each, Unknown)),
            *(f"unknown whether {each.who} may refer to Secret/{'/'.join(each.secret)}" for each in unsure),
        ),
        wanted=of_secrets.wanted or bool(inline),
        exact=True,
        default=None if isinstance(default, Unknown) else default,
        condition=named.condition,
    )


def leaf_of(snapshot: Snapshot, name: Name) -> Known[DeclaredLeaf]:
    """The first certificate of a Secret."""
    secret = snapshot.get(SECRET, name[1], name[0]) if SECRET in snapshot.objects else None
    where = f"Secret/{name[0]}/{name[1]}"
    if secret is None:
        return Unknown(f"{where} was not read: {snapshot.gap(SECRET) or 'it does not exist, or was not requested'}")
    found = _of_pem(decoded_text(Secret.of(secret).tls_crt), f"{where} data[{_FIELD}]")
    keeper = secret.annotations.get(CERTIFICATE_NAME)
    if isinstance(found, Unknown) or not keeper:
        return found
    return replace(found, kept_by=f"Certificate/{name[0]}/{keeper[:253]}")


def _of_pem(pem: str, place: str) -> Known[DeclaredLeaf]:
    chain = tuple(islice(trusted_certificates(pem), 1 + _LONGEST))
    where, _, field = place.partition(" ")
    if not chain:
        return Unknown(f"{where} has no certificate in {field}")
    if (size := sum(map(len, chain))) > _LENGTH:
        return Unknown(f"{where} has {size} bytes of certificates in {field}, {_LENGTH} are read")
    facts = parsed_once(chain[0])
    sans = facts.sans
    return DeclaredLeaf(
        place=place,
        sha256=facts.sha256,
        serial=facts.serial,
        names=None if sans is None else frozenset(sans),
        issuer=facts.issuer,
        not_before=facts.not_before,
        issuers=_issuers(chain[1:]),
    )


def _issuers(ders: Iterable[bytes]) -> tuple[DeclaredIssuer, ...]:
    found = map(parsed_once, ders)
    return tuple(DeclaredIssuer(sha256=each.sha256, subject=each.subject, issuer=each.issuer) for each in found)


# --- Which Secret -----------------------------------------------------------------------------------------------------


def _of_services(facts: Facts, partial: Partial) -> Iterator[Name]:
    """The Secrets that the service CA creates for the Services in front of the endpoint."""
    endpoint, entry = partial.endpoint, partial.entry
    if endpoint.certainty == "candidate" or (entry is not None and entry.certificate != _SERVICE_CA):
        return
    for host in endpoint.hosts:
        service = service_of(facts.snapshot, host)
        if service is not None and service_ca_secret(service):
            yield service.namespace or "", service_ca_secret(service)


def _well_known(facts: Facts, partial: Partial) -> Iterator[Name]:
    """The Secrets of the well-known certificates that a component serves on that port; none for the kubelet's, which
    is in no Secret."""
    entry, port = partial.entry, partial.endpoint.port
    if entry is None or partial.implementation == "haproxy":
        return
    patterns = dict.fromkeys(
        pattern
        for each in load_names().all
        if any(component == entry.component and port in ports for component, ports in each.recognition.listeners)
        for pattern in each.recognition.secrets
    )
    yield from _matching(facts.snapshot, tuple(patterns))
    if patterns and entry.component == _API_SERVER:
        yield from _by_administrator(facts.snapshot)


def _matching(snapshot: Snapshot, patterns: tuple[str, ...]) -> Iterator[Name]:
    """The Secrets with these names, and the Secrets that were read and match a pattern; without any the pattern itself,
    for a Secret with an unknown name."""
    loose = tuple(pattern for pattern in patterns if "*" in pattern)
    namespaces = {each.partition("/")[0] for each in loose}
    for pattern in patterns:
        if pattern not in loose or not snapshot.objects.get(SECRET):
            yield pattern.partition("/")[0], pattern.partition("/")[2]
    secrets = (each for each in snapshot.objects.get(SECRET, ()) if each.namespace in namespaces)
    meant = (each for each in secrets if fits(f"{each.namespace}/{each.name}", loose))
    yield from ((each.namespace or "", each.name) for each in islice(meant, _MOST))


def _by_administrator(snapshot: Snapshot) -> Iterator[Name]:
    """The Secrets that replace kube-apiserver's own certificate for some names."""
    server = snapshot.get(API_SERVER, "cluster")
    for each in api_server_config(server).named_certificates if server else ():
        yield CONFIG_NAMESPACE, each.secret


def missing_grants(facts: Facts, named: DeclaredSecrets) -> tuple[MissingGrant, ...]:
    """Each Secret that is referred to without a grant, with its certificate if it could be read."""
    asked = reads_secrets(facts.snapshot)
    return tuple(
        MissingGrant(
            who=each.who,
            secret=f"Secret/{'/'.join(each.secret)}",
            leaf=leaf_of(facts.snapshot, each.secret),
            asked=asked,
            doubt=each.allowed.reason if isinstance(each.allowed, Unknown) else "",
        )
        for each in named.refused
    )


def beside(facts: Facts, endpoint: Endpoint) -> frozenset[str]:
    """SHA-256 of other certificates that may be served at the same address and port, for example for wildcards."""
    return frozenset(_beside(facts, endpoint))


def _beside(facts: Facts, endpoint: Endpoint) -> Iterator[str]:
    for each in facts.at_place(endpoint):
        for reference in references(facts, each) if each.segment != "Backend" else ():
            if reference.allowed is True:
                leaf = leaf_of(facts.snapshot, reference.secret)
                if not isinstance(leaf, Unknown):
                    yield leaf.sha256


Name: TypeAlias = tuple[str, str]
"""Namespace and name of a Secret."""


class Reference(Struct, frozen=True, kw_only=True):
    """A reference to one Secret."""

    who: str
    """The object and field of the reference: ``Gateway/edge/front listener one``."""
    secret: Name
    allowed: Known[bool]


def references(facts: Facts, endpoint: Endpoint) -> Iterator[Reference]:
    """Every reference to a Secret for ``endpoint``; each one that is allowed may be served."""
    yield from chain.from_iterable(
        _READERS[found.kind](facts, found, endpoint.server_name)
        for found, origin in led(facts.snapshot, endpoint, _KINDS)
        if origin.role == "frontend"
    )
    for listener in gateway_listeners(facts.snapshot, endpoint):
        yield from of_listener(facts, listener)
    yield from _of_fallback(facts, endpoint)


def _of_fallback(facts: Facts, endpoint: Endpoint) -> Iterator[Reference]:
    """Contour's fallback certificate; each HTTPProxy that enables it needs the delegation."""
    users = list(fallback_users(facts, endpoint))
    fallback = everywhere(facts, endpoint.owner.namespace).fallback if users else None
    secret = (fallback.namespace or "", fallback.name) if fallback else ("", "")
    for proxy in users if fallback else ():
        allowed = facts.grants.to_contour(proxy, *secret)
        yield Reference(who=f"{proxy.reference} enableFallbackCertificate", secret=secret, allowed=allowed)


def of_listener(facts: Facts, listener: Listener) -> Iterator[Reference]:
    """The references of one listener of a Gateway or ListenerSet, if it terminates TLS."""
    if listener.mode not in ("", "Terminate"):
        return
    who = f"{listener.holder.reference} listener {listener.name}"
    for link in links.of_listener(listener.holder, listener):
        if link.is_secret:
            secret = link.namespace or "", link.name
            yield Reference(who=who, secret=secret, allowed=facts.grants.to_gateway(listener.holder, *secret))


def _of_ingress(facts: Facts, ingress: KubeObject, name: str | None) -> Iterator[Reference]:
    """The references of each entry that lists the name; without a Secret the controller's default applies."""
    of_contour = is_served_by_contour(ingress, facts.snapshot)
    doubt = _doubt(ingress) if of_contour is None else ""
    for link in links.links(ingress, of_contour=of_contour):
        if name in [host.lower() for host in link.hosts]:
            found = _of_link(facts, link, f"{ingress.reference} spec.tls")
            unknown = link.grant is not None and doubt and found.allowed is not True
            yield replace(found, allowed=Unknown(doubt)) if unknown else found


def _doubt(ingress: KubeObject) -> str:
    """Reason why its controller may not be Contour. Without a class it may be."""
    name = ingress_class(ingress)
    return (
        f"only Contour reads {TLS_CERT_NAMESPACE}, and it is unknown whether class {shown(name)} is Contour's"
        if name
        else ""
    )


def _of_proxy(facts: Facts, proxy: KubeObject, name: str | None) -> Iterator[Reference]:
    for link in links.links(proxy) if name is not None else ():
        if link.role == "certificate":
            yield _of_link(facts, link, f"{proxy.reference} spec.virtualhost.tls")


def _of_link(facts: Facts, link: Link, who: str) -> Reference:
    secret = link.namespace or "", link.name
    allowed = True if link.grant is None else facts.grants.to_contour(link.source, *secret)
    return Reference(who=who, secret=secret, allowed=allowed)


_READERS: Mapping[Kind, Callable[[Facts, KubeObject, str | None], Iterator[Reference]]] = {
    INGRESS: _of_ingress,
    HTTP_PROXY: _of_proxy,
}
_KINDS: Mapping[str, Kind] = {each.name: each for each in _READERS}


class DeclaredSecrets(Struct, frozen=True, kw_only=True):
    """The certificates that objects declare for a listener."""

    secrets: tuple[Name, ...] = ()
    inline: tuple[tuple[str, str], ...] = ()
    """Place and PEM of inline certificates."""
    behind: str = ""
    """PEM of the chain that is sent after a Secret's certificates."""
    default: Name | None = None
    """The Secret of the certificate that a router serves if the declared one is not usable."""
    condition: str = ""
    """The condition of the object's status."""
    refused: tuple[Reference, ...] = ()
    """References with a missing or unknown grant; ``secrets`` contains the unknown ones too."""


def declared_secrets(facts: Facts, partial: Partial) -> DeclaredSecrets | None:
    """The declared certificates of ``partial``'s endpoint; None if no object declares any."""
    if partial.endpoint.segment == "Backend":
        return None
    found = _routed(facts, partial) or _listed(facts, partial)
    return found if found.secrets or found.inline or found.refused else None


# --- OpenShift's routers ----------------------------------------------------------------------------------------------


def _routed(facts: Facts, partial: Partial) -> DeclaredSecrets | None:
    """A Route's own certificate, else the default certificate of its IngressController (openshift/api route/v1,
    operator/v1). Without a Route it is the certificate for clients without SNI."""
    if partial.implementation != "haproxy":
        return None
    endpoint, router = partial.endpoint, router_name(facts, partial)
    default = None if isinstance(router, Unknown) else _default(facts.snapshot, router)
    if endpoint.subject is None:
        return DeclaredSecrets(secrets=(default,)) if default and endpoint.server_name is None else None
    route = route_of(facts, partial)
    if route is None or route.termination == "passthrough":
        return None
    own = [_own(each) for each in (route, *_of_one_host(facts.snapshot, endpoint, route))]
    certificates = [each for each in own if each is not None]
    if not certificates:
        return DeclaredSecrets(secrets=(default,)) if default else None
    return DeclaredSecrets(
        secrets=tuple(name for each in certificates for name in each.secrets),
        inline=tuple(text for each in certificates for text in each.inline),
        behind=next((each.behind for each in certificates if each.secrets), ""),
        default=default,
        condition="" if isinstance(router, Unknown) else _admission(route, router),
    )


def _own(route: Route) -> DeclaredSecrets | None:
    """The certificate of one Route."""
    pem, behind = route.inline_certificate, route.tls.ca_certificate
    if route.external_secret:
        return DeclaredSecrets(secrets=((route.namespace or "", route.external_secret),), behind=behind)
    place = f"{route.reference} spec.tls.certificate"
    return DeclaredSecrets(inline=((place, f"{pem}\n{behind}"),)) if pem.strip() else None


def _of_one_host(snapshot: Snapshot, endpoint: Endpoint, first: Route) -> Iterator[Route]:
    """Further Routes with the endpoint's name and other paths. For one host the router has one list of certificates,
    and any may come first; a Route without one adds none (haproxy-config.template, cert_config.map)."""
    for route, origin in led(snapshot, endpoint, {ROUTE.name: ROUTE}):
        shown = origin.role == "frontend" and origin.part in ("edge", "reencrypt")
        if route.reference != first.reference and shown:
            yield Route.of(route)


def _default(snapshot: Snapshot, router: str) -> Name | None:
    controller = ingress_controller(snapshot, router)
    return None if controller is None else (ROUTER_NAMESPACE, controller.certificate)


def _admission(route: Route, router: str) -> str:
    """The router's Admitted condition in the Route's status."""
    for each in route.ingresses:
        found = each.admitted
        if each.router_name == router and found is not None:
            reason = " ".join(filter(None, (found.reason, found.message)))[:300]
            return f"{route.reference} status.ingress[{router}]: Admitted is {found.holds}{reason and f', {reason}'}"
    return ""


# --- Everything else --------------------------------------------------------------------------------------------------


def _listed(facts: Facts, partial: Partial) -> DeclaredSecrets:
    """The certificates of all objects that lead to this name: each may be served, except without a grant."""
    every = tuple(references(facts, partial.endpoint))
    allowed = {each.secret for each in every if each.allowed is True}
    refused = tuple(each for each in every if each.allowed is not True and each.secret not in allowed)
    unsure = (each.secret for each in refused if isinstance(each.allowed, Unknown))
    declared_secrets = dict.fromkeys((*(each.secret for each in every if each.secret in allowed), *unsure))
    return DeclaredSecrets(secrets=tuple(declared_secrets), refused=refused)
