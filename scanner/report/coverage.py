"""The coverage of a scan: found, probed, judged, left out, not read, and how to read it; and the exit line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from scanner.kube.kinds import NODE_SOCKETS
from scanner.model.report import (
    EXIT_FINDINGS,
    EXIT_INCOMPLETE,
    EXIT_NOTHING,
    CountRow,
    Coverage,
    DiscoveryRow,
    NotStarted,
    PolicyRow,
    Report,
    Summary,
    UnreadableRow,
    counted_severities,
    exit_code,
    fails,
)
from scanner.report.page import baseline_text, counted, exit_text, failures_text, no_failures_text

if TYPE_CHECKING:
    from scanner.kube.snapshot import Unreadable

_POLICIES = 100
"""NetworkPolicies of a report; a tenant may create any number."""
_KINDS = 3
"""Kinds that the exit line names."""
_NAMESPACES = 10
"""Namespaces in one line."""


def unseen(coverage: Coverage) -> list[UnreadableRow]:
    """Return the kinds of objects that the scan needed and could not read, without those that the policy accepts."""
    discovery = coverage.get("discovery")
    gaps = discovery["unreadable"] if discovery else []
    return [each for each in gaps if not each["accepted"] and each["gap"] != "not-asked"]


def _unread(kinds: list[UnreadableRow]) -> str:
    """``routes.route.openshift.io could not be read (forbidden)``; of many kinds the number."""
    if len(kinds) > _KINDS:
        return f"{len(kinds)} kinds of objects could not be read"
    return ", ".join(f"{each['resource']} could not be read ({each['gap'].replace('-', ' ')})" for each in kinds)


def shortfalls(report: Report) -> str:
    """Return why a scan is not complete, not escaped; "" for a complete one."""
    return shortfall(report.coverage, report.summary.unsettled)


def shortfall(coverage: Coverage, part: int = 0) -> str:
    """Return the same of a coverage alone. ``part``: endpoints with a failure and another inconclusive finding."""
    kinds = unseen(coverage)
    if coverage["interrupted"]:
        return stopped(coverage)
    missing = (
        (coverage["not_judged"], f"{counted(coverage['not_judged'], 'endpoint')} could not be judged"),
        (part, f"{part} judged only in part, because not everything could be determined"),
        (len(kinds), _unread(kinds)),
    )
    reasons = ", ".join(what for count, what in missing if count)
    return reasons or ("" if coverage["complete"] else "some could not be judged")


def stopped(coverage: Coverage) -> str:
    """Return the counts of a scan that was stopped, not escaped; "" for a scan that reached its end."""
    if not coverage["interrupted"]:
        return ""
    going, left = coverage.get("in_progress", 0), coverage.get("not_started") or NotStarted(total=0, by_namespace={})
    others = coverage["endpoints"] - coverage["judged"] - going
    every = sorted(left["by_namespace"].items(), key=lambda one: (-one[1], one[0]))
    named = ", ".join(f"{name} {count}" for name, count in every[:_NAMESPACES])
    where = f" ({named}{', ...' if len(every) > _NAMESPACES else ''})" if named else ""
    counts = [f"{coverage['judged']} judged", *([f"{others} inconclusive"] if others else []), f"{going} in progress"]
    return f"stopped by {coverage['interrupted']}: {', '.join(counts)}, {left['total']} not started{where}"


def exit_line(report: Report) -> str:
    """Return the exit line: ``exit 1: 3 findings at or above medium on 2 endpoints (tls-version 2, ...)``."""
    code, counts = exit_code(report, report.fail_on), report.summary
    reasons = [_failures(report)] if code == EXIT_FINDINGS else []
    short = shortfalls(report)
    if code == EXIT_NOTHING:
        reasons.append("nothing was judged")
    elif code == EXIT_INCOMPLETE and not short:
        reasons.append(f"not complete: {counts.verdicts['inconclusive']} inconclusive, and nothing else was judged")
    elif not reasons and not short:
        reasons += [no_failures_text(report.fail_on), "" if report.fail_on == "never" else "complete"]
    return exit_text(code, [*reasons, f"not complete: {short}" if short else "", baseline_text(report.baseline)])


def _failures(report: Report) -> str:
    """Count the findings that make the exit code 1, with their endpoints by component, or else by rule."""
    counts, severities = report.summary, counted_severities(report.fail_on)
    rules: Counter[str] = Counter()
    for (severity, rule), number in counts.found.items():
        if severity in severities:
            rules[rule] += number
    components: Counter[str] = Counter()
    for (severity, name), number in counts.failing.items():
        if severity in severities:
            components[name] += number
    endpoints = sum(counts.worst[severity] for severity in severities)
    wide = sum(fails(one, report.fail_on) for one in report.findings)
    where = f" on {counted(endpoints, 'endpoint') if endpoints else 'cluster-wide objects'}"
    where = (f", {wide} of them cluster-wide," if wide and endpoints else "") + where
    return failures_text(rules, report.fail_on, where, components)


def trust_line(counts: Summary) -> str:
    """Count the endpoints whose chain or certificate names were not checked; "" for none."""
    parts = []
    if counts.trust_unchecked:
        of = counted(counts.trust_unchecked, "endpoint")
        self_signed = f", {counts.self_signed} of them self-signed" if counts.self_signed else ""
        parts.append(f"trust not checked for {of} (no CA is known){self_signed}")
    if counts.names_unchecked:
        of = counted(counts.names_unchecked, "endpoint")
        parts.append(f"names not checked for {of} (targets by IP address: add #name)")
    return "; ".join(parts)


class Missing(Struct, frozen=True, kw_only=True):
    """Kinds that were not read, with the same reason and remedy."""

    resources: tuple[str, ...]
    gap: str
    reason: str
    remedy: str
    accepted: bool


def missing(discovery: DiscoveryRow) -> list[Missing]:
    """Return the kinds that were not read; those that a snapshot does not have are one entry."""
    groups: dict[object, list[UnreadableRow]] = {}
    for number, each in enumerate(discovery["unreadable"]):
        not_saved = each["gap"] == "not-saved"
        groups.setdefault(each["accepted"] if not_saved else f"{number}", []).append(each)
    found = []
    for group in groups.values():
        first, reasons = group[0], {each["reason"] for each in group}
        reason = first["reason"] if len(reasons) == 1 else "the snapshot does not have them, or only some of them"
        names = tuple(each["resource"] for each in group)
        gap, remedy, accepted = first["gap"], first["remedy"], first["accepted"]
        found.append(Missing(resources=names, gap=gap, reason=reason, remedy=remedy, accepted=accepted))
    return found


def discovery_row(
    summary: Summary,
    *,
    discovered: int,
    left_out: Iterable[tuple[str, int]] = (),
    unreadable: Iterable[Unreadable] = (),
    accepted: Collection[str] = (),
) -> DiscoveryRow:
    """Return the row of a cluster's coverage. ``discovered`` includes those left out; ``accepted``: resources that the
    policy file allows to be unreadable.

    A name with several addresses is one endpoint in ``discovered`` and several in ``summary``.
    """
    reasons = [CountRow(reason=reason, count=count) for reason, count in sorted(left_out, key=lambda one: -one[1])]
    skipped = sum(each["count"] for each in reasons)
    found = max(discovered, summary.endpoints + skipped)
    verdicts = summary.verdicts
    return DiscoveryRow(
        discovered=found,
        not_reached=found - skipped - summary.endpoints,
        probed=summary.endpoints,
        judged=verdicts["pass"] + verdicts["fail"],
        undetermined=verdicts["inconclusive"],
        not_applicable=verdicts["not_applicable"],
        left_out=reasons,
        unreadable=[
            UnreadableRow(
                resource=each.kind.resource,
                gap=each.gap,
                reason=each.reason,
                remedy=_remedy(each),
                accepted=each.kind.resource in accepted,
            )
            for each in unreadable
        ],
        network_policies=[
            PolicyRow(policy=policy, endpoints=count)
            for policy, count in sorted(summary.policies.items(), key=lambda one: (-one[1], one[0]))[:_POLICIES]
        ],
    )


def _remedy(gap: Unreadable) -> str:
    """Return what to do so that the kind can be read."""
    resource, own = gap.kind.resource, gap.kind.opt_in
    if gap.kind == NODE_SOCKETS:
        return "run adhere node as root in the node's process namespace (hostPID), with SYS_PTRACE and SYS_ADMIN"
    option = gap.option or own
    match gap.gap:
        case "not-asked":
            grant = f"grant the role that adhere rbac --with {option} prints"
            use = f"use --{own}, and {grant}" if own else grant
            return use if option else ""
        case "not-saved":
            return "save a snapshot with adhere snapshot save"
        case "forbidden":
            role = f"adhere rbac --with {option}" if option else "adhere rbac"
            return f"give the scan's account the verbs get and list on {resource}; {role} prints the role"
        case _:
            return f"check the API server: kubectl get {resource} --all-namespaces"
