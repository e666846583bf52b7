"""Select the endpoints to probe, and their order.

Two pods may have the same address in their status: a terminating pod keeps its status for a while, and so does a pod on
a lost node. If two remaining pods have it, no object says which is right, so both are judged by the same observation.

The platform's listeners come first, then those of all namespaces in turn, each up to a limit. Otherwise one tenant with
Services of silent addresses would delay all others.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter

from msgspec import Struct

from scanner.discover.listener_claims import ClaimAuthority
from scanner.discover.merged_claims import rank
from scanner.discover.workloads import Workloads
from scanner.model.components import API_SERVICE
from scanner.model.endpoint import Endpoint, owner_order
from scanner.values import replace

MAX_CANDIDATES = 20
Where = tuple[object, ...]


class AddressConflicts:
    """Endpoints by the address that is dialled; resolves conflicts of several endpoints at one."""

    def __init__(self, workloads: Workloads) -> None:
        self._workloads = workloads
        self._first: dict[Where, Endpoint] = {}
        self._disputed: dict[Where, list[Endpoint]] = {}

    def add(self, endpoint: Endpoint) -> None:
        where = _where(endpoint)
        first = self._first.setdefault(where, endpoint)
        if first is not endpoint:
            self._disputed.setdefault(where, [first]).append(endpoint)

    def resolved(self) -> tuple[list[Endpoint], int]:
        """The endpoints to probe, sorted by instance, and the number of dropped ones."""
        chosen = [each for where, each in self._first.items() if where not in self._disputed]
        dropped = 0
        for conflicts in self._disputed.values():
            kept = _distinct([each for each in conflicts if not self._leaves(each)] or conflicts)
            dropped += len(conflicts) - len(kept)
            chosen += _each_with_the_others(kept)
        return sorted(chosen, key=lambda each: each.instance), dropped

    def _leaves(self, endpoint: Endpoint) -> bool:
        if endpoint.pod is None:
            return False
        pod = self._workloads.named.get((endpoint.pod.namespace, endpoint.pod.name))
        return pod is not None and pod.terminating


def _where(endpoint: Endpoint) -> Where:
    """The identity of a dialled listener. Loopback is a different place on every node and in every pod."""
    return (
        endpoint.address,
        endpoint.host if not endpoint.address else "",
        endpoint.port,
        endpoint.server_name,
        endpoint.transport,
        endpoint.tunnel,
    )


def _distinct(conflicts: list[Endpoint]) -> list[Endpoint]:
    """One endpoint per instance, the most certain one: replicas of one owner are the same listener there."""
    ordered = sorted(conflicts, key=lambda each: (rank(each.certainty), each.pod is None, str(each.pod)))
    return list({each.instance: each for each in reversed(ordered)}.values())


def _each_with_the_others(kept: list[Endpoint]) -> Iterable[Endpoint]:
    owners = sorted({each.owner for each in kept}, key=owner_order)
    for each in kept:
        others = [owner for owner in owners if owner != each.owner and owner not in each.candidates]
        yield replace(each, candidates=(*each.candidates, *others)[:MAX_CANDIDATES]) if others else each


class Shares(Struct, frozen=True, kw_only=True):
    """Endpoints with their turns."""

    kept: list[Endpoint]
    """Sorted by instance."""
    turns: list[int]
    """Turn of each endpoint. All of one turn come before the next; 0 is the platform's."""
    cut: list[tuple[Endpoint, str]]
    """Endpoints beyond the limit of their namespace, each with the reason."""


def shares(endpoints: list[Endpoint], authority: ClaimAuthority, most: int) -> Shares:
    """Assign turns to ``endpoints``, which are sorted by instance. At most ``most`` per namespace are kept, declared
    ones first. The platform has no limit, because only administrators write there."""
    users: dict[str, list[tuple[int, int]]] = {}
    turns = [0] * len(endpoints)
    for place, each in enumerate(endpoints):
        namespace = share_namespace(each)
        if namespace is not None and not authority.is_platform(namespace):
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
        cut=[(endpoints[place], _reason(namespace, most)) for place, namespace in beyond.items()],
    )


def _reason(namespace: str, most: int) -> str:
    return f"listeners of the namespace {namespace} beyond the first {most:,} (scope.endpointsPerNamespace)"


def share_namespace(endpoint: Endpoint) -> str | None:
    """The namespace whose share an endpoint uses; None for nodes and the API server. A name on the router counts for
    its Route's namespace. An endpoint that only other namespaces claim counts for the first of them."""
    owner, subject = endpoint.owner, endpoint.subject
    if subject is not None and subject.namespace:
        return subject.namespace
    if owner.kind == "Service" and (owner.namespace, owner.name) == API_SERVICE:
        return None
    if endpoint.origins and all(each.foreign for each in endpoint.origins):
        named = endpoint.origins[0].reference
        return named.namespace if named else owner.namespace
    return owner.namespace
