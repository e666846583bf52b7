"""What BackendTLSPolicies are for (Gateway API apis/v1 ``BackendTLSPolicySpec.targetRefs``)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from scanner.files.source_positions import shown
from scanner.kube.kinds import BACKEND_TLS_POLICY, NAMESPACE, SERVICE
from scanner.kube.objects import KubeObject
from scanner.lint.gateway.attachment import of_route
from scanner.lint.gateway.listeners import HOLDERS
from scanner.lint.gateway.policies import Target, policies, shape_of, targets
from scanner.lint.gateway.routes import ROUTES, Backend, leading_to
from scanner.lint.references import look_up
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_ANCESTORS: Final = 16
_MOST: Final = 100
"""References to one Service that are looked at."""


def check_target(subject: Subject) -> Iterator[Flaw]:
    """A BackendTLSPolicy is for a Service that a Gateway leads to."""
    found = targets(subject.object)
    if not found:
        at = shape_of(subject.object).targets
        yield Flaw(
            message=f"{'.'.join(map(str, at))} names no target",
            at=at,
            fix=f"{subject.object.reference}: name a Service",
        )
    seen: dict[tuple[str, str, str], set[str]] = {}
    for target in found:
        yield from _twice(target, seen.setdefault((target.group, target.kind, target.name), set()))
        if target.is_service:
            yield from _of_service(subject, target)
        else:
            message = f"cannot be decided here: whether a {shown(target.kind)} can be a target is the implementation's"
            yield Flaw(message=message, at=target.steps, verdict="inconclusive")
    yield from _status(subject)


def _twice(target: Target, sections: set[str]) -> Iterator[Flaw]:
    """The API server's messages."""
    rest = "when targetRefs includes 2 or more references to the same target"
    if target.section in sections:
        yield Flaw(message=f"sectionName must be unique {rest}", at=target.steps)
    elif sections and (not target.section or "" in sections):
        yield Flaw(message=f"sectionName must be specified {rest}", at=target.steps)
    sections.add(target.section)


def _of_service(subject: Subject, target: Target) -> Iterator[Flaw]:
    service = look_up(subject.declared, SERVICE, target.name, subject.object.namespace)
    if isinstance(service, Missing):
        if service.gap:
            yield undecided(service, target.steps, "whether there is a Service to protect")
        else:
            yield Flaw(message=f"{service.name} does not exist: TargetNotFound", at=target.steps, fix=_fix(subject))
    elif target.section and not any(each.text("name") == target.section for each in service.each("spec", "ports")):
        names = tuple(each.text("name") for each in islice(service.each("spec", "ports"), 10))
        yield Flaw(
            message=f"{service.reference} has no port with the name {shown(target.section)}",
            at=(*target.steps, "sectionName"),
            observed=names,
            fix=f"{subject.object.reference}: the name of the Service's port",
        )
    yield from _unreached(subject, target)
    yield from _second(subject, target)


def _fix(subject: Subject) -> str:
    return f"{subject.object.reference}: the Service that the route names, in its namespace"


def _unreached(subject: Subject, target: Target) -> Iterator[Flaw]:
    if _leading(subject, target) or _is_accepted(subject.object):
        return
    gap = _route_gap(subject)
    if gap:
        missing = Missing(name=f"a route to the Service {target.name}", gap=gap)
        yield undecided(missing, target.steps, "whether a Gateway leads to the Service")
    else:
        yield Flaw(
            message=f"no route leads to the Service {target.name}: a mesh or an implementation's own policy may use it",
            at=target.steps,
            severity="info",
            fix=_fix(subject),
        )


def _leading(subject: Subject, target: Target) -> list[Backend]:
    return subject.declared.once(leading_to).get((subject.object.namespace, target.name), [])


def _route_gap(subject: Subject) -> str | None:
    return next((gap for kind in ROUTES if (gap := subject.declared.gap(kind))), None)


