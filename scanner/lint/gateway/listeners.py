"""Look up the listeners of Gateways and ListenerSets, and the Gateways of ListenerSets, which may be missing."""

from __future__ import annotations

from collections.abc import Mapping

from scanner.kube.gateway import (
    HOLDERS,
    Gateway,
    GatewayName,
    HolderKey,
    Listener,
    ListenerSet,
    admits,
    holder_of,
    key_of,
    merged,
    sets_by_gateway,
)
from scanner.kube.kinds import GATEWAY
from scanner.kube.objects import KubeObject
from scanner.lint.references import look_up
from scanner.model.declared import Declared, Missing


def listeners(declared: Declared, holder: KubeObject) -> tuple[Listener, ...]:
    """The listeners of a Gateway or ListenerSet itself."""
    return declared.once(_by_holder).get(key_of(holder), ())


def _by_holder(declared: Declared) -> Mapping[HolderKey, tuple[Listener, ...]]:
    return {
        key_of(holder): holder_of(holder).listeners
        for kind in HOLDERS
        for holder in reversed(declared.every(kind))  # the first of two with the same name wins
    }


def all_listeners(declared: Declared, gateway: KubeObject) -> list[Listener]:
    """The listeners of a Gateway and then those of its ListenerSets, in their order of precedence."""
    found = Gateway.of(gateway)
    sets = declared.once(_sets).get((found.namespace, found.name), ())
    return merged(found, [each for each in sets if admits(declared.known, found, each) is not False])


def _sets(declared: Declared) -> Mapping[GatewayName, list[ListenerSet]]:
    return sets_by_gateway(declared.known)


def is_rejected(declared: Declared, holder: KubeObject) -> bool:
    """True for a ListenerSet whose Gateway does not exist or does not accept it; False if that is unknown."""
    if holder.kind == GATEWAY:
        return False
    gateway = parent_of(declared, holder)
    return gateway.gap is None if isinstance(gateway, Missing) else admits(declared.known, gateway, holder) is False


def undecided_parent(declared: Declared, holder: KubeObject) -> Missing | None:
    """The missing object that decides if the Gateway of a ListenerSet accepts it."""
    if holder.kind == GATEWAY:
        return None
    gateway = parent_of(declared, holder)
    if isinstance(gateway, Missing):
        return gateway if gateway.gap else None
    return unlabelled(holder.namespace) if admits(declared.known, gateway, holder) is None else None


def parent_of(declared: Declared, listener_set: KubeObject) -> Gateway | Missing:
    """The Gateway of a ListenerSet, or the reason of its absence."""
    namespace, name = ListenerSet.of(listener_set).gateway
    found = look_up(declared, GATEWAY, name, namespace)
    return found if isinstance(found, Missing) else Gateway.of(found)


def unlabelled(namespace: str | None) -> Missing:
    """A Namespace that was not seen and whose labels a selector needs."""
    return Missing(name=f"Namespace/{namespace}", gap="its labels decide")
