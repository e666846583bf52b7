"""What statuses say of everything else (Gateway API apis/v1 ``GatewayStatus``, ``RouteStatus``, ``PolicyStatus``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from scanner.files.source_positions import Steps, shown
from scanner.kube.kinds import BACKEND_TLS_POLICY
from scanner.kube.objects import Fields
from scanner.lint.gateway.listeners import HOLDERS, MOST
from scanner.lint.gateway.routes import ROUTES
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_WANTED: Final = {"Accepted": "True", "Programmed": "True", "ResolvedRefs": "True", "Conflicted": "False"}
"""Conditions, and what they are where all is well. ``OverlappingTLSConfig`` is computed by a rule of its own."""
_OF_ROUTES: Final = {"Accepted": "True", "ResolvedRefs": "True", "PartiallyInvalid": "False"}
_CONDITIONS: Final = 16


@dataclass(frozen=True, slots=True)
class _Part:
    """Conditions of something in a status, beside those of the object."""

    called: str
    name: tuple[str, ...]
    wanted: Mapping[str, str]


_PARTS: Final[Mapping[str, _Part]] = {
    "listeners": _Part("listener", ("name",), _WANTED),
    "parents": _Part("parent", ("parentRef", "name"), _OF_ROUTES),
    # What a Gateway says no to of a policy is said by the rule on the policy's targets.
    "ancestors": _Part("Gateway", ("ancestorRef", "name"), {}),
}
"""By the field of the status."""


def check_status(subject: Subject) -> Iterator[Flaw]:
    """The status of a Gateway is that of its present spec, and says that it is programmed; that of a route likewise."""
    generation = subject.object.generation
    yield from _conditions(subject.object, ("status",), generation, _WANTED)
    for field, part in _PARTS.items():
        for steps, each in islice(subject.items("status", field), MOST):
            whose = f"{part.called} {shown(each.text(*part.name))}: "
            yield from _conditions(each, steps, generation, part.wanted, whose)


def _conditions(
    fields: Fields, at: Steps, generation: int | None, wanted: Mapping[str, str], whose: str = ""
) -> Iterator[Flaw]:
    steps = ("status", "conditions") if at == ("status",) else ("conditions",)
    for each in islice(fields.each(*steps), _CONDITIONS):
        kind, status, seen = each.text("type"), each.text("status"), each.number("observedGeneration")
        where = (*at, "conditions")
        if seen is not None and generation is not None and seen < generation:
            yield Flaw(message=f"{whose}{shown(kind)} is of generation {seen}, the object of {generation}", at=where)
        elif kind in wanted and status != wanted[kind]:
            yield Flaw(message=f"{whose}{kind} is {shown(status)}: {shown(each.text('reason'))}", at=where)


STATUS = ObjectRule(
    id="gateway-status",
    subjects=(*HOLDERS, *ROUTES, BACKEND_TLS_POLICY),
    check=check_status,
)
