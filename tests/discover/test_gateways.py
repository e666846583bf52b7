"""Gateways, ListenerSets, TLSRoutes and BackendTLSPolicies."""

from __future__ import annotations

import pytest

from tests.discover.gateways import HTTPS, PASS, ROUTE, SERVICE, gateway
from tests.discover.objects import by_id, found, left_out, only, origins


@pytest.mark.parametrize(
    ("listener", "name"),
    [
        (HTTPS, "shop.ex.com"),
        ("{name: a, port: 443, protocol: HTTPS, hostname: '*.Ex.Com'}", "adhere-probe.ex.com"),
        ("{name: a, port: 443, protocol: TLS, hostname: db.ex.com, tls: {mode: Terminate}}", "db.ex.com"),
        ("{name: a, port: 443, protocol: ex.com/https, hostname: db.ex.com, tls: {options: {}}}", "db.ex.com"),
        ("{name: a, port: 443, protocol: HTTPS}", None),
    ],
)
def test_a_listener_is_asked_by_its_name_at_the_gateway_s_pods(listener: str, name: str | None) -> None:
    one = only(found(SERVICE + gateway(listener)))
    assert one.server_name == name
    assert one.address == "10.128.0.40"
    assert (one.certainty, one.segment, str(one.subject)) == ("declared", "Frontend", "Gateway/infra/edge")
    assert origins(one)[0] == "Gateway/infra/edge listener a"


def test_all_names_of_a_port_are_asked_and_nobody_without_a_name() -> None:
    second = "{name: b, port: 443, protocol: HTTPS, hostname: blog.ex.com}"
    assert sorted(by_id(found(SERVICE + gateway(HTTPS, second)))) == [
        "Deployment/infra/edge:8443#blog.ex.com",
        "Deployment/infra/edge:8443#shop.ex.com",
    ]


@pytest.mark.parametrize(
    ("frontend", "expected"),
    [
        ("default: {validation: {caCertificateRefs: []}}", "required"),
        ("default: {validation: {mode: AllowInsecureFallback}}", "requested"),
        ("default: {validation: {mode: AllowValidOnly}}, perPort: [{port: 443, tls: {}}]", None),
        ("default: {}, perPort: [{port: 443, tls: {validation: {mode: AllowValidOnly}}}]", "required"),
        ("default: {}", None),
    ],
)
def test_validation_of_clients_is_expected(frontend: str, expected: str | None) -> None:
    text = gateway(HTTPS, rest=f", tls: {{frontend: {{{frontend}}}}}")
    assert only(found(SERVICE + text)).expects == expected


@pytest.mark.parametrize("condition", ['{type: Accepted, status: "False"}', '{type: Conflicted, status: "True"}'])
def test_listeners_that_the_controller_refuses_are_probed_by_their_names(condition: str) -> None:
    other = "{name: b, port: 443, protocol: HTTPS, hostname: other.ex.com}"
    text = gateway(HTTPS, other, status=f"listeners: [{{name: a, conditions: [{condition}]}}]")
    names = {each.server_name: each.certainty for each in found(SERVICE + text).endpoints}
    assert names == {"other.ex.com": "declared", "shop.ex.com": "hinted"}
    bare = gateway(
        HTTPS.replace(", hostname: shop.ex.com", ""),
        other,
        status=f"listeners: [{{name: a, conditions: [{condition}]}}]",
    )
    assert left_out(found(SERVICE + bare))["Gateway listeners that are not accepted"] == 1


def test_a_port_of_which_every_listener_is_refused_is_looked_at_all_the_same() -> None:
    """No object declares a listener; the Service's port has a name that hints at it."""
    status = 'listeners: [{name: a, conditions: [{type: Accepted, status: "False"}]}]'
    endpoint = only(found(SERVICE + gateway(HTTPS, status=status)))
    assert (endpoint.server_name, endpoint.certainty) == ("shop.ex.com", "hinted")
    assert "Gateway/infra/edge listener a" in origins(endpoint)


def test_a_listener_without_a_port_is_not_accepted() -> None:
    discovery = found(SERVICE + gateway(HTTPS.replace("port: 443, ", "")))
    assert not [each for each in discovery.endpoints if each.subject]
    assert left_out(discovery) == {"Gateway listeners that are not accepted": 1}


