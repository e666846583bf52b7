"""The answers of the API server: a pure function of the store and the request. ``Watch`` and ``PortForward`` are
answers that need a socket.

Discovery documents are in the aggregated form only, ``apidiscovery.k8s.io/v2`` (KEP-3352), which the Accept header
asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from msgspec import Struct

from scanner.demo.api.messages import (
    JSON,
    TEXT,
    Answer,
    Failure,
    NoSuchPath,
    PortForward,
    Request,
    Response,
    bad_request,
    forbidden,
    forbidden_path,
    json_response,
    no_such_resource,
    not_acceptable,
    not_allowed,
    not_found,
    unauthorized,
)
from scanner.demo.api.store import Event, Query, Resource, Store, selector

Document = dict[str, Any]
Resources = tuple[Resource, ...]

_READS = ("get", "list", "watch")
_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
"""Verbs that discovery lists, also for users that may not use them."""
_WRITES = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_AGGREGATED = {f"{JSON};g=apidiscovery.k8s.io;v={each};as=APIGroupDiscoveryList": each for each in ("v2", "v2beta1")}
"""Content types of discovery, and the version that each asks for."""


def _groups(resources: Iterable[Resource]) -> dict[str, Resources]:
    """Resources by the name of their group, in the order of their first appearance; the core's is ""."""
    found: dict[str, Resources] = {}
    for each in resources:
        found[each.kind.group] = (*found.get(each.kind.group, ()), each)
    return found


def _versions(resources: Resources) -> tuple[str, ...]:
    """Versions of a group, the preferred one first."""
    return tuple(dict.fromkeys(version for each in resources for version in each.versions))


def _discovery(resources: Iterable[Resource], version: str, *, core: bool) -> Document:
    """``/api`` or ``/apis`` in one document."""
    items = [_group_item(name, several) for name, several in _groups(resources).items() if bool(name) is not core]
    found = {"kind": "APIGroupDiscoveryList", "apiVersion": f"apidiscovery.k8s.io/{version}", "metadata": {}}
    return {**found, "items": items}


def _group_item(name: str, resources: Resources) -> Document:
    served = []
    for version in _versions(resources):
        rows = [_resource_row(each, version) for each in resources if version in each.versions]
        served.append({"version": version, "resources": rows, "freshness": "Current"})
    return {"metadata": {"name": name} if name else {}, "versions": served}


def _resource_row(resource: Resource, version: str) -> Document:
    kind = resource.kind
    group, response_version = (kind.group, version) if resource.server == "crd" else ("", "")  # "": as its list's
    response = {"group": group, "version": response_version, "kind": kind.name}
    row: Document = {
        "resource": kind.plural,
        "responseKind": response,
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.name.lower(),
        "verbs": list(_VERBS),
    }
    if resource.short_names:
        row["shortNames"] = list(resource.short_names)
    if resource.subresources:
        row["subresources"] = [
            {
                "subresource": each,
                "responseKind": response,
                "verbs": ["create", "get"] if each == "portforward" else ["get"],
            }
            for each in resource.subresources
        ]
    return row


_LONGEST_WATCH = 1800.0
"""Seconds of a watch without ``timeoutSeconds``; the real server takes between this and twice as long."""


class Watch(Struct, frozen=True, kw_only=True):
    """A response of one line for each write, as long as the watch lasts, without bookmarks."""

    resource: Resource
    since: int | None
    """Revision after which writes are reported; None: every object first, as added."""
    seconds: float
    line: Callable[[Event], bytes | None]
    """The line for a write, or None if the watch does not select the object."""


