"""One endpoint in a report: the public shape of a result (``docs/schema/scan-v1.json``), as JSON has it."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class FindingRow(TypedDict):
    """One finding. Texts are as received: a format escapes them for its own medium."""

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
    """What it is about where that is no single endpoint: the id that replicas share, an object, a line of a file."""


class KeyRow(TypedDict):
    algorithm: str | None
    size: int | None
    curve: str | None


class CertificateRow(TypedDict):
    """One certificate of the chain; a field that could not be read is null and named in ``unreadable``."""

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
    """Accepted, IANA names, in the order in which they were chosen."""
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
    """Profiles that are as good until a change has been rolled out."""
    remarks: list[str]
    adherence: str | None
    """What the cluster's ``tlsAdherence`` amounts to, where it has a say."""


class ObservedRow(TypedDict):
    """Null is "not known", and ``reasons`` says why under the same key; an empty list is "asked, and none"."""

    versions: dict[str, VersionRow | None] | None
    """Every version that was asked: refused has empty ``suites``; null could not be determined."""
    groups: list[str] | None
    client_certificate: str | None
    alpn: str | None
    ocsp_stapled: bool | None
    negotiated: NegotiatedRow | None
    chain: list[CertificateRow] | None
    connections: int
    attempts: list[str]
    """One line a connection: the offer, the reply, milliseconds."""


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
    """The word that every format has for verdict and status; rows of earlier releases have none."""
    reach: str
    detail: str
    expected: ExpectedRow
    observed: ObservedRow
    reasons: dict[str, str]
    findings: list[FindingRow]
    standing: str
    """``platform``, ``layered``, ``user`` or ``listed``: whether the cluster's profile binds it."""
    certainty: str
    subject: OwnerRow | None
    """The object that decides what is served under this name, where that is not the owner."""
    node: str | None
    pod: OwnerRow | None
    candidates: list[OwnerRow]
    """Of a port of a node: who may own it."""
    aliases: list[str]
    """Balanced addresses that lead here."""
    sampled: bool
    """A balanced address of which one backend answered: it cannot pass."""
    blocked_by: list[str]
    """NetworkPolicies that explain why nothing answered: ``shop/deny-all``."""
