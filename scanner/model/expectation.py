"""An expectation: the requirements on one endpoint, and the objects that state them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct

from scanner.kube.maybe import Known
from scanner.kube.tls_profile import Profile

Binding = Literal["must-follow", "settling", "not-enforced"]
"""``must-follow``: a deviation is a violation. ``settling``: a change is being rolled out, and ``alternatives`` are
allowed too; without any, the state before is unknown and a deviation is inconclusive. ``not-enforced``: a deviation is
readiness only, and never affects ``--fail-on``."""


Standing = Literal["platform", "layered", "user", "listed"]
"""Classes of workloads: ``platform`` components, bound by the cluster's profile; ``layered`` products (which may
deviate with a justification); ``user`` workloads (readiness, unless the policy says otherwise); ``listed``: targets."""


class Because(Struct, frozen=True, kw_only=True):
    """One step of the reasoning: an object or argument, its field, the value, and what it overrides."""

    source: str
    """``APIServer/cluster``, ``--profile`` or ``targets.txt:3``."""
    field: str
    said: str
    beat: str | None = None
    decides: bool = False
    """True if this step decides the profile."""

    def __str__(self) -> str:
        beat = f", over {self.beat}" if self.beat else ""
        return f"{' '.join(filter(None, (self.source, self.field)))}: {self.said}{beat}"


class Lever(Struct, frozen=True, kw_only=True):
    """The setting that decides a listener's TLS: named in a fix."""

    where: str
    """The object, or another holder of the setting: ``Pod/kube-system/etcd-cp``, ``IngressController/...``."""
    field: str = ""
    """A field with a profile: ``spec.tlsSecurityProfile``."""
    minimum: str = ""
    """A flag or field for the minimum version only: ``--tls-min-version``."""
    suites: str = ""
    """The same for cipher suites."""
    spelling: Literal["openssl", "component-base", "etcd"] = "openssl"
    """Syntax of the values."""
    container: str = ""
    """The container that has the flags."""
    files: tuple[str, ...] = ()
    """Files of a node with the setting."""
    others: tuple[str, ...] = ()
    """Objects that need the same setting, or the next change reverts it."""
    told: str = ""
    """The present value, if it is weaker than required: the cause of a deviation."""
    applied_by: str = ""
    """The component whose operator applies the setting; empty: the process reads it itself."""


class StatedGroups(Struct, frozen=True, kw_only=True):
    """The key-exchange groups that a process is configured with: a requirement, whatever the policy's threshold is."""

    setting: str
    """``Pod/kube-system/kube-apiserver-cp --tls-curve-preferences``."""
    codes: tuple[int, ...] = ()
    unknown: str = ""
    """The reason why they are unknown."""


class DeclaredIssuer(Struct, frozen=True, kw_only=True):
    """A certificate after the first one of a Secret."""

    sha256: str
    subject: str | None
    issuer: str | None

    @property
    def self_issued(self) -> bool:
        """True for a root, which no client needs from the server."""
        return self.subject is not None and self.subject == self.issuer


class DeclaredLeaf(Struct, frozen=True, kw_only=True):
    """The certificate in a Secret that a listener serves."""

    place: str
    """``Secret/shop/web-tls data[tls.crt]``, ``Route/shop/web spec.tls.certificate``."""
    sha256: str
    serial: int | None
    names: frozenset[str] | None
    """Its subject alternative names; None if they cannot be read."""
    issuer: str | None
    not_before: datetime | None
    kept_by: str = ""
    """The cert-manager Certificate that owns the Secret, and must be edited instead."""
    issuers: tuple[DeclaredIssuer, ...] = ()
    """The certificates after it, in order, which are sent with it."""


class DeclaredCertificates(Struct, frozen=True, kw_only=True):
    """Certificates in Secrets or in an object; the listener serves one of them."""

    leaves: tuple[DeclaredLeaf, ...] = ()
    """Certificates that were read."""
    unread: tuple[str, ...] = ()
    """Certificates that were not read, with the reason."""
    wanted: bool = True
    """True if the scan reads Secrets."""
    exact: bool = False
    """True if the listener serves one of these; else it may have others that no object names."""
    default: DeclaredLeaf | None = None
    """A router's certificate if the named one is not in use; None: unknown, or no other one."""
    condition: str = ""
    """Condition in the status of that object."""


