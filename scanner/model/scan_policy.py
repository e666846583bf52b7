"""The user's policy for a scan (``adhere.yaml``, ``kind: ScanPolicy``): selectors, thresholds, waivers, requirements.

Also the settings of ``--config``. ``scanner/config`` reads both files, in separate modules: pydantic takes 60 ms to
import, and most scans have no file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

from msgspec import Struct

from scanner.kube.objects import KubeObject
from scanner.model.endpoint import Endpoint
from scanner.model.finding import Finding, Severity, Status
from scanner.model.report import FailOn
from scanner.values import replace

MOST_DAYS = 36_500
"""Days until expiry: more is no useful threshold."""


class Policy(Struct, frozen=True, kw_only=True):
    """Thresholds of the rules, with the defaults of ``adhere scan`` without ``--config``."""

    expires_within_days: int = 30
    """Days before expiry for a finding of low severity."""
    expires_within_days_medium: int = 14
    """Days for medium severity."""
    expires_within_days_high: int = 3
    """Days for high severity."""
    min_rsa_bits: int = 2048
    groups: Literal["informational", "enforced"] = "informational"
    """Result of a group outside of the profile's list."""
    post_quantum: Severity | None = None
    """Severity of a listener without TLS 1.3 or a group with ML-KEM (``require.postQuantum``); None: not required."""
    plaintext_candidate: Literal["not_applicable", "warn", "fail"] = "not_applicable"
    """Result of plaintext on a merely discovered port."""


class Selector(Struct, frozen=True, kw_only=True):
    """All set fields must match, each with one of its alternatives. Patterns have ``*`` and ``?``."""

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
    files: tuple[str, ...] = ()
    """Patterns of the path of a manifest."""

    def matches(self, endpoint: Endpoint) -> bool:
        """True if it matches ``endpoint``. An empty selector matches every endpoint, one with files none."""
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
            and not self.files
        )

    def matches_object(self, each: KubeObject, file: str) -> bool:
        """True if it matches an object in ``file``, "" for one of a cluster; never with a field of endpoints only."""
        return (
            not (self.components or self.ports or self.endpoints)
            and _any(self.namespaces, {each.namespace or ""})
            and (not self.kinds or each.kind.name in self.kinds)
            and _any(self.names, {each.name})
            and set(self.labels) <= set(each.labels.items())
            and _any(self.files, {file})
        )


def any_matches(selectors: Iterable[Selector], endpoint: Endpoint) -> bool:
    """True if one of ``selectors`` matches ``endpoint``."""
    return any(each.matches(endpoint) for each in selectors)


def _any(patterns: tuple[str, ...], values: set[str]) -> bool:
    return not patterns or any(fnmatchcase(value, pattern) for value in values for pattern in patterns)


MOST_OF_NAMESPACE = 2_000


class Override(Struct, frozen=True, kw_only=True):
    """Another profile for some endpoints."""

    selector: Selector
    profile: str
    """A value of ``--profile``."""
    justification: str
    source: str
    """``adhere.yaml:12:5``."""
    binding: bool = True
    """True if a deviation is a violation; False: readiness."""


class Waiver(Struct, frozen=True, kw_only=True):
    """A temporary acceptance of findings, with its owner."""

    rule: str
    """The rule's id, or a pattern."""
    selector: Selector
    reason: str
    owner: str
    expires: date
    """The last day on which it waives (UTC)."""
    source: str
    ignore: bool = False
    """True for one that a manifest or an object's annotation has."""


