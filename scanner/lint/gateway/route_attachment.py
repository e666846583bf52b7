"""Attachment of routes to listeners, and the kinds of routes that a listener can carry (Gateway API apis/v1
``RouteConditionReason``, GEP-2907)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from msgspec import Struct, field

from scanner.files.source_positions import dotted, shown
from scanner.kube import gateway_routes
from scanner.kube.gateway import HOLDERS, ROUTES, HolderKey, Listener, carried, holder_of, key_of
from scanner.kube.gateway_routes import MAX_PARENTS, Attached, GatewayRoute, Parent, attach, parents
from scanner.kube.hostnames import is_address, overlap
from scanner.kube.kinds import NAMESPACE, SERVICE, TLS_ROUTE, Kind
from scanner.kube.objects import KubeObject, Steps
from scanner.lint.gateway.listeners import is_rejected, listeners, undecided_parent, unlabelled
from scanner.lint.references import look_up
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_SHOWN: Final = 20
"""Hostnames of one route with a finding of their own."""
_OPTIONAL_HOSTNAMES: Final = "/v1alpha2"
"""Version in which a TLSRoute needs no hostnames and then has the listener's (CRDs of releases 1.0 to 1.6)."""


# --- Attachments of all routes ----------------------------------------------------------------------------------------


class Attachment(gateway_routes.Attachment, frozen=True):
    """The listeners of one parent that a route is attached to, or the reason why there are none."""

    missing: Missing | None = None
    """The parent, or a Namespace whose labels decide, if it was not found."""


class _Attachments(Struct):
    of_route: dict[HolderKey, list[Attachment]] = field(default_factory=dict)
    of_listener: dict[tuple[HolderKey, Steps], list[Attached]] = field(default_factory=dict)


def _attachments(declared: Declared) -> _Attachments:
    found = _Attachments()
    for kind in ROUTES:
        for route in declared.every(kind):
            every = [_attach(declared, route, parent) for parent in parents(route)]
            found.of_route.setdefault(key_of(route), every)
            for each in every:
                for one in each.attached:
                    found.of_listener.setdefault(one.listener.key, []).append(one)
    return found


def of_route(declared: Declared, route: KubeObject) -> list[Attachment]:
    """The attachment of each parent of the route."""
    return declared.once(_attachments).of_route.get(key_of(route), [])


def on_listener(declared: Declared, listener: Listener) -> list[Attached]:
    """The routes that are attached to a listener."""
    return declared.once(_attachments).of_listener.get(listener.key, [])


def _attach(declared: Declared, route: KubeObject, parent: Parent) -> Attachment:
    holder = look_up(declared, parent.kind, parent.name, parent.namespace)
    if isinstance(holder, Missing):
        return Attachment(parent, why=f"{holder.name} does not exist", reason="NoMatchingParent", missing=holder)
    found = attach(declared.known, route, parent, holder_of(holder), listeners(declared, holder))
    if found.reason != "NoMatchingParent" and is_rejected(declared, holder):
        why = f"the Gateway of {holder.reference} does not accept it"
        return Attachment(parent, why=why, reason="NoMatchingParent")
    missing = unlabelled(route.namespace) if found.unsure and not found.attached else None
    return Attachment(parent, found.attached, found.unsure, found.why, found.reason, missing)


# --- Rules ------------------------------------------------------------------------------------------------------------


def check_attachment(subject: Subject) -> Iterator[Flaw]:
    """A route is attached to every parent that it names, with every hostname."""
    yield from _tls_route_hostnames(subject)
    yield from _other_parents(subject)
    every = of_route(subject.declared, subject.object)
    for each in every:
        yield from _parent(subject, each)
    if every and all(each.attached for each in every):
        yield from _hostnames(subject, every)


