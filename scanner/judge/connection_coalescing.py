"""Connections that HTTP/2 clients may share between names (RFC 9113, section 9.1.1).

The names of a place, who of them speaks HTTP/2, and with which certificate: each endpoint says it of itself, and only
together does it matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """What one name shows."""

    endpoint: str
    name: str | None
    leaf: str
    """SHA-256."""
    covers: tuple[str, ...]
    """DNS names of the certificate, in lower case."""
    reproduce: str
    """The command that shows it again."""


@dataclass(slots=True)
class _Place:
    names: dict[str, bool] = field(default_factory=dict)
    """Those that objects give to it, and whether their clients need a certificate."""
    routed: bool = False
    """Whether Routes lead here: it is OpenShift's router."""
    default: set[str] = field(default_factory=set)
    """SHA-256 of what is shown to whoever gives no name."""
    shared: list[_Shown] = field(default_factory=list)
    """Those who speak HTTP/2."""
    agreed: list[_Shown] = field(default_factory=list)
    """Those of them who end TLS here."""


class Sharing:
    """The names of a scan's places."""

    def __init__(self) -> None:
        self._places: dict[_Where, _Place] = {}

    def add(self, endpoint: Endpoint, expectation: Expectation, observation: Observation) -> None:
        """Remember what one endpoint showed, if objects give names to its place."""
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
            again = remediation.scan(endpoint)
            shown = _Shown(endpoint=endpoint.id, name=name, leaf=leaf.sha256, covers=covers, reproduce=again)
            place.shared.append(shown)
            if expectation.passed_on is None:  # else the backend has agreed, whoever's certificate it has
                place.agreed.append(shown)

    def findings(self) -> tuple[Finding, ...]:
        """One for each certificate with which clients may share, and one for each default certificate of a router with
        which they should not."""
        return tuple(SHARING.check(SHARING, self._places))


def check_sharing(rule: ScanRule, places: Mapping[_Where, _Place]) -> Iterator[Finding]:
    """Whether clients may share one HTTP/2 connection between several names of a port."""
    yield from _of_routers(rule, places.values())
    noted: dict[str, tuple[_Shown, dict[str, bool]]] = {}
    for place in places.values():
        by_parent = _by_parent(place.names)
        for first, own in _by_leaf(place.shared).values():
            covered = dict.fromkeys(_covered(first.covers, place.names, by_parent))
            others = {name: place.names[name] for name in covered if own != {name}}
            if others:
                noted.setdefault(first.leaf, (first, {}))[1].update(others)
    for first, others in sorted(noted.values(), key=lambda each: each[0].endpoint):
        yield _noted(rule, first, others)


def _by_leaf(shared: Iterable[_Shown]) -> Mapping[str, tuple[_Shown, set[str]]]:
    """Who shows each certificate first, and under which names it is shown. Whoever gave no name has nothing to share
    it with."""
    found: dict[str, tuple[_Shown, set[str]]] = {}
    for each in shared:
        if each.name is not None:
            found.setdefault(each.leaf, (each, set()))[1].add(each.name.lower())
    return found


def _by_parent(names: Iterable[str]) -> Mapping[str, list[str]]:
    """What a wildcard of one label covers, by what stands behind the wildcard."""
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
    let = "lets" if guarded == 1 else "let"
    more = f"; of all these names, {guarded} {let} in only clients with a certificate" if guarded else ""
    return Finding(
        rule=rule.id,
        severity="info",
        verdict="pass",
        status="informational",
        message=f"clients may share an HTTP/2 connection with {first.endpoint} for {len(others)} other "
        f"name{'s' if len(others) > 1 else ''} of its port{more}",
        observed=listed(others),
        evidence=(f"certificate {first.leaf}",),
        about=first.endpoint,
    )


def _of_routers(rule: ScanRule, places: Iterable[_Place]) -> Iterator[Finding]:
    wrong: dict[str, _Shown] = {}
    names: dict[str, dict[str, None]] = {}
    for place in places:
        for each in place.agreed if place.routed else ():
            if each.leaf in place.default:
                wrong.setdefault(each.leaf, each)
                names.setdefault(each.leaf, {})[each.name or "no server name"] = None
    for leaf, first in sorted(wrong.items(), key=lambda each: each[1].endpoint):
        yield Finding(
            rule=rule.id,
            severity="low",
            verdict="fail",
            status="violation",
            message="the router agrees upon HTTP/2 with its default certificate, which all Routes without one share",
            expected=("http/1.1, or no ALPN, with the default certificate",),
            observed=listed(sorted(names[leaf])),
            fix="see whether the router has a configuration template of its own, and leave ALPN out for the default "
            "certificate",
            reproduce=first.reproduce,
            evidence=(f"certificate {leaf}",),
            about=first.endpoint,
        )


SHARING = ScanRule(id="tls-shared-connections", check=check_sharing)
