"""What statuses say of everything else (Gateway API apis/v1 ``GatewayStatus``, ``RouteStatus``, ``PolicyStatus``)."""

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

_WANTED: Final = {"Accepted": "True", "Programmed": "True", "ResolvedRefs": "True", "Conflicted": "False"}
"""Conditions, and what they are where all is well. ``OverlappingTLSConfig`` is computed by a rule of its own."""
_OF_ROUTES: Final = {"Accepted": "True", "ResolvedRefs": "True", "PartiallyInvalid": "False"}
_CONDITIONS: Final = 16


def check_status(subject: Subject) -> Iterator[Flaw]:
    """The status of a Gateway is that of its present spec, and says that it is programmed; that of a route likewise."""
    for every, wanted, whose in islice(_parts(subject.object), MAX_LISTENERS + 1):
        for each in every[:_CONDITIONS]:
            where = each.steps[:-1]
            if not each.is_current(subject.object):
                generations = f"generation {each.observed_generation}, the object of {subject.object.generation}"
                yield Flaw(message=f"{whose}{shown(each.type)} is of {generations}", at=where)
            elif each.type in wanted and each.status != wanted[each.type]:
                yield Flaw(message=f"{whose}{each.type} is {shown(each.status)}: {shown(each.reason)}", at=where)


def _parts(item: KubeObject) -> Iterator[tuple[tuple[Condition, ...], Mapping[str, str], str]]:
    """All conditions in a status, how they are where all is well, and what they are about."""
    if item.kind == BACKEND_TLS_POLICY:
        # Why a Gateway does not apply it is said by the rule on the policy's targets.
        for each in BackendTLSPolicy.of(item).ancestors:
            yield each.conditions, {}, f"Gateway {shown(each.ancestor_ref.name)}: "
    elif item.kind in HOLDERS:
        holder = holder_of(item)
        yield holder.conditions, _WANTED, ""
        for listener in holder.listener_statuses:
            yield listener.conditions, _WANTED, f"listener {shown(listener.name)}: "
    else:
        for parent in GatewayRoute.of(item).parent_statuses:
            yield parent.conditions, _OF_ROUTES, f"parent {shown(parent.parent_ref.name)}: "


STATUS = ObjectRule(id="gateway-status", subjects=(*HOLDERS, *ROUTES, BACKEND_TLS_POLICY), check=check_status)
