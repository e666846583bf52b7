"""The platform of the demo's cluster: OpenShift 4.22, one control plane node and two workers.

The APIServer object says Modern and StrictAllComponents, so all of this owes TLS 1.3.
"""

from __future__ import annotations

from scanner.demo.control_plane import CONTROL_PLANE
from scanner.demo.frontends import ROUTERS, Router
from scanner.demo.landscape import APPS, GATEWAY, GATEWAY_PORT, MASTER, NODES, WORKER_0, WORKER_1
from scanner.demo.signers import Paper
from scanner.demo.workloads import IN_CLEAR, Front, Port, Told, Workload, asking_port, service_paper

_SERVICES = (
    Workload(
        namespace="openshift-apiserver",
        name="apiserver",
        nodes=(MASTER,),
        labels={"app": "openshift-apiserver-a", "apiserver": "true"},
        ports=(
            asking_port("api", "openshift-apiserver")(
                number=8443, story="Serves routes.route.openshift.io to the API server.", probed=True
            ),
        ),
        front=Front(name="api", serving_cert="serving-cert"),
    ),
    Workload(
        namespace="openshift-authentication",
        name="oauth-openshift",
        nodes=(MASTER,),
        labels={"app": "oauth-openshift"},
        ports=(
            Port(
                number=6443,
                story="The login page: its Route passes TLS through, and there it has the router's certificate.",
                voice="modern-asks",
                paper=service_paper("oauth-openshift", "openshift-authentication"),
                named=((f"oauth-openshift.{APPS}", ROUTERS[0].paper),),
                probed=True,
            ),
        ),
        front=Front(name="oauth-openshift", serving_cert="v4-0-config-system-serving-cert"),
    ),
    Workload(
        namespace="openshift-console",
        name="console",
        nodes=(MASTER,),
        labels={"app": "console", "component": "ui"},
        ports=(
            Port(
                number=8443,
                story="Behind a re-encrypting Route: it owes what it owes, not what the router does.",
                voice="modern",
                paper=service_paper("console", "openshift-console"),
                probed=True,
            ),
        ),
        front=Front(name="console", serving_cert="console-serving-cert"),
    ),
    Workload(
        namespace="openshift-monitoring",
        name="metrics-server",
        nodes=(WORKER_0,),
        labels={"app.kubernetes.io/name": "metrics-server", "app.kubernetes.io/component": "metrics-server"},
        args=("--secure-port=10250",),
        ports=(
            asking_port("metrics-server", "openshift-monitoring")(
                number=10250,
                story="The kubelet's port, and no kubelet: it stayed at Intermediate although adherence is Strict.",
                voice="intermediate",
                told=Told(verdict="fail", status="violation", breaks=("tls-version", "tls-cipher-suite")),
                probed=True,
            ),
        ),
        front=Front(name="metrics-server", serving_cert="metrics-server-tls"),
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
            asking_port("node-exporter", "openshift-monitoring")(
                number=9100, story="On the network of each node: one owner, three listeners."
            ),
        ),
        front=Front(name="node-exporter", ports=((9100, "https"),), headless=True, serving_cert="node-exporter-tls"),
    ),
)


def _router(router: Router, node: str) -> Workload:
    """An IngressController's router on the network of a node; ``frontends`` has what it publishes."""
    controller = "ingresscontroller.operator.openshift.io/{}-ingresscontroller".format
    return Workload(
        namespace="openshift-ingress",
        name=f"router-{router.name}",
        nodes=(node,),
        host_network=True,
        labels={controller("deployment"): router.name, controller("owning"): router.name},
        ports=(
            Port(number=router.http, name="http", story="Redirects to https.", voice="plaintext", told=IN_CLEAR),
            Port(
                number=router.https,
                story=f"Everything under {router.domain} that does not bring a certificate of its own.",
                voice=router.voice,
                paper=router.paper,
            ),
            Port(
                number=router.stats,
                name="metrics",
                story="The router's statistics, TLS and plaintext on one port: follows the API server's profile.",
                voice="modern-asks",
                paper=service_paper(f"router-internal-{router.name}", "openshift-ingress"),
                plaintext_too=True,
            ),
        ),
        front=Front(
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
            Port(
                number=GATEWAY_PORT,
                story="The Gateway's HTTPS listener: governed by the APIServer object, never by an IngressController.",
                voice="modern",
                paper=Paper(signer="shop", names=(f"shop.{GATEWAY}",), days=(-30, 60)),
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
            Port(
                number=9443,
                name="webhook",
                story="Its certificate ended yesterday: whatever it should admit is refused since.",
                voice="modern",
                paper=Paper(
                    signer="olm",
                    names=(
                        "backup-operator-webhook.openshift-operators.svc",
                        "backup-operator-webhook.openshift-operators.svc.cluster.local",
                    ),
                    days=(-731, -1),
                ),
                told=Told(verdict="fail", status="violation", breaks=("cert-expired",)),
            ),
            Port(
                number=8443,
                name="metrics",
                story="A layered product that deviates without saying why, CBC suites included.",
                voice="stale-cbc",
                paper=service_paper("backup-operator-webhook", "openshift-operators"),
                told=Told(verdict="fail", status="violation", breaks=("tls-version", "tls-cipher-suite")),
            ),
        ),
        front=Front(name="backup-operator-webhook", ports=((443, "webhook"), (8443, "metrics"))),
    ),
)

PLATFORM = (
    *CONTROL_PLANE,
    *_SERVICES,
    *(_router(router, node) for router, node in zip(ROUTERS, (WORKER_0, WORKER_1), strict=True)),
    *_GATEWAYS,
    *_LAYERED,
)
"""In the order in which the demo tells them."""
