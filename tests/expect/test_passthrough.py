"""Where an endpoint is passed through to, and under which name its backends are asked."""

from __future__ import annotations

from typing import Any

import pytest

from scanner.expect import Expectations, passthrough
from scanner.kube.maybe import Unknown
from scanner.kube.objects import Reference
from scanner.model.endpoint import Endpoint
from scanner.model.expectation import PassedOn
from scanner.values import replace
from tests.expect.declared_objects import GATEWAY_API, made
from tests.expect.stories import endpoint, resolved, snapshot_of

NEAR = "Deployment/edge/proxy:8443#web.example"
WEB = "Deployment/shop/web:8443"


def slice_of(address: str) -> dict[str, Any]:
    labels = {"kubernetes.io/service-name": "web"}
    fields = {"ports": [{"name": "https", "port": 8443}], "endpoints": [{"addresses": [address]}]}
    return made("EndpointSlice", "shop", "web-1", "discovery.k8s.io/v1", metadata={"labels": labels}, **fields)


def tls_route(**more: object) -> dict[str, Any]:
    rules = [{"backendRefs": [{"name": "web", "port": 443, **more}]}]
    return made("TLSRoute", "shop", "web", GATEWAY_API, spec={"hostnames": ["web.example"], "rules": rules})


FROM_ALL = {"allowedRoutes": {"namespaces": {"from": "All"}}}


def gateway(mode: str) -> dict[str, Any]:
    listeners = [{"name": "tls", "port": 443, "protocol": "TLS", "tls": {"mode": mode}, **FROM_ALL}]
    return made("Gateway", "edge", "gw", GATEWAY_API, spec={"listeners": listeners})


def service() -> dict[str, Any]:
    return made("Service", "shop", "web", spec={"ports": [{"name": "https", "port": 443, "targetPort": 8443}]})


def expectations(mode: str, *backends: str, weight: int | None = None) -> tuple[Expectations, list[Endpoint]]:
    """With the near end first."""
    said = {"origins": ["Gateway/edge/gw listener tls TLSRoute/shop/web"], "subject": "TLSRoute/shop/web"}
    near = endpoint(NEAR, {**said, "segment": "Frontend", "address": "10.0.0.1"})
    behind = [endpoint(each, {"address": "10.0.0.5", "segment": "Backend"}) for each in backends]
    snapshot = snapshot_of([tls_route(weight=weight), gateway(mode), service(), slice_of("10.0.0.5")])
    return resolved(snapshot, endpoints=(near, *behind)), [near, *behind]


def passed(mode: str, *backends: str) -> PassedOn | None:
    found, (near, *_) = expectations(mode, *backends)
    return found.of(near).passed_on


@pytest.mark.parametrize("weight", [None, 0, 1])
def test_a_backend_of_no_weight_is_not_passed_on_to(weight: int | None) -> None:
    named = f"{WEB}#web.example"
    found, (near, *_) = expectations("Passthrough", named, weight=weight)
    passed_on = found.of(near).passed_on
    assert passed_on is not None
    assert passed_on.backends == (() if weight == 0 else (named,))


def test_the_tls_route_that_an_endpoint_is_for_counts_without_an_origin() -> None:
    found, (near, *_) = expectations("Passthrough", WEB)
    led = tuple(replace(each, through=None) for each in near.origins)
    passed_on = found.of(replace(near, origins=led)).passed_on
    assert passed_on is not None
    assert passed_on.backends == (WEB,)


def compared(*backends: str) -> list[list[tuple[str | None, str]]]:
    """What each backend is asked for beside its own name."""
    found, (_, *behind) = expectations("Passthrough", *backends)
    return [[(other.name, other.owed) for other in found.of(each).other_names] for each in behind]


