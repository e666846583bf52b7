"""What is published, and how: IngressControllers, Routes, a Gateway (operator.openshift.io/v1, route.openshift.io/v1,
gateway.networking.k8s.io/v1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scanner.demo.api.store import Object
from scanner.demo.frontends import ROUTERS, ROUTES, Published, Router
from scanner.demo.landscape import GATEWAY, GATEWAY_PORT
from scanner.demo.objects.platform import conditions
from scanner.demo.world import World

_AEAD = (
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-CHACHA20-POLY1305",
)
_TLS13 = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
_OLD = (
    "ECDHE-ECDSA-AES128-SHA256",
    "ECDHE-RSA-AES128-SHA256",
    "ECDHE-ECDSA-AES128-SHA",
    "ECDHE-RSA-AES128-SHA",
    "ECDHE-ECDSA-AES256-SHA",
    "ECDHE-RSA-AES256-SHA",
    "AES128-GCM-SHA256",
    "AES256-GCM-SHA384",
    "AES128-SHA256",
    "AES128-SHA",
    "AES256-SHA",
    "DES-CBC3-SHA",
)
_DEPLOYED = {
    "Intermediate": {"ciphers": [*_AEAD, *_TLS13], "minTLSVersion": "VersionTLS12"},
    "Old": {"ciphers": [*_AEAD, *_OLD, *_TLS13], "minTLSVersion": "VersionTLS11"},  # TLS 1.0 becomes 1.1 on the way
}
"""``status.tlsProfile``: what the operator really configured."""


def ingress_controllers() -> Iterator[Object]:
    """Two, each with a profile of its own, on ports of the nodes."""
    for router in ROUTERS:
        ports = {"httpPort": router.http, "httpsPort": router.https, "statsPort": router.stats}
        strategy: dict[str, Any] = {"type": "HostNetwork", "hostNetwork": {**ports, "protocol": "TCP"}}
        yield {
            "metadata": {"name": router.name, "namespace": "openshift-ingress-operator", "generation": 2},
            "spec": {
                "domain": router.domain,
                "replicas": 1,
                "endpointPublishingStrategy": strategy,
                "tlsSecurityProfile": {"type": router.profile, router.profile.lower(): {}},
                **({"routeSelector": {"matchLabels": {"router": "legacy"}}} if router.name == "legacy" else {}),
            },
            "status": {
                "domain": router.domain,
                "availableReplicas": 1,
                "observedGeneration": 2,
                "endpointPublishingStrategy": strategy,
                "tlsProfile": _DEPLOYED[router.profile],
                "conditions": conditions(Admitted="True", Available="True", Progressing="False", Degraded="False"),
                "selector": f"ingresscontroller.operator.openshift.io/deployment-ingresscontroller={router.name}",
            },
        }


def routes() -> Iterator[Object]:
    """All terminations. None brings a private key: the one with a certificate of its own names a Secret."""
    routers = {each.name: each for each in ROUTERS}
    return (_route(each, routers[each.router]) for each in ROUTES)


def certificate_roles() -> Iterator[Object]:
    """What lets the routers read the Secrets that Routes name, and no others."""
    for each in _with_certificates():
        yield {
            "metadata": {"name": f"{each.name}-cert-reader", "namespace": each.namespace},
            "rules": [
                {
                    "apiGroups": [""],
                    "resources": ["secrets"],
                    "resourceNames": [f"{each.name}-cert"],
                    "verbs": ["get", "list", "watch"],
                }
            ],
        }


def certificate_role_bindings() -> Iterator[Object]:
    """To the routers' service account."""
    for each in _with_certificates():
        name = f"{each.name}-cert-reader"
        yield {
            "metadata": {"name": name, "namespace": each.namespace},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": "router", "namespace": "openshift-ingress"}],
        }


def _with_certificates() -> Iterator[Published]:
    return (each for each in ROUTES if each.paper is not None)


def _route(published: Published, router: Router) -> Object:
    tls: dict[str, Any] = {"termination": published.termination, "insecureEdgeTerminationPolicy": "Redirect"}
    if published.paper is not None:
        tls["externalCertificate"] = {"name": f"{published.name}-cert"}
    ingress = {
        "host": published.host,
        "routerName": router.name,
        "routerCanonicalHostname": f"router-{router.name}.{router.domain}",
        "wildcardPolicy": "None",
        "conditions": conditions(Admitted="True"),
    }
    labels = {"router": "legacy"} if router.name == "legacy" else {"app": published.service}
    return {
        "metadata": {"name": published.name, "namespace": published.namespace, "labels": labels},
        "spec": {
            "host": published.host,
            "to": {"kind": "Service", "name": published.service, "weight": 100},
            "port": {"targetPort": published.port},
            "tls": tls,
            "wildcardPolicy": "None",
        },
        "status": {"ingress": [ingress]},
    }


def gateway_classes() -> Iterator[Object]:
    """OpenShift's."""
    yield {
        "metadata": {"name": "openshift-default"},
        "spec": {"controllerName": "openshift.io/gateway-controller/v1"},
        "status": {"conditions": conditions(Accepted="True")},
    }


def gateways(world: World) -> Iterator[Object]:
    """One with an HTTPS listener behind a load balancer."""
    kinds = [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute"}]
    held = {"name": "shop", "attachedRoutes": 1, "supportedKinds": kinds}
    well = conditions(Accepted="True", Programmed="True", ResolvedRefs="True", Conflicted="False")
    yield {
        "metadata": {"name": "shop", "namespace": "openshift-ingress", "generation": 1},
        "spec": {
            "gatewayClassName": "openshift-default",
            "listeners": [
                {
                    "name": "shop",
                    "hostname": f"shop.{GATEWAY}",
                    "port": GATEWAY_PORT,
                    "protocol": "HTTPS",
                    "tls": {"mode": "Terminate", "certificateRefs": [{"group": "", "kind": "Secret", "name": "shop"}]},
                    "allowedRoutes": {"namespaces": {"from": "All"}},
                }
            ],
        },
        "status": {
            "addresses": [{"type": "IPAddress", "value": world.load_balancer}],
            "conditions": conditions(Accepted="True", Programmed="True"),
            "listeners": [{**held, "conditions": well}],
        },
    }