class MissingGrant(Struct, frozen=True, kw_only=True):
    """A Secret of another namespace that an object names for a listener, without a grant from its owner."""

    who: str
    """The object and field: ``Gateway/edge/front listener one``."""
    secret: str
    """``Secret/certs/web-tls``."""
    leaf: Known[DeclaredLeaf]
    """Its certificate, or why that is unknown."""
    asked: bool = True
    """True if the scan reads Secrets."""
    doubt: str = ""
    """The reason why it may be allowed; empty: it is not."""


class Client(Struct, frozen=True, kw_only=True):
    """A client that verifies a listener, by an object with its trust."""

    who: str
    """``Route/shop/web reencrypt backend``, ``ValidatingWebhookConfiguration/hook webhook a.example``."""
    source: str
    """The object and field with its anchors."""
    anchors: tuple[bytes, ...]
    """Anchors in DER; none if the field has no readable certificate."""
    name: str | None
    """The name that it verifies, a DNS name, an address or a URI; None: it verifies no name."""
    others: tuple[str, ...] = ()
    """Further names; a certificate for one of them is enough."""
    missing: str = ""
    """The reason for missing anchors, if the object with them was not read."""


class CertificateExpectation(Struct, frozen=True, kw_only=True):
    """Requirements on the served certificate."""

    names: tuple[str, ...] = ()
    """DNS names or IP addresses for which the leaf must be valid; none: names are not judged."""
    anchors: tuple[bytes, ...] = ()
    """Trust anchors of the listener's clients in DER; none known: the chain is not judged."""
    anchor_source: str = ""
    """Source of the anchors, for the reader: a file, an object and field."""
    clients: tuple[Client, ...] = ()
    """Known clients, each with its own trust; those without any are left out."""
    declared: DeclaredCertificates | None = None
    """Secrets with its certificate; None if no object names them."""
    missing_grants: tuple[MissingGrant, ...] = ()
    """Secrets whose certificate it must not serve, although an object names them."""
    beside: frozenset[str] = frozenset()
    """With ``ungranted``: SHA-256 of the certificates for other names of the same listener."""


class Upstream(Struct, frozen=True, kw_only=True):
    """A Gateway that must connect to a backend by TLS, because of a policy."""

    gateway: str
    """``Gateway/edge/front``."""
    policy: str
    """``BackendTLSPolicy/shop/web``."""
    identity: str = ""
    """The Secret with the Gateway's client certificate for backends; empty: none."""
    doubt: str = ""
    """The reason why the Gateway's client certificate is unknown, whatever ``identity`` is."""
    plaintext: str = ""
    """The reason why this policy cannot be applied, if the controller then connects without TLS."""
    fails_open: bool = False
    """True for a controller that connects without TLS if it cannot apply a policy."""


class PassedOn(Struct, frozen=True, kw_only=True):
    """An endpoint that only leads to others, whose results it shows."""

    source: str
    """The object and field that declare it."""
    here: str
    """Id of the endpoint itself in the cluster's own assessment."""
    backends: tuple[str, ...] = ()
    """Ids of the endpoints behind it; none: unknown."""
    name: str | None = None
    """The server name that comes through: under another one a backend may show another certificate."""


class OtherName(Struct, frozen=True, kw_only=True):
    """Another server name, and the required behaviour for it."""

    name: str | None
    """None: no server name at all."""
    owed: Literal["refused", "validated", "compared", "default", "same", "unasked"]
    """``refused``: nothing is served. ``validated``: a client certificate is requested, whatever is served.
    ``compared``: nothing by itself; another client must observe the same. ``default``: nothing, or the endpoint's own
    result. ``same``: the endpoint's own result. ``unasked``: one of too many names."""
    because: str
    """The object and field that say so."""


class Neighbour(Struct, frozen=True, kw_only=True):
    """Another name at the same place, whose content does not belong into a connection that was made for this one."""

    name: str
    guarded: bool
    """True if it requests a client certificate and this one does not."""
    because: str
    """The object that serves it."""
    covered: bool = False
    """True if the wildcard hostname of this one covers the name too: the answer may be its own content."""


