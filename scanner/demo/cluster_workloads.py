"""The workloads of the demo's cluster: OpenShift 4.22, one control plane node and two workers, and its users.

Where ports come from arguments and not from containerPorts, it is as the operators' manifests have it. The APIServer
object says Modern and StrictAllComponents, so the platform must serve TLS 1.3 only; for users' workloads that is no
requirement.
"""

from __future__ import annotations

from functools import partial

from scanner.demo.addresses import APPS, BASE_DOMAIN, GATEWAY, GATEWAY_PORT, MASTER, NODES, WORKER_0, WORKER_1
from scanner.demo.certificates import Paper
from scanner.demo.frontends import ROUTERS, Router
from scanner.demo.workloads import IN_CLEAR, NOT_ASKED, Front, Outcome, Port, Workload, asking_port, service_paper
from scanner.model.observation import Reach

_LISTENS = "--listen=0.0.0.0:{}".format

API_SERVER_PAPER = Paper(
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

_NODE_PAPER = Paper(signer="etcd", names=("localhost", "{node}", "{address}"), days=(-200, 895))
_ETCD = partial(
    Port,
    serves="modern-demands",
    paper=_NODE_PAPER,
    outcome=Outcome(reach=Reach.CLIENT_CERTIFICATE_REQUIRED),
    listed=False,
)


CONTROL_PLANE = (
    Workload(
        namespace="openshift-kube-apiserver",
        name="kube-apiserver",
        kind="StaticPod",
        nodes=(MASTER,),
        host_network=True,
        labels={"apiserver": "true", "app": "openshift-kube-apiserver"},
        args=("--permit-address-sharing", "--openshift-config=/etc/kubernetes/static-pod-resources/config.yaml"),
        ports=(
            Port(number=6443, story="The API server that this scan read; it follows the profile that it stores."),
            Port(
                number=17697,
                name="check-endpoints",
                story="The API server's connectivity checks.",
                serves="modern-asks",
                paper=API_SERVER_PAPER,
            ),
            Port(
                number=6080,
                name="readyz",
                story="Readiness in plaintext, as designed.",
                serves="plaintext",
                outcome=NOT_ASKED,
            ),
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
            _ETCD(number=2379, name="etcd", story="etcd: all visible before it asks who we are.", listed=True),
            _ETCD(number=2380, name="etcd-peer", story="etcd's peers, each with a certificate.", listed=True),
            _ETCD(number=9978, story="etcd's own metrics, for certificates of its clients only."),
            _ETCD(number=9979, name="etcd-metrics", story="etcd's metrics proxy.", listed=True),
            Port(
                number=9980,
                story="etcd's readiness endpoint, without authentication.",
                serves="modern",
                paper=_NODE_PAPER,
                listed=False,
                probed=True,
            ),
        ),
        front=Front(name="etcd", ports=((2379, "etcd"), (9979, "etcd-metrics"))),
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
            asking_port("kube-controller-manager", "openshift-kube-controller-manager")(
                number=10257, story="The controller manager, stricter than Kubernetes makes it.", probed=True
            ),
            asking_port("kube-controller-manager", "openshift-kube-controller-manager")(
                number=10357,
                name="policy",
                story="Listens on loopback only: --via port-forward reaches it.",
                outcome=Outcome(left_out=True),
                loopback=True,
            ),
        ),
        front=Front(name="kube-controller-manager", serving_cert="serving-cert"),
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
            asking_port("scheduler", "openshift-kube-scheduler")(number=10259, story="The scheduler.", probed=True),
        ),
        front=Front(name="scheduler", serving_cert="serving-cert"),
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
            Port(
                number=22623,
                story="Hands new nodes their configuration.",
                serves="modern",
                paper=Paper(
                    signer="machine-config",
                    names=(f"api-int.{BASE_DOMAIN}", "{address}"),
                    subject="system:machine-config-server",
                    days=(-90, 3560),
                ),
            ),
            Port(
                number=22624,
                name="http",
                story="The same in plaintext, for old installers.",
                serves="plaintext",
                outcome=NOT_ASKED,
            ),
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
            asking_port("cluster-version-operator", "openshift-cluster-version")(
                number=9099, name="metrics", story="Must follow the profile only because adherence is Strict, and does."
            ),
        ),
        front=Front(
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
                serves="modern-asks",
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
                story="Behind a re-encrypting Route: its own profile applies, not the router's.",
                serves="modern",
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
                serves="intermediate",
                outcome=Outcome(verdict="fail", status="violation", breaks=("tls-version", "tls-cipher-suite")),
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
            Port(number=router.http, name="http", story="Redirects to https.", serves="plaintext", outcome=IN_CLEAR),
            Port(
                number=router.https,
                story=f"Everything under {router.domain} that does not bring a certificate of its own.",
                serves=router.serves,
                paper=router.paper,
            ),
            Port(
                number=router.stats,
                name="metrics",
                story="The router's statistics, TLS and plaintext on one port: follows the API server's profile.",
                serves="modern-asks",
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
                serves="modern",
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
                serves="modern",
                paper=Paper(
                    signer="olm",
                    names=(
                        "backup-operator-webhook.openshift-operators.svc",
                        "backup-operator-webhook.openshift-operators.svc.cluster.local",
                    ),
                    days=(-731, -1),
                ),
                outcome=Outcome(verdict="fail", status="violation", breaks=("cert-expired",)),
            ),
            Port(
                number=8443,
                name="metrics",
                story="A layered product that deviates without saying why, CBC suites included.",
                serves="stale-cbc",
                paper=service_paper("backup-operator-webhook", "openshift-operators"),
                outcome=Outcome(verdict="fail", status="violation", breaks=("tls-version", "tls-cipher-suite")),
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


_READINESS = ("tls-version", "tls-cipher-suite")

USERS = (
    Workload(
        namespace="shop",
        name="web",
        nodes=(WORKER_0,),
        labels={"app": "web"},
        ports=(
            Port(
                number=8443,
                story="A user's workload at Intermediate: bound by nothing, not ready for Modern.",
                serves="intermediate",
                paper=service_paper("web", "shop"),
                outcome=Outcome(verdict="fail", status="readiness", breaks=_READINESS),
            ),
            Port(
                number=9402,
                name="metrics",
                story="Metrics in plaintext; nothing says that it should be TLS.",
                serves="plaintext",
                outcome=IN_CLEAR,
            ),
            Port(
                number=9444,
                name="debug",
                story="Declared, and the port is closed.",
                outcome=Outcome(verdict="not_applicable", reach=Reach.CLOSED, status="unreachable"),
            ),
        ),
        front=Front(
            name="web",
            ports=((443, "https"), (9402, "metrics"), (9444, "debug")),
            serving_cert="web-tls",
        ),
    ),
    Workload(
        namespace="shop",
        name="checkout",
        nodes=(WORKER_0, WORKER_1, WORKER_0),
        labels={"app": "checkout"},
        ports=(
            Port(
                number=8443,
                story="Three replicas behind a passthrough Route, and one of them still accepts TLS 1.0.",
                serves="modern",
                odd_serves="forgotten",
                paper=Paper(signer="shop", names=(f"checkout.{APPS}", "checkout.shop.svc"), days=(-30, 60)),
                odd_outcome=Outcome(verdict="fail", status="readiness", breaks=_READINESS),
            ),
        ),
        front=Front(name="checkout"),
    ),
    Workload(
        namespace="shop",
        name="catalog",
        nodes=(WORKER_1,),
        labels={"app": "catalog"},
        ports=(
            Port(
                number=8443,
                name="metrics",
                story="Its ServiceMonitor says https, and it answers in plaintext.",
                serves="plaintext",
                outcome=Outcome(verdict="fail", reach=Reach.PLAINTEXT, status="not-tls", breaks=("tls-reach",)),
            ),
        ),
        front=Front(name="catalog", ports=((8443, "metrics"),)),
    ),
    Workload(
        namespace="mainframe",
        name="bridge",
        nodes=(WORKER_1,),
        labels={"app": "bridge"},
        ports=(
            Port(
                number=8081,
                name="http",
                story="Behind an edge Route: TLS ends at the router, as its termination says.",
                serves="plaintext",
                outcome=IN_CLEAR,
            ),
        ),
        front=Front(name="bridge", ports=((8081, "http"),)),
    ),
)
