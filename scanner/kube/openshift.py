"""Objects of OpenShift, its hosted control planes (HyperShift), MicroShift and its Operator Lifecycle Manager.

config.openshift.io/v1, operator.openshift.io/v1, hypershift.openshift.io/v1beta1, operators.coreos.com/v1alpha1,
PKICertificateDefinition with the admission policies on the PKI object, and ``/etc/microshift/config.yaml``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from scanner.kube.kinds import CLUSTER_SERVICE_VERSION, CONFIG_MAP
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Snapshot
from scanner.kube.view import Flag, Number, Part, Parts, Present, Text, Texts, Value, View


class Update(View):
    """An entry of an update history."""

    version = Text()
    state = Text()
    """``Completed`` or ``Partial``."""


class ReleaseHistory(View):
    """A status with an update history: that of a ClusterVersion, and two fields of HyperShift's objects."""

    history = Parts(Update)
    """The newest first."""


class ClusterVersion(KubeObject):
    cluster_id = Text("spec", "clusterID")
    desired = Text("status", "desired", "version")
    status = Part(ReleaseHistory, "status")


class AddressBlock(View):
    """An address block of the pod network."""

    cidr = Text()


class Networks(View):
    """Networks of pods and Services, in the Network object and in ``networking`` of an installer's configuration."""

    cluster_network = Parts(AddressBlock)
    service_network = Texts()
    pod_subnet = Text()
    """kubeadm's field, like ``service_subnet``: a comma-separated list."""
    service_subnet = Text()


class Network(KubeObject):
    spec = Part(Networks)
    status = Part(Networks)


class InstallerConfiguration(View):
    """OpenShift's install-config, or kubeadm's ClusterConfiguration."""

    networking = Part(Networks)


class Infrastructure(KubeObject):
    topology = Text("status", "controlPlaneTopology")
    platform = Text("status", "platformStatus", "type")
    server_url = Text("status", "apiServerURL")
    internal_url = Text("status", "apiServerInternalURI")


class OperandVersion(View):
    """The version of an operator, or of one of its operands."""

    name = Text()
    version = Text()


class RelatedObject(View):
    """An object that an operator manages."""

    resource = Text()
    name = Text()


class ClusterOperator(KubeObject):
    """A ClusterOperator: the status report of an operator."""

    versions = Parts(OperandVersion, "status", "versions")
    related_objects = Parts(RelatedObject, "status", "relatedObjects")


class NodeStatus(View):
    """The revision of one node's static pod."""

    node_name = Text()
    current_revision = Number()
    target_revision = Number()
    last_failed_revision = Number()
    last_failed_revision_errors = Texts()


class ServingInfo(View):
    """The settings of a server in an operator's configuration."""

    min_tls_version = Text("minTLSVersion")
    cipher_suites = Texts()
    curve_preferences = Value()
    """Go's numbers of groups."""

    @property
    def sets_tls(self) -> bool:
        """True if it sets versions, suites or groups."""
        return any(self.has(name) for name in ("minTLSVersion", "cipherSuites", "curvePreferences"))


class OperatorConfig(KubeObject):
    """The configuration of an operator, with the settings that it has observed: KubeAPIServer, Etcd ..."""

    management_state = Text("spec", "managementState")
    latest_revision = Number("status", "latestAvailableRevision")
    node_statuses = Parts(NodeStatus, "status", "nodeStatuses")

    def serving_info(self, *steps: str) -> ServingInfo:
        """The ``servingInfo`` at ``steps``."""
        return ServingInfo(self.fields(*steps).raw, steps)


class OperatorFile(View):
    """The configuration of an operator in a ConfigMap: a GenericOperatorConfig, or a GenericControllerConfig."""

    serving_info = Part(ServingInfo)


class HostedCluster(KubeObject):
    """A HostedCluster, or the HostedControlPlane that HyperShift creates for it."""

    cluster_id = Text("spec", "clusterID")
    fips = Flag("spec", "fips")
    version = Part(ReleaseHistory, "status", "version")
    """HostedCluster only."""
    version_status = Part(ReleaseHistory, "status", "versionStatus")
    """HostedControlPlane only."""


