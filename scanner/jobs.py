"""Jobs: the listeners to probe, each with its expectation, from a list of targets or a cluster."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct, field

from scanner.judge.network_policy import NetworkPolicies
from scanner.kube.hostnames import parse_zoned_address
from scanner.kube.maybe import Known, Unknown
from scanner.kube.tls_profile import Profile
from scanner.model.dial_scope import DialScope
from scanner.model.endpoint import Endpoint, Origin, Owner, Target, host_port
from scanner.model.expectation import Because, CertificateExpectation, Expectation
from scanner.model.finding import Finding
from scanner.model.observation import Observation
from scanner.model.rule import ScanRule
from scanner.probe.limits import Gate, host_of
from scanner.values import replace

if TYPE_CHECKING:
    from scanner.kube.snapshot import Unreadable
    from scanner.model.inventory import CertificateReport, NamesRow

Owes = Callable[[Endpoint], Expectation]
"""Returns the expectation of an endpoint, once its address is known."""


Serve = Callable[[Endpoint, Observation, Expectation], None]


class Job(Struct, frozen=True, kw_only=True):
    """One listener to probe."""

    endpoint: Endpoint
    """Has no address if its ``host`` must be resolved first: then it is one endpoint for each address."""
    owes: Owes
    place: int | None = None
    """Position of its row in the report; None: in the order of probing."""
    turn: int = 0
    """All jobs of one turn come before those of the next."""
    share: str = ""
    """Namespace that its time is counted for; empty for nodes and targets."""
    cluster: str = ""
    """Name of its cluster; empty for a target."""
    scope: DialScope | None = None
    """Addresses that may be dialled; None: any."""
    policies: NetworkPolicies = field(default_factory=lambda: NetworkPolicies(()))
    """NetworkPolicies of its cluster, which may explain why it does not answer."""
    serve: Serve | None = None
    """Called with each observation, for the inventory of certificates."""
    replicated: bool = False
    """True if other endpoints may have the same id and must be compared."""


class Surroundings(Struct, frozen=True, kw_only=True):
    """The parts of a report that are not about endpoints, known before the first is probed."""

    cluster: dict[str, object] | None = None
    discovered: int | None = None
    """Endpoints that were found, including those left out; None for a list of targets."""
    left_out: tuple[tuple[str, int], ...] = ()
    truncated: int = 0
    """Number of endpoints not read, because an object had too many."""
    unreadable: tuple[Unreadable, ...] = ()
    strict: Known[bool] = Unknown("no cluster was scanned")
    """True if every component of every cluster must follow its profile."""
    adherence: str = ""
    """Object, field and value that decide this."""
    rules: tuple[ScanRule, ...] = ()
    """Rules on the certificates of clusters, for the table of rules."""
    findings: tuple[Finding, ...] = ()
    """Findings on objects alone."""
    late: tuple[Callable[[], Iterable[Finding]], ...] = ()
    """Findings that need all endpoints."""
    certificates: Callable[[datetime], CertificateReport] | None = None
    """Returns the certificates as of a time, after all endpoints; None for a list of targets."""
    names_seen: Callable[[], Sequence[NamesRow]] = tuple
    """Returns the coverage of the certificate names that the PKI configuration governs, after all endpoints."""


class TargetRequirements(Struct, frozen=True, kw_only=True):
    """Requirements on all targets of a list, from the command line."""

    profile: Profile
    profile_source: str = "--profile"
    """Option or file that chose the profile, for ``because``."""
    anchors: tuple[bytes, ...] = ()
    """Trust anchors for all targets, as DER."""
    anchor_source: str = ""
    public_anchors: Callable[[], tuple[bytes, ...]] = tuple
    """Returns this system's public roots, as DER: the anchors for a public name at a public address. Called only if
    needed."""

    def _asked(self) -> Because:
        """Return the option, or the file and field, that chose the profile."""
        field = "" if self.profile_source.startswith("--") else "profile"
        return Because(source=self.profile_source, field=field, said=self.profile.said)

    def __call__(self, endpoint: Endpoint) -> Expectation:
        """Return the expectation: the profile, and a certificate for the target's name."""
        name = endpoint.server_name or endpoint.host
        anchors, source = self.anchors, self.anchor_source
        named, address = parse_zoned_address(name) is None, parse_zoned_address(endpoint.address)
        if not anchors and named and address and address.is_global:
            anchors, source = self.public_anchors(), "this system's public roots"
        return Expectation(
            profile=self.profile,
            certificate=CertificateExpectation(names=(name,) if named else (), anchors=anchors, anchor_source=source),
            because=(self._asked(),),
        )


def fair_shares(jobs: Iterable[Job], gate: Gate) -> Iterator[Job]:
    """Yield a job of each host in turn, and pass over hosts whose places are all taken while another one has some: many
    slow listeners of one host take no places of the others."""
    waiting: dict[str, deque[Job]] = {}
    for job in jobs:
        waiting.setdefault(host_of(job.endpoint), deque()).append(job)
    while waiting:
        free = (name for name, left in waiting.items() if not gate.is_full(left[0].endpoint))
        name = next(free, next(iter(waiting)))
        left = waiting.pop(name)
        yield left.popleft()
        if left:
            waiting[name] = left


def of_targets(targets: Iterable[Target], owed: Owes) -> Iterator[Job]:
    """Yield a job for each target, when it is needed."""
    for target in targets:
        yield Job(endpoint=endpoint_of(target), owes=owed)


def endpoint_of(target: Target) -> Endpoint:
    """Return the endpoint of a target, before its name is resolved."""
    name = target.canonical
    return Endpoint(
        id=name,
        instance=name,
        address=target.host if parse_zoned_address(target.host) else "",
        port=target.port,
        server_name=target.server_name,
        transport=target.transport,
        host=target.host,
        owner=Owner(kind="Target", name=name),
        origins=(Origin(role="user", part=target.origin),),
    )


def at(endpoint: Endpoint, address: str) -> Endpoint:
    """Return ``endpoint`` at one of the addresses of its host."""
    return replace(endpoint, address=address, instance=f"{endpoint.id} @ {host_port(address, endpoint.port)}")
