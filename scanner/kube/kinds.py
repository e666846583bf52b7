"""The kinds of cluster objects that adhere reads, with the reasons. It requests no other kind.

Versions are not here: the cluster's own discovery lists the ones that it serves. A stage names its kinds in ``reads``;
``scan`` reads their union, and ``adhere rbac`` writes the ClusterRole that allows exactly that.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
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


def _core(plural: str, name: str, *, namespaced: bool = True, opt_in: str | None = None) -> Kind:
    return Kind(group="", plural=plural, name=name, namespaced=namespaced, opt_in=opt_in)


def _bundles(namespace: str, *names: str) -> Iterable[tuple[str, str]]:
    """ConfigMaps with CAs that identify certificates of ``profiles/pki``. Without permission to read Secrets, only
    these ConfigMaps show some of the signers."""
    return ((namespace, name) for name in names)


# --- Kubernetes ------------------------------------------------------------------------------------------------------

POD = _core("pods", "Pod")
SERVICE = _core("services", "Service")
NODE = _core("nodes", "Node", namespaced=False)
NAMESPACE = _core("namespaces", "Namespace", namespaced=False)
SECRET = _core("secrets", "Secret", opt_in="secrets")
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
ENDPOINT_SLICE = Kind(group="discovery.k8s.io", plural="endpointslices", name="EndpointSlice")
INGRESS = Kind(group="networking.k8s.io", plural="ingresses", name="Ingress")
INGRESS_CLASS = Kind(
    group="networking.k8s.io", plural="ingressclasses", name="IngressClass", namespaced=False, opt_in="lint"
)
NETWORK_POLICY = Kind(group="networking.k8s.io", plural="networkpolicies", name="NetworkPolicy")
VALIDATING_WEBHOOK = Kind(
    group="admissionregistration.k8s.io",
    plural="validatingwebhookconfigurations",
    name="ValidatingWebhookConfiguration",
    namespaced=False,
)
MUTATING_WEBHOOK = Kind(
    group="admissionregistration.k8s.io",
    plural="mutatingwebhookconfigurations",
    name="MutatingWebhookConfiguration",
    namespaced=False,
)
VALIDATING_ADMISSION_POLICY = Kind(
    group="admissionregistration.k8s.io",
    plural="validatingadmissionpolicies",
    name="ValidatingAdmissionPolicy",
    namespaced=False,
)
VALIDATING_ADMISSION_POLICY_BINDING = Kind(
    group="admissionregistration.k8s.io",
    plural="validatingadmissionpolicybindings",
    name="ValidatingAdmissionPolicyBinding",
    namespaced=False,
)
CUSTOM_RESOURCE_DEFINITION = Kind(
    group="apiextensions.k8s.io", plural="customresourcedefinitions", name="CustomResourceDefinition", namespaced=False
)
API_SERVICE = Kind(group="apiregistration.k8s.io", plural="apiservices", name="APIService", namespaced=False)
CERTIFICATE_SIGNING_REQUEST = Kind(
    group="certificates.k8s.io",
    plural="certificatesigningrequests",
    name="CertificateSigningRequest",
    namespaced=False,
)


def _authorization(plural: str, name: str, *, namespaced: bool) -> Kind:
    """A kind of RBAC, for lint: may a router read a Secret?"""
    return Kind(group="rbac.authorization.k8s.io", plural=plural, name=name, namespaced=namespaced, opt_in="lint")


ROLE = _authorization("roles", "Role", namespaced=True)
ROLE_BINDING = _authorization("rolebindings", "RoleBinding", namespaced=True)
CLUSTER_ROLE = _authorization("clusterroles", "ClusterRole", namespaced=False)
CLUSTER_ROLE_BINDING = _authorization("clusterrolebindings", "ClusterRoleBinding", namespaced=False)


def _workload(plural: str, name: str) -> Kind:
    """A kind that creates pods: manifests contain these, a cluster also has the pods."""
    return Kind(group="apps", plural=plural, name=name, opt_in="lint")


DEPLOYMENT = _workload("deployments", "Deployment")
STATEFUL_SET = _workload("statefulsets", "StatefulSet")
DAEMON_SET = _workload("daemonsets", "DaemonSet")

# --- OpenShift -------------------------------------------------------------------------------------------------------


def _config(plural: str, name: str) -> Kind:
    return Kind(group="config.openshift.io", plural=plural, name=name, namespaced=False)


API_SERVER = _config("apiservers", "APIServer")
CLUSTER_VERSION = _config("clusterversions", "ClusterVersion")
CLUSTER_OPERATOR = _config("clusteroperators", "ClusterOperator")
FEATURE_GATE = _config("featuregates", "FeatureGate")
INFRASTRUCTURE = _config("infrastructures", "Infrastructure")
NETWORK = _config("networks", "Network")
INGRESS_CONFIG = _config("ingresses", "Ingress")
PKI = _config("pkis", "PKI")
PKI_CERTIFICATE_DEFINITION = Kind(
    group="config.openshift.io", plural="pkicertificatedefinitions", name="PKICertificateDefinition"
)
OAUTH = Kind(group="config.openshift.io", plural="oauths", name="OAuth", namespaced=False, opt_in="lint")
CONSOLE = Kind(group="operator.openshift.io", plural="consoles", name="Console", namespaced=False, opt_in="lint")
INGRESS_CONTROLLER = Kind(group="operator.openshift.io", plural="ingresscontrollers", name="IngressController")
ROUTE = Kind(group="route.openshift.io", plural="routes", name="Route")


def _operator(plural: str, name: str) -> Kind:
    return Kind(group="operator.openshift.io", plural=plural, name=name, namespaced=False)


# Configurations of operators: the settings of the APIServer object that each has observed, for ``adhere doctor``, and
# the revision of each node.
KUBE_API_SERVER_OPERATOR = _operator("kubeapiservers", "KubeAPIServer")
KUBE_CONTROLLER_MANAGER_OPERATOR = _operator("kubecontrollermanagers", "KubeControllerManager")
KUBE_SCHEDULER_OPERATOR = _operator("kubeschedulers", "KubeScheduler")
ETCD_OPERATOR = _operator("etcds", "Etcd")
OPENSHIFT_API_SERVER_OPERATOR = _operator("openshiftapiservers", "OpenShiftAPIServer")
OPENSHIFT_CONTROLLER_MANAGER_OPERATOR = _operator("openshiftcontrollermanagers", "OpenShiftControllerManager")
AUTHENTICATION_OPERATOR = _operator("authentications", "Authentication")
IMAGE_REGISTRY_OPERATOR = Kind(
    group="imageregistry.operator.openshift.io", plural="configs", name="Config", namespaced=False
)

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

KUBELET_CONFIG = Kind(
    group="machineconfiguration.openshift.io", plural="kubeletconfigs", name="KubeletConfig", namespaced=False
)
MACHINE_CONFIG_POOL = Kind(
    group="machineconfiguration.openshift.io", plural="machineconfigpools", name="MachineConfigPool", namespaced=False
)
CLUSTER_SERVICE_VERSION = Kind(
    group="operators.coreos.com", plural="clusterserviceversions", name="ClusterServiceVersion"
)
HOSTED_CLUSTER = Kind(group="hypershift.openshift.io", plural="hostedclusters", name="HostedCluster")
HOSTED_CONTROL_PLANE = Kind(group="hypershift.openshift.io", plural="hostedcontrolplanes", name="HostedControlPlane")
NODE_POOL = Kind(group="hypershift.openshift.io", plural="nodepools", name="NodePool")

# --- Gateways, proxies, monitoring -----------------------------------------------------------------------------------

_GATEWAY = "gateway.networking.k8s.io"
GATEWAY = Kind(group=_GATEWAY, plural="gateways", name="Gateway")
GATEWAY_CLASS = Kind(group=_GATEWAY, plural="gatewayclasses", name="GatewayClass", namespaced=False)
LISTENER_SET = Kind(group=_GATEWAY, plural="listenersets", name="ListenerSet")
X_LISTENER_SET = Kind(group="gateway.networking.x-k8s.io", plural="xlistenersets", name="XListenerSet")
HTTP_ROUTE = Kind(group=_GATEWAY, plural="httproutes", name="HTTPRoute")
GRPC_ROUTE = Kind(group=_GATEWAY, plural="grpcroutes", name="GRPCRoute")
TCP_ROUTE = Kind(group=_GATEWAY, plural="tcproutes", name="TCPRoute", opt_in="lint")
UDP_ROUTE = Kind(group=_GATEWAY, plural="udproutes", name="UDPRoute", opt_in="lint")
REFERENCE_GRANT = Kind(group=_GATEWAY, plural="referencegrants", name="ReferenceGrant")
TLS_ROUTE = Kind(group=_GATEWAY, plural="tlsroutes", name="TLSRoute")
BACKEND_TLS_POLICY = Kind(group=_GATEWAY, plural="backendtlspolicies", name="BackendTLSPolicy")
X_BACKEND = Kind(group="gateway.networking.x-k8s.io", plural="xbackends", name="XBackend", opt_in="lint")
ENVOY_PROXY = Kind(group="gateway.envoyproxy.io", plural="envoyproxies", name="EnvoyProxy", opt_in="lint")
HTTP_PROXY = Kind(group="projectcontour.io", plural="httpproxies", name="HTTPProxy")
TLS_CERTIFICATE_DELEGATION = Kind(
    group="projectcontour.io", plural="tlscertificatedelegations", name="TLSCertificateDelegation"
)
HEPTIO_DELEGATION = Kind(
    group="contour.heptio.com", plural="tlscertificatedelegations", name="TLSCertificateDelegation"
)
VMWARE_DELEGATION = Kind(
    group="contour.vmware.com", plural="tlscertificatedelegations", name="TLSCertificateDelegation", opt_in="lint"
)
INGRESS_ROUTE = Kind(group="contour.heptio.com", plural="ingressroutes", name="IngressRoute", opt_in="lint")
CONTOUR_CONFIGURATION = Kind(group="projectcontour.io", plural="contourconfigurations", name="ContourConfiguration")
CONTOUR_DEPLOYMENT = Kind(
    group="projectcontour.io", plural="contourdeployments", name="ContourDeployment", opt_in="lint"
)
EXTENSION_SERVICE = Kind(group="projectcontour.io", plural="extensionservices", name="ExtensionService", opt_in="lint")
SERVICE_MONITOR = Kind(group="monitoring.coreos.com", plural="servicemonitors", name="ServiceMonitor")
POD_MONITOR = Kind(group="monitoring.coreos.com", plural="podmonitors", name="PodMonitor")
PROBE = Kind(group="monitoring.coreos.com", plural="probes", name="Probe")
SCRAPE_CONFIG = Kind(group="monitoring.coreos.com", plural="scrapeconfigs", name="ScrapeConfig", opt_in="lint")
CERTIFICATE = Kind(group="cert-manager.io", plural="certificates", name="Certificate")
ISSUER = Kind(group="cert-manager.io", plural="issuers", name="Issuer", opt_in="lint")
CLUSTER_ISSUER = Kind(
    group="cert-manager.io", plural="clusterissuers", name="ClusterIssuer", namespaced=False, opt_in="lint"
)


def _all() -> tuple[Kind, ...]:
    return tuple(value for value in globals().values() if isinstance(value, Kind))


KINDS: tuple[Kind, ...] = _all()
"""Every kind above, in this order."""
LINTED: tuple[Kind, ...] = tuple(kind for kind in KINDS if kind.opt_in == "lint")
"""Kinds that only lint reads: ``adhere rbac --with lint``."""

# --- No API lists these; a saved snapshot can hold them beside the API's objects -------------------------------------

INSTALL_CONFIG = Kind(group="", plural="", name="InstallConfig", namespaced=False)
"""The file that openshift-install reads; it has no kind of its own."""
MICROSHIFT_CONFIG = Kind(group="microshift", plural="config", name="MicroShiftConfig", namespaced=False)
"""The content of ``/etc/microshift/config.yaml`` below ``kind: MicroShiftConfig``; ``microshift show-config`` prints
it."""

KUBELET_CONFIGZ = Kind(group="kubelet", plural="configz", name="KubeletConfigz", namespaced=False, opt_in="configz")
"""The answer of ``/api/v1/nodes/NODE/proxy/configz``, ``{"kubeletconfig": {...}}``, with the node's name as
``metadata.name``."""

ACCESS_REVIEW = Kind(
    group="authorization.k8s.io",
    plural="subjectaccessreviews",
    name="SubjectAccessReview",
    namespaced=False,
    opt_in="sar",
)
"""A question to the API server, with its answer."""

LOCAL_KINDS: tuple[Kind, ...] = (MICROSHIFT_CONFIG, KUBELET_CONFIGZ, ACCESS_REVIEW)
