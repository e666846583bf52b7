"""The user's policy for a scan (``adhere.yaml``, ``kind: ScanPolicy``): selectors, thresholds, waivers, requirements.

And what ``--config`` sets. ``scanner/config`` reads both files: apart, because pydantic takes 60 ms to import and most
scans have no file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from typing import Literal

from scanner.model.endpoint import Endpoint
from scanner.model.finding import Severity
from scanner.model.report import FailOn

MOST_DAYS = 36_500
"""Until a certificate ends: more is no threshold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Thresholds of the rules. The defaults are what ``adhere scan`` without ``--config`` uses."""

    expires_within_days: int = 30
    """A certificate that expires sooner is a finding of low severity."""
    expires_within_days_medium: int = 14
    """Of medium severity."""
    expires_within_days_high: int = 3
    """Of high severity."""
    min_rsa_bits: int = 2048
    groups: Literal["informational", "enforced"] = "informational"
    """Whether a group outside the profile's list is a violation."""
    plaintext_candidate: Literal["not_applicable", "warn", "fail"] = "not_applicable"
    """What plaintext on a merely discovered port means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """All that is given must hold; within one field, one of the alternatives. Patterns have ``*`` and ``?``."""

    namespaces: tuple[str, ...] = ()
    """Patterns of the owner's or the subject's namespace."""
    kinds: tuple[str, ...] = ()
    """Kinds of the owner or of the subject: ``Deployment``, ``Route``."""
    names: tuple[str, ...] = ()
    """Patterns of the owner's or the subject's name."""
    components: tuple[str, ...] = ()
    """Patterns of the component's name in the catalogue."""
    labels: tuple[tuple[str, str], ...] = ()
    """Labels that the endpoint must have."""
    ports: tuple[int, ...] = ()
    endpoints: tuple[str, ...] = ()
    """Patterns of the endpoint's id."""

    def matches(self, endpoint: Endpoint) -> bool:
        """Whether ``endpoint`` is meant. An empty selector means every endpoint."""
        owner, subject = endpoint.owner, endpoint.subject
        kinds = {owner.kind} | ({subject.kind} if subject else set())
        namespaces = {owner.namespace or ""} | ({subject.namespace or ""} if subject else set())
        names = {owner.name} | ({subject.name} if subject else set())
        return (
            _any(self.namespaces, namespaces)
            and (not self.kinds or not kinds.isdisjoint(self.kinds))
            and _any(self.names, names)
            and _any(self.components, {endpoint.component or ""})
            and set(self.labels) <= set(endpoint.labels)
            and (not self.ports or endpoint.port in self.ports)
            and _any(self.endpoints, {endpoint.id})
        )


def any_matches(selectors: Iterable[Selector], endpoint: Endpoint) -> bool:
    """Whether one of ``selectors`` means ``endpoint``; none of none does."""
    return any(each.matches(endpoint) for each in selectors)


def _any(patterns: tuple[str, ...], values: set[str]) -> bool:
    return not patterns or any(fnmatchcase(value, pattern) for value in values for pattern in patterns)


MOST_OF_NAMESPACE = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """Another profile for some endpoints."""

    selector: Selector
    profile: str
    """As ``--profile`` takes it."""
    justification: str
    source: str
    """``adhere.yaml:12:5``."""
    binding: bool = True
    """Whether a deviation is a violation; False: readiness."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiver:
    """A finding that somebody answers for, for some time."""

    rule: str
    """The rule's id, or a pattern."""
    selector: Selector
    reason: str
    owner: str
    expires: date
    """The last day on which it waives (UTC)."""
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What is scanned at all."""

    include: tuple[Selector, ...] = ()
    """One of them must match; none given: everything."""
    exclude: tuple[Selector, ...] = ()
    accept_unreadable: tuple[str, ...] = ()
    """Resources (``secrets``, ``routes.route.openshift.io``) whose absence from the snapshot is accepted."""
    endpoints_per_namespace: int = MOST_OF_NAMESPACE
    """Of users: how many listeners of one namespace are asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Require:
    """What must be true of the scan as a whole; what is not is a finding without an endpoint."""

    min_endpoints: int | None = None
    strict_adherence: bool = False
    max_inconclusive: int | None = None
    pki_coverage: bool = False
    """Whether every certificate name has to be seen and judged of which the PKI object requires something."""
    pki_not_implemented: bool = False
    """Whether a certificate is a violation whose operator does not follow the PKI object yet."""
    severity: Severity = "high"


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateMinimums:
    """What certificates must be for which no PKI object says anything. None and (): no opinion."""

    rsa_bits: int | None = None
    """Of every RSA key."""
    curves: tuple[str, ...] = ()
    """``P256``, ``P384``, ``P521``: of every ECDSA key, one of them."""
    signatures: tuple[str, ...] = ()
    """``sha256WithRSAEncryption`` and so on: of everything that an issuer signed, one of them."""
    longest_days: int | None = None
    """Of the life of everything that is no CA's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanPolicy:
    """Everything that the file can say; the defaults are those of a scan without one."""

    source: str = ""
    """The file; empty where there is none."""
    profile: str | None = None
    """What endpoints owe that the cluster says nothing of, and targets."""
    overrides: tuple[Override, ...] = ()
    """The first that selects an endpoint decides."""
    layered: tuple[Selector, ...] = ()
    """Layered products, beside those that OLM installed."""
    user_workloads_bound: bool = False
    """Whether workloads of users owe the cluster's profile; else they are reported as readiness."""
    scope: Scope = Scope()
    waivers: tuple[Waiver, ...] = ()
    require: Require = Require()
    certificates: CertificateMinimums = CertificateMinimums()
    thresholds: Policy = Policy()
    """What the rules compare with, plaintext on merely discovered ports among it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What ``--config FILE`` sets. None is "not set": then the option's own default holds; the command line wins."""

    profile: str | None = None
    """A profile's name, or a file; like every path in here as seen from the working directory."""
    mode: Literal["inventory", "verdict"] | None = None
    fail_on: FailOn | None = None
    timeout: float | None = None
    """Of one connection, in seconds."""
    deadline: float | None = None
    """Of one endpoint, in seconds."""
    concurrency: int | None = None
    """Endpoints at once."""
    per_host: int | None = None
    """Connections at once to one host."""
    rate: float | None = None
    """New connections per second, to all hosts together."""
    confirm: bool | None = None
    deep: bool | None = None
    active_http: bool | None = None
    sni: str | None = None
    targets: tuple[str, ...] | None = None
    formats: tuple[str, ...] | None = None
    """As ``--format`` takes them: ``json=report.json``."""
    policy: Policy | None = None
