"""Discovery: the TLS listeners of a snapshot. Pure; one module per source; claims are merged by listener, with their
origins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from msgspec import Struct

from scanner.discover import index, scope
from scanner.discover.endpoint_selection import AddressConflicts, shares
from scanner.discover.endpoints import endpoints_of
from scanner.discover.index import Index
from scanner.discover.merged_claims import Merge
from scanner.discover.sources import SOURCES
from scanner.discover.truncation import Omission
from scanner.kube.kinds import Kind
from scanner.kube.snapshot import Snapshot, union
from scanner.model.components import Catalogue
from scanner.model.dial_scope import DialScope
from scanner.model.endpoint import Endpoint
from scanner.model.scan_policy import MOST_OF_NAMESPACE, Selector, any_matches

READS: tuple[Kind, ...] = union((index.READS, *(source.reads for source in SOURCES), scope.READS))
"""All kinds that discovery reads."""


class Discovery(Struct, frozen=True, kw_only=True):
    """The result of discovery."""

    endpoints: tuple[Endpoint, ...]
    """One endpoint per listener and address, sorted by instance."""
    turns: tuple[int, ...]
    """For each endpoint its turn: those of one turn are probed before the next. The platform's have 0, and all other
    namespaces progress equally."""
    scope: DialScope
    """The addresses that may be dialled."""
    left_out: tuple[tuple[str, int], ...] = ()
    """Reasons and counts of listeners that are not probed: outside the scope, never TLS, UDP."""
    unasked: tuple[Endpoint, ...] = ()
    """The listeners among them, because a probed object may lead there."""
    why_unasked: tuple[str, ...] = ()
    """The reason for each of ``unasked``."""
    truncated: int = 0
    """Number of ``left_out`` entries that were not read, because an object had too many. Discovery is incomplete
    then."""
    omitted: tuple[tuple[Endpoint, str], ...] = ()
    """With ``everything``: the other listeners, on loopback or never TLS, each with the reason."""


def discover(  # noqa: PLR0913 - all options of discovery
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
    """Find every TLS listener that the cluster's objects lead to.

    ``include``: one selector must match, if there are any, and one of ``within``. ``allow_external``: also dial
    addresses outside the cluster. ``loopback``: a cluster on loopback addresses may be dialled (the demo).
    ``via_port_forward``: pods are reached through the API server, and so are listeners on loopback. ``everything``:
    also return what cannot or need not be probed. ``most_of_namespace``: limit of probed listeners per namespace.
    """
    indexed = Index(snapshot, catalogue, via_port_forward=via_port_forward)
    left_out = Counter[str]()
    merge, truncated = _merged(indexed, left_out)
    allowed = scope.dial_scope(indexed, external=allow_external, loopback=loopback)
    refusal = cache(allowed.refusal)  # most addresses have several listeners
    conflicts = AddressConflicts(indexed.workloads)
    unasked: list[tuple[Endpoint, str]] = []
    omitted: list[tuple[Endpoint, str]] = []
    for listener in merge.listeners():
        for each in endpoints_of(indexed, listener, via_port_forward=via_port_forward, everything=everything):
            if isinstance(each, Omission):
                left_out[each.reason] += 1
                omitted += [(endpoint, each.reason) for endpoint in each.endpoints]
            elif reason := _exclusion(each, refusal, (include, within), exclude):
                left_out[reason] += 1
                unasked.append((each, reason))
            else:
                conflicts.add(each)
    for cut in indexed.cuts.omissions():
        left_out[cut.reason] += cut.times
        truncated += cut.times if cut.cut else 0
    endpoints, beside = conflicts.resolved()
    fair = shares(endpoints, indexed.authority, most_of_namespace)
    for each, beyond in fair.cut:
        left_out[beyond] += 1
        unasked.append((each, beyond))
    truncated += len(fair.cut)
    left_out.update({"listeners at an address of another listener": beside} if beside else {})
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
    """Merge the claims of all sources; ``left_out`` counts omissions by reason. Also returns the number of truncated
    items."""
    merge, truncated = Merge(), 0
    for source in SOURCES:
        for found in source.find(indexed):
            if isinstance(found, Omission):
                left_out[found.reason] += found.times
                truncated += found.times if found.cut else 0
            else:
                merge.add(found)
    return merge, truncated


def _exclusion(
    endpoint: Endpoint,
    refuse: Callable[..., str | None],
    includes: Iterable[Sequence[Selector]],
    exclude: Sequence[Selector],
) -> str | None:
    """The reason why an endpoint is not probed. A declared or hinted one stays, even out of scope: the scan reports
    that it could not be judged, and why."""
    if not all(any_matches(include, endpoint) for include in includes if include):
        return "not included"
    if any_matches(exclude, endpoint):
        return "excluded"
    if endpoint.certainty != "candidate" or endpoint.tunnel or not endpoint.address:
        return None
    refusal = refuse(endpoint.address) and refuse(endpoint.address, endpoint.port, endpoint.owner)
    return f"outside of the dial scope: {refusal}" if refusal else None