def _other_parents(subject: Subject) -> Iterator[Flaw]:
    """Report parents without listeners. A Service is the parent of a mesh route; other kinds are unknown."""
    route = GatewayRoute.of(subject.object)
    if not route.parent_refs:
        yield Flaw(
            message="has no parent: it receives traffic only if another route delegates to it",
            at=("spec", "parentRefs"),
            severity="info",
            fix=f"{subject.object.reference}: name a Gateway in parentRefs, or a route that delegates to it",
        )
    known = {each.steps for each in parents(route)}
    for each in route.parent_refs[:MAX_PARENTS]:
        # Without a group, the group is the Gateway API's, whatever the kind.
        of_mesh = each.has_group and (each.group, each.kind) == (SERVICE.group, SERVICE.name)
        if each.steps not in known and not of_mesh:
            message = f"unknown: whether a {shown(each.kind)} can be a parent"
            yield Flaw(message=message, at=each.steps, verdict="inconclusive")


def _tls_route_hostnames(subject: Subject) -> Iterator[Flaw]:
    if subject.object.kind != TLS_ROUTE:
        return
    route = GatewayRoute.of(subject.object)
    if not route.hostnames and not route.api_version.endswith(_OPTIONAL_HOSTNAMES):
        yield Flaw(
            message="a TLSRoute must have hostnames: the Gateway routes by them",
            at=("spec", "hostnames"),
            fix=f"{subject.object.reference}: set hostnames",
        )
    for index, name in enumerate(route.hostnames):
        if is_address(name):
            yield Flaw(message="Hostnames cannot contain an IP", at=("spec", "hostnames", index))


def _parent(subject: Subject, each: Attachment) -> Iterator[Flaw]:
    if each.missing is not None and each.missing.gap:
        yield undecided(each.missing, each.parent.steps, "whether the route is attached to a listener")
    elif each.attached:
        missing = undecided_parent(subject.declared, each.attached[0].listener.holder)
        if missing is not None:
            yield undecided(missing, each.parent.steps, "whether its Gateway accepts the ListenerSet")
    else:
        yield Flaw(
            message=f"not attached: {each.why}",
            at=each.parent.steps,
            evidence=(f"reason: {each.reason}",),
            fix=f"{subject.object.reference}: set {dotted(each.parent.steps)} to a listener that allows it",
        )


def _hostnames(subject: Subject, every: list[Attachment]) -> Iterator[Flaw]:
    """Report hostnames that no listener accepts, although the route is attached."""
    accepted = {one.listener.hostname for each in every for one in each.attached}
    unsure = {listener.hostname for each in every for listener in each.unsure}
    named = enumerate(GatewayRoute.of(subject.object).hostnames)
    rejected = ((index, name) for index, name in named if not any(overlap(name, each) for each in accepted))
    for index, name in islice(rejected, _SHOWN):
        at = ("spec", "hostnames", index)
        if any(overlap(name, each) for each in unsure):
            question = f"whether a listener accepts the hostname {shown(name)}"
            yield undecided(unlabelled(subject.object.namespace), at, question)
        else:
            yield Flaw(
                message=f"no listener accepts the hostname {shown(name)}",
                at=at,
                fix=f"{subject.object.reference}: use a hostname within {', '.join(sorted(accepted)[:5])}",
            )


def check_kinds(subject: Subject) -> Iterator[Flaw]:
    """A listener allows only kinds of routes that it can carry."""
    for listener in listeners(subject.declared, subject.object):
        able = carried(listener.protocol, listener.mode)
        if able is not None:
            yield from _kinds(listener, able)


def _kinds(listener: Listener, able: tuple[Kind, ...]) -> Iterator[Flaw]:
    for each in listener.allowed_kinds:
        if not any(map(each.means, able)):
            shape = " ".join(filter(None, (listener.protocol, listener.mode)))
            group = each.group if each.group != TLS_ROUTE.group else ""
            named = "/".join(filter(None, (group, each.kind)))
            yield Flaw(
                message=f"a {shape} listener cannot carry {shown(named)}: InvalidRouteKinds",
                at=each.steps,
                expected=tuple(sorted(kind.name for kind in able)),
                fix=f"{listener.holder.reference}: remove the kind, or change protocol and mode",
            )


ATTACHMENT = ObjectRule(
    id="gateway-route-attachment",
    subjects=ROUTES,
    check=check_attachment,
    reads=(*HOLDERS, NAMESPACE),
)
KINDS = ObjectRule(id="gateway-route-kinds", subjects=HOLDERS, check=check_kinds)
