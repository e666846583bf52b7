"""Client certificates: whom an object has a listener trust, so that it refuses everybody else's.

What the listener must *ask* for travels with the endpoint, for discovery has seen the object; here is what it must do
with an answer.
"""

from __future__ import annotations

from scanner.expect.contour import proxy_of
from scanner.expect.draft import Draft
from scanner.expect.facts import Facts
from scanner.expect.ingress_controller import router_name
from scanner.expect.origins import gateway_listeners, gateways
from scanner.expect.passthrough import passed_through
from scanner.files.source_positions import dotted
from scanner.kube.contour import HTTPProxy
from scanner.kube.gateway import Gateway
from scanner.kube.ingress import ingress_controller
from scanner.kube.kinds import HTTP_PROXY
from scanner.kube.maybe import Unknown
from scanner.model.endpoint import Endpoint

_VHOST = "spec.virtualhost.tls"


def trust(facts: Facts, draft: Draft) -> str | None:
    """The object and field that say whose client certificates ``draft``'s endpoint accepts; None: nothing does."""
    if draft.endpoint.segment == "Backend" or passed_through(facts, draft) is not None:
        return None
    return _of_router(facts, draft) or _of_gateway(facts, draft.endpoint) or _of_proxy(facts, draft.endpoint)


def nobody_asks(facts: Facts, draft: Draft) -> str | None:
    """The object that says how clients are dealt with, where it has nobody asked for a certificate."""
    endpoint = draft.endpoint
    if endpoint.segment == "Backend" or endpoint.expects is not None or passed_through(facts, draft) is not None:
        return None
    proxy = proxy_of(facts, endpoint)
    if proxy is not None and proxy.has_tls:
        return f"{proxy.reference} {_VHOST}"
    https = [each for each in gateway_listeners(facts.snapshot, endpoint) if each.protocol == "HTTPS"]
    found = next(gateways(facts.snapshot, endpoint), None) if https else None
    return f"{found.reference} spec.tls.frontend" if found else None


def _of_router(facts: Facts, draft: Draft) -> str | None:
    name = router_name(facts, draft) if draft.implementation == "haproxy" else Unknown("no router")
    found = None if isinstance(name, Unknown) else ingress_controller(facts.snapshot, name)
    if found is None or found.client_tls.asks is None:
        return None
    return f"{found.reference} spec.clientTLS"


def _of_gateway(facts: Facts, endpoint: Endpoint) -> str | None:
    """``AllowInsecureFallback`` lets a certificate pass that cannot be verified; only HTTPS listeners validate."""
    https = [each for each in gateway_listeners(facts.snapshot, endpoint) if each.protocol == "HTTPS"]
    for gateway in gateways(facts.snapshot, endpoint) if https else ():
        field = frontend_validation(gateway, https[0].port)
        if field is not None:
            return f"{gateway.reference} {field}"
    return None


def frontend_validation(gateway: Gateway, port: int | None) -> str | None:
    """The field by which HTTPS listeners of ``gateway`` on ``port`` refuse whom they cannot verify (GEP-91); None: they
    do not."""
    found = gateway.validation(port)
    return dotted(found.steps) if found is not None and not found.falls_back else None


def _of_proxy(facts: Facts, endpoint: Endpoint) -> str | None:
    subject = endpoint.subject
    if subject is None or subject.kind != HTTP_PROXY.name or endpoint.server_name is None:
        return None
    proxy = facts.snapshot.get(HTTP_PROXY, subject.name, subject.namespace)
    validation = HTTPProxy.of(proxy).tls.client_validation if proxy else None
    if validation is None or not validation.ca_secret or validation.skip_client_cert_validation:
        return None
    return f"{subject} {_VHOST}.clientValidation"
