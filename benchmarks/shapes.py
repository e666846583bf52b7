"""Manifests of odd shapes, each of as many objects or items as one asks for: what an author may choose so that lint
looks at everything again for each of them."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Final

from scanner.demo.certificates import Authority

Body = Mapping[str, object]

_GATEWAY: Final = "gateway.networking.k8s.io/v1"
_CONTOUR: Final = "projectcontour.io/v1"
_RBAC: Final = "rbac.authorization.k8s.io/v1"
_MACHINES: Final = "machineconfiguration.openshift.io/v1"
_ROUTER: Final = {"kind": "ServiceAccount", "name": "router", "namespace": "openshift-ingress"}
_READ: Final = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch"]}
_SERVICES: Final = [{"services": [{"name": "web", "port": 443}]}]
_OPEN: Final = [{**_SERVICES[0], "permitInsecure": True}]
_LISTENERS: Final = 64
"""The most that a Gateway may have."""
_MANY: Final = 51
"""One more than the names by which lint finds a role."""


@cache
def _authority() -> str:
    return b64encode(Authority("Shop CA").pem).decode()


def _object(version: str, kind: str, name: str, namespace: str | None = "shop", /, **body: object) -> Body:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **body}


def _documents(objects: Iterable[Body]) -> str:
    return "".join(f"---\n{json.dumps(each)}\n" for each in objects)


def _route(number: int, namespace: str = "shop", **tls: object) -> Body:
    spec = {"host": f"r{number}.shop.example", "to": {"kind": "Service", "name": "web"}}
    return _object(
        "route.openshift.io/v1", "Route", f"r{number}", namespace, spec={**spec, "tls": {"termination": "edge", **tls}}
    )


def _external(number: int, secret: str = "web") -> Body:
    return _route(number, externalCertificate={"name": secret})


def _bound(kind: str, name: str, subject: Body = _ROUTER, to: str = "") -> Body:
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": to or name}
    return _object(_RBAC, "RoleBinding", name, roleRef=reference, subjects=[subject])


def _proxy(name: str, namespace: str = "shop", host: str = "", secret: str = "web", **spec: object) -> Body:
    virtual = {"virtualhost": {"fqdn": host, "tls": {"secretName": secret}}} if host else {}
    return _object(_CONTOUR, "HTTPProxy", name, namespace, spec={**virtual, **spec})


def _listener(number: int, port: int = 443, **reference: str) -> Body:
    return {
        "name": f"l{number}",
        "port": port,
        "protocol": "HTTPS",
        "hostname": f"l{number}.shop.example",
        "tls": {"certificateRefs": [{"name": "web", **reference}]},
    }


def _gateway(name: str, listeners: list[Body], namespace: str = "shop") -> Body:
    return _object(_GATEWAY, "Gateway", name, namespace, spec={"gatewayClassName": "example", "listeners": listeners})


def _http_route(number: int, gateway: str) -> Body:
    spec = {
        "parentRefs": [{"name": gateway}],
        "hostnames": [f"l{number % _LISTENERS}.shop.example"],
        "rules": [{"backendRefs": [{"name": "web", "port": 443}]}],
    }
    return _object(_GATEWAY, "HTTPRoute", f"r{number}", spec=spec)


def _grant(number: int) -> Body:
    come = [{"group": "gateway.networking.k8s.io", "kind": "Gateway", "namespace": f"n{number}"}]
    return _object(
        "gateway.networking.k8s.io/v1beta1",
        "ReferenceGrant",
        f"g{number}",
        spec={"from": come, "to": [{"group": "", "kind": "Secret", "name": "web"}]},
    )


def _delegation(number: int) -> Body:
    return _object(
        _CONTOUR,
        "TLSCertificateDelegation",
        f"d{number}",
        spec={"delegations": [{"secretName": "web", "targetNamespaces": [f"n{number}"]}]},
    )


def _ingress(number: int) -> Body:
    path = {
        "path": f"/{number}",
        "pathType": "Prefix",
        "backend": {"service": {"name": "web", "port": {"number": 443}}},
    }
    spec = {
        "tls": [{"hosts": ["web.shop.example"], "secretName": f"web-{number % 2}"}],
        "rules": [{"host": "web.shop.example", "http": {"paths": [path]}}],
    }
    return _object("networking.k8s.io/v1", "Ingress", f"i{number}", spec=spec)


def _webhook(number: int) -> Body:
    called = {"service": {"name": f"s{number}", "namespace": "shop"}, "caBundle": _authority()}
    hook = {"name": f"w{number}.shop.example", "clientConfig": called}
    return _object(
        "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", f"w{number}", None, webhooks=[hook]
    )


def _kubelets(number: int) -> tuple[Body, Body]:
    selector = {"matchLabels": {"shop": "all"}}
    profile = {"type": "Modern", "modern": {}}
    config = {"machineConfigPoolSelector": selector, "tlsSecurityProfile": profile}
    pool = _object(_MACHINES, "MachineConfigPool", f"p{number}", None, spec={})
    labelled = {**pool, "metadata": {"name": f"p{number}", "labels": {"shop": "all"}}}
    return _object(_MACHINES, "KubeletConfig", f"k{number}", None, spec=config), labelled


def _role(name: str, kind: str = "Role", names: list[str] | None = None) -> Body:
    rule = {**_READ, **({"resourceNames": names} if names else {})}
    return _object(_RBAC, kind, name, "shop" if kind == "Role" else None, rules=[rule])


SHAPES: Final[Mapping[str, Callable[[int], str]]] = {
    "HTTPProxies that one includes": lambda n: _documents(
        [
            _proxy("root", host="web.shop.example", includes=[{"name": f"p{each}"} for each in range(n)]),
            *(_proxy(f"p{each}", routes=_SERVICES) for each in range(n)),
        ]
    ),
    "HTTPProxies that include one another": lambda n: _documents(
        _proxy(
            f"p{each}",
            host="" if each else "web.shop.example",
            includes=[{"name": f"p{each + 1}"}],
            routes=_SERVICES,
        )
        for each in range(n)
    ),
    "HTTPProxies that include the same one": lambda n: _documents(
        [
            _proxy("last", routes=_SERVICES),
            *(_proxy(f"p{each}", host=f"p{each}.shop.example", includes=[{"name": "last"}]) for each in range(n)),
        ]
    ),
    "HTTPProxies without TLS that include one another": lambda n: _documents(
        _proxy(
            f"p{each}",
            host="" if each else "web.shop.example",
            includes=[{"name": f"p{each + 1}"}],
            routes=_OPEN,
        )
        for each in range(n)
    ),
    "HTTPProxies without TLS that many roots include": lambda n: _documents(
        [
            _proxy("all", includes=[{"name": f"p{each}"} for each in range(n)]),
            *(_proxy(f"p{each}", routes=_OPEN) for each in range(n)),
            *(_proxy(f"r{each}", host=f"r{each}.shop.example", includes=[{"name": "all"}]) for each in range(n)),
        ]
    ),
    "HTTPRoutes of a Gateway with 64 listeners": lambda n: _documents(
        [
            _gateway("web", [_listener(each) for each in range(_LISTENERS)]),
            *(_http_route(each, "web") for each in range(n)),
        ]
    ),
    "Listeners of a Gateway": lambda n: _documents(
        [_gateway("web", [_listener(each, each % 60_000) for each in range(n)])]
    ),
    "ReferenceGrants of a namespace": lambda n: _documents(
        made
        for each in range(n)
        for made in (_grant(each), _gateway("web", [_listener(each, namespace="shop")], f"n{each}"))
    ),
    "Delegations of a namespace": lambda n: _documents(
        made
        for each in range(n)
        for made in (
            _delegation(each),
            _proxy("web", f"n{each}", f"p{each}.shop.example", "shop/web", routes=_SERVICES),
        )
    ),
    "Ingresses of a host": lambda n: _documents(_ingress(each) for each in range(n)),
    "Items of a list": lambda n: json.dumps(
        {"apiVersion": "v1", "kind": "List", "items": [_route(each) for each in range(n)]}
    ),
    "Objects in one line": lambda n: " ".join(json.dumps(_route(each)) for each in range(n)),
    "Webhooks": lambda n: _documents(_webhook(each) for each in range(n)),
    "Bindings for every Secret": lambda n: _documents(
        made for each in range(n) for made in (_role(f"r{each}"), _bound("Role", f"r{each}"), _external(each))
    ),
    "Bindings of a ClusterRole that names all": lambda n: _documents(
        [
            _role("all", "ClusterRole", [f"web-{each}" for each in range(n)]),
            *(
                made
                for each in range(n)
                for made in (_bound("ClusterRole", f"b{each}", to="all"), _external(each, f"web-{each}"))
            ),
        ]
    ),
    "Bindings of Roles that name many": lambda n: _documents(
        made
        for each in range(n)
        for made in (
            _role(f"r{each}", names=[f"web-{each}-{name}" for name in range(_MANY)]),
            _bound("Role", f"r{each}"),
            _external(each, f"web-{each}-0"),
        )
    ),
    "Bindings of one user": lambda n: _documents(
        made
        for each in range(n)
        for made in (
            _object(_RBAC, "Role", f"r{each}", rules=[{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]),
            _bound("Role", f"r{each}", {"kind": "User", "name": "ann"}),
        )
    ),
    "KubeletConfigs and pools": lambda n: _documents(made for each in range(n) for made in _kubelets(each)),
}
