"""Whether routes are attached to listeners, and listeners to kinds that they can carry (GEP-2907)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from scanner.kube.kinds import NAMESPACE, TLS_ROUTE, Kind
from scanner.kube.route_parents import MOST, parents
from scanner.lint.gateway.attachment import CARRIES, Attachment, names_kind, of_route
from scanner.lint.gateway.listeners import HOLDERS, Listener, listeners, undecided_parent
from scanner.lint.gateway.routes import ROUTES, hostnames
from scanner.model.declared import Missing
from scanner.model.hostnames import is_address, overlap
from scanner.model.located import dotted, shown
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_SHOWN: Final = 20
"""Hostnames of one route that are said one by one."""
_NAMELESS: Final = "/v1alpha2"
"""In whose TLSRoutes hostnames may be left out: then they have all of the listener's (CRDs of releases 1.0 to 1.6)."""


def check_attachment(subject: Subject) -> Iterator[Flaw]:
    """A route is attached to every parent that it names, with every hostname.

    ## What it requires

    For each Gateway or ListenerSet in `parentRefs`: it exists, and its Gateway takes the ListenerSet; it has the
    listener of that name or port; one of these listeners carries routes of this kind by its protocol and mode and its
    `allowedRoutes`; it takes routes of the namespace; and it has a hostname in common with the route. Every hostname of
    the route is within one such listener.
    A TLSRoute has hostnames, which are no addresses; in `v1alpha2` it may have none, and then takes all of the
    listener's.

    | protocol | mode | routes |
    |---|---|---|
    | HTTP | | HTTPRoute, GRPCRoute |
    | HTTPS | Terminate | HTTPRoute, GRPCRoute |
    | TLS | Passthrough | TLSRoute |
    | TLS | Terminate | TLSRoute (extended), TCPRoute (some implementations) |
    | TCP | | TCPRoute |
    | UDP | | UDPRoute |

    ## Why

    A route that is attached to nothing serves nothing, and one that is attached elsewhere than was meant may serve in
    plaintext. A TCP listener cannot terminate TLS, whatever GEP-2907's table says: the CRD refuses `tls` there.

    ## What fails

    A parent to which the route is not attached: medium. No parent at all: info, since another route may delegate to
    it. The status would say
    `NotAllowedByListeners`, `NoMatchingListenerHostname` or `NoMatchingParent`, and some say `UnsupportedProtocol` or
    `UnsupportedValue` for the first; all of them mean that it is not attached.

    ## What is inconclusive

    A Gateway or ListenerSet that was not seen, nor the Gateway of a ListenerSet; a Namespace where its labels decide; a
    parent of another kind than these and Service, which is for a mesh.

    ## Example that fails

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: TLSRoute
    metadata: {name: web, namespace: shop}
    spec:
      parentRefs: [{name: edge, sectionName: https}]
      hostnames: [web.shop.example]
      rules: [{backendRefs: [{name: web, port: 443}]}]
    ---
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: edge-tls}]}}
    ```

    ## Example that passes

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: TLSRoute
    metadata: {name: web, namespace: shop}
    spec:
      parentRefs: [{name: edge, sectionName: tls}]
      hostnames: [web.shop.example]
      rules: [{backendRefs: [{name: web, port: 443}]}]
    ---
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - {name: tls, port: 443, protocol: TLS, hostname: "*.shop.example", tls: {mode: Passthrough}}
    ```

    ## How to fix

    Name a listener with the right protocol and mode, and a hostname that it has.
    """
    yield from _of_tls_route(subject)
    yield from _strangers(subject)
    every = of_route(subject.declared, subject.object)
    for each in every:
        yield from _parent(subject, each)
    if every and all(each.attached for each in every):
        yield from _hostnames(subject, every)


def _strangers(subject: Subject) -> Iterator[Flaw]:
    """Parents that have no listeners: a Service is one of a mesh, whatever else it is nobody knows here."""
    if not subject.object.at("spec", "parentRefs"):
        yield Flaw(
            message="names no parent: it takes traffic only where another route delegates to it",
            at=("spec", "parentRefs"),
            severity="info",
            fix=f"{subject.object.reference}: name a Gateway in parentRefs, or a route that delegates to it",
        )
    known = {each.steps for each in parents(subject.object)}
    for steps, each in islice(subject.items("spec", "parentRefs"), MOST):
        # Without a group it is the Gateway API's, whatever the kind.
        if steps not in known and (each.at("group"), each.text("kind")) != ("", "Service"):
            message = f"cannot be decided here: whether a {shown(each.text('kind'))} can be a parent"
            yield Flaw(message=message, at=steps, verdict="inconclusive")


