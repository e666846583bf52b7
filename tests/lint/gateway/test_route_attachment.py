"""Edges of what routes are attached to: what decides and was not read, and what names a namespace or kind oddly."""

from __future__ import annotations

from pathlib import Path

import pytest

from scanner.lint.gateway import listener_sets, route_attachment
from tests.lint.examples import linted
from tests.lint.gateway.cases import core, listening, of, said, verdicts

ATTACHMENT = route_attachment.ATTACHMENT
TEAM = core("Namespace", "team", "", namespace="")


def route(rest: str = "", *, parent: str = "name: edge, namespace: shop", namespace: str = "team") -> str:
    return of("HTTPRoute", "web", f"parentRefs: [{{{parent}}}]{rest}", namespace=namespace)


def http(name: str, more: str) -> str:
    return f"name: {name}, port: 80, protocol: HTTP, {more}"


def from_namespaces(rule: str) -> str:
    return f"allowedRoutes: {{namespaces: {{{rule}}}}}"


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("from: All", []),
        ("from: Same", ["fail"]),
        ("from: None", ["fail"]),
        ("from: Selector", ["fail"]),
        ("from: Selector, selector: {}", []),
        ("from: Selector, selector: {matchLabels: {kubernetes.io/metadata.name: team}}", []),
        ("from: Selector, selector: {matchExpressions: [{key: a, operator: DoesNotExist}]}", []),
        ("from: Selector, selector: {matchExpressions: [{key: a, operator: Exists}]}", ["fail"]),
        ("from: Selector, selector: {matchLabels: {a: b}}", ["fail"]),
    ],
)
def test_from_which_namespaces(rule: str, expected: list[str]) -> None:
    assert verdicts(ATTACHMENT, listening(http("a", from_namespaces(rule))), route(), TEAM, whole=True) == expected
    gateway = listening(http("a", "hostname: a.example"), more=f"  allowedListeners: {{namespaces: {{{rule}}}}}\n")
    spec = "parentRef: {name: edge, namespace: shop}, listeners: [{name: a, port: 443, protocol: HTTPS}]"
    team = of("ListenerSet", "team", spec, namespace="team")
    assert verdicts(listener_sets.ADMITTED, gateway, team, TEAM, whole=True) == expected


SELECTED = from_namespaces("from: Selector, selector: {matchLabels: {a: b}}")


def test_a_namespace_that_was_not_seen_leaves_open_what_no_other_listener_takes() -> None:
    """The other listener takes the route's namespace, and none of its names."""
    gateway = listening(
        http("a", f"hostname: a.example, {from_namespaces('from: All')}"),
        http("b", f"hostname: b.example, {SELECTED}"),
        http("d", f"hostname: d.example, {SELECTED}"),
    )
    assert verdicts(ATTACHMENT, gateway, route(", hostnames: [b.example]")) == ["inconclusive"]
    assert verdicts(ATTACHMENT, gateway, route(", hostnames: [a.example]")) == []
    assert verdicts(ATTACHMENT, gateway, route(", hostnames: [c.example]")) == ["fail"]
    both = said(ATTACHMENT, gateway, route(", hostnames: [a.example, b.example, c.example, d.example]"))
    assert [(verdict, field) for verdict, field, _ in both] == [
        ("inconclusive", "spec.hostnames[1]"),
        ("fail", "spec.hostnames[2]"),
        ("inconclusive", "spec.hostnames[3]"),
    ]


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        ("kind: HTTPRoute", 0),
        ("kind: HTTPRoute, group: gateway.networking.k8s.io", 0),
        ("kind: HTTPRoute, group: ''", 1),
        ("kind: HTTPRoute, group: example.com", 1),
    ],
)
def test_kinds_are_of_a_group(kind: str, count: int) -> None:
    gateway = listening(http("a", f"allowedRoutes: {{kinds: [{{{kind}}}]}}"))
    assert verdicts(route_attachment.KINDS, gateway) == ["fail"] * count
    assert verdicts(ATTACHMENT, gateway, route(namespace="shop")) == ["fail"] * count


SET = "parentRef: {name: edge}, listeners: [{name: a, port: 80, protocol: HTTP}]"
TO_SET = "kind: ListenerSet, name: team"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("  allowedListeners: {namespaces: {from: Same}}\n", []),
        ("  allowedListeners: {namespaces: {from: None}}\n", ["fail"]),
        ("", ["fail"]),
    ],
)
def test_a_listener_set_that_its_gateway_turns_away_has_no_routes(more: str, expected: list[str]) -> None:
    texts = of("ListenerSet", "team", SET), route(parent=TO_SET, namespace="shop")
    gateway = listening("name: b, port: 81, protocol: HTTP", more=more)
    assert verdicts(ATTACHMENT, *texts, gateway, whole=True) == expected
    assert verdicts(ATTACHMENT, *texts) == ["inconclusive"]
    assert verdicts(ATTACHMENT, *texts, whole=True) == ["fail"]


