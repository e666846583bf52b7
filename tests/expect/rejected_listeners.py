"""Listeners that their controller rejects, and what is expected of them."""

from __future__ import annotations

from typing import Any

from scanner.model.endpoint import Endpoint
from scanner.model.expectation import Expectation
from tests.expect.declared_objects import PROXY
from tests.expect.stories import endpoint, resolved, snapshot_of

LISTENER = "Gateway/edge/gw listener https"
SAYS = "HTTPProxy/shop/web"


def at(origin: str, name: str = PROXY, subject: str = "") -> Endpoint:
    said = {"origins": [origin], "address": "10.0.0.1", "subject": subject or origin.partition(" ")[0]}
    return endpoint(name, said)


def owed(
    where: Endpoint,
    *objects: dict[str, Any],
    beside: tuple[Endpoint, ...] = (),
    unreadable: dict[str, str] | None = None,
) -> Expectation:
    snapshot = snapshot_of(list(objects), unreadable=unreadable)
    return resolved(snapshot, endpoints=(where, *beside)).of(where)
