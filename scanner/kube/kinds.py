"""The kinds of cluster objects that adhere reads, with the reasons. It requests no other kind.

Versions are not here: the cluster's own discovery lists the ones that it serves. A stage names its kinds in ``reads``;
``scan`` reads their union, and ``adhere rbac`` writes the ClusterRole that allows exactly that.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct


class Kind(Struct, frozen=True, kw_only=True):
    """One kind of object, identified without its version."""

    group: str
    """API group; empty for the core group."""
    plural: str
    """The resource's name in paths and RBAC rules: ``pods``."""
    name: str
    """``Pod``."""
    namespaced: bool = True
    named: tuple[tuple[str, str], ...] = ()
    """(namespace, name) of the only objects to read, each by ``get``; empty: all objects of the kind."""
    opt_in: str | None = None
    """Permission (``adhere rbac --with``) without which this kind is not requested."""

    @property
    def resource(self) -> str:
        """``routes.route.openshift.io``, as in ``oc get``; ``pods`` for the core group."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


_NETWORKING = "networking.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"
_AUTHORIZATION = "rbac.authorization.k8s.io"
_CONFIG = "config.openshift.io"
_OPERATOR = "operator.openshift.io"
_MACHINE_CONFIG = "machineconfiguration.openshift.io"
_HYPERSHIFT = "hypershift.openshift.io"
_GATEWAY = "gateway.networking.k8s.io"
_GATEWAY_X = "gateway.networking.x-k8s.io"
_CONTOUR = "projectcontour.io"
_MONITORING = "monitoring.coreos.com"
_CERT_MANAGER = "cert-manager.io"


def _kind(group: str, plural: str, name: str, *, namespaced: bool = True, opt_in: str | None = None) -> Kind:
    return Kind(group=group, plural=plural, name=name, namespaced=namespaced, opt_in=opt_in)


def _bundles(namespace: str, *names: str) -> Iterable[tuple[str, str]]:
    """ConfigMaps with CAs that identify certificates of ``profiles/pki``. Without permission to read Secrets, only
    these ConfigMaps show some of the signers."""
    return ((namespace, name) for name in names)


# --- Kubernetes ------------------------------------------------------------------------------------------------------

POD = _kind("", "pods", "Pod")
SERVICE = _kind("", "services", "Service")
NODE = _kind("", "nodes", "Node", namespaced=False)
NAMESPACE = _kind("", "namespaces", "Namespace", namespaced=False)
SECRET = _kind("", "secrets", "Secret", opt_in="secrets")
CONFIG_MAP = Kind(
    group="",
    plural="configmaps",
    name="ConfigMap",
    named=(
        ("kube-system", "cluster-config-v1"),  # install-config: fips, networks
        ("kube-system", "kubeadm-config"),  # kubeadm's networks and extra arguments
        ("kube-system", "kubelet-config"),  # kubeadm's configuration of all kubelets
        ("kube-system", "extension-apiserver-authentication"),  # CAs of the API server's client certificates
        ("kube-system", "kube-root-ca.crt"),
        ("kube-public", "microshift-version"),
        ("projectcontour", "contour"),  # Contour's configuration file
        ("openshift-config-managed", "default-ingress-cert"),
        ("openshift-config-managed", "kubelet-serving-ca"),
        ("openshift-config-managed", "kube-apiserver-server-ca"),
        ("openshift-service-ca", "signing-cabundle"),
        ("openshift-config", "openshift-service-ca.crt"),
        ("kube-public", "cluster-info"),  # kubeadm's CA, in a kubeconfig
        *_bundles("kube-system", "root-ca"),
        *_bundles("openshift-config", "admin-kubeconfig-client-ca", "initial-kube-apiserver-server-ca"),
        *_bundles("openshift-config", "etcd-ca-bundle", "etcd-serving-ca", "etcd-metric-serving-ca"),
        *_bundles("openshift-config-managed", "kube-apiserver-client-ca", "kube-apiserver-aggregator-client-ca"),
        *_bundles("openshift-config-managed", "csr-controller-ca"),
        *_bundles("openshift-kube-apiserver-operator", "localhost-serving-ca", "service-network-serving-ca"),
        *_bundles("openshift-kube-apiserver-operator", "loadbalancer-serving-ca", "localhost-recovery-serving-ca"),
        *_bundles("openshift-kube-apiserver-operator", "kube-apiserver-to-kubelet-client-ca", "node-system-admin-ca"),
        *_bundles("openshift-kube-apiserver-operator", "kube-control-plane-signer-ca"),
        *_bundles("openshift-kube-apiserver-operator", "kubelet-bootstrap-kubeconfig-signer-ca"),
        *_bundles("openshift-kube-controller-manager-operator", "csr-signer-ca", "csr-controller-ca"),
        *_bundles("openshift-kube-controller-manager-operator", "csr-controller-signer-ca"),
        *_bundles("openshift-etcd", "etcd-ca-bundle", "etcd-metrics-ca-bundle", "etcd-all-bundles"),
        *_bundles("openshift-machine-config-operator", "machine-config-server-ca"),
        *_bundles("openshift-ovn-kubernetes", "ovn-ca", "signer-ca"),
        *_bundles("openshift-network-node-identity", "network-node-identity-ca"),
    ),
)
OF_OPENSHIFT: tuple[tuple[str, str], ...] = tuple(
    (namespace, name)
    for namespace, name in CONFIG_MAP.named
    if namespace.startswith("openshift-") or name in ("cluster-config-v1", "root-ca", "microshift-version")
)
"""The ConfigMaps among them that OpenShift, its installer and MicroShift create."""
ENDPOINT_SLICE = _kind("discovery.k8s.io", "endpointslices", "EndpointSlice")
INGRESS = _kind(_NETWORKING, "ingresses", "Ingress")
INGRESS_CLASS = _kind(_NETWORKING, "ingressclasses", "IngressClass", namespaced=False, opt_in="lint")
NETWORK_POLICY = _kind(_NETWORKING, "networkpolicies", "NetworkPolicy")
VALIDATING_WEBHOOK = _kind(
    _ADMISSION, "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", namespaced=False
)
MUTATING_WEBHOOK = _kind(_ADMISSION, "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", namespaced=False)
VALIDATING_ADMISSION_POLICY = _kind(
    _ADMISSION, "validatingadmissionpolicies", "ValidatingAdmissionPolicy", namespaced=False
)
VALIDATING_ADMISSION_POLICY_BINDING = _kind(
    _ADMISSION, "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", namespaced=False
)
CUSTOM_RESOURCE_DEFINITION = _kind(
    "apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
API_SERVICE = _kind("apiregistration.k8s.io", "apiservices", "APIService", namespaced=False)
CERTIFICATE_SIGNING_REQUEST = _kind(
    "certificates.k8s.io", "certificatesigningrequests", "CertificateSigningRequest", namespaced=False
)


# For lint: may a router read a Secret?
ROLE = _kind(_AUTHORIZATION, "roles", "Role", opt_in="lint")
ROLE_BINDING = _kind(_AUTHORIZATION, "rolebindings", "RoleBinding", opt_in="lint")
CLUSTER_ROLE = _kind(_AUTHORIZATION, "clusterroles", "ClusterRole", namespaced=False, opt_in="lint")
CLUSTER_ROLE_BINDING = _kind(
    _AUTHORIZATION, "clusterrolebindings", "ClusterRoleBinding", namespaced=False, opt_in="lint"
)


# For lint: manifests contain workloads. In a cluster, adhere reads the pods.
DEPLOYMENT = _kind("apps", "deployments", "Deployment", opt_in="lint")
STATEFUL_SET = _kind("apps", "statefulsets", "StatefulSet", opt_in="lint")
DAEMON_SET = _kind("apps", "daemonsets", "DaemonSet", opt_in="lint")

# --- OpenShift -------------------------------------------------------------------------------------------------------


API_SERVER = _kind(_CONFIG, "apiservers", "APIServer", namespaced=False)
CLUSTER_VERSION = _kind(_CONFIG, "clusterversions", "ClusterVersion", namespaced=False)
CLUSTER_OPERATOR = _kind(_CONFIG, "clusteroperators", "ClusterOperator", namespaced=False)
FEATURE_GATE = _kind(_CONFIG, "featuregates", "FeatureGate", namespaced=False)
INFRASTRUCTURE = _kind(_CONFIG, "infrastructures", "Infrastructure", namespaced=False)
NETWORK = _kind(_CONFIG, "networks", "Network", namespaced=False)
INGRESS_CONFIG = _kind(_CONFIG, "ingresses", "Ingress", namespaced=False)
PKI = _kind(_CONFIG, "pkis", "PKI", namespaced=False)
PKI_CERTIFICATE_DEFINITION = _kind(_CONFIG, "pkicertificatedefinitions", "PKICertificateDefinition")
OAUTH = _kind(_CONFIG, "oauths", "OAuth", namespaced=False, opt_in="lint")
CONSOLE = _kind(_OPERATOR, "consoles", "Console", namespaced=False, opt_in="lint")
INGRESS_CONTROLLER = _kind(_OPERATOR, "ingresscontrollers", "IngressController")
ROUTE = _kind("route.openshift.io", "routes", "Route")


# Configurations of operators: the settings of the APIServer object that each has observed, for ``adhere doctor``, and
# the revision of each node.
KUBE_API_SERVER_OPERATOR = _kind(_OPERATOR, "kubeapiservers", "KubeAPIServer", namespaced=False)
KUBE_CONTROLLER_MANAGER_OPERATOR = _kind(_OPERATOR, "kubecontrollermanagers", "KubeControllerManager", namespaced=False)
KUBE_SCHEDULER_OPERATOR = _kind(_OPERATOR, "kubeschedulers", "KubeScheduler", namespaced=False)
ETCD_OPERATOR = _kind(_OPERATOR, "etcds", "Etcd", namespaced=False)
OPENSHIFT_API_SERVER_OPERATOR = _kind(_OPERATOR, "openshiftapiservers", "OpenShiftAPIServer", namespaced=False)
OPENSHIFT_CONTROLLER_MANAGER_OPERATOR = _kind(
    _OPERATOR, "openshiftcontrollermanagers", "OpenShiftControllerManager", namespaced=False
)
AUTHENTICATION_OPERATOR = _kind(_OPERATOR, "authentications", "Authentication", namespaced=False)
IMAGE_REGISTRY_OPERATOR = _kind("imageregistry.operator.openshift.io", "configs", "Config", namespaced=False)

STATIC_POD_OPERATORS: tuple[Kind, ...] = (
    KUBE_API_SERVER_OPERATOR,
    KUBE_CONTROLLER_MANAGER_OPERATOR,
    KUBE_SCHEDULER_OPERATOR,
    ETCD_OPERATOR,
)
"""Operator kinds that a scan reads."""
OPERATORS: tuple[Kind, ...] = (
    OPENSHIFT_API_SERVER_OPERATOR,
    OPENSHIFT_CONTROLLER_MANAGER_OPERATOR,
    AUTHENTICATION_OPERATOR,
    IMAGE_REGISTRY_OPERATOR,
)
"""Operator kinds that only ``adhere doctor`` reads: ``adhere rbac --with doctor``."""

KUBELET_CONFIG = _kind(_MACHINE_CONFIG, "kubeletconfigs", "KubeletConfig", namespaced=False)
MACHINE_CONFIG_POOL = _kind(_MACHINE_CONFIG, "machineconfigpools", "MachineConfigPool", namespaced=False)
CLUSTER_SERVICE_VERSION = _kind("operators.coreos.com", "clusterserviceversions", "ClusterServiceVersion")
HOSTED_CLUSTER = _kind(_HYPERSHIFT, "hostedclusters", "HostedCluster")
HOSTED_CONTROL_PLANE = _kind(_HYPERSHIFT, "hostedcontrolplanes", "HostedControlPlane")
NODE_POOL = _kind(_HYPERSHIFT, "nodepools", "NodePool")

# --- Gateways, proxies, monitoring -----------------------------------------------------------------------------------

GATEWAY = _kind(_GATEWAY, "gateways", "Gateway")
GATEWAY_CLASS = _kind(_GATEWAY, "gatewayclasses", "GatewayClass", namespaced=False)
LISTENER_SET = _kind(_GATEWAY, "listenersets", "ListenerSet")
X_LISTENER_SET = _kind(_GATEWAY_X, "xlistenersets", "XListenerSet")
HTTP_ROUTE = _kind(_GATEWAY, "httproutes", "HTTPRoute")
GRPC_ROUTE = _kind(_GATEWAY, "grpcroutes", "GRPCRoute")
TCP_ROUTE = _kind(_GATEWAY, "tcproutes", "TCPRoute", opt_in="lint")
UDP_ROUTE = _kind(_GATEWAY, "udproutes", "UDPRoute", opt_in="lint")
REFERENCE_GRANT = _kind(_GATEWAY, "referencegrants", "ReferenceGrant")
TLS_ROUTE = _kind(_GATEWAY, "tlsroutes", "TLSRoute")
BACKEND_TLS_POLICY = _kind(_GATEWAY, "backendtlspolicies", "BackendTLSPolicy")
X_BACKEND = _kind(_GATEWAY_X, "xbackends", "XBackend", opt_in="lint")
ENVOY_PROXY = _kind("gateway.envoyproxy.io", "envoyproxies", "EnvoyProxy", opt_in="lint")
HTTP_PROXY = _kind(_CONTOUR, "httpproxies", "HTTPProxy")
TLS_CERTIFICATE_DELEGATION = _kind(_CONTOUR, "tlscertificatedelegations", "TLSCertificateDelegation")
HEPTIO_DELEGATION = _kind("contour.heptio.com", "tlscertificatedelegations", "TLSCertificateDelegation")
VMWARE_DELEGATION = _kind("contour.vmware.com", "tlscertificatedelegations", "TLSCertificateDelegation", opt_in="lint")
INGRESS_ROUTE = _kind("contour.heptio.com", "ingressroutes", "IngressRoute", opt_in="lint")
CONTOUR_CONFIGURATION = _kind(_CONTOUR, "contourconfigurations", "ContourConfiguration")
CONTOUR_DEPLOYMENT = _kind(_CONTOUR, "contourdeployments", "ContourDeployment", opt_in="lint")
EXTENSION_SERVICE = _kind(_CONTOUR, "extensionservices", "ExtensionService", opt_in="lint")
SERVICE_MONITOR = _kind(_MONITORING, "servicemonitors", "ServiceMonitor")
POD_MONITOR = _kind(_MONITORING, "podmonitors", "PodMonitor")
PROBE = _kind(_MONITORING, "probes", "Probe")
SCRAPE_CONFIG = _kind(_MONITORING, "scrapeconfigs", "ScrapeConfig", opt_in="lint")
CERTIFICATE = _kind(_CERT_MANAGER, "certificates", "Certificate")
ISSUER = _kind(_CERT_MANAGER, "issuers", "Issuer", opt_in="lint")
CLUSTER_ISSUER = _kind(_CERT_MANAGER, "clusterissuers", "ClusterIssuer", namespaced=False, opt_in="lint")


def _all() -> tuple[Kind, ...]:
    return tuple(value for value in globals().values() if isinstance(value, Kind))


KINDS: tuple[Kind, ...] = _all()
"""Every kind above, in this order."""
LINTED: tuple[Kind, ...] = tuple(kind for kind in KINDS if kind.opt_in == "lint")
"""Kinds that only lint reads: ``adhere rbac --with lint``."""
WATCHED: tuple[Kind, ...] = (API_SERVER, PKI, INGRESS_CONTROLLER, KUBELET_CONFIG, GATEWAY, ROUTE)
"""Kinds whose changes ``adhere serve`` watches: ``adhere rbac --with serve``. Secrets are watched with ``--secrets``
only."""

# --- No API lists these; a saved snapshot can hold them beside the API's objects -------------------------------------

INSTALL_CONFIG = _kind("", "", "InstallConfig", namespaced=False)
"""The file that openshift-install reads; it has no kind of its own."""
MICROSHIFT_CONFIG = _kind("microshift", "config", "MicroShiftConfig", namespaced=False)
"""The content of ``/etc/microshift/config.yaml`` below ``kind: MicroShiftConfig``; ``microshift show-config`` prints
it."""

KUBELET_CONFIGZ = _kind("kubelet", "configz", "KubeletConfigz", namespaced=False, opt_in="configz")
"""The answer of ``/api/v1/nodes/NODE/proxy/configz``, ``{"kubeletconfig": {...}}``, with the node's name as
``metadata.name``."""

ACCESS_REVIEW = _kind(
    "authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview", namespaced=False, opt_in="sar"
)
"""A question to the API server, with its answer."""

NODE_SOCKETS = _kind("", "listening sockets", "ListeningSockets", namespaced=False)
"""No objects of the API: the sockets that adhere node reads on a node, for what it could not read there."""

LOCAL_KINDS: tuple[Kind, ...] = (MICROSHIFT_CONFIG, KUBELET_CONFIGZ, ACCESS_REVIEW)

# --- Written by --publish; no scan reads them ------------------------------------------------------------------------

OPEN_REPORTS = (
    _kind("openreports.io", "reports", "Report"),
    _kind("openreports.io", "clusterreports", "ClusterReport", namespaced=False),
)
POLICY_REPORTS = (
    _kind("wgpolicyk8s.io", "policyreports", "PolicyReport"),
    _kind("wgpolicyk8s.io", "clusterpolicyreports", "ClusterPolicyReport", namespaced=False),
)
