"""Listeners, routes and BackendTLSPolicies as they may be, what Contour's status says of each, and which of lint's
rules fail it.

All of them are in one cluster, which also has what ``SURROUNDINGS`` has. Each listener has a port and a hostname of its
own, where its story says nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from tests.e2e.contour import NAMESPACE

NOBODY: Final = "nobody"
"""In place of reasons: Contour says nothing at all of the object."""
_API: Final = "gateway.networking.k8s.io"
_CERTIFIED: Final = 'tls.crt: "CERTIFICATE(*.example)", tls.key: "KEY(*.example)"'


class Told(NamedTuple):
    """What is said of a story."""

    reasons: str = ""
    """Of the conditions that are not as they should be, between blanks; none: all is well."""
    rules: str = ""
    """That fail it, between blanks."""
    why: str = ""
    """Where one of them finds a fault and the other does not, or another one."""


RIGHT: Final = Told()


class Listener(NamedTuple):
    """One of the Gateway's."""

    tls: str
    """YAML of ``tls``; empty: none."""
    told: Told = RIGHT
    protocol: str = "HTTPS"
    hostname: str | None = None
    """None: the name of the story, in ``example``; empty: none."""
    port: int | None = None
    routes: str = ""
    """YAML of ``allowedRoutes``."""


class Route(NamedTuple):
    """One that leads to the Service ``web`` of its namespace, where it does not say otherwise."""

    parent: str
    """YAML of a reference; or the name of a listener."""
    told: Told = RIGHT
    kind: str = "HTTPRoute"
    hostnames: str = "[]"
    backend: str = "{name: web, port: 80}"
    namespace: str = NAMESPACE


class Policy(NamedTuple):
    """One for a Service of its own, to which a route leads."""

    authorities: str
    """YAML of what says who is trusted."""
    told: Told = RIGHT
    target: str = ""
    """YAML of what is added to its target."""
    route: Route | None = Route("own")
    """None: no route leads there."""
    port: str = "{name: https, port: 443}"
    hostname: str = "web.example"
    service: str = ""
    """The name of the Service; empty: that of the story."""


OWN: Final = "{certificateRefs: [{name: own}]}"
PASSED: Final = "{mode: Passthrough}"
_BAD_REF: Final = "InvalidCertificateRef"
_REF: Final = "gateway-certificate-ref"
_GRANT: Final = "gateway-certificate-grant"
_CONFLICT: Final = "gateway-listener-conflict"
_KINDS: Final = "gateway-route-kinds"
_TLS: Final = "gateway-listener-tls"

