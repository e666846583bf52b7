"""The coverage of a cluster: what was found, what was judged, and what nobody saw, with what would show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from scanner.kube.snapshot import Unreadable
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
from scanner.report.page import counted, exit_text, failures_text, no_failures_text

_POLICIES = 100
"""NetworkPolicies named; each tenant may write as many as he likes."""
_NAMESPACES = 10
"""Namespaces named in one line."""


def unseen(coverage: Coverage) -> int:
    """How many kinds of objects nobody could read, though somebody wanted to, and the policy does not do without."""
    discovery = coverage.get("discovery")
    gaps = discovery["unreadable"] if discovery else []
    return sum(not each["accepted"] and each["gap"] != "not-asked" for each in gaps)


def shortfalls(report: Report) -> str:
    """What keeps a scan from being complete, as received; empty: nothing does."""
    told, part, kinds = report.coverage, report.summary.unsettled, unseen(report.coverage)
    if told["interrupted"]:
        return stopped(told)
    missing = (
        (told["not_judged"], f"{told['not_judged']} could not be judged"),
        (part, f"{part} judged only in part, because some of it could not be determined"),
        (kinds, f"{counted(kinds, 'kind')} of objects could not be read"),
    )
    open_ends = ", ".join(what for count, what in missing if count)
    return open_ends or ("" if told["complete"] else "some could not be judged")


def stopped(told: Coverage) -> str:
    """What a scan that was stopped has done and not done, with counts, as received; empty: it came to its end."""
    if not told["interrupted"]:
        return ""
    going, left = told.get("in_progress", 0), told.get("not_started") or NotStarted(total=0, by_namespace={})
    others = told["endpoints"] - told["judged"] - going
    every = sorted(left["by_namespace"].items(), key=lambda one: (-one[1], one[0]))
    named = ", ".join(f"{name} {count}" for name, count in every[:_NAMESPACES])
    where = f" ({named}{', ...' if len(every) > _NAMESPACES else ''})" if named else ""
    counts = [f"{told['judged']} judged", *([f"{others} inconclusive"] if others else []), f"{going} in progress"]
    return f"stopped by {told['interrupted']}: {', '.join(counts)}, {left['total']} not started{where}"


def exit_line(report: Report) -> str:
    """The exit code and its reasons: ``exit 1: 3 findings at or above medium on 2 endpoints (tls-version 2, ...)``."""
    code, counts = exit_code(report, report.fail_on), report.summary
    reasons = [_failures(report)] if code == EXIT_FINDINGS else []
    short = shortfalls(report)
    if code == EXIT_NOTHING:
        reasons.append("nothing was judged")
    elif code == EXIT_INCOMPLETE and not short:
        reasons.append(f"not complete: {counts.verdicts['inconclusive']} inconclusive, and nothing else was judged")
    elif not reasons and not short:
        complete = "" if report.fail_on == "never" else "complete"
        reasons += [no_failures_text(report.fail_on), complete]
    return exit_text(code, [*reasons, f"not complete: {short}" if short else ""])


def _failures(report: Report) -> str:
    """How many findings make the exit code 1, on how many endpoints, and the rules that they are of."""
    counts, severities = report.summary, counted_severities(report.fail_on)
    rules: Counter[str] = Counter()
    for (severity, rule), number in counts.found.items():
        if severity in severities:
            rules[rule] += number
    endpoints = sum(counts.worst[severity] for severity in severities)
    wide = sum(fails(one, report.fail_on) for one in report.findings)
    where = counted(endpoints, "endpoint") if endpoints else "cluster-wide objects"
    where += f", {wide} of them cluster-wide" if wide and endpoints else ""
    return failures_text(rules, report.fail_on, where)


def trust_line(counts: Summary) -> str:
    """For how many endpoints trust, or the certificate's names, were not checked; empty: for none."""
    said = []
    if counts.trust_unchecked:
        of = counted(counts.trust_unchecked, "endpoint")
        said.append(f"trust not checked for {of} (no CA): {counts.self_signed} self-signed")
    if counts.names_unchecked:
        of = counted(counts.names_unchecked, "endpoint")
        said.append(f"names not checked for {of} (targets by IP address: add #name)")
    return "; ".join(said)


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Kinds that nobody read, and the same is to be said of them all."""

    resources: tuple[str, ...]
    gap: str
    reason: str
    remedy: str
    accepted: bool


def missing(told: DiscoveryRow) -> list[Missing]:
    """What was not read, for people: the kinds that a directory does not have together, each of the others alone."""
    groups: dict[object, list[UnreadableRow]] = {}
    for number, each in enumerate(told["unreadable"]):
        together = each["gap"] == "not-saved"
        groups.setdefault((each["gap"], each["accepted"]) if together else number, []).append(each)
    return [_together(group) for group in groups.values()]


def _together(group: list[UnreadableRow]) -> Missing:
    reasons = {each["reason"] for each in group}
    return Missing(
        resources=tuple(each["resource"] for each in group),
        gap=group[0]["gap"],
        reason=reasons.pop() if len(reasons) == 1 else "what was saved does not have them, or only some of them",
        remedy=group[0]["remedy"],
        accepted=group[0]["accepted"],
    )


def discovery_row(
    summary: Summary,
    *,
    discovered: int,
    left_out: Iterable[tuple[str, int]] = (),
    unreadable: Iterable[Unreadable] = (),
    accepted: Collection[str] = (),
) -> DiscoveryRow:
    """The statement. ``discovered`` counts those left out too; ``accepted`` are resources that the policy does without.

    A name with several addresses is one listener when it is found and several when it is asked, so that at least as
    many were found as were asked.
    """
    reasons = [CountRow(reason=reason, count=count) for reason, count in sorted(left_out, key=lambda one: -one[1])]
    aside = sum(each["count"] for each in reasons)
    found = max(discovered, summary.endpoints + aside)
    verdicts = summary.verdicts
    return DiscoveryRow(
        discovered=found,
        not_reached=found - aside - summary.endpoints,
        probed=summary.endpoints,
        judged=verdicts["pass"] + verdicts["fail"],
        undetermined=verdicts["inconclusive"],
        not_applicable=verdicts["not_applicable"],
        left_out=reasons,
        unreadable=[_unreadable(each, accepted) for each in unreadable],
        network_policies=[
            PolicyRow(policy=policy, endpoints=count)
            for policy, count in sorted(summary.policies.items(), key=lambda one: (-one[1], one[0]))[:_POLICIES]
        ],
    )


def _unreadable(gap: Unreadable, accepted: Collection[str]) -> UnreadableRow:
    resource = gap.kind.resource
    return UnreadableRow(
        resource=resource, gap=gap.gap, reason=gap.reason, remedy=_remedy(gap), accepted=resource in accepted
    )


def _remedy(gap: Unreadable) -> str:
    """What would allow it to be read."""
    resource, own = gap.kind.resource, gap.kind.opt_in
    option = gap.option or own
    match gap.gap:
        case "not-asked":
            grant = f"grant what adhere rbac --with {option} prints"
            said = f"say --{own} when the cluster is read, and {grant}" if own else grant
            return said if option else ""
        case "not-saved":
            return "save a snapshot with adhere snapshot save"
        case "forbidden":
            role = f"adhere rbac --with {option}" if option else "adhere rbac"
            return f"grant the scan's account get and list on {resource}: {role} prints the role"
        case _:
            return f"see whether the API server answers: kubectl get {resource} --all-namespaces"
