"""Routes: what they are attached to, and what happens to what they carry."""

from __future__ import annotations

from pathlib import Path

import pytest

from scanner.lint.gateway import backend_protocol, plaintext_twin, route_attachment
from tests.lint.examples import linted
from tests.lint.gateway.cases import core, listening, of, said, verdicts

TLS = "tls: {mode: MODE, certificateRefs: [{name: a}]}"
PASSTHROUGH, TERMINATE = (f"protocol: TLS, {TLS.replace('MODE', mode)}" for mode in ("Passthrough", "Terminate"))
ATTACHMENT = route_attachment.ATTACHMENT


def route(kind: str, rest: str = "", *, parent: str = "name: edge", namespace: str = "shop") -> str:
    names = "hostnames: [web.shop.example]" if kind == "TLSRoute" and "hostnames" not in rest else ""
    spec = ", ".join(filter(None, (f"parentRefs: [{{{parent}}}]", names, rest)))
    return of(kind, "web", spec, namespace=namespace)


@pytest.mark.parametrize(
    ("listener", "carried"),
    [
        ("protocol: HTTP", {"HTTPRoute", "GRPCRoute"}),
        ("protocol: HTTPS", {"HTTPRoute", "GRPCRoute"}),
        ("protocol: HTTPS, tls: {certificateRefs: [{name: a}]}", {"HTTPRoute", "GRPCRoute"}),
        (PASSTHROUGH, {"TLSRoute"}),
        (TERMINATE, {"TLSRoute", "TCPRoute"}),
        ("protocol: TCP", {"TCPRoute"}),
        ("protocol: TCP, tls: {mode: Terminate}", set()),
        ("protocol: UDP", set()),
        ("protocol: example.com/own", {"HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute"}),
    ],
)
def test_the_table_of_protocols_modes_and_routes(listener: str, carried: set[str]) -> None:
    gateway = listening(f"name: a, port: 443, {listener}")
    kinds = ("HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute")
    assert {kind for kind in kinds if not said(ATTACHMENT, gateway, route(kind))} == carried


def test_the_fix_of_a_route_that_is_not_attached_names_its_field(tmp_path: Path) -> None:
    text = f"{listening('name: a, port: 443, protocol: HTTPS')}\n{route('TLSRoute')}"
    fixes = [each.finding.fix for one in linted(tmp_path, text, [ATTACHMENT])[0] for each in one.findings]
    assert fixes == ["TLSRoute/shop/web: set spec.parentRefs[0] to a listener that allows it"]


ALLOWED = "name: a, port: 80, protocol: HTTP, allowedRoutes: {ALLOWED}"


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        (
            (listening(ALLOWED.replace("ALLOWED", "kinds: [{kind: GRPCRoute}]")), route("HTTPRoute")),
            "has no listener that accepts HTTPRoute",
        ),
        ((listening(ALLOWED.replace("ALLOWED", "kinds: [{kind: HTTPRoute}]")), route("HTTPRoute")), ""),
        (
            (listening("name: a, port: 80, protocol: HTTP"), route("HTTPRoute", parent="name: edge, sectionName: b")),
            "has no listener 'b'",
        ),
        (
            (listening("name: a, port: 80, protocol: HTTP"), route("HTTPRoute", parent="name: edge, port: 443")),
            "has no listener on port 443",
        ),
        (
            (listening("name: a, port: 80, protocol: HTTP"), route("HTTPRoute", parent="name: other")),
            "Gateway/shop/other does not exist",
        ),
        (
            (
                listening("name: a, port: 80, protocol: HTTP, hostname: a.example"),
                route("HTTPRoute", "hostnames: [b.example]"),
            ),
            "none of its hostnames matches a.example",
        ),
        (
            (
                listening("name: a, port: 80, protocol: HTTP"),
                route("HTTPRoute", parent="name: edge, namespace: shop", namespace="other"),
            ),
            "no listener allows routes of namespace other",
        ),
        (
            (
                listening(ALLOWED.replace("ALLOWED", "namespaces: {from: All}")),
                route("HTTPRoute", parent="name: edge, namespace: shop", namespace="other"),
            ),
            "",
        ),
        (
            (
                listening(ALLOWED.replace("ALLOWED", "namespaces: {from: Selector, selector: {matchLabels: {a: b}}}")),
                route("HTTPRoute"),
                core("Namespace", "shop", "", namespace=""),
            ),
            "no listener allows routes of namespace shop",
        ),
        ((route("HTTPRoute", parent="group: '', kind: Service, name: web"),), ""),
    ],
)
def test_why_a_route_is_not_attached(texts: tuple[str, ...], why: str) -> None:
    found = said(ATTACHMENT, *texts, whole=True)
    assert len(found) == bool(why)
    assert all(
        verdict == "fail" and field == "spec.parentRefs[0]" and why in message for verdict, field, message in found
    )