LISTENERS: Final[Mapping[str, Listener]] = {
    # Certificates
    "own": Listener(OWN),
    "missing": Listener("{certificateRefs: [{name: none}]}", Told(_BAD_REF, _REF)),
    "other-kind": Listener("{certificateRefs: [{kind: ConfigMap, name: own}]}", Told(_BAD_REF, _REF)),
    "other-group": Listener("{certificateRefs: [{group: example.com, name: own}]}", Told(_BAD_REF, _REF)),
    "no-pair": Listener("{certificateRefs: [{name: public}]}", Told(_BAD_REF, _REF)),
    "not-granted": Listener("{certificateRefs: [{name: wild, namespace: certs}]}", Told("RefNotPermitted", _GRANT)),
    "not-granted-nor-there": Listener(
        "{certificateRefs: [{name: none, namespace: certs}]}",
        Told("RefNotPermitted", f"{_GRANT} {_REF}"),
    ),
    "granted": Listener("{certificateRefs: [{name: granted, namespace: certs}]}"),
    "granted-to-another": Listener(
        "{certificateRefs: [{name: others, namespace: certs}]}", Told("RefNotPermitted", _GRANT)
    ),
    "granted-with-all": Listener("{certificateRefs: [{name: any, namespace: open}]}"),
    "opaque": Listener("{certificateRefs: [{name: opaque}]}", Told("", _REF, "Contour takes Secrets of that type too")),
    "other-key": Listener(
        "{certificateRefs: [{name: mixed}]}", Told("", _REF, "Contour compares no keys; Envoy takes no such pair")
    ),
    "two": Listener(
        "{certificateRefs: [{name: own}, {name: second}]}", Told("Invalid", "", "Contour takes one; the API allows it")
    ),
    "options": Listener(
        "{options: {example.com/certificate: a}}", Told("Invalid", "", "Contour knows none; the API allows it")
    ),
    # How TLS ends
    "without": Listener("", Told("Invalid", _TLS)),
    "tls-without": Listener("", Told("Invalid", _TLS), protocol="TLS"),
    "passed": Listener(PASSED, protocol="TLS"),
    "passed-with": Listener(
        "{mode: Passthrough, certificateRefs: [{name: own}]}",
        Told("Invalid", "gateway-listener-refused"),
        protocol="TLS",
    ),
    "ended": Listener(OWN, protocol="TLS"),
    # Protocols
    "plain": Listener("", protocol="HTTP"),
    "datagrams": Listener(
        "", Told("UnsupportedProtocol", "", "Contour has no UDP; the API has"), protocol="UDP", hostname=""
    ),
    "foreign": Listener(
        "", Told("UnsupportedProtocol", "", "another implementation's protocol"), protocol="example.com/own"
    ),
    "mine": Listener("", protocol="projectcontour.io/https"),
    # Kinds of routes
    "kinds": Listener(OWN, routes="{kinds: [{kind: HTTPRoute}]}"),
    "tls-kind": Listener(
        OWN, Told("InvalidRouteKinds", _KINDS), routes="{kinds: [{kind: TLSRoute}, {kind: HTTPRoute}]}"
    ),
    "no-such-kind": Listener(OWN, Told("InvalidRouteKinds", _KINDS), routes="{kinds: [{kind: UDPRoute}]}"),
    "no-such-group": Listener(
        OWN, Told("InvalidRouteKinds", _KINDS), routes="{kinds: [{group: example.com, kind: HTTPRoute}]}"
    ),
    "http-kind": Listener(
        PASSED,
        Told("", _KINDS, "Contour lets it be, and attaches HTTPRoutes to what it does not decrypt"),
        protocol="TLS",
        routes="{kinds: [{kind: HTTPRoute}]}",
    ),
    "tcp-kind": Listener(
        PASSED,
        Told("", _KINDS, "Contour takes TCPRoutes in either mode; the conformance suite wants InvalidRouteKinds"),
        protocol="TLS",
        routes="{kinds: [{kind: TCPRoute}]}",
    ),
    # Namespaces of routes
    "open": Listener(OWN, routes="{namespaces: {from: All}}"),
    "labelled": Listener(
        OWN,
        routes="{namespaces: {from: Selector, selector: {matchLabels: {kubernetes.io/metadata.name: shop}}}}",
    ),
    # None with an empty selector, by which the API means all namespaces: Contour 1.33.8 then ends with a nil pointer.
    # Ports
    "first": Listener(OWN, hostname="same.example", port=701),
    "first-again": Listener(
        PASSED, Told("HostnameConflict", _CONFLICT), protocol="TLS", hostname="same.example", port=701
    ),
    "plaintext": Listener("", protocol="HTTP", port=702),
    "plaintext-too": Listener(OWN, Told("ProtocolConflict", _CONFLICT), port=702),
    "encrypted": Listener(OWN, protocol="TLS", port=703),
    "encrypted-too": Listener("", Told("ProtocolConflict", _CONFLICT), protocol="TCP", hostname="", port=703),
    "mode": Listener(OWN, protocol="TLS", port=704),
    "mode-other": Listener(
        PASSED, Told("", _CONFLICT, "Contour takes both modes, as TLSRouteModeMixed"), protocol="TLS", port=704
    ),
    "protocol": Listener(OWN, port=705),
    "protocol-other": Listener(PASSED, Told("", _CONFLICT, "Contour takes both protocols"), protocol="TLS", port=705),
    "wide": Listener(
        "{certificateRefs: [{name: wide}]}",
        Told("", "gateway-certificate-name", "no status says that clients refuse it for the name of a route"),
        hostname="*.wide.example",
        port=706,
    ),
    "narrow": Listener(
        "{certificateRefs: [{name: wide}]}",
        Told("", "gateway-overlapping-tls-config", "Contour sets no OverlappingTLSConfig; the API says that it must"),
        hostname="narrow.wide.example",
        port=706,
    ),
    "low": Listener(OWN, port=57536),
    "low-too": Listener(
        OWN, Told("PortUnavailable", "", "Envoy listens on the port plus 8000, and these come to one"), port=58559
    ),
}
"""Those of one Gateway, by name."""

_ATTACHED: Final = "gateway-route-attachment"
_PLAIN: Final = "gateway-plaintext-backend"
_PROTOCOL: Final = "gateway-backend-protocol"
_ELSEWHERE: Final = "rules of lint do not look where a route without TLS leads to"
_DEAD: Final = "lint says it of the listener, which Contour leaves out"

