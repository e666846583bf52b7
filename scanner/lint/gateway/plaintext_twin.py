"""Routes that serve the same hostnames in plaintext and over TLS."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from scanner.files.source_positions import shown
from scanner.kube.gateway import HOLDERS, GatewayName, ListenerSet
from scanner.kube.gateway_routes import Attached, GatewayRoute, RouteRule
from scanner.kube.hostnames import overlap
from scanner.kube.kinds import GATEWAY, GRPC_ROUTE, HTTP_ROUTE, NAMESPACE
from scanner.kube.objects import KubeObject
from scanner.lint.gateway.route_attachment import of_route
from scanner.model.declared import Declared
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_NAMES: Final = 200
"""Hostnames of one listener that are compared, each with each."""
_MATCHES: Final = 64
_CHALLENGES: Final = "/.well-known/acme-challenge/"


def check_twin(subject: Subject) -> Iterator[Flaw]:
    """A route serves its hostnames over HTTPS, and not in plaintext too."""
    every = of_route(subject.declared, subject.object)
    for each in every:
        if each.missing is not None and each.missing.gap:
            yield undecided(each.missing, each.parent.steps, "whether the route is served in plaintext too")
    rules = GatewayRoute.of(subject.object).rules
    if rules and all(_harmless(each) for each in rules):
        return
    encrypted = [one for each in every for one in each.attached if one.listener.protocol == "HTTPS"]
    alone = not encrypted and not any(each.missing for each in every)
    for attachment in every:
        plain = [one for one in attachment.attached if one.listener.protocol == "HTTP"]
        twin = next((one for one in plain for other in encrypted if _same_names(one, other)), None)
        other = None if twin else next(filter(None, (_of_another(subject, one) for one in plain)), None)
        if twin is not None:
            yield Flaw(
                message=f"is served in plaintext on {twin.listener}, and over HTTPS",
                at=attachment.parent.steps,
                fix=f"{subject.object.reference}: set sectionName to the HTTPS listener",
                correction="parentRefs:\n- name: GATEWAY\n  sectionName: HTTPS-LISTENER",
            )
        elif other is not None:
            yield Flaw(
                message=f"serves {shown(other[0])} in plaintext, which {other[1].reference} serves over HTTPS",
                at=attachment.parent.steps,
                fix=f"{subject.object.reference}: replace its rules with a redirect to https",
                correction="rules:\n- filters:\n  - {type: RequestRedirect, requestRedirect: {scheme: https}}",
            )
        elif plain and alone:
            yield Flaw(
                message="is served in plaintext only: it is attached to no HTTPS listener",
                at=attachment.parent.steps,
                severity="low",
                fix=f"{subject.object.reference}: name an HTTPS listener in parentRefs",
            )


def _harmless(rule: RouteRule) -> bool:
    """True for a redirect to https, and for ACME challenges, which use plaintext (RFC 8555 section 8.3)."""
    paths = [each.path for each in rule.matches[:_MATCHES]]
    return any(each.redirect_scheme == "https" for each in rule.filters) or (
        bool(paths) and all(each.startswith(_CHALLENGES) for each in paths)
    )


def _of_another(subject: Subject, one: Attached) -> tuple[str, KubeObject] | None:
    """A name, and another route with that name on an HTTPS listener of the same Gateway."""
    every = subject.declared.once(_encrypted)
    for name in one.names[:_NAMES]:
        found = every.get((_gateway(one.listener.holder), name))
        if name and found is not None and found.raw is not subject.object.raw:
            return name, found
    return None


def _encrypted(declared: Declared) -> Mapping[tuple[GatewayName, str], KubeObject]:
    """Routes on HTTPS listeners, by Gateway and name."""
    return {
        (_gateway(one.listener.holder), name): one.route
        for kind in (HTTP_ROUTE, GRPC_ROUTE)
        for route in declared.every(kind)
        for each in of_route(declared, route)
        for one in each.attached
        if one.listener.protocol == "HTTPS"
        for name in one.names[:_NAMES]
    }


def _gateway(holder: KubeObject) -> GatewayName:
    """The name of a Gateway, or of a ListenerSet's Gateway."""
    return (holder.namespace, holder.name) if holder.kind == GATEWAY else ListenerSet.of(holder).gateway


def _same_names(one: Attached, other: Attached) -> bool:
    names = set(one.names)
    if names & set(other.names):
        return True
    wild = [each for each in other.names[:_NAMES] if not each or each.startswith("*")]
    mine = [each for each in one.names[:_NAMES] if not each or each.startswith("*")]
    return any(overlap(a, b) for a in wild for b in one.names[:_NAMES]) or any(
        overlap(a, b) for a in mine for b in other.names[:_NAMES]
    )


TWIN = ObjectRule(
    id="gateway-plaintext-twin",
    subjects=(HTTP_ROUTE, GRPC_ROUTE),
    check=check_twin,
    reads=(*HOLDERS, HTTP_ROUTE, GRPC_ROUTE, NAMESPACE),
)
