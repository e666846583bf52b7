"""The user's policy for a whole scan: ``adhere.yaml``, ``kind: ScanPolicy``. ``scan_policy_file`` reads it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from scanner.model.finding import Severity
from scanner.model.policy import Policy
from scanner.model.selector import Selector

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