def _second(subject: Subject, target: Target) -> Iterator[Flaw]:
    winner = _winner(subject, target)
    if winner is not None:
        odd = ", though the status accepts both" if _is_accepted(subject.object) else ": Conflicted"
        yield Flaw(
            message=f"{winner.reference} has the same target and takes precedence{odd}",
            at=target.steps,
            fix=f"{subject.object.reference}: remove the target, or {winner.reference}",
        )


def _winner(subject: Subject, target: Target) -> KubeObject | None:
    """The policy that counts for the target instead of this one."""
    every = subject.declared.once(policies).get((subject.object.namespace, target.name), [])
    same = [policy for policy, each in every if each.section == target.section and not _is_refused(policy)]
    first = next((each for each in same if _is_accepted(each)), next(iter(same), subject.object))
    return None if first.name == subject.object.name or _is_refused(subject.object) else first


def _acceptance(policy: KubeObject) -> set[tuple[str, str]]:
    """Status and reason of ``Accepted``, of each ancestor."""
    ancestors = islice(policy.each("status", "ancestors"), _ANCESTORS)
    conditions = [one for each in ancestors for one in each.each("conditions") if one.text("type") == "Accepted"]
    return {(each.text("status"), each.text("reason")) for each in conditions}


def _is_accepted(policy: KubeObject) -> bool:
    return any(status == "True" for status, _ in _acceptance(policy))


def _is_refused(policy: KubeObject) -> bool:
    """By every ancestor, and not because another policy has its target."""
    said = _acceptance(policy)
    return bool(said) and all(status == "False" and reason != "Conflicted" for status, reason in said)


def _status(subject: Subject) -> Iterator[Flaw]:
    ancestors = subject.object.at("status", "ancestors")
    if isinstance(ancestors, list) and not ancestors:
        yield Flaw(message="its status names no Gateway that applies it", at=("status", "ancestors"))
    lost = any(_winner(subject, target) for target in targets(subject.object) if target.is_service)
    for steps, each in islice(subject.items("status", "ancestors"), _ANCESTORS):
        for condition in each.each("conditions"):
            if condition.text("type") in ("Accepted", "ResolvedRefs") and condition.text("status") == "False":
                if lost and condition.text("reason") == "Conflicted":
                    continue  # said at the target, with the policy that takes precedence
                said = f"{condition.text('type')} is False: {shown(condition.text('reason'))}"
                name = shown(each.text("ancestorRef", "name"))
                yield Flaw(message=f"Gateway {name} does not apply it: {said}", at=(*steps, "conditions"))


def check_passthrough(subject: Subject) -> Iterator[Flaw]:
    """A BackendTLSPolicy is for traffic that the Gateway encrypts itself."""
    for target in targets(subject.object):
        leading = _leading(subject, target)[:_MOST] if target.is_service else []
        every = [each for backend in leading for each in of_route(subject.declared, backend.route)]
        if any(one.listener.mode != "Passthrough" for each in every for one in each.attached):
            continue
        missing = next((each.missing for each in every if each.missing and each.missing.gap), None)
        gap = _route_gap(subject)
        if target.is_service and (missing or gap):
            unseen = missing or Missing(name=f"a route to the Service {target.name}", gap=gap)
            yield undecided(unseen, target.steps, "whether the Gateway itself speaks TLS to the Service")
        elif any(each.attached for each in every):
            message = f"TLS is only passed through to the Service {target.name}: the policy has no effect"
            yield Flaw(message=message, at=target.steps, fix=f"{subject.object.reference}: remove the target")


TARGET = ObjectRule(
    id="backend-tls-target",
    subjects=(BACKEND_TLS_POLICY,),
    check=check_target,
    reads=(*ROUTES, SERVICE),
)
PASSTHROUGH = ObjectRule(
    id="backend-tls-passthrough",
    subjects=(BACKEND_TLS_POLICY,),
    check=check_passthrough,
    reads=(*ROUTES, *HOLDERS, NAMESPACE),
)