ROUTES: Final[Mapping[str, Route]] = {
    # Which listener
    "to-one": Route("own"),
    "to-one-by-name": Route("own", hostnames="[own.example]"),
    "to-one-by-wildcard": Route("own", hostnames='["*.example"]'),
    "to-no-section": Route("nowhere", Told("NoMatchingParent", _ATTACHED)),
    "to-no-port": Route("{name: edge, port: 9}", Told("NoMatchingParent", _ATTACHED)),
    "to-no-gateway": Route("{name: none}", Told(NOBODY, _ATTACHED, "Contour has but one Gateway")),
    "to-missing": Route("missing", Told("NoMatchingParent", "", _DEAD)),
    "to-conflicted": Route("plaintext-too", Told("NoMatchingParent", "", _DEAD)),
    # Names
    "of-another-name": Route("own", Told("NoMatchingListenerHostname", _ATTACHED), hostnames="[other.test]"),
    "of-one-other-name": Route(
        "own", Told("", _ATTACHED, "the API ignores such a name"), hostnames="[own.example, other.test]"
    ),
    "of-two-labels": Route("wide", hostnames="[a.b.wide.example]"),
    "of-the-domain": Route("wide", Told("NoMatchingListenerHostname", _ATTACHED), hostnames="[wide.example]"),
    "of-the-narrow": Route(
        "wide",
        Told("NoMatchingListenerHostname", "", "Contour keeps listeners apart, as the API says that they should be"),
        hostnames="[narrow.wide.example]",
    ),
    # Kinds
    "on-tls": Route("passed", Told("NotAllowedByListeners", _ATTACHED)),
    "grpc": Route("own", kind="GRPCRoute"),
    "grpc-on-tls": Route("ended", Told("NotAllowedByListeners", _ATTACHED), kind="GRPCRoute"),
    "grpc-not-allowed": Route("kinds", Told("NotAllowedByListeners", _ATTACHED), kind="GRPCRoute"),
    "tls": Route("passed", kind="TLSRoute", hostnames="[passed.example]"),
    "tls-of-any-name": Route("passed", kind="TLSRoute"),
    "tls-of-another-name": Route(
        "passed", Told("NoMatchingListenerHostname", _ATTACHED), kind="TLSRoute", hostnames="[other.test]"
    ),
    "tls-on-https": Route("own", Told("NotAllowedByListeners", _ATTACHED), kind="TLSRoute", hostnames="[own.example]"),
    "tls-on-plain": Route(
        "plain", Told("NotAllowedByListeners", _ATTACHED), kind="TLSRoute", hostnames="[plain.example]"
    ),
    "tls-ended": Route(
        "ended",
        Told("", _PLAIN, "no status says that what is decrypted goes on in plaintext"),
        kind="TLSRoute",
        hostnames="[ended.example]",
    ),
    "tls-ended-with-policy": Route(
        "ended",
        Told("", _PLAIN, "Contour reads policies for HTTPRoutes alone, and no status says it"),
        kind="TLSRoute",
        hostnames="[ended.example]",
        backend="{name: applied, port: 443}",
    ),
    "tcp-ended": Route("ended", Told("", _PLAIN, "no status says it"), kind="TCPRoute"),
    "tcp-passed": Route(
        "passed",
        Told("", _ATTACHED, "Contour takes TCPRoutes in either mode; the API does not"),
        kind="TCPRoute",
    ),
    # Namespaces
    "from-elsewhere": Route("own", Told("NotAllowedByListeners", _ATTACHED), namespace="shop"),
    "from-anywhere": Route("open", namespace="shop"),
    "from-a-selected": Route("labelled", namespace="shop"),
    "from-another": Route("labelled", Told("NotAllowedByListeners", _ATTACHED), namespace="blog"),
    # Backends
    "to-no-service": Route("own", Told("BackendNotFound", "", _ELSEWHERE), backend="{name: none, port: 80}"),
    "to-no-kind": Route("own", Told("InvalidKind", "", _ELSEWHERE), backend="{kind: ConfigMap, name: web, port: 80}"),
    "to-others": Route(
        "own", Told("RefNotPermitted", "", _ELSEWHERE), backend="{name: web, namespace: blog, port: 80}"
    ),
    "to-granted": Route("own", backend="{name: web, namespace: shop, port: 80}"),
    "to-wss": Route("own", Told("UnsupportedProtocol", _PROTOCOL), backend="{name: web, port: 81}"),
    "to-https": Route(
        "own", Told("", _PROTOCOL, "Contour speaks TLS to it, and verifies nothing"), backend="{name: web, port: 443}"
    ),
}