class NodePool(KubeObject):
    """Nodes of a hosted cluster with one configuration."""

    cluster_name = Text("spec", "clusterName")


_URLS: Final[Mapping[str, tuple[str, ...]]] = {
    "basicAuth": ("url",),
    "keystone": ("url",),
    "gitlab": ("url",),
    "openID": ("issuer",),
    "requestHeader": ("loginURL", "challengeURL"),
    "ldap": (),
    "github": (),
}
"""Types of providers that are called over the network, and their fields with URLs that must be HTTPS."""


class Provider(View):
    """Configuration of an identity provider; the last of its steps is the type."""

    url = Text()
    insecure = Flag()
    authority = Text("ca", "name")
    client_certificate = Text("tlsClientCert", "name")
    client_key = Text("tlsClientKey", "name")

    @property
    def type(self) -> str:
        """``ldap``, ``openID`` ..."""
        return str(self.steps[-1])

    @property
    def https_urls(self) -> Iterator[tuple[str, str]]:
        """Fields with URLs that must be HTTPS, and the URLs."""
        return ((field, self.text(field)) for field in _URLS[self.type])


class _IdentityProvider(View):
    @property
    def providers(self) -> Iterator[Provider]:
        found = (Provider(self.fields(name).raw, (*self.steps, name)) for name in _URLS)
        return (each for each in found if each)


class OAuth(KubeObject):
    _identity_providers = Parts(_IdentityProvider, "spec", "identityProviders")

    @property
    def providers(self) -> Iterator[Provider]:
        """Identity providers that are called over the network."""
        return (provider for each in self._identity_providers for provider in each.providers)


class ServerTLS(View):
    """``apiServer.tls``."""

    min_version = Value()
    cipher_suites = Texts()


class MicroShiftConfig(KubeObject):
    """MicroShift's configuration file."""

    tls = Part(ServerTLS, "apiServer", "tls")
    has_pki = Present("pki")


def microshift_release(snapshot: Snapshot) -> str:
    """MicroShift's release from ConfigMap kube-public/microshift-version; empty on other clusters."""
    found = snapshot.get(CONFIG_MAP, "microshift-version", "kube-public")
    return found.text("data", "version") if found else ""


class InstalledDeployment(View):
    """A Deployment that OLM installs."""

    name = Text()


class OwnedKind(View):
    """A kind that the operator defines: ``widgets.example.com``, ``Widget``."""

    name = Text()
    kind = Text()


class ClusterServiceVersion(KubeObject):
    """A ClusterServiceVersion: one version of an operator that OLM installs."""

    reason = Text("status", "reason")
    deployments = Parts(InstalledDeployment, "spec", "install", "spec", "deployments")
    owned = Parts(OwnedKind, "spec", "customresourcedefinitions", "owned")


def installed_operators(snapshot: Snapshot) -> tuple[ClusterServiceVersion, ...]:
    """Every ClusterServiceVersion that was read. The copies in other namespaces are left out: they install and own
    nothing."""
    every = map(ClusterServiceVersion.of, snapshot.objects.get(CLUSTER_SERVICE_VERSION, ()))
    return tuple(each for each in every if "olm.copiedFrom" not in each.labels and each.reason != "Copied")


class CertificateName(View):
    """A registered certificate name."""

    name = Text()
    category = Text()


class CertificateDefinition(KubeObject):
    component = Text("spec", "component")
    certificates = Parts(CertificateName, "spec", "certificates")


class ResourceRule(View):
    """Requests that an admission policy applies to."""

    resources = Texts()
    api_groups = Texts("apiGroups")
    operations = Texts()


class AdmissionPolicy(KubeObject):
    parameter_kind = Text("spec", "paramKind", "kind")
    resource_rules = Parts(ResourceRule, "spec", "matchConstraints", "resourceRules")


class AdmissionPolicyBinding(KubeObject):
    policy_name = Text("spec", "policyName")
    actions = Texts("spec", "validationActions")
