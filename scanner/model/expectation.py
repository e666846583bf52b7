"""An expectation: what one endpoint must do, and which objects say so."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from scanner.kube.maybe import Known
from scanner.kube.tls_profile import Profile

Binding = Literal["must-follow", "settling", "not-enforced"]
"""``must-follow``: a deviation is a violation. ``settling``: a change is being rolled out, and what
``alternatives`` allow is as good; without any, what was before is not known, and a deviation is inconclusive.
``not-enforced``: a deviation is readiness only, and never reaches ``--fail-on``."""


Standing = Literal["platform", "layered", "user", "listed"]
"""Who is bound by the cluster's profile: ``platform`` components, ``layered`` products (which may deviate with a
justification), ``user`` workloads (readiness, unless the policy says otherwise); ``listed``: given by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Because:
    """One step of the reasoning: an object or argument, its field, what it said, and what it beat."""

    source: str
    """``APIServer/cluster``, ``--profile`` or ``targets.txt:3``."""
    field: str
    said: str
    beat: str | None = None
    decides: bool = False
    """Whether this step gave the profile that stands in the end."""

    def __str__(self) -> str:
        beat = f", over {self.beat}" if self.beat else ""
        return f"{' '.join(filter(None, (self.source, self.field)))}: {self.said}{beat}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lever:
    """Where somebody sets what a listener speaks: what a fix names."""

    where: str
    """The object, or what else holds the setting: ``Pod/kube-system/etcd-cp``, ``IngressController/...``."""
    field: str = ""
    """A field that holds a profile: ``spec.tlsSecurityProfile``."""
    minimum: str = ""
    """A flag or field for the lowest version alone: ``--tls-min-version``."""
    suites: str = ""
    """The same for cipher suites."""
    spelling: Literal["openssl", "component-base", "etcd"] = "openssl"
    """How the values are written."""
    container: str = ""
    """The container that has the flags."""
    files: tuple[str, ...] = ()
    """Files of a node that hold the setting."""
    others: tuple[str, ...] = ()
    """Objects in which the same has to be set, or the next change undoes it."""
    told: str = ""
    """What the setting says now, where it is weaker than required: the cause of a deviation."""
    applied_by: str = ""
    """The component whose operator brings the setting to the listener; empty: the process reads it itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredIssuer:
    """A certificate behind the first one of a Secret."""

    sha256: str
    subject: str | None
    issuer: str | None

    @property
    def self_issued(self) -> bool:
        """Whether it is nobody's, as a root is: no client needs it from the wire."""
        return self.subject is not None and self.subject == self.issuer


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredLeaf:
    """The certificate in a Secret that a listener is known to serve."""

    place: str
    """``Secret/shop/web-tls data[tls.crt]``, ``Route/shop/web spec.tls.certificate``."""
    sha256: str
    serial: int | None
    names: frozenset[str] | None
    """Its subject alternative names; None where they cannot be read."""
    issuer: str | None
    not_before: datetime | None
    kept_by: str = ""
    """The cert-manager Certificate that the Secret belongs to: what to edit instead."""
    issuers: tuple[DeclaredIssuer, ...] = ()
    """What stands behind it, in that order, to be sent with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredCertificates:
    """The certificates of which a listener serves one, in Secrets or in an object itself."""

    leaves: tuple[DeclaredLeaf, ...] = ()
    """Of those that were read."""
    unread: tuple[str, ...] = ()
    """Those that were not, each with the reason."""
    wanted: bool = True
    """Whether anybody asked for Secrets at all."""
    exact: bool = False
    """Whether an object says that it is one of these; else the listener may have others that no object names."""
    default: DeclaredLeaf | None = None
    """What a router serves where a certificate that an object names is not in use; None: not known, or not another."""
    condition: str = ""
    """What the status of that object says of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingGrant:
    """A Secret of another namespace that an object names for a listener, and that its owner has not let it name."""

    who: str
    """The object and field: ``Gateway/edge/front listener one``."""
    secret: str
    """``Secret/certs/web-tls``."""
    leaf: Known[DeclaredLeaf]
    """Its certificate, or why that is not known."""
    asked: bool = True
    """Whether anybody asked for Secrets at all."""
    doubt: str = ""
    """Why it may be allowed all the same; empty: it is not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """Whoever calls a listener and verifies it, by an object that says whom it trusts."""

    who: str
    """``Route/shop/web reencrypt backend``, ``ValidatingWebhookConfiguration/hook webhook a.example``."""
    source: str
    """The object and field that hold its anchors."""
    anchors: tuple[bytes, ...]
    """DER; none where the field holds no certificate that can be read."""
    name: str | None
    """What it verifies the certificate for, a DNS name, an address or a URI; None: it looks at no name."""
    others: tuple[str, ...] = ()
    """Further names: one of all will do."""
    missing: str = ""
    """Why there are no anchors, where that is not the field's fault: nobody read the object that holds them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateExpectation:
    """What the served certificate must satisfy."""

    names: tuple[str, ...] = ()
    """DNS names or IP addresses that the leaf must be valid for; none: names are not judged."""
    anchors: tuple[bytes, ...] = ()
    """DER of the trust anchors that a client of this listener uses; none known: the chain is not judged."""
    anchor_source: str = ""
    """Where the anchors come from, for the reader: a file, an object and field."""
    clients: tuple[Client, ...] = ()
    """Clients that are known one by one, each with its own trust; those without any are left out."""
    declared: DeclaredCertificates | None = None
    """The Secrets whose certificate it serves; None where no object says which."""
    missing_grants: tuple[MissingGrant, ...] = ()
    """The Secrets whose certificate it may not serve, although an object names them for it."""
    beside: frozenset[str] = frozenset()
    """Where there are such: SHA-256 of the certificates that other names of the same place may be served with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """A Gateway that is to connect to a backend by TLS, because a policy says so."""

    gateway: str
    """``Gateway/edge/front``."""
    policy: str
    """``BackendTLSPolicy/shop/web``."""
    identity: str = ""
    """The Secret with the client certificate that the Gateway has for its backends; empty: it has none."""
    doubt: str = ""
    """Why the Gateway may have one or not, whatever ``identity`` says."""
    plaintext: str = ""
    """Of a controller that goes on without TLS where it cannot apply a policy: why it cannot apply this one."""
    fails_open: bool = False
    """Whether its controller is such a one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedOn:
    """An endpoint that is no more than the way to others: whatever it shows, one of them has shown."""

    source: str
    """The object and field that say so."""
    here: str
    """The id of the endpoint itself, as the cluster's own assessment knows it."""
    backends: tuple[str, ...] = ()
    """Ids of the endpoints behind it; none: nobody knows any."""
    name: str | None = None
    """The server name that comes through: under another one a backend may show another certificate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherName:
    """A server name beside the endpoint's own, and what the listener owes whoever sends it."""

    name: str | None
    """None: no server name at all."""
    owed: Literal["refused", "validated", "compared", "default", "same", "unasked"]
    """``refused``: nothing is served. ``validated``: whatever is served, a client certificate is asked for.
    ``compared``: nothing by itself; it comes here through somebody else, who must show the same. ``default``: nothing,
    or what the endpoint itself shows. ``same``: what the endpoint itself shows. ``unasked``: one of those that are too
    many to be asked."""
    because: str
    """The object and field that say so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """Another name at the same place, whose content does not belong into a connection that was made for this one."""

    name: str
    guarded: bool
    """Whether it asks clients for a certificate and this one does not."""
    because: str
    """The object that serves it."""
    covered: bool = False
    """Whether the hostname of this one, a wildcard, has the name too: what is answered here may be its own content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainPort:
    """The port at the same address for those who come without TLS."""

    port: int
    path: str
    """What is asked for there."""
    owed: Literal["nothing", "redirect", "served"] | None
    """``nothing`` for this name, a redirect to TLS, or the content itself; None: no object says which."""
    because: str
    """The object and field that say so."""
    conditional: bool = False
    """Whether ``owed`` holds only for requests with more than that path, which is all that is asked with; where nothing
    is owed, whether there may be other paths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What an endpoint owes."""

    profile: Known[Profile]
    """Unknown means that no rule on versions, suites or groups can pass."""
    certificate: CertificateExpectation = CertificateExpectation()
    client_certificate: Literal["none", "requested", "required"] | None = None
    """What the listener must ask of a client, or None for no expectation."""
    client_source: str = ""
    """The object and field, or the entry of the catalogue, that says what must be asked."""
    client_trust: str | None = None
    """The object and field that say whose client certificates are accepted: all others are refused. None: nothing says
    so."""
    client_unasked: str | None = None
    """The object and field by which no client is asked for a certificate, where one says how clients are dealt with."""
    rejection: str = ""
    """Why nothing is to be served under its name, although an object leads here; empty: something is."""
    stale_status: str = ""
    """Why what objects promise of it may not be what its proxy was told yet; empty: nothing says so."""
    passed_on: PassedOn | None = None
    """Where it is passed through; None: it answers itself."""
    upstreams: tuple[Upstream, ...] = ()
    """Of a backend: the Gateways that a policy has call it by TLS."""
    neighbours: tuple[Neighbour, ...] = ()
    """Names whose content it must not give."""
    plain_port: PlainPort | None = None
    """Where its name is had without TLS, if anybody lets it be; None: objects have no such port, or no such name."""
    other_names: tuple[OtherName, ...] = ()
    """Names that the endpoint's place is asked for too."""
    tls13_suites_configurable: bool = False
    """True only where the listener is known to honour a list of TLS 1.3 suites. Go's crypto/tls never does
    (golang/go issue 29349), so by default the standard three are always allowed."""
    groups_configurable: bool = True
    """False where the listener is not known to apply a list of groups: then none outside of it is a violation."""
    binding: Binding = "must-follow"
    because: tuple[Because, ...] = ()
    lever: Lever | None = None
    """Where what it speaks is set; None: in a configuration that no object shows."""
    standing: Standing = "listed"
    alternatives: tuple[Profile, ...] = ()
    """While a change is rolled out (``settling``): other profiles that are as good until it has settled."""
    skewed: tuple[Profile, ...] = ()
    """While the cluster is upgraded: what the same configuration means in the other release that is in play. Where code
    and document disagree about whose settings count: the document's."""
    settles_by: datetime | None = None
    """Until when ``settling`` is believed."""
    component: str | None = None
    """The component of the catalogue, where one governs this listener."""
    remarks: tuple[str, ...] = ()
    """What a reader should know that decides nothing: a feature gate that is off, a deprecated spelling."""
    overridden: Literal["metrics", "webhook", "api"] | None = None
    """Where the policy file decides about a listener of the kind that should not deviate: which kind."""
    adherence: str | None = None
    """What the cluster's ``tlsAdherence`` amounts to here (``StrictAllComponents``), where it has a say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownAdherence:
    """One such value."""

    source: str
    """``APIServer/cluster``."""
    field: str
    """``spec.tlsAdherence``."""
    said: str
    """``'StrictestOfAll', unknown, which means StrictAllComponents``."""
    known: tuple[str, ...] = ()
    """What could have been written instead."""
