"""What goes in and out of the API: requests, and answers as values. Those that need a socket say so."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from scanner.demo.api.selectors import Test
from scanner.demo.api.store import Resource

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a client asks."""

    method: str = "GET"
    target: str
    """Path and query, as sent."""
    headers: dict[str, str] = field(default_factory=dict)
    """Names in small letters."""

    @property
    def path(self) -> str:
        """Decoded."""
        return unquote(urlsplit(self.target).path)

    @property
    def query(self) -> dict[str, str]:
        """The last value of each parameter."""
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A whole answer."""

    code: int = 200
    body: bytes
    content_type: str = JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Answer with what happens from now on."""

    resource: Resource
    version: str
    test: Test
    since: int | None
    """Revision after which events are wanted; None: everything that there is, first."""
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Forward:
    """Upgrade to a WebSocket, and connect it to ports of a pod."""

    namespace: str
    pod: str
    uid: str
    ports: tuple[int, ...]


Answer = Response | Watch | Forward


def json_response(document: object, *, code: int = 200, content_type: str = JSON) -> Response:
    """``document`` as the API server writes it: compact, one line."""
    return Response(code=code, body=encoded(document), content_type=content_type)


def encoded(document: object) -> bytes:
    """One line of JSON."""
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"
