"""Requests and answers of the API as values. ``PortForward`` needs a socket; so does ``Watch`` (``request_handler``).

Errors have the API server's wording: ``meta/v1 Status`` (apimachinery ``pkg/apis/meta/v1/types.go``).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from msgspec import Struct, field

from scanner.kube.kinds import Kind

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"


class Request(Struct, frozen=True, kw_only=True):
    """A request of a client."""

    method: str = "GET"
    target: str
    """Path and query, as sent."""
    headers: dict[str, str] = field(default_factory=dict)
    """Names in lower case."""

    @property
    def path(self) -> str:
        """Decoded."""
        return unquote(urlsplit(self.target).path)

    @property
    def query(self) -> dict[str, str]:
        """The last value of each parameter."""
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))


class Response(Struct, frozen=True, kw_only=True):
    """A response with its body."""

    code: int = 200
    body: bytes
    content_type: str = JSON


class PortForward(Struct, frozen=True, kw_only=True):
    """Upgrade to a WebSocket, and connect it to a port of a pod."""

    namespace: str
    pod: str
    uid: str
    port: int


Answer = Response | PortForward


def json_response(document: object, *, code: int = 200, content_type: str = JSON) -> Response:
    """``document`` as the API server writes it: compact, one line."""
    body = json.dumps(document, separators=(",", ":")).encode() + b"\n"
    return Response(code=code, body=body, content_type=content_type)


USER = "system:serviceaccount:adhere:adhere"
"""The user of the demo's token."""


@dataclass(kw_only=True, eq=False)  # not frozen: Python sets __traceback__ of exceptions
class Failure(Exception):
    """A request that ends with an error."""

    code: int
    reason: str
    """Empty if the real server sends no reason."""
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
    """404, as text: no resource or document is served at this path."""


def no_such_resource() -> Failure:
    """404: the group is served, but not this resource or version."""
    message = "the server could not find the requested resource"
    return Failure(code=404, reason="NotFound", message=message, details={})


def not_allowed() -> Failure:
    """405: the API has no such method."""
    message = "the server does not allow this method on the requested resource"
    return Failure(code=405, reason="MethodNotAllowed", message=message, details={})


def not_acceptable() -> Failure:
    """406: the client does not accept JSON."""
    message = "only the following media types are accepted: application/json"
    return Failure(code=406, reason="NotAcceptable", message=message)


def unauthorized() -> Failure:
    """401: no token, or an unknown one."""
    return Failure(code=401, reason="Unauthorized", message="Unauthorized")


def forbidden(verb: str, kind: Kind, namespace: str, name: str = "", subresource: str = "") -> Failure:
    """403: the user's roles do not allow this verb."""
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
    """403 for a path that is no resource."""
    return Failure(
        code=403, reason="Forbidden", message=f'forbidden: User "{USER}" cannot {verb} path "{path}"', details={}
    )


def not_found(kind: Kind, name: str) -> Failure:
    """404: no object has this name."""
    message = f'{kind.resource} "{name}" not found'
    return Failure(code=404, reason="NotFound", message=message, details=_details(kind, name))


def bad_request(message: str) -> Failure:
    """400: a parameter is invalid."""
    return Failure(code=400, reason="BadRequest", message=message)


def _details(kind: Kind, name: str) -> dict[str, object]:
    named = {"name": name, "group": kind.group, "kind": kind.plural}
    return {key: value for key, value in named.items() if value}