def test_what_was_not_seen() -> None:
    assert verdicts(ATTACHMENT, route("HTTPRoute")) == ["inconclusive"]
    selected = ALLOWED.replace("ALLOWED", "namespaces: {from: Selector, selector: {matchLabels: {a: b}}}")
    assert verdicts(ATTACHMENT, route("HTTPRoute"), listening(selected)) == ["inconclusive"]


@pytest.mark.parametrize(
    ("parents", "expected"),
    [
        ("[]", ["fail"]),
        ("[{group: '', kind: Service, name: web}]", []),
        ("[{kind: Service, name: web}]", ["inconclusive"]),
        ("[{kind: Gatewy, name: edge}]", ["inconclusive"]),
        ("[{group: example.com, kind: Gateway, name: edge}]", ["inconclusive"]),
    ],
)
def test_parents_without_listeners(parents: str, expected: list[str]) -> None:
    assert verdicts(ATTACHMENT, of("HTTPRoute", "web", f"parentRefs: {parents}"), whole=True) == expected


@pytest.mark.parametrize(
    ("hostnames", "fields"),
    [
        ("[a.shop.example, b.shop.example]", []),
        ("[a.shop.example, a.other.example]", ["spec.hostnames[1]"]),
        ("[]", ["spec.hostnames"]),
        ("[a.shop.example, 192.0.2.1]", ["spec.hostnames[1]", "spec.hostnames[1]"]),
    ],
)
def test_hostnames_of_a_tls_route(hostnames: str, fields: list[str]) -> None:
    gateway = listening(f'name: a, port: 443, hostname: "*.shop.example", {PASSTHROUGH}')
    found = said(ATTACHMENT, gateway, route("TLSRoute", f"hostnames: {hostnames}"))
    assert [field for _, field, _ in found] == fields


def test_a_former_tls_route_without_hostnames_has_those_of_the_listener() -> None:
    """The CRDs of v1alpha2 do not require them; those of v1alpha3 and v1 do."""
    gateway = listening(f"name: a, port: 443, hostname: web.shop.example, {PASSTHROUGH}")
    flaws = {
        version: verdicts(ATTACHMENT, gateway, of("TLSRoute", "web", "parentRefs: [{name: edge}]", version=version))
        for version in ("v1alpha2", "v1alpha3", "v1")
    }
    assert flaws == {"v1alpha2": [], "v1alpha3": ["fail"], "v1": ["fail"]}


@pytest.mark.parametrize(
    ("listener", "kinds", "count"),
    [
        (PASSTHROUGH, "TLSRoute", 0),
        (PASSTHROUGH, "TCPRoute", 1),
        (TERMINATE, "TCPRoute", 0),
        ("protocol: HTTPS", "TLSRoute", 1),
        ("protocol: HTTPS", "HTTPRoute", 0),
        ("protocol: UDP", "UDPRoute", 0),
        ("protocol: example.com/own", "AnyRoute", 0),
    ],
)
def test_kinds_that_a_listener_cannot_carry(listener: str, kinds: str, count: int) -> None:
    text = listening(f"name: a, port: 443, {listener}, allowedRoutes: {{kinds: [{{kind: {kinds}}}]}}")
    assert verdicts(route_attachment.KINDS, text) == ["fail"] * count


