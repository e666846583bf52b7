"""Names that OpenShift's router answers without knowing them: those of a subdomain that a Route has, and all others.

The router looks for a certificate by the host of a Route, or by its domain where the Route has the whole of it, and
shows its default one for everything else, or ends the connection where it is strict (openshift/router
``images/router/haproxy/conf/haproxy-config.template``, ``pkg/router/template/util``).
"""

from __future__ import annotations

from collections.abc import Iterator

from scanner.expect.draft import Draft
from scanner.expect.facts import Facts
from scanner.expect.ingress_controller import route_of, router_name
from scanner.kube.ingress import ingress_controller
from scanner.kube.maybe import Unknown
from scanner.model.expectation import OtherName
from scanner.model.server_names import NOBODYS, server_name


def of_router(facts: Facts, draft: Draft) -> Iterator[OtherName]:
    """A name that no Route has, by what the router shows to whoever gives none."""
    endpoint = draft.endpoint
    if draft.implementation != "haproxy" or endpoint.server_name is not None or endpoint.subject is not None:
        return
    router = router_name(facts, draft)
    controller = None if isinstance(router, Unknown) else ingress_controller(facts.snapshot, router)
    if controller is not None:
        yield OtherName(name=NOBODYS, owed="default", because=f"{controller.reference}: no Route has this name")


def of_subdomain(facts: Facts, draft: Draft) -> Iterator[OtherName]:
    """A name that nobody has written down, of a Route that has all of its subdomain."""
    endpoint, route = draft.endpoint, route_of(facts, draft)
    if draft.implementation != "haproxy" or route is None or draft.passed_on:
        return
    domain = (endpoint.server_name or "").partition(".")[2]
    router = router_name(facts, draft)
    known = not isinstance(router, Unknown)
    name = server_name(f"*.{domain}")  # None where that is too long to be one
    if not domain or name in (None, endpoint.server_name):
        return
    for each in route.ingresses:
        if not each.is_admitted or (known and each.router_name != router):
            continue
        if each.wildcard_policy == "Subdomain" and each.host.lower() == endpoint.server_name:
            where = f"status.ingress[{each.router_name[:253]}]"
            because = f"{route.reference} {where}.wildcardPolicy: Subdomain"
            yield OtherName(name=name, owed="same", because=because)
            return
