"""Which listeners a route is attached to, and why to none (Gateway API apis/v1 ``RouteConditionReason``, GEP-2907)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from scanner.files.source_positions import Steps
from scanner.kube.hostnames import narrower
from scanner.kube.kinds import GRPC_ROUTE, HTTP_ROUTE, TCP_ROUTE, TLS_ROUTE, UDP_ROUTE, Kind
from scanner.kube.objects import Fields, KubeObject
from scanner.kube.route_parents import Parent, parents
from scanner.lint.gateway.listeners import (
    HOLDERS,
    HolderKey,
    Listener,
    is_turned_away,
    key_of,
    listeners,
    takes_namespace,
)
from scanner.lint.gateway.routes import ROUTES, hostnames
from scanner.lint.references import look_up
from scanner.model.declared import Declared, Missing

CARRIES: Final[Mapping[tuple[str, str], tuple[Kind, ...]]] = {
    ("HTTP", ""): (HTTP_ROUTE, GRPC_ROUTE),
    ("HTTPS", "Terminate"): (HTTP_ROUTE, GRPC_ROUTE),
    ("TLS", "Passthrough"): (TLS_ROUTE,),
    # A TCPRoute here is up to the implementation: Contour takes it, others do not.
    ("TLS", "Terminate"): (TLS_ROUTE, TCP_ROUTE),
    # GEP-2907 has "TCP, Terminate: yes", but the CRD admits no tls on a TCP listener: that is protocol TLS.
    ("TCP", ""): (TCP_ROUTE,),
    ("UDP", ""): (UDP_ROUTE,),
}
"""Protocol and mode of a listener -> the kinds of routes that it can carry. A protocol of an implementation's own, with
a slash in it, may carry any."""

Reason: TypeAlias = str


@dataclass(frozen=True, slots=True)
class Attached:
    """A listener that takes the route, and under which names."""

    route: KubeObject
    listener: Listener
    names: tuple[str, ...]
    """What both match; an empty one is every name."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """What becomes of one parent of a route."""

    parent: Parent
    attached: tuple[Attached, ...] = ()
    missing: Missing | None = None
    """The parent, or a Namespace whose labels decide, was not found."""
    unsure: tuple[Listener, ...] = ()
    """Listeners that carry the route, if the labels of its Namespace, which nobody saw, are right."""
    why: str = ""
    """For people, where it is attached to nothing."""
    reason: Reason = ""
    """One of those that the route's status would give."""


@dataclass(slots=True)
class Attachments:
    """Of every route that is known."""

    of_route: dict[HolderKey, list[Attachment]] = field(default_factory=dict)
    of_listener: dict[tuple[HolderKey, Steps], list[Attached]] = field(default_factory=dict)


def attachments(declared: Declared) -> Attachments:
    """All of them. Ask by ``declared.once``."""
    found = Attachments()
    for kind in ROUTES:
        for route in declared.every(kind):
            every = [_attach(declared, route, parent) for parent in parents(route)]
            found.of_route.setdefault(key_of(route), every)
            for each in every:
                for one in each.attached:
                    found.of_listener.setdefault(one.listener.key, []).append(one)
    return found


def of_route(declared: Declared, route: KubeObject) -> list[Attachment]:
    """What becomes of each parent of the route."""
    return declared.once(attachments).of_route.get(key_of(route), [])


def on_listener(declared: Declared, listener: Listener) -> list[Attached]:
    """The routes that the listener takes."""
    return declared.once(attachments).of_listener.get(listener.key, [])


def _attach(declared: Declared, route: KubeObject, parent: Parent) -> Attachment:
    holder = look_up(declared, parent.kind, parent.name, parent.namespace)
    if isinstance(holder, Missing):
        return Attachment(parent, missing=holder, why=f"{holder.name} does not exist", reason="NoMatchingParent")
    every = [each for each in listeners(declared, holder) if parent.takes(each.name, each.port)]
    if not every:
        return Attachment(parent, why=f"{holder.reference} has no {_wanted(parent)}", reason="NoMatchingParent")
    if is_turned_away(declared, holder):
        return Attachment(parent, why=f"the Gateway of {holder.reference} does not take it", reason="NoMatchingParent")
    able = declared.once(_able).get((key_of(holder), route.kind), frozenset())
    carrying = [each for each in every if each.steps in able]
    if not carrying:
        return Attachment(parent, why=_unsuitable(holder, every, route), reason="NotAllowedByListeners")
    return _of_namespace(declared, route, parent, carrying)


def _of_namespace(declared: Declared, route: KubeObject, parent: Parent, carrying: list[Listener]) -> Attachment:
    namespace = route.namespace
    answers = [(each, takes_namespace(declared, each, namespace)) for each in carrying]
    open_ones = [each for each, answer in answers if answer]
    wanted = hostnames(route)
    unsure = tuple(each for each, answer in answers if answer is None and _names(each, wanted))
    named = ((each, _names(each, wanted)) for each in open_ones)
    attached = tuple(Attached(route, each, names) for each, names in named if names)
    if attached:
        return Attachment(parent, attached=attached, unsure=unsure)
    if unsure:
        missing = Missing(name=f"Namespace/{namespace}", gap="its labels decide")
        return Attachment(parent, missing=missing, unsure=unsure)
    if not open_ones:
        why = f"no listener takes routes of the namespace {namespace}: allowedRoutes.namespaces"
        return Attachment(parent, why=why, reason="NotAllowedByListeners")
    theirs = ", ".join(sorted({each.hostname for each in open_ones})[:5])
    return Attachment(parent, why=f"none of its hostnames is within {theirs}", reason="NoMatchingListenerHostname")


def _able(declared: Declared) -> Mapping[tuple[HolderKey, Kind], frozenset[Steps]]:
    """By holder and kind of route, the listeners that carry it."""
    return {
        (key_of(holder), route): frozenset(each.steps for each in listeners(declared, holder) if carries(each, route))
        for kind in HOLDERS
        for holder in declared.every(kind)
        for route in ROUTES
    }


def _wanted(parent: Parent) -> str:
    if parent.section:
        return f"listener {parent.section!r}"
    return f"listener on port {parent.port}" if parent.port is not None else "listeners"


def carries(listener: Listener, kind: Kind) -> bool:
    """Whether its protocol and mode, and its ``allowedRoutes.kinds``, take routes of this kind."""
    able = CARRIES.get((listener.protocol, listener.mode), ())
    if kind not in able and "/" not in listener.protocol:
        return False
    allowed = list(listener.fields.each("allowedRoutes", "kinds"))
    return not allowed or any(names_kind(each, kind) for each in allowed)


def names_kind(allowed: Fields, kind: Kind) -> bool:
    """The group of the Gateway API is the default where none is said; an empty one is the core's."""
    group = allowed.text("group") if allowed.has("group") else kind.group
    return (group, allowed.text("kind")) == (kind.group, kind.name)


def _unsuitable(holder: KubeObject, every: list[Listener], route: KubeObject) -> str:
    shapes = sorted({" ".join(filter(None, (each.protocol, each.mode))) or "without protocol" for each in every})
    return f"{holder.reference} has only listeners that take no {route.kind.name}: {', '.join(shapes[:5])}"


def _names(listener: Listener, names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        return (listener.hostname,)
    if not listener.hostname or listener.protocol in ("TCP", "UDP"):
        return names
    return tuple(filter(None, (narrower(each, listener.hostname) for each in names)))
