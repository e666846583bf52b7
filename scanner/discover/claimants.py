"""Of several endpoints that are at one place, those that are asked.

Two pods may say that they have one address: a pod that is going away keeps its status for a while, and so does one
whose node is lost. Which of two that stay has the address no object tells, so both are judged by what is seen there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from scanner.discover.merge import rank
from scanner.discover.workloads import Workloads
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
