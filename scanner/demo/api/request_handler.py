"""Answer requests: a pure function of the store. An answer that needs a socket is a value (``Watch``, ``Forward``)."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from scanner.demo.api import discovery
from scanner.demo.api.lists import object_list, selected, whole
from scanner.demo.api.messages import (
    JSON,
    TEXT,
    Answer,
    Failure,
    Forward,
    NoSuchPath,
    Request,
    Response,
    Watch,
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
from scanner.demo.api.store import Resource, Store, Test

_LONGEST_WATCH = 1800.0


def watch(resource: Resource, version: str, test: Test, query: dict[str, str]) -> Watch:
    """What a watch asks for. Raises ``Failure``."""
    since = query.get("resourceVersion", "")
    seconds = query.get("timeoutSeconds", "")
    if not ((seconds.isascii() and seconds.isdigit()) or not seconds):
        raise bad_request(f'strconv.ParseInt: parsing "{seconds}": invalid syntax')
    if not ((since.isascii() and since.isdigit()) or not since):
        message = f'resourceVersion: Invalid value: "{since}": strconv.ParseUint: parsing "{since}": invalid syntax'
        raise Failure(code=500, reason="", message=message)
    revision = int(since or "0")
    wanted = float(int(seconds or "0")) or _LONGEST_WATCH
    return Watch(
        resource=resource,
        version=version,
        test=test,
        since=revision or None,
        seconds=min(wanted, _LONGEST_WATCH),
    )


def ports(request: Request) -> tuple[int, ...]:
    """The ports of a port-forward. Raises ``Failure``, in kubelet's own words (``pkg/cri/streaming/portforward``): it
    sees ``ports`` under the name port."""
    text = ",".join(value for name, value in parse_qsl(urlsplit(request.target).query) if name == "ports")
    if not text:
        raise bad_request('query parameter "port" is required')
    found = []
    for each in text.split(","):
        if not (each.isascii() and each.isdigit() and int(each) < 65536):
            raise bad_request(f'unable to parse "{text}" as a port: strconv.ParseUint: parsing "{each}"')
        if int(each) == 0:
            raise bad_request(f'port "{text}" must be > 0')
        found.append(int(each))
    return tuple(found)


def is_true(text: str | None) -> bool:
    """As Go reads a bool (strconv.ParseBool)."""
    return text in {"true", "1", "True", "t", "T", "TRUE"}


_READS = {"GET", "HEAD"}
_WRITES = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


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
        if request.method not in _READS | _WRITES.keys():
            raise not_allowed()
        if request.method not in _READS and len(steps) < 3:
            raise forbidden_path(request.method.lower(), request.path)
        if not _takes_json(request.headers.get("accept", "*/*")):
            raise not_acceptable()
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
        if group in self.rules.stale:
            return Response(code=503, body=b"service unavailable\n", content_type=TEXT)
        if version not in discovery.versions(resources):
            raise _nothing_there(resources)
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
            raise _nothing_there(resources)
        resource = served[0]
        if bool(namespace) > resource.kind.namespaced or (name and bool(namespace) != resource.kind.namespaced):
            raise _nothing_there(resources)
        self._authorize(request, resource, namespace, name, subresource)
        if subresource == "portforward":
            return self._forward(request, namespace, name)
        if name:
            return self._get(resource, version, namespace, name)
        return self._collection(request, resource, version, namespace)

    def _authorize(self, request: Request, resource: Resource, namespace: str, name: str, subresource: str) -> None:
        verb = _verb(request, name)
        asked = "/".join(filter(None, (resource.kind.resource, subresource)))
        if (verb not in discovery.READS and subresource != "portforward") or asked in self.rules.forbidden:
            inside = name if resource.kind.plural == "namespaces" else namespace
            raise forbidden(verb, resource.kind, inside, name, subresource)
        if request.method == "HEAD":
            raise not_allowed()

    def _get(self, resource: Resource, version: str, namespace: str, name: str) -> Response:
        found = self.store.get(resource.kind, name, namespace)
        if found is None:
            raise not_found(resource.kind, name)
        return json_response(whole(resource, version, found))

    def _collection(self, request: Request, resource: Resource, version: str, namespace: str) -> Answer:
        query = request.query
        if is_true(query.get("watch")):
            return watch(resource, version, selected(resource, namespace, query), query)
        return json_response(object_list(self.store, resource, version, namespace, query))

    def _forward(self, request: Request, namespace: str, name: str) -> Forward:
        pods = next(each for each in self.store.resources if each.kind.plural == "pods")
        pod = self.store.get(pods.kind, name, namespace)
        if pod is None:
            raise not_found(pods.kind, name)
        if request.headers.get("upgrade", "").lower() != "websocket":
            raise bad_request("Upgrade request required")
        return Forward(namespace=namespace, pod=name, uid=pod["metadata"]["uid"], ports=ports(request))


def _nothing_there(resources: tuple[Resource, ...]) -> Exception:
    """Groups of definitions answer with text, as if they were not there; the others with a Status."""
    return NoSuchPath() if all(each.server == "crd" for each in resources) else no_such_resource()


def _takes_json(accept: str) -> bool:
    kinds = {each.partition(";")[0].strip() for each in accept.split(",")}
    return not kinds.isdisjoint({JSON, "application/*", "*/*", ""})


def _verb(request: Request, name: str) -> str:
    if request.method in _WRITES:
        verb = _WRITES[request.method]
        return "deletecollection" if verb == "delete" and not name else verb
    if name:
        return "get"
    return "watch" if is_true(request.query.get("watch")) else "list"