class PlainPort(Struct, frozen=True, kw_only=True):
    """The port at the same address for those who come without TLS."""

    port: int
    path: str
    """The request."""
    owed: Literal["nothing", "redirect", "served"] | None
    """``nothing`` for this name, a redirect to TLS, or the content itself; None: no object says which."""
    because: str
    """The object and field that say so."""
    conditional: bool = False
    """True if the requirement holds only for requests with more than that path, which is the only request sent;
    without a requirement, if there may be other paths."""


class Expectation(Struct, frozen=True, kw_only=True):
    """The requirements on an endpoint."""

    profile: Known[Profile]
    """Unknown means that no rule on versions, suites or groups can pass."""
    certificate: CertificateExpectation = CertificateExpectation()
    client_certificate: Literal["none", "requested", "required"] | None = None
    """The required request for a client certificate, or None for no expectation."""
    client_source: str = ""
    """The object and field, or the entry of the catalogue, that says what must be asked."""
    client_trust: str | None = None
    """The object and field that say whose client certificates are accepted: all others are refused. None: nothing says
    so."""
    client_unasked: str | None = None
    """The object and field by which no client is asked for a certificate, where one says how clients are dealt with."""
    rejection: str = ""
    """The reason why this name must not be served, although an object names it; empty: it must be."""
    refusal: str = ""
    """The reason why nothing need be served for this name, although something may be; empty: it must be served."""
    stale_status: str = ""
    """The reason why the proxy may not have the objects' configuration yet; empty: none."""
    passed_on: PassedOn | None = None
    """The listeners behind it; None: it answers itself."""
    upstreams: tuple[Upstream, ...] = ()
    """Gateways that connect to this backend by TLS, because of a policy."""
    neighbours: tuple[Neighbour, ...] = ()
    """Names whose content it must not give."""
    plain_port: PlainPort | None = None
    """The port for plaintext requests to this name, if allowed; None: objects have no such port or name."""
    other_names: tuple[OtherName, ...] = ()
    """Names that the endpoint's place is asked for too."""
    tls13_suites_configurable: bool = False
    """True only where the listener is known to honour a list of TLS 1.3 suites. Go's crypto/tls never does
    (golang/go issue 29349), so by default the standard three are always allowed."""
    groups_configurable: bool = True
    """False where the listener is not known to apply a list of groups: then none outside of it is a violation."""
    stated_groups: StatedGroups | None = None
    without_groups: str = ""
    """The program, if it is known to have no setting for groups: ``etcd``."""
    binding: Binding = "must-follow"
    because: tuple[Because, ...] = ()
    lever: Lever | None = None
    """The setting of its TLS; None: in a configuration that no object shows."""
    standing: Standing = "listed"
    alternatives: tuple[Profile, ...] = ()
    """While a change is rolled out (``settling``): other allowed profiles."""
    skewed: tuple[Profile, ...] = ()
    """While the cluster is upgraded: the meaning of the same configuration in the other release. If code and
    document disagree about the source of the settings: the one of the document."""
    settles_by: datetime | None = None
    """Time at which ``settling`` ends."""
    component: str | None = None
    """The component in the catalogue, if one governs this listener."""
    remarks: tuple[str, ...] = ()
    """Remarks without effect: a disabled feature gate, a deprecated spelling."""
    overridden: Literal["metrics", "webhook", "api"] | None = None
    """Kind of listener that should not deviate, if the policy file overrides its profile."""
    adherence: str | None = None
    """Effective value of the cluster's ``tlsAdherence`` (``StrictAllComponents``), if it applies."""


class UnknownAdherence(Struct, frozen=True, kw_only=True):
    """One unknown value of ``tlsAdherence``."""

    source: str
    """``APIServer/cluster``."""
    field: str
    """``spec.tlsAdherence``."""
    said: str
    """``'StrictestOfAll', unknown, which means StrictAllComponents``."""
    known: tuple[str, ...] = ()
    """Valid values."""