def test_a_backend_is_asked_for_the_name_that_comes_through_once() -> None:
    wanted = [("web.example", "compared")]
    assert compared(WEB) == [wanted]
    assert compared(f"{WEB}#web.shop.svc") == [wanted]
    assert compared(WEB, f"{WEB}#web.shop.svc") == [wanted, []]
    assert compared(WEB, f"{WEB}#web.example") == [[], []]


def test_a_tls_route_on_a_passthrough_listener_leads_to_its_backends() -> None:
    found = passed("Passthrough", WEB, f"{WEB}#web.example")
    assert found == PassedOn(
        source="TLSRoute/shop/web spec.rules.backendRefs",
        here=NEAR,
        backends=(f"{WEB}#web.example",),
        name="web.example",
    )


def test_of_two_tls_routes_with_one_name_the_backends_of_each_may_answer() -> None:
    """The oldest has the name; both are attached."""
    objects = [gateway("Passthrough")]
    for name, address in (("web", "10.0.0.5"), ("old", "10.0.0.6")):
        for each in (tls_route(), service(), slice_of(address)):
            each["metadata"]["name"] = name
            if each["kind"] == "TLSRoute":
                each["spec"]["rules"] = [{"backendRefs": [{"name": name, "port": 443}]}]
            if each["kind"] == "EndpointSlice":
                each["metadata"]["labels"] = {"kubernetes.io/service-name": name}
            objects.append(each)
    origins = [f"Gateway/edge/gw listener tls TLSRoute/shop/{name}" for name in ("web", "old")]
    said = {"origins": origins, "subject": "TLSRoute/shop/web", "segment": "Frontend", "address": "10.0.0.1"}
    near = endpoint(NEAR, said)
    behind = [
        endpoint(f"Deployment/shop/{name}:8443", {"address": address, "segment": "Backend"})
        for name, address in (("web", "10.0.0.5"), ("old", "10.0.0.6"))
    ]
    found = resolved(snapshot_of(objects), endpoints=(near, *behind)).of(near).passed_on
    assert found is not None
    assert found.backends == ("Deployment/shop/web:8443", "Deployment/shop/old:8443")


def test_backends_that_have_no_endpoint_of_that_name_are_those_of_other_names() -> None:
    found = passed("Passthrough", WEB)
    assert found is not None
    assert (found.backends, found.name) == ((WEB,), "web.example")


def test_more_backends_than_are_compared_leave_it_unknown_what_is_owed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passthrough, "_MOST", 1)
    found, (near, *_) = expectations("Passthrough", WEB, f"{WEB}#web.example")
    profile = found.of(near).profile
    assert isinstance(profile, Unknown)
    assert profile.reason.endswith("has more than 1 backends, so not all are compared")


def test_more_backends_of_a_gateways_routes_than_are_compared_leave_it_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passthrough, "_MOST", 1)
    parent = {"name": "gw", "namespace": "edge"}
    one, *more = tls_route(), gateway("Passthrough"), service(), slice_of("10.0.0.5")
    backends = [{"name": "web", "port": 443}, {"name": "web", "port": "8443"}]
    one["spec"] = {"parentRefs": [parent], "rules": [{"backendRefs": backends}]}
    more[0]["spec"]["listeners"][0]["allowedRoutes"] = {"namespaces": {"from": "All"}}
    said = {"origins": ["Gateway/edge/gw listener tls"], "subject": "Gateway/edge/gw", "address": "10.0.0.1"}
    near = endpoint(NEAR, {**said, "segment": "Frontend"})
    behind = endpoint(WEB, {"address": "10.0.0.5", "segment": "Backend"})
    found = resolved(snapshot_of([one, *more]), endpoints=(near, behind)).of(near).profile
    assert isinstance(found, Unknown)
    assert found.reason == "Gateway/edge/gw has more than 1 backends, so not all are compared"