Level: TypeAlias = Literal["off", "info", "low", "medium", "high", "critical"]
"""Severity of all findings of a rule; ``off``: the rule is not applied."""
Result: TypeAlias = bool | str
"""Result of an expression: a text is the reason why it is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomRule:
    """A requirement of the user: an expression that must be true."""

    id: str
    """``custom/NAME``."""
    title: str
    severity: Severity
    kinds: tuple[str, ...]
    """Kinds of the objects that lint judges by it; none: a rule on the endpoints of a scan."""
    message: str
    fix: str | None
    expression: str
    source: str
    holds: Callable[[Mapping[str, object]], Result] = field(compare=False, repr=False)
    """Evaluates the expression with the values of its variables."""

    @property
    def page(self) -> str:
        """The explanation for people, in Markdown."""
        return f"{self.message}\n\nThe policy file has this rule ({self.source}):\n\n    {self.expression}"

    @property
    def references(self) -> tuple[str, ...]:
        """The place in the policy file."""
        return (self.source,)


class Scope(Struct, frozen=True, kw_only=True):
    """The endpoints to scan."""

    include: tuple[Selector, ...] = ()
    """Selectors; one must match. None: everything."""
    exclude: tuple[Selector, ...] = ()
    accept_unreadable: tuple[str, ...] = ()
    """Resources (``secrets``, ``routes.route.openshift.io``) that may be unreadable."""
    endpoints_per_namespace: int = MOST_OF_NAMESPACE
    """Most listeners of one namespace of users."""


class Require(Struct, frozen=True, kw_only=True):
    """Requirements on the complete scan; each violated one is a finding without an endpoint."""

    min_endpoints: int | None = None
    strict_adherence: bool = False
    max_inconclusive: int | None = None
    pki_coverage: bool = False
    """True if all certificate names that the PKI object governs must be found and judged."""
    pki_not_implemented: bool = False
    """True if a certificate of an operator that does not follow the PKI object yet is a violation."""
    severity: Severity = "high"


class CertificateMinimums(Struct, frozen=True, kw_only=True):
    """Requirements on certificates without a PKI object. None and (): no requirement."""

    rsa_bits: int | None = None
    """Minimum bits of RSA keys."""
    curves: tuple[str, ...] = ()
    """Allowed curves of ECDSA keys: ``P256``, ``P384``, ``P521``."""
    signatures: tuple[str, ...] = ()
    """Allowed signature algorithms, such as ``sha256WithRSAEncryption``, of certificates that are not self-signed."""
    longest_days: int | None = None
    """Longest lifetime of certificates other than CAs."""


class ScanPolicy(Struct, frozen=True, kw_only=True):
    """The content of the file; the defaults are those of a scan without one."""

    source: str = ""
    """The file; empty if there is none."""
    profile: str | None = None
    """The profile of targets, and of endpoints without one from the cluster."""
    overrides: tuple[Override, ...] = ()
    """Overrides; the first match applies."""
    layered: tuple[Selector, ...] = ()
    """Layered products, besides those that OLM installed."""
    user_workloads_bound: bool = False
    """True if the cluster's profile binds workloads of users; else they are reported as readiness."""
    scope: Scope = Scope()
    waivers: tuple[Waiver, ...] = ()
    require: Require = Require()
    certificates: CertificateMinimums = CertificateMinimums()
    thresholds: Policy = Policy()
    """Thresholds of the rules, and the result of plaintext on merely discovered ports."""
    custom_rules: tuple[CustomRule, ...] = ()
    rules: tuple[tuple[str, Level], ...] = ()
    """Levels of rules, by id or pattern; the first match applies."""

    def level(self, rule_id: str) -> Level | None:
        """The level of a rule; None if the policy does not set it."""
        return next((level for pattern, level in self.rules if fnmatchcase(rule_id, pattern)), None)

    def adjusted(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Yield the findings with the severities of the policy, without those of rules that are off."""
        for each in findings:
            level = self.level(each.rule)
            if level is None:
                yield each
            elif level != "off":
                counted: Status = "informational" if level == "info" else "violation"
                status = counted if each.status in ("informational", "violation") else each.status
                yield replace(each, severity=level, status=status)

    @property
    def endpoint_rules(self) -> tuple[CustomRule, ...]:
        """The custom rules on endpoints."""
        return tuple(each for each in self.custom_rules if not each.kinds)


class Config(Struct, frozen=True, kw_only=True):
    """The settings of ``--config FILE``. None is "not set": the option's default applies. The command line wins."""

    profile: str | None = None
    """A profile's name, or a file, relative to the working directory like all paths here."""
    mode: Literal["inventory", "verdict"] | None = None
    fail_on: FailOn | None = None
    timeout: float | None = None
    """Seconds for one connection."""
    deadline: float | None = None
    """Seconds for one endpoint."""
    concurrency: int | None = None
    """Concurrent endpoints."""
    per_host: int | None = None
    """Concurrent connections to one host."""
    rate: float | None = None
    """New connections per second to all hosts."""
    confirm: bool | None = None
    deep: bool | None = None
    active_http: bool | None = None
    sni: str | None = None
    targets: tuple[str, ...] | None = None
    formats: tuple[str, ...] | None = None
    """Values of ``--format``: ``json=report.json``."""
    policy: Policy | None = None
