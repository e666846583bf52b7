"""Objects whose status is not that of their present spec: what listens may still be what they said before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Protocol

from scanner.expect import contour
from scanner.expect.facts import Facts
from scanner.expect.origins import gateway_listeners, gateways
from scanner.files.source_positions import shown
from scanner.kube.meta import Condition, conditions
from scanner.kube.objects import KubeObject
from scanner.model.endpoint import Endpoint

_SOME: Final = "ListenersNotValid"
"""Why Contour calls a Gateway not programmed of which it programs the other listeners."""


def is_stale(holder: KubeObject, conditions: Iterable[Condition]) -> bool:
    """Whether one of these conditions was set for an older generation of ``holder``."""
    return not all(each.is_current(holder) for each in conditions)


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
    of_proxy = _older(proxy, conditions(proxy)) if proxy is not None else ""
    return next(filter(None, (*reasons, of_proxy)), "")


def _reasons(facts: Facts, endpoint: Endpoint, says: _Reader) -> Iterator[str]:
    """What ``says`` makes of each status of the endpoint's Gateways and of its listeners there."""
    listeners = list(gateway_listeners(facts.snapshot, endpoint))
    names = {each.name for each in listeners}
    holders = (*(each.holder for each in listeners), *gateways(facts.snapshot, endpoint))
    for holder in {each.reference: each for each in holders}.values():
        yield says(holder, holder.conditions, spoken=bool(holder.listener_statuses))
        for status in holder.listener_statuses:
            if status.name in names:
                yield says(holder, status.conditions)


def _older(holder: KubeObject, every: Iterable[Condition], *, spoken: bool = False) -> str:
    del spoken
    return f"the status of {holder.reference} is that of an older generation" if is_stale(holder, every) else ""


def _of_conditions(holder: KubeObject, every: Iterable[Condition], *, spoken: bool = False) -> str:
    """``spoken``: whether each listener speaks for itself."""
    if older := _older(holder, every):
        return older
    for each in every:
        if each.type == "Programmed" and each.reason == _SOME and spoken:
            continue
        if each.type == "Programmed" and not each.holds:
            return f"{holder.reference} is not programmed ({shown(each.status)}, {shown(each.reason)})"
    return ""


class _Reader(Protocol):
    def __call__(self, holder: KubeObject, every: Iterable[Condition], *, spoken: bool = False) -> str: ...
