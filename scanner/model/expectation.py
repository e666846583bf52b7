"""An expectation: what one endpoint owes, and who says so."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from scanner.model.known import Known
from scanner.model.profile import Profile

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
class StoredLeaf:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """The certificates of which a listener serves one, in Secrets or in an object itself."""

    leaves: tuple[StoredLeaf, ...] = ()
    """Of those that were read."""
    unread: tuple[str, ...] = ()
    """Those that were not, each with the reason."""
    wanted: bool = True
    """Whether anybody asked for Secrets at all."""
    exact: bool = False
    """Whether an object says that it is one of these; else the listener may have others that no object names."""
    default: StoredLeaf | None = None
    """What a router serves where a certificate that an object names is not in use; None: not known, or not another."""
    condition: str = ""
    """What the status of that object says of it."""


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
    stored: Stored | None = None
    """The Secrets whose certificate it serves; None where no object says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedOn:
    """An endpoint that is no more than the way to others: whatever it shows, one of them has shown."""

    source: str
    """The object and field that say so."""
    here: str
    """The id of the endpoint itself, as the cluster's own survey knows it."""
    backends: tuple[str, ...] = ()
    """Ids of the endpoints behind it; none: nobody knows any."""
    name: str | None = None
    """The server name that comes through: under another one a backend may show another certificate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherName:
    """A server name beside the endpoint's own, and what the listener owes whoever sends it."""

    name: str | None
    """None: no server name at all."""
    owed: Literal["refused", "validated", "compared"]
    """``refused``: nothing is served. ``validated``: whatever is served, a client certificate is asked for.
    ``compared``: nothing by itself; it comes here through somebody else, who must show the same."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What an endpoint owes."""

    profile: Known[Profile]
    """Unknown means that no rule on versions, suites or groups can pass."""
    certificate: CertificateExpectation = CertificateExpectation()
    client_certificate: Literal["none", "requested", "required"] | None = None
    """What the listener must ask of a client, or None for no expectation."""
    client_trust: str | None = None
    """The object and field that say whose client certificates are accepted: all others are refused. None: nothing says
    so."""
    passed_on: PassedOn | None = None
    """Where it is passed through; None: it answers itself."""
    neighbours: tuple[Neighbour, ...] = ()
    """Names whose content it must not give."""
    other_names: tuple[OtherName, ...] = ()
    """Names that the endpoint's place is asked for too."""
    tls13_suites_configurable: bool = False
    """True only where the listener is known to honour a list of TLS 1.3 suites. Go's crypto/tls never does
    (golang/go issue 29349), so by default the standard three are always allowed."""
    groups_configurable: bool = True
    """False where the listener is not known to apply a list of groups: then none outside of it is a violation."""
    binding: Binding = "must-follow"
    because: tuple[Because, ...] = ()
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
    overridden: Literal["metrics", "webhook"] | None = None
    """Where the policy file decides about a listener of the kind that should not deviate: which kind."""
    adherence: str | None = None
    """What the cluster's ``tlsAdherence`` amounts to here (``StrictAllComponents``), where it has a say."""