def _of_tls_route(subject: Subject) -> Iterator[Flaw]:
    if subject.object.kind != TLS_ROUTE:
        return
    names = hostnames(subject.object)
    if not names and not subject.object.text("apiVersion").endswith(_NAMELESS):
        yield Flaw(
            message="a TLSRoute must have hostnames: by them the Gateway chooses",
            at=("spec", "hostnames"),
            fix=f"{subject.object.reference}: hostnames",
        )
    for index, name in enumerate(names):
        if is_address(name):
            yield Flaw(message="Hostnames cannot contain an IP", at=("spec", "hostnames", index))


def _parent(subject: Subject, each: Attachment) -> Iterator[Flaw]:
    if each.missing is not None and each.missing.gap:
        yield undecided(each.missing, each.parent.steps, "whether the route is attached to a listener")
    elif each.attached:
        missing = undecided_parent(subject.declared, each.attached[0].listener.holder)
        if missing is not None:
            yield undecided(missing, each.parent.steps, "whether its Gateway takes the ListenerSet")
    else:
        yield Flaw(
            message=f"not attached: {each.why}",
            at=each.parent.steps,
            evidence=(f"reason: {each.reason}",),
            fix=f"{subject.object.reference}: let {dotted(each.parent.steps)} name a listener that takes it",
        )


def _hostnames(subject: Subject, every: list[Attachment]) -> Iterator[Flaw]:
    """Those that no listener takes, where others are taken."""
    taken = {one.listener.hostname for each in every for one in each.attached}
    unsure = {listener.hostname for each in every for listener in each.unsure}
    said = 0
    for index, name in enumerate(hostnames(subject.object)):
        if said >= _SHOWN or any(overlap(name, each) for each in taken):
            continue
        said += 1
        at = ("spec", "hostnames", index)
        if any(overlap(name, each) for each in unsure):
            missing = Missing(name=f"Namespace/{subject.object.namespace}", gap="its labels decide")
            yield undecided(missing, at, f"whether a listener takes the hostname {shown(name)}")
        else:
            yield Flaw(
                message=f"no listener takes the hostname {shown(name)}",
                at=at,
                fix=f"{subject.object.reference}: a hostname within {', '.join(sorted(taken)[:5])}",
            )


def check_kinds(subject: Subject) -> Iterator[Flaw]:
    """A listener allows only kinds of routes that it can carry.

    ## What it requires

    Each entry of a listener's `allowedRoutes.kinds` is a kind that its protocol and mode carry; an implementation's own
    protocol, with a slash in its name, may carry any.

    ## Why

    The listener gets `ResolvedRefs` False with the reason `InvalidRouteKinds`. Often the mode is the mistake: a
    TCPRoute on a passthrough listener would send what is encrypted for one name to whatever listens behind it.

    ## What fails

    A kind that the listener cannot carry: medium.

    ## What is inconclusive

    Nothing: both stand in the object.

    ## Example that fails

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - {name: tls, port: 443, protocol: TLS, tls: {mode: Passthrough}, allowedRoutes: {kinds: [{kind: TCPRoute}]}}
    ```

    ## Example that passes

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - {name: tls, port: 443, protocol: TLS, tls: {mode: Passthrough}, allowedRoutes: {kinds: [{kind: TLSRoute}]}}
    ```

    ## How to fix

    Remove the kind, or change the protocol and mode to what carries it.
    """
    for listener in listeners(subject.declared, subject.object):
        able = CARRIES.get((listener.protocol, listener.mode))
        if able is not None:
            yield from _kinds(listener, able)


def _kinds(listener: Listener, able: tuple[Kind, ...]) -> Iterator[Flaw]:
    for index, each in enumerate(listener.fields.each("allowedRoutes", "kinds")):
        if not any(names_kind(each, kind) for kind in able):
            shape = " ".join(filter(None, (listener.protocol, listener.mode)))
            group = each.text("group") if each.text("group") != TLS_ROUTE.group else ""
            named = "/".join(filter(None, (group, each.text("kind"))))
            yield Flaw(
                message=f"a {shape} listener carries no {shown(named)}: InvalidRouteKinds",
                at=(*listener.steps, "allowedRoutes", "kinds", index),
                expected=tuple(sorted(kind.name for kind in able)),
                fix=f"{listener.holder.reference}: remove the kind, or change protocol and mode",
            )


ATTACHMENT = ObjectRule(
    id="gateway-route-attachment",
    title="Routes are attached to the listeners that they name",
    severity="medium",
    subjects=ROUTES,
    check=check_attachment,
    reads=(*HOLDERS, NAMESPACE),
    references=(
        "GEP-2907, TLS in Gateway API (What Routes are allowed by Listeners with TLS)",
        "Gateway API apis/v1/shared_types.go (RouteConditionReason)",
    ),
)
KINDS = ObjectRule(
    id="gateway-route-kinds",
    title="Listeners allow only routes that they can carry",
    severity="medium",
    subjects=HOLDERS,
    check=check_kinds,
    references=("Gateway API apis/v1/gateway_types.go (AllowedRoutes.kinds, ListenerReasonInvalidRouteKinds)",),
)