TO_DB = "rules: [{backendRefs: [{name: db, port: 5432}]}]"
SYSTEM = "validation: {hostname: db.example.com, wellKnownCACertificates: System}"
POLICY = of("BackendTLSPolicy", "db", f"targetRefs: [{{group: '', kind: Service, name: db}}], {SYSTEM}")
OF_PORT = POLICY.replace("name: db}", "name: db, sectionName: sql}")
SERVICE = core("Service", "db", "spec: {ports: [{name: sql, port: 5432}, {name: web, port: 443}]}")


@pytest.mark.parametrize(
    ("texts", "whole", "expected"),
    [
        ((PASSTHROUGH,), True, []),
        ((TERMINATE,), True, ["fail"]),
        ((TERMINATE,), False, ["inconclusive"]),
        ((TERMINATE, POLICY), True, []),
        ((TERMINATE, POLICY), False, []),
        ((TERMINATE, OF_PORT, SERVICE), True, []),
        ((TERMINATE, OF_PORT.replace("sql", "web"), SERVICE), True, ["fail"]),
        ((TERMINATE, OF_PORT), False, ["inconclusive"]),
        ((TERMINATE, POLICY.replace("namespace: shop", "namespace: other")), True, ["fail"]),
    ],
)
def test_plaintext_behind_tls(texts: tuple[str, ...], whole: bool, expected: list[str]) -> None:
    listener, *others = texts
    gateway = listening(f"name: a, port: 5432, {listener}")
    assert verdicts(backend_protocol.PLAINTEXT, gateway, route("TLSRoute", TO_DB), *others, whole=whole) == expected


@pytest.mark.parametrize(
    ("controller", "expected"),
    [("projectcontour.io/gateway-controller", ["fail"]), ("example.com/controller", []), ("", [])],
)
def test_contour_looks_at_no_policy_for_what_is_no_http_route(controller: str, expected: list[str]) -> None:
    gateway = listening(f"name: a, port: 5432, {TERMINATE}", more="  gatewayClassName: front\n")
    known = of("GatewayClass", "front", f"controllerName: {controller}") if controller else ""
    for kind in ("TLSRoute", "TCPRoute"):
        texts = (gateway, route(kind, TO_DB), POLICY, SERVICE, known)
        assert verdicts(backend_protocol.PLAINTEXT, *texts, whole=True) == expected


@pytest.mark.parametrize("others", [(), (OF_PORT,), (POLICY,)], ids=["none", "of a port that nobody knows", "one"])
def test_behind_contours_gateway_no_policy_is_asked_for(others: tuple[str, ...]) -> None:
    gateway = listening(f"name: a, port: 5432, {TERMINATE}", more="  gatewayClassName: front\n")
    front = of("GatewayClass", "front", "controllerName: projectcontour.io/gateway-controller")
    ((verdict, _, message),) = said(backend_protocol.PLAINTEXT, gateway, route("TLSRoute", TO_DB), *others, front)
    assert (verdict, "applies BackendTLSPolicy to HTTPRoutes only" in message) == ("fail", True)


X_BACKEND = "type: ExternalHostname, port: {port: 443}, externalHostname: {hostname: a.example}"
TO_X = "rules: [{backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: db}]}]"


