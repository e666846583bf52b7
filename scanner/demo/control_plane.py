"""The control plane of the demo's cluster: static pods on one node, and what else listens on its network.

Where ports come from arguments and not from containerPorts, it is as the operators' manifests have it.
"""

from __future__ import annotations

from functools import partial

from scanner.demo.landscape import BASE_DOMAIN, MASTER
from scanner.demo.signers import Paper
from scanner.demo.workloads import NOT_ASKED, Front, Port, Told, Workload, asking_port
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
    voice="modern-demands",
    paper=_NODE_PAPER,
    told=Told(reach=Reach.CLIENT_CERTIFICATE_REQUIRED),
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
                voice="modern-asks",
                paper=API_SERVER_PAPER,
            ),
            Port(
                number=6080,
                name="readyz",
                story="Readiness in plaintext, as designed.",
                voice="plaintext",
                told=NOT_ASKED,
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
                story="etcd's readiness, for anybody.",
                voice="modern",
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
                told=Told(left_out=True),
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
                voice="modern",
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
                voice="plaintext",
                told=NOT_ASKED,
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
                number=9099, name="metrics", story="Owes the profile only since adherence is Strict, and honours it."
            ),
        ),
        front=Front(
            name="cluster-version-operator",
            ports=((9099, "metrics"),),
            serving_cert="cluster-version-operator-serving-cert",
        ),
    ),
)