class Api(Struct, frozen=True, kw_only=True):
    """The API server without its sockets."""

    store: Store
    token: str
    forbidden: frozenset[str] = frozenset()
    """Resources that the user's role does not allow, as ``Kind.resource``; ``pods/portforward`` also."""
    version: dict[str, str]
    """The answer to ``/version``."""

    def answer(self, request: Request) -> Answer | Watch:
        """The answer to a request. Never raises: errors are answers too."""
        try:
            self._authenticate(request)
            return self._route(request)
        except Failure as failure:
            return json_response(failure.document(), code=failure.code)
        except NoSuchPath:
            return Response(code=404, body=b"404 page not found\n", content_type=TEXT)

    def _authenticate(self, request: Request) -> None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or token.strip() != self.token:
            raise unauthorized()

    def _route(self, request: Request) -> Answer | Watch:
        steps = [step for step in request.path.split("/") if step]
        if request.method != "GET" and request.method not in _WRITES:
            raise not_allowed()
        if request.method != "GET" and len(steps) < 3:
            raise forbidden_path(request.method.lower(), request.path)
        if not _takes_json(request.headers.get("accept", "*/*")):
            raise not_acceptable()
        match steps:
            case ["version"]:
                return json_response(self.version)
            case ["healthz" | "livez" | "readyz"]:
                return Response(body=b"ok", content_type=TEXT)
            case ["api" | "apis"]:
                return self._root(request, core=steps == ["api"])
            case ["api", version, *rest]:
                return self._group(request, "", version, rest)
            case ["apis", name, version, *rest]:
                return self._group(request, name, version, rest)
        raise NoSuchPath

    def _root(self, request: Request, *, core: bool) -> Response:
        for accepted in request.headers.get("accept", "").split(","):
            content_type = accepted.strip().replace("; ", ";").partition(";q=")[0]
            version = _AGGREGATED.get(content_type)
            if version is not None:
                found = _discovery(self.store.resources, version, core=core)
                return json_response(found, content_type=content_type)
        raise not_acceptable()

    def _group(self, request: Request, group: str, version: str, steps: list[str]) -> Answer | Watch:
        resources = _groups(self.store.resources).get(group)
        if not resources:
            raise NoSuchPath
        if version not in _versions(resources) or not steps:
            raise _not_served(resources)
        namespace = ""
        if steps[0] == "namespaces" and len(steps) > 2:
            namespace, steps = steps[1], steps[2:]
        plural, name, subresource = [*steps, "", ""][:3]
        served = [each for each in resources if each.kind.plural == plural and version in each.versions]
        if not served or len(steps) > 3 or (subresource and subresource not in served[0].subresources):
            raise _not_served(resources)
        resource = served[0]
        if bool(namespace) > resource.kind.namespaced or (name and bool(namespace) != resource.kind.namespaced):
            raise _not_served(resources)
        self._authorize(request, resource, namespace, name, subresource)
        if subresource == "portforward":
            return self._port_forward(request, resource, namespace, name)
        if name:
            return json_response(resource.with_type(version, self._get(resource, namespace, name)))
        if _is_true(request.query.get("watch")):
            return _watch(resource, version, namespace, request.query, self.store.oldest)
        return json_response(self.store.page(resource, version, namespace, request.query))

    def _authorize(self, request: Request, resource: Resource, namespace: str, name: str, subresource: str) -> None:
        listing = "watch" if _is_true(request.query.get("watch")) else "list"
        verb = _WRITES.get(request.method, "get" if name else listing)
        if verb == "delete" and not name:
            verb = "deletecollection"
        requested = "/".join(filter(None, (resource.kind.resource, subresource)))
        if (verb not in _READS and subresource != "portforward") or requested in self.forbidden:
            inside = name if resource.kind.plural == "namespaces" else namespace
            raise forbidden(verb, resource.kind, inside, name, subresource)

    def _get(self, resource: Resource, namespace: str, name: str) -> Document:
        found = self.store.get(resource.kind, name, namespace)
        if found is None:
            raise not_found(resource.kind, name)
        return found

    def _port_forward(self, request: Request, pods: Resource, namespace: str, name: str) -> PortForward:
        """Raises ``Failure`` in kubelet's words (``pkg/cri/streaming/portforward``): ``ports`` is "port" there."""
        pod = self._get(pods, namespace, name)
        if request.headers.get("upgrade", "").lower() != "websocket":
            raise bad_request("Upgrade request required")
        text = dict(parse_qsl(urlsplit(request.target).query)).get("ports", "")
        if not text:
            raise bad_request('query parameter "port" is required')
        if not (text.isascii() and text.isdigit() and 0 < int(text) < 65536):
            raise bad_request(f'unable to parse "{text}" as a port')
        return PortForward(namespace=namespace, pod=name, uid=pod["metadata"]["uid"], port=int(text))


def _watch(resource: Resource, version: str, namespace: str, query: Query, oldest: int) -> Answer | Watch:
    """Raises ``Failure`` in the real server's words (apimachinery ``pkg/apis/meta/v1``, apiserver ``pkg/storage``)."""
    selected = selector(query, resource.kind.plural)
    seconds, since = query.get("timeoutSeconds", ""), query.get("resourceVersion", "")
    if seconds and not (seconds.isascii() and seconds.isdigit()):
        raise bad_request(f'strconv.ParseInt: parsing "{seconds}": invalid syntax')
    if since and not (since.isascii() and since.isdigit()):
        message = f'resourceVersion: Invalid value: "{since}": strconv.ParseUint: parsing "{since}": invalid syntax'
        raise Failure(code=500, reason="", message=message)
    if 0 < int(since or "0") < oldest:
        gone = Failure(code=410, reason="Expired", message=f"too old resource version: {since} ({oldest})")
        return json_response({"type": "ERROR", "object": gone.document()})

    def line(event: Event) -> bytes | None:
        found = event.object
        if event.kind != resource.kind or namespace not in ("", found["metadata"].get("namespace")):
            return None
        typed = {"type": event.change, "object": resource.with_type(version, found)}
        return json_response(typed).body if selected(found) else None

    return Watch(
        resource=resource,
        since=int(since or "0") or None,
        seconds=min(float(seconds or "0") or _LONGEST_WATCH, _LONGEST_WATCH),
        line=line,
    )


def _is_true(text: str | None) -> bool:
    return text in ("", "1", "t", "T", "true", "True", "TRUE")  # "": the parameter without a value


def _not_served(resources: Resources) -> Exception:
    """Groups of custom resources answer with text, as if the path did not exist; the others with a Status."""
    return NoSuchPath() if all(each.server == "crd" for each in resources) else no_such_resource()


def _takes_json(accept: str) -> bool:
    kinds = {each.partition(";")[0].strip() for each in accept.split(",")}
    return not kinds.isdisjoint({JSON, "application/*", "*/*", ""})
