"""Claims of sources on places where something may listen, not yet merged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from scanner.discover.truncation import Omission
from scanner.discover.workloads import Place
from scanner.kube.objects import KubeObject
from scanner.model.endpoint import Certainty, Origin, Segment
from scanner.model.observation import ClientCertificate

Naming = Literal["soft", "also", "only"]
"""What a server name does to a listener. ``soft``: it is what clients verify, and is sent where nothing better is
known; the listener stays one endpoint. ``also``: the listener has another certificate or route for it, beside the one
without a name; in a claim without a name: what is shown without one matters, so no soft one is sent. ``only``: the
listener is asked by this name, and without one only where somebody else says so."""


@dataclass(slots=True, kw_only=True)
class Claim:
    """What a source says of one or several places."""

    certainty: Certainty
    origin: Origin
    beside: tuple[Origin, ...] = ()
    """Further parts that say the same."""
    name: str | None = None
    """A server name, checked and in lower case."""
    naming: Naming = "soft"
    segment: Segment | None = None
    subject: KubeObject | None = None
    """The object whose configuration decides what is served under ``name``."""
    loopback: bool | None = None
    """Whether it is bound to loopback only, where the source knows."""
    expects: ClientCertificate | None = None
    sampled: bool = False
    """Under this name, something else answers that cannot be dialled: a passthrough without known backends."""
    app_protocol: str = ""
    """What the object says is spoken there."""
    known_port: int | None = None
    """The port under which the catalogue knows such a listener, where this cluster has moved it."""
    guess: bool = False
    """Only the catalogue says so: nothing in the cluster tells whether it is there."""
    writer: str | None = None
    """Namespace of the object that says so; None: it is the cluster's, or says it of its own pods."""
    beyond: Literal["", "fronts", "users"] = ""
    """Where it counts beside the writer's namespace: at routers and gateways, or at everything but the platform's."""
    stranger: bool = False
    """The writer has no say at this place: that he said something is all that is kept."""


class Draft(NamedTuple):
    """A claim on one place."""

    claim: Claim
    place: Place
    ready: bool = True
    aliases: tuple[str, ...] = ()
    """Balanced addresses that lead to the place."""
    called: bool = False
    """Whether something outside of the pod connects there, and the cluster says that this works."""


Found: TypeAlias = "Draft | Omission"


def reached(found: Iterable[Found]) -> bool:
    """Whether one of these is a listener of which the writer may speak."""
    return any(isinstance(each, Draft) and not each.claim.stranger for each in found)


def verified(origin: Origin, dns: str, subject: KubeObject | None = None) -> Claim:
    """TLS that a client of a Service verifies under the Service's name: ``only`` that name is asked."""
    return Claim(certainty="declared", origin=origin, name=dns, naming="only", subject=subject)


def frontend(origin: Origin, name: str, subject: KubeObject) -> Claim:
    """A name that a router or gateway serves for ``subject``, beside what it serves otherwise."""
    return Claim(
        certainty="declared",
        origin=origin,
        name=name,
        naming="also",
        segment="Frontend",
        subject=subject,
        writer=subject.namespace,
        beyond="fronts",
    )


def backend(origin: Origin, name: str | None, writer: str | None) -> Claim:
    """What a router or gateway connects to by TLS, or passes TLS on to, as an object of ``writer`` says."""
    return Claim(certainty="declared", origin=origin, name=name, segment="Backend", writer=writer)
