"""What is to be examined: each listener, with what it owes, from a list of targets or from a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from ipaddress import ip_address

from scanner.judge.network_policy import NetworkPolicies
from scanner.kube.maybe import Known, Unknown
from scanner.kube.snapshot import Unreadable
from scanner.kube.tls_profile import Profile
from scanner.model.dial_scope import DialScope
from scanner.model.endpoint import Endpoint, Origin, Owner, Target, host_port
from scanner.model.expectation import Because, CertificateExpectation, Expectation
from scanner.model.finding import Finding
from scanner.model.inventory import CertificateReport, NamesRow
from scanner.model.observation import Observation

Owes = Callable[[Endpoint], Expectation]
"""What an endpoint owes, once its address is known."""


Serve = Callable[[Endpoint, Observation, Expectation], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One listener to examine."""

    endpoint: Endpoint
    """Without an address where its ``host`` has to be looked up first: then it is one endpoint for each address."""
    owes: Owes
    place: int | None = None
    """Its row's in the report; None: as it is asked."""
    turn: int = 0
    """All jobs of one turn come before those of the next."""
    share: str = ""
    """The namespace that it is asked for; empty for nodes and targets."""
    cluster: str = ""
    """Name of the cluster that it is of; empty for a target."""
    scope: DialScope | None = None
    """Where it may be dialled; None: wherever the user said."""
    policies: NetworkPolicies = field(default_factory=lambda: NetworkPolicies(()))
    """Those of its cluster: they may explain why it does not answer."""
    serve: Serve | None = None
    """Told of everything that was seen, for the cluster's inventory of certificates."""
    replicated: bool = False
    """Whether others may have the same id, with which it is to be compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a report says beside its endpoints, known before the first of them is asked."""

    cluster: dict[str, object] | None = None
    discovered: int | None = None
    """Listeners that were seen, those left out included; None for a list of targets."""
    left_out: tuple[tuple[str, int], ...] = ()
    truncated: int = 0
    """Of these, what nobody looked at because an object had too much of it."""
    unreadable: tuple[Unreadable, ...] = ()
    strict: Known[bool] = Unknown("no cluster was scanned")
    """Whether every component of every cluster has to follow its profile."""
    adherence: str = ""
    """The object and field that say so, and what they say."""
    findings: tuple[Finding, ...] = ()
    """What is to be said of the cluster's objects themselves."""
    late: tuple[Callable[[], Iterable[Finding]], ...] = ()
    """What can be said of the cluster only once every endpoint was seen."""
    certificates: Callable[[datetime], CertificateReport] | None = None
    """Its certificates as of a moment, once every endpoint was seen; None for a list of targets."""
    names_seen: Callable[[], Sequence[NamesRow]] = tuple
    """What was seen of the certificate names that its PKI configuration governs, likewise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owed:
    """What every target of a list owes: whoever wrote the command line said so."""

    profile: Profile
    profile_source: str = "--profile"
    """What chose the profile, for ``because``."""
    anchors: tuple[bytes, ...] = ()
    """DER of the trust anchors that clients of all targets use."""
    anchor_source: str = ""
    public_anchors: Callable[[], tuple[bytes, ...]] = tuple
    """DER of this system's public roots: what clients of a public name at a public address use. Asked for one only."""

    def _asked(self) -> Because:
        """What chose the profile: an option, which needs no field, or a file, which has one for it."""
        field = "" if self.profile_source.startswith("--") else "profile"
        return Because(source=self.profile_source, field=field, said=self.profile.said)

    def __call__(self, endpoint: Endpoint) -> Expectation:
        """The profile that was asked for, and a certificate for the name that the target is called by."""
        name = endpoint.server_name or endpoint.host
        anchors, source = self.anchors, self.anchor_source
        if not anchors and not is_address(name) and is_global(endpoint.address):
            anchors, source = self.public_anchors(), "this system's public roots"
        return Expectation(
            profile=self.profile,
            certificate=CertificateExpectation(
                names=() if is_address(name) else (name,), anchors=anchors, anchor_source=source
            ),
            because=(self._asked(),),
        )


def of_targets(targets: Iterable[Target], owed: Owes) -> Iterator[Job]:
    """A job for each target, made as it is needed."""
    for target in targets:
        yield Job(endpoint=endpoint_of(target), owes=owed)


def endpoint_of(target: Target) -> Endpoint:
    """The endpoint that a target is, before its name is looked up."""
    name = target.canonical
    return Endpoint(
        id=name,
        instance=name,
        address=target.host if is_address(target.host) else "",
        port=target.port,
        server_name=target.server_name,
        transport=target.transport,
        host=target.host,
        owner=Owner(kind="Target", name=name),
        origins=(Origin(role="user", part=target.origin),),
    )


def at(endpoint: Endpoint, address: str) -> Endpoint:
    """``endpoint`` at one of the addresses of its host."""
    return replace(endpoint, address=address, instance=f"{endpoint.id} @ {host_port(address, endpoint.port)}")


@lru_cache(maxsize=1024)  # a target's name and address are asked about several times each
def is_address(name: str) -> bool:
    """Whether ``name`` is an IP address: then nobody asked for a name, and none is judged."""
    try:
        ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return True


def is_global(address: str) -> bool:
    """Whether ``address`` is one of the public internet."""
    return is_address(address) and ip_address(address.partition("%")[0]).is_global