def test_http_listeners_are_counted() -> None:
    assert left_out(found(gateway("{name: h, port: 80, protocol: HTTP}"))) == {"Gateway listeners without TLS": 1}


@pytest.mark.parametrize("value", ["198.51.100.9", "172.30.0.5", "edge-istio.infra.svc.cluster.local"])
def test_without_a_service_of_its_own_a_gateway_is_behind_its_addresses(value: str) -> None:
    text = SERVICE.replace("gateway.networking.k8s.io/gateway-name", "other")
    text += gateway(HTTPS, status=f"addresses: [{{value: {value}}}]")
    assert only(found(text)).instance == "Deployment/infra/edge:8443#shop.ex.com @ 10.128.0.40:8443"


@pytest.mark.parametrize(
    ("value", "address", "host"), [("198.51.100.1", "198.51.100.1", ""), ("lb.ex.com", "", "lb.ex.com")]
)
def test_an_address_of_which_nothing_is_known_is_a_sample(value: str, address: str, host: str) -> None:
    discovery = found(gateway(HTTPS, status=f"addresses: [{{value: {value}}}]"))
    one = only(discovery)
    assert (one.id, one.address, one.sampled) == ("Gateway/infra/edge:443#shop.ex.com", address, True)
    assert one.host == (host or "shop.ex.com")
    assert discovery.scope.refusal("198.51.100.1")  # its class does not exist


def test_a_gateway_without_an_address_is_counted() -> None:
    assert left_out(found(gateway(HTTPS))) == {"Gateways without an address": 1}


def test_a_tls_route_s_names_lead_through_and_its_backend_speaks_tls() -> None:
    endpoints = by_id(found(SERVICE + gateway(PASS) + ROUTE))
    assert sorted(endpoints) == [
        "Deployment/infra/edge:8443#adhere-probe.sub.ex.com",
        "Deployment/infra/edge:8443#db.ex.com",
        "Service/infra/db:5433#db.ex.com",
    ]
    front = endpoints["Deployment/infra/edge:8443#db.ex.com"]
    assert (str(front.subject), front.segment, front.sampled) == ("TLSRoute/infra/db", "Frontend", False)
    back = endpoints["Service/infra/db:5433#db.ex.com"]
    assert (back.segment, back.certainty) == ("Backend", "declared")


def test_a_route_declares_nothing_of_another_namespaces_service() -> None:
    """Whether it may refer there is for the Gateway to find out."""
    route = ROUTE.split("---")[1].replace("{name: db, port", "{name: db, namespace: corp, port")
    service = "{kind: Service, metadata: {name: db, namespace: corp}, spec: {clusterIP: 172.30.0.8, selector: {a: b}, "
    text = f"{SERVICE}{gateway(PASS)}---{route}---\n{service}ports: [{{port: 5433}}]}}}}"
    back = by_id(found(text))["Service/corp/db:5433"]
    assert (back.certainty, back.segment, back.server_name) == ("candidate", None, None)
    assert "Service/corp/db:5433#db.ex.com" not in by_id(found(text))


def test_where_a_gateway_ends_tls_itself_a_tls_route_declares_no_tls_behind_it() -> None:
    """Few implementations attach one there (GEP-2643); what is behind gets what was decrypted."""
    ends = PASS.replace("mode: Passthrough", "mode: Terminate")
    endpoints = by_id(found(SERVICE + gateway(ends) + ROUTE))
    assert "Service/infra/db:5433#db.ex.com" not in endpoints


WILD = "{name: w, port: 443, protocol: HTTPS, hostname: '*.ex.com'}"
ANY = "{name: n, port: 443, protocol: HTTPS}"


def http_route(name: str, spec: str, kind: str = "HTTPRoute", status: str = "") -> str:
    metadata = f"metadata: {{name: {name}, namespace: infra}}"
    return (
        f"\n---\n{{kind: {kind}, {metadata}, spec: {{parentRefs: [{{name: edge}}], {spec}}}, status: {{{status}}}}}\n"
    )


REFUSED = 'parents: [{parentRef: {name: edge}, conditions: [{type: Accepted, status: "False"}]}]'


