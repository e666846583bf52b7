"""Discovery: a snapshot's TLS listeners. Pure; one file a source, each with provenance, merged by where they listen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scanner.discover import index, scope
from scanner.discover.asked_endpoints import Claimants, shares
from scanner.discover.endpoints import built
from scanner.discover.index import Index
from scanner.discover.merge import Merge
from scanner.discover.sources import SOURCES
from scanner.discover.truncation import Omission
from scanner.kube.kinds import Kind
from scanner.kube.snapshot import Snapshot, union
from scanner.model.components import Catalogue
from scanner.model.dial_scope import DialScope
from scanner.model.endpoint import Endpoint
from scanner.model.scan_policy import MOST_OF_NAMESPACE, Selector, any_matches

READS: tuple[Kind, ...] = union((index.READS, *(source.reads for source in SOURCES), scope.READS))
"""Every kind that discovery looks at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """What was found."""

    endpoints: tuple[Endpoint, ...]
    """Each listener once for each address, in the order of the instances."""
    turns: tuple[int, ...]
    """Of each of these, when it is asked: those of one turn before the next. The platform's have 0, and so each other
    namespace gets on as fast as the others."""
    scope: DialScope
    """Where these may be dialled."""
    left_out: tuple[tuple[str, int], ...] = ()
    """What was seen and is not asked, as (reason, how many): outside the scope, never TLS, UDP."""
    unasked: tuple[Endpoint, ...] = ()
    """Those of them that are listeners all the same: something that is asked may lead there."""
    why_unasked: tuple[str, ...] = ()
    """The reason of each of them."""
    truncated: int = 0
    """Of ``left_out``: what nobody looked at, because an object had too much of it. Not everything was seen then."""
    omitted: tuple[tuple[Endpoint, str], ...] = ()
    """With ``everything``: the others, on loopback or never TLS, each with the reason."""


def discover(  # noqa: PLR0913 - what is wanted, and how it may be reached
    snapshot: Snapshot,
    catalogue: Catalogue,
    *,
    include: Sequence[Selector] = (),
    within: Sequence[Selector] = (),
    exclude: Sequence[Selector] = (),
    allow_external: bool = False,
    loopback: bool = False,
    via_port_forward: bool = False,
    everything: bool = False,
    most_of_namespace: int = MOST_OF_NAMESPACE,
) -> Discovery:
    """Every TLS listener that the cluster's objects lead to.

    ``include``: one of them must match, if there are any, and one of ``within``. ``allow_external``: dial what is not
    the cluster's, too. ``loopback``: a cluster on loopback addresses may be dialled (the demo). ``via_port_forward``:
    pods are reached through the API server, and so are listeners that are bound to loopback. ``everything``: also keep
    what nobody can or need ask. ``most_of_namespace``: listeners of one namespace that are asked.
    """
    indexed = Index(snapshot, catalogue, via_port_forward=via_port_forward)
    left_out = Counter[str]()
    merge, truncated = _merged(indexed, left_out)
    allowed = scope.dial_scope(indexed, external=allow_external, loopback=loopback)
    refusals = Refusals(allowed)
    claimants = Claimants(indexed.workloads)
    unasked: list[tuple[Endpoint, str]] = []
    omitted: list[tuple[Endpoint, str]] = []
    for listener in merge.listeners():
        for each in built(indexed, listener, via_port_forward=via_port_forward, everything=everything):
            reason = (
                each.reason if isinstance(each, Omission) else _unwanted(each, refusals, (include, within), exclude)
            )
            if isinstance(each, Omission) or reason:
                left_out[reason or ""] += 1
                if isinstance(each, Omission):
                    omitted += [(endpoint, each.reason) for endpoint in each.endpoints]
                else:
                    unasked.append((each, reason or ""))
            else:
                claimants.add(each)
    for cut in indexed.cuts.omissions():
        left_out[cut.reason] += cut.times
        truncated += cut.times if cut.cut else 0
    endpoints, beside = claimants.settled()
    fair = shares(endpoints, indexed.trust, most_of_namespace)
    for each, beyond in fair.cut:
        left_out[beyond.reason] += 1
        unasked.append((each, beyond.reason))
    truncated += len(fair.cut)
    left_out.update({"listeners at an address that another one has": beside} if beside else {})
    return Discovery(
        endpoints=tuple(fair.kept),
        turns=tuple(fair.turns),
        scope=allowed,
        left_out=tuple(sorted(left_out.items())),
        truncated=truncated,
        unasked=tuple(each for each, _ in unasked),
        why_unasked=tuple(reason for _, reason in unasked),
        omitted=tuple(omitted),
    )


def _merged(indexed: Index, left_out: Counter[str]) -> tuple[Merge, int]:
    """What the sources find; ``left_out`` counts what they leave out by reason, and the number is of what was cut."""
    merge, truncated = Merge(), 0
    for source in SOURCES:
        for found in source.find(indexed):
            if isinstance(found, Omission):
                left_out[found.reason] += found.times
                truncated += found.times if found.cut else 0
            else:
                merge.add(found)
    return merge, truncated


class Refusals(dict[str, str | None]):
    """What the dial scope says of each address, asked once: most have several listeners."""

    def __init__(self, allowed: DialScope) -> None:
        self.allowed = allowed

    def __missing__(self, address: str) -> str | None:
        self[address] = self.allowed.refusal(address)
        return self[address]


def _unwanted(
    endpoint: Endpoint, refusals: Refusals, includes: Iterable[Sequence[Selector]], exclude: Sequence[Selector]
) -> str | None:
    """Why an endpoint is not asked. What is declared or hinted to be TLS stays, even out of scope: the scan says that
    it could not be judged, and why."""
    if not all(any_matches(include, endpoint) for include in includes if include):
        return "not included"
    if any_matches(exclude, endpoint):
        return "excluded"
    if endpoint.certainty != "candidate" or endpoint.tunnel or not endpoint.address:
        return None
    refusal = refusals[endpoint.address]
    refusal = refusal and refusals.allowed.refusal(endpoint.address, endpoint.port, endpoint.owner)
    return f"outside of the dial scope: {refusal}" if refusal else None