@pytest.mark.parametrize(
    ("rules", "others", "whole", "expected"),
    [
        (TO_X, (of("XBackend", "db", f"{X_BACKEND}, tls: {{mode: ServerOnly}}"),), True, []),
        (TO_X, (of("XBackend", "db", f"{X_BACKEND}, tls: {{mode: None}}"),), True, ["fail"]),
        (TO_X, (of("XBackend", "db", X_BACKEND),), True, ["fail"]),
        (TO_X, (), False, ["inconclusive"]),
        (TO_X.replace("XBackend", "ServiceImport"), (), True, ["inconclusive"]),
        (
            TO_X.replace("gateway.networking.x-k8s.io, ", "'', ").replace("XBackend", "ConfigMap"),
            (),
            True,
            ["inconclusive"],
        ),
    ],
)
def test_backends_that_are_no_services(rules: str, others: tuple[str, ...], whole: bool, expected: list[str]) -> None:
    gateway = listening(f"name: a, port: 5432, {TERMINATE}")
    assert verdicts(backend_protocol.PLAINTEXT, gateway, route("TLSRoute", rules), *others, whole=whole) == expected
    through = listening(f"name: a, port: 5432, {PASSTHROUGH}")
    assert verdicts(backend_protocol.PLAINTEXT, through, route("TLSRoute", rules), *others, whole=whole) == []


def test_a_gateway_that_was_not_seen_may_decrypt() -> None:
    assert verdicts(backend_protocol.PLAINTEXT, route("TCPRoute", TO_DB)) == ["inconclusive"]
    assert verdicts(backend_protocol.PLAINTEXT, route("TCPRoute", TO_DB), POLICY) == []


@pytest.mark.parametrize(
    ("port", "speaks"),
    [
        ("port: 443", False),
        ("port: 443, appProtocol: https", True),
        ("port: 443, appProtocol: HTTPS", True),
        ("port: 443, appProtocol: kubernetes.io/wss", True),
        ("port: 443, appProtocol: kubernetes.io/h2c", False),
        ("port: 443, name: https", True),
        ("port: 443, name: https-web", True),
        ("port: 443, name: httpsweb", False),
        ("port: 443, name: https, appProtocol: http", False),
        ("port: 8443, name: https", False),
    ],
)
def test_ports_that_say_tls(port: str, speaks: bool) -> None:
    service = core("Service", "db", f"spec: {{ports: [{{{port}}}]}}")
    text = route("HTTPRoute", TO_DB.replace("5432", "443"))
    assert verdicts(backend_protocol.PROTOCOL, text, service, whole=True) == ["fail"] * speaks
    assert verdicts(backend_protocol.PROTOCOL, text, service, POLICY, whole=True) == []
    assert verdicts(backend_protocol.PROTOCOL, text, service) == ["inconclusive"] * speaks
    assert verdicts(backend_protocol.PROTOCOL, text) == ["inconclusive"]


BOTH = listening("name: http, port: 80, protocol: HTTP", "name: https, port: 443, protocol: HTTPS")
APART = listening(
    "name: http, port: 80, protocol: HTTP, hostname: a.example",
    "name: https, port: 443, protocol: HTTPS, hostname: b.example",
)
REDIRECT = "rules: [{filters: [{type: RequestRedirect, requestRedirect: {scheme: SCHEME}}]}]"


@pytest.mark.parametrize(
    ("gateway", "rest", "parent", "count"),
    [
        (BOTH, "", "name: edge", 1),
        (BOTH, "hostnames: [a.example, '*.b.example']", "name: edge", 1),
        (BOTH, "", "name: edge, sectionName: https", 0),
        (BOTH, "", "name: edge, sectionName: http", 1),
        (BOTH, "", "name: edge, sectionName: http}, {name: edge, sectionName: https", 1),
        (BOTH, REDIRECT.replace("SCHEME", "https"), "name: edge", 0),
        (BOTH, REDIRECT.replace("SCHEME", "http"), "name: edge", 1),
        (BOTH, REDIRECT.replace("SCHEME", "https").replace("]}]", "]}, {}]"), "name: edge", 1),
        (APART, "hostnames: [a.example, b.example]", "name: edge", 0),
        (APART, "", "name: edge", 0),
    ],
)
def test_twins(gateway: str, rest: str, parent: str, count: int) -> None:
    text = route("HTTPRoute", rest, parent=parent)
    assert verdicts(plaintext_twin.TWIN, gateway, text) == ["fail"] * count
    assert set(verdicts(plaintext_twin.TWIN, text)) == {"inconclusive"}
