"""The tables of the demo's cluster: IngressControllers, Routes of all terminations, and workloads.

OpenShift 4.22, one control plane node and two workers. Where ports come from arguments and not from containerPorts, it
is as the operators' manifests have it. The APIServer object says Modern and StrictAllComponents, so the platform must
serve TLS 1.3 only; for users' workloads that is no requirement.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

from msgspec import Struct

from scanner.demo.certificates import CertificateSpec
from scanner.demo.workload_types import (
    APPS,
    BASE_DOMAIN,
    EXCLUDED_PLAINTEXT,
    GATEWAY,
    GATEWAY_PORT,
    LEGACY,
    MASTER,
    NODES,
    PLAINTEXT,
    WORKER_0,
    WORKER_1,
    Outcome,
    Port,
    Serves,
    ServiceSpec,
    Workload,
    mtls_port,
    service_certificate,
)
from scanner.model.observation import Reach

Termination = Literal["edge", "reencrypt", "passthrough"]


class RouteSpec(Struct, frozen=True, kw_only=True):
    """One Route."""

    namespace: str
    name: str
    host: str
    termination: Termination
    service: str
    port: str
    router: Literal["default", "legacy"] = "default"
    certificate: CertificateSpec | None = None
    """The certificate of ``externalCertificate``; None: the router's default certificate."""


class Router(Struct, frozen=True, kw_only=True):
    """One IngressController."""

    name: Literal["default", "legacy"]
    domain: str
    profile: Literal["Intermediate", "Old"]
    serves: Serves
    http: int
    https: int
    stats: int = 1936
    certificate: CertificateSpec


ROUTERS = (
    Router(
        name="default",
        domain=APPS,
        profile="Intermediate",
        serves="intermediate",
        http=10080,
        https=10443,
        certificate=CertificateSpec(signer="router", names=(f"*.{APPS}",), days=(-60, 670), key="rsa2048"),
    ),
    Router(
        name="legacy",
        domain=LEGACY,
        profile="Old",
        serves="old-router",
        http=11080,
        https=11443,
        certificate=CertificateSpec(signer="router", names=(f"*.{LEGACY}",), days=(-60, 670), key="rsa2048"),
    ),
)

ROUTES = (
    # Re-encrypt: Intermediate from clients to the router, Modern from the router to the console.
    RouteSpec(
        namespace="openshift-console",
        name="console",
        host=f"console-openshift-console.{APPS}",
        termination="reencrypt",
        service="console",
        port="https",
    ),
    # Passthrough: behind a router with Intermediate, but TLS 1.3 only.
    RouteSpec(
        namespace="openshift-authentication",
        name="oauth-openshift",
        host=f"oauth-openshift.{APPS}",
        termination="passthrough",
        service="oauth-openshift",
        port="https",
    ),
    # With a certificate of its own, from a Secret.
    RouteSpec(
        namespace="shop",
        name="web",
        host=f"shop.{APPS}",
        termination="reencrypt",
        service="web",
        port="https",
        certificate=CertificateSpec(signer="shop", names=(f"shop.{APPS}",), days=(-30, 60)),
    ),
    # Edge: TLS ends at the router.
    RouteSpec(
        namespace="shop", name="catalog", host=f"catalog.{APPS}", termination="edge", service="catalog", port="metrics"
    ),
    # Passthrough to three replicas: a connection reaches one of them, so each replica is probed.
    RouteSpec(
        namespace="shop",
        name="checkout",
        host=f"checkout.{APPS}",
        termination="passthrough",
        service="checkout",
        port="https",
    ),
    # Edge on the Old router, with TLS 1.1 and CBC: its IngressController requires that.
    RouteSpec(
        namespace="mainframe",
        name="bridge",
        host=f"bridge.{LEGACY}",
        termination="edge",
        service="bridge",
        port="http",
        router="legacy",
    ),
)


_LISTENS = "--listen=0.0.0.0:{}".format

API_SERVER_CERTIFICATE = CertificateSpec(
    signer="kube-apiserver",
    names=(
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
        "openshift",
        "openshift.default",
        "openshift.default.svc",
        "localhost",
        "localhost-recovery",
        f"api.{BASE_DOMAIN}",
        f"api-int.{BASE_DOMAIN}",
        "127.0.0.1",
        "{address}",
    ),
    days=(-3, 27),
)

_ETCD_CERTIFICATE = CertificateSpec(signer="etcd", names=("localhost", "{node}", "{address}"), days=(-200, 895))
_ETCD = partial(
    Port,
    serves="modern-mtls-required",
    certificate=_ETCD_CERTIFICATE,
    outcome=Outcome(reach=Reach.CLIENT_CERTIFICATE_REQUIRED),
    declared=False,
)


