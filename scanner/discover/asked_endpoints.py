"""Which endpoints are asked, and in which order.

Two pods may say that they have one address: a pod that is going away keeps its status for a while, and so does one
whose node is lost. Which of two that stay has the address no object tells, so both are judged by what is seen there.

The platform's listeners come first, then those of one namespace after the other, each up to a limit. Otherwise one
tenant with Services of silent addresses would keep everything behind them from being judged in time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from operator import itemgetter

from scanner.discover.claim_authority import Trust
from scanner.discover.merge import rank
from scanner.discover.truncation import Omission
from scanner.discover.workloads import Workloads
from scanner.model.components import API_SERVICE
from scanner.model.endpoint import Endpoint, owner_order

MAX_CANDIDATES = 20
Where = tuple[object, ...]


class Claimants:
    """Endpoints, by where they are dialled."""

    def __init__(self, workloads: Workloads) -> None:
        self._workloads = workloads
        self._first: dict[Where, Endpoint] = {}
        self._disputed: dict[Where, list[Endpoint]] = {}

    def add(self, endpoint: Endpoint) -> None:
        """One more."""
        where = _where(endpoint)
        first = self._first.setdefault(where, endpoint)
        if first is not endpoint:
            self._disputed.setdefault(where, [first]).append(endpoint)

    def settled(self) -> tuple[list[Endpoint], int]:
        """Those that are asked, in the order of their instances, and how many are not."""
        chosen = [each for where, each in self._first.items() if where not in self._disputed]
        dropped = 0
        for claimants in self._disputed.values():
            kept = _distinct([each for each in claimants if not self._leaves(each)] or claimants)
            dropped += len(claimants) - len(kept)
            chosen += _each_with_the_others(kept)
        return sorted(chosen, key=lambda each: each.instance), dropped

    def _leaves(self, endpoint: Endpoint) -> bool:
        if endpoint.pod is None:
            return False
        pod = self._workloads.named.get((endpoint.pod.namespace or "", endpoint.pod.name))
        return pod is not None and pod.leaves


def _where(endpoint: Endpoint) -> Where:
    """What makes two endpoints one. Loopback is another place on every node and in every pod."""
    return (
        endpoint.address,
        endpoint.host if not endpoint.address else "",
        endpoint.port,
        endpoint.server_name,
        endpoint.transport,
        endpoint.tunnel,
    )


def _distinct(claimants: list[Endpoint]) -> list[Endpoint]:
    """One of each instance, that of which most is said: replicas of one owner are the same listener there."""
    ordered = sorted(claimants, key=lambda each: (rank(each.certainty), each.pod is None, str(each.pod)))
    return list({each.instance: each for each in reversed(ordered)}.values())


def _each_with_the_others(kept: list[Endpoint]) -> Iterable[Endpoint]:
    owners = sorted({each.owner for each in kept}, key=owner_order)
    for each in kept:
        others = [owner for owner in owners if owner != each.owner and owner not in each.candidates]
        yield replace(each, candidates=(*each.candidates, *others)[:MAX_CANDIDATES]) if others else each


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
