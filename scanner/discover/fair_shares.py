"""Shares of a scan: the platform's listeners first, then those of one namespace after the other, each up to a limit.

Otherwise one tenant with Services of silent addresses would keep everything behind them from being judged in time.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter

from scanner.discover.draft import Omission
from scanner.discover.merge import rank
from scanner.discover.trust import Trust
from scanner.model.components import API_SERVICE
from scanner.model.endpoint import Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Endpoints with their turns."""

    kept: list[Endpoint]
    """In the order of their instances."""
    turns: list[int]
    """Of each of these. All of one turn come before the next; 0 is the platform's."""
    cut: list[tuple[Endpoint, Omission]]
    """Those beyond the limit of their namespace."""


def shares(endpoints: list[Endpoint], trust: Trust, most: int) -> Shares:
    """Divide ``endpoints``, which are in the order of their instances. Of one namespace at most ``most`` are kept, and
    declared ones before those that are merely possible. The platform has no limit: only administrators write it."""
    users: dict[str, list[tuple[int, int]]] = {}
    turns = [0] * len(endpoints)
    for place, each in enumerate(endpoints):
        namespace = payer(each)
        if namespace is not None and not trust.is_platform(namespace):
            users.setdefault(namespace, []).append((rank(each.certainty), place))
    beyond: dict[int, str] = {}
    for namespace, mine in users.items():
        mine.sort(key=itemgetter(0))
        for turn, (_, place) in enumerate(mine, start=1):
            turns[place] = turn
            if turn > most:
                beyond[place] = namespace
    if not beyond:
        return Shares(kept=endpoints, turns=turns, cut=[])
    return Shares(
        kept=[each for place, each in enumerate(endpoints) if place not in beyond],
        turns=[turn for place, turn in enumerate(turns) if place not in beyond],
        cut=[(endpoints[place], _omission(namespace, most)) for place, namespace in beyond.items()],
    )


def _omission(namespace: str, most: int) -> Omission:
    reason = f"listeners of the namespace {namespace} beyond the first {most:,} (scope.endpointsPerNamespace)"
    return Omission(reason, cut=True)


def payer(endpoint: Endpoint) -> str | None:
    """The namespace whose share ``endpoint`` takes; None for nodes and the API server. A name on the router takes that
    of its Route, not the router's; one of which only others say that it is there takes that of the first of them."""
    owner, subject = endpoint.owner, endpoint.subject
    if subject is not None and subject.namespace:
        return subject.namespace
    if owner.kind == "Service" and (owner.namespace, owner.name) == API_SERVICE:
        return None
    if endpoint.origins and all(each.foreign for each in endpoint.origins):
        named = endpoint.origins[0].reference
        return named.namespace if named else owner.namespace
    return owner.namespace