_CONTROL_PLANE = (
    Workload(
        namespace="openshift-kube-apiserver",
        name="kube-apiserver",
        kind="StaticPod",
        nodes=(MASTER,),
        host_network=True,
        labels={"apiserver": "true", "app": "openshift-kube-apiserver"},
        args=("--permit-address-sharing", "--openshift-config=/etc/kubernetes/static-pod-resources/config.yaml"),
        ports=(
            # The API server that the scan reads.
            Port(number=6443),
            # The API server's connectivity checks.
            Port(
                number=17697, name="check-endpoints", serves="modern-mtls-requested", certificate=API_SERVER_CERTIFICATE
            ),
            # Readiness in plaintext, as designed.
            Port(number=6080, name="readyz", serves="plaintext", outcome=EXCLUDED_PLAINTEXT),
        ),
    ),
    Workload(
        namespace="openshift-etcd",
        name="etcd",
        kind="StaticPod",
        nodes=(MASTER,),
        host_network=True,
        labels={"app": "etcd", "etcd": "true", "k8s-app": "etcd"},
        args=(
            "--client-cert-auth=true",
            "--peer-client-cert-auth=true",
            "--listen-client-urls=https://0.0.0.0:2379",
            "--listen-peer-urls=https://0.0.0.0:2380",
            "--listen-metrics-urls=https://0.0.0.0:9978",
        ),
        ports=(
            # Everything is visible before it requires a client certificate.
            _ETCD(number=2379, name="etcd", declared=True),
            # etcd's peers.
            _ETCD(number=2380, name="etcd-peer", declared=True),
            # etcd's own metrics, with client certificates only.
            _ETCD(number=9978),
            # etcd's metrics proxy.
            _ETCD(number=9979, name="etcd-metrics", declared=True),
            # etcd's readiness endpoint, without authentication.
            Port(number=9980, serves="modern", certificate=_ETCD_CERTIFICATE, declared=False, probed=True),
        ),
        service=ServiceSpec(name="etcd", ports=((2379, "etcd"), (9979, "etcd-metrics"))),
    ),
    Workload(
        namespace="openshift-kube-controller-manager",
        name="kube-controller-manager",
        kind="StaticPod",
        nodes=(MASTER,),
        host_network=True,
        labels={"app": "kube-controller-manager", "kube-controller-manager": "true"},
        args=("--bind-address=0.0.0.0", "--secure-port=10257", _LISTENS(9443)),
        ports=(
            # Stricter than the default of Kubernetes.
            mtls_port("kube-controller-manager", "openshift-kube-controller-manager")(number=10257, probed=True),
            # Listens on loopback only: --via port-forward reaches it.
            mtls_port("kube-controller-manager", "openshift-kube-controller-manager")(
                number=10357, name="policy", outcome=Outcome(excluded=True), loopback=True
            ),
        ),
        service=ServiceSpec(name="kube-controller-manager", serving_cert="serving-cert"),
    ),
    Workload(
        namespace="openshift-kube-scheduler",
        name="openshift-kube-scheduler",
        kind="StaticPod",
        nodes=(MASTER,),
        host_network=True,
        labels={"app": "openshift-kube-scheduler", "scheduler": "true"},
        args=("--bind-address=0.0.0.0", "--secure-port=10259", _LISTENS(11443)),
        ports=(
            # The scheduler.
            mtls_port("scheduler", "openshift-kube-scheduler")(number=10259, probed=True),
        ),
        service=ServiceSpec(name="scheduler", serving_cert="serving-cert"),
    ),
    Workload(
        namespace="openshift-machine-config-operator",
        name="machine-config-server",
        kind="DaemonSet",
        nodes=(MASTER,),
        host_network=True,
        labels={"k8s-app": "machine-config-server"},
        args=("start", f"--apiserver-url=https://api-int.{BASE_DOMAIN}:6443"),
        ports=(
            # Serves the configuration of new nodes.
            Port(
                number=22623,
                serves="modern",
                certificate=CertificateSpec(
                    signer="machine-config",
                    names=(f"api-int.{BASE_DOMAIN}", "{address}"),
                    subject="system:machine-config-server",
                    days=(-90, 3560),
                ),
            ),
            # The same in plaintext, for old installers.
            Port(number=22624, name="http", serves="plaintext", outcome=EXCLUDED_PLAINTEXT),
        ),
    ),
    Workload(
        namespace="openshift-cluster-version",
        name="cluster-version-operator",
        nodes=(MASTER,),
        host_network=True,
        labels={"k8s-app": "cluster-version-operator"},
        args=("start", _LISTENS(9099), "--serving-cert-file=/etc/tls/serving-cert/tls.crt"),
        ports=(
            # Must follow the profile only because adherence is Strict.
            mtls_port("cluster-version-operator", "openshift-cluster-version")(number=9099, name="metrics"),
        ),
        service=ServiceSpec(
            name="cluster-version-operator",
            ports=((9099, "metrics"),),
            serving_cert="cluster-version-operator-serving-cert",
        ),
    ),
)


