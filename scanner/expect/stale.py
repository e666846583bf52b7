"""Objects whose status is not that of their present spec: what listens may still be what they said before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from scanner.expect import contour
from scanner.expect.facts import Facts
from scanner.expect.origins import gateway_listeners, gateways
from scanner.files.source_positions import shown
from scanner.kube.objects import Fields, KubeObject
from scanner.model.endpoint import Endpoint

_SOME: Final = "ListenersNotValid"
"""Why Contour calls a Gateway not programmed of which it programs the other listeners."""


def is_stale(holder: KubeObject, fields: Fields, *steps: str) -> bool:
    """Whether a condition at ``steps`` of ``fields`` was set for an older generation of ``holder``."""
    generation = holder.generation
    if generation is None:
        return False
    seen = (each.number("observedGeneration") for each in fields.each(*steps))
    return any(each is not None and each < generation for each in seen)


def stale(facts: Facts, endpoint: Endpoint) -> str:
    """Why a proxy may not have been told yet what objects promise of ``endpoint``; empty: nothing says so.

    Of Gateways also that they are not programmed: then what answers at their addresses is nobody's word.
    """
    if endpoint.segment == "Backend":
        return ""
    return next(filter(None, (*_reasons(facts, endpoint, _of_conditions), outdated(facts, endpoint))), "")


def outdated(facts: Facts, endpoint: Endpoint) -> str:
    """Which of the objects that lead to ``endpoint`` has changed since its controller last spoke of it."""
    reasons = _reasons(facts, endpoint, _older)
    proxy = contour.proxy_of(facts, endpoint)
    of_proxy = _older(proxy, proxy, "status", "conditions") if proxy is not None else ""
    return next(filter(None, (*reasons, of_proxy)), "")


def _reasons(facts: Facts, endpoint: Endpoint, says: Callable[..., str]) -> Iterator[str]:
    """What ``says`` makes of each status of the endpoint's Gateways and of its listeners there."""
    listeners = list(gateway_listeners(facts.snapshot, endpoint))
    names = {listener.text("name") for _, listener in listeners}
    holders = (*(holder for holder, _ in listeners), *gateways(facts.snapshot, endpoint))
    for holder in {each.reference: each for each in holders}.values():
        yield says(holder, holder, "status", "conditions")
        for status in holder.each("status", "listeners"):
            if status.text("name") in names:
                yield says(holder, status, "conditions")


def _older(holder: KubeObject, fields: Fields, *steps: str) -> str:
    stale = is_stale(holder, fields, *steps)
    return f"the status of {holder.reference} is that of an older generation" if stale else ""


def _of_conditions(holder: KubeObject, fields: Fields, *steps: str) -> str:
    if older := _older(holder, fields, *steps):
        return older
    spoken = any(fields.each("status", "listeners"))  # then each listener speaks for itself
    for each in fields.each(*steps):
        if each.text("type") == "Programmed" and each.text("reason") == _SOME and spoken:
            continue
        if each.text("type") == "Programmed" and each.text("status") != "True":
            said = ", ".join(shown(each.text(field)) for field in ("status", "reason"))
            return f"{holder.reference} is not programmed ({said})"
    return ""
