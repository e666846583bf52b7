"""Listeners that share a port: which exclude each other (Gateway API apis/v1 ``GatewaySpec.listeners``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from scanner.kube.gateway import HOLDERS, HolderKey, Listener, key_of
from scanner.lint.gateway.sharing import READS as SHARING
from scanner.lint.gateway.sharing import pairs_of, ports, uncompared
from scanner.model.declared import Declared
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_BY_NAME = frozenset({"HTTP", "HTTPS", "TLS"})
"""Protocols of which several listeners share a port, told apart by hostname."""


def check_conflict(subject: Subject) -> Iterator[Flaw]:
    """Listeners on one port can be told apart."""
    for each in subject.declared.once(_lost).get(key_of(subject.object), ()):
        yield Flaw(
            message=f"{each.conflict.message}, with {each.first}",
            at=(*each.listener.steps, each.conflict.field),
            observed=(each.listener.protocol, each.listener.hostname or "every name"),
            fix=f"{subject.object.reference}: set another port or hostname for listener {each.listener.name}",
        )
    yield from _optional(subject)
    yield from uncompared(subject)


def _optional(subject: Subject) -> Iterator[Flaw]:
    """What the API leaves to the implementation, once for each port."""
    told: set[tuple[int | None, str]] = set()
    for first, later in pairs_of(subject):
        found = _conflict(first, later) if later.holder.raw is subject.object.raw else None
        if found is not None and found.optional and (later.port, found.message) not in told:
            told.add((later.port, found.message))
            yield Flaw(
                message=f"{found.message}, with {first}",
                at=(*later.steps, found.field),
                severity="info",
                fix=f"{subject.object.reference}: check that the implementation supports this, or use another port",
            )


@dataclass(frozen=True, slots=True)
class _Conflict:
    message: str
    field: str
    optional: bool = False
    """Whether an implementation may accept both."""


@dataclass(frozen=True, slots=True)
class _Lost:
    """A listener that is not accepted."""

    listener: Listener
    first: Listener
    conflict: _Conflict


def _lost(declared: Declared) -> Mapping[HolderKey, list[_Lost]]:
    """By holder, its listeners that conflict with one that has precedence, or with an earlier one of the same object.

    One that lost to another object takes no part any more: it must not reject the next.
    """
    found: dict[HolderKey, list[_Lost]] = {}
    for listeners in ports(declared):
        before: list[Listener] = []
        for holder, group in groupby(listeners, lambda each: key_of(each.holder)):
            own = list(group)
            lost = {later.key: each for later in own if (each := _against(before, later))}
            left = [each for each in own if each.key not in lost]
            among = [each for index, later in enumerate(left) if (each := _against(left[:index], later))]
            found.setdefault(holder, []).extend((*lost.values(), *among))
            later = {each.listener.key for each in among}
            before += [each for each in left if each.key not in later]
    return found


def _against(before: list[Listener], later: Listener) -> _Lost | None:
    for first in before:
        found = _conflict(first, later)
        if found is not None and not found.optional:
            return _Lost(later, first, found)
    return None


_SAME = _Conflict("Combination of port, protocol and hostname must be unique for each listener", "hostname")
_NAMED_TWICE = _Conflict("HTTPS and TLS on one port under the same hostname", "hostname")
_TWO_MODES = _Conflict(
    "Passthrough and Terminate listeners on one port: some implementations reject both", "tls", optional=True
)
_TWO_PROTOCOLS = _Conflict(
    "HTTPS and TLS listeners on one port: some implementations reject both", "protocol", optional=True
)
_CLEAR = _Conflict("plaintext and TLS on one port: ProtocolConflict", "protocol")
_TCP = _Conflict("a TCP listener shares its port with no other: ProtocolConflict", "port")


_MODES: Final = frozenset({"Passthrough", "Terminate"})


def _conflict(first: Listener, later: Listener) -> _Conflict | None:
    """Why the two are not both accepted. ``tls`` never makes listeners distinct."""
    protocols = {first.protocol, later.protocol}
    named = protocols <= _BY_NAME
    if len(protocols) == 1:
        if not named:
            return _SAME if protocols <= {"TCP", "UDP"} else None
        same = first.hostname == later.hostname
        return _SAME if same else _TWO_MODES if {first.mode, later.mode} == _MODES else None
    if "TCP" in protocols and protocols & _BY_NAME:
        return _TCP
    if not named:
        return None
    if "HTTP" in protocols:
        return _CLEAR
    return _NAMED_TWICE if first.hostname == later.hostname else _TWO_PROTOCOLS


CONFLICT = ObjectRule(id="gateway-listener-conflict", subjects=HOLDERS, check=check_conflict, reads=SHARING)