def test_other_ports_of_a_backends_slice_are_not_passed_on_to() -> None:
    admin = "Deployment/shop/web:9443"
    sliced = slice_of("10.0.0.5")
    sliced["ports"].append({"name": "admin", "port": 9443})
    said = {"origins": ["Gateway/edge/gw listener tls TLSRoute/shop/web"], "subject": "TLSRoute/shop/web"}
    near = endpoint(NEAR, {**said, "segment": "Frontend", "address": "10.0.0.1"})
    behind = [endpoint(each, {"address": "10.0.0.5", "segment": "Backend"}) for each in (WEB, admin)]
    snapshot = snapshot_of([tls_route(), gateway("Passthrough"), service(), sliced])
    found = resolved(snapshot, endpoints=(near, *behind)).of(near).passed_on
    assert found is not None
    assert found.backends == (WEB,)


def test_a_listener_that_terminates_passes_nothing_on() -> None:
    assert passed("Terminate", WEB) is None


@pytest.mark.parametrize(("listener", "passes"), [("web", False), ("tls", True)])
def test_of_the_listeners_on_one_port_only_that_of_the_name_counts(listener: str, passes: bool) -> None:
    """Contour takes both modes on one port (Gateway API, feature TLSRouteModeMixed)."""
    https = {"name": "web", "port": 443, "protocol": "HTTPS", "hostname": "web.example", "tls": {"mode": "Terminate"}}
    through = {"name": "tls", "port": 443, "protocol": "TLS", "tls": {"mode": "Passthrough"}}
    both = made("Gateway", "edge", "gw", GATEWAY_API, spec={"listeners": [https, through]})
    origins = [f"Gateway/edge/gw listener {listener}"]
    said = {"origins": origins, "subject": "Gateway/edge/gw", "segment": "Frontend", "address": "10.0.0.1"}
    near = endpoint(NEAR.replace("8443", "443"), said)
    found = resolved(snapshot_of([both]), endpoints=(near,))
    assert (found.of(near).passed_on is not None) == passes


@pytest.mark.parametrize(
    ("reference", "leads"),
    [
        ({"name": "gw", "namespace": "edge"}, True),
        ({"name": "gw", "namespace": "edge", "sectionName": "tls"}, True),
        ({"name": "gw", "namespace": "edge", "sectionName": "web"}, False),
        ({"name": "gw", "namespace": "edge", "port": 8443}, False),
        ({"name": "gw"}, False),  # one of the route's own namespace
        ({"name": "gw", "namespace": "edge", "kind": "ListenerSet"}, False),
    ],
)
@pytest.mark.parametrize("kind", ["Gateway", "ListenerSet"])
def test_what_a_listener_for_all_names_passes_on_goes_to_the_routes_attached_to_it(
    kind: str, reference: dict[str, str], leads: bool
) -> None:
    """The listener has no TLSRoute with a name of its own, so that its holder decides."""
    if kind == "ListenerSet":
        reference = {**reference, "kind": "Gateway" if reference.get("kind") else "ListenerSet"}
    route = tls_route()
    route["spec"]["parentRefs"] = [reference]
    through = {"name": "tls", "port": 443, "protocol": "TLS", "tls": {"mode": "Passthrough"}, **FROM_ALL}
    front = made(kind, "edge", "gw", GATEWAY_API, spec={"listeners": [through]})
    said = {"origins": [f"{kind}/edge/gw listener tls"], "subject": f"{kind}/edge/gw", "segment": "Frontend"}
    near = endpoint(NEAR, {**said, "address": "10.0.0.1"})
    behind = endpoint(WEB, {"address": "10.0.0.5", "segment": "Backend"})
    snapshot = snapshot_of([route, front, service(), slice_of("10.0.0.5")])
    found = resolved(snapshot, endpoints=(near, behind)).of(near).passed_on
    assert found is not None
    assert found.backends == ((WEB,) if leads else ())


def test_without_a_known_backend_that_is_kept_too() -> None:
    found = passed("Passthrough")
    assert found is not None
    assert found.backends == ()


