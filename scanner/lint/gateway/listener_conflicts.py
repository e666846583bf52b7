"""Listeners that share a port: which exclude each other (Gateway API apis/v1 ``GatewaySpec.listeners``)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from scanner.lint.gateway.listeners import HOLDERS, Listener
from scanner.lint.gateway.sharing import READS as SHARING
from scanner.lint.gateway.sharing import pairs_of, uncompared
from scanner.model.finding import Severity
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_BY_NAME = frozenset({"HTTP", "HTTPS", "TLS"})
"""Protocols of which several listeners share a port, told apart by hostname."""


def check_conflict(subject: Subject) -> Iterator[Flaw]:
    """Listeners on one port can be told apart.

    ## What it requires

    No two listeners of a Gateway and its ListenerSets have the same port, protocol and hostname. A `TCP` listener
    shares its port with `UDP` at most, and `HTTP` with neither `HTTPS` nor `TLS`. Of `TLS` listeners on one port either
    all have the mode `Terminate` or all `Passthrough`; `HTTPS` beside them has other hostnames.

    ## Why

    `tls` tells no listeners apart. Within one Gateway the API has all that conflict rejected, and Contour takes the
    first; of a Gateway and its ListenerSets the first wins. So which certificate is served depends on the
    implementation, or nothing listens at all. Both modes on one port need the feature `TLSRouteModeMixed`; without it
    both listeners get `ProtocolConflict`.

    ## What fails

    Listeners that conflict: medium. `HTTPS` and `TLS` on one port under different hostnames, which the API leaves to
    the implementation: low. The finding is at the later one, and names the first.

    ## What is inconclusive

    More than 256 listeners of one Gateway: later ones are not compared. A ListenerSet that is not there to be seen is
    judged where it is linted.

    ## Example that fails

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - {name: web, port: 443, protocol: TLS, tls: {mode: Passthrough}}
      - {name: raw, port: 443, protocol: TCP}
    ```

    ## Example that passes

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - {name: web, port: 443, protocol: TLS, tls: {mode: Passthrough}}
      - {name: raw, port: 5432, protocol: TCP}
    ```

    ## How to fix

    Give one of them another port, or another hostname where the protocol is the same.
    """
    for first, later in pairs_of(subject):
        found = _conflict(first, later) if later.holder is subject.object else None
        if found is not None:
            yield Flaw(
                message=f"{found.message}, with {first}",
                at=(*later.steps, found.field),
                severity=found.severity,
                observed=(later.protocol, later.hostname or "every name"),
                fix=f"{subject.object.reference}: another port or hostname for listener {later.name}",
            )
    yield from uncompared(subject)


@dataclass(frozen=True, slots=True)
class _Conflict:
    message: str
    field: str
    severity: Severity | None = None


_SAME = _Conflict("Combination of port, protocol and hostname must be unique for each listener", "hostname")
_NAMED_TWICE = _Conflict("HTTPS and TLS on one port under the same hostname", "hostname")
_TWO_MODES = _Conflict("Passthrough and Terminate on one port: not every implementation takes both", "tls")
_TWO_PROTOCOLS = _Conflict("HTTPS and TLS on one port: not every implementation takes both", "protocol", "low")
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


CONFLICT = ObjectRule(
    id="gateway-listener-conflict",
    title="Listeners on one port can be told apart",
    severity="medium",
    subjects=HOLDERS,
    check=check_conflict,
    reads=SHARING,
    references=(
        "Gateway API apis/v1/gateway_types.go (Listeners, distinct listeners)",
        "GEP-1713, ListenerSets: listener precedence",
    ),
)
