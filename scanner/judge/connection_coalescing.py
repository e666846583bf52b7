"""HTTP/2 connections that clients may share between server names (RFC 9113, section 9.1.1).

Collects the server names, ALPN and certificates of the endpoints at one address and port, and compares them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from msgspec import Struct, field

from scanner.judge import remediation
from scanner.judge.verdicts import listed
from scanner.kube.kinds import ROUTE
from scanner.kube.maybe import Unknown
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Expectation
from scanner.model.finding import Finding
from scanner.model.observation import Observation
from scanner.model.rule import ScanRule

_H2: Final = "h2"

_Where: TypeAlias = tuple[str, int]
"""Address and port."""


class _Shown(Struct, frozen=True, kw_only=True):
    """The certificate of one server name."""

    endpoint: str
    name: str | None
    leaf: str
    """SHA-256."""
    covers: tuple[str, ...]
    """DNS names of the certificate, in lower case."""
    reproduce: str
    """Command line of ``adhere scan``."""


class _Place(Struct):
    names: dict[str, bool] = field(default_factory=dict)
    """Server names that objects configure here; True if clients need a certificate."""
    routed: bool = False
    """True if Routes lead here, so that it is OpenShift's router."""
    default: set[str] = field(default_factory=set)
    """SHA-256 of the certificates that are served without a server name."""
    http2: list[_Shown] = field(default_factory=list)
    """Names with HTTP/2."""
    terminated: list[_Shown] = field(default_factory=list)
    """Names with HTTP/2 whose TLS is terminated here, not at a backend."""


class ConnectionCoalescing:
    """The server names of a scan, by address and port."""

    def __init__(self) -> None:
        self._places: dict[_Where, _Place] = {}

    def add(self, endpoint: Endpoint, expectation: Expectation, observation: Observation) -> None:
        """Record the certificate of one endpoint, if it is a frontend."""
        if endpoint.segment != "Frontend" or not endpoint.address:
            return
        place = self._places.setdefault((endpoint.address, endpoint.port), _Place())
        chain, name = observation.chain, endpoint.server_name
        if name is not None:
            place.names[name.lower()] = endpoint.expects == "required"
        place.routed |= endpoint.subject is not None and endpoint.subject.kind == ROUTE.name
        if isinstance(chain, Unknown) or not chain:
            return
        leaf = chain[0]
        if name is None:
            place.default.add(leaf.sha256)
        if observation.alpn == _H2:
            covers = tuple(each.lower() for each in leaf.dns_names or ())
            command = remediation.scan(endpoint)
            shown = _Shown(endpoint=endpoint.id, name=name, leaf=leaf.sha256, covers=covers, reproduce=command)
            place.http2.append(shown)
            if expectation.passed_on is None:  # else the backend negotiated HTTP/2
                place.terminated.append(shown)

    def findings(self) -> tuple[Finding, ...]:
        """One finding for each certificate of a frontend that allows sharing, and one for each default certificate of
        a router that should not."""
        return tuple(COALESCING.check(COALESCING, self._places))


def check_coalescing(rule: ScanRule, places: Mapping[_Where, _Place]) -> Iterator[Finding]:
    """Report the names between which clients may share one HTTP/2 connection."""
    yield from _of_routers(rule, places.values())
    noted: dict[tuple[str, str], tuple[_Shown, dict[str, bool]]] = {}  # replicas have the same endpoint ids
    for place in places.values():
        by_parent = _by_parent(place.names)
        for first, own in _by_leaf(place.http2).values():
            covered = dict.fromkeys(_covered(first.covers, place.names, by_parent))
            others = {name: place.names[name] for name in covered if own != {name}}
            if others:
                noted.setdefault((first.leaf, first.endpoint), (first, {}))[1].update(others)
    for first, others in sorted(noted.values(), key=lambda each: each[0].endpoint):
        yield _noted(rule, first, others)


def _by_leaf(shared: Iterable[_Shown]) -> Mapping[str, tuple[_Shown, set[str]]]:
    """The first endpoint and all server names of each certificate, without endpoints that have no server name."""
    found: dict[str, tuple[_Shown, set[str]]] = {}
    for each in sorted(shared, key=lambda one: one.endpoint):
        if each.name is not None:
            found.setdefault(each.leaf, (each, set()))[1].add(each.name.lower())
    return found


def _by_parent(names: Iterable[str]) -> Mapping[str, list[str]]:
    """The names that a wildcard of one label covers, by its parent domain."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(name.partition(".")[2], []).append(name)
    return found


def _covered(covers: Iterable[str], names: Mapping[str, bool], by_parent: Mapping[str, list[str]]) -> Iterator[str]:
    for each in covers:
        if each.startswith("*."):
            yield from by_parent.get(each[2:], ())
        elif each in names:
            yield each


def _noted(rule: ScanRule, first: _Shown, covered: Mapping[str, bool]) -> Finding:
    others = sorted(name for name in covered if name != (first.name or "").lower())
    guarded = sum(covered.values())
    more = (
        f"; {guarded} of all these names require{'s' if guarded == 1 else ''} a client certificate" if guarded else ""
    )
    return Finding(
        rule=rule.id,
        severity="info",
        verdict="pass",
        status="informational",
        message=f"clients may use an HTTP/2 connection to {first.endpoint} also for {len(others)} other server "
        f"name{'s' if len(others) > 1 else ''} on its port{more}",
        observed=listed(others),
        evidence=(f"certificate {first.leaf}",),
        about=first.endpoint,
    )


def _of_routers(rule: ScanRule, places: Iterable[_Place]) -> Iterator[Finding]:
    wrong: dict[str, _Shown] = {}
    names: dict[str, dict[str, None]] = {}
    for place in places:
        for each in place.terminated if place.routed else ():
            if each.leaf in place.default:
                wrong[each.leaf] = min(each, wrong.get(each.leaf, each), key=lambda one: one.endpoint)
                names.setdefault(each.leaf, {})[each.name or "no server name"] = None
    for leaf, first in sorted(wrong.items(), key=lambda each: each[1].endpoint):
        yield Finding(
            rule=rule.id,
            severity="low",
            verdict="fail",
            status="violation",
            message="the router negotiates HTTP/2 with its default certificate, which several Routes share",
            expected=("http/1.1 or no ALPN with the default certificate",),
            observed=listed(sorted(names[leaf])),
            fix="check whether the router uses a custom configuration template, and remove ALPN h2 from the default "
            "certificate there",
            reproduce=first.reproduce,
            evidence=(f"certificate {leaf}",),
            about=first.endpoint,
        )


COALESCING = ScanRule(id="tls-shared-connections", check=check_coalescing)