_SERVICES = (
    Workload(
        namespace="openshift-apiserver",
        name="apiserver",
        nodes=(MASTER,),
        labels={"app": "openshift-apiserver-a", "apiserver": "true"},
        ports=(
            # Serves routes.route.openshift.io to the API server.
            mtls_port("api", "openshift-apiserver")(number=8443, probed=True),
        ),
        service=ServiceSpec(name="api", serving_cert="serving-cert"),
    ),
    Workload(
        namespace="openshift-authentication",
        name="oauth-openshift",
        nodes=(MASTER,),
        labels={"app": "oauth-openshift"},
        ports=(
            # The login page. Its Route is passthrough, and for the Route's host it has the router's certificate.
            Port(
                number=6443,
                serves="modern-mtls-requested",
                certificate=service_certificate("oauth-openshift", "openshift-authentication"),
                by_name=((f"oauth-openshift.{APPS}", ROUTERS[0].certificate),),
                probed=True,
            ),
        ),
        service=ServiceSpec(name="oauth-openshift", serving_cert="v4-0-config-system-serving-cert"),
    ),
    Workload(
        namespace="openshift-console",
        name="console",
        nodes=(MASTER,),
        labels={"app": "console", "component": "ui"},
        ports=(
            # Behind a re-encrypting Route: its own profile applies, not the router's.
            Port(
                number=8443,
                serves="modern",
                certificate=service_certificate("console", "openshift-console"),
                probed=True,
            ),
        ),
        service=ServiceSpec(name="console", serving_cert="console-serving-cert"),
    ),
    Workload(
        namespace="openshift-monitoring",
        name="metrics-server",
        nodes=(WORKER_0,),
        labels={"app.kubernetes.io/name": "metrics-server", "app.kubernetes.io/component": "metrics-server"},
        args=("--secure-port=10250",),
        ports=(
            # The kubelet's port number, but no kubelet. Still Intermediate, although adherence is Strict.
            mtls_port("metrics-server", "openshift-monitoring")(
                number=10250,
                serves="intermediate",
                outcome=Outcome(verdict="fail", status="violation", failing_rules=("tls-version", "tls-cipher-suite")),
                probed=True,
            ),
        ),
        service=ServiceSpec(name="metrics-server", serving_cert="metrics-server-tls"),
    ),
    Workload(
        namespace="openshift-monitoring",
        name="node-exporter",
        kind="DaemonSet",
        nodes=NODES,
        host_network=True,
        labels={"app.kubernetes.io/name": "node-exporter"},
        args=("--secure-listen-address=0.0.0.0:9100", "--upstream=http://127.0.0.1:9101/"),
        ports=(
            # On the network of each node: one owner with three listeners.
            mtls_port("node-exporter", "openshift-monitoring")(number=9100),
        ),
        service=ServiceSpec(
            name="node-exporter", ports=((9100, "https"),), headless=True, serving_cert="node-exporter-tls"
        ),
    ),
)


def _router(router: Router, node: str) -> Workload:
    """An IngressController's router on the network of a node."""
    controller = "ingresscontroller.operator.openshift.io/{}-ingresscontroller".format
    return Workload(
        namespace="openshift-ingress",
        name=f"router-{router.name}",
        nodes=(node,),
        host_network=True,
        labels={controller("deployment"): router.name, controller("owning"): router.name},
        ports=(
            # Redirects to https.
            Port(number=router.http, name="http", serves="plaintext", outcome=PLAINTEXT),
            # All names under the router's domain that have no certificate of their own.
            Port(number=router.https, serves=router.serves, certificate=router.certificate),
            # The router's statistics, TLS and plaintext on one port: follows the API server's profile.
            Port(
                number=router.stats,
                name="metrics",
                serves="modern-mtls-requested",
                certificate=service_certificate(f"router-internal-{router.name}", "openshift-ingress"),
                plaintext_too=True,
            ),
        ),
        service=ServiceSpec(
            name=f"router-internal-{router.name}",
            ports=((80, "http"), (443, "https"), (1936, "metrics")),
            serving_cert=f"router-metrics-certs-{router.name}",
        ),
    )