_CA: Final = "backend-tls-ca"
_TARGET: Final = "backend-tls-target"
_LEFT_OUT: Final = "Contour reads such a policy for HTTPRoutes alone, and goes on in plaintext"


def _ca(name: str, kind: str = "ConfigMap") -> str:
    return f'caCertificateRefs: [{{group: "", kind: {kind}, name: {name}}}]'


POLICIES: Final[Mapping[str, Policy]] = {
    "applied": Policy(_ca("authority")),
    "applied-to-port": Policy(_ca("authority"), target="sectionName: https"),
    "no-authority": Policy(_ca("none"), Told("Invalid", f"{_CA} {_TARGET}")),
    "empty-authority": Policy(_ca("empty"), Told("Invalid", f"{_CA} {_TARGET}")),
    "no-pem": Policy(_ca("no-pem"), Told("Invalid", f"{_CA} {_TARGET}")),
    "other-authority": Policy(_ca("authority", "Service"), Told("Invalid", f"{_CA} {_TARGET}")),
    "secret-authority": Policy(_ca("public", "Secret"), Told("", _CA, "the API has ConfigMaps alone, Contour both")),
    "no-secret-authority": Policy(_ca("none", "Secret"), Told("Invalid", f"{_CA} {_TARGET}")),
    "public-roots": Policy("wellKnownCACertificates: System", Told("Invalid", _TARGET)),
    "internal-name": Policy(
        "wellKnownCACertificates: System", Told("Invalid", f"{_CA} {_TARGET}"), hostname="web.shop.svc"
    ),
    "no-such-port": Policy(_ca("authority"), Told(NOBODY, _TARGET), target='sectionName: "443"'),
    "no-such-service": Policy(_ca("authority"), Told(NOBODY, _TARGET), service="none"),
    "no-route": Policy(_ca("authority"), Told(NOBODY, _TARGET), route=None),
    "for-grpc": Policy(_ca("authority"), Told(NOBODY, "", _LEFT_OUT), route=Route("own", kind="GRPCRoute")),
    "for-tls": Policy(
        _ca("authority"),
        Told(NOBODY, "", f"{_LEFT_OUT}; lint says it of the route"),
        route=Route("ended", kind="TLSRoute", hostnames="[ended.example]"),
    ),
    "for-passed": Policy(
        _ca("authority"),
        Told(NOBODY, "backend-tls-passthrough"),
        route=Route("passed", kind="TLSRoute", hostnames="[passed.example]"),
    ),
}


TWICE: Final[Mapping[str, Policy]] = {
    "twice": Policy(_ca("authority")),
    "twice-again": Policy(_ca("authority"), service="twice"),
}
"""Two for one Service."""


def gateway() -> str:
    """The Gateway with all its listeners, as YAML."""
    lines = [_listener(name, number, each) for number, (name, each) in enumerate(LISTENERS.items())]
    head = f"apiVersion: {_API}/v1\nkind: Gateway\nmetadata: {{name: edge, namespace: {NAMESPACE}}}\n"
    return f"{head}spec:\n  gatewayClassName: contour\n  listeners:\n" + "".join(lines)


def _listener(name: str, number: int, each: Listener) -> str:
    hostname = f"{name}.example" if each.hostname is None else each.hostname
    said = {
        "name": name,
        "port": each.port or 1000 + number,
        "protocol": each.protocol,
        "hostname": f'"{hostname}"' if hostname else "",
        "tls": each.tls,
        "allowedRoutes": each.routes,
    }
    return f"  - {{{', '.join(f'{key}: {value}' for key, value in said.items() if value)}}}\n"


def route(name: str, each: Route) -> str:
    """As YAML."""
    version = "v1alpha2" if each.kind in ("TLSRoute", "TCPRoute") else "v1"
    here = "" if each.namespace == NAMESPACE else f", namespace: {NAMESPACE}"
    section = f"{{name: edge{here}, sectionName: {each.parent}}}"
    parent = each.parent if each.parent.startswith("{") else section
    names = "" if each.kind == "TCPRoute" else f"  hostnames: {each.hostnames}\n"
    match = _MATCHES[each.kind].replace("NAME", name.replace("-", "_")) if each.kind in _MATCHES else ""
    return (
        f"apiVersion: {_API}/{version}\nkind: {each.kind}\n"
        f"metadata: {{name: {name}, namespace: {each.namespace}}}\n"
        f"spec:\n  parentRefs: [{parent}]\n{names}  rules: [{{{match}backendRefs: [{each.backend}]}}]\n"
    )


