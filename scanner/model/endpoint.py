"""An endpoint: something that should speak TLS, and whose it is. A target: what the user asked to scan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from scanner.kube.objects import Reference
from scanner.model.observation import ClientCertificate

Transport = Literal["tls", "postgres", "mysql", "smtp", "imap", "pop3", "ldap", "ftp", "xmpp"]
"""``tls`` is TLS from the first byte; the others upgrade by the protocol's STARTTLS."""

Certainty = Literal["declared", "hinted", "candidate"]
"""``declared``: a person or an object says that it is TLS. ``hinted``: a name or port suggests it. ``candidate``:
an open port, no more: plaintext there is not applicable, not a failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The object that the listener belongs to; for a target list, the target itself."""

    kind: str
    name: str
    namespace: str | None = None


Role = Literal[
    "frontend",
    "backend",
    "listener",
    "fallback",
    "policy",
    "webhook",
    "conversion",
    "aggregation",
    "api-server",
    "port",
    "probe",
    "flag",
    "mount",
    "service-ca",
    "prober",
    "target",
    "ingress",
    "kubelet",
    "well-known",
    "catalogue",
    "user",
]
"""What the object of an ``Origin`` has to do with the listener. ``frontend``: its clients come in there. ``backend``: a
router or gateway connects to it. ``well-known`` and ``catalogue``: only adhere's own tables lead there; ``user``: the
command line or a list of targets does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """One reason why an endpoint is known: the object that leads there, and by which of its parts."""

    role: Role
    reference: Reference | None = None
    """None: no object of the cluster leads there."""
    part: str = ""
    """Name of the webhook, listener, port or flag, termination of a Route, host of a Probe's target; of what is no
    object, where it stands: ``targets.txt:3``."""
    container: str = ""
    through: Reference | None = None
    """The second object that it takes: a listener's TLSRoute, a Probe's Ingress, the Secret that a container mounts."""
    foreign: bool = False
    """The object is one of another namespace, which has no say about this listener."""

    @property
    def named(self) -> str:
        """The object, or where the user or a table says it."""
        return str(self.reference) if self.reference else self.part


Segment = Literal["Frontend", "Backend"]
"""Of a connection through a gateway or router, as GEP-2907 has the words: from the client to it, and from it on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tunnel:
    """The way to a listener through the API server's port-forward, where it cannot be dialled directly."""

    namespace: str
    pod: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One listener at one address."""

    id: str
    """The workload's listener, the same from run to run: no IP of a pod, no pod hash. Replicas share it."""
    instance: str
    """``id`` with the address (and vantage) that was dialled: one observation each."""
    address: str
    """The IP address that is dialled, without brackets; empty where only ``host`` is known, which is looked up."""
    port: int
    server_name: str | None = None
    """What is sent as SNI (RFC 6066, section 3), or None for no server_name extension."""
    transport: Transport = "tls"
    host: str = ""
    """What the user or the object called it, before name resolution; what a certificate must be valid for."""
    owner: Owner
    component: str | None = None
    """Name in the component catalogue, where one matched."""
    segment: Segment | None = None
    """Where a gateway or router is involved, else None."""
    certainty: Certainty = "declared"
    origins: tuple[Origin, ...] = ()
    """Everything that led here, each once."""
    subject: Reference | None = None
    """The object whose configuration decides what is served under this name, where that is not the owner: a Route, a
    Gateway's listener, a webhook."""
    node: str | None = None
    """The node whose network the listener is in; None for the pod network and for what is outside of the cluster."""
    runs_on: str | None = None
    """The node on which the listening process runs, also where it is in the pod network: what limits go by."""
    pod: Reference | None = None
    """The pod that listens, where one is known: the replica. With another pod of the owner the id is the same."""
    candidates: tuple[Owner, ...] = ()
    """Of a port of a node: every workload with hostNetwork there that may own it. Of an address that several pods say
    they have: the owners of the others."""
    labels: tuple[tuple[str, str], ...] = ()
    """Of the owner's pods or of the object, for selectors."""
    aliases: tuple[str, ...] = ()
    """Balanced addresses that lead here, as ``host:port``: Services, load balancers, VIPs."""
    sampled: bool = False
    """A balanced address whose backends cannot be dialled: one of them answers, so nothing here can pass (design, the
    ten rules, 10)."""
    ready: bool = True
    """False where the cluster itself says that nothing listens now: a Service without ready endpoints."""
    tunnel: Tunnel | None = None
    """How to reach it through the API server."""
    expects: ClientCertificate | None = None
    """What the listener is known to ask of clients, from the component catalogue or the object."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """Every name or address that clients call: what is sent as SNI, ``host``, and the hosts of ``aliases``."""
        aliases = (each.rpartition(":")[0] for each in self.aliases)
        return tuple(dict.fromkeys(filter(None, (self.server_name, self.host, *aliases))))


def host_port(host: str, port: int) -> str:
    """``host:port``, an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def owner_order(owner: Owner) -> tuple[str, str, str]:
    """What owners are sorted by."""
    return owner.namespace or "", owner.kind, owner.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One ``TARGET`` of the command line or of a target file."""

    host: str
    """A DNS name (A-labels, lower case) or an IP address without brackets."""
    port: int
    transport: Transport = "tls"
    server_name: str | None = None
    """What to send as SNI: the fragment if there was one, else the host if it is a name, else None."""
    origin: str = "argument"
    """Where it was given: ``argument 2`` or ``targets.txt:3``."""

    @property
    def canonical(self) -> str:
        """The target in one spelling, its endpoint's id: ``tls://example.test:443``, SNI only where it differs."""
        fragment = f"#{self.server_name}" if self.server_name not in (None, self.host) else ""
        return f"{self.transport}://{host_port(self.host, self.port)}{fragment}"
