"""One endpoint in a report: the public shape of a result (``docs/schema/scan-v1.json``), as JSON."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class FindingRow(TypedDict):
    """One finding. Texts are unescaped: a format escapes them."""

    rule: str
    severity: str
    verdict: str
    status: str
    message: str
    expected: list[str]
    observed: list[str]
    fix: str | None
    reproduce: str | None
    evidence: list[str]
    second_opinion: str | None
    waiver: str | None
    about: str | None
    """Its subject, if that is not one endpoint: the id that replicas share, an object, a line of a file."""


class KeyRow(TypedDict):
    algorithm: str | None
    size: int | None
    curve: str | None


class CertificateRow(TypedDict):
    """One certificate of the chain; an unreadable field is null and listed in ``unreadable``."""

    subject: str | None
    issuer: str | None
    sans: list[str] | None
    not_before: str | None
    not_after: str | None
    key: KeyRow
    signature: str | None
    sha256: str
    unreadable: dict[str, str]


class VersionRow(TypedDict):
    suites: list[str] | None
    """Accepted suites by IANA name, in the order of selection."""
    refused: list[str]
    enumerated: bool
    preference: str | None
    groups: list[str] | None


class NegotiatedRow(TypedDict):
    version: str
    suite: str
    group: str | None


class ExpectedRow(TypedDict):
    profile: str | None
    min_version: str | None
    suites: list[str]
    groups: list[str] | None
    because: list[str]
    alternatives: list[str]
    """Profiles that are allowed until a change is rolled out."""
    remarks: list[str]
    adherence: str | None
    """Effective value of the cluster's ``tlsAdherence``, if it applies."""


class ObservedRow(TypedDict):
    """Null is "unknown", with the reason under the same key in ``reasons``; an empty list is "none"."""

    versions: dict[str, VersionRow | None] | None
    """All offered versions: a refused one has empty ``suites``; null is unknown."""
    groups: list[str] | None
    client_certificate: str | None
    alpn: str | None
    ocsp_stapled: bool | None
    negotiated: NegotiatedRow | None
    chain: list[CertificateRow] | None
    connections: int
    attempts: list[str]
    """One line for each connection: the offer, the reply, milliseconds."""


class OwnerRow(TypedDict):
    """An object by its name."""

    kind: str
    namespace: str | None
    name: str


class EndpointRow(TypedDict):
    id: str
    instance: str
    owner: OwnerRow
    component: str | None
    segment: str | None
    origins: list[str]
    binding: str
    address: str
    port: int
    server_name: str | None
    transport: str
    verdict: str
    status: str
    outcome: NotRequired[str]
    """The outcome of verdict and status; missing in rows of earlier releases."""
    reach: str
    detail: str
    expected: ExpectedRow
    observed: ObservedRow
    reasons: dict[str, str]
    findings: list[FindingRow]
    standing: str
    """``platform``, ``layered``, ``user`` or ``listed``: decides if the cluster's profile binds it."""
    certainty: str
    subject: OwnerRow | None
    """The object that configures the listener for this name, if that is not the owner."""
    node: str | None
    pod: OwnerRow | None
    candidates: list[OwnerRow]
    """Possible owners of a port of a node."""
    aliases: list[str]
    """Balanced addresses of this listener."""
    sampled: bool
    """True for a balanced address whose backends could not be probed one by one: it cannot pass."""
    blocked_by: list[str]
    """NetworkPolicies that explain the silence: ``shop/deny-all``."""
