"""An endpoint: a listener that should use TLS, with its owner. A target: a listener that the user named."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from scanner.kube.objects import Reference
from scanner.model.observation import ClientCertificate

Transport = Literal["tls", "postgres", "mysql", "smtp", "imap", "pop3", "ldap", "ftp", "xmpp"]
"""``tls`` is TLS from the first byte; the others upgrade by the protocol's STARTTLS."""

Certainty = Literal["declared", "hinted", "candidate"]
"""``declared``: a person or an object says that it uses TLS. ``hinted``: a name or port suggests it. ``candidate``:
only an open port, where plaintext is not applicable, not a failure."""


class Owner(Struct, frozen=True, kw_only=True):
    """The object that owns the listener; for a target list, the target itself."""

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
    "socket",
]
"""The relation of an ``Origin``'s object to the listener. ``frontend``: clients connect there. ``backend``: a router
or gateway connects to it. ``well-known`` and ``catalogue``: from adhere's own tables; ``user``: from the command line
or a list of targets; ``socket``: a listening socket of a node."""


class Origin(Struct, frozen=True, kw_only=True):
    """One source of an endpoint: the object, and the part of it."""

    role: Role
    reference: Reference | None = None
    """None: no object of the cluster."""
    part: str = ""
    """Name of the webhook, listener, port or flag, termination of a Route, host of a Probe's target; without an
    object, the place: ``targets.txt:3``."""
    container: str = ""
    through: Reference | None = None
    """A second object: a listener's TLSRoute, a Probe's Ingress, the Secret that a container mounts."""
    foreign: bool = False
    """True for an object of another namespace, which does not decide about this listener."""

    @property
    def named(self) -> str:
        """The object, or the place in a list or table."""
        return str(self.reference) if self.reference else self.part


Segment = Literal["Frontend", "Backend"]
"""The part of a connection through a gateway or router, in the terms of GEP-2907: from the client to it, or from it
to the backend."""


class Tunnel(Struct, frozen=True, kw_only=True):
    """A route through the API server's port-forward, for a listener that cannot be dialled directly."""

    namespace: str
    pod: str
    port: int


class Endpoint(Struct, frozen=True, kw_only=True):
    """One listener at one address."""

    id: str
    """The workload's listener, stable from run to run: no IP of a pod, no pod hash. Replicas share it."""
    instance: str
    """``id`` with the dialled address (and vantage): one for each observation."""
    address: str
    """The dialled IP address, without brackets; empty if only ``host`` is known, which is resolved."""
    port: int
    server_name: str | None = None
    """Name in SNI (RFC 6066, section 3), or None for no server_name extension."""
    transport: Transport = "tls"
    host: str = ""
    """Host in the target or object, before name resolution; a certificate must be valid for it."""
    owner: Owner
    component: str | None = None
    """Name in the component catalogue, if any."""
    segment: Segment | None = None
    """Part of the connection, if there is a gateway or router."""
    certainty: Certainty = "declared"
    origins: tuple[Origin, ...] = ()
    """All sources, each once."""
    subject: Reference | None = None
    """The object that configures the listener for this name, if that is not the owner: a Route, a Gateway's
    listener, a webhook."""
    node: str | None = None
    """The node of a listener on the host network; None for the pod network and outside of the cluster."""
    runs_on: str | None = None
    """The node of the process, also for the pod network; limits are per node."""
    pod: Reference | None = None
    """The pod, if known. Other pods of the owner have the same id."""
    candidates: tuple[Owner, ...] = ()
    """Possible owners: of a port of a node, all workloads with hostNetwork there; of an address that several pods
    claim, the other owners."""
    labels: tuple[tuple[str, str], ...] = ()
    """Labels of the owner's pods or of the object, for selectors."""
    aliases: tuple[str, ...] = ()
    """Balanced addresses of this listener, as ``host:port``: Services, load balancers, VIPs."""
    sampled: bool = False
    """True for a balanced address whose backends cannot be dialled: only one of them answers, so it cannot pass
    (design, the ten rules, 10)."""
    ready: bool = True
    """False for a Service without ready endpoints."""
    tunnel: Tunnel | None = None
    """Route through the API server."""
    expects: ClientCertificate | None = None
    """Client certificate that the listener requests, by the component catalogue or the object."""
    network: str | None = None
    """The network namespace where its connections start: ``node worker-1``, ``pod shop/web-1``; None: the scanner's."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """All names and addresses of clients: SNI, ``host``, and the hosts of ``aliases``."""
        return tuple(dict.fromkeys(filter(None, (self.server_name, self.host, *self.alias_hosts))))

    @property
    def alias_hosts(self) -> tuple[str, ...]:
        """Hosts of ``aliases``; an IPv6 address in brackets, ``any-node`` for node ports."""
        return tuple(each.rpartition(":")[0] for each in self.aliases)

    @property
    def alias_ports(self) -> frozenset[int]:
        """Ports of ``aliases``."""
        return frozenset(int(port) for each in self.aliases if (port := each.rpartition(":")[2]).isdecimal())


def host_port(host: str, port: int) -> str:
    """``host:port``, an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def owner_order(owner: Owner) -> tuple[str, str, str]:
    """Sort key of owners."""
    return owner.namespace or "", owner.kind, owner.name


class Target(Struct, frozen=True, kw_only=True):
    """One ``TARGET`` of the command line or of a target file."""

    host: str
    """A DNS name (A-labels, lower case) or an IP address without brackets."""
    port: int
    transport: Transport = "tls"
    server_name: str | None = None
    """Name in SNI: the fragment of the target, else the host if it is a name, else None."""
    origin: str = "argument"
    """Place of the target: ``argument 2`` or ``targets.txt:3``."""

    @property
    def canonical(self) -> str:
        """The normalised target, which is the id of its endpoint: ``tls://example.test:443``; SNI only if it
        differs."""
        fragment = f"#{self.server_name}" if self.server_name not in (None, self.host) else ""
        return f"{self.transport}://{host_port(self.host, self.port)}{fragment}"
