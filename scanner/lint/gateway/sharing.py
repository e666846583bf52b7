"""Listeners that share a port, of a Gateway and its ListenerSets, or of all Gateways that a controller merges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

from scanner.kube.gateway import (
    HOLDERS,
    SETS,
    EnvoyProxy,
    Gateway,
    GatewayClass,
    HolderKey,
    Listener,
    gateway_of,
    key_of,
    precedence,
)
from scanner.kube.kinds import ENVOY_PROXY, GATEWAY, GATEWAY_CLASS, NAMESPACE, Kind
from scanner.kube.objects import KubeObject
from scanner.lint.gateway.listeners import all_listeners, listeners
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Flaw, Subject

READS: Final[tuple[Kind, ...]] = (*HOLDERS, NAMESPACE, GATEWAY_CLASS, ENVOY_PROXY)
_MOST: Final = 256
"""Listeners of one Gateway that are compared with each other, each with each."""


@dataclass(slots=True)
class _Sharing:
    ports: list[list[Listener]] = field(default_factory=list)
    """Those that share a port, in their order of precedence."""
    pairs: dict[HolderKey, list[tuple[Listener, Listener]]] = field(default_factory=dict)
    """By the holder of one or both."""
    beyond: set[HolderKey] = field(default_factory=set)


def pairs_of(subject: Subject) -> list[tuple[Listener, Listener]]:
    """Listeners on the same port of which one at least is the subject's, each two once, the one with precedence
    first."""
    return subject.declared.once(_sharing).pairs.get(key_of(subject.object), [])


def ports(declared: Declared) -> list[list[Listener]]:
    """The listeners of each port of each Gateway, several at least, in their order of precedence."""
    return declared.once(_sharing).ports


def uncompared(subject: Subject) -> Iterator[Flaw]:
    """That a Gateway has too many listeners for all to be compared."""
    if key_of(subject.object) in subject.declared.once(_sharing).beyond:
        message = f"not decided: its Gateway has more than {_MOST} listeners, and later ones are not compared"
        yield Flaw(message=message, at=("spec", "listeners"), verdict="inconclusive")


def _sharing(declared: Declared) -> _Sharing:
    found = _Sharing()
    for together in _together(declared):
        _add(found, [each for gateway in together for each in all_listeners(declared, gateway)])
    for kind in SETS:
        for each in declared.every(kind):
            if gateway_of(declared.known, each) is None:
                _add(found, list(listeners(declared, each)))
    return found


def _together(declared: Declared) -> Iterator[list[Gateway]]:
    """Gateways whose listeners are served as those of one, the oldest first: Envoy Gateway's ``mergeGateways`` is for
    all of a class."""
    merging = {each.name for each in declared.every(GATEWAY_CLASS) if _merges(declared, each)}
    by_class: dict[str, list[Gateway]] = {}
    for gateway in sorted(map(Gateway.of, declared.every(GATEWAY)), key=precedence):
        name = gateway.gateway_class_name
        if name in merging:
            by_class.setdefault(name, []).append(gateway)
        else:
            yield [gateway]
    yield from by_class.values()


def _merges(declared: Declared, gateway_class: KubeObject) -> bool:
    named = GatewayClass.of(gateway_class).parameters_ref
    if (named.group, named.kind) != (ENVOY_PROXY.group, ENVOY_PROXY.name):
        return False
    found = declared.find(ENVOY_PROXY, named.name, named.namespace)
    return not isinstance(found, Missing) and EnvoyProxy.of(found).merge_gateways


def _add(found: _Sharing, together: list[Listener]) -> None:
    found.beyond |= {key_of(each.holder) for each in together[_MOST:]}
    by_port: dict[int, list[Listener]] = {}
    for each in together[:_MOST]:
        if each.port is not None:
            by_port.setdefault(each.port, []).append(each)
    for several in by_port.values():
        found.ports += [several] if len(several) > 1 else []
        for first, later in combinations(several, 2):
            for holder in {key_of(first.holder), key_of(later.holder)}:
                found.pairs.setdefault(holder, []).append((first, later))
