"""Listeners that share a port: those that conflict (Gateway API apis/v1 ``GatewaySpec.listeners``), and those with
overlapping names, over which a client can reuse a connection (GEP-3567)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, groupby
from typing import Final

from msgspec import Struct, field

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
from scanner.kube.hostnames import overlap, within
from scanner.kube.kinds import ENVOY_PROXY, GATEWAY, GATEWAY_CLASS, NAMESPACE, Kind
from scanner.kube.meta import of_type
from scanner.kube.objects import KubeObject
from scanner.lint.gateway.listener_certificates import secrets_of
from scanner.lint.gateway.listeners import all_listeners, listeners
from scanner.lint.referenced_certificates import leaf_of
from scanner.lint.references import READS as SECRETS
from scanner.model.declared import Declared, Missing
from scanner.model.finding import Severity
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided
from scanner.tls.certificate import CertificateFacts

READS: Final[tuple[Kind, ...]] = (*HOLDERS, NAMESPACE, GATEWAY_CLASS, ENVOY_PROXY)
_MOST: Final = 256
"""Listeners of one Gateway that are compared with each other, each with each."""


class _Sharing(Struct):
    ports: list[list[Listener]] = field(default_factory=list)
    """The listeners of each port with several, in their order of precedence."""
    pairs: dict[HolderKey, list[tuple[Listener, Listener]]] = field(default_factory=dict)
    """By the holder of one or both."""
    beyond: set[HolderKey] = field(default_factory=set)
    """Holders of listeners that are too many to be compared."""


def pairs_of(subject: Subject) -> list[tuple[Listener, Listener]]:
    """Pairs of listeners on the same port, at least one of them the subject's; the one with precedence first."""
    return subject.declared.once(_sharing).pairs.get(key_of(subject.object), [])


def uncompared(subject: Subject) -> Iterator[Flaw]:
    """Report a Gateway with too many listeners to compare them all."""
    if key_of(subject.object) in subject.declared.once(_sharing).beyond:
        message = f"unknown: its Gateway has more than {_MOST} listeners; later ones were not compared"
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
    """Gateways whose listeners are merged, the oldest first: with Envoy Gateway's ``mergeGateways``, all of a class."""
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


_BY_NAME = frozenset({"HTTP", "HTTPS", "TLS"})
"""Protocols whose listeners can share a port, distinguished by hostname."""


class _Conflict(Struct, frozen=True):
    message: str
    field: str
    optional: bool = False
    """True if an implementation may accept both."""


class _Lost(Struct, frozen=True):
    """A listener that is not accepted."""

    listener: Listener
    first: Listener
    conflict: _Conflict


_SAME = _Conflict("Combination of port, protocol and hostname must be unique for each listener", "hostname")
_NAMED_TWICE = _Conflict("HTTPS and TLS on one port under the same hostname", "hostname")
_TWO_MODES = _Conflict(
    "Passthrough and Terminate listeners on one port: some implementations reject both", "tls", optional=True
)
_TWO_PROTOCOLS = _Conflict(
    "HTTPS and TLS listeners on one port: some implementations reject both", "protocol", optional=True
)
_CLEAR = _Conflict("plaintext and TLS on one port: ProtocolConflict", "protocol")
_TCP = _Conflict("a TCP listener cannot share its port: ProtocolConflict", "port")


_MODES: Final = frozenset({"Passthrough", "Terminate"})


def check_conflict(subject: Subject) -> Iterator[Flaw]:
    """Listeners on one port are distinct."""
    for each in subject.declared.once(_lost).get(key_of(subject.object), ()):
        yield Flaw(
            message=f"conflict with {each.first}: {each.conflict.message}",
            at=(*each.listener.steps, each.conflict.field),
            observed=(each.listener.protocol, each.listener.hostname or "every name"),
            fix=f"{subject.object.reference}: set another port or hostname for listener '{each.listener.name}'",
        )
    reported: set[tuple[int | None, str]] = set()  # once for each port
    for first, later in pairs_of(subject):
        found = _conflict(first, later) if later.holder.raw is subject.object.raw else None
        if found is not None and found.optional and (later.port, found.message) not in reported:
            reported.add((later.port, found.message))
            yield Flaw(
                message=f"conflict with {first}: {found.message}",
                at=(*later.steps, found.field),
                severity="info",
                fix=f"{subject.object.reference}: check that the implementation supports this, or use another port",
            )
    yield from uncompared(subject)


