"""Where a name is had without TLS, and what objects say of it."""

from __future__ import annotations

from typing import Any

import pytest

from scanner.kube.kinds import HTTP_PROXY
from scanner.kube.objects import Reference
from scanner.kube.snapshot import Snapshot, Unreadable
from scanner.model.expectation import PlainPort
from scanner.values import replace
from tests.expect.declared_objects import made
from tests.expect.stories import endpoint, resolved, snapshot_of
from tests.origins import origin

ROUTER = "Deployment/openshift-ingress/router-default:8443#web.example"
ENVOY = ("envoy.projectcontour.svc:443", "172.30.0.4:443")


def routed(**spec: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return made("Route", "shop", "web", "route.openshift.io/v1", spec=spec)


def proxied(*routes: dict[str, Any]) -> dict[str, Any]:
    virtual = {"fqdn": "web.example", "tls": {"secretName": "x"}}
    spec = {"virtualhost": virtual, **({"routes": list(routes)} if routes else {})}
    return made("HTTPProxy", "shop", "web", "projectcontour.io/v1", spec=spec)


def service(*ports: tuple[str, int]) -> dict[str, Any]:
    listed = [{"name": name, "port": number, "protocol": "TCP"} for name, number in ports]
    return made("Service", "projectcontour", "envoy", spec={"ports": listed})


def piece(*ports: tuple[str, int], address: str = "10.128.0.20") -> dict[str, Any]:
    labels = {"labels": {"kubernetes.io/service-name": "envoy"}}
    listed = [{"name": name, "port": number} for name, number in ports]
    endpoints = [{"addresses": [address]}]
    api = "discovery.k8s.io/v1"
    return made("EndpointSlice", "projectcontour", "envoy-x", api, metadata=labels, ports=listed, endpoints=endpoints)


def pod(*ports: tuple[str, int]) -> dict[str, Any]:
    listed = [{"name": name, "containerPort": number} for name, number in ports]
    return made("Pod", "projectcontour", "envoy-a", spec={"containers": [{"name": "main", "ports": listed}]})


BALANCED = (service(("http", 80), ("https", 443)), piece(("http", 8080), ("https", 8443)))


def found(subject: str, *objects: dict[str, Any], port: int = 8443, **fields: Any) -> PlainPort | None:  # noqa: ANN401
    return found_in(snapshot_of(list(objects)), subject, port=port, **fields)


def found_in(snapshot: Snapshot, subject: str, *, port: int = 8443, **fields: Any) -> PlainPort | None:  # noqa: ANN401
    kind, namespace, name = subject.split("/")
    where = endpoint(f"DaemonSet/projectcontour/envoy:{port}#web.example", {})
    fields = {"address": "10.128.0.20", "aliases": ENVOY, "segment": "Frontend", "origins": (subject,), **fields}
    fields["origins"] = tuple(origin(each) for each in fields["origins"])
    where = replace(where, subject=Reference(kind=kind, namespace=namespace, name=name), **fields)
    expectations = resolved(snapshot, endpoints=[where])
    return expectations.of(where).plain_port


def known(subject: str, *objects: dict[str, Any], **fields: Any) -> PlainPort:  # noqa: ANN401 - as found
    port = found(subject, *objects, **fields)
    assert port is not None
    return port


@pytest.mark.parametrize(
    ("tls", "owed"),
    [
        ({}, "nothing"),
        ({"insecureEdgeTerminationPolicy": "None"}, "nothing"),
        ({"insecureEdgeTerminationPolicy": "Redirect"}, "redirect"),
        ({"insecureEdgeTerminationPolicy": "Allow"}, "served"),
        ({"insecureEdgeTerminationPolicy": "perhaps"}, None),
        ({"termination": "passthrough", "insecureEdgeTerminationPolicy": "Redirect"}, "redirect"),
    ],
)
def test_a_route_says_what_is_had_without_tls(tls: dict[str, Any], owed: str | None) -> None:
    port = known("Route/shop/web", routed(tls={"termination": "edge", **tls}), *BALANCED)
    assert (port.port, port.path, port.owed) == (8080, "/", owed)
    assert port.because.startswith("Route/shop/web spec.tls.insecureEdgeTerminationPolicy: ")


def test_a_routes_path_is_what_it_has() -> None:
    port = known("Route/shop/web", routed(path="/blog", tls={"termination": "edge"}), *BALANCED)
    assert port.path == "/blog"


@pytest.mark.parametrize("path", ["/a b", "/ä", "/" + 1001 * "a"])
def test_a_path_that_no_request_can_have_is_not_asked_for(path: str) -> None:
    """So that whoever finds nothing at ``/`` has not found that there is nothing."""
    port = known("Route/shop/web", routed(path=path, tls={"termination": "edge"}), *BALANCED)
    assert (port.path, port.owed, port.conditional) == ("/", "nothing", True)


@pytest.mark.parametrize(
    ("routes", "owed", "path"),
    [
        (({"services": []},), "redirect", "/"),
        (({}, {"permitInsecure": True, "conditions": [{"header": {}}, {"prefix": "/open"}]}), "served", "/open"),
        (({"permitInsecure": True},), "served", "/"),
    ],
)
def test_an_httpproxy_redirects_but_for_what_it_permits(routes: Any, owed: str, path: str) -> None:  # noqa: ANN401
    port = known("HTTPProxy/shop/web", proxied(*routes), *BALANCED)
    assert (port.port, port.owed, port.path) == (8080, owed, path)


@pytest.mark.parametrize(
    ("conditions", "path", "conditional"),
    [
        ([{"exact": "/healthz"}], "/healthz", False),
        ([{"prefix": "/open"}], "/open", False),
        ([{"regex": "/v[12]/.*"}], "/", True),
        ([{"prefix": "/open"}, {"header": {"name": "x-debug", "present": True}}], "/open", True),
        ([{"prefix": "/open"}, {"queryParameter": {"name": "q", "present": True}}], "/open", True),
    ],
)
def test_what_an_httpproxy_permits_under_conditions(conditions: list[Any], path: str, conditional: bool) -> None:
    """Of which one request can only meet a path."""
    permitted = {"permitInsecure": True, "conditions": conditions}
    port = known("HTTPProxy/shop/web", proxied(permitted), *BALANCED)
    assert (port.owed, port.path, port.conditional) == ("served", path, conditional)
    second = known("HTTPProxy/shop/web", proxied(permitted, {"permitInsecure": True}), *BALANCED)
    assert (second.path, second.conditional) == (path if not conditional else "/", False)


INCLUDED = {"permitInsecure": True, "conditions": [{"prefix": "/open"}]}


def part(name: str, *routes: dict[str, Any], **spec: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return made("HTTPProxy", "shop", name, "projectcontour.io/v1", spec={"routes": list(routes), **spec})


def root(*conditions: dict[str, Any], name: str = "part") -> dict[str, Any]:
    proxy = proxied()
    proxy["spec"]["includes"] = [{"name": name, "conditions": list(conditions)}]
    return proxy


@pytest.mark.parametrize(
    ("objects", "owed", "path", "conditional"),
    [
        ((root(), part("part", INCLUDED)), "served", "/open", False),
        ((root({"prefix": "/team/"}), part("part", INCLUDED)), "served", "/team/open", False),
        ((root({"header": {"name": "x"}}), part("part", INCLUDED)), "served", "/open", True),
        ((root(), part("part", {})), "redirect", "/", False),
        ((root(), part("part", includes=[{"name": "deep"}]), part("deep", INCLUDED)), "served", "/open", False),
        (
            (root({"prefix": "/team"}), part("part", includes=[{"name": "deep"}]), part("deep", INCLUDED)),
            "served",
            "/team/open",
            False,
        ),
        ((root(), part("part", includes=[{"name": "part"}])), "redirect", "/", False),
        (
            (root(), part("part", includes=[{"name": "b"}]), part("b", includes=[{"name": "part"}])),
            "redirect",
            "/",
            False,
        ),
        ((root(), part("part", INCLUDED, virtualhost={"fqdn": "b.example"})), "redirect", "/", False),
        ((root(name="nobody"), part("part", INCLUDED)), "redirect", "/", False),
    ],
    ids=[
        "whole",
        "path",
        "header",
        "not permitted",
        "deep",
        "path of all above",
        "circle",
        "circle of two",
        "another root",
        "not there",
    ],
)
def test_an_httpproxy_permits_what_those_permit_that_it_includes(
    objects: tuple[dict[str, Any], ...], owed: str, path: str, conditional: bool
) -> None:
    port = known("HTTPProxy/shop/web", *objects, *BALANCED)
    assert (port.owed, port.path, port.conditional) == (owed, path, conditional)


@pytest.mark.parametrize(("namespace", "owed"), [("team", "served"), ("", "redirect")])
def test_an_included_object_may_be_in_another_namespace(namespace: str, owed: str) -> None:
    proxy, included = root(), part("part", INCLUDED)
    proxy["spec"]["includes"][0]["namespace"] = namespace
    included["metadata"]["namespace"] = "team"
    port = found("HTTPProxy/shop/web", proxy, included, *BALANCED)
    assert port is not None
    assert port.owed == owed


def test_what_an_httpproxy_permits_is_open_where_not_all_was_seen() -> None:
    read = snapshot_of([root(), *BALANCED])
    gap = {HTTP_PROXY: Unreadable(kind=HTTP_PROXY, gap="forbidden", reason="forbidden")}
    port = found_in(replace(read, unreadable=gap), "HTTPProxy/shop/web")
    assert port is not None
    assert port.owed is None
    read = snapshot_of([root(name=""), *BALANCED])
    port = found_in(replace(read, unreadable=gap), "HTTPProxy/shop/web")
    assert port is not None
    assert port.owed == "redirect", "an include without a name has no object that could be missing"
    read = snapshot_of([root(), part("part", INCLUDED), *BALANCED])
    port = found_in(replace(read, unreadable=gap), "HTTPProxy/shop/web")
    assert port is not None
    assert port.owed == "served", "the included object was read"


def test_what_an_httpproxy_permits_is_open_below_the_depth_that_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scanner.expect.http_redirect._DEEPEST", 1)
    objects = (root(), part("part", includes=[{"name": "deep"}]), part("deep", {}))
    port = found("HTTPProxy/shop/web", *objects, *BALANCED)
    assert port is not None
    assert port.owed is None


def test_what_an_httpproxy_permits_is_open_where_not_all_was_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred objects, each of which includes all the others: nobody finds an end of that."""
    names = [f"p{number}" for number in range(100)]
    others = [part(name, includes=[{"name": each} for each in names]) for name in names]
    monkeypatch.setattr("scanner.expect.http_redirect._MOST_ROUTES", 500)
    port = known("HTTPProxy/shop/web", root(name="p0"), *others, *BALANCED)
    assert port.owed is None


def test_what_is_included_in_a_circle_again_and_again_is_among_what_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each of the fifty leads back fifty times, and to nobody else: that is work, too."""
    back, there = [{"name": "web"}] * 50, [{"name": "part"}] * 50
    again = proxied()
    again["spec"]["includes"] = there
    monkeypatch.setattr("scanner.expect.http_redirect._MOST_ROUTES", 500)
    port = known("HTTPProxy/shop/web", again, part("part", includes=back), *BALANCED)
    assert port.owed is None


@pytest.mark.parametrize(
    ("parts", "looked_at"),
    [
        ([part("part", includes=[{"name": "part"}])], 2),
        ([part("part", includes=[{"name": "b"}]), part("b", includes=[{"name": "part"}])], 3),
        (
            [
                part("part", includes=[{"name": "b"}]),
                part("b", includes=[{"name": "c"}]),
                part("c", includes=[{"name": "part"}]),
            ],
            4,
        ),
        ([part("part", includes=[{"name": "web"}])], 2),
    ],
    ids=["itself", "the one above", "two above", "the root"],
)
def test_a_cycle_is_not_followed_a_second_time(
    parts: list[dict[str, Any]], looked_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise it fills the limit, and what the other routes permit is unknown."""
    monkeypatch.setattr("scanner.expect.http_redirect._MOST_ROUTES", looked_at + 1)
    port = found("HTTPProxy/shop/web", root(), *parts, *BALANCED)
    assert port is not None
    assert port.owed == "redirect"


def test_an_httpproxy_without_routes_has_no_such_port() -> None:
    assert found("HTTPProxy/shop/web", proxied(), *BALANCED) is None


def test_of_an_ingress_nothing_is_known_but_the_port() -> None:
    ingress = made("Ingress", "shop", "web", "networking.k8s.io/v1", spec={"tls": [{"hosts": ["web.example"]}]})
    port = known("Ingress/shop/web", ingress, *BALANCED)
    assert (port.port, port.owed) == (8080, None)


@pytest.mark.parametrize(
    ("rules", "path", "conditional"),
    [
        ([{"host": "web.example", "http": {"paths": [{"path": "/a"}, {"path": "/"}]}}], "/", False),
        ([{"host": "web.example", "http": {"paths": [{"path": "/a"}, {"path": "/b"}]}}], "/a", False),
        (
            [{"host": "b.example", "http": {"paths": [{"path": "/b"}]}}, {"http": {"paths": [{"path": "/c"}]}}],
            "/c",
            False,
        ),
        ([{"host": "*.example", "http": {"paths": [{"path": "/a(/|$)(.*)"}]}}], "/a(/|$)(.*)", True),
        ([{"host": "web.example", "http": {"paths": [{}]}}], "/", False),
    ],
)
def test_of_an_ingress_that_has_only_some_paths_one_of_them_is_asked_for(
    rules: list[Any], path: str, *, conditional: bool
) -> None:
    spec = {"tls": [{"hosts": ["web.example"]}], "rules": rules}
    port = known("Ingress/shop/web", made("Ingress", "shop", "web", "networking.k8s.io/v1", spec=spec), *BALANCED)
    assert (port.path, port.conditional) == (path, conditional)


def test_of_routes_with_one_host_the_one_that_allows_most_is_asked_for() -> None:
    """Each has a path; the router answers each as it says."""
    allowing = routed(path="/open", tls={"termination": "edge", "insecureEdgeTerminationPolicy": "Allow"})
    allowing["metadata"]["name"] = "open"
    whole = routed(tls={"termination": "edge", "insecureEdgeTerminationPolicy": "Redirect"})
    origins = ("Route/shop/web edge", "Route/shop/open edge")
    port = known("Route/shop/web", whole, allowing, *BALANCED, origins=origins)
    assert (port.path, port.owed) == ("/open", "served")
    assert port.because.startswith("Route/shop/open ")


@pytest.mark.parametrize(
    ("hostname", "number"), [("", 8080), ("web.example", 8080), ("*.example", 8080), ("other.example", None)]
)
def test_a_gateway_has_one_where_a_listener_of_it_says_so(hostname: str, number: int | None) -> None:
    tls = {"name": "tls", "port": 443, "protocol": "HTTPS", "hostname": "web.example"}
    plain = {"name": "plain", "port": 80, "protocol": "HTTP", **({"hostname": hostname} if hostname else {})}
    spec = {"gatewayClassName": "x", "listeners": [tls, plain]}
    gateway = made("Gateway", "edge", "front", "gateway.networking.k8s.io/v1", spec=spec)
    origins = ("Gateway/edge/front listener tls",)
    port = found("Gateway/edge/front", gateway, *BALANCED, origins=origins)
    assert (port.port if port else None) == number
    assert port is None or (port.owed, port.conditional) == (None, True)
    spec["listeners"] = [tls]
    assert found("Gateway/edge/front", gateway, *BALANCED, origins=origins) is None


def test_a_listener_set_has_one_once_its_gateway_has_taken_it() -> None:
    """Its listeners are somebody else's, and their ports whatever he likes."""
    tls = {"name": "tls", "port": 443, "protocol": "HTTPS", "hostname": "web.example"}
    spec = {"gatewayClassName": "x", "listeners": [tls]}
    gateway = made("Gateway", "edge", "front", "gateway.networking.k8s.io/v1", spec=spec)
    listeners = [{"name": "plain", "port": 6379, "protocol": "HTTP"}]
    parent = {"name": "front", "namespace": "edge"}
    more = made(
        "ListenerSet",
        "tenant",
        "more",
        "gateway.networking.k8s.io/v1",
        spec={"parentRef": parent, "listeners": listeners},
    )
    where: dict[str, Any] = {"origins": ("Gateway/edge/front listener tls",), "port": 443, "aliases": ()}
    for status, number in ((None, None), ("False", None), ("True", 6379)):
        if status:
            more["status"] = {"conditions": [{"type": "Accepted", "status": status}]}
        port = found("Gateway/edge/front", gateway, more, **where)
        assert (port.port if port else None) == number
    said = {"name": "plain", "conditions": [{"type": "Accepted", "status": "False"}]}
    more["status"]["listeners"] = [said]
    assert found("Gateway/edge/front", gateway, more, **where) is None


# --- where that is ----------------------------------------------------------------------------------------------------

ROUTE = routed(tls={"termination": "edge"})
POD = Reference(kind="Pod", namespace="projectcontour", name="envoy-a")


@pytest.mark.parametrize(
    ("objects", "fields", "number"),
    [
        ((service(("https", 443)), piece(("https", 8443))), {}, None),
        ((BALANCED[0], piece(("http", 8080), ("https", 8443), address="10.128.0.99")), {}, None),
        ((pod(("web", 80), ("https", 8443)),), {"pod": POD, "aliases": ()}, 80),
        ((pod(("http", 8080), ("https", 8443)),), {"pod": POD, "aliases": ()}, 8080),
        ((pod(("http", 8080), ("https", 9443)),), {"pod": POD, "aliases": ()}, None),
        ((pod(("http", 99999), ("https", 8443)),), {"pod": POD, "aliases": ()}, None),
        ((), {"pod": POD, "aliases": (), "port": 443}, None),
        ((), {"aliases": (), "port": 443}, 80),
        ((), {"aliases": (), "port": 8443}, None),
        (BALANCED, {"segment": "Backend"}, None),
        (BALANCED, {"server_name": None}, None),
    ],
)
def test_the_port_that_is_dialled(objects: tuple[Any, ...], fields: dict[str, Any], number: int | None) -> None:
    port = found("Route/shop/web", ROUTE, *objects, **fields)
    assert (port.port if port else None) == number


def test_nobodys_object_has_none() -> None:
    assert found("Route/shop/another", ROUTE, *BALANCED) is None
    assert found("Service/shop/web", ROUTE, *BALANCED) is None
