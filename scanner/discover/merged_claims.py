"""Merge the claims of all sources into one ``Listener`` per port of a pod, a node or an address.

The effect of server names is decided when all claims are merged (``endpoints``). Every probe costs connections, so a
listener is probed without a name only if that shows something else.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from scanner.discover.listener_claims import Claim, Naming, PlacedClaim
from scanner.discover.workloads import Place, Pod
from scanner.kube.objects import KubeObject
from scanner.model.endpoint import Certainty, Origin, Owner, Segment
from scanner.model.observation import ClientCertificate

MAX_ORIGINS = 1_000
"""Limit of objects that a listener, or one of its names, is judged by. A provider of Crossplane has as many CRDs with
one conversion webhook; each may have a different CA to verify it."""
MAX_FOREIGN = 20
"""Limit of objects of other namespaces, which decide nothing."""
MAX_ALIASES = 1_000
"""Limit of addresses of Services that lead to a listener. Owners, Secrets and names are looked up by them."""
MAX_FOREIGN_ALIASES = 50
"""Limit of addresses of other namespaces' Services, which decide nothing."""
_FEW = 8

_RANK: dict[Certainty, int] = {"declared": 0, "hinted": 1, "candidate": 2}


class MergedClaims(Struct, eq=False):
    """The merged claims on a listener, or on one of its server names."""

    certainty: Certainty = "candidate"
    origins: list[Origin] = field(default_factory=list)
    """A list, because each listener has few and there are many listeners."""
    known: set[int] | None = None
    """Their ``id()``, if there are many."""
    foreign: int = 0
    """Number of origins or aliases of other namespaces."""
    cut: int = 0
    """Number of dropped origins."""
    cut_foreign: int = 0
    segment: Segment | None = None
    subject: KubeObject | None = None
    expects: ClientCertificate | None = None
    naming: Naming = "soft"
    sampled: bool = False

    def add(self, claim: Claim) -> None:
        """Merge a claim: the strongest certainty counts, and the first value of everything else."""
        self.certainty = stronger(self.certainty, claim.certainty)
        self.origin(claim.origin)
        for each in claim.beside:
            self.origin(each)
        self.segment = self.segment or claim.segment
        self.subject = self.subject or claim.subject
        self.expects = self.expects or claim.expects
        self.sampled = self.sampled or claim.sampled
        if self.naming == "soft" or claim.naming == "only":
            self.naming = claim.naming

    def origin(self, origin: Origin) -> None:
        """Add an origin, or count it. A claim repeats the same object for each address; equal objects are removed by
        ``Index.origins``."""
        if self.known is None:
            for each in self.origins:
                if each is origin:
                    return
        elif id(origin) in self.known:
            return
        if origin.foreign and self.foreign >= MAX_FOREIGN:
            self.cut_foreign += 1
        elif not origin.foreign and len(self.origins) - self.foreign >= MAX_ORIGINS:
            self.cut += 1
        else:
            self.origins.append(origin)
            self.foreign += origin.foreign
            if self.known is not None:
                self.known.add(id(origin))
            elif len(self.origins) > _FEW:
                self.known = set(map(id, self.origins))


class Listener(Struct, eq=False):
    """One port of a pod, a node or an address."""

    place: Place
    """The first merged place."""
    addresses: list[str] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)
    """Pods that claim it: one pod of the pod network, or those of a node."""
    owner: Owner | None = None
    """Owner of a node's own process, by the node's status."""
    unnamed: MergedClaims | None = None
    """Claims without a name, and with soft ones."""
    soft: tuple[int, bool, str] | None = None
    """The best soft name."""
    named: dict[str, MergedClaims] = field(default_factory=dict)
    aliases: dict[str, None] = field(default_factory=dict)
    foreign_aliases: int = 0
    """Number of origins or aliases of other namespaces."""
    cut_aliases: int = 0
    """Number of dropped aliases."""
    ready: bool = False
    loopback: frozenset[bool] = frozenset()
    called: bool = False
    """A client outside of the pod connects there, so it is not bound to loopback, whatever other claims say."""
    app_protocol: str = ""
    guess: bool = True
    bare: set[Origin] | None = None
    """Origins of claims that what is served without a name matters: then no soft name is sent. They name nothing."""
    known_port: int | None = None
    """The port by which the catalogue knows it, if another."""

    def add(self, draft: PlacedClaim) -> None:
        """Merge a claim."""
        claim, place, ready, aliases, called = draft
        if place.address not in self.addresses:
            self.addresses.append(place.address)
        if place.pod:
            if place.pod not in self.pods:
                self.pods.append(place.pod)
        elif place.owner and place.node and not claim.guess:
            self.owner = place.owner
        self._say(claim)
        for alias in aliases:
            if alias not in self.aliases:
                self._alias(alias, foreign=claim.origin.foreign)
        self.ready = self.ready or ready
        self.called = self.called or called
        if claim.loopback is not None:
            self.loopback |= {claim.loopback}
        self.app_protocol = self.app_protocol or claim.app_protocol
        self.guess = self.guess and claim.guess
        self.known_port = self.known_port or claim.known_port

    def _alias(self, alias: str, *, foreign: bool) -> None:
        if foreign:
            if self.foreign_aliases == MAX_FOREIGN_ALIASES:
                return
            self.foreign_aliases += 1
        elif len(self.aliases) - self.foreign_aliases == MAX_ALIASES:
            self.cut_aliases += 1
            return
        self.aliases[alias] = None

    def _say(self, claim: Claim) -> None:
        if claim.name and claim.naming != "soft":
            self.named.setdefault(claim.name, MergedClaims()).add(claim)
            return
        if self.unnamed is None:
            self.unnamed = MergedClaims()
        self.unnamed.add(claim)
        if claim.naming == "also":
            self.bare = (self.bare or set()) | {claim.origin, *claim.beside}
        if claim.name:
            # Names of Services first: certificates inside of the cluster have these.
            soft = (_RANK[claim.certainty], not claim.name.endswith(".svc"), claim.name)
            self.soft = min(self.soft, soft) if self.soft else soft


class Merge:
    """The listeners by place."""

    def __init__(self) -> None:
        self._met: dict[tuple[Pod | Owner | str | None, str, int], Listener] = {}

    def add(self, draft: PlacedClaim) -> None:
        place = draft.place
        if place.node:
            key: tuple[Pod | Owner | str | None, str, int] = (place.node, "", place.port)
        elif place.pod:
            key = (place.pod, "", place.port)
        else:
            # Without a known pod or node, each owner has its own listener.
            key = (place.owner, place.address or f"host {place.host}", place.port)
        listener = self._met.get(key)
        if listener is None:
            listener = self._met[key] = Listener(place)
        listener.add(draft)

    def listeners(self) -> Iterator[Listener]:
        """Iterate over the listeners in the order of their first claim, and release each: their endpoints take as much
        memory again."""
        met = list(self._met.values())
        self._met.clear()
        met.reverse()
        while met:
            yield met.pop()


def rank(certainty: Certainty) -> int:
    """Sort key of a certainty, the strongest first."""
    return _RANK[certainty]


def stronger(one: Certainty, other: Certainty) -> Certainty:
    """The stronger of two certainties."""
    return one if _RANK[one] <= _RANK[other] else other
