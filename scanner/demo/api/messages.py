"""Requests and answers of the API as values; watches and port-forwards are values that need a socket.

Errors have the API server's wording: ``meta/v1 Status`` (apimachinery ``pkg/apis/meta/v1/types.go``).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from scanner.demo.api.store import Resource, Test
from scanner.kube.kinds import Kind

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


USER = "system:serviceaccount:adhere:adhere"
"""Who shows the demo's token."""


@dataclass(kw_only=True, eq=False)  # not frozen: whatever handles exceptions sets their __traceback__
class Failure(Exception):
    """A request that ends with an error."""

    code: int
    reason: str
    """Empty where the real one gives none."""
    message: str
    details: dict[str, object] | None = None

    def document(self) -> dict[str, Any]:
        """The Status object."""
        found = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "details": self.details,
            "code": self.code,
        }
        return {key: value for key, value in found.items() if value not in ("", None)}


class NoSuchPath(Exception):
    """Nobody serves that path: 404, as text."""


def no_such_resource() -> Failure:
    """The group is served, and has nothing of that name or version."""
    message = "the server could not find the requested resource"
    return Failure(code=404, reason="NotFound", message=message, details={})


def not_allowed() -> Failure:
    """Another method than those of the API."""
    message = "the server does not allow this method on the requested resource"
    return Failure(code=405, reason="MethodNotAllowed", message=message, details={})


def not_acceptable() -> Failure:
    """The client takes no JSON."""
    message = "only the following media types are accepted: application/json"
    return Failure(code=406, reason="NotAcceptable", message=message)


def unauthorized() -> Failure:
    """No token, or one that nobody knows."""
    return Failure(code=401, reason="Unauthorized", message="Unauthorized")


def forbidden(verb: str, kind: Kind, namespace: str, name: str = "", subresource: str = "") -> Failure:
    """A verb that the user's roles do not have."""
    resource = f"{kind.plural}/{subresource}" if subresource else kind.plural
    where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
    subject = f'{kind.resource} "{name}"' if name else kind.resource
    return Failure(
        code=403,
        reason="Forbidden",
        message=f'{subject} is forbidden: User "{USER}" cannot {verb} resource "{resource}" '
        f'in API group "{kind.group}" {where}',
        details=_details(kind, name),
    )


def forbidden_path(verb: str, path: str) -> Failure:
    """The like, of a path that is no resource."""
    return Failure(
        code=403,
        reason="Forbidden",
        message=f'forbidden: User "{USER}" cannot {verb} path "{path}"',
        details={},
    )


def not_found(kind: Kind, name: str) -> Failure:
    """No object of that name."""
    message = f'{kind.resource} "{name}" not found'
    return Failure(code=404, reason="NotFound", message=message, details=_details(kind, name))


def bad_request(message: str) -> Failure:
    """A parameter that cannot be understood."""
    return Failure(code=400, reason="BadRequest", message=message)


def _details(kind: Kind, name: str) -> dict[str, object]:
    named = {"name": name, "group": kind.group, "kind": kind.plural}
    return {key: value for key, value in named.items() if value}
