"""Listeners that share a port, of a Gateway and its ListenerSets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

from scanner.kube.kinds import GATEWAY, NAMESPACE, Kind
from scanner.lint.gateway.listeners import HOLDERS, SETS, HolderKey, Listener, gateway_of, key_of, listeners, merged
from scanner.model.declared import Declared
from scanner.model.object_rule import Flaw, Subject

READS: Final[tuple[Kind, ...]] = (*HOLDERS, NAMESPACE)
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
        message = (
            f"cannot be decided here: its Gateway has more than {_MOST} listeners, and later ones are not compared"
        )
        yield Flaw(message=message, at=("spec", "listeners"), verdict="inconclusive")


def _sharing(declared: Declared) -> _Sharing:
    found = _Sharing()
    for gateway in declared.every(GATEWAY):
        _add(found, merged(declared, gateway))
    for kind in SETS:
        for each in declared.every(kind):
            if gateway_of(declared, each) is None:
                _add(found, list(listeners(declared, each)))
    return found


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
