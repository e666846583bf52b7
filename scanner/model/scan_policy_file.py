"""The policy file of a scan, ``adhere.yaml``: ``kind: ScanPolicy``. Docs: ``docs/policy.md``.

What it says decides what counts as wrong, so nothing in it may be without effect by mistake: an unknown field, a rule
that does not exist, a waiver without an end are refused, all at once, each with file, line and column.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import date
from fnmatch import fnmatchcase
from typing import Final, Literal, TypeAlias

from scanner.errors import InputError, UsageError
from scanner.files import yaml_values
from scanner.files.problems import Problems, did_you_mean
from scanner.files.source_positions import Located, shown
from scanner.kube import kinds
from scanner.model import catalogue
from scanner.model.finding import SEVERITIES, Severity
from scanner.model.key import CURVES
from scanner.model.policy import MOST_DAYS, Policy
from scanner.model.retired_rules import current
from scanner.model.scan_policy import CertificateMinimums, Override, Require, ScanPolicy, Scope, Waiver
from scanner.model.section import Section, header
from scanner.model.selector import Selector
from scanner.tls.oids import SIGNATURES

KIND: Final = "ScanPolicy"

_Enforcement: TypeAlias = Literal["enforced", "readiness"]
_Groups: TypeAlias = Literal["informational", "enforced"]
_Plaintext: TypeAlias = Literal["not_applicable", "warn", "fail"]
_Adherence: TypeAlias = Literal["Strict"]

_ENFORCEMENT: Final[tuple[_Enforcement, ...]] = ("enforced", "readiness")
_GROUPS: Final[tuple[_Groups, ...]] = ("informational", "enforced")
_PLAINTEXT: Final[tuple[_Plaintext, ...]] = ("not_applicable", "warn", "fail")
_ADHERENCE: Final[tuple[_Adherence, ...]] = ("Strict",)
_COMPLETE: Final = ("complete",)
_VIOLATION: Final = ("violation",)
_SIGNATURES: Final = tuple(dict.fromkeys(name for name, _ in SIGNATURES.values()))
_FAILING: Final[tuple[Severity, ...]] = SEVERITIES[1:]

FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "policy": (
        "apiVersion",
        "kind",
        "profile",
        "overrides",
        "layered",
        "userWorkloads",
        "plaintextPorts",
        "scope",
        "certificates",
        "thresholds",
        "waivers",
        "require",
    ),
    "override": ("select", "profile", "justification", "enforcement"),
    "scope": ("include", "exclude", "acceptUnreadable", "endpointsPerNamespace"),
    "certificates": ("minRsaBits", "curves", "signatures", "longestDays"),
    "thresholds": ("expiresWithinDays", "expiresWithinDaysMedium", "expiresWithinDaysHigh", "minRsaBits", "groups"),
    "waiver": ("rule", "select", "reason", "owner", "expires"),
    "require": ("minEndpoints", "adherence", "maxInconclusive", "pkiCoverage", "pkiNotImplemented", "severity"),
}
"""Every field, by the part of the file that has it; the JSON schema has the same."""

_ELSEWHERE: Final = {
    "spec": "its fields stand at the top of the file",
    "metadata": "a policy has no name and no labels",
    "plaintext": "write plaintextPorts",
}
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")


def load_scan_policy(path: str, rules: Collection[str]) -> ScanPolicy:
    """Read the policy file. ``rules`` are the ids of all rules that judge an endpoint: what can be waived.

    Raises ``InputError`` with everything that is wrong in it, each with file, line and column.
    """
    return parse(yaml_values.read(path), rules)


def parse(document: Located, rules: Collection[str]) -> ScanPolicy:
    """``load_scan_policy`` of a file that was read already."""
    problems = Problems(document)
    if document.value is None or not problems.mapping(()):
        problems.add((), "no policy in this file", f"it starts with 'kind: {KIND}'")
        problems.raise_any()
    top = Section(problems)
    top.knows(FIELDS["policy"], _ELSEWHERE)
    header(top, KIND)
    policy = ScanPolicy(
        source=document.file,
        profile=_profile(top, required="") or None,
        overrides=tuple(_override(each) for each in top.each("overrides")),
        layered=tuple(each.selector() for each in top.each("layered")),
        user_workloads_bound=top.choice("userWorkloads", _ENFORCEMENT) == "enforced",
        scope=_scope(top.section("scope")),
        waivers=tuple(_waiver(each, rules) for each in top.each("waivers")),
        require=_require(top.section("require")),
        certificates=_certificates(top.section("certificates")),
        thresholds=_thresholds(top),
    )
    problems.raise_any()
    return policy


def _profile(section: Section, *, required: str) -> str:
    """The name of a profile that exists, or of a file that holds one."""
    name = section.text("profile", required=required)
    try:
        if name:
            catalogue.load_profile(name)
    except (UsageError, InputError) as error:
        section.wrong("profile", error.message, error.hint)
    return name


def _select(section: Section, what: str) -> Selector:
    if not section.has("select"):
        section.problems.add(section.steps, "select is missing", f"say {what}, as in select: {{namespaces: [shop]}}")
    return section.section("select").selector()


def _override(section: Section) -> Override:
    section.knows(FIELDS["override"])
    return Override(
        selector=_select(section, "which endpoints owe another profile"),
        profile=_profile(section, required="say which profile they owe instead"),
        justification=section.text("justification", required="say why they may deviate"),
        source=section.place,
        binding=section.choice("enforcement", _ENFORCEMENT) != "readiness",
    )


def _scope(section: Section) -> Scope:
    section.knows(FIELDS["scope"])
    accepted = section.texts("acceptUnreadable")
    known = tuple(each.resource for each in kinds.KINDS)
    for index, name in enumerate(accepted):
        if name not in known:
            steps = (*section.steps, "acceptUnreadable", index)
            hint = did_you_mean(name, known, otherwise="write it as oc get does: secrets, routes.route.openshift.io")
            section.problems.add(steps, f"adhere reads no {shown(name)}", hint)
    return Scope(
        include=tuple(each.selector() for each in section.each("include")),
        exclude=tuple(each.selector() for each in section.each("exclude")),
        accept_unreadable=accepted,
        endpoints_per_namespace=section.number("endpointsPerNamespace", 1, 10_000_000)
        or Scope().endpoints_per_namespace,
    )


def _waiver(section: Section, rules: Collection[str]) -> Waiver:
    section.knows(FIELDS["waiver"])
    return Waiver(
        rule=_rule(section, rules),
        selector=_select(section, "which endpoints it is about"),
        reason=section.text("reason", required="say why the finding is accepted"),
        owner=section.text("owner", required="say who answers for it"),
        expires=_expires(section),
        source=section.place,
    )


def _rule(section: Section, rules: Collection[str]) -> str:
    rule = current(section.text("rule", required="the id of a rule, or a pattern as in cert-*: see 'adhere rules'"))
    if rule and not any(fnmatchcase(known, rule) for known in rules):
        hint = did_you_mean(rule, rules, otherwise="'adhere rules' lists them all")
        section.wrong("rule", f"no rule about endpoints is called {shown(rule)}", hint)
    return rule


def _expires(section: Section) -> date:
    text = section.text("expires", required="every waiver ends: its last day, as in expires: 2027-03-31")
    if text:
        try:
            if _DAY.match(text):
                return date.fromisoformat(text)
        except ValueError:  # the 31st of February
            pass
        section.wrong("expires", f"{shown(text)} is no day", "write it as in 2027-03-31")
    return date.min


def _require(section: Section) -> Require:
    section.knows(FIELDS["require"])
    return Require(
        min_endpoints=section.number("minEndpoints", 1, 10_000_000),
        strict_adherence=section.choice("adherence", _ADHERENCE) is not None,
        max_inconclusive=section.number("maxInconclusive", 0, 10_000_000),
        pki_coverage=section.choice("pkiCoverage", _COMPLETE) is not None,
        pki_not_implemented=section.choice("pkiNotImplemented", _VIOLATION) is not None,
        severity=section.choice("severity", _FAILING) or Require().severity,
    )


def _certificates(section: Section) -> CertificateMinimums:
    section.knows(FIELDS["certificates"], {"maxDays": "write longestDays"})
    return CertificateMinimums(
        rsa_bits=section.number("minRsaBits", 512, 16_384),
        curves=_listed(section, "curves", CURVES),
        signatures=_listed(section, "signatures", _SIGNATURES),
        longest_days=section.number("longestDays", 1, 36_500),
    )


def _listed(section: Section, name: str, known: Collection[str]) -> tuple[str, ...]:
    """The list of words, each of them known. An empty one would refuse everything, by mistake more often than not."""
    found = section.texts(name)
    for index, each in enumerate(found):
        if each not in known:
            what = f"{shown(each)} is not known here"
            section.problems.add((*section.steps, name, index), what, did_you_mean(each, known))
    if section.problems.document.get((*section.steps, name)) == []:
        section.wrong(name, "lists nothing", "leave it out, then any will do")
    return found


def _thresholds(top: Section) -> Policy:
    section, usual = top.section("thresholds"), Policy()
    section.knows(FIELDS["thresholds"])

    def days(name: str, otherwise: int) -> int:
        told = section.number(name, 0, MOST_DAYS)
        return otherwise if told is None else told

    return Policy(
        expires_within_days=days("expiresWithinDays", usual.expires_within_days),
        expires_within_days_medium=days("expiresWithinDaysMedium", usual.expires_within_days_medium),
        expires_within_days_high=days("expiresWithinDaysHigh", usual.expires_within_days_high),
        min_rsa_bits=section.number("minRsaBits", 512, 16_384) or usual.min_rsa_bits,
        groups=section.choice("groups", _GROUPS) or usual.groups,
        plaintext_candidate=top.choice("plaintextPorts", _PLAINTEXT) or usual.plaintext_candidate,
    )
