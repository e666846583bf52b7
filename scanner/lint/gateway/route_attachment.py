"""Whether routes are attached to listeners, and listeners to kinds that they can carry (GEP-2907)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from scanner.files.source_positions import dotted, shown
from scanner.kube.hostnames import is_address, overlap
from scanner.kube.kinds import NAMESPACE, TLS_ROUTE, Kind
from scanner.kube.route_parents import MOST, parents
from scanner.lint.gateway.attachment import CARRIES, Attachment, names_kind, of_route
from scanner.lint.gateway.listeners import HOLDERS, Listener, listeners, undecided_parent
from scanner.lint.gateway.routes import ROUTES, hostnames
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_SHOWN: Final = 20
"""Hostnames of one route that are said one by one."""
_NAMELESS: Final = "/v1alpha2"
"""In whose TLSRoutes hostnames may be left out: then they have all of the listener's (CRDs of releases 1.0 to 1.6)."""


def check_attachment(subject: Subject) -> Iterator[Flaw]:
    """A route is attached to every parent that it names, with every hostname."""
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
    """A listener allows only kinds of routes that it can carry."""
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
    subjects=ROUTES,
    check=check_attachment,
    reads=(*HOLDERS, NAMESPACE),
)
KINDS = ObjectRule(
    id="gateway-route-kinds",
    subjects=HOLDERS,
    check=check_kinds,
)