_MATCHES: Final = {
    "HTTPRoute": "matches: [{path: {type: PathPrefix, value: /NAME}}], ",
    "GRPCRoute": "matches: [{method: {service: NAME, method: Get}}], ",
}
"""Each route has requests of its own: of two with the same, Contour takes one."""


def policy(name: str, each: Policy) -> str:
    """It, its Service and the route to that, as YAML."""
    service = each.service or name
    target = ", ".join(filter(None, ('group: "", kind: Service', f"name: {service}", each.target)))
    metadata = f"metadata: {{name: {name}, namespace: {NAMESPACE}}}"
    validation = f"{{hostname: {each.hostname}, {each.authorities}}}"
    head = f"apiVersion: {_API}/v1alpha3\nkind: BackendTLSPolicy\n{metadata}\n"
    found = [f"{head}spec: {{targetRefs: [{{{target}}}], validation: {validation}}}\n"]
    if not each.service:
        found.append(f"apiVersion: v1\nkind: Service\n{metadata}\nspec: {{ports: [{each.port}]}}\n")
        if each.route is not None:
            backend = f"{{name: {name}, port: 443}}"
            found.append(route(f"policy-{name}", each.route._replace(backend=backend)))
    return "---\n".join(found)


def everything() -> str:
    """All objects of all stories, as YAML; the Gateway last."""
    routes = [route(name, each) for name, each in ROUTES.items()]
    policies = [policy(name, each) for name, each in (*POLICIES.items(), *TWICE.items())]
    return "---\n".join((SURROUNDINGS, *routes, *policies, gateway()))


def _secret(name: str, namespace: str = NAMESPACE, data: str = _CERTIFIED, type_: str = "kubernetes.io/tls") -> str:
    metadata = f"metadata: {{name: {name}, namespace: {namespace}}}"
    return f"apiVersion: v1\nkind: Secret\n{metadata}\ntype: {type_}\ndata: {{{data}}}\n"


def _config_map(name: str, data: str) -> str:
    metadata = f"metadata: {{name: {name}, namespace: {NAMESPACE}}}"
    return f"apiVersion: v1\nkind: ConfigMap\n{metadata}\ndata: {{{data}}}\n"


def _service(namespace: str) -> str:
    ports = (
        "{name: http, port: 80}, {name: socket, port: 81, appProtocol: kubernetes.io/wss},"
        " {name: encrypted, port: 443, appProtocol: https}"
    )
    metadata = f"metadata: {{name: web, namespace: {namespace}}}"
    return f"apiVersion: v1\nkind: Service\n{metadata}\nspec: {{ports: [{ports}]}}\n"


def _grant(name: str, namespace: str, who: str, what: str, source: str = NAMESPACE) -> str:
    return (
        f"apiVersion: {_API}/v1beta1\nkind: ReferenceGrant\nmetadata: {{name: {name}, namespace: {namespace}}}\n"
        f'spec:\n  from: [{{group: {_API}, kind: {who}, namespace: {source}}}]\n  to: [{{group: "", {what}}}]\n'
    )


_WIDE: Final = 'tls.crt: "CERTIFICATE(*.wide.example)", tls.key: "KEY(*.wide.example)"'
_MIXED: Final = 'tls.crt: "CERTIFICATE(*.example)", tls.key: "KEY(blog.example)"'

CLASS: Final = f"""apiVersion: {_API}/v1
kind: GatewayClass
metadata: {{name: contour}}
spec: {{controllerName: projectcontour.io/gateway-controller}}
"""
SURROUNDINGS: Final = "---\n".join(
    (
        CLASS,
        _secret("own"),
        _secret("second"),
        _secret("opaque", type_="Opaque"),
        _secret("public", data='ca.crt: "CA_DATA(clients)"', type_="Opaque"),
        _secret("mixed", data=_MIXED),
        _secret("wide", data=_WIDE),
        _secret("wild", "certs"),
        _secret("granted", "certs"),
        _secret("others", "certs"),
        _secret("any", "open"),
        _grant("edge", "certs", "Gateway", "kind: Secret, name: granted"),
        _grant("others", "certs", "Gateway", "kind: Secret, name: others", source="shop"),
        _grant("any", "open", "Gateway", "kind: Secret"),
        _grant("routes", "shop", "HTTPRoute", "kind: Service, name: web"),
        _config_map("authority", "ca.crt: CA(clients)"),
        _config_map("empty", "other: none"),
        _config_map("no-pem", "ca.crt: none"),
        *map(_service, (NAMESPACE, "shop", "blog")),
    )
)