@pytest.mark.parametrize(
    ("hostnames", "leads"),
    [(["web.example", "other.example"], True), (["other.example", "WEB.example"], True), (["other.example"], False)],
)
def test_a_tls_route_of_several_hostnames_leads_each_of_them_on(hostnames: list[str], *, leads: bool) -> None:
    """Among the routes that are attached to a listener for all names."""
    spec = {**tls_route()["spec"], "hostnames": hostnames, "parentRefs": [{"name": "gw", "namespace": "edge"}]}
    said = {"origins": ["Gateway/edge/gw listener tls"], "subject": "Gateway/edge/gw", "segment": "Frontend"}
    near = endpoint(NEAR, {**said, "address": "10.0.0.1"})
    behind = endpoint(WEB, {"address": "10.0.0.5", "segment": "Backend"})
    snapshot = snapshot_of([{**tls_route(), "spec": spec}, gateway("Passthrough"), service(), slice_of("10.0.0.5")])
    found = resolved(snapshot, endpoints=(near, behind)).of(near).passed_on
    assert found is not None
    assert bool(found.backends) is leads


# --- Which backends receive connections -------------------------------------------------------------------------------

SERVICES = ("heavy", "light", "unset", "none")
WEIGHTS = {"heavy": 100, "light": 1, "unset": None, "none": 0}


def backends_of(subject: str, item: dict[str, Any], namespace: str = "shop") -> list[str]:
    """The services behind an object, whose one endpoint is at the address of its number."""
    objects, behind = [item], []
    for number, name in enumerate(SERVICES):
        each, sliced = service(), slice_of(f"10.0.0.{number}")
        each["metadata"] |= {"name": name, "namespace": namespace}
        sliced["metadata"] |= {"namespace": namespace, "labels": {"kubernetes.io/service-name": name}}
        sliced["metadata"]["name"] = name
        objects += [each, sliced]
        behind.append(
            endpoint(f"Deployment/{namespace}/{name}:8443", {"address": f"10.0.0.{number}", "segment": "Backend"})
        )
    near = endpoint(NEAR, {"subject": subject, "segment": "Frontend", "address": "10.1.0.1"})
    found = resolved(snapshot_of(objects), endpoints=(near, *behind)).of(near).passed_on
    assert found is not None
    return [each.removeprefix(f"Deployment/{namespace}/").removesuffix(":8443") for each in found.backends]


def a_route(**more: object) -> dict[str, Any]:
    to, *others = ({"kind": "Service", "name": name, "weight": weight} for name, weight in WEIGHTS.items())
    spec = {"tls": {"termination": "passthrough"}, "to": to, "alternateBackends": others, **more}
    return made("Route", "shop", "any", "route.openshift.io/v1", spec=spec)


def a_proxy(*more: dict[str, Any]) -> dict[str, Any]:
    services = [{"name": name, "port": 443, "weight": weight} for name, weight in WEIGHTS.items()]
    services += more
    spec = {"virtualhost": {"fqdn": "web.example", "tls": {"passthrough": True}}, "tcpproxy": {"services": services}}
    return made("HTTPProxy", "shop", "any", "projectcontour.io/v1", spec=spec)


@pytest.mark.parametrize(("subject", "item"), [("Route/shop/any", a_route()), ("HTTPProxy/shop/any", a_proxy())])
def test_a_weight_of_zero_means_no_connections(subject: str, item: dict[str, Any]) -> None:
    """Judged as a backend, a Service without connections would decide what the others must accept."""
    assert backends_of(subject, item) == ["heavy", "light", "unset"]


UNNAMED = {"kind": "Service", "name": "", "weight": 1, "port": 443}
NO_NAMES = [a_route(alternateBackends=[UNNAMED, UNNAMED]), a_proxy(UNNAMED)]


