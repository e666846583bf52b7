"""OpenShift's own objects that say what a cluster is and how its operators work (config.openshift.io/v1,
operator.openshift.io/v1)."""

from __future__ import annotations

from scanner.kube.objects import KubeObject
from scanner.kube.view import Number, Part, Parts, Text, Texts, View


class Update(View):
    """One update of a release, or to it."""

    version = Text()
    state = Text()
    """``Completed`` or ``Partial``."""


class ReleaseHistory(View):
    """Where a history of updates stands: the status of a ClusterVersion, and two fields of HyperShift's objects."""

    history = Parts(Update)
    """The newest first."""


class ClusterVersion(KubeObject):
    """ClusterVersion/version."""

    cluster_id = Text("spec", "clusterID")
    desired = Text("status", "desired", "version")
    status = Part(ReleaseHistory, "status")


class Infrastructure(KubeObject):
    """Infrastructure/cluster."""

    topology = Text("status", "controlPlaneTopology")
    platform = Text("status", "platformStatus", "type")
    server_url = Text("status", "apiServerURL")
    internal_url = Text("status", "apiServerInternalURI")


class OperandVersion(View):
    """The release of an operator, or of one of its operands."""

    name = Text()
    version = Text()


class RelatedObject(View):
    """An object that an operator answers for."""

    resource = Text()
    name = Text()


class ClusterOperator(KubeObject):
    """A ClusterOperator, in which an operator reports on its work."""

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
    """How an operator configures a server."""

    min_tls_version = Text("minTLSVersion")
    cipher_suites = Texts()

    @property
    def speaks_of_tls(self) -> bool:
        """Whether it has anything about versions or suites."""
        return self.has("minTLSVersion") or self.has("cipherSuites")


class OperatorConfig(KubeObject):
    """The object that an operator is configured by, and writes what it observed into: KubeAPIServer, Etcd ..."""

    management_state = Text("spec", "managementState")
    latest_revision = Number("status", "latestAvailableRevision")
    node_statuses = Parts(NodeStatus, "status", "nodeStatuses")

    def serving_info(self, *steps: str) -> ServingInfo:
        """The ``servingInfo`` at ``steps``."""
        return ServingInfo(self.fields(*steps).raw, steps)


class OperatorFile(View):
    """The configuration of an operator in a ConfigMap: a GenericOperatorConfig, or a GenericControllerConfig."""

    serving_info = Part(ServingInfo)