@pytest.mark.parametrize(
    ("listener", "routes", "name"),
    [
        (WILD, http_route("a", "hostnames: [b.ex.com, a.ex.com, other.com]"), "a.ex.com"),
        (WILD, http_route("a", "hostnames: [a.ex.com]", "GRPCRoute"), "a.ex.com"),
        (WILD, http_route("a", "hostnames: [A.Ex.Com]"), "a.ex.com"),
        (WILD, http_route("a", "hostnames: ['*.sub.ex.com']"), "adhere-probe.sub.ex.com"),
        (WILD, http_route("a", "hostnames: ['*.ex.com', a.ex.com]"), "adhere-probe.ex.com"),
        (WILD, http_route("a", "hostnames: [a.ex.com]") + http_route("b", "rules: []"), "adhere-probe.ex.com"),
        (WILD, http_route("a", "hostnames: [other.com]"), "adhere-probe.ex.com"),
        (WILD, http_route("a", "hostnames: [a.ex.com]", status=REFUSED), "adhere-probe.ex.com"),
        (ANY, http_route("a", "hostnames: [a.ex.com]"), "a.ex.com"),
        (ANY, http_route("a", "rules: []"), None),
        (HTTPS, http_route("a", "hostnames: ['*.ex.com']"), "shop.ex.com"),
    ],
)
def test_a_listener_for_many_names_is_asked_for_one_that_a_route_takes(
    listener: str, routes: str, name: str | None
) -> None:
    """Contour has a certificate for the names of routes, and for no others of the listener."""
    one = only(found(SERVICE + gateway(listener) + routes))
    assert (one.server_name, origins(one)[0]) == (name, f"Gateway/infra/edge listener {listener[7]}")


def test_a_tls_route_that_another_gateway_of_the_same_name_refused_keeps_its_host() -> None:
    refusal = 'parentRef: {name: edge, namespace: other}, conditions: [{type: Accepted, status: "False"}]'
    accepted = 'parentRef: {name: edge}, conditions: [{type: Accepted, status: "True"}]'
    route = ROUTE.replace("parentRefs: [", "parentRefs: [{name: edge, namespace: other}, ", 1)
    route = route.replace(
        "port: 5433}]}]}}", f"port: 5433}}]}}]}}, status: {{parents: [{{{refusal}}}, {{{accepted}}}]}}}}", 1
    )
    assert "Deployment/infra/edge:8443#db.ex.com" in by_id(found(SERVICE + gateway(PASS) + route))
    refused = route.replace(f"{{{accepted}}}", f"{{{accepted.replace('True', 'False')}}}")
    assert "Deployment/infra/edge:8443#db.ex.com" not in by_id(found(SERVICE + gateway(PASS) + refused))


def test_a_listener_for_every_name_is_asked_without_one_beside_the_others() -> None:
    endpoints = by_id(found(SERVICE + gateway(HTTPS, ANY)))
    assert sorted(endpoints) == ["Deployment/infra/edge:8443", "Deployment/infra/edge:8443#shop.ex.com"]
    # What may be shown without a name is not what may be shown under this one.
    listed = {name: [each for each in origins(one) if "listener" in each] for name, one in endpoints.items()}
    assert listed == {
        "Deployment/infra/edge:8443": ["Gateway/infra/edge listener n"],
        "Deployment/infra/edge:8443#shop.ex.com": ["Gateway/infra/edge listener a"],
    }


@pytest.mark.parametrize(("route", "asked"), [("", False), (ROUTE, True)])
def test_what_passes_every_name_on_to_nobody_is_not_asked_without_one(route: str, asked: bool) -> None:
    """A client without a server name is not served: TLS is not terminated there."""
    through = "{name: p, port: 443, protocol: TLS, tls: {mode: Passthrough}}"
    route = route.replace("hostnames", "nothing")  # a TLSRoute for all names
    endpoints = by_id(found(SERVICE + gateway(HTTPS, through) + route))
    assert "Deployment/infra/edge:8443#shop.ex.com" in endpoints
    assert ("Deployment/infra/edge:8443" in endpoints) == asked


def test_a_name_of_a_narrower_listener_is_none_of_the_wider_one() -> None:
    route = http_route("a", "hostnames: [shop.ex.com, z.ex.com]")
    assert sorted(by_id(found(SERVICE + gateway(WILD, HTTPS) + route))) == [
        "Deployment/infra/edge:8443#shop.ex.com",
        "Deployment/infra/edge:8443#z.ex.com",
    ]


def test_passthrough_to_nothing_known_is_a_sample() -> None:
    assert only(found(SERVICE + gateway(PASS))).sampled