@pytest.mark.parametrize("item", NO_NAMES, ids=["Route", "HTTPProxy"])
@pytest.mark.parametrize("namespace", ["shop", None])
def test_the_reason_names_the_services_that_are_not_known_and_no_other(
    item: dict[str, Any], namespace: str | None
) -> None:
    """A backend without a name is none. The API has no object without a namespace, but an edited snapshot may."""
    place = f"{item['kind']}/{namespace}/any" if namespace else f"{item['kind']}/any"
    item = {**item, "metadata": {"name": "any", **({"namespace": namespace} if namespace else {})}}
    near = endpoint(NEAR, {"subject": place, "segment": "Frontend", "address": "10.1.0.1"})
    found = resolved(snapshot_of([item]), endpoints=(near,)).of(near).profile
    assert isinstance(found, Unknown)
    names = ["heavy"] if item["kind"] == "Route" else ["heavy", "light", "unset"]
    listed = ", ".join(f"Service/{namespace or ''}/{name}" for name in names)
    assert found.reason == f"none of the backends of {place} is a known listener ({listed})"


def test_a_route_has_only_services_for_backends() -> None:
    """Of another kind, or without a name, a backend is no Service even if one has its name."""
    to = {"kind": "Pod", "name": "heavy", "weight": 1}
    others = [{"kind": "Service", "name": "", "weight": 1}, {"name": "light", "weight": 1}]
    assert backends_of("Route/shop/any", a_route(to=to, alternateBackends=others)) == ["light"]


@pytest.mark.parametrize(
    ("port", "found"), [(8443, True), ("https", True), (443, True), (9443, False), ("http", False), (True, True)]
)
def test_the_port_of_a_route_chooses_among_those_of_its_services(port: object, *, found: bool) -> None:
    """By number or name; without a port, or with one that is no such value, all of them."""
    assert bool(backends_of("Route/shop/any", a_route(port={"targetPort": port}))) is found


def test_only_a_passthrough_route_or_proxy_passes_on() -> None:
    near = endpoint(NEAR, {"subject": "Route/shop/any", "segment": "Frontend", "address": "10.1.0.1"})
    for termination in ("edge", "reencrypt"):
        item = a_route(tls={"termination": termination})
        assert resolved(snapshot_of([item]), endpoints=(near,)).of(near).passed_on is None
    item = a_proxy()
    item["spec"]["virtualhost"]["tls"] = {"secretName": "web"}
    near = replace(near, subject=Reference(kind="HTTPProxy", namespace="shop", name="any"))
    assert resolved(snapshot_of([item]), endpoints=(near,)).of(near).passed_on is None


@pytest.mark.parametrize("length", [1, 2, 3, 5])
def test_routes_in_a_circle_owe_nothing_known(length: int) -> None:
    objects, circle = [], []
    for number in range(length):
        to = {"kind": "Service", "name": str((number + 1) % length)}
        route, each, sliced = a_route(to=to, alternateBackends=[]), service(), slice_of(f"10.0.0.{number}")
        sliced["metadata"]["labels"] = {"kubernetes.io/service-name": str(number)}
        for item in (route, each, sliced):
            item["metadata"]["name"] = str(number)
        objects += [route, each, sliced]
        said = {"subject": f"Route/shop/{number}", "segment": "Frontend", "address": f"10.0.0.{number}"}
        circle.append(endpoint(f"Deployment/shop/{number}:8443#web.example", said))
    found = resolved(snapshot_of(objects), endpoints=tuple(circle)).of(circle[0]).profile
    assert found == Unknown("the chain of passthrough listeners is a cycle or too long")


def test_the_own_profile_of_the_passing_listener_is_named_as_overridden() -> None:
    """The reader sees which object to edit, and that the profile of the router has no effect."""
    found, (near, *_) = expectations("Passthrough", WEB)
    steps = [each for each in found.of(near).because if each.beat]
    assert [(each.source, each.beat) for each in steps] == [
        ("TLSRoute/shop/web", "the profile of proxy itself: mozilla/5.8/intermediate, not-enforced"),
    ]
