"""What statuses say of everything else (Gateway API apis/v1 ``GatewayStatus``, ``RouteStatus``, ``PolicyStatus``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from scanner.kube.kinds import BACKEND_TLS_POLICY
from scanner.kube.objects import Fields
from scanner.lint.gateway.listeners import HOLDERS, MOST
from scanner.lint.gateway.routes import ROUTES
from scanner.model.located import Steps, shown
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
    """The status of a Gateway is that of its present spec, and says that it is programmed; that of a route likewise.

    ## What it requires

    Where there is a status: each condition has the `observedGeneration` of the object; `Accepted`, `Programmed` and
    `ResolvedRefs` are True and `Conflicted` and `PartiallyInvalid` are not, of the Gateway or ListenerSet and of each
    listener, and of a route for each parent. Of a BackendTLSPolicy the generation alone is looked at: what its status
    says is for [backend-tls-target](backend-tls-target.md).

    ## Why

    Otherwise what listens is not what the object declares: the former spec, or nothing. What a scan finds at its
    addresses then proves nothing about this object.

    ## What fails

    A condition of an older generation, or one that says no: info. What is the matter with it other rules say.

    ## What is inconclusive

    Nothing: an object without status was not applied yet, or nobody answers for it.

    ## Example that fails

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop, generation: 2}
    spec:
      gatewayClassName: example
      listeners:
      - {name: http, port: 80, protocol: HTTP}
    status:
      conditions: [{type: Programmed, status: "True", observedGeneration: 1}]
    ```

    ## Example that passes

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop, generation: 2}
    spec:
      gatewayClassName: example
      listeners:
      - {name: http, port: 80, protocol: HTTP}
    status:
      conditions: [{type: Programmed, status: "True", observedGeneration: 2}]
    ```

    ## How to fix

    Look at the controller's logs and at the condition's message.
    """
    generation = subject.object.number("metadata", "generation")
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
    title="Statuses are current and say that Gateways are programmed and routes accepted",
    severity="info",
    subjects=(*HOLDERS, *ROUTES, BACKEND_TLS_POLICY),
    check=check_status,
    references=("Gateway API apis/v1/gateway_types.go (GatewayStatus, ListenerStatus)", "GEP-713 (PolicyStatus)"),
)