def _lost(declared: Declared) -> Mapping[HolderKey, list[_Lost]]:
    """The listeners of each holder that conflict with one that has precedence, or with an earlier one of the holder.

    A listener that conflicts with another object's is out: it must not reject the next.
    """
    found: dict[HolderKey, list[_Lost]] = {}
    for together in declared.once(_sharing).ports:
        before: list[Listener] = []
        for holder, group in groupby(together, lambda each: key_of(each.holder)):
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


def _conflict(first: Listener, later: Listener) -> _Conflict | None:
    """The conflict between two listeners. ``tls`` never makes listeners distinct."""
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


CONFLICT = ObjectRule(id="gateway-listener-conflict", subjects=HOLDERS, check=check_conflict, reads=READS)


_CONDITION: Final = "OverlappingTLSConfig"


def check_overlap(subject: Subject) -> Iterator[Flaw]:
    """Listeners with TLS on one port share no names."""
    overlapping: set[str] = set()
    for first, later in pairs_of(subject):
        if _overlap(first, later):
            overlapping |= {first.name, later.name}
            if later.holder.raw is subject.object.raw:
                yield Flaw(
                    message=f"its hostname overlaps with that of {first}: {_CONDITION}",
                    at=(*later.steps, "hostname"),
                    severity=_severity(first, later),
                    observed=(later.hostname or "every name", first.hostname or "every name"),
                    evidence=_status(later),
                    fix=f"{subject.object.reference}: set a hostname for listener '{later.name}' that listener "
                    f"{first.name} does not match",
                )
            continue
        for listener, beside in ((first, later), (later, first)):
            if listener.holder.raw is subject.object.raw and listener.terminates and beside.terminates:
                flaws = list(_certificates(subject, listener, beside))
                overlapping |= {first.name, later.name} if flaws else set()
                yield from flaws
    # The controller may know more: another Gateway, or a certificate.
    for listener in listeners(subject.declared, subject.object):
        if listener.name not in overlapping and _is_reported(listener):
            yield Flaw(
                message=f"its status says {_CONDITION}: the controller found another listener with the same names",
                at=listener.steps,
                fix=f"{subject.object.reference}: read the condition's message, which names the other listener",
            )
    yield from uncompared(subject)


def _status(listener: Listener) -> tuple[str, ...]:
    """The controller must set the condition on every listener that overlaps."""
    if not listener.conditions:
        return ()
    return (f"its status {'says' if _is_reported(listener) else 'lacks the required condition'} {_CONDITION}",)


def _is_reported(listener: Listener) -> bool:
    found = of_type(listener.conditions, _CONDITION)
    return found is not None and found.holds


def _overlap(first: Listener, later: Listener) -> bool:
    if not (first.terminates and later.terminates) or first.hostname == later.hostname:  # equal names are a conflict
        return False
    return overlap(first.hostname, later.hostname)


def _severity(first: Listener, later: Listener) -> Severity | None:
    """Medium if the listeners have different TLS settings: all but these two fields are settings of the port."""
    one, other = ((each.tls.options, each.tls.former_validation or None) for each in (first, later))
    return "medium" if one != other else None


def _certificates(subject: Subject, listener: Listener, beside: Listener) -> Iterator[Flaw]:
    others = [secret for _, secret in secrets_of(subject.declared, beside)]
    leaves = [leaf_of(secret) for secret in others if not isinstance(secret, Missing)]
    for steps, secret in secrets_of(subject.declared, listener) if beside.hostname and others else ():
        if secret in others:
            continue
        if isinstance(secret, Missing):
            if secret.gap:
                yield undecided(secret, steps, f"whether its certificate is valid for {beside.hostname} too")
            continue  # gateway-certificate-ref reports a missing Secret
        leaf = leaf_of(secret)
        if leaf is not None and leaf not in leaves and _is_for(leaf, beside.hostname):
            yield Flaw(
                message=(
                    f"the certificate in {secret.reference} is valid for {beside.hostname} too, the hostname of "
                    f"{beside}: {_CONDITION}"
                ),
                at=steps,
                severity=_severity(listener, beside),
                fix=f"{subject.object.reference}: use a certificate for {listener.hostname or 'its own names'} only",
            )


def _is_for(leaf: CertificateFacts, hostname: str) -> bool:
    """True if the certificate has a name that the hostname includes. A wildcard of a certificate matches one label, one
    of a hostname any number."""
    names = set(map(str.lower, leaf.dns_names or ()))
    if hostname.startswith("*."):
        return any(within(name, hostname) for name in names)
    return hostname in names or f"*.{hostname.partition('.')[2]}" in names


OVERLAP = ObjectRule(
    id="gateway-overlapping-tls-config",
    subjects=HOLDERS,
    check=check_overlap,
    reads=(*READS, *SECRETS),
)
