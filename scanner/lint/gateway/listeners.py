"""Listeners of Gateways and ListenerSets as rules look at them (Gateway API apis/v1 ``Listener``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

from scanner.files.source_positions import Steps
from scanner.kube.kinds import GATEWAY, LISTENER_SET, NAMESPACE, X_LISTENER_SET, Kind
from scanner.kube.label_selector import selects
from scanner.kube.objects import Fields, KubeObject
from scanner.lint.references import look_up
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Subject

HOLDERS: Final[tuple[Kind, ...]] = (GATEWAY, LISTENER_SET, X_LISTENER_SET)
"""What has listeners."""
SETS: Final[tuple[Kind, ...]] = (LISTENER_SET, X_LISTENER_SET)
MOST: Final = 64
"""Listeners of one object (MaxItems of ``spec.listeners``). An object with more is refused, and a rule says so."""

HolderKey: TypeAlias = tuple[Kind, str | None, str]


def key_of(holder: KubeObject) -> HolderKey:
    """By which a holder is found again."""
    return holder.kind, holder.namespace, holder.name


@dataclass(frozen=True, slots=True)
class Listener:
    """One of them, with the way to it. What is asked for each of thousands of routes is read once."""

    holder: KubeObject
    steps: Steps
    fields: Fields
    name: str
    """``https``."""
    hostname: str
    """In lower case; empty: every name."""
    port: int | None
    """None in an XListenerSet that leaves it to the implementation, which gives each a port of its own: the CRD then
    has 0."""
    protocol: str
    """``HTTP``, ``HTTPS``, ``TLS``, ``TCP``, ``UDP`` or an implementation's own, with a slash."""
    mode: str
    """``Terminate``, which is the default, or ``Passthrough``; empty without TLS."""
    home: str | None
    """The holder's namespace."""
    takes: str
    """Routes of which namespaces: ``All``, ``Same``, ``Selector``."""

    @property
    def terminates(self) -> bool:
        """Whether it has the end of the client's TLS."""
        return self.protocol in ("HTTPS", "TLS") and self.mode == "Terminate"

    @property
    def key(self) -> tuple[HolderKey, Steps]:
        """By which it is found again."""
        return key_of(self.holder), self.steps

    def __str__(self) -> str:
        return f"listener {self.name or '?'} of {self.holder.reference}"


def _listener(holder: KubeObject, steps: Steps, fields: Fields) -> Listener:
    protocol = fields.text("protocol")
    return Listener(
        holder=holder,
        steps=steps,
        fields=fields,
        name=fields.text("name"),
        hostname=fields.text("hostname").lower(),
        port=fields.number("port") or None,
        protocol=protocol,
        mode=_mode(protocol, fields),
        home=holder.namespace,
        takes=fields.text("allowedRoutes", "namespaces", "from") or "Same",
    )


def _mode(protocol: str, fields: Fields) -> str:
    if protocol not in ("HTTPS", "TLS") and not fields.has("tls"):
        return ""
    return fields.text("tls", "mode") or "Terminate"


def listeners(declared: Declared, holder: KubeObject) -> tuple[Listener, ...]:
    """Those that stand in a Gateway or ListenerSet itself."""
    return declared.once(_by_holder).get(key_of(holder), ())


def _by_holder(declared: Declared) -> Mapping[HolderKey, tuple[Listener, ...]]:
    return {
        key_of(holder): tuple(_listener(holder, *each) for each in _first(Subject(holder, declared)))
        for kind in HOLDERS
        for holder in reversed(declared.every(kind))  # of two with one name the first counts
    }


def _first(holder: Subject) -> Iterator[tuple[Steps, Fields]]:
    return islice(holder.items("spec", "listeners"), MOST)


def conditions(listener: Listener) -> dict[str, str]:
    """What its status says of it, by type; empty where nobody has said anything."""
    for each in islice(listener.holder.each("status", "listeners"), MOST):
        if each.text("name") == listener.name:
            return {one.text("type"): one.text("status") for one in each.each("conditions")}
    return {}


def parent_of(listener_set: KubeObject) -> tuple[str | None, str]:
    """Namespace and name of the Gateway that a ListenerSet belongs to; no name where its parent is none."""
    parent = listener_set.fields("spec", "parentRef")
    return parent.text("namespace") or listener_set.namespace, parent.text("name") if is_gateway(parent) else ""