_GATEWAYS = (
    Workload(
        namespace="openshift-ingress",
        name="shop-openshift-default",
        nodes=(WORKER_1,),
        labels={"gateway.networking.k8s.io/gateway-name": "shop", "gateway.istio.io/managed": "openshift.io-gateway"},
        ports=(
            # The Gateway's HTTPS listener: governed by the APIServer object, never by an IngressController.
            Port(
                number=GATEWAY_PORT,
                serves="modern",
                certificate=CertificateSpec(signer="shop", names=(f"shop.{GATEWAY}",), days=(-30, 60)),
            ),
        ),
    ),
)

_LAYERED = (
    Workload(
        namespace="openshift-operators",
        name="backup-operator-controller-manager",
        nodes=(WORKER_0,),
        labels={"control-plane": "backup-operator"},
        installed_by="backup-operator.v1.4.2",
        ports=(
            # Its certificate expired yesterday: the API server refuses the objects that it should admit.
            Port(
                number=9443,
                name="webhook",
                serves="modern",
                certificate=CertificateSpec(
                    signer="olm",
                    names=(
                        "backup-operator-webhook.openshift-operators.svc",
                        "backup-operator-webhook.openshift-operators.svc.cluster.local",
                    ),
                    days=(-731, -1),
                ),
                outcome=Outcome(verdict="fail", status="violation", failing_rules=("cert-expired",)),
            ),
            # A layered product that deviates without a justification, with CBC suites.
            Port(
                number=8443,
                name="metrics",
                serves="cbc",
                certificate=service_certificate("backup-operator-webhook", "openshift-operators"),
                outcome=Outcome(verdict="fail", status="violation", failing_rules=("tls-version", "tls-cipher-suite")),
            ),
        ),
        service=ServiceSpec(name="backup-operator-webhook", ports=((443, "webhook"), (8443, "metrics"))),
    ),
)

_READINESS = ("tls-version", "tls-cipher-suite")

_USERS = (
    Workload(
        namespace="shop",
        name="web",
        nodes=(WORKER_0,),
        labels={"app": "web"},
        ports=(
            # A user's workload at Intermediate: no object binds it, and it is not ready for Modern.
            Port(
                number=8443,
                serves="intermediate",
                certificate=service_certificate("web", "shop"),
                outcome=Outcome(verdict="fail", status="readiness", failing_rules=_READINESS),
            ),
            # Metrics in plaintext; no object requires TLS.
            Port(number=9402, name="metrics", serves="plaintext", outcome=PLAINTEXT),
            # Declared, but the port is closed.
            Port(
                number=9444,
                name="debug",
                outcome=Outcome(verdict="not_applicable", reach=Reach.CLOSED, status="unreachable"),
            ),
        ),
        service=ServiceSpec(
            name="web", ports=((443, "https"), (9402, "metrics"), (9444, "debug")), serving_cert="web-tls"
        ),
    ),
    Workload(
        namespace="shop",
        name="checkout",
        nodes=(WORKER_0, WORKER_1, WORKER_0),
        labels={"app": "checkout"},
        ports=(
            # Three replicas behind a passthrough Route; one still accepts TLS 1.0.
            Port(
                number=8443,
                serves="modern",
                last_serves="tls10",
                certificate=CertificateSpec(
                    signer="shop", names=(f"checkout.{APPS}", "checkout.shop.svc"), days=(-30, 60)
                ),
                last_outcome=Outcome(verdict="fail", status="readiness", failing_rules=_READINESS),
            ),
        ),
        service=ServiceSpec(name="checkout"),
    ),
    Workload(
        namespace="shop",
        name="catalog",
        nodes=(WORKER_1,),
        labels={"app": "catalog"},
        ports=(
            # Its ServiceMonitor says https, but it answers in plaintext.
            Port(
                number=8443,
                name="metrics",
                serves="plaintext",
                outcome=Outcome(verdict="fail", reach=Reach.PLAINTEXT, status="not-tls", failing_rules=("tls-reach",)),
            ),
        ),
        service=ServiceSpec(name="catalog", ports=((8443, "metrics"),)),
    ),
    Workload(
        namespace="mainframe",
        name="bridge",
        nodes=(WORKER_1,),
        labels={"app": "bridge"},
        ports=(
            # Behind an edge Route: TLS ends at the router, as its termination says.
            Port(number=8081, name="http", serves="plaintext", outcome=PLAINTEXT),
        ),
        service=ServiceSpec(name="bridge", ports=((8081, "http"),)),
    ),
)

WORKLOADS = (
    *_CONTROL_PLANE,
    *_SERVICES,
    *(_router(router, node) for router, node in zip(ROUTERS, (WORKER_0, WORKER_1), strict=True)),
    *_GATEWAYS,
    *_LAYERED,
    *_USERS,
)
