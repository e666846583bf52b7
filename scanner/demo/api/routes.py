"""Requests to answers: a pure function of the store. What needs a socket is a value (``Watch``, ``Forward``)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from scanner.demo.api import discovery
from scanner.demo.api.lists import object_list, selected, whole
from scanner.demo.api.selectors import Test
from scanner.demo.api.status import (
    Failure,
    NoSuchPath,
    bad_request,
    forbidden,
    forbidden_path,
    not_found,
    unauthorized,
)
from scanner.demo.api.store import Resource, Store

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"

_WRITES = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_LONGEST_WATCH = 1800.0


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
    bookmarks: bool
    initial_end: bool
    """Whether a bookmark marks the end of what there was at first (``sendInitialEvents``)."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Who may come in, and what the role does not allow."""

    token: str
    forbidden: frozenset[str] = frozenset()
    """Resources, as ``Kind.resource``; ``pods/portforward`` also."""
    stale: frozenset[str] = frozenset()
    """Groups whose own API server is down: 503, and ``Stale`` in discovery."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """Everything but the sockets."""

    store: Store
    rules: Rules
    server: str
    """Its own ``host:port``, for discovery."""
    version: dict[str, str]
    """What ``/version`` says."""

    def answer(self, request: Request) -> Answer:
        """Never raises: errors are answers too."""
        try:
            self._authenticate(request)
            return self._route(request)
        except Failure as failure:
            return json_response(failure.document(), code=failure.code)
        except NoSuchPath:
            return Response(code=404, body=b"404 page not found\n", content_type=TEXT)

    def _authenticate(self, request: Request) -> None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or token.strip() != self.rules.token:
            raise unauthorized()

    def _route(self, request: Request) -> Answer:
        steps = [step for step in request.path.split("/") if step]
        match steps:
            case ["version"]:
                return json_response(self.version)
            case ["healthz" | "livez" | "readyz"]:
                return Response(body=b"ok", content_type=TEXT)
            case ["api" | "apis"]:
                return self._roots(request, core=steps == ["api"])
            case ["api", version, *rest]:
                return self._group(request, "", version, rest)
            case ["apis", name]:
                return json_response(discovery.group(name, self._resources(name)))
            case ["apis", name, version, *rest]:
                return self._group(request, name, version, rest)
        raise NoSuchPath

    def _roots(self, request: Request, *, core: bool) -> Response:
        every = self.store.resources
        for asked in request.headers.get("accept", "").split(","):
            version = discovery.AGGREGATED.get(asked.strip().replace("; ", ";").partition(";q=")[0])
            if version is not None:
                found = discovery.aggregated(every, version, core=core, stale=self.rules.stale)
                kind = f"{JSON};g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
                return json_response(found, content_type=kind)
        return json_response(discovery.core_versions(self.server) if core else discovery.group_list(every))

    def _resources(self, group: str) -> tuple[Resource, ...]:
        found = discovery.groups(self.store.resources).get(group)
        if not found:
            raise NoSuchPath
        return found

    def _group(self, request: Request, group: str, version: str, steps: list[str]) -> Answer:
        resources = self._resources(group)
        if version not in discovery.versions(resources):
            raise NoSuchPath
        if group in self.rules.stale:
            return Response(code=503, body=b"service unavailable\n", content_type=TEXT)
        if not steps:
            return json_response(discovery.resource_list(resources, version))
        return self._resource(request, resources, version, steps)

    def _resource(self, request: Request, resources: tuple[Resource, ...], version: str, steps: list[str]) -> Answer:
        namespace = ""
        if steps[0] == "namespaces" and len(steps) > 2:
            namespace, steps = steps[1], steps[2:]
        plural, name, subresource = [*steps, "", ""][:3]
        served = [each for each in resources if each.kind.plural == plural and version in each.versions]
        if not served or len(steps) > 3 or (subresource and subresource not in served[0].subresources):
            raise NoSuchPath
        resource = served[0]
        if bool(namespace) > resource.kind.namespaced or (name and bool(namespace) != resource.kind.namespaced):
            raise NoSuchPath
        self._authorize(request, resource, namespace, name, subresource)
        if subresource == "portforward":
            return self._forward(request, namespace, name)
        if name:
            return self._get(resource, version, namespace, name)
        return self._collection(request, resource, version, namespace)

    def _authorize(self, request: Request, resource: Resource, namespace: str, name: str, subresource: str) -> None:
        verb = _verb(request, name)
        asked = "/".join(filter(None, (resource.kind.resource, subresource)))
        if (verb not in discovery.VERBS and subresource != "portforward") or asked in self.rules.forbidden:
            raise forbidden(verb, resource.kind, namespace, name, subresource)

    def _get(self, resource: Resource, version: str, namespace: str, name: str) -> Response:
        found = self.store.get(resource.kind, name, namespace)
        if found is None:
            raise not_found(resource.kind, name)
        return json_response(whole(resource, version, found))

    def _collection(self, request: Request, resource: Resource, version: str, namespace: str) -> Answer:
        query = request.query
        if _true(query.get("watch")):
            return _watch(resource, version, selected(resource, namespace, query), query)
        return json_response(object_list(self.store, resource, version, namespace, query))

    def _forward(self, request: Request, namespace: str, name: str) -> Forward:
        pods = next(each for each in self.store.resources if each.kind.plural == "pods")
        pod = self.store.get(pods.kind, name, namespace)
        if pod is None:
            raise not_found(pods.kind, name)
        if request.headers.get("upgrade", "").lower() != "websocket":
            raise bad_request("Upgrade request required")
        return Forward(namespace=namespace, pod=name, uid=pod["metadata"]["uid"], ports=_ports(request))


def _verb(request: Request, name: str) -> str:
    if request.method in _WRITES:
        verb = _WRITES[request.method]
        return "deletecollection" if verb == "delete" and not name else verb
    if request.method not in {"GET", "HEAD"}:
        raise forbidden_path(request.method.lower(), request.path)
    if name:
        return "get"
    return "watch" if _true(request.query.get("watch")) else "list"


def _watch(resource: Resource, version: str, test: Test, query: dict[str, str]) -> Watch:
    since = query.get("resourceVersion", "")
    seconds = query.get("timeoutSeconds", "")
    initial = _true(query.get("sendInitialEvents"))
    if initial and query.get("resourceVersionMatch") != "NotOlderThan":
        message = 'sendInitialEvents requires setting resourceVersionMatch to "NotOlderThan"'
        raise bad_request(f'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: {message}')
    try:
        revision = int(since or "0")
        wanted = float(int(seconds or "0")) or _LONGEST_WATCH
    except ValueError:
        raise bad_request(f"invalid resource version or timeout: {since!r}, {seconds!r}") from None
    return Watch(
        resource=resource,
        version=version,
        test=test,
        since=None if initial or revision == 0 else revision,
        bookmarks=_true(query.get("allowWatchBookmarks")),
        initial_end=initial,
        seconds=min(wanted, _LONGEST_WATCH),
    )


def _ports(request: Request) -> tuple[int, ...]:
    """Kubelet's own words, ``pkg/cri/streaming/portforward/websocket.go``; it sees ``ports`` under the name port."""
    text = ",".join(value for name, value in parse_qsl(urlsplit(request.target).query) if name == "ports")
    if not text:
        raise bad_request('query parameter "port" is required')
    ports = []
    for each in text.split(","):
        if not (each.isascii() and each.isdigit() and int(each) < 65536):
            raise bad_request(f'unable to parse "{text}" as a port: strconv.ParseUint: parsing "{each}"')
        if int(each) == 0:
            raise bad_request(f'port "{text}" must be > 0')
        ports.append(int(each))
    return tuple(ports)


def _true(text: str | None) -> bool:
    return text in {"true", "1", "True", "t", "T", "TRUE"}