def is_gateway(parent: Fields) -> bool:
    """Whether a reference is to a Gateway, which it is without a word (``ParentGatewayReference``)."""
    return parent.text("kind") in ("", GATEWAY.name) and (
        not parent.has("group") or parent.text("group") == GATEWAY.group
    )


def gateway_of(declared: Declared, holder: KubeObject) -> KubeObject | None:
    """The Gateway itself, or that of a ListenerSet, if it is known."""
    if holder.kind == GATEWAY:
        return holder
    namespace, name = parent_of(holder)
    return declared.known.get(GATEWAY, name, namespace)


def sets_of(declared: Declared, gateway: KubeObject) -> list[KubeObject]:
    """The ListenerSets that name the Gateway as theirs and that it does not turn away, in their order of precedence
    (GEP-1713): the oldest first, then by namespace and name."""
    named = declared.once(_sets).get((gateway.namespace, gateway.name), [])
    return [each for each in named if admits(declared, gateway, each) is not False]


def _sets(declared: Declared) -> Mapping[tuple[str | None, str], list[KubeObject]]:
    found: dict[tuple[str | None, str], list[KubeObject]] = {}
    for kind in SETS:
        for each in declared.every(kind):
            found.setdefault(parent_of(each), []).append(each)
    for several in found.values():
        several.sort(key=precedence)
    return found


def precedence(item: KubeObject) -> tuple[str, str, str]:
    """One that has no time yet is about to be created, and the youngest."""
    created = item.creation_timestamp or "~"
    return created, item.namespace or "", item.name


def admits(declared: Declared, gateway: KubeObject, listener_set: KubeObject) -> bool | None:
    """Whether ``spec.allowedListeners`` takes it; None where that depends on a Namespace that was not seen."""
    rule = gateway.fields("spec", "allowedListeners", "namespaces")
    if rule.text("from") == "Selector":
        return _labelled(declared, rule, listener_set.namespace)
    return rule.text("from") == "All" or (rule.text("from") == "Same" and gateway.namespace == listener_set.namespace)


def is_turned_away(declared: Declared, holder: KubeObject) -> bool:
    """Whether it is a ListenerSet whose listeners do not count, because its Gateway is not there or does not take it.
    Not so where that cannot be told."""
    if holder.kind == GATEWAY:
        return False
    gateway = _gateway(declared, holder)
    return gateway.gap is None if isinstance(gateway, Missing) else admits(declared, gateway, holder) is False


def undecided_parent(declared: Declared, holder: KubeObject) -> Missing | None:
    """What was not seen and decides whether the Gateway of a ListenerSet takes it."""
    if holder.kind == GATEWAY:
        return None
    gateway = _gateway(declared, holder)
    if isinstance(gateway, Missing):
        return gateway if gateway.gap else None
    if admits(declared, gateway, holder) is None:
        return Missing(name=f"Namespace/{holder.namespace}", gap="its labels decide")
    return None


def _gateway(declared: Declared, listener_set: KubeObject) -> KubeObject | Missing:
    namespace, name = parent_of(listener_set)
    return look_up(declared, GATEWAY, name, namespace)


def takes_namespace(declared: Declared, listener: Listener, namespace: str | None) -> bool | None:
    """Whether ``allowedRoutes.namespaces`` has the route's; None where that depends on one that was not seen."""
    if listener.takes == "Selector":
        return _labelled(declared, listener.fields.fields("allowedRoutes", "namespaces"), namespace)
    return listener.takes == "All" or (listener.takes == "Same" and listener.home == namespace)


def _labelled(declared: Declared, rule: Fields, namespace: str | None) -> bool | None:
    if not rule.has("selector"):
        return False  # one that is not there selects nothing, and an empty one everything (LabelSelectorAsSelector)
    found = declared.known.get(NAMESPACE, namespace or "")
    if found is None:
        return None
    # The API server gives every Namespace a label with its name.
    return selects(rule.fields("selector"), {**found.labels, "kubernetes.io/metadata.name": found.name})


def merged(declared: Declared, gateway: KubeObject) -> list[Listener]:
    """The Gateway's own and then those of its ListenerSets, in their order of precedence."""
    holders = (gateway, *sets_of(declared, gateway))
    return [listener for holder in holders for listener in listeners(declared, holder)]
