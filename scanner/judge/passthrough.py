"""What is passed through a router or gateway: is it the backend's certificate that its name shows?

Near ends and backends are endpoints of the same scan, each with its own observation; what is kept of one is whom it
said it was. The finding stands on the near end, once the backends have been asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple, TypeAlias

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """One instance of an endpoint that passes connections on."""

    endpoint: str
    instance: str
    where: str
    passed_on: PassedOn
    leaf: str | None
    """SHA-256 of what it showed; None: nothing was seen."""
    unseen: str
    """Why it may show something else as well; empty: it does not."""
    binding: Binding
    reproduce: str
    """The command that shows it again."""


class _Open(NamedTuple):
    """What keeps it from being told."""

    why: str
    fix: str = ""
    """What would settle it; empty: whatever the object's status says."""


_Name: TypeAlias = tuple[str, str | None]
"""An endpoint's id, and the server name that it was asked for."""


@dataclass(slots=True)
class Passages:
    """The leaves that a scan has seen, by endpoint id and server name, and whoever merely passes others' on."""

    _shown: dict[str, dict[str | None, set[str]]] = field(default_factory=dict)
    _unseen: set[_Name] = field(default_factory=set)
    """Where one instance at least showed no certificate."""
    _near: list[Near] = field(default_factory=list)

    def add(self, endpoint: Endpoint, expectation: Expectation, observation: Observation) -> None:
        """Remember what one endpoint showed."""
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
            where = endpoint.instance.removeprefix(f"{endpoint.id} @ ")
            said, leaf = expectation.passed_on, leaves[0] if leaves else None
            self._near.append(
                Near(
                    endpoint=endpoint.id,
                    instance=endpoint.instance,
                    where=where,
                    passed_on=said,
                    leaf=leaf,
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
        """One for each instance, by its name, that shows another certificate than its backends, or is unknown."""
        for near in self._near:
            for found in PASSAGE.check(PASSAGE, near, self):
                yield near.instance, found

    def shows(self, near: Near) -> bool:
        """Whether one of the backends has shown what ``near`` shows, under whatever name."""
        return any(near.leaf in leaves for each in _behind(near) for leaves in self._shown.get(each, {}).values())

    def open(self, near: Near) -> _Open | None:
        """Why the backends do not decide what ``near`` has to show; None: they do."""
        ids, name = _behind(near), near.passed_on.name
        if near.leaf is None:
            return _Open("the name showed no certificate", "see why it shows no certificate")
        if not ids:
            return _Open("none of its backends is a known listener")
        if unasked := [each for each in ids if each not in self._shown]:
            return _left_out(near, unasked)
        if unseen := [each for each in ids if (each, name) in self._unseen]:
            why = f"not all of its backends showed a certificate ({_first(unseen)})"
            return _Open(why, f"see why {unseen[0]} shows no certificate")
        named = all(name in self._shown[each] for each in ids)
        return None if named else _Open("its backends were asked under other names than this one")

    def who_shows(self, leaf: str, beside: Near) -> Iterator[str]:
        """Ids of other endpoints that have shown ``leaf``."""
        passing = {beside.endpoint, *(each.endpoint for each in self._near)}
        for each, names in self._shown.items():
            if each not in passing and any(leaf in leaves for leaves in names.values()):
                yield each


def _behind(near: Near) -> list[str]:
    return [f"{_cluster(near)}{each}" for each in near.passed_on.backends]


def _cluster(near: Near) -> str:
    """With whose name ids begin where there are several."""
    return near.endpoint.removesuffix(near.passed_on.here)


def _left_out(near: Near, ids: list[str]) -> _Open:
    """Whoever chooses what is scanned may not know that one listener decides about another."""
    selector = f"--include endpoint={ids[0].removeprefix(_cluster(near))}"
    return _Open(
        f"not all of its backends were asked in this scan ({_first(ids)})",
        f"scan it together with its backends ({selector} beside what else is included): "
        "they were left out, or the scan ended before it came to them",
    )


def _first(ids: list[str]) -> str:
    return f"{ids[0]} and {len(ids) - 1} more" if len(ids) > 1 else ids[0]


def check_passage(rule: ScanRule, near: Near, passages: Passages) -> Iterator[Finding]:
    """What is passed through shows the certificate of its backend, and not the router's or the gateway's own."""
    if near.leaf is None or not passages.shows(near):
        yield _told(rule, near, passages, passages.open(near))
    elif near.unseen:
        yield _told(rule, near, passages, _Open(near.unseen, "see why its handshake is not completed"))


def _told(rule: ScanRule, near: Near, passages: Passages, unknown: _Open | None) -> Finding:
    source, backends = near.passed_on.source, near.passed_on.backends
    status = f"see the status of {source.partition(' ')[0]}"
    others = tuple(islice(passages.who_shows(near.leaf, near), _NAMED)) if near.leaf else ()
    return Finding(
        rule=rule.id,
        severity=rule.severity if unknown is None else "info",
        verdict="fail" if unknown is None else "inconclusive",
        # An object asks for it, so it is a violation also of what no profile binds.
        status="not-tested" if unknown else "converging" if near.binding == "settling" else "violation",
        message=f"{near.where} shows another certificate than the backends that {source} passes it through to"
        if unknown is None
        else f"whether {near.where} shows the certificate of its backends could not be determined: {unknown.why}",
        expected=tuple(f"a certificate that {each} shows" for each in backends[:_NAMED]),
        observed=(f"certificate {near.leaf}",) if near.leaf else (),
        fix=f"find what terminates this name instead, and {status}" if unknown is None else unknown.fix or status,
        reproduce=near.reproduce,
        evidence=listed(f"the same certificate is shown by {each}" for each in others),
        about=near.endpoint,
    )


PASSAGE = ScanRule(id="passthrough-backend", check=check_passage)
