"""What the status of Gateways and ListenerSets says of everything else (Gateway API apis/v1 ``GatewayStatus``)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from scanner.lint.gateway.listeners import HOLDERS, MOST
from scanner.model.located import Steps, shown
from scanner.model.object_rule import Flaw, ObjectRule, Subject
from scanner.model.objects import Fields

_WANTED: Final = {"Accepted": "True", "Programmed": "True", "ResolvedRefs": "True", "Conflicted": "False"}
"""Conditions, and what they are where all is well. ``OverlappingTLSConfig`` is computed by a rule of its own."""
_CONDITIONS: Final = 16


def check_status(subject: Subject) -> Iterator[Flaw]:
    """The status of a Gateway is that of its present spec, and says that it is programmed.

    ## What it requires

    Where there is a status: each condition has the `observedGeneration` of the object, `Accepted`, `Programmed` and
    `ResolvedRefs` are True and `Conflicted` is not, of the Gateway and of each listener.

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
    yield from _conditions(subject.object, ("status",), generation)
    for steps, each in islice(subject.items("status", "listeners"), MOST):
        yield from _conditions(each, steps, generation, f"listener {shown(each.text('name'))}: ")


def _conditions(fields: Fields, at: Steps, generation: int | None, whose: str = "") -> Iterator[Flaw]:
    steps = ("status", "conditions") if at == ("status",) else ("conditions",)
    for each in islice(fields.each(*steps), _CONDITIONS):
        kind, status, seen = each.text("type"), each.text("status"), each.number("observedGeneration")
        where = (*at, "conditions")
        if seen is not None and generation is not None and seen < generation:
            yield Flaw(message=f"{whose}{shown(kind)} is of generation {seen}, the object of {generation}", at=where)
        elif kind in _WANTED and status != _WANTED[kind]:
            yield Flaw(message=f"{whose}{kind} is {shown(status)}: {shown(each.text('reason'))}", at=where)


STATUS = ObjectRule(
    id="gateway-status",
    title="The status of a Gateway is current and says that it is programmed",
    severity="info",
    subjects=HOLDERS,
    check=check_status,
    references=("Gateway API apis/v1/gateway_types.go (GatewayStatus, ListenerStatus)",),
)
