"""Drafts of all sources, merged by where they listen: one ``Listener`` for each port of a pod, a node or an address.

A listener is met once, however many objects lead to it. What a server name makes of it is decided when all have spoken
(``endpoints``): every connection to it costs, so it is asked without a name only where that shows something else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from scanner.discover.listener_claims import Claim, Draft, Naming
from scanner.discover.workloads import Place, Pod
from scanner.kube.objects import KubeObject
from scanner.model.endpoint import Certainty, Origin, Owner, Segment
from scanner.model.observation import ClientCertificate

MAX_ORIGINS = 1_000
"""Objects of a listener, or of one of its names, by which it is judged. A provider of Crossplane has as many CRDs with
one conversion webhook; each may have a CA of its own, to be verified by."""
MAX_FOREIGN = 20
"""Of other namespaces: they decide nothing."""
MAX_ALIASES = 1_000
"""Addresses of Services that lead to a listener. Owners, Secrets and names are looked up by them."""
MAX_FOREIGN_ALIASES = 50
"""Of Services of other namespaces: they decide nothing."""
_FEW = 8

_RANK: dict[Certainty, int] = {"declared": 0, "hinted": 1, "candidate": 2}


@dataclass(slots=True, eq=False)
class Said:
    """What is said of a listener, or of one of its server names."""

    certainty: Certainty = "candidate"
    origins: list[Origin] = field(default_factory=list)
    """They are few, nearly always, and there are too many listeners to have dictionaries."""
    known: set[int] | None = None
    """Identities of those, where they are many."""
    foreign: int = 0
    """How many of them are of other namespaces."""
    cut: int = 0
    """Origins that are not kept."""
    cut_foreign: int = 0
    segment: Segment | None = None
    subject: KubeObject | None = None
    expects: ClientCertificate | None = None
    naming: Naming = "soft"
    sampled: bool = False

    def add(self, claim: Claim) -> None:
        """One more claim: the strongest certainty counts, and the first word on everything else."""
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
        """Keep one more origin, or count it. What one claim says again, of another address, is the same value; values
        that are equal are left to ``Index.origins``."""
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


@dataclass(slots=True, eq=False)
class Listener:
    """One port of a pod, a node or an address."""

    place: Place
    """The first that was met."""
    addresses: list[str] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)
    """Who claims it: one pod of the pod network, or those of a node."""
    owner: Owner | None = None
    """Of the node's own processes: the one that the node's status names."""
    unnamed: Said | None = None
    """What is said of it without a name, and with soft ones."""
    soft: tuple[int, bool, str] | None = None
    """The best name that clients verify and that changes nothing else."""
    named: dict[str, Said] = field(default_factory=dict)
    aliases: dict[str, None] = field(default_factory=dict)
    foreign_aliases: int = 0
    """How many of them are of other namespaces."""
    cut_aliases: int = 0
    """Aliases that are not kept."""
    ready: bool = False
    loopback: frozenset[bool] = frozenset()
    called: bool = False
    """Whether something connects there from outside of the pod: then it is not bound to loopback, whoever says so."""
    app_protocol: str = ""
    guess: bool = True
    bare: set[Origin] | None = None
    """What says that what it shows without a name is of interest by itself: then no soft name is sent. They say nothing
    of names."""
    known_port: int | None = None
    """The port by which the catalogue knows it, if not its own."""

    def add(self, draft: Draft) -> None:
        """One more draft."""
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
            self.named.setdefault(claim.name, Said()).add(claim)
            return
        if self.unnamed is None:
            self.unnamed = Said()
        self.unnamed.add(claim)
        if claim.naming == "also":
            self.bare = (self.bare or set()) | {claim.origin, *claim.beside}
        if claim.name:
            # Names of Services first: these are what a certificate inside of the cluster is made for.
            soft = (_RANK[claim.certainty], not claim.name.endswith(".svc"), claim.name)
            self.soft = min(self.soft, soft) if self.soft else soft


class Merge:
    """Listeners, as they are met."""

    def __init__(self) -> None:
        self._met: dict[tuple[Pod | Owner | str | None, str, int], Listener] = {}

    def add(self, draft: Draft) -> None:
        """Take one draft in."""
        place = draft.place
        if place.node:
            key: tuple[Pod | Owner | str | None, str, int] = (place.node, "", place.port)
        elif place.pod:
            key = (place.pod, "", place.port)
        else:
            # What nobody is known to be behind is each owner's own: no object says anything of another one's.
            key = (place.owner, place.address or f"host {place.host}", place.port)
        listener = self._met.get(key)
        if listener is None:
            listener = self._met[key] = Listener(place)
        listener.add(draft)

    def listeners(self) -> Iterator[Listener]:
        """Everything that was met, in the order in which it was; each is let go with that, since the endpoints made of
        them take as much memory again."""
        met = list(self._met.values())
        self._met.clear()
        met.reverse()
        while met:
            yield met.pop()


def rank(certainty: Certainty) -> int:
    """The more it obliges, the less."""
    return _RANK[certainty]


def stronger(one: Certainty, other: Certainty) -> Certainty:
    """Of two certainties, the one that obliges more."""
    return one if _RANK[one] <= _RANK[other] else other
