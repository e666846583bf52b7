"""TLS passthrough by a router or gateway: the server name must show the certificate of one of its backends.

Passthrough endpoints and backends are endpoints of the same scan. Their leaves are recorded, and compared after the
scan; the finding is about the passthrough endpoint.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple, TypeAlias

from msgspec import Struct, field

from scanner.judge import remediation
from scanner.judge.verdicts import listed
from scanner.kube.maybe import Unknown
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Binding, Expectation, PassedOn
from scanner.model.finding import Finding
from scanner.model.observation import Observation
from scanner.model.rule import ScanRule

_NAMED = 5
"""Endpoints that a finding names."""


class PassthroughEndpoint(Struct, frozen=True, kw_only=True):
    """One instance of an endpoint that passes TLS through."""

    endpoint: str
    instance: str
    where: str
    passed_on: PassedOn
    leaf: str | None
    """SHA-256 of its certificate; None if none was seen."""
    unseen: str
    """Reason why it may show another certificate too; empty if it does not."""
    binding: Binding
    reproduce: str
    """Command line of ``adhere scan``."""


class _Undecided(NamedTuple):
    """The reason why the comparison is inconclusive."""

    why: str
    fix: str = ""
    """Next step; empty for "see the object's status"."""


_Name: TypeAlias = tuple[str, str | None]
"""An endpoint's id and the requested server name."""


class PassthroughBackends(Struct):
    """The leaves of a scan by endpoint id and server name, and the endpoints that pass TLS through."""

    _shown: dict[str, dict[str | None, set[str]]] = field(default_factory=dict)
    _unseen: set[_Name] = field(default_factory=set)
    """Names for which at least one instance showed no certificate."""
    _passing: list[PassthroughEndpoint] = field(default_factory=list)

    def add(self, endpoint: Endpoint, expectation: Expectation, observation: Observation) -> None:
        """Record the leaves of one endpoint."""
        first = observation.chain
        unseen = first.reason if isinstance(first, Unknown) else ""
        chains = (() if isinstance(first, Unknown) else first, *observation.other_chains)
        leaves = [each[0].sha256 for each in chains if each]
        self._note(endpoint.id, endpoint.server_name, leaves)
        if unseen:
            self._unseen.add((endpoint.id, endpoint.server_name))
        for each in observation.strays:
            self._note(endpoint.id, each.name, [each.leaf.sha256] if each.leaf else [])
        asked = {each.name for each in observation.strays}
        missed = (each.name for each in expectation.other_names if each.owed == "compared")
        self._unseen.update((endpoint.id, name) for name in missed if name not in asked)
        if expectation.passed_on is not None:
            self._passing.append(
                PassthroughEndpoint(
                    endpoint=endpoint.id,
                    instance=endpoint.instance,
                    where=endpoint.instance.removeprefix(f"{endpoint.id} @ "),
                    passed_on=expectation.passed_on,
                    leaf=leaves[0] if leaves else None,
                    unseen=unseen,
                    binding=expectation.binding,
                    reproduce=remediation.scan(endpoint),
                )
            )

    def _note(self, endpoint: str, name: str | None, leaves: list[str]) -> None:
        self._shown.setdefault(endpoint, {}).setdefault(name, set()).update(leaves)
        if not leaves:
            self._unseen.add((endpoint, name))

    def findings(self) -> Iterator[tuple[str, Finding]]:
        """Each finding with its instance: the certificate is not one of the backends', or that is unknown."""
        for passing in self._passing:
            for found in PASSTHROUGH.check(PASSTHROUGH, passing, self):
                yield passing.instance, found

    def shows(self, passing: PassthroughEndpoint) -> bool:
        """True if a backend showed the certificate of ``passing``, under any server name."""
        return any(passing.leaf in leaves for each in _behind(passing) for leaves in self._shown.get(each, {}).values())

    def undecided(self, passing: PassthroughEndpoint) -> _Undecided | None:
        """The reason why another certificate than the backends' proves nothing; None if it proves a violation."""
        ids, name = _behind(passing), passing.passed_on.name
        if passing.leaf is None:
            return _Undecided("the server name showed no certificate", "find out why it shows no certificate")
        if not ids:
            return _Undecided("none of its backends is a known listener")
        if unscanned := [each for each in ids if each not in self._shown]:
            return _left_out(passing, unscanned)
        if unseen := [each for each in ids if (each, name) in self._unseen]:
            why = f"not all of its backends showed a certificate ({_first(unseen)})"
            return _Undecided(why, f"find out why {unseen[0]} shows no certificate")
        named = all(name in self._shown[each] for each in ids)
        return None if named else _Undecided("its backends were scanned with other server names")

    def others_with(self, leaf: str | None) -> Iterator[str]:
        """Ids of endpoints that showed ``leaf`` and pass nothing through."""
        passing = {each.endpoint for each in self._passing}
        for each, names in sorted(self._shown.items()):
            if each not in passing and any(leaf in leaves for leaves in names.values()):
                yield each


def _behind(passing: PassthroughEndpoint) -> list[str]:
    return [f"{_cluster(passing)}{each}" for each in passing.passed_on.backends]


def _cluster(passing: PassthroughEndpoint) -> str:
    """The cluster's name, with which ids begin in a scan of several clusters."""
    return passing.endpoint.removesuffix(passing.passed_on.here)


def _left_out(passing: PassthroughEndpoint, ids: list[str]) -> _Undecided:
    selector = f"--include endpoint={ids[0].removeprefix(_cluster(passing))}"
    return _Undecided(
        f"not all of its backends were scanned ({_first(ids)})",
        f"scan its backends in the same scan (add {selector}): they were excluded, or the scan ended early",
    )


def _first(ids: list[str]) -> str:
    return f"{ids[0]} and {len(ids) - 1} more" if len(ids) > 1 else ids[0]


def check_passthrough(rule: ScanRule, passing: PassthroughEndpoint, backends: PassthroughBackends) -> Iterator[Finding]:
    """A passthrough endpoint shows the certificate of its backend, not one of the router or gateway."""
    if not backends.shows(passing):
        yield _finding(rule, passing, backends, backends.undecided(passing))
    elif passing.unseen:
        unknown = _Undecided(passing.unseen, "find out why its handshake is not completed")
        yield _finding(rule, passing, backends, unknown)


def _finding(
    rule: ScanRule, passing: PassthroughEndpoint, seen: PassthroughBackends, unknown: _Undecided | None
) -> Finding:
    source, backends = passing.passed_on.source, passing.passed_on.backends
    status = f"check the status of {source.partition(' ')[0]}"
    others = islice(seen.others_with(passing.leaf), _NAMED)
    return Finding(
        rule=rule.id,
        severity=rule.severity if unknown is None else "info",
        verdict="fail" if unknown is None else "inconclusive",
        # An object declares the passthrough, so it is a violation even if no profile is enforced.
        status="not-tested" if unknown else "converging" if passing.binding == "settling" else "violation",
        message=f"{passing.where} shows another certificate than its passthrough backends ({source})"
        if unknown is None
        else f"whether {passing.where} shows the certificate of its backends could not be determined: {unknown.why}",
        expected=tuple(f"a certificate that {each} shows" for each in backends[:_NAMED]),
        observed=(f"certificate {passing.leaf}",) if passing.leaf else (),
        fix=f"find the listener that terminates TLS for this name, and {status}"
        if unknown is None
        else unknown.fix or status,
        reproduce=passing.reproduce,
        evidence=listed(f"the same certificate is shown by {each}" for each in others),
        about=passing.endpoint,
    )


PASSTHROUGH = ScanRule(id="passthrough-backend", check=check_passthrough)
