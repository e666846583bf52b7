"""Conditions in the status of Gateways, routes and policies (Gateway API apis/v1 ``GatewayStatus``, ``RouteStatus``,
``PolicyStatus``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from scanner.files.source_positions import shown
from scanner.kube.gateway import HOLDERS, MAX_LISTENERS, ROUTES, holder_of
from scanner.kube.gateway_routes import BackendTLSPolicy, GatewayRoute
from scanner.kube.kinds import BACKEND_TLS_POLICY
from scanner.kube.meta import Condition
from scanner.kube.objects import KubeObject
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_OF_LISTENERS: Final = {"Accepted": "True", "Programmed": "True", "ResolvedRefs": "True", "Conflicted": "False"}
"""The expected status of each condition. ``OverlappingTLSConfig`` has a rule of its own."""
_OF_ROUTES: Final = {"Accepted": "True", "ResolvedRefs": "True", "PartiallyInvalid": "False"}
_CONDITIONS: Final = 16


def check_status(subject: Subject) -> Iterator[Flaw]:
    """The status of a Gateway, route or policy is up to date and reports no failure."""
    for every, expected, owner in islice(_parts(subject.object), MAX_LISTENERS + 1):
        for each in every[:_CONDITIONS]:
            where = each.steps[:-1]
            if not each.is_current(subject.object):
                generations = f"generation {each.observed_generation}; the object has {subject.object.generation}"
                yield Flaw(message=f"{owner}{shown(each.type)} is from {generations}", at=where)
            elif each.type in expected and each.status != expected[each.type]:
                yield Flaw(message=f"{owner}{each.type} is {shown(each.status)}: {shown(each.reason)}", at=where)


def _parts(item: KubeObject) -> Iterator[tuple[tuple[Condition, ...], Mapping[str, str], str]]:
    """All conditions in a status, their expected values, and the listener, parent or Gateway that they are about."""
    if item.kind == BACKEND_TLS_POLICY:
        # The rule on the policy's targets reports a Gateway that does not apply it.
        for each in BackendTLSPolicy.of(item).ancestors:
            yield each.conditions, {}, f"Gateway {shown(each.ancestor_ref.name)}: "
    elif item.kind in HOLDERS:
        holder = holder_of(item)
        yield holder.conditions, _OF_LISTENERS, ""
        for listener in holder.listener_statuses:
            yield listener.conditions, _OF_LISTENERS, f"listener {shown(listener.name)}: "
    else:
        for parent in GatewayRoute.of(item).parent_statuses:
            yield parent.conditions, _OF_ROUTES, f"parent {shown(parent.parent_ref.name)}: "


STATUS = ObjectRule(id="gateway-status", subjects=(*HOLDERS, *ROUTES, BACKEND_TLS_POLICY), check=check_status)