@pytest.mark.parametrize("kind", ["ListenerSet", "XListenerSet"])
def test_listener_sets_add_names_to_their_gateway(kind: str) -> None:
    takes = ", allowedListeners: {namespaces: {from: All}}"
    text = f"""
---
{{kind: {kind}, metadata: {{name: more, namespace: team}},
  spec: {{parentRef: {{name: edge, namespace: infra}}, listeners: [{HTTPS}]}}}}
"""
    one = only(found(SERVICE + gateway(rest=takes) + text))
    assert (one.server_name, str(one.subject)) == ("shop.ex.com", f"{kind}/team/more")
    assert left_out(found(text)) == {"ListenerSets without a Gateway": 1}


@pytest.mark.parametrize(
    ("rest", "status", "is_taken"),
    [
        ("", "", False),  # the default is that none is taken
        (", allowedListeners: {namespaces: {from: Same}}", "", False),
        (", allowedListeners: {namespaces: {from: All}}", "", True),
        ("", "{type: Accepted, status: 'True'}", True),
        (", allowedListeners: {namespaces: {from: All}}", "{type: Accepted, status: 'False'}", False),
        (
            ", allowedListeners: {namespaces: {from: All}}",
            "{type: Accepted, status: 'False', observedGeneration: 1}",
            True,
        ),
    ],
)
def test_a_listener_set_counts_if_its_gateway_takes_it(rest: str, status: str, is_taken: bool) -> None:
    text = f"""
---
{{kind: ListenerSet, metadata: {{name: more, namespace: team, generation: 2}},
  spec: {{parentRef: {{name: edge, namespace: infra}}, listeners: [{HTTPS}]}}, status: {{conditions: [{status}]}}}}
"""
    one = only(found(SERVICE + gateway(rest=rest) + text))
    # The listener of a set that is not taken is probed, too: serving it is a finding.
    assert (one.server_name, one.certainty) == ("shop.ex.com", "declared" if is_taken else "hinted")


@pytest.mark.parametrize(
    ("allowed", "namespace", "names"),
    [
        ("", "infra", ["db.ex.com"]),
        ("", "team", ["adhere-probe.ex.com"]),
        ("allowedRoutes: {namespaces: {from: All}}", "team", ["db.ex.com"]),
        ("allowedRoutes: {namespaces: {from: None}}", "infra", ["adhere-probe.ex.com"]),
        ("allowedRoutes: {kinds: [{kind: TCPRoute}]}", "infra", ["adhere-probe.ex.com"]),
        ("allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {a: b}}}}", "team", ["db.ex.com"]),
    ],
)
def test_a_route_gives_its_names_to_listeners_that_take_it(allowed: str, namespace: str, names: list[str]) -> None:
    """If a Namespace's labels decide and it was not read, the route may be attached."""
    route = f"""
---
{{kind: TLSRoute, metadata: {{name: db, namespace: {namespace}}},
  spec: {{parentRefs: [{{name: edge, namespace: infra}}], hostnames: [db.ex.com]}}}}
"""
    listener = PASS.replace("}}", f"}}, {allowed}}}") if allowed else PASS
    discovery = found(SERVICE + gateway(listener) + route)
    assert sorted(each.server_name or "" for each in discovery.endpoints if each.subject) == names


def test_an_outdated_condition_rejects_no_listener() -> None:
    said = "{type: Accepted, status: 'False', observedGeneration: 1}"
    text = gateway(HTTPS, status=f"listeners: [{{name: a, conditions: [{said}]}}]")
    old = text.replace("namespace: infra}", "namespace: infra, generation: 2}")
    assert [each.certainty for each in found(SERVICE + text).endpoints if each.subject] == ["hinted"]
    assert [each.certainty for each in found(SERVICE + old).endpoints if each.subject] == ["declared"]


def test_a_backend_tls_policy_declares_the_name_that_is_sent() -> None:
    text = """
---
{kind: BackendTLSPolicy, metadata: {name: db, namespace: infra},
 spec: {targetRefs: [{kind: Service, name: db}], validation: {hostname: db.internal}}}
"""
    one = only(found(ROUTE.split("---", 2)[2].join(("---", "")) + text))
    assert (one.id, one.segment, str(one.subject)) == (
        "Service/infra/db:5433#db.internal",
        "Backend",
        "BackendTLSPolicy/infra/db",
    )
