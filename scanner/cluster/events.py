"""Warnings (core/v1 Event) of a few namespaces, one page of each. No snapshot has them."""

from __future__ import annotations

import re
from collections.abc import Iterable

import trio

from scanner.cluster.api_connection import Access
from scanner.cluster.client import ApiError, Client, Limits
from scanner.cluster.secret_contents import scrubbed
from scanner.errors import ClusterError
from scanner.kube.objects import Fields, KubeObject
from scanner.model.diagnosis import EVENT, Events

MOST = 500
"""Events of one namespace."""
MOST_NAMESPACES = 200
_AT_ONCE = 4
_LONGEST = 1024
"""Characters of a message; the API takes as many."""
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_TEXTS = ("type", "reason", "message", "lastTimestamp", "eventTime")
_SUBJECT = ("kind", "namespace", "name")


async def warnings(access: Access, namespaces: Iterable[str], limits: Limits | None = None) -> Events:
    """``GET /api/v1/namespaces/NAMESPACE/events?fieldSelector=type=Warning`` of each.

    Raises ``ScannerError`` if the credential is refused; errors of one namespace are in ``missed``.
    """
    namespaces = [each for each in dict.fromkeys(namespaces) if _NAME.fullmatch(each)]
    found: dict[str, list[KubeObject]] = {}
    missed = dict.fromkeys(namespaces[MOST_NAMESPACES:], f"only events of {MOST_NAMESPACES} namespaces are read")
    limit = trio.CapacityLimiter(_AT_ONCE)

    async def ask(client: Client, namespace: str) -> None:
        async with limit:
            try:
                found[namespace], more = await _page(client, namespace)
            except ClusterError as error:
                missed[namespace] = _why(error)
            else:
                missed.update({namespace: f"there are more than {MOST}; only the first are shown"} if more else {})

    async with Client(access, limits) as client, trio.open_nursery() as nursery:
        for each in namespaces[:MOST_NAMESPACES]:
            nursery.start_soon(ask, client, each)
    return Events(found=tuple(each for name in sorted(found) for each in found[name]), missed=missed)


async def _page(client: Client, namespace: str) -> tuple[list[KubeObject], bool]:
    path = f"/api/v1/namespaces/{namespace}/events"
    answer = await client.get(path, {"fieldSelector": "type=Warning", "limit": str(MOST)})
    page = Fields(answer if isinstance(answer, dict) else {})
    if not page.text("kind").endswith("List"):
        raise ClusterError(f"GET {path}: the answer is not a list of objects")
    every = list(page.each("items"))
    more = bool(page.text("metadata", "continue")) or len(every) > MOST
    return [_kept(each, namespace) for each in every[:MOST]], more


def _kept(each: Fields, namespace: str) -> KubeObject:
    """The subject, the message, the count and the time. Reporter and source are not kept."""
    about = each.fields("involvedObject")
    kept: dict[str, object] = {name: _short(text) for name in _TEXTS if (text := each.text(name))}
    kept |= {
        "metadata": {"name": _short(each.text("metadata", "name")), "namespace": namespace},
        "involvedObject": {name: _short(about.text(name)) for name in _SUBJECT},
        "count": each.number("count") or each.number("series", "count") or 1,
        "series": {"lastObservedTime": _short(each.text("series", "lastObservedTime"))},
    }
    return KubeObject(kept, EVENT)


def _short(text: str) -> str:
    """Remove private keys and passwords of URLs before truncation: a truncated key may not be recognised."""
    return scrubbed(text)[:_LONGEST]


def _why(error: ClusterError) -> str:
    forbidden = isinstance(error, ApiError) and error.status == 403
    return error.message + (" (adhere rbac --with doctor prints the role)" if forbidden else "")