def test_a_gateway_without_listeners_is_said_so() -> None:
    ((_, _, message),) = said(ATTACHMENT, listening(), route(namespace="shop"))
    assert message == "not attached: Gateway/shop/edge has no listeners"


@pytest.mark.parametrize(
    ("listener", "names", "taken"),
    [
        ("'*.example'", "a.example", True),
        ("'*.example'", "a.b.example", True),
        ("'*.example'", "example", False),
        ("'*.b.example'", "'*.example'", True),
        ("'*.example'", "'*.b.example'", True),
        ("'*.a.example'", "'*.b.example'", False),
        ("a.example", "'*.example'", True),
        ("A.Example", "a.example", True),
        ("xa.example", "a.example", False),
        ("'*.a.example'", "xa.example", False),
    ],
)
def test_hostnames_that_meet(listener: str, names: str, taken: bool) -> None:
    gateway = listening(http("a", f"hostname: {listener}"))
    found = said(ATTACHMENT, gateway, route(f", hostnames: [{names}]", namespace="shop"))
    assert [message.partition(":")[0] for _, _, message in found] == ([] if taken else ["not attached"])


@pytest.mark.parametrize(
    ("parent", "expected"),
    [
        ("name: edge, sectionName: a, port: 80", []),
        ("name: edge, sectionName: a, port: 81", ["fail"]),
        ("name: edge, sectionName: b, port: 81", []),
        ("name: edge, port: 81", []),
        ("name: edge, port: 82", ["fail"]),
    ],
)
def test_section_and_port_both_count(parent: str, expected: list[str]) -> None:
    gateway = listening("name: a, port: 80, protocol: HTTP", "name: b, port: 81, protocol: HTTP")
    assert verdicts(ATTACHMENT, gateway, route(parent=parent, namespace="shop")) == expected


@pytest.mark.parametrize("parent", ["kind: ListenerSet", "group: ''", "group: '', kind: Service", "kind: gateway"])
@pytest.mark.parametrize("whole", [True, False])
def test_the_parent_of_a_listener_set_is_a_gateway(parent: str, whole: bool) -> None:
    gateway = listening(http("a", "hostname: a.example"), more="  allowedListeners: {namespaces: {from: All}}\n")
    team = of("ListenerSet", "team", f"parentRef: {{name: edge, {parent}}}, listeners: []")
    ((verdict, field, message),) = said(listener_sets.ADMITTED, gateway, team, whole=whole)
    assert (verdict, field) == ("fail", "spec.parentRef")
    assert "must be a Gateway" in message
    assert said(listener_sets.CAPTURE, gateway, team, whole=whole) == []


@pytest.mark.parametrize(
    ("listener", "expected"),
    [
        ("protocol: TLS, tls: {mode: Terminate}", ["fail"]),
        ("protocol: TLS, tls: {mode: Passthrough}", ["fail"]),
        ("protocol: HTTPS, tls: {}", ["fail"]),
        ("protocol: TCP", ["fail"]),
        ("protocol: UDP", []),
        ("protocol: example.com/own", []),
    ],
)
def test_a_udp_route_is_carried_by_udp_alone(listener: str, expected: list[str]) -> None:
    route = of("UDPRoute", "dns", "parentRefs: [{name: edge}], rules: [{backendRefs: [{name: dns, port: 53}]}]")
    assert verdicts(ATTACHMENT, listening(f"name: a, port: 53, {listener}"), route, whole=True) == expected


def test_a_route_without_a_parent_may_be_delegated_to(tmp_path: Path) -> None:
    ((finding,),) = (one.findings for one in linted(tmp_path, of("HTTPRoute", "web", "rules: []"), [ATTACHMENT])[0])
    assert (finding.finding.verdict, finding.finding.severity) == ("fail", "info")


def test_of_many_hostnames_that_no_listener_takes_the_first_are_said() -> None:
    names = ", ".join(f"h{n}.other.example" for n in range(25))
    gateway = listening(http("a", f'hostname: "*.shop.example", {from_namespaces("from: All")}'))
    found = said(ATTACHMENT, gateway, route(f", hostnames: [web.shop.example, {names}]"), TEAM, whole=True)
    assert [field for _, field, _ in found] == [f"spec.hostnames[{n}]" for n in range(1, 21)]
